"""`fori_loop` around steps over whole arrays: each step has kernels of its own, and equal steps share them.

A body that reads what it carries whole, or reduces it, cannot run for single elements. So the trace records the steps one after
the other. Their regions are equal, so they are compiled once; the memory of a step's result is free again when the next step has
read it, so two buffers take turns.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fusepy.errors import ArgumentError, FusepyError, ResolveError, ShapeError, TraceError, UnrollWarning
from fusepy.ir.argmap import UNSAID
from fusepy.ir.graph import Node, Value
from fusepy.ir.ops.base import filled_axes
from fusepy.ir.ops.promotion import promote
from fusepy.ir.resolve.settle import settle
from fusepy.ir.types import INT, Kind, Type
from fusepy.passes.partition.levels import reads_whole
from fusepy.pytree import Structure
from fusepy.trace.bodies import BodyTrace
from fusepy.trace.carries import Carries, Leaf
from fusepy.trace.open_trace import StepLoop
from fusepy.trace.structure import flatten_values
from fusepy.trace.trace import Trace
from fusepy.trace.traced import Traced
from fusepy.trace.writes.aliases import fresh

MANY = 20_000  # operations of all steps without a warning: some 5 seconds of tracing and lowering
_OF_AXES = (ShapeError, ArgumentError)  # what functions of arrays raise for a value without axes
Kept = tuple[str, int]  # the type and the rank of a leaf


def _start(leaf: Leaf) -> Kept:
    return str(leaf.said.type or leaf.start.type), leaf.start.rank - filled_axes(leaf.start, leaf.said.type)


def index_type(ends: Sequence[Value], loc: str | None) -> Type:
    """Returns the type of the index: an integer of at least 32 bits that fits both bounds.

    Raises:
        TraceError: for a bound that is no integer.
    """
    for value, name in zip(ends, ("lo", "hi")):
        if value.type.kind is not Kind.SCALAR or value.type.dtype is None or value.type.dtype.kind not in "iu":
            raise TraceError(
                f"fori_loop: {name} is a {value.type}",
                place=loc,
                expected="an integer",
                hint="convert it with fp.vcast(…, 'int')",
            )
    found = promote([(INT if v.arrival.word else v.type, v.weak) for v in ends])
    assert found is not None
    assert found.dtype is not None
    return found if found.dtype.itemsize >= 4 else INT


def over_arrays(carries: Carries, error: FusepyError) -> bool:
    """True if the steps of a loop whose body was refused may run over whole arrays; not inside of another body.

    What has no axes in a body has some outside of it: there `diff` and lists of values may be right.
    """
    inner, around = carries.inner, carries.trace
    wanted = inner is not None and inner.inside.whole
    if isinstance(around, BodyTrace):
        around.inside.whole = around.inside.whole or wanted
        return False
    return (
        wanted or isinstance(error, _OF_AXES) or (isinstance(error, ResolveError) and any(leaf.spread for leaf in carries.leaves))
    )


def stepped(
    trace: Trace,
    bounds: tuple[int, int],
    most: int | None,
    body: Callable[[Any, Any], Any],
    init: Any,
    carries: Carries,
    refused: FusepyError,
) -> Any:
    """Records the steps of a loop one after the other, each over whole arrays; returns the last carry.

    Args:
        refused: the error of the body for single elements.

    Raises:
        FusepyError: the error of the body; if it does not need whole arrays, `refused`.
        TraceError: if a step changes the structure, a type or a rank of the carry.
    """
    assert carries.inner is not None
    try:
        return _recorded(trace, bounds, most, body, init, carries, refused)
    except FusepyError:
        if carries.inner.inside.whole:
            raise
        raise refused from None


def _recorded(
    trace: Trace,
    bounds: tuple[int, int],
    most: int | None,
    body: Callable[[Any, Any], Any],
    init: Any,
    carries: Carries,
    refused: FusepyError,
) -> Any:
    lo, hi = bounds
    count = max(hi - lo, 0) if most is None else min(max(hi - lo, 0), most)
    nodes = trace.builder.nodes
    started = once = len(nodes)
    given = zip(flatten_values(init, carries.op)[0], carries.leaves)
    # a step may write `c += 1`: the carry is a value of the loop, and no view of what it starts from
    starts = (fresh(Traced(trace, one.start, carries.loc)) if one.said == UNSAID else v for v, one in given)
    carry = carries.structure.fill([*starts])
    kept = [_start(leaf) for leaf in carries.leaves]
    open = [leaf.start.weak for leaf in carries.leaves]
    index = _number(trace, lo)
    counted, whole = True, carries.inner is not None and carries.inner.inside.whole
    for k in range(count):
        if k and counted:
            index = _number(trace, lo + k)
        carry = body(index, carry)
        found, structure = flatten_values(carry, carries.op)
        kept = _checked(trace, carries, found, structure, kept, open if not k else [False] * len(kept))
        if k == 0:
            if (
                not whole
                and not isinstance(refused, _OF_AXES)
                and not any(_reads_arrays(trace, node) for node in nodes[started:])
            ):
                raise refused
            once, counted = len(nodes), any(trace.own(index) in node.operands for node in nodes[started:])
            _warn(carries, (once - started) * count)
    trace.chain[-1].step_loops.append(StepLoop(carries.loc, count, frozenset(nodes[once:])))
    return carry


def _reads_arrays(trace: Trace, node: Node) -> bool:
    """True if a node reads a computed value, or what a loop carries, as a whole array."""
    return any(reads_whole(m, v) for v, m in zip(node.operands, settle(node, trace.oracle)[0]))


def _number(trace: Trace, k: int) -> Traced:
    """Returns the index of a step as a parameter of its kernels: with a constant, each step would need a kernel of its own."""
    return trace.captured(np.array(k, np.int32 if -(1 << 31) <= k < 1 << 31 else np.int64), "i")


def _checked(
    trace: Trace, carries: Carries, found: list[Any], structure: Structure, kept: list[Kept], open: list[bool]
) -> list[Kept]:
    """Returns the types and ranks of the result of a step, which the next step gets.

    Raises:
        TraceError: if they are not those of the step before.
    """
    carries.same(structure, found)
    told: list[Kept] = []
    for leaf, value, before, free in zip(carries.leaves, found, kept, open):
        made: Value = trace.lift(value)
        now = str(made.type), made.rank
        if now != before and not (free and not before[1]):
            raise TraceError(
                f"{carries.op}: {leaf.path} is a {_said(before)} at first, and a {_said(now)} after a step",
                place=carries.loc,
                saw=f"{_said(now)} given back by the body",
                expected=f"{_said(before)}, as in init",
                hint="give init the type and the axes of what a step returns, e.g. by one step before the loop",
            )
        told.append(now)
    return told


def _said(kept: Kept) -> str:
    return f"{kept[0]} over {kept[1]} axes" if kept[1] else kept[0]


def _warn(carries: Carries, count: int) -> None:
    if count > MANY:
        warnings.warn(
            f"{carries.loc}: {carries.op}: steps over whole arrays are recorded one by one, {count:,} operations in all; call a"
            " fused function of fewer steps several times",
            UnrollWarning,
            stacklevel=2,
        )


def refusal(error: FusepyError, carries: Carries) -> FusepyError:
    """Returns the error of a body that needs whole arrays; its hint says under which conditions it gets them."""
    whole = carries.inner is not None and carries.inner.inside.whole
    if carries.op == "fori_loop" and (whole or _of_element(error, carries)):
        error.hint = f"{error.hint}; or give Python integers as bounds: then each step runs over whole arrays"
    elif not whole and _of_element(error, carries):
        error.hint = (
            f"{error.hint}; the body gets one element of what is carried: work on whole arrays before the loop or after it"
        )
    return error


def _of_element(error: FusepyError, carries: Carries) -> bool:
    """True if an error may be about an element of an array, which has no axes in a body."""
    return isinstance(error, _OF_AXES) and any(leaf.spread for leaf in carries.leaves)
