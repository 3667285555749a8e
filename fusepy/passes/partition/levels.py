"""Levels of values: the number of kernels that must run before a value can be computed.

A kernel reads values that earlier kernels have stored. Its threads run in any order, so no thread can read several elements of a
value that the same kernel computes: not the elements of a reduction, and not an array that user code reads whole. Nodes that
follow a reduction element by element, on the small grid that is left, still belong to the reducing kernel.
"""

from __future__ import annotations

from collections.abc import Iterable

from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops.folds import axes_of
from fusepy.ir.types import AS_ONE
from fusepy.ir.value import is_spread
from fusepy.passes.effects import is_pure, may_write, pointed_by, writes_array, written_arrays
from fusepy.passes.partition.acting import Acting
from fusepy.passes.partition.folding import Folding, Leaves, covered, factors_of, is_product, stands_alone
from fusepy.passes.partition.order import WriteOrder
from fusepy.passes.partition.ray_kernels import RayKernels


def reads_whole(map: ArgMap, value: Value) -> bool:
    """True if user code gets the whole array, not one element."""
    return (map.type or value.type).kind in AS_ONE


class Levels:
    """The level of every value of a resolved graph.

    Attributes:
        producer, readers: the node that computes a value, and the nodes that use it.
        position: the index of every node in the graph.
        level: the level of every value.
        place: for every node the level of the kernel that runs it.
        folding: for results of reductions, and for values that follow these on the small grid, the reductions.
        foldings: all reductions, in order.
        separate: True if values share a grid, or the small grid of reductions, only where their extents are certainly equal.
        rays: the values that kernels of ray generations compute.
        spread: generators, and values computed only from them, which are the same in every kernel.
        factors: computed values that are multiplied as matrices: they are stored, since a product reads each many times.
        dear: values that are stored, see `dear_values`.
        acting: the nodes with effects.
    """

    def __init__(self, graph: Graph, separate: bool = False, dear: frozenset[Value] = frozenset()):
        self.graph, self.separate, self.dear = graph, separate, dear
        self.producer: dict[Value, Node] = {v: n for n in graph.nodes for v in n.results}
        self.position = {node: i for i, node in enumerate(graph.nodes)}
        self.readers: dict[Value, list[Node]] = {}
        for node in graph.nodes:
            for value in node.operands:
                self.readers.setdefault(value, []).append(node)
        self.level: dict[Value, int] = dict.fromkeys(graph.inputs, 0)
        self.place: dict[Node, int] = {}
        self.folding: dict[Value, Folding] = {}
        self.foldings: list[Folding] = []
        self.rays = RayKernels(graph, self.level)
        self.spread = spread_values(graph)
        self.factors = factors_of(graph, self.producer)
        self.acting = Acting(self, {n for n in graph.nodes if not is_pure(n)})
        self.writers: list[Node] = []  # nodes that may write memory of arguments, in order
        self._pointed = {node: found for node in graph.nodes if (found := pointed_by(node, node.maps))}
        self._order = WriteOrder(self._pointed, self.acting.effects)
        self._leaves: dict[Value, Leaves] = {}
        for node in graph.nodes:
            self._visit(node)
            self._trace_leaves(node)

    def _visit(self, node: Node) -> None:
        if node.op.views:  # a view
            (value,), (result,) = node.operands, node.results
            self.place[node] = self.level[result] = self.level[value] + (value in self.acting.values)
            if value in self.folding:
                self.folding[result] = self.folding[value]
            self.rays.place(node, self.level[result])
            return
        after = self._after(node)
        level = max(after.level if after is not None else self._needs(node), self._order.before(node))
        if after is not None and level > after.level:
            after = None
        level = self.acting.place(node, level) if self.acting.effects else level
        level = self.rays.place(node, level) if self.rays.any else level
        self.place[node] = level
        self._order.add(node, level)
        if node in self._pointed or writes_array(node):
            self.writers.append(node)
        self.level.update(dict.fromkeys(node.results, level))
        self.acting.follow(node, level)
        if node.op.name in ("reduce", "scan"):
            after = self._join(node, level)
        if after is not None:
            self.folding.update(dict.fromkeys(node.results, after))

    def _needs(self, node: Node) -> int:
        """Returns the level at which all operands are available."""
        level = 0
        for value, map in zip(node.operands, node.maps):
            producer = self.producer.get(value)
            stored = value in self.folding or self.is_factor(node, value) or (node.op.name == "index" and value in self.dear)
            if producer is not None:
                stored |= reads_whole(map, value) or writes_array(producer) or node.op.standalone or producer.op.standalone
                stored |= value in self.acting.values and self.acting.needs(node, value, map)
            level = max(level, self.level[value] + (stored or self.overwrites(node, value)))
        return level

    def is_factor(self, node: Node, value: Value) -> bool:
        """True if `node` multiplies the computed `value` as a matrix."""
        return value in self.factors and any(is_product(reader) for v in node.results for reader in self.readers.get(v, ()))

    def overwrites(self, node: Node, value: Value) -> bool:
        """True if `node` writes an array from which its operand `value` is computed; then `value` is stored first."""
        arrays = {v.memory for v in (*written_arrays(node), *self._pointed.get(node, ()))}
        if not arrays or value.memory in arrays:
            return False
        seen = {value}
        stack = [value]
        while stack:
            producer = self.producer.get(stack.pop())
            for operand in producer.operands if producer is not None else ():
                if operand.memory in arrays:
                    return True
                if operand not in seen:
                    seen.add(operand)
                    stack.append(operand)
        return False

    def _after(self, node: Node) -> Folding | None:
        """Returns the reductions that `node` follows element by element on their small grid; else ``None``."""
        foldings = {self.folding[v] for v in node.operands if v in self.folding}
        if len(foldings) > 1:  # what earlier kernels have stored is read at the end of a product
            last = max(f.level for f in foldings)
            foldings = {f for f in foldings if f.level == last and f.product}
        if len(foldings) != 1 or not node.op.spreads or node in self.acting.effects:
            return None
        (folding,) = foldings
        if node.grid_rank != folding.small_rank:
            return None
        identity = tuple(range(folding.small_rank))
        for value, map in zip(node.operands, node.maps):
            if reads_whole(map, value) or value in self.spread or (value in self.folding and map.dims != identity):
                return None
            if self.folding.get(value) is folding:
                continue
            # other operands must be available before the reductions are done; arrays of one element are in memory
            stored = value in self.folding or value in self.rays.of or value in self.acting.values
            if self.level[value] + stored > folding.level or value.rank != len(map.dims or ()):
                return None
            if value.rank and (self.separate if value in self.folding else not self._fits_small(value)):
                return None
        return folding

    def _fits_small(self, value: Value) -> bool:
        """True if `value` is assumed to have the extents of the small grid, until a call shows them: it is in memory."""
        return not self.separate and all(leaf.arrival.tensor for leaf, _ in self.leaves(value))

    def _join(self, node: Node, level: int) -> Folding:
        """Adds `node` to the reductions over the same axes and grid, and returns them."""
        over = axes_of(node, "axis" if node.op.name == "scan" else "axes")
        leaves, rank = self.leaves(node.operands[0], node.maps[0]), node.grid_rank
        for folding in self.foldings:
            alike = (folding.level, folding.over, folding.rank, folding.nodes[0].op) == (level, over, rank, node.op)
            if alike and not (folding.alone or stands_alone(node)) and self.share_grid(folding.leaves, leaves):
                break
        else:
            folding = Folding(level, over, rank, leaves)
            self.foldings.append(folding)
        folding.nodes.append(node)
        return folding

    def leaves(self, value: Value, map: ArgMap | None = None) -> Leaves:
        """Returns the stored values that give `value` its extents, each with the grid dimensions that its axes run along.

        An axis that has become the components of a vector runs along no dimension: ``-1``.
        """
        leaves = self._leaves.get(value)
        if leaves is None:  # an argument, or the result of a reduction
            leaves = self._leaves[value] = frozenset([(value, tuple(range(value.rank)))] if value.rank else [])
        if map is None or map.dims is None or map.dims == tuple(range(value.rank)):
            return leaves
        dims = map.dims
        mapped = ((leaf, tuple(dims[d] if 0 <= d < len(dims) else -1 for d in along)) for leaf, along in leaves)
        return frozenset((leaf, along) for leaf, along in mapped if max(along) >= 0)

    def _trace_leaves(self, node: Node) -> None:
        """Sets the leaves of the results of `node`, which are spread over its grid."""
        if not node.op.spreads and not node.op.views:
            return
        leaves: frozenset[tuple[Value, tuple[int, ...]]] = frozenset()
        for operand, map in zip(node.operands, node.maps):
            if map.dims and operand not in self.spread and not reads_whole(map, operand):
                leaves = leaves | self.leaves(operand, map) if leaves else self.leaves(operand, map)
        self._leaves.update(dict.fromkeys(node.results, leaves))

    def share_grid(self, a: Leaves, b: Leaves) -> bool:
        """True if values with these leaves are assumed to have the same extents, until a call shows them.

        An axis from ``expand`` has extent 1 and no leaf, so it differs from an axis with a leaf.
        """
        return a == b if self.separate else bool(a & b) and covered(a) == covered(b)

    def written(self, value: Value) -> int:
        """Returns the level of the last kernel that may write into an argument; -1 if none does."""
        acting = [n for n in self.graph.nodes if not value.arrival.plain and n in self.acting.effects]
        reached = [n for n in acting if any(v.memory == value.memory for v in n.operands) or may_write(n, value)]
        return max((self.place[n] for n in reached), default=-1)

    def written_between(self, values: Iterable[Value], first: int, last: int) -> bool:
        """True if a kernel of a level from `first` up to before `last` may write one of `values`."""
        return any(may_write(n, v) for v in values for n in self.writers if first <= self.place[n] < last)


def spread_values(graph: Graph) -> set[Value]:
    """Returns generators without extents, and values computed only from these and from single values."""
    spread = {v for v in graph.inputs if is_spread(v)}
    for node in graph.nodes:
        if not any(v.rank for v in node.results) and any(v in spread for v in node.operands):
            spread.update(node.results)
    return spread
