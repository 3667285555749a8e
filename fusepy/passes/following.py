"""Generators follow extents in a region: those of what their readers read beside them, not those of the whole grid.

``m.f(call_id(), x) + y`` calls ``f`` over the grid of ``x``: along an axis where ``x`` has extent 1 the coordinate is 0, however
long ``y`` is there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Graph, Value
from fusepy.passes.partition.levels import reads_whole

Dims = tuple[int, ...]
Near = frozenset[tuple[Value, Dims]]  # values with extents, and the dimensions of the grid that their axes run along


@dataclass(frozen=True)
class Following:
    """A generator along these dimensions of the grid, with the extents that `near` has there.

    Where all of these are 1 its coordinate stays 0. Without `near` it has the extents of the grid.
    """

    dims: Dims
    near: Near | None


Way = Dims | Following  # in which a value is needed


def dims_of(way: Way) -> Dims:
    """The dimensions of the grid."""
    return way.dims if isinstance(way, Following) else way


def mapped(near: Iterable[tuple[Value, Dims]], dims: Dims) -> Near:
    """`near` where the dimensions that its axes run along are those of a grid that runs along `dims` of another one.

    Axes that become components run along none.
    """
    moved = ((v, tuple(dims[d] for d in along if d < len(dims))) for v, along in near)
    return frozenset((v, along) for v, along in moved if along)


def all_leaves(graph: Graph, spread: Collection[Value]) -> dict[Value, Near]:
    """For each value of a graph the inputs that give it its extents, each with the axes of the value that its axes are."""
    found: dict[Value, Near] = {v: frozenset([(v, tuple(range(v.rank)))] if v.rank else []) for v in graph.inputs}
    for node in graph.nodes:
        read = [(v, m) for v, m in zip(node.operands, node.maps) if v not in spread and not reads_whole(m, v)]
        leaves = frozenset(leaf for v, m in read for leaf in mapped(found[v], m.dims or ()))
        found.update(dict.fromkeys(node.results, leaves))
    return found


def near_operands(
    followed: Sequence[Near | None],
    operands: Sequence[Value],
    maps: Sequence[ArgMap],
    given: Mapping[Value, Collection[int]] | None = None,
) -> tuple[tuple[int, Dims], ...]:
    """For each generator that does not follow all operands with extents: which it does; see `RegionSpec.near`.

    Args:
        followed: what each operand follows, if it is a generator.
        given: for values that are no operands the places of those that give them their extents.
    """
    ranked = [i for i, (v, m) in enumerate(zip(operands, maps)) if m.dims and len(m.dims) <= v.rank]
    found: list[tuple[int, Dims]] = []
    for i, near in enumerate(followed):
        if near is None:
            continue
        taken = {j for v, _ in near for j in (given or {}).get(v, ())}
        taken |= {j for j in ranked if (operands[j], maps[j].dims) in near}
        if taken != set(ranked):
            found.append((i, tuple(sorted(taken))))
    return tuple(found)
