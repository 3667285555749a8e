"""Lowering of a fused graph to an `Executable`. `passes` and `backend` meet here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial

from fusepy.backend.device.device import Device
from fusepy.backend.emit.fold.variant import FoldVariant
from fusepy.backend.emit.operands import region_operands
from fusepy.backend.emit.options import Options
from fusepy.backend.emit.shims import passed_types, used_names
from fusepy.backend.emit.text import Emission, KernelSource
from fusepy.backend.emit.variant import Variant
from fusepy.backend.execute.destinations import DestinationChecks
from fusepy.backend.execute.executable import Executable
from fusepy.backend.execute.numbers import ShownNumbers
from fusepy.backend.execute.plan import Plan, PlanContext
from fusepy.backend.execute.step import Step
from fusepy.backend.execute.texture_results import TextureTarget, textures_for
from fusepy.backend.kernels.build import build_kernel
from fusepy.backend.kernels.kernel import LONG, Kernel
from fusepy.backend.marshals.registry import ACCESSES
from fusepy.backend.memory.element import Element
from fusepy.backend.slang.oracle import SlangOracle
from fusepy.backend.sources.copies.counted import counted_source
from fusepy.backend.sources.copies.graded import graded_source
from fusepy.backend.sources.copies.queries import queried_source
from fusepy.backend.sources.copies.scalars import scalar_source
from fusepy.backend.sources.copies.unstaged import unstaged_source
from fusepy.backend.sources.reachable import mentions
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import ResolveError
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops.folds import axes_of
from fusepy.ir.ops.region import spec_of
from fusepy.ir.pipelines.queries import queried_in
from fusepy.ir.pipelines.rays import pipelines_in
from fusepy.ir.types import Kind, pair_of
from fusepy.passes.effects import is_pure
from fusepy.passes.partition.cost import compute_bytes
from fusepy.passes.pipeline import PIPELINE, SEPARATED, run_pipeline, until
from fusepy.passes.rows.join import JoinRows
from fusepy.passes.split import split_region
from fusepy.program.equal_regions import EqualRegions
from fusepy.program.stages import stage_of


@dataclass(frozen=True)
class Lowering:
    """Makes the executable of a program.

    Attributes:
        recorded: the graph as it was traced.
        graph: the same in regions.
        positions: the positions of its inputs among the `count` arguments.
        results: the name of each result's destination, for messages.
        targets: the results that are stored into textures.
        separate: each reduction has a region of its own.
        refused: groups of rows that are not joined.
    """

    device: Device
    oracle: SlangOracle
    sources: Sequence[ModuleSource]
    recorded: Graph
    graph: Graph
    positions: Sequence[int]
    count: int
    options: Options
    strict: bool
    results: Sequence[str]
    targets: dict[int, TextureTarget]
    separate: bool = False
    refused: frozenset[int] = frozenset()

    def executable(self) -> Executable:
        """Returns the executable of the program; compiles no kernel."""
        graph = self.graph
        slot = dict(zip(graph.inputs, self.positions))
        count = self.count
        if any(node.op.name == "numbers" and self._result(node.results[0]) in self.targets for node in graph.nodes):
            passes = [step for step in PIPELINE if step.name != "numbers"]  # each texel is a number
            return replace(self, graph=run_pipeline(self.recorded, self.oracle, passes)).executable()
        views: dict[Value, tuple[int, tuple[int, ...]]] = {}
        numbers: dict[Value, Value] = {}
        steps: list[Step] = []
        for node in graph.nodes:
            if node.op.name == "numbers":
                numbers[node.results[0]] = node.operands[0]
                continue
            if node.op.name == "expand":
                views[node.results[0]] = slot[node.operands[0]], axes_of(node, "axes")
                slot[node.results[0]] = count
                count += 1
                continue
            slot |= zip(node.results, range(count, count + len(node.results)))
            count += len(node.results)
            wanted = [graph.outputs.index(v) if v in graph.outputs else None for v in node.results]
            plan = self._plan(node, [slot[v] for v in node.operands], wanted)
            assert node.body is not None
            acts = not all(map(is_pure, node.body.nodes))
            results = tuple(slot[v] for v in node.results)
            shown = tuple((slot[v], *views[v]) for v in dict.fromkeys(node.operands) if v in views)
            steps.append(Step(plan, results, acts, self._between(node, results), shown))
        outputs = [views.get(v) or (slot[numbers.get(v, v)], ()) for v in graph.outputs] if steps else []
        shown = self._numbers({j: numbers[v].type.shape for j, v in enumerate(graph.outputs) if v in numbers})
        separated = None if self.separate else cache(self._separated)
        return Executable(self.device, self.count, tuple(steps), outputs, shown, self._split, separated, cache(self._unjoined))

    def _numbers(self, components: dict[int, tuple[int, ...]]) -> ShownNumbers:
        """Returns the results that are views of vectors as numbers, given the components of these."""
        elements = [Element.of(self.graph.outputs[j].type, self.oracle) for j in components]
        checks = DestinationChecks(self.graph.name, self.device, elements, [self.results[j] for j in components], (), (), (), ())
        return ShownNumbers(components, checks)

    def _unjoined(self, group: int) -> Executable:
        """Returns the same program without the join of one more group of rows."""
        refused = self.refused | {group}
        passes = (*until("fuse_chains"), JoinRows(refused))
        return replace(self, graph=run_pipeline(self.recorded, self.oracle, passes), refused=refused).executable()

    def _separated(self) -> Executable:
        """Returns the same program with each reduction in a region of its own."""
        return replace(self, graph=run_pipeline(self.recorded, self.oracle, SEPARATED), separate=True).executable()

    def _between(self, region: Node, slots: Sequence[int]) -> dict[int, TextureTarget]:
        """Returns the textures between a region and later ones, by slot."""
        found: dict[int, TextureTarget] = {}
        for j in () if region.op.standalone else spec_of(region).textures:
            result = region.results[j]
            found[slots[j]] = TextureTarget.made_for(result, (), (), self.graph.name)
        return found

    def _plan(self, region: Node, positions: Sequence[int], results: Sequence[int | None]) -> Plan:
        """Returns the plan of one region.

        Args:
            positions: the slot of each operand.
            results: for each result of the region the number of the program's result, if it is one.
        """
        elements = [Element.of(v.type, self.oracle) for v in region.results]
        targets = {k: self.targets[j] for k, j in enumerate(results) if j is not None and j in self.targets}
        names = ["a value in between" if j is None else self.results[j] for j in results]
        shape = self.options.tile, bool(self.options.numthreads)
        context = PlanContext(self.device, self._kernels or self.build, self.strict, *shape, self._costs, self._placed)
        stores = textures_for(targets, positions)
        return stage_of(region).plan(context, region, positions, elements, names, stores, self.graph.name)

    def _split(self, plan: Plan) -> list[Plan]:
        """Returns a plan for each effect and each result of a plan, for those whose extents share no grid."""
        if plan.region.op.standalone:
            return [plan]
        slot = dict(zip(plan.region.operands, plan.positions))
        results = iter([self._result(v) for v in plan.region.results])
        regions = split_region(plan.region)
        return [self._plan(r, [slot[v] for v in r.operands], [next(results) for _ in r.results]) for r in regions]

    def _result(self, value: Value) -> int | None:
        """Returns the number of the program's result that a value is, if it is one."""
        return self.graph.outputs.index(value) if value in self.graph.outputs else None

    def source(self, region: Node, variant: Variant, plain: bool = False) -> KernelSource:
        """Returns the Slang of one region in one variant; `plain` is without the user's names and lines."""
        imports = {a: self.oracle.imports(a, used_names(region, a), passed_types(region, a)) for a, _ in self.graph.modules}
        own = {old.name: new.name for old, new in zip(self.sources, self._copied(region))}
        imports = {a: tuple(own.get(name, name) for name in names) for a, names in imports.items()}
        placed = not isinstance(variant, FoldVariant) and self._placed
        given = Emission(self.device.target, ACCESSES, imports, self._functions(), self.options, plain, placed)
        try:
            return stage_of(region).emit(region, variant, given, self._costs)
        except ResolveError as error:  # of a generator that fits no grid of this rank
            error.what = f"{self.graph.name}: {error.what}"
            raise

    @cached_property
    def _kernels(self) -> EqualRegions | None:
        return EqualRegions(self.build) if len(self.graph.nodes) > 1 else None

    @cached_property
    def _placed(self) -> bool:
        """True if user code may ask slangpy's module for the place of its thread."""
        return mentions(self.sources, "CallShapeInfo")

    def build(self, region: Node, variant: Variant) -> Kernel:
        text, named = self.source(region, variant, plain=True), partial(self.source, region, variant)
        made = build_kernel(self.device, text, self._copied(region), named, stage_of(region).kernel)
        if not self.device.target.lanes:
            nodes = [node for body in region.bodies for node in body.nodes]  # the price of a loop includes its body
            weight = len(nodes) + sum(compute_bytes(n, self.oracle) for n in nodes)
            made.long = max(LONG // max(1, int(weight) // 16), 1 << 14)  # fewer elements fill no GPU
        return made

    def _copied(self, region: Node) -> list[ModuleSource]:
        """Returns the modules, with copies of functions whose reads of textures, buffers and pointers have gradients.

        Where Slang differentiates, they are copies in which scalar parameters do not lose their gradients, and rays are queries.
        Where rays trace further rays, they are copies that count how deep these are.
        """
        given = plain = list(map(unstaged_source, self.sources))
        if any(pipeline.recursion > 1 for pipeline in pipelines_in(region.bodies)):
            plain = list(map(counted_source, given))
        nodes = [n for body in region.bodies for n in body.walk()]
        derived = [n for n in nodes if n.op.name in ("vjp", "loop_vjp", "jvp")]
        if not derived:
            return plain
        rays = queried_in(derived, [n for n in nodes if "rays" in n.attrs])
        named = zip((alias for alias, _ in self.recorded.modules), given, plain)
        sources = [queried_source(source, rays[alias]) if alias in rays else other for alias, source, other in named]
        graded = [c for n in derived if "graded" in n.attrs for c in n.bodies[0].walk() if c.op.name == "slang.call"]
        names = tuple(dict.fromkeys(call.text("function") for call in graded))
        return [scalar_source(graded_source(source, names) if names else source) for source in sources]

    def _functions(self) -> set[str]:
        """Returns the names of functions in the modules that kernels import."""
        oracle = self.oracle
        return {name for alias, _ in self.graph.modules for name in oracle.symbols(alias)["functions"]}

    def _costs(self, region: Node) -> tuple[int, int, float]:
        """Returns the costs of one element, see `PlanContext`. The price of the body decides about shapes on GPUs only."""
        assert region.body is not None
        types = [pair_of(o.want) or o.want for o in region_operands(region) if o.dims and o.want.kind is not Kind.POINTER]
        types += [v.type for v in region.results]
        sizes = [Element.of(t, self.oracle).nbytes for t in types]
        price = 0.0 if self.device.target.lanes else sum(compute_bytes(n, self.oracle) for n in region.body.nodes)
        return max(sizes, default=4), sum(sizes), price
