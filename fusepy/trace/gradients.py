"""Gradients and tangents of traced values: their nodes are recorded behind those that computed the values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from fusepy.derivatives.differential import check_type, differential
from fusepy.derivatives.forward import Forward
from fusepy.derivatives.memory import rereads
from fusepy.derivatives.paths import check_paths
from fusepy.derivatives.refused import from_outside
from fusepy.derivatives.reverse import Reverse
from fusepy.derivatives.sums import Seed, is_number
from fusepy.errors import GradientError
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.graph import Value
from fusepy.ir.types import Kind, Type
from fusepy.location import user_line
from fusepy.trace.components.by_member import by_member
from fusepy.trace.components.collecting import as_type
from fusepy.trace.inputs import STRUCTS
from fusepy.trace.moves.back import nodes_since
from fusepy.trace.moves.extents import TraceShapes
from fusepy.trace.moves.recurrences import recurrence
from fusepy.trace.moves.take import pick_of
from fusepy.trace.structure import flatten_values, returned
from fusepy.trace.trace import Trace
from fusepy.trace.traced import Traced

Seeds = Sequence[tuple[Any, Any]]  # values with their gradients or tangents


def gradients(
    trace: Trace, start: int, seeds: Seeds, of: Sequence[Any], what: str, names: Sequence[str] = (), sparse: bool = False
) -> list[Any]:
    """Records the gradients of values with respect to others, by the nodes that were recorded from `start` on.

    Args:
        seeds: values, each with its gradient; ``None`` is 1 for each component.
        of: traced values, or containers of traced values.
        names: the user's names of these, if values that the result does not depend on are errors.
        sparse: True if the gradient of values that no result depends on is ``None``, not zeros.

    Returns:
        for each of `of` its gradient, in containers of the same structure.

    Raises:
        GradientError: if there is none.
    """
    loc, trace = user_line(), trace.innermost()
    trees = [flatten_values(tree, what) for tree in of]
    wrt = [_leaves(trace, found, what) for found, _ in trees]
    values = [v for found in wrt for v in found if v is not None]
    for value in (v for v in values if trace.behind(v) is not None):
        raise from_outside(value, what, loc)
    pairs = [(returned(trace, v, what), g) for v, g in seeds]
    ends = [(v, None if g is None else _grouped_as(trace, v, trace.lift(g), loc), None) for v, g in pairs]
    _check_types(trace, ends)
    reverse = _reverse(trace, start, loc, values)
    reverse.back(ends, values)
    made = {v: _of_levels(trace, reverse, v, loc) for v in values if not sparse or v in reverse.gradients}
    steps = [(node, maps) for node, maps, _ in reverse.settled]
    for name, found, (_, structure) in zip(names, wrt, trees):
        check_paths(steps, [v for v, _, _ in ends], found, structure.paths(name), what, trace.derived > start)
    for outer in trace.chain:
        outer.derived = len(outer.builder.nodes)
    trace.grouped.update(reverse.gradients.grouped)
    return [structure.fill([None if v is None else made.get(v) for v in found]) for found, (_, structure) in zip(wrt, trees)]


def _of_levels(trace: Trace, reverse: Reverse, value: Value, loc: str | None) -> Any:
    """Returns the gradient of a value; of a texture with several mip levels a tuple of those of its levels."""
    levels = reverse.extents.shapes.levels(value) if value.arrival.texels else None
    found = [Traced(trace, reverse.gradients.finished(level), loc) for level in (value, *(levels or ()))]
    return tuple(found) if levels else found[0]


@dataclass(frozen=True)
class GradientTarget:
    """A gradient that is computed.

    Attributes:
        values: the inputs whose gradients it is the sum of.
        held: a gradient that is added.
        accumulate: makes what is added of the gradient over the grid of the results; by default that is summed.
    """

    values: Sequence[Value]
    held: Traced | None = None
    accumulate: Callable[[Traced], Traced] | None = None


def added(
    trace: Trace, start: int, seeds: Sequence[tuple[Traced, Any, ArgMap]], to: Sequence[GradientTarget], what: str
) -> list[Traced]:
    """Records gradients that are added to others.

    Args:
        seeds: values, each with its gradient and the mapping of that; ``None`` is 1 for each component.

    Raises:
        GradientError: if none of the values can have a gradient, or an operation has none.
    """
    loc = user_line()
    ends = [(trace.lift(v), None if g is None else trace.lift(g), m.dims) for v, g, m in seeds]
    ends = [end for end in ends if differential(end[0].type, trace.oracle) is not None]
    if not ends:
        raise GradientError(
            f"{what}(): the function gives no float",
            place=loc,
            saw=", ".join(str(v.type) for v, _, _ in seeds) or "no result",
            expected="a result of floats",
            hint="differentiate a function whose result depends on its arguments as half, float or double",
        )
    _check_types(trace, ends)
    wrt = [v for target in to for v in target.values]
    reverse = _reverse(trace, start, loc, wrt)
    reverse.back(ends, wrt, expanded=[v for target in to if target.accumulate is not None for v in target.values])
    return [_target(trace, reverse, target, loc) for target in to]


def _target(trace: Trace, reverse: Reverse, target: GradientTarget, loc: str | None) -> Traced:
    total = target.held
    for value in target.values:
        expanded = None if target.accumulate is None or reverse.expanded is None else reverse.expanded.of(value)
        if target.accumulate is None or expanded is None:
            total = Traced(trace, reverse.gradients.finished(value, None if total is None else trace.lift(total)), loc)
            continue
        part = target.accumulate(Traced(trace, expanded, loc))
        total = part if total is None else _sum(trace, [total, part])
    assert total is not None, "a gradient is that of a value"
    return total


def _sum(trace: Trace, terms: Sequence[Traced]) -> Traced:
    """Records the sum of two gradients; of structs, member by member."""
    made = None if terms[0].type.is_numeric else by_member(trace, terms, lambda members: _sum(trace, members))
    return trace.record("add", terms) if made is None else made


def tangents(trace: Trace, start: int, seeds: Seeds, of: Sequence[Any], what: str) -> list[Any]:
    """Records the tangents of values, by the nodes that were recorded from `start` on.

    Args:
        seeds: traced values or containers of them, each with its tangent, a container of the same structure.
        of: traced values.

    Returns:
        the tangent of each of `of`; ``None`` for one without, such as an integer.

    Raises:
        GradientError: if there is none, or a tangent does not fit its value.
    """
    loc, trace = user_line(), trace.innermost()
    pairs = [
        (trace.lift(value), trace.lift(given))
        for tree, moved in seeds
        for value, given in zip(flatten_values(tree, what)[0], flatten_values(moved, what)[0])
    ]
    pairs = [
        (v, _grouped_as(trace, v, d, loc)) for v, d in pairs if is_number(v) or differential(v.type, trace.oracle) is not None
    ]
    ends = [returned(trace, value, what) for value in of]
    _check_structs(trace, start, [v for v, _ in pairs])
    shapes = TraceShapes(trace, False, recurrence, pick_of)
    adjoint = Reverse(trace.builder, (), trace.oracle, shapes, loc).adjoint
    forward = Forward(
        trace.builder,
        nodes_since(trace, start, {v for v, _ in pairs}),
        trace.oracle,
        loc,
        adjoint,
        shapes,
        partial(_vectors, trace, loc),
    )
    for value, given in pairs:
        check_type(value, given, trace.maps.get(given, UNSAID).type, f"{what}: the tangent of {value.name!r}")
        if given.rank != value.rank and given.rank != value.rank + len(value.type.shape):
            raise GradientError(
                f"{what}: the tangent of {value.name!r} has {given.rank} axes, not {value.rank}",
                place=loc,
                saw=given.type,
                expected=value.type,
                hint="pass a tangent of the shape of its argument",
            )
    return [None if v is None else Traced(trace, v, loc) for v in forward.run(pairs, ends)]


def check_kept(trace: Trace, start: int) -> None:
    """Raises `GradientError` if nodes from `start` on have read memory that later ones write: a function that runs again."""
    inner = trace.innermost()
    rereads.check_kept(inner.builder.nodes[start:], inner.oracle, TraceShapes(inner))


def _reverse(trace: Trace, start: int, loc: str | None, wrt: Sequence[Value]) -> Reverse:
    _check_structs(trace, start, wrt)
    exact, nodes = trace.chain[-1].options.deterministic, nodes_since(trace, start, set(wrt))
    return Reverse(trace.builder, nodes, trace.oracle, TraceShapes(trace, exact, recurrence, pick_of), loc)


def _vectors(trace: Trace, loc: str | None, value: Value, type: Type) -> Value:
    """Returns a computed array of numbers as vectors, matrices or fixed arrays of `type`."""
    if type.kind is Kind.ARRAY:
        return trace.grouping.listed(value, type, loc) or value
    return as_type(trace, trace.grouping.cast(value, type, loc), type, loc)


def _grouped_as(trace: Trace, value: Value, given: Value, loc: str | None) -> Value:
    """Returns the gradient or tangent of a value: a computed one as vectors where the value is, and as numbers where that is."""
    of, own = value.type, given.type
    if of.shape and given.rank == value.rank + len(of.shape):
        return trace.grouping.cast(given, of.with_scalar(own), loc) if own.kind is Kind.SCALAR else given
    if own.shape and of.kind is Kind.SCALAR and value.rank == given.rank + len(own.shape):
        return trace.plain.numbers(given, loc)
    return given


def _check_types(trace: Trace, seeds: Sequence[Seed]) -> None:
    """Raises `GradientError` if the gradient of a result has another type than the result."""
    for value, given, _ in seeds:
        if given is not None:
            check_type(value, given, trace.maps.get(given, UNSAID).type, "the gradient of a result")


def _check_structs(trace: Trace, start: int, values: Sequence[Value]) -> None:
    """Raises `GradientError` if some of the values are arrays of numbers that nodes from `start` on read as structs."""
    read = {v for node in trace.builder.nodes[start:] for v in node.operands}
    for (value, type), structs in trace.struct_inputs.items():
        if value in values and structs in read:
            what = f"argument {value.name!r} holds numbers and is read as {type}"
            raise GradientError(what, saw=value.type, expected=type, hint=STRUCTS)


def _to_have_one(value: Value | None) -> str:
    if value is not None and value.type.kind is Kind.NAMED:
        return f"declare struct {value.type} : IDifferentiable; or choose others with argnums"
    return "convert it before the call, e.g. x.astype(np.float32); or choose others with argnums"


def _leaves(trace: Trace, leaves: Sequence[Any], what: str) -> list[Value | None]:
    """Returns the values of an argument's leaves, ``None`` for those without gradient; raises `GradientError` if none has one."""
    values = [trace.lift(leaf) for leaf in leaves]
    found = [v if is_number(v) or differential(v.type, trace.oracle) is not None else None for v in values]
    if not any(v is not None for v in found):
        name, type = ((values[0].name or "").partition(".")[0], values[0].type) if values else ("", None)
        raise GradientError(
            f"{what}(): argument {name!r} holds {type or 'nothing'}, which has no gradient",
            saw=type,
            expected="half, float or double",
            hint=_to_have_one(values[0] if values else None),
        )
    return found
