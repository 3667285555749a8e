"""Operands of calls: computed arrays of numbers are offered as the tensors that an eager call would get.

An eager call sees the results of the calls before it as arrays, whose last axes may be components. A call in a trace is resolved
for such arrays, so it takes what the eager call takes, and is ambiguous where that is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fusepy.ir.argmap import ArgMap
from fusepy.ir.arrivals import TENSOR
from fusepy.ir.graph import Value
from fusepy.ir.types import Kind
from fusepy.trace.open_trace import OpenTrace

Resolve = Callable[[Sequence[Value]], Sequence[ArgMap]]  # the resolved maps of a call of these operands


def regrouped(
    trace: OpenTrace, operands: Sequence[Value], maps: Sequence[ArgMap], resolve: Resolve, loc: str | None
) -> tuple[list[Value], list[ArgMap]]:
    """Returns the operands of a call and their maps: arrays of numbers that it takes as vectors or matrices are these."""
    offered = list(operands) if trace.body else [_as_tensor(trace, v) for v in operands]
    if all(a is b for a, b in zip(offered, operands)):
        return list(operands), list(maps)
    values, said = list(operands), list(maps)
    for i, answer in enumerate(resolve(offered)):
        want = answer.type
        if offered[i] is operands[i] or want is None or want.kind not in (Kind.VECTOR, Kind.MATRIX):
            continue
        if answer.dims is not None and len(answer.dims) < operands[i].rank:
            values[i] = trace.grouping.of(operands[i], want.with_scalar(operands[i].type), loc)
            said[i] = ArgMap(maps[i].dims, maps[i].type)
    return values, said


def _as_tensor(trace: OpenTrace, value: Value) -> Value:
    """Returns a tensor like a computed array of numbers, if a vector could take in its last axis; else the value itself."""
    if value.name is not None or not value.rank or value.type.kind is not Kind.SCALAR:
        return value
    dims = trace.grouping.extents.tail(value)
    return value if dims[-1] is None else Value(value.type, dims, arrival=TENSOR, weak=value.weak, name="x")
