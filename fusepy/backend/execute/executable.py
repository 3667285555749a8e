"""`Executable`: a program as its regions. It is lowered to a tape for each layout of its arguments and destinations.

The lowering decides, before anything runs: if results share a grid, if reductions do, the barriers between launches, and the
lifetime of memory between launches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from fusepy.backend.device.bound import Bound
from fusepy.backend.device.device import Device
from fusepy.backend.device.sink import Sink
from fusepy.backend.execute.launch import Clearable, Launch, ordered
from fusepy.backend.execute.layouts import Layout, Tapes, another, layout_key, shared_memory
from fusepy.backend.execute.linear import LinearTape
from fusepy.backend.execute.link import compile_others, link
from fusepy.backend.execute.numbers import ShownNumbers
from fusepy.backend.execute.packed import apart, empty
from fusepy.backend.execute.plan import Plan
from fusepy.backend.execute.recipe import Recipe
from fusepy.backend.execute.step import Step
from fusepy.backend.execute.tape import LinkedTape, Tape, TapePiece
from fusepy.backend.kernels.globals import Bindings
from fusepy.backend.kernels.overlap import written_early
from fusepy.backend.marshals.base import Maker
from fusepy.backend.marshals.whole import check_written
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import ShapeError
from fusepy.ir.ops.region import spec_of

TAPES = 256


@dataclass(frozen=True, eq=False)
class Executable:
    """The regions of a program over slots: its arguments, then the results of regions.

    Attributes:
        count: the number of arguments.
        steps: the regions in the order in which they run.
        outputs: for each result of the program its slot, and the axes of extent 1 that are added.
        numbers: the results that are shown as numbers while their slots hold vectors.
        split: returns a plan for each effect and each result of a plan, for those whose extents share no grid.
        separated: returns the same program with a region for each reduction, for reductions with different grids.
        unjoined: returns the same program without the join of a group of rows, by its number.
        tapes: those that have run, by layout.
        textures: those between launches, by slot: a new one costs more than a kernel.
        users: what holds kernels of it beside its plans.
    """

    device: Device
    count: int
    steps: Sequence[Step]
    outputs: Sequence[tuple[int, tuple[int, ...]]]
    numbers: ShownNumbers
    split: Callable[[Plan], list[Plan]]
    separated: Callable[[], Executable] | None = None
    unjoined: Callable[[int], Executable] | None = None
    tapes: Tapes = field(default_factory=Tapes, init=False)
    textures: dict[int, Bound] = field(default_factory=dict[int, Bound], init=False)
    users: set[Clearable] = field(default_factory=set["Clearable"], init=False)
    _of_shapes: dict[Any, Tape] = field(default_factory=dict[Any, Tape], init=False)
    _splits: dict[int, list[Plan]] = field(default_factory=dict[int, "list[Plan]"], init=False)  # by step

    @cached_property
    def slots(self) -> int:
        """The number of slots of arguments and results of regions."""
        return max((slot for step in self.steps for slot in (*step.results, *step.plan.positions)), default=self.count - 1) + 1

    @cached_property
    def views(self) -> dict[int, tuple[int, tuple[int, ...]]]:
        """The slots that are views of others with axes of extent 1."""
        return {slot: (other, axes) for step in self.steps for slot, other, axes in step.views}

    @property
    def between(self) -> frozenset[int]:
        """The slots of textures between launches."""
        return frozenset(slot for step in self.steps for slot in step.textures)

    @cached_property
    def linear(self) -> LinearTape | None:
        """The tape for contiguous arguments of one shape, if the program is one region that takes them so."""
        step = self.steps[0] if len(self.steps) == 1 and not self.numbers.components else None
        if step is None or not step.plan.linear or step.textures or [slot for slot, _ in self.outputs] != [*step.results]:
            return None
        return LinearTape(step.plan, self)

    @property
    def open(self) -> bool:
        """True if a region has generators, and no memory that gives it extents."""
        return any(step.plan.open for step in self.steps)

    @property
    def plans(self) -> list[Plan]:
        """The plan of each region."""
        return [step.plan for step in self.steps]

    def evict(self) -> None:
        """Drops the kernels. Later calls compile them again or load them from disk."""
        self.tapes.clear()
        self._of_shapes.clear()
        for user in self.users:
            user.clear()
        self.users.clear()
        if self.linear is not None:
            self.linear.evict()
        for plan in (*self.plans, *(p for plans in self._splits.values() for p in plans)):
            plan.evict()

    def register(self) -> None:
        """Counts this program among those whose kernels are alive."""
        self.device.keep(self)

    def run(
        self, args: Sequence[Any], outs: Sequence[Any] | None, sink: Sink, bindings: Bindings | None, make: Maker | None = None
    ) -> list[Any]:
        """Runs a call and returns its results: written to their destinations in `outs`, or to memory that `make` makes, or new.

        Raises:
            ShapeError, RangeError: if the arguments do not fit together, and nothing has run then, or a number its parameter.
        """
        tape = self.tapes.of(args, outs)
        if tape is not None:
            return tape.run(args, outs, sink, bindings, make)
        tape = self.tape(args, outs)
        results = tape.run(args, outs, sink, bindings, make)
        with self.device.lock:
            compile_others(tape.tape, sink)
        return results

    def tape(self, args: Sequence[Any], outs: Sequence[Any] | None) -> LinkedTape:
        """Returns the tape of a call with its kernels, which are compiled or loaded if they are not there.

        Raises:
            ShapeError: if the arguments do not fit together, or the destinations do not fit the results.
        """
        key = layout_key(args, outs)
        tape = self.tapes.get(key)
        if tape is None:
            args = empty(args, copied := apart(self.plans, args))
            lowered = self._lowered(list(map(Layout.of, args)), args, outs or ())
            self.numbers.check(outs or (), lowered)
            with self.device.lock:
                tape = link(lowered, args, outs or ())._replace(packed=copied)
            lowered.owner.register()
            if len(self.tapes) >= TAPES:
                self.tapes.clear()
            self.tapes[key] = tape
        return tape

    def texture(self, slot: int, shape: tuple[int, ...]) -> Bound:
        """Returns the texture between two launches, which is kept from call to call."""
        kept = self.textures.get(slot)
        if kept is None or kept.shape != shape:
            target = next(step.textures[slot] for step in self.steps if slot in step.textures)
            kept = self.textures[slot] = target.create(self.device, shape)
        return kept

    def destination(self, j: int, target: Any) -> Any:
        """Returns the view of a destination of result `j` that fits its slot. The plan refuses another shape."""
        axes = self.outputs[j][1]
        if not axes or any(axis >= len(target.shape) or target.shape[axis] != 1 for axis in axes):
            return target
        return target[tuple(0 if axis in axes else slice(None) for axis in range(len(target.shape)))]

    def check(self, layouts: Sequence[Layout], args: Sequence[Any], outs: Sequence[Any]) -> None:
        """Raises the errors of a call with these destinations. The arguments need not be placed.

        Raises:
            ShapeError: if the arguments do not fit together, or the destinations do not fit the results.
        """
        self.numbers.check(outs, self._lowered(layouts, args, outs))

    def _given(self, args: Sequence[Any], outs: Sequence[Any], copied: frozenset[int]) -> tuple[dict[int, int], list[int]]:
        """Returns the results that are written to their destinations by their slots, and those that are copied at the end."""
        given, late = dict[int, int](), list[int]()
        for j, target in enumerate(outs):
            if target is None:
                continue
            slot = self.outputs[j][0]
            made = next(i for i, step in enumerate(self.steps) if slot in step.results)
            read = j in self.numbers.components or self._read(self.plans[made + 1 :], args, target)
            if isinstance(target, Tensor) and (j in copied or slot in given or read):
                late.append(j)
            else:
                given[slot] = j
        return given, late

    def _read(self, plans: Sequence[Plan], args: Sequence[Any], target: Any) -> bool:
        """True if plans read arguments in the memory of `target`, which is written before they run; see `written_early`."""
        read = (args[p] for plan in plans for p in self._memory(plan.positions) if p < self.count)
        return target is not None and written_early(target, read)

    def _memory(self, slots: Sequence[int]) -> tuple[int, ...]:
        """Returns the slots that own the memory of these."""
        return tuple(self.views.get(slot, (slot,))[0] for slot in slots)

    def lower(self, args: Sequence[Layout]) -> Tape:
        """Returns the tape for arguments of these layouts, without destinations. Compiles nothing.

        Raises:
            ShapeError: if they do not fit together.
        """
        key = tuple(args)
        tape = self._of_shapes.get(key)
        if tape is None:
            tape = self._lowered(args)
            if len(self._of_shapes) >= TAPES:
                self._of_shapes.clear()
            self._of_shapes[key] = tape
        return tape

    def _lowered(
        self, layouts: Sequence[Layout], args: Sequence[Any] = (), outs: Sequence[Any] = (), copied: frozenset[int] = frozenset()
    ) -> Tape:
        """Returns a new tape; that of the program with separate reductions if those of one region have no common grid.

        Args:
            args: the arguments, if there are `outs`, which might share their memory.
            copied: results that are copied to their destinations at the end.
        """
        given, late = self._given(args, outs, copied)
        held = {slot: self.destination(j, outs[j]) for slot, j in given.items()}
        slots: list[Layout] = [*layouts, *[Layout((), ())] * (self.slots - len(layouts))]
        pieces, launches = list[TapePiece](), list[Launch]()
        for i, step in enumerate(self.steps):
            for slot, other, axes in step.views:
                slots[slot] = slots[other].with_ones(axes)
            parts = self._recipes(i, step, slots)
            for k, (plan, recipe, results) in enumerate(parts):
                if recipe.error is not None or recipe.refused:
                    return self._otherwise(plan, recipe)(layouts, args, outs, copied)
                targets = [held.get(slot) for slot in results]
                for slot, shape, target in zip(results, recipe.out_shapes, targets):
                    slots[slot] = Layout.contiguous(shape) if target is None else Layout.of(target)
                between = [slot in step.textures for slot in results] if held or step.textures else None
                values = [*args, *[None] * (self.slots - len(args))]
                others, checked = [other for other, _, _ in parts[k + 1 :]], (values, targets, recipe.out_shapes, recipe.grid)
                beside = plan.given.check(*checked, between, len(self.steps) > 1) if between else ()
                if beside := beside or [j for j, target in enumerate(targets) if self._read(others, args, target)]:
                    return self._lowered(layouts, args, outs, copied | {given[results[j]] for j in beside})
                own = plan.launches(recipe.reaching(slots, results), slots, results, partial(another, slots))
                pieces.append(TapePiece(plan, results, tuple(own)))
                launches += [replace(one, reads=self._memory(one.reads), acts=step.acts) for one in own if not one.idle]
        return Tape(
            self,
            tuple(pieces),
            ordered(launches, frozenset((*range(self.count), *(slot for slot, _ in self.outputs), *self.between))),
            tuple(slots),
            self.views,
            given=tuple((j, slot) for slot, j in given.items()),
            late=tuple(late),
            writing=self._writing(),
            free=not shared_memory(args, outs) and all(out is None or isinstance(out, Tensor) for out in outs),
            split=len(pieces) > len(self.steps),
            separate=self.separated is None,
        )

    def _otherwise(self, plan: Plan, recipe: Recipe) -> Callable[..., Tape]:
        """Returns the lowering of another form of the program, for a call in which one region cannot run."""
        if recipe.error is None:
            group = spec_of(plan.region).joined.number
            other = self.unjoined(group) if self.unjoined is not None else self
            return lambda *given: other._lowered(*given).refusing(group, recipe.refused)
        if self.separated is None:
            raise recipe.error
        return self.separated()._lowered

    def _writing(self) -> tuple[Callable[[Sequence[Any]], None], ...]:
        """Returns the checks of arguments that user code writes as whole arrays."""
        found = [(p, [o for o in p.memory if p.positions[o.position] < self.count]) for p in self.plans if p.written]
        return tuple(partial(check_written, [o for o in p.written if o in own], own, p.positions) for p, own in found)

    def _recipes(self, i: int, step: Step, slots: Sequence[Layout]) -> list[tuple[Plan, Recipe, tuple[int, ...]]]:
        """Returns the plans of a region with their grids and the slots that they fill: its own, or those of its parts.

        Raises:
            ShapeError: if a result by itself has no grid.
        """
        try:
            recipe = step.plan.recipe(slots)
            if recipe.error is None or not self._parts(i, step):
                return [(step.plan, recipe, step.results)]
        except ShapeError:
            if not self._parts(i, step):
                raise
        left = iter(step.results)
        return [(p, p.recipe(slots), tuple(next(left) for _ in p.region.results)) for p in self._splits[i]]

    def _parts(self, i: int, step: Step) -> bool:
        """True if a region can be split; then its plans are in `_splits`."""
        if i not in self._splits and (len(step.results) > 1 or step.acts):
            self._splits[i] = self.split(step.plan)
        return len(self._splits.get(i, ())) > 1
