"""Groups of regions that `join_rows` may join: they reduce the same rows, or use what is reduced, element by element."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops.region import spec_of
from fusepy.ir.types import Kind
from fusepy.passes.effects import is_pure
from fusepy.passes.partition.levels import reads_whole

MOST = 10  # regions of a group: threads that hold nothing walk along the row, and compute all again, for each reduction


@dataclass(eq=False)
class RowGroup:
    """Regions in order, all over grids of `rank` dimensions; they reduce along `rows`, adjacent ones of these."""

    rank: int
    rows: tuple[int, ...]
    members: list[Node]
    number: int = 0

    @property
    def columns(self) -> bool:
        """True if the rows do not end at the last dimension of the grid."""
        return self.rows[-1] < self.rank - 1

    def ranks(self, over: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the ranks of regions that may join, if they fold along `over`: others may be over the grid of rows as well."""
        return (self.rank,) if over else (self.rank, self.rank - len(self.rows))

    def dims(self, region: Node, dims: Sequence[int]) -> tuple[int, ...]:
        """Returns the dimensions of the group along which `dims` of a region's grid run."""
        if region.grid_rank == self.rank:
            return tuple(dims)
        left = [d for d in range(self.rank) if d not in self.rows]
        return tuple(left[d] for d in dims)


def row_groups(graph: Graph) -> list[RowGroup]:
    """Returns the groups of at least two regions, numbered in order. None are joined beside effects, whose order counts."""
    folding = [n for n in graph.nodes if n.op.name == "region" and spec_of(n).folds and not spec_of(n).scans]
    if len(graph.nodes) < 2 or not folding or not all(is_pure(n) for n in graph.walk() if n.op.name != "region"):
        return []
    grouping = _Grouping(graph)
    for node in graph.nodes:
        if node.op.name == "region" and _may_join(node):
            grouping.place(node)
    found = _in_order(graph, [g for g in dict.fromkeys(grouping.group.values()) if len(g.members) > 1])
    for number, group in enumerate(found):
        group.number = number
    return found


def _in_order(graph: Graph, groups: list[RowGroup]) -> list[RowGroup]:
    """Returns the groups without those that wait for each other: rows that need columns, which need other rows of the group.

    Of several that wait, the smallest is left out first.
    """
    while len(groups) > 1:
        done = {*ordered(graph, {n: g.members[0] for g in groups for n in g.members})}
        stuck = [g for g in groups if g.members[0] not in done]
        if not stuck:
            break
        groups.remove(min(stuck, key=lambda g: len(g.members)))
    return groups


def ordered(graph: Graph, owner: Mapping[Node, Node]) -> list[Node]:
    """Returns the nodes with joined ones in place of their members, each behind those that it reads from, else in order.

    Nodes that wait for each other are left out, and those that wait for these.
    """
    place = {owner.get(node, node): i for i, node in enumerate(graph.nodes)}
    producer = {v: owner.get(n, n) for n in graph.nodes for v in n.results}
    waits: dict[Node, set[Node]] = {node: set() for node in place}
    for node in graph.nodes:
        one = owner.get(node, node)
        waits[one].update(producer[v] for v in node.operands if v in producer and producer[v] is not one)
    readers: dict[Node, list[Node]] = {}
    for node, needed in waits.items():
        for other in needed:
            readers.setdefault(other, []).append(node)
    ready = [(place[node], id(node), node) for node, needed in waits.items() if not needed]
    heapify(ready)
    done: list[Node] = []
    while ready:
        node = heappop(ready)[2]
        done.append(node)
        for reader in readers.get(node, ()):
            waits[reader].discard(node)
            if not waits[reader]:
                heappush(ready, (place[reader], id(reader), reader))
    return done


def _may_join(region: Node) -> bool:
    """True if a region computes single elements for memory: no scan, no product of matrices, no texture."""
    spec = spec_of(region)
    adjacent = not spec.over or spec.over[-1] - spec.over[0] == len(spec.over) - 1
    kinds = [f.kind for f in spec.folds]
    plain = all(v.type.kind not in (Kind.ARRAY, Kind.MATRIX) for body in region.bodies for v in body.values())
    return adjacent and plain and not (spec.scans or "dot" in kinds or any(r.into for r in spec.results))


