"""Extents of generators in a region: those of the operands read beside them, not those of the whole grid.

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


Way = Dims | Following  # how a value is needed along the grid


def dims_of(way: Way) -> Dims:
    """Returns the grid dimensions of a way."""
    return way.dims if isinstance(way, Following) else way


def mapped(near: Iterable[tuple[Value, Dims]], dims: Dims) -> Near:
    """Returns `near` for an outer grid, of which the inner grid runs along `dims`.

    Axes that become components run along no dimension.
    """
    moved = ((v, tuple(dims[d] for d in along if d < len(dims))) for v, along in near)
    return frozenset((v, along) for v, along in moved if along)


def all_leaves(graph: Graph, spread: Collection[Value]) -> dict[Value, Near]:
    """Returns for each value the inputs that give it its extents, each with the axes of the value that its axes run along."""
    result: dict[Value, Near] = {v: frozenset([(v, tuple(range(v.rank)))] if v.rank else []) for v in graph.inputs}
    for node in graph.nodes:
        read = [(v, m) for v, m in zip(node.operands, node.maps) if v not in spread and not reads_whole(m, v)]
        leaves = frozenset(leaf for v, m in read for leaf in mapped(result[v], m.dims or ()))
        result.update(dict.fromkeys(node.results, leaves))
    return result


def near_operands(
    followed: Sequence[Near | None],
    operands: Sequence[Value],
    maps: Sequence[ArgMap],
    given: Mapping[Value, Collection[int]] | None = None,
) -> tuple[tuple[int, Dims], ...]:
    """Returns pairs of a generator and the operands that it follows, unless it follows all with extents; see `RegionSpec.near`.

    Args:
        followed: for each operand that is a generator the values that it follows, else ``None``.
        given: for values that are not operands the indices of the operands that give them their extents.
    """
    ranked = [i for i, (v, m) in enumerate(zip(operands, maps)) if m.dims and len(m.dims) <= v.rank]
    pairs: list[tuple[int, Dims]] = []
    for i, near in enumerate(followed):
        if near is None:
            continue
        sources = {j for v, _ in near for j in (given or {}).get(v, ())}
        sources |= {j for j in ranked if (operands[j], maps[j].dims) in near}
        if sources != set(ranked):
            pairs.append((i, tuple(sorted(sources))))
    return tuple(pairs)
