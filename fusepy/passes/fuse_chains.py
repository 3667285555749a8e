"""Fusion: the nodes of each part of the program's partition become one region, which is compiled to one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, count

from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops import OPS
from fusepy.ir.ops.folds import Fold
from fusepy.ir.ops.region import RegionSpec, ResultSpec, StoredInto, output_feeds, spec_of, with_spec
from fusepy.ir.oracle import Oracle
from fusepy.ir.resources import texture_of
from fusepy.ir.types import Kind, Type
from fusepy.passes.base import Pass
from fusepy.passes.conversions import without_maps
from fusepy.passes.effects import check_writes, unneeded_effects
from fusepy.passes.following import Near, mapped, near_operands
from fusepy.passes.partition.partition import partition
from fusepy.passes.partition.parts import Part, Partition, base
from fusepy.passes.regions import RegionBuilder


@dataclass(frozen=True)
class FuseChains(Pass):
    """The pass that makes one region per part. An output that is a view of a stored value becomes an ``expand`` node.

    Attributes:
        separate: True if values share a grid only where their extents are certainly equal; see `Levels`.
    """

    name = "fuse_chains"
    ensures = "fused"
    separate: bool = False

    def __call__(self, graph: Graph, oracle: Oracle) -> Graph:
        if not graph.outputs and not graph.nodes:
            return graph
        check_writes(graph)
        result = partition(graph, oracle, self.separate)
        plain = len(result.parts) == 1 and result.parts[0].folding is None and result.parts[0].standalone is None
        if plain and not any(node.op.name == "numbers" for node in graph.nodes):
            region = RegionBuilder(graph, graph.outputs, unneeded_effects(graph)).region()
            return graph.replace(nodes=[region], outputs=region.results)
        return _Fuser(graph, result).run()


class _Fuser:
    """Builds the regions of a partition one after the other."""

    def __init__(self, graph: Graph, partition: Partition):
        self.graph = graph
        self.partition = partition
        self.producer = partition.levels.producer
        self.stored: dict[Value, Value] = {}  # results of the regions so far, in memory
        self.textures: dict[Value, Value] = {}  # results in textures, for user code that samples them
        self.repeated: dict[int, Value] = {}  # separate results for outputs that are returned twice
        self.nodes: list[Node] = []

    def run(self) -> Graph:
        for part in self.partition.parts:
            if part.standalone is not None:
                self.standalone(part.standalone)
            elif part.folding is not None:
                self.folding(part)
            else:
                self.plain(part)
        return self.graph.replace(nodes=self.nodes, outputs=self.outputs())

    def outputs(self) -> list[Value]:
        """Returns the graph's outputs: results of regions, and views of these."""
        outputs: list[Value] = []
        for j, value in enumerate(self.graph.outputs):
            below = base(self.partition.levels, value)
            stored = self.repeated.get(j, self.stored[below])
            if below is value:
                outputs.append(stored)
                continue
            node = self.producer[value]  # `passes.views` has merged views of views
            shown = Value(value.type, value.dims)
            self.nodes.append(Node(node.op, [stored], node.maps, [shown], node.attrs, node.loc))
            outputs.append(shown)
        return outputs

    def standalone(self, node: Node) -> None:
        operands = [self.lying(v, m) for v, m in zip(node.operands, node.maps)]
        bodies = [without_maps(body) for body in node.bodies]
        self.nodes.append(Node(node.op, operands, node.maps, node.results, node.attrs, node.loc, bodies))
        self.stored.update(zip(node.results, node.results))

    def plain(self, part: Part) -> None:
        outputs = list(part.stored)
        again = [j for j, v in enumerate(self.graph.outputs) if v in outputs and v in self.graph.outputs[:j]]
        outputs += [self.graph.outputs[j] for j in again]
        sampled = self.sampled(part)
        outputs = [v for v in outputs if v not in sampled or sampled[v][1]] + list(sampled)
        graph = self.cut(part, outputs)
        effects = {n: None for n in part.effects if n in unneeded_effects(graph)}
        region = RegionBuilder(graph, outputs, effects, names=self.names(graph)).region()
        first = len(outputs) - len(sampled)
        textures = {first + j: StoredInto(type) for j, (type, _) in enumerate(sampled.values())}
        stored = first - len(again)
        self.add(with_spec(region, spec_of(region).storing(textures)), outputs[:stored])
        self.repeated.update(zip(again, self.nodes[-1].results[stored:first]))
        self.textures.update(zip(sampled, self.nodes[-1].results[first:]))

    def sampled(self, part: Part) -> dict[Value, tuple[Type, bool]]:
        """Returns the values that user code reads as textures: the type of each, and True if it is needed in memory as well."""
        textures: dict[Value, tuple[Type, bool]] = {}
        levels = self.partition.levels
        for value in part.stored:
            reads = [(n, m) for n in levels.readers.get(value, ()) for v, m in zip(n.operands, n.maps) if v is value]
            types = [m.type for _, m in reads if m.type is not None and m.type.kind is Kind.RESOURCE]
            type = texture_of(value, types[0]) if types else None
            if type is not None:
                others = [n for n, m in reads if m.type is None or m.type.kind is not Kind.RESOURCE]
                later = any(levels.place[n] > part.level for n in others)
                textures[value] = type, later or value in self.graph.outputs
        return textures

    def folding(self, part: Part) -> None:
        folding = part.folding
        assert folding is not None
        graph = self.cut(part, [*part.stored, *(n.operands[0] for n in folding.nodes)])
        builder = RegionBuilder(graph, part.stored, {}, folding.nodes, self.names(graph))
        plain = builder.region()
        folds = [n.results[0] for n in folding.nodes]
        simple = set(part.after) <= set(folds)
        results = folds if simple else part.after
        kept = tuple(d for d in range(folding.rank) if folding.scans or d not in folding.over)
        operands, maps, bodies = [*plain.operands], [*plain.maps], [*plain.bodies]
        followed = [builder.followed.get(v) for v in bodies[0].inputs]
        sources: dict[Value, frozenset[int]] = {}
        if not simple:
            body, further, near = self.epilogue(part, folds)
            feeds = output_feeds(plain)[len(part.stored) :]
            sources.update(zip(folds, feeds))
            bodies.append(body)
            operands += [v for v, _ in further]
            maps += [m.compose(kept) for _, m in further]
            followed += [None if n is None else mapped(n, kept) for n in near]
        spec = RegionSpec(
            (*spec_of(plain).results, *[ResultSpec(kept)] * len(results)),
            tuple(Fold.of_node(n, folding.scans) for n in folding.nodes),
            folding.over,
            near_operands(followed, operands, maps, sources),
        )
        values = [*plain.results, *(Value(v.type, v.dims) for v in results)]
        self.add(Node(plain.op, operands, maps, values, {"spec": spec}, None, bodies), [*part.stored, *results])

    def epilogue(self, part: Part, folds: Sequence[Value]) -> tuple[Graph, list[tuple[Value, ArgMap]], list[Near | None]]:
        """Returns the epilogue of the reductions: body, operands besides the reductions, and what each of these follows."""
        graph = self.cut(part, part.after, folds)
        names = {v: f"{self.producer[v].text('kind')}" for v in folds} | self.names(graph)
        builder = RegionBuilder(graph, part.after, {}, names=names, given=folds)
        body = builder.body()
        loaded = {v: inner for (v, _), inner in zip(builder.operands, body.inputs)}
        used = {v.name for v in body.inputs}
        first: list[Value] = []
        for value in folds:
            numbered = (f"{names[value]}_{i}" for i in count(2))
            name = next(n for n in chain([names[value]], numbered) if n not in used)
            first.append(loaded.get(value) or Value(value.type, (), name=name))
            used.add(name)
        further = [(v, m, inner) for (v, m), inner in zip(builder.operands, body.inputs) if v not in folds]
        inputs = [*first, *(inner for *_, inner in further)]
        near = [builder.followed.get(inner) for *_, inner in further]
        return Graph(body.name, inputs, body.nodes, body.outputs), [(v, m) for v, m, _ in further], near

    def cut(self, part: Part, roots: Sequence[Value], ends: Sequence[Value] = ()) -> Graph:
        """Returns the graph that computes `roots` and runs the effects; the values that the part loads are its inputs."""
        nodes, starts = self.partition.nodes(part, roots, ends)
        known = [v for v in self.graph.inputs if v in starts]
        return Graph(self.graph.name, [*known, *(v for v in starts if v in self.producer)], nodes, roots)

    def names(self, graph: Graph) -> dict[Value, str]:
        """Returns names for the values that other regions have stored, after the operations that compute them."""
        names: dict[Value, str] = {}
        for value in graph.inputs:
            node = self.producer.get(value)
            if node is not None:
                label = node.text("function") if node.op.name == "slang.call" else str(node.attrs.get("kind", node.op.name))
                names[value] = "".join(c if c.isalnum() else "_" for c in label)
        return names

    def lying(self, value: Value, map: ArgMap) -> Value:
        """Returns the value that an earlier region has stored for an operand, in memory or as a texture."""
        if value not in self.producer:
            return value
        below = base(self.partition.levels, value)
        if below is not value:  # a view, which user code reads whole
            node, shown = self.producer[value], Value(value.type, value.dims)
            self.nodes.append(Node(node.op, [self.stored[below]], node.maps, [shown], node.attrs, node.loc))
            return shown
        if map.type is None or map.type.kind is not Kind.RESOURCE:
            return self.stored[value]
        if value not in self.textures:
            self.textures[value] = self.copied(value, map.type)
        return self.textures[value]

    def copied(self, value: Value, wanted: Type) -> Value:
        """Adds a region that copies the result of a reduction into a texture."""
        type, dims = texture_of(value, wanted), tuple(range(value.rank))
        assert type is not None, wanted
        inner, result = Value(value.type, (), name="texel"), Value(value.type, (None,) * value.rank)
        spec = RegionSpec((ResultSpec(dims, StoredInto(type)),))
        body = Graph(self.graph.name, [inner], [], [inner])
        self.nodes.append(Node(OPS["region"], [self.stored[value]], [ArgMap(dims)], [result], {"spec": spec}, None, [body]))
        return result

    def add(self, region: Node, values: Sequence[Value]) -> None:
        """Appends a region with the results `values`, which reads the results of earlier regions."""
        operands = [self.lying(v, m) for v, m in zip(region.operands, region.maps)]
        self.nodes.append(Node(region.op, operands, region.maps, region.results, region.attrs, None, region.bodies))
        self.stored.update(zip(values, region.results))
