"""Accumulators: the kinds of `accumulate`, which combine the values of all threads into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from fusepy.backend.marshals.generators import ThreadId
from fusepy.backend.memory.storage import ACCUMULATORS
from fusepy.errors import ArgumentError, UnsupportedArgumentError, did_you_mean
from fusepy.functions.options import by_name
from fusepy.functions.parts import AnyFunction
from fusepy.ir.argmap import ArgMap
from fusepy.ir.ops import OPS
from fusepy.location import user_line
from fusepy.trace.trace import Trace
from fusepy.trace.traced import Traced

F = TypeVar("F", bound=AnyFunction)


def accumulate(function: F, kinds: Mapping[str, str] | None = None, /, **named: str) -> F:
    """Returns this function with results that are combined over all threads into one value: ``accumulate(result="sum")``.

    Args:
        kinds: ``"sum"``, ``"max"``, ``"min"``, ``"mean"``, ``"first"`` or ``"push"``, which keeps all, by the name of an `out`
            parameter, ``"result"`` for what is returned, or ``"x.grad"`` for a backward pass; ``named`` the same by keyword.

    The gradients of arguments are summed over the axes along which these are broadcast. A backward pass that accumulates
    reduces a gradient over the whole grid of the call instead. ``x.grad`` becomes a new tensor if it has another shape.

    Raises:
        ArgumentError: for other names and kinds.

    Example:
        >>> import fusepy as fp
        >>> source = "void scale(float3 v, out float3 result) { result = v * 10; }"
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_accumulate", source)
        >>> m.scale.accumulate(result="sum")([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
        [120.0, 150.0, 180.0]
    """
    asked = by_name(kinds, named, f"{function.__name__}.accumulate()", 'accumulate({"result": "sum"})')
    tracer = function.tracer.accumulating(asked)
    programs = function.programs.variant(("accumulate", *sorted(asked.items())))
    return function.variant(function.setup, tracer=tracer, programs=programs)


def checked(function: str, kinds: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    """Returns the arguments of `accumulate`.

    Raises:
        ArgumentError: for an unknown kind, or a name that is not among `names`.
    """
    for name, kind in kinds.items():
        if name not in names:
            hint = did_you_mean(name, names)
            raise ArgumentError(f"{function}.accumulate(): there is no result {name!r}", hint=hint)
        if kind not in ACCUMULATORS:
            what = f"{function}.accumulate(): there is no accumulator {kind!r}"
            raise ArgumentError(what, hint=did_you_mean(str(kind), ACCUMULATORS))
    return dict(kinds)


def accumulated(trace: Trace, value: Traced, kind: str | None) -> Traced:
    """Records the accumulation of a value over the axes that it has.

    Raises:
        UnsupportedArgumentError: for structs and arrays.
    """
    loc, rank = user_line(), trace.lift(value).rank
    if kind is None or kind == "push" or not rank:
        return value
    if not value.type.is_numeric:
        raise UnsupportedArgumentError(
            f"accumulate() of {value.type}",
            place=loc,
            saw=value.type,
            expected="numbers, vectors or matrices",
            hint="accumulate numbers or vectors: write a Slang function that returns the field",
        )
    if kind == "first":  # of one value, the sum is the value
        index = trace.captured(ThreadId(0, ()), "index")
        value, kind = trace.record("select", [trace.record("eq", [index, 0]), value, 0]), "sum"
    axes = tuple(f"d{axis}" for axis in range(rank))
    maps = [ArgMap(tuple(range(rank)))]
    (made,) = trace.builder.add(OPS["reduce"], [trace.lift(value)], maps, {"kind": kind, "axes": axes}, loc)
    return Traced(trace, made, loc)
