"""Joins regions that reduce rows, and those that use what is reduced, into one region: each row stays with its threads.

A reduction ends a kernel, since other threads wait for its result. Where it runs along rows, the threads of one group can read
the row, combine it, and go on with the elements that they hold. So a softmax is one region instead of three. That the regions
share a grid is assumed until a call shows the extents; a call that shows others, or too few rows, runs the program without the
join.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops import OPS
from fusepy.ir.ops.folds import Fold
from fusepy.ir.ops.promotion import of_numbers
from fusepy.ir.ops.region import Joined, RegionSpec, ResultSpec, spec_of, with_spec
from fusepy.ir.oracle import Oracle
from fusepy.ir.rows.body import RowBody
from fusepy.ir.types import Type
from fusepy.passes.base import Pass
from fusepy.passes.conversions import converted
from fusepy.passes.cse import Cse
from fusepy.passes.dce import Dce
from fusepy.passes.partition.cost import compute_bytes, element_bytes
from fusepy.passes.rewrite import substitute
from fusepy.passes.rows.groups import RowGroup, ordered, row_groups

Dims = tuple[int, ...]
Place = tuple[Value, Dims]


@dataclass(frozen=True)
class JoinRows(Pass):
    """The pass that makes one region of each group of `row_groups`, except of those whose numbers are `refused`."""

    name = "join_rows"
    requires = ensures = "fused"
    refused: frozenset[int] = frozenset()

    def __call__(self, graph: Graph, oracle: Oracle) -> Graph:
        groups = [g for g in row_groups(graph) if g.number not in self.refused] if len(graph.nodes) > 1 else []
        if not groups:
            return graph
        readers: dict[Value, list[Node]] = {}
        for node in graph.nodes:
            for value in node.operands:
                readers.setdefault(value, []).append(node)
        owner: dict[Node, Node] = {}
        made: dict[Value, Value] = {}
        for group in groups:
            region, results = _Joiner(graph, group, readers, oracle).region()
            owner.update(dict.fromkeys(group.members, region))
            made.update(results)
        nodes = [substitute(node, made) for node in _ordered(graph, owner)]
        return graph.replace(nodes=nodes, outputs=[made.get(v, v) for v in graph.outputs])


def kernel_numbers(graph: Graph, refused: frozenset[int]) -> list[int]:
    """Returns for each region of a fused graph the number of the kernel that it is in after the join."""
    groups = [g for g in row_groups(graph) if g.number not in refused]
    first = {n: g.members[0] for g in groups for n in g.members}
    order = [n for n in _ordered(graph, first) if n.op.name == "region"]
    return [order.index(first.get(n, n)) for n in graph.nodes if n.op.name == "region"]


def _ordered(graph: Graph, owner: Mapping[Node, Node]) -> list[Node]:
    """Returns the nodes with joined ones in place of their members, each behind those that it reads from, else in order."""
    done = ordered(graph, owner)
    assert len(done) == len({owner.get(node, node) for node in graph.nodes}), "joined regions wait for each other"
    return done


class _Joiner:
    """Makes the region of one group: the bodies of its members one after the other, with ``row_fold`` nodes for their folds."""

    def __init__(self, graph: Graph, group: RowGroup, readers: Mapping[Value, Sequence[Node]], oracle: Oracle):
        self.graph, self.group, self.readers, self.oracle = graph, group, readers, oracle
        self.nodes: list[Node] = []
        self.inputs: list[Value] = []
        self.operands: list[tuple[Value, ArgMap]] = []
        self.loads: dict[tuple[Value, Dims | None, Type, tuple[Place, ...] | None], Value] = {}
        self.near: dict[Value, tuple[Place, ...]] = {}  # for generators the operands that give them their extents
        self.inner: dict[Value, Value] = {}  # results of members, as elements inside the body
        self.lying: dict[Value, ResultSpec] = {}

    def region(self) -> tuple[Node, dict[Value, Value]]:
        """Returns the region, and its result for each result of a member that others read."""
        for member in self.group.members:
            self.append(member)
        members, outputs = {*self.group.members}, {*self.graph.outputs}
        shown = [v for v in self.inner if v in outputs or not members.issuperset(self.readers.get(v, ()))]
        body = Graph(self.group.members[0].bodies[0].name, self.inputs, self.nodes, [self.inner[v] for v in shown])
        body = Dce()(Cse()(body, self.oracle), self.oracle)
        results = {v: Value(v.type, v.dims) for v in shown}
        live = {v for n in body.nodes for v in n.operands} | {*body.outputs}
        followed = {one for v in live for one in self.near.get(v, ())}
        kept = [i for i, v in enumerate(body.inputs) if v in live or self.found(i) in followed]
        body = body.replace(inputs=[body.inputs[i] for i in kept])
        places = [self.found(i) for i in kept]
        near = [(k, self.near[v]) for k, v in enumerate(body.inputs) if v in self.near]
        sources = tuple((k, tuple(j for j, place in enumerate(places) if place in found)) for k, found in near)
        spec = RegionSpec(tuple(self.lying[v] for v in shown), near=sources, rows=self.group.rows)
        operands, maps = [self.operands[i][0] for i in kept], [self.operands[i][1] for i in kept]
        region = Node(OPS["region"], operands, maps, [*results.values()], {"spec": spec}, None, [body])
        return with_spec(region, replace(spec, joined=self.priced(region))), results

    def priced(self, region: Node) -> Joined:
        """Returns the price of what each stage computes again, and of what the members pass through memory."""
        body = RowBody(region)
        price = {n: compute_bytes(n, self.oracle) for n in body.body.nodes}
        whole = sum(price[n] for n in body.body.nodes if any(v not in body.whole for v in n.results))
        walked = sum(price[n] for stage in body.stages(held=False) for n in stage.elements.nodes)
        inside = {v for n in self.group.members for v in n.operands if v in self.inner}
        passed = [v for v in inside if v.rank == self.group.rank]
        return Joined(self.group.number, max(0.0, walked - whole), sum(element_bytes(v.type, self.oracle) for v in passed))

    def append(self, member: Node) -> None:
        """Adds the nodes of a member, and its results to `inner`."""
        spec, body = spec_of(member), member.bodies[0]
        first, plain = len(body.inputs), len(body.outputs) - len(spec.folds)
        outputs = self.copied(body, [self.read(member, i, v.type) for i, v in enumerate(body.inputs)])
        done = [*outputs[:plain], *map(self.folded, outputs[plain:], spec.folds)]
        if len(member.bodies) > 1:
            then = member.bodies[1]
            further = then.inputs[len(spec.folds) :]
            given = [*done[plain:], *(self.read(member, first + i, v.type) for i, v in enumerate(further))]
            done = [*done[:plain], *self.copied(then, given)]
        self.inner.update(zip(member.results, done))
        self.lying.update(zip(member.results, (ResultSpec(self.group.dims(member, r.dims)) for r in spec.results)))

    def copied(self, body: Graph, given: Sequence[Value]) -> list[Value]:
        """Adds copies of the nodes of a body that read `given`, and returns its outputs."""
        same: dict[Value, Value] = dict(zip(body.inputs, given))
        for node in body.nodes:
            results = [Value(v.type, (), weak=v.weak) for v in node.results]
            operands = [same[v] for v in node.operands]
            self.nodes.append(Node(node.op, operands, node.maps, results, node.attrs, node.loc, node.bodies))
            same.update(zip(node.results, results))
        return [same[v] for v in body.outputs]

    def folded(self, value: Value, fold: Fold) -> Value:
        """Adds the node that combines a value along the row."""
        attrs = {"kind": fold.kind}
        if fold.identity is not None:
            attrs |= {"module": fold.module, "function": fold.function, "identity": fold.identity}
        result = Value(fold.type(value.type), weak=of_numbers([value]))
        self.nodes.append(Node(OPS["row_fold"], [value], [ArgMap(())], [result], attrs))
        return result

    def read(self, member: Node, i: int, type: Type) -> Value:
        """Returns operand `i` of a member as an element of `type`."""
        value, map = member.operands[i], member.maps[i]
        if map.dims is not None and self.group.columns:
            map = replace(map, dims=self.group.dims(member, map.dims))
        if value in self.inner:
            found = self.inner[value]
            return found if found.type is type else converted(found, type, self.nodes)
        sources = spec_of(member).near_of(i)
        near = None if sources is None else tuple(self.place(member, j) for j in sources)
        key = (value, map.dims, type, near)
        if key not in self.loads:
            bodies = [v for body in member.bodies for v in body.inputs]
            label = bodies[i if i < len(member.bodies[0].inputs) else i + len(spec_of(member).folds)]
            self.loads[key] = Value(type, (), weak=label.weak, name=self.unused(label.name or "x"))
            self.inputs.append(self.loads[key])
            self.operands.append((value, map))
            if near is not None:
                self.near[self.loads[key]] = near
        return self.loads[key]

    def found(self, i: int) -> Place:
        """Returns operand `i` of the region, with the dimensions that it runs along."""
        value, map = self.operands[i]
        return value, map.dims or ()

    def place(self, member: Node, i: int) -> Place:
        """Returns an operand of a member, with the dimensions that it runs along."""
        dims = member.maps[i].dims or ()
        return member.operands[i], self.group.dims(member, dims) if self.group.columns else dims

    def unused(self, label: str) -> str:
        """Returns a name that no input has."""
        names, name, count = {v.name for v in self.inputs}, label, 1
        while name in names:
            count += 1
            name = f"{label}_{count}"
        return name
