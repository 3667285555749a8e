"""`Acting`: calls that write memory through pointers, buffers or globals. Each runs once for each element of its own grid.

What reads such a result elsewhere than at the same element, or on a larger grid, would run the call again. It is computed in a
later kernel, from the stored result.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Node, Value
from fusepy.ir.pipelines.rays import generates_rays
from fusepy.ir.types import AS_ONE
from fusepy.passes.effects import writes_array
from fusepy.passes.partition.folding import Leaves


class KnownLevels(Protocol):
    """The part of `Levels` that is known when a node is placed."""

    spread: set[Value]
    level: dict[Value, int]

    def leaves(self, value: Value, map: ArgMap | None = None) -> Leaves: ...


Grid = tuple[int, Leaves]  # its rank, and the values that give it its extents


class Acting:
    """The nodes of a graph that have effects.

    Attributes:
        effects: all of them.
        values: results of these calls, and what the same kernel computes from them, element by element.
        grids: for every node that may share a kernel its grid; ``None`` for one that takes the grid of its kernel. Calls that
            write whole arrays, and rays, run by themselves.
    """

    def __init__(self, levels: KnownLevels, effects: Collection[Node]):
        self.levels = levels
        self.effects = effects
        self.values: set[Value] = set()
        self.grids: dict[Node, Grid | None] = {}
        self._at: dict[int, Grid | None] = {}

    def needs(self, node: Node, value: Value, map: ArgMap) -> bool:
        """True if `node` has to read `value`, one of `values`, from memory: to compute it might run a call once more."""
        inner = self.levels.leaves(value)
        alike = node.op.spreads and node.grid_rank == value.rank and (map.dims or ()) == tuple(range(value.rank))
        reads = [(v, m) for v, m in zip(node.operands, node.maps) if (m.type or v.type).kind not in AS_ONE]
        return not alike or any(not self.levels.leaves(v, m) <= inner for v, m in reads if v not in self.levels.spread)

    def place(self, node: Node, level: int) -> int:
        """Returns the level of `node`, from this one on: kernels have the calls of one grid only, in order."""
        if node not in self.effects or writes_array(node) or generates_rays(node):
            return level
        grid = self.grids[node] = self._grid(node)
        while level in self._at and not fits(grid, self._at[level]):
            level += 1
        self._at[level] = self._at.get(level) or grid
        return level

    def follow(self, node: Node, level: int) -> None:
        """Adds the results of a node that has this level."""
        if not self.effects or not node.op.spreads or any(v in self.levels.spread for v in node.results):
            return
        beside = (v in self.values and self.levels.level[v] == level for v in node.operands)
        if node in self.effects or any(beside):
            self.values.update(node.results)

    def _grid(self, node: Node) -> Grid | None:
        if not node.grid_rank and any(v in self.levels.spread for v in node.operands):
            return None
        leaves = [self.levels.leaves(v, m) for v, m in zip(node.operands, node.maps) if m.dims and v not in self.levels.spread]
        return node.grid_rank, frozenset[tuple[Value, tuple[int, ...]]]().union(*leaves)


def fits(grid: Grid | None, other: Grid | None) -> bool:
    """True if a kernel can have both grids."""
    return grid is None or other is None or (grid[0] == other[0] and (grid[1] <= other[1] or other[1] <= grid[1]))
