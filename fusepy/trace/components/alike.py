"""Results that inherit the mapping of a `vmap` inside of a fused function, where call by call they are arrays like others.

Refuses a call where the extents fit both the inherited dimensions and the last ones; a vmap of the result says which.
"""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.errors import ShapeError
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.graph import Value
from fusepy.ir.ops.base import filled_axes
from fusepy.ir.value import is_spread
from fusepy.trace.moves.shapes import known_shapes
from fusepy.trace.open_trace import OpenTrace

Meaning = tuple[list[int], list[list[tuple[int, int]]]]  # extents of the grid, and each operand's axes


def is_said(trace: OpenTrace, value: Value, map: ArgMap) -> bool:
    """True if the user wrote a vmap at this use."""
    return map.dims is not None and map.dims is not trace.maps.get(value, UNSAID).dims


def check_alike(trace: OpenTrace, values: Sequence[Value], maps: Sequence[ArgMap], found: Sequence[ArgMap]) -> None:
    """Raises `ShapeError` if operands have other places than in an eager call, which has extents that fit, too.

    Args:
        maps: as they are said and inherited; `found` are those of the node.
    """
    if not trace.inherited:
        return
    inherits = [v in trace.inherited and not is_said(trace, v, m) for v, m in zip(values, maps)]
    if not any(inherits) or any(is_spread(v) for v in values):
        return
    eager = [ArgMap(None, m.type) if i else m for m, i in zip(maps, inherits)]
    places, own = _places(values, eager), _places(values, found)
    if places == own:
        return
    shapes = [known_shapes(trace).of(v) for v in values]
    call_by_call, as_inherited = _meaning(shapes, places), _meaning(shapes, own)
    if call_by_call is None or call_by_call == as_inherited:
        return
    moved = [(m.dims, place) for m, place, now, v in zip(maps, places, own, inherits) if v and place != now]
    inherited, last = moved[0] if moved else (maps[inherits.index(True)].dims, places[inherits.index(True)])
    if as_inherited is None:
        raise ShapeError(
            "a result of mapped values does not fit along the dimensions that it inherits",
            saw=f"extents {' and '.join(map(str, filter(None, shapes)))}, the result under {ArgMap(inherited)}",
            hint=f"call by call it runs along the last dimensions: write fp.vmap(x, {last})",
        )
    raise ShapeError(
        "a result of mapped values fits in two ways",
        saw=f"{ArgMap(inherited)}, which it inherits, and {ArgMap(last)}, as call by call; the extents fit both",
        expected="a vmap of the result",
        hint=f"fp.vmap(x, {last}) is as call by call, fp.vmap(x, {inherited}) is what it inherits",
    )


def _places(values: Sequence[Value], maps: Sequence[ArgMap]) -> list[tuple[int, ...]]:
    """Returns the dimensions of the grid along which the axes of each operand run."""
    axes = [len(m.dims) if m.dims is not None else v.rank - filled_axes(v, m.type) for v, m in zip(values, maps)]
    rank = max([*axes, *(d + 1 for m in maps for d in m.dims or ())])
    return [m.dims if m.dims is not None else tuple(range(rank - n, rank)) for m, n in zip(maps, axes)]


def _meaning(shapes: Sequence[tuple[int, ...]], places: Sequence[tuple[int, ...]]) -> Meaning | None:
    """Returns what operands at these places mean, where an axis of extent 1 may run along any dimension.

    ``None`` if they do not broadcast, or leave a dimension without an axis.
    """
    found: dict[int, set[int]] = {}
    for dims, shape in zip(places, shapes):
        for d, n in zip(dims, shape):
            found.setdefault(d, set()).add(n)
    if sorted(found) != list(range(len(found))) or any(len(extents - {1}) > 1 for extents in found.values()):
        return None
    grid = [max(found[d] - {1}, default=1) for d in range(len(found))]
    return grid, [[(d, n) for d, n in zip(dims, shape) if n != 1] for dims, shape in zip(places, shapes)]
