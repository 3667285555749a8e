"""Calls of Slang functions in a trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fusepy.errors import ArgumentError
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.graph import Attr, Value
from fusepy.ir.ops import OPS
from fusepy.ir.oracle import OUT
from fusepy.ir.pipelines.rays import RECORDED
from fusepy.location import user_line
from fusepy.trace.arity import bind
from fusepy.trace.buffers import chosen
from fusepy.trace.components.operands import of_call
from fusepy.trace.maps import call_map, inherit
from fusepy.trace.open_trace import OpenTrace
from fusepy.trace.structs import check_loose, passed
from fusepy.trace.traced import Traced


def record_call(
    trace: OpenTrace,
    alias: str,
    function: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    inherits: bool = True,
    dirs: tuple[str, ...] | None = None,
    strict: bool = False,
) -> Any:
    """Records a call of a Slang function, and returns ``None``, its result, or a tuple of results.

    Args:
        inherits: let results run along the dimensions that all arguments are mapped to.
        dirs: the directions of the parameters, if outputs among the arguments select the overloads.
        strict: make this call strict, even if the trace is not.

    Raises:
        ArgumentError, ResolveError: if the arguments do not fit.
    """
    if strict and not trace.strict:
        trace.strict = True
        try:
            return record_call(trace, alias, function, args, kwargs, inherits=inherits, dirs=dirs)
        finally:
            trace.strict = False
    operands, maps = _operands(trace, alias, function, args, kwargs, dirs)
    loc = user_line()
    attrs: dict[str, Attr] = {"module": alias, "function": function}
    attrs |= trace.oracle.effects(alias, function)
    attrs |= {"dirs": dirs} if dirs is not None else {}
    attrs |= {"strict": True} if trace.strict else {}
    attrs |= RECORDED.get().get(function, {})
    said = maps
    maps, dims = call_map(trace, operands, said, attrs, loc) if inherits else (said, None)
    values = trace.builder.add(OPS["slang.call"], operands, maps, attrs, loc)
    check_loose(trace, function, operands, loc)
    inherit(trace, values, dims, operands, said)
    results = [Traced(trace, v, loc) for v in values]
    return None if not results else results[0] if len(results) == 1 else tuple(results)


def _operands(
    trace: OpenTrace, alias: str, function: str, args: Sequence[Any], kwargs: Mapping[str, Any], dirs: tuple[str, ...] | None
) -> tuple[list[Value], list[ArgMap]]:
    """Returns the operands of a call and their maps: structs are composed, buffers are passed as Slang takes them."""
    if function in trace.oracle.entry_points(alias):  # Slang crashes on a call of an entry point
        raise ArgumentError(
            f"{function} is an entry point, which runs as it is",
            hint=f"write {function}.threads(width, height).call(), or {function}.dispatch(count, …)",
        )
    declared = [[p for p in s.params if p.direction != OUT] for s in trace.oracle.declared(alias, function)]
    operands: list[Value] = []
    maps: list[ArgMap] = []
    said: list[ArgMap] = []
    for i, value in enumerate(bind(trace.oracle, alias, function, args, kwargs)):
        slots = [params[i] for params in declared if i < len(params)]
        operand, map = passed(trace, function, value, slots[0].name if slots else f"arg{i}", [p.type for p in slots])
        operands.append(operand)
        maps.append(trace.maps.get(operand, UNSAID).under(map))
        said.append(map)
    if any(v.arrival.raw for v in operands):
        types = [[params[i].type for params in declared if i < len(params)] for i in range(len(operands))]
        operands, maps = chosen(trace, alias, function, operands, maps, types, dirs)
    return of_call(trace, alias, function, operands, maps, said, dirs)
