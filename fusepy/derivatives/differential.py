"""The type of the gradient of a value."""

from __future__ import annotations

from fusepy.ir.oracle import Oracle
from fusepy.ir.types import Kind, Type


def differential(type: Type, oracle: Oracle | None) -> Type | None:
    """Returns the type of the gradient of a value; ``None`` if it has none."""
    if type.is_float:
        return type
    if type.kind is Kind.ARRAY and type.element is not None:
        inner = differential(type.element, oracle)
        return None if inner is None else Type.array(inner, type.shape[0])
    if type.kind is not Kind.NAMED or oracle is None:
        return None
    if type.name.endswith("::Differential"):  # its own, as Slang demands
        return type
    found = Type.parse(f"{type}::Differential")
    return None if oracle.layout(found) is None else found
