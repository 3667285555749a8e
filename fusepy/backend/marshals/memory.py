"""Access to device memory: tensors, and values that are uploaded into one.

Tensors with gradients are plain tensors for plain parameters, and pairs of value and gradient for ``DifferentialPair<T>``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter
from typing import Any

from fusepy.backend.emit.operand import BLOCK, Field, Operand, convert, from_storage, is_split, join, parts, storage
from fusepy.backend.emit.variant import Variant
from fusepy.backend.marshals.whole import whole_fields, whole_value
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import UnsupportedArgumentError
from fusepy.ir.types import BOOL, Kind, Type, pair_of

_low, _base = attrgetter("low"), attrgetter("base")


def _itself(tensor: Tensor) -> Tensor:
    return tensor


class MemoryAccess:
    """Access to elements through a raw pointer, linear or by strides in elements."""

    addressing = "memory"
    prelude = ""

    def fields(self, operand: Operand, variant: Variant) -> list[Field]:
        if operand.want.kind is Kind.WHOLE:
            return whole_fields(operand)
        if operand.want.kind is Kind.RESOURCE:  # a tensor as a StructuredBuffer or ByteAddressBuffer
            return [Field(str(operand.want), operand.resource, "resource", operand.position, read=_itself)]
        fields = [Field(f"{self.pointee(operand, variant)}*", f"a_{operand.name}", "pointer", operand.position, read=_low)]
        if not variant.linear and operand.want.kind is not Kind.POINTER:
            fields.append(Field(variant.index, f"a_{operand.name}_b", "base", operand.position, read=_base))
            fields += [
                Field(variant.index, f"a_{operand.name}_s{axis}", "stride", operand.position, axis)
                for axis in range(operand.rank)
            ]
        return fields

    def element(self, operand: Operand, variant: Variant) -> Type:
        """Returns the type of one load: whole elements of `want` if trailing axes are known to be contiguous."""
        if operand.consumed and variant.linear:
            scalars = operand.have.kind is Kind.SCALAR and operand.want.scalar is not None
            return operand.want.with_scalar(operand.have) if scalars else operand.want
        return operand.have

    def split_scalar(self, operand: Operand, variant: Variant) -> Type | None:
        """Returns the scalar type of an element whose scalars are loaded one by one; ``None`` if one load takes the element."""
        element = self.element(operand, variant)
        converted = element.kind is Kind.ARRAY and element is not operand.want
        return element.scalar if converted or is_split(element, operand.cuda) else None

    def pointee(self, operand: Operand, variant: Variant) -> Type:
        """Returns the element type of the pointer."""
        if operand.want.kind is Kind.POINTER:
            return _whole(operand)
        return storage(self.split_scalar(operand, variant) or self.element(operand, variant))

    def load(self, operand: Operand, variant: Variant) -> str:
        pointer = f"{BLOCK}.a_{operand.name}"
        want = operand.want
        if want.kind is Kind.WHOLE:
            return whole_value(operand, variant.packed)
        if want.kind is Kind.POINTER:
            return pointer
        # the pointer is to the lowest element, so that no offset is negative: NVIDIA's Vulkan driver treats offsets as unsigned
        index = variant.offset(pointer, operand.dims, operand.position)
        if variant.linear:
            index = "i" if operand.dims else "0"
        elif operand.consumed:
            components = (f"{pointer}[{index}{offset}]" for offset in _component_offsets(operand, pointer))
            return join(want, operand.have, components)
        element = self.element(operand, variant)
        scalar = self.split_scalar(operand, variant)
        if scalar is not None:
            return join(want, scalar, iter(parts(pointer, index, element)))
        return convert(from_storage(f"{pointer}[{index}]", element), element, want)


def _whole(operand: Operand) -> Type:
    """Returns the element type of a user's pointer parameter.

    Raises:
        UnsupportedArgumentError: if its stride on CUDA differs from that in memory.
    """
    element = operand.want.element or operand.have
    if operand.cuda and (is_split(element, operand.cuda) or element.scalar is BOOL):
        raise UnsupportedArgumentError(
            f"argument {operand.label!r}: a pointer to {element} steps over other bytes on CUDA than the array has",
            saw=operand.want,
            expected="an element that lies in memory as in NumPy",
            hint="take half* instead of half3*, and uint* instead of bool*",
        )
    return element


def _component_offsets(operand: Operand, pointer: str) -> list[str]:
    """Returns the offsets of the components of one element along its consumed axes, in C order."""
    first = len(operand.dims)
    extents = operand.want.shape[: operand.consumed]
    offsets = [""]
    for axis, extent in enumerate(extents):
        step = f"{pointer}_s{first + axis}"
        offsets = [f"{o}{f' + {c} * {step}' if c else ''}" for o in offsets for c in range(extent)]
    return offsets


class PairAccess(MemoryAccess):
    """Access to a value through the tensor's pointer, and to its gradient through a second pointer with its own strides."""

    def fields(self, operand: Operand, variant: Variant) -> list[Field]:
        value = pair_of(operand.want)
        if value is None:
            return super().fields(operand, variant)
        first, second = _halves(operand, value)
        fields = super().fields(first, variant)
        for field in super().fields(second, variant):
            # roles other than "pointer" and "stride", which are the tensor's
            fields.append(Field(field.type, field.name, f"grad_{field.role}", field.source, field.axis, _of_grad(field)))
        return fields

    def load(self, operand: Operand, variant: Variant) -> str:
        value = pair_of(operand.want)
        if value is None:
            return super().load(operand, variant)
        first, second = _halves(operand, value)
        return f"diffPair({super().load(first, variant)}, {super().load(second, variant)})"


def _halves(operand: Operand, value: Type) -> tuple[Operand, Operand]:
    """Returns the value and the gradient as two operands."""
    derived = Type.parse(f"{value}::Differential") if value.kind is Kind.NAMED else None
    second = replace(operand, name=f"{operand.name}_grad", want=derived or value, have=derived or operand.have)
    return replace(operand, want=value), second


def _of_grad(field: Field) -> Callable[[Any], Any]:
    """Returns the function that reads a field's value from the gradient of the tensor."""
    if field.role == "stride":
        axis = field.axis
        return lambda tensor: 0 if tensor.shape[axis] == 1 else tensor.grad.strides[axis]
    read = field.read
    assert read is not None, field
    return lambda tensor: read(tensor.grad)
