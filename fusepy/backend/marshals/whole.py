"""Whole arrays in kernels: the fields of a Slang `Tensor<T, D>`, filled from a `fusepy.Tensor` of any strides.

Pointer, extents, strides and the offset of the first element are members of the parameter block, so that kernels do not depend
on sizes. The pointer is to the lowest element, as in `marshals.memory`. A call without whole arrays has no extra cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fusepy.backend.emit.array_names import packed_strides
from fusepy.backend.emit.operand import BLOCK, Field, Operand
from fusepy.backend.memory.sharing import memory_of
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import CompileError, ShapeError, UnsupportedArgumentError
from fusepy.ir.strides import contiguous_strides
from fusepy.ir.types import BOOL, HALF, Kind, Type
from fusepy.ir.whole import components, family, library, writes

LIMIT = 1 << 31  # elements that 32-bit indices reach

# the arrays inside a differentiable one: the elements, then the gradients by the attributes of `Tensor` that hold them
_PARTS: dict[str, tuple[str, ...]] = {
    "DiffTensor": ("", "grad_out"),
    "WDiffTensor": ("", "grad_in"),
    "RWDiffTensor": ("", "grad_in", "grad_out"),
}
_NO_PARTS = ("",)


def whole_fields(operand: Operand) -> list[Field]:
    """Returns the members of the parameter block for a whole array."""
    return [f for part in _parts(operand) for f in _Part(operand, part).fields()]


def whole_value(operand: Operand, packed: bool) -> str:
    """Returns the Slang initializer of the array, with members of the parameter block; a `packed` one has no gaps."""
    parts = [_Part(operand, part).value(packed and not part) for part in _parts(operand)]
    return parts[0] if len(parts) == 1 else "{ " + ", ".join(parts) + " }"


def written(type: Type) -> bool:
    """True if `type` is a whole array that user code may write."""
    return type.kind is Kind.WHOLE and writes(type)


def counted(operand: Operand) -> int:
    """Returns the stored elements per element of a whole array with offsets from the start of its buffer; 0 for a pointer."""
    part = _Part(operand, "")
    return part.count if part.buffer else 0


def lie_together(operand: Operand, tensor: Tensor) -> bool:
    """True if the scalars of each element of a whole array lie side by side, as user code reads them."""
    assert operand.want.element is not None
    count, inner = components(operand.have, operand.want.element), operand.want.element.shape
    if count == 1:
        return True
    outer, nbytes = tensor.strides[: -len(inner)], count * tensor.element.nbytes
    if tensor.strides[-len(inner) :] != contiguous_strides(inner) or tensor.base % count:
        return False
    if operand.cuda and tensor.low % min(16, nbytes & -nbytes):
        return False  # CUDA reads a vector in one piece
    return not any(s % count for s, n in zip(outer, tensor.shape) if n > 1)


def check_written(written: Sequence[Operand], memory: Sequence[Operand], positions: Sequence[int], args: Sequence[Any]) -> None:
    """Rejects written whole arrays that overlap another argument, or that repeat elements.

    Raises:
        ShapeError: naming both arguments. Threads run in any order, so that the result would be undefined.
    """
    for operand in written:
        array: Tensor = args[positions[operand.position]]
        if any(s == 0 and n > 1 for n, s in zip(array.shape, array.strides)):
            raise ShapeError(
                f"{operand.function}: argument {operand.label!r} is written, and repeats elements",
                saw=f"strides {array.strides}",
                hint="pass a real tensor, not a broadcast view",
            )
        for other in memory:
            tensor: Tensor = args[positions[other.position]]
            if other is not operand and tensor.low < array.high and array.low < tensor.high:
                raise ShapeError(
                    f"{operand.function}: argument {operand.label!r} is written, and overlaps argument {other.label!r}",
                    saw="shared memory, which other threads still use",
                    hint="copy one of them, or pass the array once and index it in Slang",
                )


def _parts(operand: Operand) -> tuple[str, ...]:
    return _PARTS.get(family(operand.want), _NO_PARTS)


class _Part:
    """One array: pointer, extents, strides and offset."""

    def __init__(self, operand: Operand, part: str):
        assert operand.want.element is not None
        self.operand = operand
        self.part = part
        self.element = operand.want.element
        self.rank = operand.want.rank
        self.count = components(operand.have, self.element)
        self.prefix = f"a_{operand.name}" + (f"_{part}" if part else "")

    def fields(self) -> list[Field]:
        position = self.operand.position
        # elements of gradients have the type's differential, which only Slang can name
        pointer = "uint64_t" if self.part else f"{self.element}*"
        needed = library(self.operand.want) == "slangpy"  # slangpy's arrays do not test for missing gradients
        low = self.of(lambda t: t.low, needed)
        listed = [Field(pointer, self.prefix, "whole" if self.part else "pointer", position, read=low)]
        if self.buffer:
            handle = f"{self.buffer}.Handle"
            listed.append(Field(handle, f"{self.prefix}_h", "whole", position, read=self.of(self.handle, needed=True)))
        for axis in range(self.rank):
            listed.append(Field("uint", f"{self.prefix}_n{axis}", "whole", position, axis, read=self.of(self.extent(axis))))
        for axis in range(self.rank):
            listed.append(Field("int", f"{self.prefix}_s{axis}", "whole", position, axis, read=self.of(self.stride(axis))))
        base = self.of(self.place_in_buffer if self.buffer else lambda t: t.base // self.count)
        listed.append(Field("uint", f"{self.prefix}_b", "whole", position, read=base if self.part else self.checked(base)))
        return listed

    @property
    def buffer(self) -> str:
        """The resource type in slangpy's arrays on all devices except CUDA; empty for a pointer."""
        if library(self.operand.want) != "slangpy" or self.operand.cuda:
            return ""
        if self.part == "grad_out" or family(self.operand.want) == "AtomicTensor":
            return "RWByteAddressBuffer"
        element = f"{self.element}.Differential" if self.part else str(self.element)
        read_only = self.part == "grad_in" or (not writes(self.operand.want))
        return f"{'' if read_only else 'RW'}StructuredBuffer<{element}>"

    def handle(self, tensor: Tensor) -> int:
        buffer = memory_of(tensor)  # `tensor.buffer` would end deferral
        try:
            handle = buffer.descriptor_handle_rw if self.buffer.startswith("RW") else buffer.descriptor_handle_ro
        except RuntimeError as error:
            raise UnsupportedArgumentError(
                "this device has no handles for buffers, which slangpy's tensors are made of",
                saw=str(error).partition("\n")[0],
                hint="import fusepy instead of slangpy in Slang: its tensors are pointers",
            ) from error
        if not handle:
            raise CompileError(
                "the device has no bindless handle left for a buffer", hint="free tensors, or import fusepy in Slang"
            )
        return handle.value

    def place_in_buffer(self, tensor: Tensor) -> int:
        """Returns the index of the first element from the start of the buffer; for elements, `detours` makes it an integer."""
        unit = tensor.element.nbytes * (1 if self.part else self.count)
        if tensor.byte_offset % unit:
            what = f"has a {self.part} that lies at no multiple of {unit} bytes in its buffer"
            raise self.error(what, f"byte {tensor.byte_offset}", "import fusepy in Slang, whose arrays can lie anywhere")
        return tensor.byte_offset // unit

    def of(self, read: Callable[[Tensor], int], needed: bool = False) -> Callable[[Tensor], int]:
        """Returns `read` for the tensor, or for its gradient `part`; a missing gradient is 0, or an error if `needed`."""
        if not self.part:
            return read
        name = self.part

        def read_gradient(tensor: Any) -> int:
            gradient = getattr(tensor, name, None)
            if gradient is None and needed:
                raise self.error(f"has no {name}", "a tensor without gradients", "declare the parameter as an IDiffTensor")
            return 0 if gradient is None else read(gradient)

        return read_gradient

    def extent(self, axis: int) -> Callable[[Tensor], int]:
        return lambda tensor: tensor.shape[axis]

    def stride(self, axis: int) -> Callable[[Tensor], int]:
        return lambda tensor: tensor.strides[axis] // self.count

    def checked(self, read: Callable[[Tensor], int]) -> Callable[[Tensor], int]:
        """Returns `read` with checks of the memory layout, which the type does not determine. It runs once per call and array."""

        def checking(tensor: Tensor) -> int:
            if tensor.high - tensor.low >= LIMIT and (tensor.high - tensor.low) // tensor.element.nbytes >= LIMIT:
                raise self.error("has more elements than a whole array can", f"shape {tensor.shape}", "pass a part of it")
            if self.count != 1:
                self.check_components(tensor)
            if self.element.scalar in (BOOL, HALF):
                self.check_packing(tensor)
            return read(tensor)

        return checking

    def check_components(self, tensor: Tensor) -> None:
        """Raises unless the scalars of each vector or matrix are contiguous."""
        cut = len(self.element.shape)
        if tensor.shape[-cut:] != self.element.shape:
            raise self.error(
                f"does not hold {self.element}", f"shape {tensor.shape}", f"give it trailing axes {self.element.shape}"
            )
        if not lie_together(self.operand, tensor):
            raise self.error(
                f"does not hold its {self.element} in one piece each",
                f"strides {tensor.strides}",
                f"copy it into a Tensor of {self.element}, or take it as elements of {self.operand.have} with one axis more",
            )

    def check_packing(self, tensor: Tensor) -> None:
        """Raises if the device packs bools or three halfs unlike tensors, which are packed alike on every device."""
        api = tensor.device.raw.info.type.name
        three = api == "cuda" and self.element.shape[-1:] == (3,)
        if three if self.element.scalar is HALF else api in ("cuda", "cpu"):
            raise UnsupportedArgumentError(
                f"{self.operand.function}: argument {self.operand.label!r}: {api} packs {self.element} unlike tensors",
                saw=self.operand.want.name,
                hint="use uint for bool, and half or half4 for half3",
            )

    def error(self, what: str, saw: str, hint: str) -> ShapeError:
        what = f"{self.operand.function}: argument {self.operand.label!r} {what}"
        return ShapeError(what, saw=saw, expected=self.operand.want.name, hint=hint)

    def value(self, packed: bool) -> str:
        at = f"{BLOCK}.{self.prefix}"
        pointer = f"*{at}_h" if self.buffer else f"({self.element}.Differential*){at}" if self.part else at
        extents, strides = ("{ " + ", ".join(f"{at}_{c}{i}" for i in range(self.rank)) + " }" for c in "ns")
        strides = packed_strides([f"{at}_n{i}" for i in range(self.rank)]) if packed else strides
        return f"{{ {pointer}, {extents}, {strides}, {'0' if packed and not self.buffer else f'{at}_b'} }}"
