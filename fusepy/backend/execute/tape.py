"""`Tape`: the launches of a program for one layout of its arguments and destinations. `LinkedTape` has their kernels and runs.

It is checked, and has all values of the parameter blocks but addresses and numbers. A call costs memory, packing and dispatch.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from fusepy.backend.device.block import BlockPart, size_class
from fusepy.backend.device.sink import Sink
from fusepy.backend.execute.folds.between import made_between
from fusepy.backend.execute.launch import Launch, Make, Owner, Read, Row
from fusepy.backend.execute.layouts import Layout
from fusepy.backend.execute.number_range import bad_number
from fusepy.backend.execute.packed import packed
from fusepy.backend.execute.plan import Plan
from fusepy.backend.kernels.globals import Bindings
from fusepy.backend.marshals.base import Maker
from fusepy.backend.memory.contents import copy_elements
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import FusepyError
from fusepy.ir.types import Type

_BYTES = Element.of(Type.parse("uint8_t"))


class TapePiece(NamedTuple):
    """A region of a program, with the slots of its results and its launches for these layouts."""

    plan: Plan
    results: tuple[int, ...]
    launches: tuple[Launch, ...]


@dataclass(frozen=True, eq=False)
class Tape:
    """The launches for one layout of arguments and destinations.

    Attributes:
        pieces: the regions, in order.
        launches: all that run, in order.
        slots: the layout of each slot: arguments, then results of regions, then accumulators.
        views: slots that are views of others with axes of extent 1: the other slot, and the axes.
        given: the results that are written to destinations of the caller, and their slots.
        late: results that are copied after all launches, because later launches read the memory of the destination.
        writing: the checks of whole arrays that are written; they depend on the addresses.
        free: true if launches may run without barriers: none writes memory that another one may read as an argument.
        split: true if a region was split into one for each result, because the results share no grid.
        refused: the groups of rows that are not joined, by number, with the reasons.
        separate: true if reductions were separated, because they have different grids.
    """

    owner: Owner
    pieces: tuple[TapePiece, ...]
    launches: tuple[Launch, ...]
    slots: tuple[Layout, ...]
    views: Mapping[int, tuple[int, tuple[int, ...]]]
    given: tuple[tuple[int, int], ...] = ()
    late: tuple[int, ...] = ()
    writing: tuple[Callable[[Sequence[Any]], None], ...] = ()
    free: bool = True
    separate: bool = False
    split: bool = False
    refused: Mapping[int, str] = field(default_factory=dict[int, str])

    def refusing(self, group: int, why: str) -> Tape:
        """Returns the same with one more group of rows that is not joined."""
        return replace(self, refused={group: why, **self.refused})

    @property
    def out_shapes(self) -> list[tuple[int, ...]]:
        """The shapes of the program's results."""
        shapes = [self.slots[slot].with_ones(axes).shape for slot, axes in self.owner.outputs]
        return self.owner.numbers.shapes(shapes) if self.owner.numbers.components else shapes

    @property
    def unread(self) -> frozenset[int]:
        """The slots of images of a pass that nothing reads: they need no memory, and are not copied."""
        read = {slot for launch in self.launches for slot in launch.reads}
        read.update(self.views.get(slot, (slot,))[0] for slot, _ in self.owner.outputs)
        images = [slot for launch in self.launches if launch.plan.passes for slot in launch.results]
        return frozenset(slot for slot in images if slot not in read)

    @property
    def peak_bytes(self) -> int:
        """The largest number of bytes that results of regions and accumulators take at one time."""
        size = {
            slot: element.nbytes * math.prod(self.slots[slot].shape)
            for piece in self.pieces
            for slot, element in zip(piece.results, piece.plan.elements)
        } | dict.fromkeys(self.unread, 0)
        size |= {slot: made.nbytes for slot, made in made_between(self.launches).items()}
        live, peak = set[int](), 0
        for launch in self.launches:
            live.difference_update(launch.release)
            live.update(launch.touched)
            peak = max(peak, sum(size[slot] for slot in live))
        return peak


