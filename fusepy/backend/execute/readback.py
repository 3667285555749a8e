"""Results of one element as Python numbers, with the least work on the host.

A call like ``m.add(1.0, 2.0)`` waits for the device and reads four bytes. The memory of the result is kept from call to call, and
the bytes become numbers without an array: on lavapipe a call takes 26 µs, of which 22 are dispatch, submission and wait;
through `Tensor.to_numpy` it takes 34.
"""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Callable, Sequence
from typing import Any

from fusepy.backend.device.device import Device
from fusepy.backend.device.sink import Sink
from fusepy.backend.kernels.globals import Bindings
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.tensor import Tensor
from fusepy.ir.types import BOOL

_CODES = {
    "bool": "I", "int8_t": "b", "uint8_t": "B", "int16_t": "h", "uint16_t": "H", "int": "i", "uint": "I", "int64_t": "q",
    "uint64_t": "Q", "half": "e", "float": "f", "double": "d",
}  # fmt: skip


SHORT_S = 500e-6
Run = Callable[["Sequence[Any]", "Sequence[Any] | None", "Sink", "Bindings | None"], "list[Any]"]


class Readback:
    """Runs a program whose only result has no axes, and returns it as a number, or a vector as a list of components."""

    __slots__ = ("_bool", "_device", "_element", "_nested", "_short", "_spare", "_unpack")

    def __init__(self, device: Device, element: Element):
        assert element.type.scalar is not None
        self._device = device
        self._element = element
        self._nested = element.shape
        self._bool = element.type.scalar is BOOL
        self._unpack = struct.Struct(f"<{math.prod(element.shape)}{_CODES[element.type.scalar.name]}").unpack
        self._short = False  # true if the last call was short: then a wait that blocks the interpreter does no harm
        self._spare: list[
            Tensor
        ] = []  # memory for results that no call uses now; one for each thread that has called at the same time

    @staticmethod
    def takes(element: Element) -> bool:
        """True if results of this element become numbers: all but structs."""
        return element.type.scalar is not None

    def __call__(self, run: Run, placed: Sequence[Any], sink: Sink, bindings: Bindings | None) -> Any:
        """Runs a program and returns its result.

        Raises:
            ShapeError, RangeError: as `Executable.run`.
        """
        spare = self._spare
        place = spare.pop() if spare else Tensor(self._device, self._element, ())
        try:
            run(placed, (place,), sink, bindings)
            start = time.perf_counter()
            buffer: Any = place.block.buffer
            data = self._device.transfer.read(buffer, place.byte_offset, self._element.nbytes, short=self._short)
            self._short = time.perf_counter() - start < SHORT_S
        finally:
            spare.append(place)
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