class _Grouping:
    """The groups so far. A region joins the groups whose results it reads, if no region between them stays outside."""

    def __init__(self, graph: Graph):
        self.position = {n: i for i, n in enumerate(graph.nodes)}
        self.producer = {v: n for n in graph.nodes for v in n.results}
        self.lying = {v: r.dims for n in graph.nodes if n.op.name == "region" for v, r in zip(n.results, spec_of(n).results)}
        self.group: dict[Node, RowGroup] = {}

    def place(self, node: Node) -> None:
        """Adds a region to the groups that it may join; one that folds begins a new group if there is none."""
        rank, over = node.grid_rank, spec_of(node).over
        groups = [g for g in self.read_from(node) if over in ((), g.rows) and rank in g.ranks(over) and not self.follows(node, g)]
        if len(groups) > 1:  # rows are tried before columns
            groups.sort(key=lambda g: not g.columns)
        joined: list[RowGroup] = []
        for group in reversed(groups):
            count = sum(len(g.members) for g in (*joined, group))
            alike = not joined or (joined[0].rank, joined[0].rows) == (group.rank, group.rows)
            if count < MOST and alike and self.may_be_one([*joined, group], node):
                joined.append(group)
        if not joined:
            if over:
                self.group[node] = RowGroup(rank, over, [node])
            return
        first, *others = joined
        for other in others:
            first.members = sorted([*first.members, *other.members], key=self.position.__getitem__)
            self.group.update(dict.fromkeys(other.members, first))
        first.members.append(node)
        self.group[node] = first

    def follows(self, node: Node, group: RowGroup) -> bool:
        """True if a generator in a region has the extents of a result of the group, which would be no operand any more."""
        sources = {node.operands[j] for _, near in spec_of(node).near for j in near}
        return any(self.group.get(self.producer[v]) is group for v in sources if v in self.producer)

    def read_from(self, node: Node) -> list[RowGroup]:
        """Returns the groups of which `node` reads each value at its own element or row."""
        groups: dict[RowGroup, bool] = {}
        for value, map in zip(node.operands, node.maps):
            group = self.group.get(self.producer[value]) if value in self.producer else None
            if group is not None:
                groups[group] = groups.get(group, True) and self.in_place(group, node, value, map)
        return [group for group, fits in groups.items() if fits]

    def in_place(self, group: RowGroup, node: Node, value: Value, map: ArgMap) -> bool:
        """True if a region reads the element of its own point of the grid of a group, or of its own row."""
        if reads_whole(map, value):
            return False
        if not group.columns:
            return map.dims == self.lying[value]
        if node.grid_rank not in group.ranks(()):
            return False
        return group.dims(node, map.dims or ()) == group.dims(self.producer[value], self.lying[value])

    def may_be_one(self, groups: Sequence[RowGroup], node: Node) -> bool:
        """True if nothing outside of `groups` and `node` lies between two of them.

        The groups by themselves were asked before, one group at a time; what stands before all of them leads to none.
        """
        first = min(self.position[g.members[0]] for g in groups)
        several = [n for g in groups for n in g.members] if len(groups) > 1 else []
        if any(self.follows(one, group) for one in several for group in groups):
            return False
        for one in several:  # one may read a value of another group whole, or at other elements
            for value, map in zip(one.operands, one.maps):
                group = self.group.get(self.producer[value]) if value in self.producer else None
                if group is not None and group in groups and not self.in_place(group, one, value, map):
                    return False
        seen = set[Node]()
        stack = [n for n in self.before([node, *several]) if self.group.get(n) not in groups]
        while stack:
            one = stack.pop()
            if one in seen or self.position[one] < first:
                continue
            seen.add(one)
            group = self.group.get(one)
            if group in groups:
                return False
            stack += self.before([one] if group is None else group.members)
        return True

    def before(self, nodes: Iterable[Node]) -> list[Node]:
        """Returns the nodes that make what `nodes` read."""
        return [self.producer[v] for n in nodes for v in n.operands if v in self.producer]
