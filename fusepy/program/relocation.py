"""Arguments that a kernel reads at another address, because user code takes them as whole arrays.

Arrays of the host that are written are uploaded, and copied back. Arrays of slangpy's Slang module address memory, on all devices
but CUDA, by counting elements from the beginning of a buffer: a tensor between two elements is copied to a multiple of its size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from fusepy.arguments.mapped import unmapped
from fusepy.backend.device.sink import Sink
from fusepy.backend.execute.plan import Plan
from fusepy.backend.marshals.registry import host_array
from fusepy.backend.marshals.result_kinds import destination, is_writable
from fusepy.backend.marshals.whole import counted, written
from fusepy.backend.memory.sharing import memory_of
from fusepy.backend.memory.storage import overlap
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import ShapeError, UnsupportedArgumentError
from fusepy.ir.types import Kind

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass
class _Whole:
    """One argument that is passed as a whole array."""

    name: str
    position: int
    counted: int  # its offset in the buffer must be a multiple of so many elements; 0 if a pointer addresses it
    written: bool


class Detours:
    """The whole arrays of a program that may have to move."""

    def __init__(self, function: str, arrays: Sequence[_Whole]):
        self._function = function
        self._arrays = arrays

    @staticmethod
    def of(function: str, plans: Sequence[Plan], values: Sequence[Any]) -> Detours | None:
        """Returns the detours of a program with these arguments and plans; ``None`` if no argument may have to move.

        Raises:
            UnsupportedArgumentError: for an argument that is written and has no memory, such as a list.
        """
        arrays: list[_Whole] = []
        operands = [(o, p) for plan in plans for o, p in zip(plan.operands, plan.positions)]
        for operand, position in operands:
            if operand.want.kind is not Kind.WHOLE or position >= len(values):
                continue
            given = unmapped(values[position])
            found = _Whole(operand.label, position, counted(operand), written(operand.want))
            if found.written and not is_writable(given):
                raise UnsupportedArgumentError(
                    f"{function}: argument {operand.label!r} is written, and a {type(given).__name__} cannot be",
                    saw=repr(values[position])[:60],
                    expected=operand.want.name,
                    hint="pass a Tensor or a NumPy array",
                )
            if found.counted or (found.written and host_array(given) is not None):
                arrays.append(found)
        return Detours(function, arrays) if arrays else None

    def enter(self, values: Sequence[Any], placed: Sequence[Any], results: Sequence[Any], sink: Sink) -> Sequence[Any]:
        """Returns the arguments for the kernel, instead of `placed`.

        Args:
            values: the arguments of the caller.
            results: the destinations of the caller, tensors and arrays.

        Raises:
            ShapeError: for an array that is read-only, or shares memory with another value while one of them is written.
        """
        moved = list(placed)
        for array in self._arrays:
            tensor: Tensor = placed[array.position]
            host = _host(array, values, tensor)
            if host is not None:
                self._check_host(array, host, values, results)
            unit = array.counted * tensor.element.nbytes
            if unit and tensor.byte_offset % unit and tensor.size:
                self._check_device(array, placed, results)
                moved[array.position] = _moved(tensor, unit, sink)
        return moved

    def leave(self, values: Sequence[Any], placed: Sequence[Any], moved: Sequence[Any], sink: Sink) -> None:
        """Copies written arrays back to the memory of the caller."""
        for array in self._arrays:
            if not array.written:
                continue
            host = _host(array, values, placed[array.position])
            if host is not None:
                host[...] = moved[array.position].to_numpy()
            elif moved[array.position] is not placed[array.position]:
                _copy(moved[array.position], placed[array.position], sink)

    def _check_host(self, array: _Whole, given: Array, values: Sequence[Any], results: Sequence[Any]) -> None:
        if not given.flags.writeable:
            raise ShapeError(
                f"{self._function}: argument {array.name!r} is read-only, and is written as a whole array",
                saw=f"{given.dtype}{list(given.shape)}",
                hint="pass an array that can be written, such as a copy of it",
            )
        others = [unmapped(v) for i, v in enumerate(values) if i != array.position]
        arrays = map(host_array, (*others, *results))
        if any(np.may_share_memory(given, other) for other in arrays if other is not None):
            raise self._shared(array, f"{given.dtype}{list(given.shape)}")

    def _check_device(self, array: _Whole, placed: Sequence[Any], results: Sequence[Any]) -> None:
        """Raises `ShapeError` for an overlap, which the copy would hide from the checks of the plan."""
        tensor: Tensor = placed[array.position]
        rivals = [*results, *(placed if array.written else ())]
        for other in rivals:
            if other is not tensor and overlap(other, tensor):
                raise self._shared(array, f"shape {tensor.shape}")
        if array.written and sum(other is tensor for other in placed) > 1:
            raise self._shared(array, f"shape {tensor.shape}")

    def _shared(self, array: _Whole, saw: str) -> ShapeError:
        which = "is written, and shares" if array.written else "is read whole, and shares"
        what = f"{self._function}: argument {array.name!r} {which} memory with another argument or result"
        return ShapeError(what, saw=saw, hint="pass a copy")


def _host(array: _Whole, values: Sequence[Any], tensor: Tensor) -> Array | None:
    """Returns the host memory of an argument that is written: `tensor`, its upload, is copied back there."""
    given = unmapped(values[array.position])
    if not array.written or host_array(given) is None:
        return None
    return cast("Array", destination(given, tensor.device, array.name, tensor.element))


def _moved(tensor: Tensor, unit: int, sink: Sink) -> Tensor:
    """Returns a copy with the same strides, at a multiple of `unit` bytes in its buffer."""
    block = tensor.device.pool.allocate(tensor.high - tensor.low + unit)
    offset = -block.offset % unit + (tensor.address - tensor.low)
    made = Tensor(tensor.device, tensor.element, tensor.shape, block=block, offset=offset, strides=tensor.strides)
    _copy(tensor, made, sink)
    sink.keep(made)
    return made


def _copy(source: Tensor, to: Tensor, sink: Sink) -> None:
    """Copies all bytes that a tensor spans to another tensor of the same strides."""
    first, place = (t.byte_offset - (t.address - t.low) for t in (source, to))
    with source.device.lock:
        sink.copy(memory_of(to), place, memory_of(source), first, source.high - source.low)
