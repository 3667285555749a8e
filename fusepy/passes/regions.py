"""Regions: the nodes of one kernel as a graph of single elements over a grid.

The maps of a chain are composed into the grid of the region's results, so inside a region every value is a single element.
A value that is read through two different maps is computed once for each. Recomputing costs registers; storing would cost a
round trip through memory.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops import OPS
from fusepy.ir.ops.region import RegionSpec, ResultSpec
from fusepy.ir.types import Type
from fusepy.passes.conversions import converted, is_converted, without_maps
from fusepy.passes.following import Dims, Following, Near, Way, all_leaves, dims_of, mapped, near_operands
from fusepy.passes.partition.levels import reads_whole, spread_values


class RegionBuilder:
    """Builds the region of a graph.

    Args:
        graph: the nodes; its inputs are what the region loads.
        outputs: the values of which it stores an element per point of its grid.
        effects: nodes that it runs for their effects, though no output needs them.
        folds: reductions of its elements; they run over the whole grid.
        names: names of the loaded values that other regions compute.
        given: inputs that are values, not memory; they are converted at each use.
    """

    def __init__(
        self,
        graph: Graph,
        outputs: Sequence[Value],
        effects: Mapping[Node, None],
        folds: Sequence[Node] = (),
        names: Mapping[Value, str] | None = None,
        given: Collection[Value] = (),
    ):
        self.graph = graph
        self.outputs = outputs
        self.effects = effects
        self.folds = folds
        self.names = names or {}
        self.given = given
        ranks = [v.rank for v in outputs] + [n.grid_rank for n in effects] + [n.grid_rank for n in folds]
        self.rank = max(ranks, default=0)
        # the ways in which each value is needed along the region's grid; dicts keep their order
        self.needed: dict[Value, dict[Way, None]] = {v: {} for v in graph.values()}
        self.out_dims: list[Dims] = [()] * len(outputs)
        self.instances: dict[tuple[Value, Way], Value] = {}
        self.body_nodes: list[Node] = []
        self.body_inputs: list[Value] = []
        self.operands: list[tuple[Value, ArgMap]] = []
        self.loads: dict[tuple[Value, Way, Type], Value] = {}
        self.followed: dict[Value, Near] = {}  # the values that loaded generators follow, by body input
        self.computed = {v for n in graph.nodes for v in n.results}
        self.spread = spread_values(graph)
        self.grids = {v for v in graph.inputs if v.arrival.grid}  # open grids take the extents of the operands beside them
        self.leaves = all_leaves(graph, self.spread) if self.spread or self.grids else {}

    def region(self) -> Node:
        """Returns the region, without folds and epilogue."""
        body = self.body()
        values = [v for v, _ in self.operands]
        maps = [m for _, m in self.operands]
        outs = [Value(v.type, (None,) * len(dims)) for v, dims in zip(self.outputs, self.out_dims)]
        followed = [self.followed.get(v) for v in body.inputs]
        spec = RegionSpec(tuple(map(ResultSpec, self.out_dims)), near=near_operands(followed, values, maps))
        return Node(OPS["region"], values, maps, outs, {"spec": spec}, None, [body])

    def body(self) -> Graph:
        """Returns the body, whose nodes work on single elements, and fills `operands`, one for each input of the body."""
        self.collect()
        for node in self.graph.nodes:
            for way in self.node_ways(node):
                self.instantiate(node, way)
        ways = [self.everywhere() if v in self.spread else d for v, d in zip(self.outputs, self.out_dims)]
        results = [self.instance(v, way, v.type) for v, way in zip(self.outputs, ways)]
        for node in self.folds:
            value, map = node.operands[0], node.maps[0]
            results.append(self.instance(value, self.inner(value, map, self.whole()), map.type or value.type))
        return Graph(self.graph.name, self.body_inputs, self.body_nodes, results, ())

    def whole(self) -> Dims:
        """Returns all dimensions of the region's grid."""
        return tuple(range(self.rank))

    def collect(self) -> None:
        """Walks backwards, composing each operand's map with the ways in which its reader is needed."""
        full = [v for v in self.outputs if v.rank == self.rank]
        for value in full:
            self.needed[value][self.whole()] = None
        for node in self.folds:
            value = node.operands[0]
            self.needed[value][self.inner(value, node.maps[0], self.whole())] = None
        for node in reversed(self.graph.nodes):
            self.place_outputs(node.results)
            for way in self.node_ways(node):
                for value, map in zip(node.operands, node.maps):
                    if not reads_whole(map, value):
                        self.needed[value][self.inner(value, map, way, node)] = None
        self.place_outputs(self.graph.inputs)
        for j, value in enumerate(self.outputs):
            ways = self.needed[value]
            whole = value.rank == self.rank or value in self.spread
            self.out_dims[j] = self.whole() if whole else dims_of(next(iter(ways)))

    def place_outputs(self, values: Sequence[Value]) -> None:
        """Places outputs of smaller rank: along the dimensions in which a larger one reads them, else along the last ones."""
        for value in values:
            if value in self.outputs and value in self.spread:
                self.needed[value][self.everywhere()] = None
            elif value in self.outputs and not self.needed[value]:
                self.needed[value][tuple(range(self.rank - value.rank, self.rank))] = None

    def everywhere(self) -> Following:
        """Returns the way of a generator that is read beside no operand with extents."""
        return Following(self.whole(), None)

    def inner(self, value: Value, map: ArgMap, way: Way, reader: Node | None = None) -> Way:
        """Returns the way of an operand whose reader runs along `way`; a generator follows its reader."""
        if value not in self.spread:
            dims = map.compose(dims_of(way)).dims or ()
            if reader is None or value not in self.grids:
                return dims
            near = self.near(reader, dims_of(way))
            return Following(dims, near) if any(v is not value for v, _ in near) else dims
        if isinstance(way, Following):
            return way
        return Following(way, self.near(reader, way) if reader is not None and reader.grid_rank else None)

    def near(self, reader: Node, dims: Dims) -> Near:
        """Returns the values that give `reader` its extents where it runs along `dims`."""
        near: set[tuple[Value, Dims]] = set()
        for value, map in zip(reader.operands, reader.maps):
            if value not in self.spread and not reads_whole(map, value):
                near |= mapped(mapped(self.leaves[value], map.dims or ()), dims)
        return frozenset(near)

    def node_ways(self, node: Node) -> dict[Way, None]:
        """Returns the ways in which any result of `node` is needed; a node that runs for its effect has its own grid."""
        ways = {way: None for v in node.results for way in self.needed[v]}
        return ways if ways or node not in self.effects else {self.effect_dims(node): None}

    def effect_dims(self, node: Node) -> Dims:
        """Returns the grid of a call that runs for its effect: the region's last dimensions, or all if it has only generators."""
        rank = node.grid_rank
        if not rank and any(v in self.spread for v in node.operands):
            rank = self.rank
        return tuple(range(self.rank - rank, self.rank))

    def instantiate(self, node: Node, way: Way) -> None:
        """Adds a copy of `node` to the body, for one way in which it is needed."""
        args: list[Value] = []
        for value, map in zip(node.operands, node.maps):
            whole = reads_whole(map, value)  # in memory, also if its elements are computed here
            at, type = () if whole else self.inner(value, map, way, node), map.type or value.type
            args.append(self.load(value, at, type) if whole else self.instance(value, at, type))
        if (is_converted(node, args) and node.maps[0].type is node.results[0].type) or node.op.name == "expand":
            self.instances[node.results[0], way] = args[0]  # the load has converted already; a view is its operand
            return
        results = [Value(v.type, (), weak=v.weak) for v in node.results]
        bodies = [without_maps(body) for body in node.bodies]
        self.body_nodes.append(Node(node.op, args, [ArgMap(())] * len(args), results, node.attrs, node.loc, bodies))
        for old, fresh in zip(node.results, results):
            self.instances[old, way] = fresh

    def instance(self, value: Value, way: Way, type: Type) -> Value:
        """Returns `value` as one element of `type` inside the body."""
        if value in self.given:
            element = self.load(value, way, value.type)
        elif value not in self.computed:
            return self.load(value, way, type)
        else:
            element = self.instances[value, way]
        if element.type is type:
            return element
        return converted(element, type, self.body_nodes)

    def load(self, value: Value, way: Way, type: Type) -> Value:
        """Returns the input of the body that reads `value` in this way as `type`."""
        loaded = self.loads.get((value, way, type))
        if loaded is None:
            names = {v.name for v in self.body_inputs}
            plain = name = value.name or self.names[value]
            count = 1
            while name in names:
                count += 1
                name = f"{plain}_{count}"
            loaded = Value(type, (), weak=value.weak, name=name)
            self.body_inputs.append(loaded)
            self.operands.append((value, ArgMap(dims_of(way), type if type is not value.type else None)))
            self.loads[value, way, type] = loaded
            if isinstance(way, Following) and way.near is not None:
                self.followed[loaded] = way.near
        return loaded
