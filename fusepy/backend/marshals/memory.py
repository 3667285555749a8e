"""Access to device memory: tensors, and everything that is uploaded into one."""

from __future__ import annotations

from fusepy.backend.marshals.base import BLOCK, Field, Operand, Variant, convert, from_storage, storage
from fusepy.ir.types import Kind, Type


class MemoryAccess:
    """Reads elements through a raw pointer, linearly or by strides counted in elements."""

    def fields(self, operand: Operand, variant: Variant) -> list[Field]:
        fields = [Field(f"{self.pointee(operand, variant)}*", f"a_{operand.name}", "pointer", operand.position)]
        if not variant.linear and operand.want.kind is not Kind.POINTER:
            fields += [
                Field(variant.index, f"a_{operand.name}_s{axis}", "stride", operand.position, axis)
                for axis in range(operand.rank)
            ]
        return fields

    def pointee(self, operand: Operand, variant: Variant) -> Type:
        """What the pointer points at: whole elements of `want` where trailing axes are known to be contiguous."""
        if operand.want.kind is Kind.POINTER:
            return operand.want.element or operand.have
        if operand.consumed and variant.linear:
            return storage(operand.want.with_scalar(operand.have) if operand.want.is_numeric else operand.want)
        return storage(operand.have)

    def load(self, operand: Operand, variant: Variant) -> str:
        pointer = f"{BLOCK}.a_{operand.name}"
        want = operand.want
        if want.kind is Kind.POINTER:
            return pointer
        stored = want.with_scalar(operand.have) if operand.consumed and want.is_numeric else operand.have
        if variant.linear:
            element = from_storage(f"{pointer}[{'i' if operand.dims else '0'}]", stored)
            return convert(element, stored, want)
        base = " + ".join(f"d{d} * {pointer}_s{axis}" for axis, d in enumerate(operand.dims)) or "0"
        if not operand.consumed:
            return convert(from_storage(f"{pointer}[{base}]", operand.have), operand.have, want)
        parts = [f"{pointer}[{base}{offset}]" for offset in _component_offsets(operand, pointer)]
        if want.kind is Kind.ARRAY:
            return "{ " + ", ".join(from_storage(p, operand.have) for p in parts) + " }"
        return convert(from_storage(f"{storage(stored)}({', '.join(parts)})", stored), stored, want)


def _component_offsets(operand: Operand, pointer: str) -> list[str]:
    """Offsets of the components of one element along its consumed axes, in C order."""
    first = len(operand.dims)
    extents = operand.want.shape[: operand.consumed]
    offsets = [""]
    for axis, extent in enumerate(extents):
        step = f"{pointer}_s{first + axis}"
        offsets = [f"{o}{f' + {c} * {step}' if c else ''}" for o in offsets for c in range(extent)]
    return offsets
