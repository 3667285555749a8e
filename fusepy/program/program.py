"""The composition root: trace -> passes -> kernels -> `Program`. The only place where passes and backend meet."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any

from fusepy.arguments.mapping import unmapped
from fusepy.backend.device.recorder import Written
from fusepy.backend.device.sink import Sink
from fusepy.backend.emit.fold.kernel import emit_fold
from fusepy.backend.emit.fold.variant import FoldVariant
from fusepy.backend.emit.operand import Variant
from fusepy.backend.emit.operands import region_operands
from fusepy.backend.emit.options import NO_OPTIONS, Options
from fusepy.backend.emit.region import emit
from fusepy.backend.emit.shims import used_names
from fusepy.backend.emit.text import Emission, KernelSource
from fusepy.backend.execute.fold_plan import FoldsApart, make_plan
from fusepy.backend.execute.plan import Plan
from fusepy.backend.execute.readback import Readback
from fusepy.backend.execute.schedule import Schedule
from fusepy.backend.execute.steps import Step
from fusepy.backend.execute.texture_results import Into, Target, textures_for
from fusepy.backend.kernels.globals import Bindings
from fusepy.backend.kernels.kernel import Kernel, build_kernel
from fusepy.backend.marshals.generators import Grid
from fusepy.backend.marshals.registry import ACCESSES, waits
from fusepy.backend.marshals.result_kinds import leading
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.structs import ArgumentView
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.memory.texture import is_texture, kind_of
from fusepy.errors import ResolveError, ShapeError
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.narrowing import narrowed_uses
from fusepy.ir.ops.region import spec_of, with_spec
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import Kind, Type, pair_of
from fusepy.passes.effects import is_pure
from fusepy.passes.pipeline import REWRITES, SEPARATED, run_pipeline
from fusepy.passes.split import split_region
from fusepy.program.delivery import Delivery, shape_of
from fusepy.program.no_extents import NoExtents
from fusepy.program.placement import Place, number_checks, place_of, warn_narrowed
from fusepy.program.readback import check_recordable
from fusepy.program.relocation import Detours
from fusepy.pytree import LEAF
from fusepy.trace.recording import Recording


def names_in(plan: Plan, slot: int) -> list[str]:
    """What the kernel of a plan calls what it reads from a slot."""
    inputs = [v.name or "" for v in (*plan.region.bodies[0].inputs, *_further(plan.region))]
    return [name for name, position in zip(inputs, plan.positions) if position == slot]


def _further(region: Node) -> Sequence[Value]:
    """The inputs of an epilogue that are operands, and not what was folded."""
    if len(region.bodies) == 1:
        return ()
    return region.bodies[1].inputs[len(region.bodies[1].inputs) - (len(region.operands) - len(region.bodies[0].inputs)) :]


class Program(Delivery):
    """A compiled call: places arguments, runs its plan, and hands results back in the container that the caller expects."""

    open = False  # see `SizedByResult`

    def __init__(self, recording: Recording, returns: str | Into | None, strict: bool, options: Options = NO_OPTIONS):
        self.home: tuple[dict[Any, Program], Any] = ({}, None)  # the table that holds it, from which a reload takes it
        self.others: dict[Any, Program] = {}  # under the same key, for extents that this one does not take
        device = self.device = recording.trace.device
        device.check()
        self.recording = recording
        self.strict = strict
        self.may_set: tuple[str, ...] = ()  # the names that were last found to be globals of it
        self.nested = recording.nested
        self.options = options.joined(recording.trace.options, recording.graph.name)
        self.oracle: Oracle = recording.trace.oracle
        self.sources = [recording.trace.sources[alias] for alias, _ in recording.graph.modules]
        self.graph = run_pipeline(recording.graph, self.oracle)
        self.captures = recording.trace.captures
        first = len(recording.arguments)
        self.positions = [*recording.inputs, *range(first, first + len(self.captures))]
        self.views = any(isinstance(c, ArgumentView) for c in self.captures)
        values = self.values(recording.arguments)
        self.narrows = self._narrowed()
        self.places: list[Place | None] = [None] * len(values)
        for value, position in zip(self.graph.inputs, self.positions):
            what = f"{self.graph.name}: argument {value.name!r}"
            self.places[position] = place_of(device, values[position], value, what, self.narrows.get(position, ()))
        self.ready = not any(self.places) and not self.captures
        self.returns = returns if isinstance(returns, str) else leading(map(unmapped, recording.arguments)).word
        self.elements = [Element.of(v.type, self.oracle) for v in self.graph.outputs]
        self.checks = number_checks(self.graph, recording.graph, self.positions)
        self.joins = True  # reductions that may have one grid are taken to have it
        self._refuse_copies(values)
        outs = list(recording.outs) or [None] * len(self.elements)
        self.outs = outs if any(o is not None for o in outs) else None
        # whether it writes memory that is no result of its own, so that running it twice may differ from running it once
        self.acts = not all(is_pure(n) for region in self.graph.nodes for body in region.bodies for n in body.nodes)
        self.writes = self.acts or self.outs is not None
        self.recorded: Any = None  # what `lazy` knows of it, once it has recorded a call of it
        self.targets: dict[int, Target] = {}
        self.settle(outs, returns)
        self.plan = self._planned()
        if self.plan is not None and (self.plan.open or self._all_open(values)):
            raise NoExtents(self, recording.graph.name, self.graph)
        self.detours = self._detours(values)
        self.targets = self._targets(outs, [unmapped(v) for v in recording.arguments], returns)
        if self.targets:
            self.plan = self._planned()
        self.split: list[Plan] | None = None
        self.waits = waits(map(unmapped, recording.arguments))
        # the short way, for one tensor that is returned by itself and not in a tuple or dict of one
        self.simple = (
            self.plan is not None
            and self.outs is None
            and not self.said
            and self.returns == "tensor"
            and recording.structure is LEAF
            and self.detours is None
            and not self.targets
            and not self.waits
        )
        self.readback = self._readback()
        recording.classes = [type(unmapped(v)).__name__ for v in recording.arguments]
        recording.trace.given.clear()
        recording.arguments = ()  # a program outlives its first call, and must not keep what that was called with
        device.save_facts()

    def _narrowed(self) -> dict[int, list[Type]]:
        """The arguments that are converted as they are uploaded, each with the scalars that it is taken as."""
        uses = narrowed_uses(self.recording.graph, self.oracle)
        return {p: uses[v] for v, p in zip(self.recording.graph.inputs, self.positions) if v in uses}

    def _readback(self) -> Readback | None:
        """The short way for one result without axes that becomes a Python number."""
        if self.outs is not None or not isinstance(self.plan, Plan) or self.recording.structure is not LEAF:
            return None
        if self.detours is not None:
            return None
        if not self.result_kind.number or self.graph.outputs[0].rank or not Readback.takes(self.elements[0]):
            return None
        return Readback(self.device, self.elements[0])

    # ---- running ------------------------------------------------------------------------------------------------

    def values(self, args: Sequence[Any]) -> list[Any]:
        """The arguments, and what was captured."""
        at = self.positions if self.views else ()
        return [*args, *(c.of(unmapped(args[at[c.place]])) if at and isinstance(c, ArgumentView) else c for c in self.captures)]

    def placed(self, args: Sequence[Any]) -> Sequence[Any]:
        """The arguments, and what was captured, as they are passed to the plan."""
        if self.ready:
            return args
        values = self.values(args) if self.captures else args
        placed = [value if place is None else place(value) for place, value in zip(self.places, values)]
        if self.narrows:
            warn_narrowed(self.narrows)
        return placed

    def __call__(
        self, args: Sequence[Any], result: Any = None, sink: Sink | None = None, bindings: Bindings | None = None
    ) -> Any:
        """Runs the program on the arguments of its inputs.

        Args:
            sink: where its launches go, if that is not the queue of its device.
            bindings: the values of globals.

        Raises:
            ArgumentError: if somebody else submits the work later, and a result would have to be read back.
        """
        device = self.device
        if device.lost is not None:
            device.check()
        if sink is None:
            sink = device.queue
        elif sink.keeps:
            return self._record(args, result, sink, bindings)
        placed = args if self.ready else self.placed(args)
        if self.checks:
            self._check_numbers(placed)
        try:
            if self.simple:
                if result is None:
                    assert self.plan is not None
                    return self.plan.run(placed, None, sink, bindings)[0]
                if result.__class__ is Tensor and result.element is self.elements[0]:
                    assert self.plan is not None
                    self.plan.run(placed, (result,), sink, bindings)
                    return result
            elif self.readback is not None and result is None:
                assert isinstance(self.plan, Plan)
                return self.readback(self.plan, placed, sink, bindings)
            return self.deliver(args, placed, result, sink, bindings)
        except FoldsApart:
            if not self.joins:
                raise
        return Program.__call__(self.apart, args, result, sink, bindings)

    @cached_property
    def apart(self) -> Program:
        """The same program for shapes by which reductions that were taken to have one grid have several."""
        made = copy(self)
        made.joins = False
        made.graph = run_pipeline(self.recording.graph, self.oracle, SEPARATED)
        made.split = made.recorded = None
        made.plan = made._planned()
        made.simple = made.simple and isinstance(made.plan, Plan)
        made.readback = made._readback()
        return made

    def fitting(self, shapes: Sequence[tuple[int, ...]]) -> Program:
        """The program that runs arguments of these shapes: this one or the one with reductions apart."""
        try:
            self.plans_for(shapes)
        except FoldsApart:
            return self.apart
        return self

    def _record(self, args: Sequence[Any], result: Any, sink: Sink, bindings: Bindings | None) -> Any:
        """Runs the program into a sink that somebody else submits later, and that keeps what the work uses."""
        check_recordable(self.graph.name, [unmapped(args[o]) for o in self.recording.outs if o is not None], result)
        placed = self.placed(args)
        if self.checks:
            self._check_numbers(placed)
        try:
            handed = self.deliver(args, placed, result, sink, bindings)
        except FoldsApart:
            if not self.joins:
                raise
            return self.apart._record(args, result, sink, bindings)
        sink.keep(Written(placed) if self.acts else placed, handed, result)
        return handed

    @cached_property
    def global_names(self) -> list[str]:
        """The globals of all modules that are called."""
        oracle = self.recording.trace.oracle
        return [name for alias, _ in self.recording.graph.modules for name in oracle.globals(alias)]

    def _check_numbers(self, placed: Sequence[Any]) -> None:
        for position, check in self.checks:
            check(placed[position])

    def execute(
        self, placed: Sequence[Any], outs: Sequence[Tensor | None] | None, sink: Sink, bindings: Bindings | None
    ) -> list[Tensor]:
        """Runs the one region, or a region per result where their extents share no grid; or a program of several."""
        if self.plan is None:
            return []
        if isinstance(self.plan, Schedule):
            return self.plan.run(placed, outs, sink, bindings)
        try:
            return self.plan.run(placed, outs, sink, bindings)
        except ShapeError:
            plans = self.plans_for([shape_of(v) for v in placed])
            if plans == [self.plan]:
                raise
        return [p.run(placed, None if outs is None else [outs[j]], sink, bindings)[0] for j, p in enumerate(plans)]

    def plans_for(self, shapes: Sequence[tuple[int, ...]]) -> list[Plan]:
        """The plans that run arguments of these shapes.

        Raises:
            ShapeError: if not even each result by itself has a grid.
        """
        if self.plan is None:
            return []
        if isinstance(self.plan, Schedule):
            return self.plan.plans_for(shapes)
        try:
            self.plan.check(shapes)
        except ShapeError:
            if len(self.elements) < 2:
                raise
            if self.split is None:
                self.split = self._split(self.plan)
            for plan in self.split:
                plan.check(shapes)
            return self.split
        return [self.plan]

    def pieces(self, shapes: Sequence[tuple[int, ...]]) -> list[tuple[Plan, tuple[int, ...]]]:
        """The plans that run arguments of these shapes, each with the slots that it fills: those behind the arguments.

        Raises:
            ShapeError: if not even each result by itself has a grid.
        """
        if isinstance(self.plan, Schedule):
            return self.plan.pieces(shapes)
        plans, first = self.plans_for(shapes), len(self.places)
        if len(plans) == 1:
            return [(plans[0], tuple(range(first, first + len(self.elements))))]
        return [(plan, (first + j,)) for j, plan in enumerate(plans)]

    def passed_on(self) -> list[tuple[str, int, list[int], int]]:
        """What kernels of a program leave for later ones: its name, the step that makes it, those that read it, and its slot."""
        assert isinstance(self.plan, Schedule)
        steps = self.plan.steps
        found: list[tuple[str, int, list[int], int]] = []
        for i, step in enumerate(steps):
            for slot in step.results:
                readers = [j for j, other in enumerate(steps) if slot in other.plan.positions]
                names = [name for j in readers for name in names_in(steps[j].plan, slot)]
                if readers:
                    found.append((names[0], i, readers, slot))
        return found

    def slot_shapes(self, shapes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """The shapes of everything that plans read: of the arguments, and of what a program of several kernels stores."""
        return self.plan.follow(shapes)[1] if isinstance(self.plan, Schedule) else [*shapes, *self.out_shapes(shapes)]

    def out_shapes(self, shapes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """The shapes of the results for arguments of these shapes, without the components of an element."""
        if isinstance(self.plan, Schedule):
            return self.plan.out_shapes(shapes)
        return [shape for plan in self.plans_for(shapes) for shape in plan.check(shapes).out_shapes]

    def _refuse_copies(self, values: Sequence[Any]) -> None:
        """Raises `ShapeError` where Slang code would write into the copy of an array or list, and so into nothing."""
        for node in self.graph.nodes:
            for value, map in zip(node.operands, node.maps):
                if map.type is None or not map.type.name.startswith("RW") or not value.arrival.array:
                    continue
                given = unmapped(values[self.positions[self.graph.inputs.index(value)]])
                if not isinstance(given, Tensor):
                    raise ShapeError(
                        f"{self.graph.name}: argument {value.name!r} is written to through {map.type}",
                        saw=type(given).__name__,
                        expected="a Tensor, or slangpy's Buffer",
                        hint="copy it to the device: Tensor.from_numpy(device, array)",
                    )

    def _targets(self, outs: Sequence[int | None], args: Sequence[Any], returns: str | Into | None) -> dict[int, Target]:
        """The results that go into textures: ``out`` arguments, what ``_result=`` gives, or all that have no other place."""
        found: dict[int, Target] = {}
        results, name = self.graph.outputs, self.graph.name
        for j, position in enumerate(outs):
            if position is not None and is_texture(args[position]):
                what = f"{name}: argument {self.recording.names[position]!r}"
                found[j] = Target.of(kind_of(args[position]), results[j], what, position)
        free = [j for j, position in enumerate(outs) if position is None]
        if isinstance(returns, Into) and len(returns.kinds) <= len(free):
            for j, kind, shared in zip(free, returns.kinds, returns.shared):
                if kind is not None:
                    found[j] = Target.of(kind, results[j], f"{name}: _result", shared)
        elif self.returns == "texture":
            for j in free:
                found[j] = Target.made_for(results[j], self.graph.inputs, [args[p] for p in self.recording.inputs], name)
        return found

    def _detours(self, values: Sequence[Any]) -> Detours | None:
        """Of arguments that user code takes as whole arrays, those that may have to lie elsewhere."""
        plans = [s.plan for s in self.plan.steps] if isinstance(self.plan, Schedule) else [self.plan] if self.plan else []
        count = len(self.places)
        whole = [
            (o, p)
            for plan in plans
            for o, p in zip(region_operands(plan.region, self.device.target.kind == "cuda"), plan.positions)
            if o.want.kind is Kind.WHOLE and p < count
        ]
        if not whole:
            return None
        return Detours.of(self.graph.name, [o for o, _ in whole], [p for _, p in whole], values)

    # ---- compiling ----------------------------------------------------------------------------------------------

    def resolved(self) -> Graph:
        """The graph before it is fused."""
        return run_pipeline(self.recording.graph, self.oracle, REWRITES)

    def _planned(self) -> Plan | Schedule | None:
        """What runs the fused graph: the plan of its one region, or a schedule of several."""
        graph = self.graph
        if not graph.nodes:
            return None
        slot = dict(zip(graph.inputs, self.positions))
        if len(graph.nodes) == 1 and graph.outputs == graph.nodes[0].results:
            (region,) = graph.nodes
            return self._plan(region, [slot[v] for v in region.operands], range(len(region.results)))
        count = len(self.places)
        views: dict[Value, tuple[int, tuple[int, ...]]] = {}
        steps: list[Step] = []
        for node in graph.nodes:
            if node.op.name == "expand":
                axes = node.attrs["axes"]
                assert isinstance(axes, tuple)
                views[node.results[0]] = slot[node.operands[0]], tuple(int(d.removeprefix("d")) for d in axes)
                slot[node.results[0]] = count
                count += 1
                continue
            for value in node.results:
                slot[value] = count
                count += 1
            wanted = [graph.outputs.index(v) if v in graph.outputs else None for v in node.results]
            plan = self._plan(node, [slot[v] for v in node.operands], wanted)
            assert node.body is not None
            acts = not all(map(is_pure, node.body.nodes))
            step = Step(plan, tuple(slot[v] for v in node.results), acts, bool(spec_of(node).folds))
            step.views = tuple((slot[v], *views[v]) for v in dict.fromkeys(node.operands) if v in views)
            step.textures = self._between(node, [slot[v] for v in node.results])
            steps.append(step)
        outputs = [views.get(v) or (slot[v], ()) for v in graph.outputs]
        return Schedule(self.device, graph.name, len(self.places), steps, outputs, self._split)

    def _between(self, region: Node, slots: Sequence[int]) -> dict[int, Target]:
        """The textures that results of a region go into on their way to later ones."""
        found: dict[int, Target] = {}
        for j in spec_of(region).textures:
            result = region.results[j]
            found[slots[j]] = Target.made_for(result, (), (), self.graph.name)
        return found

    def _plan(self, region: Node, positions: Sequence[int], results: Sequence[int | None]) -> Plan:
        """The plan of one region.

        Args:
            positions: for each operand the slot that it is in.
            results: for each result of the region which result of the program it is, if it is one.
        """
        elements = [Element.of(v.type, self.oracle) for v in region.results]
        targets = {k: self.targets[j] for k, j in enumerate(results) if j is not None and j in self.targets}
        region = with_spec(region, spec_of(region).storing(textures_for(targets, positions))) if targets else region
        names = ["a value in between" if j is None else self._target(j) for j in results]
        return make_plan(self.device, region, positions, elements, self.build, self.strict, self.options.tile, names)

    def _split(self, plan: Plan) -> list[Plan]:
        """A plan per result of a plan, for results whose extents share no grid."""
        slot = dict(zip(plan.region.operands, plan.positions))
        results = [self._result(v) for v in plan.region.results]
        regions = split_region(plan.region)
        return [self._plan(r, [slot[v] for v in r.operands], [j]) for r, j in zip(regions, results)]

    def _result(self, value: Value) -> int | None:
        """Which result of the program a region's result is, if it is one."""
        return self.graph.outputs.index(value) if value in self.graph.outputs else None

    def source(self, region: Node, variant: Variant, plain: bool = False) -> KernelSource:
        """The Slang of one region in one variant; where it is `plain`, without the user's names and lines."""
        imports = {a: self.recording.trace.oracle.imports(a, used_names(region, a)) for a, _ in self.graph.modules}
        given = Emission(self.device.target, ACCESSES, imports, self._functions(), self.options, plain)
        try:
            if isinstance(variant, FoldVariant):
                return emit_fold(region, variant, given)
            return emit(region, variant, given, *self._bytes(region))
        except ResolveError as error:  # of a generator that fits no grid of this rank
            error.what = f"{self.graph.name}: {error.what}"
            raise

    def build(self, region: Node, variant: Variant) -> Kernel:
        source = self.source(region, variant, plain=True)
        return build_kernel(self.device, source, self.sources, lambda: self.source(region, variant))

    def _functions(self) -> set[str]:
        """Names of functions in the modules that kernels import."""
        oracle = self.recording.trace.oracle
        return {name for alias, _ in self.graph.modules for name in oracle.symbols(alias)["functions"]}

    def _bytes(self, region: Node) -> tuple[int, int]:
        """Bytes of the largest element that a thread of this region loads or stores, and of all of them together."""
        types = [pair_of(o.want) or o.want for o in region_operands(region) if o.dims and o.want.kind is not Kind.POINTER]
        types += [v.type for v in region.results]
        sizes = [Element.of(t, self.oracle).nbytes for t in types]
        return max(sizes, default=4), sum(sizes)

    def _all_open(self, values: Sequence[Any]) -> bool:
        """Whether open grids are all that could say how large the grid is."""
        ranked = [unmapped(values[p]) for v, p in zip(self.graph.inputs, self.positions) if v.rank]
        return bool(ranked) and all(isinstance(v, Grid) and any(v.open) for v in ranked)
