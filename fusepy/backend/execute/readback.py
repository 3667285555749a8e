"""Results of one element as Python numbers, with the least work on the host.

A call like ``m.add(1.0, 2.0)`` waits for the device and reads four bytes. The memory of the result is kept from call to call, and
the bytes become numbers without an array: on lavapipe a call takes 26 µs, of which 22 are dispatch, submission and wait;
through `Tensor.to_numpy` it takes 34. On GPUs the kernel writes the result to memory of the host, so that nothing is copied.
"""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Callable, Sequence
from typing import Any

from fusepy.backend.device.block import seen_buffer
from fusepy.backend.device.device import Device
from fusepy.backend.device.sink import CAPTURED, Sink
from fusepy.backend.kernels.globals import Bindings
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.foreign_memory import Foreign
from fusepy.backend.memory.tensor import Tensor
from fusepy.ir.types import BOOL

_CODES = {
    "bool": "I", "int8_t": "b", "uint8_t": "B", "int16_t": "h", "uint16_t": "H", "int": "i", "uint": "I", "int64_t": "q",
    "uint64_t": "Q", "half": "e", "float": "f", "double": "d",
}  # fmt: skip


SHORT_S = 500e-6
CELL = 256  # bytes
Run = Callable[["Sequence[Any]", "Sequence[Any] | None", "Sink", "Bindings | None"], "list[Any]"]


class Cell:
    """Memory for a result, with its tensors by element.

    Attributes:
        read: returns the bytes after all work so far; see `wait_for_submission` for `short`.
    """

    __slots__ = ("_block", "_device", "_tensors", "read")

    def __init__(self, device: Device, block: Any, read: Callable[[bool], bytes]):
        self._device, self._block, self.read = device, block, read
        self._tensors: dict[Element, Tensor] = {}

    @staticmethod
    def make(device: Device, nbytes: int) -> Cell:
        """Returns memory that the host reads where it is, if the device can write to such memory."""
        transfer = device.transfer
        if device.reads is not None:
            address, seen = device.reads.seen(nbytes)
            return Cell(device, Foreign(device, address, None), lambda short: seen())
        buffer = seen_buffer(device.raw, nbytes) if device.target.spirv and not transfer.host_addressable else None
        if buffer is not None:

            def look(short: bool) -> bytes:
                transfer.settle(short=short)
                return buffer.to_numpy().tobytes()  # pyright: ignore[reportUnknownMemberType]

            return Cell(device, Foreign(device, buffer.device_address, buffer, buffer), look)
        block = device.pool.allocate(nbytes)
        return Cell(device, block, lambda short: transfer.read(block.buffer, block.offset, nbytes, short=short))

    def tensor(self, element: Element) -> Tensor:
        """Returns a result of this element in the memory."""
        found = self._tensors.get(element)
        if found is None:
            found = self._tensors[element] = Tensor(self._device, element, (), block=self._block)
        return found


class Readback:
    """Runs a program whose only result has no axes, and returns it as a number, or a vector as a list of components."""

    __slots__ = ("_bool", "_device", "_element", "_nested", "_short", "_unpack")

    def __init__(self, device: Device, element: Element):
        assert element.type.scalar is not None
        self._device = device
        self._element = element
        self._nested = element.shape
        self._bool = element.type.scalar is BOOL
        self._unpack = struct.Struct(f"<{math.prod(element.shape)}{_CODES[element.type.scalar.name]}").unpack_from
        self._short = False  # true if the last call was short: then a wait that blocks the interpreter does no harm

    @staticmethod
    def takes(element: Element) -> bool:
        """True if results of this element become numbers: all but structs."""
        return element.type.scalar is not None

    def __call__(self, run: Run, placed: Sequence[Any], sink: Sink, bindings: Bindings | None) -> Any:
        """Runs a program and returns its result.

        Raises:
            ShapeError, RangeError: as `Executable.run`.
        """
        device, element = self._device, self._element
        if (captured := CAPTURED.get()) is not None:  # only the last way of `Cell.make` asks by itself
            captured.refuse(None)
        cells, keep = device.cells, element.nbytes <= CELL
        try:
            cell = cells.pop() if keep else Cell.make(device, element.nbytes)
        except IndexError:  # as many threads call at the same time
            cell = Cell.make(device, CELL)
        try:
            run(placed, (cell.tensor(element),), sink, bindings)
            start = time.perf_counter()
            data = cell.read(self._short)
            self._short = time.perf_counter() - start < SHORT_S
        finally:
            if keep:
                cells.append(cell)
        numbers = self._unpack(data)
        if self._bool:
            numbers = tuple(map(bool, numbers))
        return _nest(numbers, self._nested) if self._nested else numbers[0]


def _nest(numbers: Sequence[Any], shape: tuple[int, ...]) -> list[Any]:
    """Returns numbers in C order as nested lists."""
    if len(shape) == 1:
        return list(numbers)
    step = len(numbers) // shape[0]
    return [_nest(numbers[i : i + step], shape[1:]) for i in range(0, len(numbers), step)]
