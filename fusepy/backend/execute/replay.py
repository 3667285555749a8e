"""`Replay`: later calls of a program, with arguments and destinations of the shapes of an earlier one, from what that has packed.

All but addresses and numbers in the parameter blocks is known then, and the checks have been made when the first call ran: a step
costs memory for its results, packing and dispatch.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from fusepy.backend.device.block import size_class
from fusepy.backend.memory.overlap import span_of
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import FusepyError

if TYPE_CHECKING:
    from fusepy.backend.device.device import Device
    from fusepy.backend.device.sink import Sink
    from fusepy.backend.execute.steps import Step
    from fusepy.backend.kernels.globals import Bindings
    from fusepy.backend.kernels.kernel import Kernel, Launch
    from fusepy.backend.memory.element import Element


@dataclass(frozen=True)
class Frame:
    """One dispatch: a packed block, with the fields that change from call to call.

    Attributes:
        addresses: fields that are the lowest address of a slot.
        reads: fields that are taken from an argument that is no tensor.
    """

    kernel: Kernel
    values: list[Any]
    count: int
    groups: Sequence[int] | None
    addresses: tuple[tuple[int, int], ...]
    reads: tuple[tuple[int, int, Callable[[Any], Any] | None], ...]


def frame_of(step: Step, launches: Sequence[Launch], args: Sequence[Any]) -> Frame | None:
    """The dispatch of a step, if it is one that differs in addresses and numbers alone."""
    if step.acts or step.temporary or len(launches) != 1:
        return None
    kernel, values, count, groups = launches[0]
    if kernel.resources:
        return None
    addresses: list[tuple[int, int]] = []
    reads: list[tuple[int, int, Callable[[Any], Any] | None]] = []
    for i, field in enumerate(kernel.fields):
        if field.role == "out":
            addresses.append((i, step.results[field.source]))
            continue
        if field.role in ("count", "extent", "walk", "stride", "out_base", "out_stride"):
            continue
        position = step.plan.positions[field.source]
        if field.role == "pointer":
            addresses.append((i, position))
        elif position < len(args) and not isinstance(args[position], Tensor):
            reads.append((i, position, field.read))
        elif field.type not in ("uint", "int", "int64_t"):  # a handle, or the address of a gradient
            return None
    return Frame(kernel, list(values), count, groups, tuple(addresses), tuple(reads))


class Make(NamedTuple):
    """Memory for a slot, and what makes a tensor of it where somebody wants one."""

    slot: int
    nbytes: int
    element: Element | None
    shape: tuple[int, ...]


class Row(NamedTuple):
    """What one step of a `Replay` does.

    Attributes:
        overlaps: whether its dispatch may run beside the last one.
        moves: slots that take over the memory of another one, which nobody reads any more.
        frees: slots whose memory nobody reads any more.
        makes: the memory that is made for other slots.
        views: slots that show the memory of another one.
        numbers: fields that take one of the numbers that are read from arguments.
    """

    step: Step
    frame: Frame | None
    overlaps: bool
    moves: tuple[tuple[int, int], ...]
    frees: tuple[int, ...]
    makes: tuple[Make, ...]
    views: tuple[tuple[int, int], ...]
    numbers: tuple[tuple[int, int], ...]


class Steps(Protocol):
    """The steps of a schedule, over slots that hold arguments and results."""

    device: Device
    slots: int
    steps: list[Step]
    outputs: list[tuple[int, tuple[int, ...]]]

    def run_step(
        self, step: Step, slots: list[Any], outs: Sequence[Any], sink: Sink, bindings: Bindings | None, beside: bool
    ) -> None:
        """Runs one step, with these destinations."""
        ...

    def destination(self, j: int, target: Any) -> Any:
        """What result `j` is written to, where that is given."""
        ...


class Replay:
    """Runs the steps of a schedule for arguments and destinations like those of an earlier call.

    Args:
        given: the slots that are written to destinations of the caller's.
        shapes: of the slots that the steps fill.
    """

    def __init__(
        self,
        schedule: Steps,
        like: Likeness,
        args: Sequence[Any],
        given: frozenset[int],
        shapes: dict[int, tuple[int, ...]],
        launches: Sequence[Sequence[Launch]],
    ):
        self.schedule = schedule
        self.device = schedule.device
        self.count = schedule.slots
        self.given = [(j, slot) for j, (slot, _) in enumerate(schedule.outputs) if slot in given and like.gives(j)]
        frames = _apart(schedule.device, [frame_of(step, own, args) for step, own in zip(schedule.steps, launches)])
        results = {slot for slot, _ in schedule.outputs}
        unframed = [step for step, frame in zip(schedule.steps, frames) if frame is None]
        tensors = results.union(*({*step.reads, *step.results} for step in unframed))
        made = {
            slot: Make(slot, element.nbytes * math.prod(shapes[slot]), element if slot in tensors else None, shapes[slot])
            for step in schedule.steps
            for slot, element in zip(step.results, step.plan.elements)
            if slot not in step.textures and slot not in given
        }
        self.reads: list[tuple[int, Callable[[Any], Any] | None]] = []  # what steps read from arguments that are no tensors
        self.rows: list[Row] = []
        for step, frame in zip(schedule.steps, frames):
            makes = [made[slot] for slot in step.results if slot in made]
            moves = dict(_moves(makes, [made[slot] for slot in step.release if slot in made]))
            left = tuple(m for m in makes if m.slot not in moves)
            views = tuple((slot, other) for slot, other, _ in step.views)
            numbers = tuple((i, self._number(slot, read)) for i, slot, read in frame.reads) if frame is not None else ()
            overlaps = like.free and not step.barrier
            self.rows.append(Row(step, frame, overlaps, tuple(moves.items()), step.release, left, views, numbers))

    def _number(self, slot: int, read: Callable[[Any], Any] | None) -> int:
        """The place among `reads` of a number, which several steps may take."""
        if (slot, read) not in self.reads:
            self.reads.append((slot, read))
        return self.reads.index((slot, read))

    def run(
        self, like: Likeness, args: Sequence[Any], outs: Sequence[Any] | None, sink: Sink, bindings: Bindings | None
    ) -> list[Any]:
        """Runs all steps and returns the slots; the device's lock must be held."""
        device = self.device
        allocate = device.pool.allocate
        keep = sink.keep if sink.keeps else None
        slots: list[Any] = [*args, *[None] * (self.count - len(args))]
        places = [a.low if isinstance(a, Tensor) else 0 for a in slots]
        if outs is not None:
            self._give(slots, places, outs)
        unseen = outs is None or bindings is None  # a global may be the memory of a destination
        numbers = [args[slot] if read is None else read(args[slot]) for slot, read in self.reads]
        for step, frame, overlaps, moves, frees, makes, views, numbered in self.rows:
            for slot, other in moves:
                slots[slot] = slots[other]
                places[slot] = places[other]
            for slot in frees:
                slots[slot] = None
            for slot, nbytes, element, shape in makes:
                block = slots[slot] = allocate(nbytes)
                places[slot] = block.address
                if keep is not None:
                    keep(block)
                if element is not None:
                    slots[slot] = Tensor(device, element, shape, block=block)
            for slot, other in views:
                places[slot] = places[other]
            if frame is None:
                self.schedule.run_step(step, slots, [slots[slot] for slot in step.results], sink, bindings, overlaps and unseen)
                continue
            values = frame.values
            for i, slot in frame.addresses:
                values[i] = places[slot]
            for i, n in numbered:
                values[i] = numbers[n]
            try:
                frame.kernel.launch(device, sink, bindings, values, frame.count, frame.groups, overlaps and unseen)
            except FusepyError:  # about a global: some are TypeErrors, too
                raise
            except (struct.error, OverflowError, TypeError) as error:
                raise step.plan.bad_number(slots, error) from error
        return slots

    def _give(self, slots: list[Any], places: list[int], outs: Sequence[Any]) -> None:
        """Puts the destinations of the caller's into their slots."""
        for j, slot in self.given:
            target = slots[slot] = self.schedule.destination(j, outs[j])
            if isinstance(target, Tensor):
                places[slot] = target.low


