"""Access to device memory: tensors, and everything that is uploaded into one."""

from __future__ import annotations

from operator import attrgetter

from fusepy.backend.marshals.base import BLOCK, Field, Operand, Variant, convert, from_storage, is_split, join, parts, pointee
from fusepy.ir.types import Kind, Type

_low, _base = attrgetter("low"), attrgetter("base")


class MemoryAccess:
    """Reads elements through a raw pointer, linearly or by strides counted in elements."""

    kind = "memory"
    prelude = ""

    def fields(self, operand: Operand, variant: Variant) -> list[Field]:
        fields = [Field(f"{self.pointee(operand, variant)}*", f"a_{operand.name}", "pointer", operand.position, read=_low)]
        if not variant.linear and operand.want.kind is not Kind.POINTER:
            fields.append(Field(variant.index, f"a_{operand.name}_b", "base", operand.position, read=_base))
            fields += [
                Field(variant.index, f"a_{operand.name}_s{axis}", "stride", operand.position, axis)
                for axis in range(operand.rank)
            ]
        return fields

    def element(self, operand: Operand, variant: Variant) -> Type:
        """What is read in one piece: whole elements of `want` where trailing axes are known to be contiguous."""
        if operand.consumed and variant.linear:
            return operand.want.with_scalar(operand.have) if operand.want.is_numeric else operand.want
        return operand.have

    def pointee(self, operand: Operand, variant: Variant) -> Type:
        """What the pointer points at."""
        if operand.want.kind is Kind.POINTER:
            return operand.want.element or operand.have
        return pointee(self.element(operand, variant), operand.cuda)

    def load(self, operand: Operand, variant: Variant) -> str:
        pointer = f"{BLOCK}.a_{operand.name}"
        want = operand.want
        if want.kind is Kind.POINTER:
            return pointer
        # the pointer is to the lowest element, so that no offset is negative: NVIDIA's Vulkan driver takes offsets as unsigned
        index = " + ".join([f"{pointer}_b", *(f"d{d} * {pointer}_s{axis}" for axis, d in enumerate(operand.dims))])
        if variant.linear:
            index = "i" if operand.dims else "0"
        elif operand.consumed:
            components = (f"{pointer}[{index}{offset}]" for offset in _component_offsets(operand, pointer))
            return join(want, operand.have, components)
        element = self.element(operand, variant)
        if is_split(element, operand.cuda):
            scalar = element.scalar
            assert scalar is not None
            return convert(join(element, scalar, iter(parts(pointer, index, element))), element, want)
        return convert(from_storage(f"{pointer}[{index}]", element), element, want)


def _component_offsets(operand: Operand, pointer: str) -> list[str]:
    """Offsets of the components of one element along its consumed axes, in C order."""
    first = len(operand.dims)
    extents = operand.want.shape[: operand.consumed]
    offsets = [""]
    for axis, extent in enumerate(extents):
        step = f"{pointer}_s{first + axis}"
        offsets = [f"{o}{f' + {c} * {step}' if c else ''}" for o in offsets for c in range(extent)]
    return offsets
