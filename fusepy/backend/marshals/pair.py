"""Tensors with gradients: plain tensors for plain parameters, pairs of value and gradient for ``DifferentialPair<T>``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fusepy.backend.emit.operand import Field, Operand
from fusepy.backend.emit.variant import Variant
from fusepy.backend.marshals.memory import MemoryAccess
from fusepy.ir.types import Kind, Type, pair_of


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