def _apart(device: Device, frames: Sequence[Frame | None]) -> list[Frame | None]:
    """Frames whose kernels are not one: in a stream of calls addresses stay, and with them what each has packed."""
    seen: set[Kernel] = set()
    made: list[Frame | None] = []
    for frame in frames:
        if frame is not None and frame.kernel in seen:
            frame = replace(frame, kernel=frame.kernel.twin(device))
        elif frame is not None:
            seen.add(frame.kernel)
        made.append(frame)
    return made


def _moves(makes: Sequence[Make], free: Sequence[Make]) -> Iterator[tuple[int, int]]:
    """Which slots take over memory of as many bytes that is free; nobody but the program sees either."""
    unseen = [old for old in free if old.element is None]
    for new in makes:
        size = size_class(new.nbytes)
        old = next((old for old in unseen if size_class(old.nbytes) == size), None)
        if new.element is None and old is not None:
            unseen.remove(old)
            yield new.slot, old.slot


class Likeness(NamedTuple):
    """All of arguments and destinations on which a `Replay` depends: what packed blocks hold beside addresses and numbers.

    Attributes:
        outs: for each result what its destination is like, first its type, unless it is a texture; ``None`` where it has none.
        shared: the destinations that lie in the memory of an argument: result, argument and the bytes between their starts.
    """

    args: tuple[Any, ...]
    outs: tuple[Any, ...] | None = None
    shared: tuple[tuple[int, int, int], ...] = ()

    @property
    def free(self) -> bool:
        """Whether barriers may be left out: no step writes what another one may read as an argument."""
        return not self.shared and (self.outs is None or all(out is None or out[0] for out in self.outs))

    def gives(self, j: int) -> bool:
        """Whether result `j` has a destination."""
        return self.outs is not None and self.outs[j] is not None


def likeness(args: Sequence[Any], outs: Sequence[Any] | None) -> Likeness:
    """What a call is like; equal for calls that may share a `Replay`."""
    like = tuple(
        [
            (a.shape, a.strides, 0 if a.linear else a.base, a.low & 15) if isinstance(a, Tensor) else getattr(a, "shape", ())
            for a in args
        ]
    )
    if outs is None:
        return Likeness(like)
    spans = [(i, s) for i, a in enumerate(args) if (s := span_of(a)) is not None]
    described: list[Any] = []
    shared: list[tuple[int, int, int]] = []
    for j, out in enumerate(outs):
        if not isinstance(out, Tensor):
            described.append(None if out is None else (None, out.shape))
            continue
        described.append((out.key, out.shape, out.strides, out.base, out.low & 15))
        shared += [(j, i, out.low - low) for i, (low, high) in spans if low < out.high and out.low < high]
    return Likeness(like, tuple(described), tuple(shared))
