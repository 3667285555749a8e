"""`Schedule`: the regions of a program one after the other, over slots that hold its arguments and what the regions store.

Everything about order is settled when the schedule is made: which steps need a barrier before them, and when a slot's memory
may be used again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fusepy.backend.device.bound import Bound
from fusepy.backend.execute.replay import Likeness, Replay, likeness
from fusepy.backend.execute.steps import Step, place_barriers
from fusepy.backend.memory.contents import copy_elements
from fusepy.backend.memory.overlap import shares
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import ShapeError

if TYPE_CHECKING:
    from fusepy.backend.device.device import Device
    from fusepy.backend.device.sink import Sink
    from fusepy.backend.execute.plan import Plan
    from fusepy.backend.kernels.globals import Bindings
    from fusepy.backend.kernels.kernel import Launch

Shapes = Sequence[tuple[int, ...]]
CHECKED = 256
REPLAYS = 64
Split = Callable[["Plan"], "list[Plan]"]


class Schedule:
    """Runs the steps of a program; called like a `Plan`.

    Args:
        count: how many arguments the program has; the slots behind them are the results of its steps.
        steps: in the order in which they run.
        outputs: the slot of each result of the program, and the axes of extent 1 that it is shown with.
        split: plans for each result of a plan by itself, for results whose extents share no grid.
    """

    def __init__(
        self,
        device: Device,
        name: str,
        count: int,
        steps: Sequence[Step],
        outputs: Sequence[tuple[int, tuple[int, ...]]],
        split: Split,
    ):
        self.device = device
        self.name = name
        self.count = count
        self.steps = list(steps)
        self.outputs = list(outputs)
        self._split = split
        self.slots = max((slot for step in steps for slot in (*step.results, *step.plan.positions)), default=count - 1) + 1
        place_barriers(self.steps, frozenset((*range(count), *(slot for slot, _ in outputs))))
        self._checked: set[Shapes] = set()  # shapes of arguments that fit together
        self._kept: dict[int, Bound] = {}  # textures between steps: a new one costs more than a kernel
        self._replays: dict[Likeness, Replay] = {}  # by what calls have in common

    def evict(self) -> None:
        """Gives up what it remembers of calls, and with it their kernels."""
        self._replays.clear()

    @property
    def open(self) -> bool:
        """Whether a region has generators, and no memory that gives it extents."""
        return any(step.plan.open for step in self.steps)

    # ---- running ------------------------------------------------------------------------------------------------

    def run(self, args: Sequence[Any], outs: Sequence[Any] | None, sink: Sink, bindings: Bindings | None = None) -> list[Any]:
        """Runs all steps and returns the results of the program; what is in `outs` is written instead of something new.

        Raises:
            ShapeError, RangeError: if the arguments do not fit together or their parameters. Nothing has run then where it is the
                shapes that do not fit.
        """
        device = self.device
        with device.lock:
            sink.begin_program()
            try:
                like = likeness(args, outs)
                replay = self._replays.get(like)
                slots = (self._first if replay is None else replay.run)(like, args, outs, sink, bindings)
            finally:
                sink.end_program()
        return [_shown(slots[slot], axes) if axes else slots[slot] for slot, axes in self.outputs]

    def _first(
        self, like: Likeness, args: Sequence[Any], outs: Sequence[Any] | None, sink: Sink, bindings: Bindings | None
    ) -> list[Any]:
        """Runs all steps and takes down what they launch, for later calls of the kind."""
        self._check_shapes(args)
        given, late = self._destinations(args, outs or ())
        slots: list[Any] = [*args, *[None] * (self.slots - self.count)]
        unseen = like.free and (outs is None or bindings is None)
        launches: list[list[Launch]] = []
        shapes: dict[int, tuple[int, ...]] = {}
        for step in self.steps:
            for slot in step.release:
                slots[slot] = None
            wanted = [given.get(slot) for slot in step.results]
            with self.device.taped() as tape:
                given_here = wanted if any(w is not None for w in wanted) else None
                self.run_step(step, slots, given_here, sink, bindings, unseen and not step.barrier)
            launches.append(tape)
            for slot in step.results:
                shapes[slot] = slots[slot].shape
                sink.keep(slots[slot])
        for j, target in late:
            slot, axes = self.outputs[j]
            copy_elements(_shown(slots[slot], axes), target, sink)
        if not late:
            if len(self._replays) >= REPLAYS:
                self._replays.clear()
            self._replays[like] = Replay(self, like, args, frozenset(given), shapes, launches)
            self.device.keep(self)
        return slots

    def run_step(
        self,
        step: Step,
        slots: list[Any],
        outs: Sequence[Any] | None,
        sink: Sink,
        bindings: Bindings | None,
        beside: bool,
    ) -> None:
        """Runs one step, its results in `outs` where that says so; a plan per result where their extents share no grid."""
        for slot, other, axes in step.views:
            slots[slot] = _shown(slots[other], axes)
        if step.textures:
            outs = self._with_textures(step, slots, outs)
        try:
            made = step.plan.run(slots, outs, sink, bindings, beside)
        except ShapeError:
            plans = self.plans_of(step, [_shape(v) for v in slots])
            if plans == [step.plan]:
                raise
            made = [p.run(slots, None if outs is None else [outs[j]], sink, bindings, beside)[0] for j, p in enumerate(plans)]
        for slot, result in zip(step.results, made):
            slots[slot] = result

    def _with_textures(self, step: Step, slots: Sequence[Any], outs: Sequence[Any] | None) -> list[Any]:
        """The destinations of a step, with the textures that results of it go into."""
        shapes = step.plan.check([_shape(v) for v in slots]).out_shapes
        given: list[Any] = list(outs) if outs is not None else [None] * len(step.results)
        for j, (slot, shape) in enumerate(zip(step.results, shapes)):
            target = step.textures.get(slot)
            if target is None:
                continue
            kept = self._kept.get(slot)
            if kept is None or kept.shape != shape:
                kept = self._kept[slot] = target.create(self.device, shape)
            given[j] = kept
        return given

    def _destinations(self, args: Sequence[Any], outs: Sequence[Any]) -> tuple[dict[int, Any], list[tuple[int, Tensor]]]:
        """What each slot is written to, where the caller said so; and the results that are copied when all steps have run.

        These are results that would overwrite what later steps still read, and those that another result has the slot of.
        """
        given: dict[int, Any] = {}
        late: list[tuple[int, Tensor]] = []
        for j, target in enumerate(outs):
            if target is None:
                continue
            slot = self.outputs[j][0]
            if isinstance(target, Tensor) and (slot in given or self._read_later(slot, args, target)):
                late.append((j, target))
            else:
                given[slot] = self.destination(j, target)
        return given, late

    def destination(self, j: int, target: Any) -> Any:
        """What the slot of a result is, where the result is to be in `target`."""
        axes = self.outputs[j][1]
        if not axes or any(axis >= len(target.shape) or target.shape[axis] != 1 for axis in axes):
            return target  # where it has another shape, the plan says so
        return target[tuple(0 if axis in axes else slice(None) for axis in range(len(target.shape)))]

    def _read_later(self, slot: int, args: Sequence[Any], target: Tensor) -> bool:
        """Whether steps behind the one that fills `slot` read arguments in the memory of `target`."""
        made = next(i for i, step in enumerate(self.steps) if slot in step.results)
        read = {p for step in self.steps[made + 1 :] for p in step.reads if p < self.count}
        return any(shares(args[p], target) for p in read)

    # ---- shapes -------------------------------------------------------------------------------------------------

    def _check_shapes(self, args: Sequence[Any]) -> None:
        """Raises what any step would raise about shapes, before the first one runs."""
        shapes = tuple(map(_shape, args))
        if shapes not in self._checked:
            self.follow(shapes)
            if len(self._checked) >= CHECKED:
                self._checked.clear()
            self._checked.add(shapes)

    def plans_of(self, step: Step, shapes: Shapes) -> list[Plan]:
        """The plans that run a step on slots of these shapes: its own, or one per result.

        Raises:
            ShapeError: if not even each result by itself has a grid.
        """
        try:
            step.plan.check(shapes)
        except ShapeError:
            if len(step.results) < 2:
                raise
            if step.split is None:
                step.split = self._split(step.plan)
            for plan in step.split:
                plan.check(shapes)
            return step.split
        return [step.plan]

    def pieces(self, shapes: Shapes) -> list[tuple[Plan, tuple[int, ...]]]:
        """The plans that run for arguments of these shapes, in order, each with the slots that it fills.

        Raises:
            ShapeError: if they do not fit together.
        """
        found = self.follow(shapes)[1]
        pieces: list[tuple[Plan, tuple[int, ...]]] = []
        for step in self.steps:
            for slot, other, axes in step.views:
                found[slot] = _with_ones(found[other], axes)
            own = self.plans_of(step, found)
            pieces += [(own[0], step.results)] if own == [step.plan] else [(p, (slot,)) for p, slot in zip(own, step.results)]
        return pieces

    def follow(self, shapes: Shapes) -> tuple[list[Plan], list[tuple[int, ...]]]:
        """The plans that run for arguments of these shapes, and the shape of every slot.

        Raises:
            ShapeError: if they do not fit together.
        """
        found: list[tuple[int, ...]] = [*shapes, *[()] * (self.slots - self.count)]
        plans: list[Plan] = []
        for step in self.steps:
            own = self.plans_of(step, found)
            made = [shape for plan in own for shape in plan.check(found).out_shapes]
            for slot, shape in zip(step.results, made):
                found[slot] = shape
            plans += own
        return plans, found

    def plans_for(self, shapes: Shapes) -> list[Plan]:
        """The plans that run for arguments of these shapes, in order.

        Raises:
            ShapeError: if they do not fit together.
        """
        return self.follow(shapes)[0]

    def out_shapes(self, shapes: Shapes) -> list[tuple[int, ...]]:
        """The shapes of the program's results."""
        _, found = self.follow(shapes)
        return [_with_ones(found[slot], axes) for slot, axes in self.outputs]

    def peak_bytes(self, shapes: Shapes) -> int:
        """The most memory that what the steps store takes at one time, results of the program included."""
        _, found = self.follow(shapes)
        size = {
            slot: element.nbytes * _count(found[slot])
            for step in self.steps
            for slot, element in zip(step.results, step.plan.elements)
        }
        live: set[int] = set()
        peak = 0
        for step in self.steps:
            live -= {*step.release}
            live |= {*step.results}
            peak = max(peak, sum(size[slot] for slot in live))
        return peak


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count


def _shape(value: Any) -> tuple[int, ...]:
    return getattr(value, "shape", ())


def _with_ones(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """`shape` with axes of extent 1 at these places."""
    found = list(shape)
    for axis in axes:
        found.insert(axis, 1)
    return tuple(found)


def _shown(result: Any, axes: tuple[int, ...]) -> Any:
    """A result with axes of extent 1 at these places."""
    rank = len(result.shape) + len(axes)
    return result[tuple(None if axis in axes else slice(None) for axis in range(rank))] if axes else result
