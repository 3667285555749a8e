"""`Draft`: the parts of a partition while it is built, and the part that stores each value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.pipelines.rays import generates_rays
from fusepy.passes.effects import writes_array
from fusepy.passes.partition.acting import Grid, fits
from fusepy.passes.partition.folding import Folding, Leaves
from fusepy.passes.partition.levels import Levels, reads_whole
from fusepy.passes.partition.parts import Part


class Draft:
    """A partition while it is built.

    Attributes:
        parts: the parts so far. Those of reductions, and of nodes that run by themselves, exist from the beginning: other values
            can join reductions.
        home: the part that stores a value.
        position: the index of a value in the graph.
    """

    def __init__(self, graph: Graph, separate: bool, dear: frozenset[Value]):
        self.levels = Levels(graph, separate, dear)
        self.home: dict[Value, Part] = {}
        self.position = {v: i for i, v in enumerate(graph.values())}
        self.folding: dict[Folding, Part] = {f: Part(f.level, folding=f) for f in self.levels.foldings}
        self.parts: list[Part] = [*self.folding.values()]
        for node in (n for n in graph.nodes if n.op.standalone):
            self.parts.append(Part(self.levels.place[node], [*node.results], standalone=node))
            self.home.update(dict.fromkeys(node.results, self.parts[-1]))
        self._calls: dict[int, Part] = {}  # the parts that run calls with effects, by level
        self._cones: dict[Part, set[Value]] = {}
        self._of_arrays: list[Part] = []  # parts that make arrays which later ones write

    # ---- putting values into parts ------------------------------------------------------------------------------

    def new(self, level: int) -> Part:
        self.parts.append(Part(level))
        return self.parts[-1]

    def plain(self, level: int, value: Value) -> Part:
        """Returns the part for a value computed element by element at a level."""
        if value in self.levels.acting.values:
            return self._calls[level]
        grid = value.rank, self.levels.leaves(value)
        return next((p for p in self.parts if p.level == level and self._takes(p, grid)), None) or self.new(level)

    def _takes(self, part: Part, grid: Grid | None) -> bool:
        """True if a part takes values of this grid; any, unless it has calls with effects."""
        if part.folding is not None or part.alone or part in self._of_arrays or part.standalone is not None:
            return False
        if any(map(generates_rays, part.effects)):
            return False
        return all(fits(grid, self.levels.acting.grids.get(node)) for node in part.effects)

    def act(self, node: Node) -> None:
        """Puts a node with effects into a part, which stores its results: the node must not run twice."""
        level = self.levels.place[node]
        part = self.new(level) if writes_array(node) or generates_rays(node) else self._of_calls(node, level)
        part.effects[node] = None
        for value in node.results:
            if any(self.levels.place[n] > level for n in self.levels.readers.get(value, ())):
                self.put(value, part)

    def _of_calls(self, node: Node, level: int) -> Part:
        """Returns the part of a level for calls with effects, which have one grid; it is that of `node`."""
        if level not in self._calls:
            grid = self.levels.acting.grids[node]
            parts = (p for p in self.parts if p.level == level and self._takes(p, grid))
            fit = (p for p in parts if all(fits(grid, (v.rank, self.levels.leaves(v))) for v in p.stored))
            self._calls[level] = next(fit, None) or self.new(level)
        return self._calls[level]

    def store(self, value: Value, last: bool = False) -> None:
        """Makes sure that a part stores `value`.

        Args:
            last: True if no other kernel reads it, so that a later one may compute it.
        """
        if value in self.home:
            return
        folding = self.levels.folding.get(value)
        if folding is None:
            self.put(value, self._part_for(value, last))
        else:
            self.home[value] = self.folding[folding]
            self.folding[folding].after.append(value)

    def put(self, value: Value, part: Part) -> None:
        part.stored.append(value)
        self.home[value] = part
        if part in self._cones:
            self.cone([value], self._cones[part])

    def _part_for(self, value: Value, last: bool) -> Part:
        """Returns a part that can store `value`: a reduction of its grid, its producer's, or the elementwise one of its level."""
        level = self.levels.level[value]
        node = self.levels.rays.of.get(value) or self.levels.producer.get(value)
        if node in self.levels.acting.effects:
            return next(p for p in self.parts if node in p.effects)
        if (
            node is not None and not node.op.merges
        ):  # an array of gradients seldom has the grid of what is computed before it is used
            self._of_arrays.append(self.new(level))
            return self._of_arrays[-1]
        reducing = self.reducing(value, level)
        if reducing is not None:
            return reducing
        if last and not self.levels.writers:
            grid = value.rank, self.levels.leaves(value)
            parts = [p for p in self.parts if p.level >= level and self._takes(p, grid)]
            if parts and value not in self.levels.acting.values:
                return min(parts, key=lambda p: p.level)
        return self.plain(level, value)

    def reducing(self, value: Value, level: int) -> Part | None:
        """Returns the part of a level that reduces over the grid of `value`; ``None`` for an input."""
        if value not in self.levels.producer or value in self.levels.acting.values:
            return None
        leaves = self.levels.leaves(value)
        return next((p for p in self.parts if p.level == level and self._shares_grid(p.folding, value, leaves)), None)

    def _shares_grid(self, folding: Folding | None, value: Value, leaves: Leaves) -> bool:
        if folding is None or folding.product:
            return False
        return value.rank == folding.rank and self.levels.share_grid(folding.leaves, leaves)

    # ---- what a part computes -----------------------------------------------------------------------------------

    def roots(self, part: Part) -> Iterator[Value]:
        """Yields the values from which everything in a part is reached."""
        yield from part.stored
        for node in part.effects:
            yield from (v for v, m in zip(node.operands, node.maps) if not reads_whole(m, v))
        for node in part.folding.nodes if part.folding is not None else ():
            yield node.operands[0]
        yield from part.after

    def cone(self, values: Iterable[Value], found: set[Value] | None = None) -> set[Value]:
        """Returns all values that are computed element by element for `values`, down to stored ones.

        The set `found` is extended in place; its values are not visited again.
        """
        found = set() if found is None else found
        stack: list[Value] = []
        for value in values:
            found.add(value)
            stack += self.inputs(value)
        while stack:
            value = stack.pop()
            if value not in found:
                found.add(value)
                stack += () if value in self.home else self.inputs(value)
        return found

    def cone_of(self, part: Part) -> set[Value]:
        cone = self._cones.get(part)
        if cone is None:
            cone = self._cones[part] = self.cone(self.roots(part))
        return cone

    def inputs(self, value: Value) -> list[Value]:
        """Returns the operands from which a kernel computes `value` element by element."""
        node = self.levels.producer.get(value)
        if node is None or node.op.standalone or value in self.levels.folding:
            return []
        return [v for v, m in zip(node.operands, node.maps) if not reads_whole(m, v)]