class LinkedTape(NamedTuple):
    """A tape with its kernels.

    Attributes:
        makes: memory for results that no launch fills because they are empty.
        reads: the numbers that launches take from arguments.
        tensors: the arguments whose addresses launches take.
        textures: the slots of textures between two launches, which the program keeps from call to call.
        blank: the initial values of the slots behind the arguments.
        packed: the arguments of which each call makes copies, see `packed`.
    """

    tape: Tape
    rows: tuple[Row, ...]
    makes: tuple[Make, ...]
    reads: tuple[tuple[int, Read], ...]
    tensors: tuple[int, ...]
    textures: tuple[tuple[int, tuple[int, ...]], ...]
    blank: list[Any]
    packed: tuple[int, ...] = ()

    def run(
        self, args: Sequence[Any], outs: Sequence[Any] | None, sink: Sink, bindings: Bindings | None, make: Maker | None = None
    ) -> list[Any]:
        """Runs all launches and returns the results of the program.

        Args:
            make: makes memory of another framework for results, and for what lies between launches: a graph that captures the
                call may run again when the pool has given its memory to others. None takes memory of the pool.

        Raises:
            RangeError: if a number does not fit its parameter.
        """
        tape, rows, makes, reads, tensors, textures, blank, copied = self
        owner = tape.owner
        device = owner.device
        for check in tape.writing:
            check(args)
        if copied:
            args = packed(args, copied, sink, make)
        with device.lock:
            allocate = device.pool.allocate
            keep = sink.keep if sink.keeps else None
            home: Any = None
            slots: list[Any] = [*args, *blank]
            places = [0] * len(slots)
            for i in tensors:
                places[i] = slots[i].low
            for j, slot in tape.given:
                assert outs is not None
                target = slots[slot] = owner.destination(j, outs[j])
                places[slot] = getattr(target, "low", 0)  # a texture has none
            for slot, shape in textures:
                slots[slot] = owner.texture(slot, shape)
            for slot, _, element, shape, *_ in makes:
                slots[slot] = Tensor(device, element, shape) if make is None or element is None else make(element, shape)
                places[slot] = slots[slot].low
            numbers: list[Any] = []
            for slot, read in reads:
                numbers.append(slots[slot] if read is None else read(slots[slot]))
            # torch may give memory that is dropped to another thread before sgl's work is submitted
            frees_late = make is not None and not all(row.kernel.direct for row in rows)
            unseen = outs is None or bindings is None  # a global may be the memory of a destination
            for kernel, values, count, groups, beside, more, frees, makes, addresses, numbered, late, bound, plan in rows:
                for slot in () if frees_late else frees:
                    slots[slot] = None
                for slot, nbytes, element, shape, tensor, part in makes:
                    if make is not None:
                        # a later slot of this size class may take it over
                        slots[slot] = made = make(_BYTES, (size_class(nbytes),)) if element is None else make(element, shape)
                        places[slot] = made.low
                        if keep is not None:
                            keep(made.block)
                        continue
                    if part is not None and not part[0]:
                        home = allocate(part[1])
                    block = allocate(nbytes) if part is None else BlockPart(home, part[0], nbytes)
                    places[slot] = block.address
                    if keep is not None:
                        keep(block)
                    slots[slot] = block if tensor is None else tensor(block)
                for i, slot, offset in addresses:
                    values[i] = places[slot] + offset
                for i, n in numbered:
                    values[i] = numbers[n]
                for i, slot, read in late:
                    values[i] = slots[slot] if read is None else read(slots[slot])
                try:
                    objects = [slots[slot].value if read is None else read(slots[slot]) for slot, read in bound] if bound else ()
                    kernel.launch(sink, bindings, values, count, groups, beside and unseen, more, objects)
                except FusepyError:  # about a global: some are TypeErrors, too
                    sink.flush()
                    raise
                except (struct.error, OverflowError, TypeError) as error:
                    sink.flush()
                    raise bad_number(plan, slots, error) from error
            results = [shown(slots[slot], axes) if axes else slots[slot] for slot, axes in owner.outputs]
            if owner.numbers.components:
                results = owner.numbers.shown(results)
            for j in tape.late:
                assert outs is not None
                copy_elements(results[j], outs[j], sink)
            if frees_late:
                device.queue.rejoin()
        return results


def shown(result: Any, axes: tuple[int, ...]) -> Any:
    """Returns a result with axes of extent 1 at these places."""
    rank = len(result.shape) + len(axes)
    return result[tuple(None if axis in axes else slice(None) for axis in range(rank))] if axes else result
