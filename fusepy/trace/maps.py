"""Grid maps of operands: the grid that the operands of a node run along, and the dimensions that its results inherit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fusepy.errors import ShapeError
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.graph import Attr, Node, Value
from fusepy.ir.ops import OPS
from fusepy.ir.ops.base import filled_axes
from fusepy.ir.resolve.hints import components_hint, is_scalar_array
from fusepy.ir.resolve.offers import describe
from fusepy.ir.types import Kind
from fusepy.ir.value import is_spread
from fusepy.trace.buffers import check_elements
from fusepy.trace.components.alike import check_alike, is_said
from fusepy.trace.components.numbers import wide_if_alone, word
from fusepy.trace.components.said import scope_of
from fusepy.trace.moves.shapes import known_shapes
from fusepy.trace.open_trace import OpenTrace


def common_map(trace: OpenTrace, values: Sequence[Value], maps: Sequence[ArgMap]) -> tuple[list[ArgMap], ArgMap | None]:
    """Returns the maps of mapped operands over a grid of just their dimensions, and these dimensions for the result.

    If an operand is not mapped, the result inherits nothing, and the maps only lose dimensions without operands. In the body
    of a loop or branch they stay: the loop or branch as a whole runs along them.
    """
    if trace.body:
        return list(maps), None
    spread = [m for v, m in zip(values, maps) if v.rank]
    if any(m.dims is None for m in spread):
        found = closed(values, maps, {i: v.rank for i, (v, m) in enumerate(zip(values, maps)) if m.dims is None})
        check_alike(trace, values, maps, found)
        return found, None
    outer = tuple(sorted({d for m in spread for d in m.dims or ()}))
    if not outer:
        return list(maps), None
    own = {d: i for i, d in enumerate(outer)}
    placed = [ArgMap(tuple(own[d] for d in m.dims or ()), m.type) if v.rank else m for v, m in zip(values, maps)]
    check_alike(trace, values, maps, placed)
    return placed, ArgMap(outer)


def shared_map(trace: OpenTrace, values: Sequence[Value], maps: Sequence[ArgMap]) -> tuple[list[ArgMap], ArgMap | None]:
    """Returns `common_map` for a loop or branch: some of its operands may be whole arrays."""
    spread = [i for i, (v, m) in enumerate(zip(values, maps)) if not (v.rank and m.dims == ())]
    found, inherited = common_map(trace, [values[i] for i in spread], [maps[i] for i in spread])
    new = dict(zip(spread, found))
    return [new.get(i, m) for i, m in enumerate(maps)], inherited


def call_map(
    trace: OpenTrace, values: Sequence[Value], maps: Sequence[ArgMap], attrs: Mapping[str, Attr], loc: str | None
) -> tuple[list[ArgMap], ArgMap | None]:
    """Returns `common_map` for a call: Slang may take an array without a mapping as one value."""
    unsaid = [i for i, (v, m) in enumerate(zip(values, maps)) if v.rank and m.dims is None]
    if not unsaid or trace.body or not any(m.dims for m in maps):
        return common_map(trace, values, maps)
    uniform = {i: ArgMap((), maps[i].type) for i in unsaid}
    placed, inherited = common_map(trace, values, [uniform.get(i, m) for i, m in enumerate(maps)])
    op, tried = OPS["slang.call"], [maps[i] if i in uniform else m for i, m in enumerate(placed)]
    answer = op.resolution(Node(op, values, tried, (), attrs, loc), trace.oracle)
    assert answer is not None
    ranks = {i: len(answer.maps[i].dims or ()) for i in unsaid}
    if not any(ranks.values()):
        return placed, inherited
    found = closed(values, maps, ranks)
    check_alike(trace, values, maps, found)
    return found, None


def inherit(
    trace: OpenTrace, results: Sequence[Value], dims: ArgMap | None, values: Sequence[Value], maps: Sequence[ArgMap]
) -> None:
    """Maps results to the dimensions of what they are computed from, if there are any."""
    if dims is not None:
        trace.maps.update(dict.fromkeys(results, dims))
        asked = [(v, m) for v, m in zip(values, maps) if v in trace.inherited or is_said(trace, v, m)]
        if any(scope_of(trace, (), (m,)) is None for _, m in asked):
            trace.inherited.update(results)
        elif (scope := scope_of(trace, values, maps)) is not None:
            scope.results.update(results)


def closed(values: Sequence[Value], maps: Sequence[ArgMap], unsaid: Mapping[int, int]) -> list[ArgMap]:
    """Closes the gaps between the dimensions of operands, some of which have no mapping: dimensions without operands are removed.

    Only dimensions that results have inherited are removed, such as those of a sum; for arguments such maps are an error.

    Args:
        unsaid: for each operand without a mapping, the number of its axes that run along the grid, along the last dimensions.
    """
    said = {i for i, (v, m) in enumerate(zip(values, maps)) if v.rank and m.dims}
    if any(not values[i].arrival.plain for i in said):
        return list(maps)
    rank = max([*(maps[i].min_grid_rank for i in said), *unsaid.values()], default=0)
    covered = {d for i in said for d in maps[i].dims or ()}.union(*(range(rank - n, rank) for n in unsaid.values()))
    own = {d: i for i, d in enumerate(sorted(covered))}
    return [ArgMap(tuple(own[d] for d in m.dims or ()), m.type) if i in said else m for i, m in enumerate(maps)]


def check_axes(op: str, value: Value, map: ArgMap, loc: str | None) -> None:
    """Raises `ShapeError` if vmap names too few axes for an operation on single elements, or names axes of components."""
    if map.dims is None or is_spread(value):
        return
    left = value.rank - filled_axes(value, map.type)
    if len(map.dims) < left:
        raise ShapeError(
            f"{op}: vmap names {len(map.dims)} of the {left} axes of a {value.type} array",
            place=loc,
            saw=map,
            hint="name a dimension for each axis" + (f"; or {components_hint(value)}" if is_scalar_array(value) else ""),
        )
    if len(map.dims) > left:
        raise ShapeError(
            f"{op}: vmap names {len(map.dims)} axes of a value with {left}",
            place=loc,
            saw=f"{describe(value)} under {map}",
            hint="name one grid dimension per leading axis, and none for those that a vcast takes as components",
        )


def array_product(trace: OpenTrace, op: str, operands: Sequence[Any], loc: str | None) -> Value | None:
    """Records ``a @ b`` or ``dot(a, b)`` of two arrays of numbers.

    ``None`` if one has matrices or vectors as elements, for two single numbers, and for `dot` of more than two axes whose extents
    do not meet.

    Raises:
        ShapeError: for generators, for one single number, and for a vmap that leaves a place empty.
    """
    placed = [trace.operand(given, "captured", loc) for given in operands]
    if any(v.type.kind is Kind.SCALAR and v.rank for v, _ in placed):
        placed = [(v, m) if (s := trace.plain.seen(v, loc)) is v else (s, trace.maps.get(s, UNSAID)) for v, m in placed]
    most = max(v.rank for v, _ in placed)
    if any(v.type.kind is not Kind.SCALAR for v, _ in placed):
        return None
    if not most:
        for value, _ in placed:
            trace.refuse_part(value, op)
        return None
    own_axes = op == "dot" and most > 2  # no axes in front are in common
    if own_axes and not _meet(trace, *(v for v, _ in placed)):
        return None
    for value, _ in placed:
        check_elements(op, value, loc)
        _check_factor(trace, op, value, loc)
    views = [_axes(op, value, said, loc) for value, said in placed]
    ranks = [v.rank for v, _ in placed]
    last, grid = _own_axes(*ranks) if own_axes else _together(*ranks)
    maps = [ArgMap(tuple(dims[axis] for axis in axes)) for dims, axes in zip(grid, views)]
    factors = wide_if_alone(trace, [v for v, _ in placed], [m for _, m in placed], loc)
    (result,) = trace.builder.add(OPS["contract"], factors, maps, {"axes": (f"d{last}",)}, loc)
    word(result, factors)
    return result


def _together(first: int, second: int) -> tuple[int, list[list[int]]]:
    """Returns the dimension that `matmul` of arrays of these ranks sums, and along which dimensions their axes run."""
    batch, columns, rows = max(first, second, 2) - 2, int(second > 1), int(first > 1)
    last = batch + rows + columns
    own = [[*range(batch + 2 - first, batch), *[batch] * rows, last], [*range(batch + 2 - second, batch), last]]
    return last, [own[0], [*own[1], *[batch + rows] * columns]]


def _own_axes(first: int, second: int) -> tuple[int, list[list[int]]]:
    """Returns the same for `dot`, whose result has all other axes of both arrays."""
    last = first + second - 2
    return last, [[*range(first - 1), last], [*range(first - 1, last - 1), last, last - 1] if second > 1 else [last]]


def _meet(trace: OpenTrace, a: Value, b: Value) -> bool:
    """True if the last axis of an array and the one that `dot` sums of another are equally long."""
    if is_spread(a) or is_spread(b) or not a.rank or not b.rank:
        return False
    known = known_shapes(trace)
    return known.of(a)[-1] == known.of(b)[-2 if b.rank > 1 else -1]


def _check_factor(trace: OpenTrace, op: str, value: Value, loc: str | None) -> None:
    """Raises `ShapeError` for an operand without axes."""
    if is_spread(value):
        raise ShapeError(
            f"{op}: {describe(value)} has no extents of its own", place=loc, hint="add it to an array first, or use fp.grid"
        )
    if not value.rank:
        trace.refuse_part(value, op)
        raise ShapeError(
            f"{op}: {describe(value)} is a single number", place=loc, expected="at least one axis", hint="write * for numbers"
        )


def _axes(op: str, value: Value, said: ArgMap, loc: str | None) -> Sequence[int]:
    """Returns the place of each axis of a value in the array that its vmap makes of it.

    Raises:
        ShapeError: if vmap leaves a place empty.
    """
    if said.dims is None:
        return range(value.rank)
    if sorted(said.dims) != list(range(value.rank)):
        raise ShapeError(
            f"{op}: vmap does not say where each axis of the array is",
            place=loc,
            saw=f"{describe(value)} under {said}",
            expected=f"each of the places 0 to {value.rank - 1} once",
            hint="fp.vmap(x, (1, 0)) is the transposed matrix",
        )
    return said.dims
