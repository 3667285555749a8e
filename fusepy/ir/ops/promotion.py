"""Promotion: the common scalar of operands.

The order is C's, with half below float; an integer beside a float becomes that float.
"""

from __future__ import annotations

from fusepy.ir.types import BOOL, SCALARS, Type

_RANK = {Type.parse(name): rank for rank, name in enumerate(SCALARS)}


def promote(types: list[tuple[Type, bool]]) -> Type | None:
    """Returns the common scalar of several operands, each a pair of a type and True if it is *weak* (a Python number).

    A weak operand takes the scalar of the others unless only it is a float. ``None`` if an operand has no scalar.

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
            best = scalar
    return best
