"""Checks of integers that kernels compute of Python's numbers: each call reads them, an error tells where they do not fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np

from fusepy.errors import TraceError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Node, Value
from fusepy.ir.ops import OPS
from fusepy.ir.types import INT64, Type
from fusepy.ir.value import may_wrap
from fusepy.trace.components.integers import MEANINGS
from fusepy.trace.open_trace import OpenTrace
from fusepy.trace.prints.log import RangeRequest

GROWS = ("add", "sub", "mul", "neg", "abs", "pow", "shl")
_ONE_MORE = ("add", "sub", "neg", "abs")


def requested(trace: OpenTrace) -> list[Value]:
    """Returns the values that the kernels of a function store for its prints and checks.

    Each call checks that integers which its kernels compute fit the types that they are converted to.

    Raises:
        TraceError: in the body of a loop, a branch or a stage, whose values are of one element.
    """
    if not (trace.body and trace.flags is None):
        for value, want, loc in conversions(trace):
            _check_fits(trace, value, want, loc)
    return [v for request in trace.prints or () for v in request.values]


def conversions(trace: OpenTrace) -> Iterator[tuple[Value, Type, str | None]]:
    """Yields the integers which kernels compute of numbers, with a type that they are converted to and may not fit."""
    for node in trace.builder.nodes:
        for i, value in enumerate(node.operands):
            if not value.weak or value.arrival.literal or (value.name is not None and not trace.body):
                continue
            if _is_computed(trace, value) and not (trace.body and node.op.name == "cast"):
                want = _wanted(trace, node, i)
                if want is not None and may_wrap(value, want):
                    yield value, want, node.loc


def _is_computed(trace: OpenTrace, value: Value) -> bool:
    """True for a value that kernels compute, also if it comes from the step before."""
    trace, value = root_of(trace, value)
    return not value.arrival.literal and (value.name is None or (trace.body != "" and trace.alone))


def root_of(trace: OpenTrace, value: Value) -> tuple[OpenTrace, Value]:
    """Returns a value as the trace has it that made it."""
    behind: tuple[OpenTrace, Value] | None = (trace, value)
    while behind is not None:
        trace, value = behind
        behind = trace.behind(value)
    return trace, value


def _wanted(trace: OpenTrace, node: Node, i: int) -> Type | None:
    """Returns the scalar that an operation converts an operand to."""
    answer = node.op.resolution(node, trace.oracle)
    if answer is None and node.op.name in ("cast", "construct"):
        return node.results[0].type.scalar
    type = (node if answer is None else answer).maps[i].type or node.op.wanted(node, i)
    return None if type is None else type.scalar


def _check_fits(trace: OpenTrace, value: Value, want: Type, loc: str | None) -> None:
    trace, value = root_of(trace, value)
    if trace.prints is None:
        raise TraceError(
            f"a number that a kernel computes in {trace.body or 'a stage'} may not fit {want}",
            place=loc,
            saw=f"{value.type}, converted to {want}",
            hint=f"compute the number outside, or say its type with fp.vcast(number, '{want}')",
        )
    trace.prints.append(RangeRequest([value], want, loc))


def check_growth(trace: OpenTrace, op: str, values: Sequence[Value], result: Value, loc: str | None) -> None:
    """Makes each call check that an integer of 64 bits, computed in its kernels, did not wrap."""
    if result.rank or trace.prints is None:
        return
    known = trace.moves.bits
    bits = [known.get(v, 8 * v.type.dtype.itemsize) for v in values if v.type.dtype is not None]
    needed = sum(bits) if op == "mul" else max(bits) + 1 if op in _ONE_MORE else 65
    if needed > 63 + (result.type is INT64):
        trace.prints.append(RangeRequest(values, result.type, loc, MEANINGS[op]))
    known[result] = min(needed, 64)


def comparable(trace: OpenTrace, values: Sequence[Value], maps: Sequence[ArgMap], loc: str | None) -> Sequence[Value]:
    """Returns the operands of a comparison, where numbers that the integers of an array may not hold keep their own type."""
    found = list(values)
    for other, (k, number) in zip(values[::-1], enumerate(values)):
        have, want = number.type.dtype, other.type.dtype
        if not number.weak or other.weak or have is None or want is None or maps[k].dims is not None:
            continue
        if have.kind not in "iu" or want.kind not in "iu" or np.can_cast(have, want):
            continue
        literal = _literal(trace, number)
        if literal is None or not np.iinfo(want).min <= literal <= np.iinfo(want).max:
            found[k] = trace.builder.add(OPS["cast"], [number], [maps[k]], {"type": number.type.name}, loc)[0]
    return found


def _literal(trace: OpenTrace, value: Value) -> int | None:
    """Returns the number of an integer literal; ``None`` for other values."""
    maker = trace.grouping.extents.maker(value) if value.arrival.literal else None
    return None if maker is None else int(cast("int", maker.attrs["value"]))


def is_carried(trace: OpenTrace, value: Value) -> bool:
    """True for a number that a loop over arrays carries, or that is computed from one: it has the type of the carry."""
    waiting, seen = [(trace, value)], set[Value]()
    while waiting:
        trace, value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        behind = trace.behind(value)
        if behind is not None:
            waiting.append(behind)
        elif not trace.alone:
            maker = trace.grouping.extents.maker(value)
            if maker is None:
                return True
            waiting += [(trace, v) for v in maker.operands]
    return False
