"""Promotion: the common scalar of operands.

The order is C's, with half below float; an integer beside a float becomes that float.
"""

from __future__ import annotations

from collections.abc import Iterable

from fusepy.ir.types import BOOL, FLOAT, HALF, INT, SCALARS, Type
from fusepy.ir.value import Value

# small results of Slang functions of numbers, which Python computes with as with any number
_AS_NUMBER = {
    HALF: FLOAT,
    **dict.fromkeys(map(Type.parse, ("int8_t", "uint8_t", "int16_t", "uint16_t")), INT),
}
_RANK = {Type.parse(name): rank for rank, name in enumerate(SCALARS)}


def promote(types: list[tuple[Type, bool]], values: Iterable[Value] = ()) -> Type | None:
    """Returns the common scalar of several operands, each a pair of a type and True if it is *weak* (a Python number).

    A weak operand takes the scalar of the others unless only it is a float, and then counts as Python's number: a float of 32
    bits beside integers, whatever Slang function it is the result of. ``None`` if an operand has no scalar.

    Args:
        values: the operands: if all are Python numbers, see `of_numbers`, small integers are added as Python adds them.

    Example:
        >>> promote([(Type.parse("half3"), False), (Type.parse("float"), True)])
        half
    """
    scalars: list[tuple[Type, bool]] = []
    for type, weak in types:
        scalar = type.scalar
        if scalar is None or not type.is_numeric:
            return None
        scalars.append((scalar, weak))
    strong = [s for s, weak in scalars if not weak]
    best = max(strong or [s for s, _ in scalars], key=_RANK.__getitem__)
    for scalar, weak in scalars:
        if weak and strong and ((scalar.is_float and not best.is_float) or best is BOOL):
            best = FLOAT if scalar.is_float else _AS_NUMBER.get(scalar, scalar)
    return _AS_NUMBER[best] if not strong and best in _AS_NUMBER and values and of_numbers(values) else best


def of_numbers(values: Iterable[Value]) -> bool:
    """True if all values are Python numbers or lists of them, or computed from such alone: an eager call gives such again."""
    for value in values:
        way = value.arrival
        if not (way.missing or (value.weak and (way.plain or way.listed or way.uniform))):  # generators give tensors
            return False
    return True


def type_of_number(value: float | bool) -> Type:
    """Returns the type of a Python number as a literal: the smallest of 32 bits and more that holds an integer."""
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return INT if -0x80000000 <= value < 0x80000000 else Type.parse("int64_t" if value < 1 << 63 else "uint64_t")
    return FLOAT
