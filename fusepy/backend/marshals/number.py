"""Python numbers, uniform members of the parameter block; and ``None``, an ``Optional`` parameter without a value."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from fusepy.backend.device.device import Device
from fusepy.backend.emit.operand import BLOCK, Field, Operand, convert, from_storage, member, storage
from fusepy.backend.emit.variant import Variant
from fusepy.backend.marshals.array import as_list
from fusepy.backend.marshals.base import Description
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import RangeError
from fusepy.ir.types import BOOL, FLOAT, INT, INT64, UINT64, VOID, Kind, Type


class NumberMarshal:
    """``bool``, ``int`` and ``float``. They are weak: overload resolution decides their type."""

    returns, precedence, number = "scalar", 70, True

    def __init__(self, type: Type):
        self.type = type
        self._key = ("number", type)

    def key(self, value: Any) -> Hashable:
        return self._key

    def describe(self, value: Any) -> Description:
        return Description(self.type, (), "", weak=True)

    def place(self, value: Any, type: Type, device: Device) -> Any:
        return cast_number(value, type)

    def extents(self, value: Any) -> tuple[int, ...]:
        return ()

    def direct(self, value: Any, type: Type) -> bool:
        return not is_cast(value, type)

    def hand_out(self, tensor: Tensor) -> Any:
        return as_list(tensor)


class IntMarshal(NumberMarshal):
    """A Python int: an ``int``, or a wider type if the value needs more bits."""

    def key(self, value: Any) -> Hashable:
        return self._key if -0x80000000 <= value < 0x80000000 else ("number", wider(value))

    def describe(self, value: Any) -> Description:
        return Description(INT if -0x80000000 <= value < 0x80000000 else wider(value), (), "", weak=True)


def wider(value: int) -> Type:
    """Returns ``int64_t`` or ``uint64_t`` for `value`. Packing checks its range."""
    return UINT64 if value > 0x7FFFFFFFFFFFFFFF else INT64


class NumPyScalarMarshal:
    """NumPy scalars: the Python number of the same value. The key differs from that of a Python number, since `place` does."""

    returns = "scalar"
    array = staticmethod(np.asarray)

    def __init__(self, dtype: Any):
        kind, self._narrow = np.dtype(dtype).kind, np.result_type(dtype, np.float16).itemsize < 8  # as comparisons tell them
        self._plain = NumberMarshal(BOOL) if kind == "b" else NumberMarshal(FLOAT) if kind == "f" else IntMarshal(INT)

    def key(self, value: Any) -> Hashable:
        return ("numpy", self._plain.key(value.item()), self._narrow)

    def describe(self, value: Any) -> Description:
        return self._plain.describe(value.item())

    def place(self, value: Any, type: Type, device: Device) -> Any:
        return cast_number(value.item(), type)


def is_cast(value: Any, type: Type) -> bool:
    """True if a number must be converted to `type`. Only ``vcast`` converts a float to an integer, or a number to a bool."""
    kind = "" if type.dtype is None else type.dtype.kind
    return (kind == "b" and not isinstance(value, bool)) or (kind in ("i", "u") and isinstance(value, float))


def cast_number(value: float, type: Type) -> float:
    """Returns a number converted like an array in a kernel: floats are truncated, and numbers other than 0 are true.

    Raises:
        RangeError: for NaN or infinity as an integer.
    """
    if not is_cast(value, type):
        return value
    if type.dtype is not None and type.dtype.kind == "b":
        return bool(value)
    if not math.isfinite(value):
        raise RangeError(
            f"{value} cannot become {type}", saw=value, expected="a finite number", hint="check it with math.isfinite"
        )
    return int(value)


class NumberAccess:
    """Access to a uniform number."""

    addressing = "uniform"
    prelude = ""

    def fields(self, operand: Operand, variant: Variant) -> list[Field]:
        stored = UINT64 if operand.want.kind is Kind.POINTER else storage(operand.have)
        return [Field(str(stored), f"a_{operand.name}", "number", operand.position)]

    def load(self, operand: Operand, variant: Variant) -> str:
        if operand.want.kind is Kind.POINTER:  # an address
            return f"({operand.want.element}*)uint64_t({BLOCK}.a_{operand.name})"
        return convert(from_storage(member(f"a_{operand.name}", operand.have), operand.have), operand.have, operand.want)


class NoneMarshal:
    """``None``, for ``Optional`` parameters only."""

    returns = "scalar"

    def key(self, value: None) -> Hashable:
        return None

    def describe(self, value: None) -> Description:
        return Description(VOID, (), "None")

    def place(self, value: None, type: Type, device: Device) -> None:
        return None


class NoneAccess:
    """Slang's ``none``; nothing is passed."""

    addressing = "uniform"
    prelude = ""

    def fields(self, operand: Operand, variant: Variant) -> list[Field]:
        return []

    def load(self, operand: Operand, variant: Variant) -> str:
        return "none"
