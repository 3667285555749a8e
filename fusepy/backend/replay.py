"""`Replay`: later calls of a program with arguments of the same shapes, from what its first such call has packed.

All but addresses and numbers in the parameter blocks is known then, and the checks have been made when the first call ran: a step
costs memory for its results, packing and dispatch.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fusepy.errors import FusepyError
from fusepy.tensor import Tensor

if TYPE_CHECKING:
    from fusepy.backend.kernel import Kernel, Launch
    from fusepy.backend.schedule import Schedule, Step
    from fusepy.element import Element


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
    groups: list[int] | None
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
        if field.role in ("count", "extent", "out_base", "out_stride"):
            continue
        position = step.plan.positions[field.source]
        if field.role == "pointer":
            addresses.append((i, position))
        elif position < len(args) and not isinstance(args[position], Tensor):
            reads.append((i, position, field.read))
        elif field.type not in ("uint", "int", "int64_t"):  # a handle, or the address of a gradient
            return None
    return Frame(kernel, list(values), count, groups, tuple(addresses), tuple(reads))


class Replay:
    """Runs the steps of a schedule for arguments like those of an earlier call."""

    def __init__(
        self, schedule: Schedule, args: Sequence[Any], shapes: dict[int, tuple[int, ...]], launches: Sequence[Sequence[Launch]]
    ):
        self.schedule = schedule
        self.device = schedule.device
        self.frames = [frame_of(step, own, args) for step, own in zip(schedule.steps, launches)]
        results = {slot for slot, _ in schedule.outputs}
        unframed = [step for step, frame in zip(schedule.steps, self.frames) if frame is None]
        tensors = results.union(*({*step.reads, *step.results} for step in unframed))
        # for each step its results: slot, bytes, and what makes a tensor of it where somebody wants one
        self.makes: list[list[tuple[int, int, Element | None, tuple[int, ...]]]] = []
        for step in schedule.steps:
            plain = [(slot, e) for slot, e in zip(step.results, step.plan.elements) if slot not in step.textures]
            made = [(slot, e, shapes[slot]) for slot, e in plain]
            self.makes.append([(slot, _nbytes(e, s), e if slot in tensors else None, s) for slot, e, s in made])
        self.count = schedule.slots

    def run(self, args: Sequence[Any]) -> list[Any]:
        """Runs all steps and returns the slots; the device's lock must be held."""
        device = self.device
        queue, allocate = device.queue, device.pool.allocate
        slots: list[Any] = [*args, *[None] * (self.count - len(args))]
        places = [a.low if a.__class__ is Tensor else 0 for a in slots]
        for step, frame, made in zip(self.schedule.steps, self.frames, self.makes):
            for slot in step.release:
                slots[slot] = None
            for slot, nbytes, element, shape in made:
                block = slots[slot] = allocate(nbytes)
                places[slot] = block.address
                queue.keep(block)
                if element is not None:
                    slots[slot] = Tensor(device, element, shape, block=block)
            for slot, other, _ in step.views:
                places[slot] = places[other]
            queue.overlaps = not step.barrier
            if frame is None:
                self.schedule.run_step(step, slots, [slots[slot] for slot in step.results])
                continue
            values = frame.values
            for i, slot in frame.addresses:
                values[i] = places[slot]
            for i, slot, read in frame.reads:
                values[i] = args[slot] if read is None else read(args[slot])
            try:
                frame.kernel.launch(device, values, frame.count, frame.groups)
            except FusepyError:  # about a global: some are TypeErrors, too
                raise
            except (struct.error, OverflowError, TypeError) as error:
                raise step.plan.bad_number(slots, error) from error
        return slots


def _nbytes(element: Element, shape: tuple[int, ...]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count * element.nbytes


def likeness(args: Sequence[Any]) -> tuple[Any, ...]:
    """All of arguments on which blocks depend beside addresses and numbers; equal for calls that may share a `Replay`."""
    return tuple([(a.shape, a.strides, a.base, a.low & 15) if a.__class__ is Tensor else getattr(a, "shape", ()) for a in args])
