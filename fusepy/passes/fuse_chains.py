"""Fuses elementwise nodes into regions, each of which becomes one kernel with one trampoline.

The maps of a chain are composed into the grid of the region's results, so inside a region every value is a single element.
A value that is read through two different maps is computed once for each: recomputing costs registers, storing it would
cost a round trip through memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.ir.argmap import ArgMap
from fusepy.ir.containers import is_spread
from fusepy.ir.graph import Attr, Graph, Node, Value
from fusepy.ir.ops import OPS
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import Type
from fusepy.passes.effects import check_writes, is_pure

Dims = tuple[int, ...]


def fuse_chains(graph: Graph, oracle: Oracle) -> Graph:
    """One region over the broadcast grid of all results."""
    if not graph.outputs and not graph.nodes:
        return graph
    check_writes(graph)
    region = build_region(graph, graph.outputs)
    return graph.replace(nodes=[region], outputs=region.results)


def split_outputs(graph: Graph) -> Graph:
    """One region per result: for results whose extents turn out not to share a grid."""
    regions = [build_region(graph, [output], effects=j == 0) for j, output in enumerate(graph.outputs)]
    return graph.replace(nodes=regions, outputs=[r.results[0] for r in regions])


def build_region(graph: Graph, outputs: Sequence[Value], effects: bool = True) -> Node:
    """The region that computes `outputs`, with everything that they need, and with what is only called for its effect."""
    return _Fuser(graph, outputs, unneeded_effects(graph) if effects else {}).region()


def unneeded_effects(graph: Graph) -> dict[Node, None]:
    """The nodes that write something and whose results, if they have any, no output needs."""
    live: set[Value] = set(graph.outputs)
    found: list[Node] = []
    for node in reversed(graph.nodes):
        if any(v in live for v in node.results):
            live.update(node.operands)
        elif not is_pure(node):
            found.append(node)
    return dict.fromkeys(reversed(found))


def spread_values(graph: Graph) -> set[Value]:
    """Generators without extents, and what is computed from them and from single values alone."""
    spread = {v for v in graph.inputs if is_spread(v)}
    for node in graph.nodes:
        if not any(v.rank for v in node.results) and any(v in spread for v in node.operands):
            spread.update(node.results)
    return spread


def converted(value: Value, type: Type, nodes: list[Node]) -> Value:
    """`value` as a `type`, by a node that is added to those of a body."""
    found = Value(type)
    nodes.append(Node(OPS["cast"], [value], [ArgMap(())], [found], {"type": type.name}))
    return found


def without_maps(body: Graph) -> Graph:
    """The body of a loop or branch as it is inside a region, where conversions are nodes of their own."""
    nodes: list[Node] = []
    same: dict[Value, Value] = {}
    for node in body.nodes:
        given = [same.get(v, v) for v in node.operands]
        args = [v if m.type in (None, v.type) else converted(v, m.type, nodes) for v, m in zip(given, node.maps)]
        if node.op.name == "cast" and args[0].type is node.results[0].type:
            same[node.results[0]] = args[0]
            continue
        maps, bodies = [ArgMap(())] * len(args), [without_maps(inner) for inner in node.bodies]
        nodes.append(Node(node.op, args, maps, node.results, node.attrs, node.loc, bodies))
    return body.replace(nodes=nodes, outputs=[same.get(v, v) for v in body.outputs])


class _Fuser:
    def __init__(self, graph: Graph, outputs: Sequence[Value], effects: dict[Node, None]):
        self.graph = graph
        self.outputs = outputs
        self.effects = effects
        self.rank = max([v.rank for v in outputs] + [n.grid_rank for n in effects], default=0)
        # the ways, as dimensions of the region's grid, in which each value is needed; dicts for their order
        self.needed: dict[Value, dict[Dims, None]] = {v: {} for v in graph.values()}
        self.out_dims: list[Dims] = [()] * len(outputs)
        self.instances: dict[tuple[Value, Dims], Value] = {}
        self.body_nodes: list[Node] = []
        self.body_inputs: list[Value] = []
        self.operands: list[tuple[Value, ArgMap]] = []
        self.loads: dict[tuple[Value, Dims, Type], Value] = {}
        self.computed = {v for n in graph.nodes for v in n.results}
        self.spread = spread_values(graph)

    def region(self) -> Node:
        self.collect()
        for node in self.graph.nodes:
            wanted = self.node_dims(node)
            for dims in wanted:
                self.instantiate(node, dims)
        results = [self.instance(v, d, v.type) for v, d in zip(self.outputs, self.out_dims)]
        body = Graph(self.graph.name, self.body_inputs, self.body_nodes, results, ())
        attrs: dict[str, Attr] = {f"out_{j}": tuple(f"d{d}" for d in dims) for j, dims in enumerate(self.out_dims)}
        values = [v for v, _ in self.operands]
        maps = [m for _, m in self.operands]
        outs = [Value(v.type, (None,) * len(dims)) for v, dims in zip(self.outputs, self.out_dims)]
        return Node(OPS["region"], values, maps, outs, attrs, None, [body])

    def collect(self) -> None:
        """Walks backwards, composing each operand's map with the ways in which its reader is needed."""
        full = [v for v in self.outputs if v.rank == self.rank]
        for value in full:
            self.needed[value][tuple(range(self.rank))] = None
        for node in reversed(self.graph.nodes):
            self.place_outputs(node.results)
            for dims in self.node_dims(node):
                for value, map in zip(node.operands, node.maps):
                    self.needed[value][self.inner(value, map, dims)] = None
        self.place_outputs(self.graph.inputs)
        for j, value in enumerate(self.outputs):
            ways = self.needed[value]
            identity = tuple(range(self.rank))
            whole = value.rank == self.rank or value in self.spread
            self.out_dims[j] = identity if whole else next(iter(ways))

    def place_outputs(self, values: Sequence[Value]) -> None:
        """A result of smaller rank runs along the dimensions in which a larger one reads it, else along the last ones."""
        for value in values:
            if value in self.outputs and value in self.spread:
                self.needed[value][tuple(range(self.rank))] = None
            elif value in self.outputs and not self.needed[value]:
                self.needed[value][tuple(range(self.rank - value.rank, self.rank))] = None

    def inner(self, value: Value, map: ArgMap, dims: Dims) -> Dims:
        """How an operand runs along the region's grid where its reader runs along `dims`: a generator follows its reader."""
        return dims if value in self.spread else map.compose(dims).dims or ()

    def node_dims(self, node: Node) -> dict[Dims, None]:
        """The ways in which any result of `node` is needed; one that is called for its effect runs over its own grid."""
        wanted = {dims: None for v in node.results for dims in self.needed[v]}
        return wanted if wanted or node not in self.effects else {self.effect_dims(node): None}

    def effect_dims(self, node: Node) -> Dims:
        """The grid of a call for its effect: its own, at the end of the region's; all of it if it has only generators."""
        rank = node.grid_rank
        if not rank and any(v in self.spread for v in node.operands):
            rank = self.rank
        return tuple(range(self.rank - rank, self.rank))

    def instantiate(self, node: Node, dims: Dims) -> None:
        """One copy of `node` for one way of being needed, inside the body."""
        args: list[Value] = []
        for value, map in zip(node.operands, node.maps):
            args.append(self.instance(value, self.inner(value, map, dims), map.type or value.type))
        if node.op.name == "cast" and node.maps[0].type is node.results[0].type and args[0].type is node.results[0].type:
            self.instances[node.results[0], dims] = args[0]  # the load has converted already
            return
        results = [Value(v.type, (), weak=v.weak) for v in node.results]
        bodies = [without_maps(body) for body in node.bodies]
        self.body_nodes.append(Node(node.op, args, [ArgMap(())] * len(args), results, node.attrs, node.loc, bodies))
        for old, fresh in zip(node.results, results):
            self.instances[old, dims] = fresh

    def instance(self, value: Value, dims: Dims, type: Type) -> Value:
        """`value` as one element of `type` inside the body."""
        if value not in self.computed:
            return self.load(value, dims, type)
        found = self.instances[value, dims]
        if found.type is type:
            return found
        return converted(found, type, self.body_nodes)

    def load(self, value: Value, dims: Dims, type: Type) -> Value:
        """An input of the body: `value` read through these dimensions as `type`."""
        found = self.loads.get((value, dims, type))
        if found is None:
            taken = {v.name for v in self.body_inputs}
            assert value.name is not None
            name, count = value.name, 1
            while name in taken:
                count += 1
                name = f"{value.name}_{count}"
            found = Value(type, (), weak=value.weak, name=name)
            self.body_inputs.append(found)
            self.operands.append((value, ArgMap(dims, type if type is not value.type else None)))
            self.loads[value, dims, type] = found
        return found
