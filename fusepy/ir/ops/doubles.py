"""Transcendental functions of doubles, under names of fusepy's own: SPIR-V has instructions for 16 and 32 bits only.

Slang has no log1p and expm1 at all.
"""

from __future__ import annotations

from fusepy.ir.graph import Node
from fusepy.ir.types import Type

PREFIX = "fz64_"  # of the functions in ``fusepy/slang/fusepy_math64.slang``, which are correct on every device type

NEAR_ZERO = "fz0_"  # of those in ``fusepy/slang/fusepy_near_zero.slang``

_ANGLES = ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh")
_POWERS = ("exp", "exp2", "exp10", "log", "log2", "log10", "pow")
FUNCTIONS = frozenset((*_ANGLES, *_POWERS))
_SMALL = ("log1p", "expm1", "sinh", "tanh")  # of which drivers lose the digits near 0, where Slang has them at all


def spelled(function: str, type: Type) -> str:
    """Returns the name in Slang of `function` for operands with the scalar of `type`.

    Example:
        >>> from fusepy.ir.types import FLOAT, Type
        >>> spelled("sin", Type.vector(FLOAT, 3)), spelled("sin", Type.parse("double3")), spelled("sqrt", Type.parse("double"))
        ('sin', 'fz64_sin', 'sqrt')
    """
    scalar = type.scalar
    if function in (*FUNCTIONS, *_SMALL) and scalar is not None and scalar.name == "double":
        return f"{PREFIX}{function}"
    return f"{NEAR_ZERO}{function}" if function in _SMALL else function


def is_long(node: Node) -> bool:
    """True if a node calls one of these functions, which have some hundred instructions each."""
    return bool(node.results) and spelled(node.op.name, node.results[0].type).startswith(PREFIX)
