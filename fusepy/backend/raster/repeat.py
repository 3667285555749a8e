"""`Repeat`: a launch that comes again with the same tensors. Numbers, textures, uploads and new results may be others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from fusepy.backend.device.sink import Sink
from fusepy.backend.execute.launch import Make, Read
from fusepy.backend.execute.tape import LinkedTape
from fusepy.backend.kernels.globals import Bindings
from fusepy.backend.kernels.kernel import Kernel
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.raster.kernel import DrawKernel
from fusepy.backend.raster.text import same

_ARGUMENT, _DESTINATION, _NEW = range(3)  # where an object of a launch comes from


class Repeat:
    """The only launch of a tape, with the addresses of the tensors of one call. It holds none of them."""

    __slots__ = (
        "__weakref__",
        "_count",
        "_device",
        "_fixed",
        "_groups",
        "_kernel",
        "_makes",
        "_moving",
        "_numbers",
        "_objects",
        "_values",
    )

    def __init__(self, tape: LinkedTape, args: Sequence[Any], outs: Sequence[Any], uploaded: Collection[int]):
        row = tape.rows[0]
        self._device, self._count, self._groups = tape.tape.owner.device, row.elements, row.groups
        self._kernel: Kernel | None = row.kernel
        self._values = [*row.values]
        given = {slot: j for j, slot in tape.tape.given}
        made = {make.slot: k for k, make in enumerate(row.makes)}
        for i, slot, offset in row.addresses:
            if slot not in made:
                self._values[i] = (outs[given[slot]] if slot in given else args[slot]).low + offset
        self._makes: list[tuple[Make, list[tuple[int, int]]]] = [
            (make, [(i, offset) for i, slot, offset in row.addresses if slot == make.slot]) for make in row.makes
        ]
        self._moving = [(i, slot, offset) for i, slot, offset in row.addresses if slot in uploaded]
        self._numbers = [(i, *tape.reads[n]) for i, n in row.numbers]
        self._objects: list[tuple[int, int, Read]] = []
        for slot, read in row.bound:
            place = (_NEW, made[slot]) if slot in made else (_DESTINATION, given[slot]) if slot in given else (_ARGUMENT, slot)
            self._objects.append((*place, read))
        self._fixed = not self._makes and all(slot not in uploaded for slot, _ in row.bound)  # all launches have the same objects

    @staticmethod
    def of(tape: LinkedTape, args: Sequence[Any], outs: Sequence[Any], uploaded: Collection[int]) -> Repeat | None:
        """Returns the repeat of a call that has run; None if it is more than one launch, which fills all results.

        Args:
            outs: the destinations: one for each result, or none.
            uploaded: the arguments that lie elsewhere in each call, with the same layout.
        """
        lowered, row = tape.tape, tape.rows[0]
        own = {make.slot for make in row.makes} | {slot for _, slot in lowered.given}
        if len(tape.rows) != 1 or tape.makes or tape.textures or lowered.late or lowered.writing or row.frees or row.reads:
            return None
        filled = [slot for slot, axes in lowered.owner.outputs if not axes and slot in own]
        if len(filled) != len(lowered.owner.outputs) or len(own) != len(filled) or len(outs) not in (0, len(filled)):
            return None
        bound = [slot for slot, _ in row.bound if slot not in own]
        if any(slot >= len(args) for slot in bound) or any(make.element is None for make in row.makes):
            return None
        return Repeat(tape, args, outs, uploaded)

    def run(self, args: Sequence[Any], outs: Sequence[Any], sink: Sink, bindings: Bindings | None) -> list[Any] | None:
        """Launches it and returns the new results; None if its kernel was dropped, and nothing has run then.

        Args:
            args, outs: those of this call. Tensors among them are those of the first call, but for the uploaded ones.

        Raises:
            struct.error, OverflowError, TypeError: if a number does not fit its parameter; nothing has run then.
        """
        device, values = self._device, self._values
        with device.lock:
            kernel = self._kernel
            if kernel is None:
                return None
            for i, slot, read in self._numbers:
                values[i] = args[slot] if read is None else read(args[slot])
            for i, slot, offset in self._moving:
                values[i] = args[slot].low + offset
            made: list[Any] = []
            for make, addresses in self._makes:
                tensor = Tensor(device, make.element, make.shape)
                made.append(tensor)
                for i, offset in addresses:
                    values[i] = tensor.low + offset
            places = args, outs, made
            objects = [
                places[k][i] if read is same else places[k][i].value if read is None else read(places[k][i])
                for k, i, read in self._objects
            ]
            if self._fixed and isinstance(kernel, DrawKernel) and self._groups:
                kernel.launch_again(self, sink, bindings, values, self._count, self._groups, objects)
            else:
                kernel.launch(sink, bindings, values, self._count, self._groups, objects=objects)
        return made

    def clear(self) -> None:
        """Drops the kernel."""
        self._kernel = None
