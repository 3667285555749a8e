"""slangpy's vectors, matrices and quaternions: one value of exactly that type for all threads."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from operator import itemgetter
from typing import Any

import slangpy as spy

from fusepy.backend.device.device import Device
from fusepy.backend.emit.operand import Field, Operand, convert, from_storage, join, member, storage
from fusepy.backend.emit.variant import Variant
from fusepy.backend.marshals.array import as_list
from fusepy.backend.marshals.base import Description, Marshal
from fusepy.backend.marshals.constant import Components, check_features
from fusepy.backend.memory.tensor import Tensor
from fusepy.ir.types import FLOAT, Kind, Type

Read = Callable[[Any], tuple[Any, ...]]


class VectorMarshal:
    """One of slangpy's math types. It is not weak: a ``float3`` does not match a ``half3``."""

    returns, precedence, named = "vector", 60, False

    def __init__(self, type: Type, read: Read):
        self._description = Description(type, (), "Uniform")
        self._read = read

    def key(self, value: Any) -> Hashable:
        return self._description

    def describe(self, value: Any) -> Description:
        return self._description

    def place(self, value: Any, type: Type, device: Device) -> Components:
        check_features(type, device)
        return Components(self._read(value))

    def hand_out(self, tensor: Tensor) -> Any:
        return as_vector(tensor)


def as_vector(tensor: Tensor) -> Any:
    """Returns a result as an array, including vectors; a single number as a number."""
    return tensor.to_numpy() if tensor.shape or tensor.element.shape else as_list(tensor)


def as_object(tensor: Tensor) -> Any:
    """Returns one vector or matrix as slangpy's object; as an array where slangpy has no such class."""
    array, cls = tensor.to_numpy(), _CLASSES.get(tensor.dtype)
    return array if cls is None else cls(array if array.ndim > 1 else array.tolist())


class HalfMarshal:
    """slangpy's ``float16_t``: the Python float of the same value. The key differs from that of a float, since `place` does."""

    returns = "scalar"

    def key(self, value: Any) -> Hashable:
        return "float16_t"

    def describe(self, value: Any) -> Description:
        return Description(FLOAT, (), "", weak=True)

    def place(self, value: Any, type: Type, device: Device) -> float:
        return float(value)


class UniformAccess:
    """Access to a scalar per component: the layout of vectors and matrices in a parameter block differs from that in memory."""

    addressing = "uniform"
    prelude = ""

    def fields(self, operand: Operand, variant: Variant) -> list[Field]:
        scalar = operand.have.scalar
        assert scalar is not None
        return [
            Field(str(storage(scalar)), name, "component", operand.position, c, itemgetter(c))
            for c, name in enumerate(_names(operand))
        ]

    def load(self, operand: Operand, variant: Variant) -> str:
        scalar = operand.have.scalar
        assert scalar is not None
        members = [member(name, scalar) for name in _names(operand)]
        if operand.have.kind is Kind.ARRAY:
            return join(operand.have, scalar, iter(members))
        parts = [from_storage(m, scalar) for m in members]
        value = parts[0] if len(parts) == 1 else f"{operand.have}({', '.join(parts)})"
        return convert(value, operand.have, operand.want)


def _names(operand: Operand) -> list[str]:
    """Returns the members of the block, rows first: ``a_m_00, a_m_01, …`` for a matrix, ``a_w_0_11`` with two-digit indices."""
    places = [""]
    separator = "_" if max(operand.have.shape, default=0) > 10 else ""
    for extent in operand.have.shape:
        places = [f"{p}{separator if p else ''}{c}" for p in places for c in range(extent)]
    return [f"a_{operand.name}_{p}" if p else f"a_{operand.name}" for p in places]


def _floats(value: Any) -> tuple[Any, ...]:
    return tuple(map(float, value))


def _matrix(value: Any) -> tuple[Any, ...]:
    return tuple(value.to_numpy().ravel().tolist())


def _math_types() -> dict[type, Type]:
    """Returns slangpy's math types and their Slang types; a vector of one is its scalar, a quaternion a ``float4``."""
    types: dict[type, Type] = {spy.math.quatf: Type.vector(FLOAT, 4)}
    for scalar, name in (("bool", "bool"), ("int", "int"), ("uint", "uint"), ("float16_t", "half"), ("float", "float")):
        for n in range(1, 5):
            types[getattr(spy.math, f"{scalar}{n}")] = Type.vector(Type.parse(name), n)
    for rows in range(2, 5):
        for cols in range(2, 5):
            cls = getattr(spy.math, f"float{rows}x{cols}", None)  # not all shapes exist
            if cls is not None:
                types[cls] = Type.matrix(FLOAT, rows, cols)
    return types


MATH_TYPES = _math_types()
_CLASSES = {type: cls for cls, type in MATH_TYPES.items() if cls is not spy.math.quatf}


def _read_of(type: Type) -> Read:
    return _matrix if len(type.shape) == 2 else _floats if type.scalar is not None and type.scalar.name == "half" else tuple


MATH_MARSHALS: dict[type, Marshal] = {
    spy.math.float16_t: HalfMarshal(),
    **{cls: VectorMarshal(type, _read_of(type)) for cls, type in MATH_TYPES.items()},
}
