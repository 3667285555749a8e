"""Whole quotients and remainders of floats as Slang: ``floor(a / b)``, with NumPy's results where one of the two is infinite.

Expressions over both operands, their type ``{t}``, its largest number ``{m}`` and NaN ``{n}``. The quotient is ``{0} / {1}``.
"""

from __future__ import annotations

import numpy as np

from fusepy.ir.ops.literal import literal
from fusepy.ir.types import Type

_BY_INFINITY = "(abs({1}) > {m}) & (abs({0}) <= {m})"  # a finite number, whose quotient is 0, and 0 times infinity is NaN
_SIGNS_DIFFER = "{0} * {1} < {t}(0)"

FLOORED = (
    "select((abs({0}) > {m}) & ({1} != {t}(0)), {t}({n}), "
    f"select({_BY_INFINITY}, {{t}}(0) - {{t}}({_SIGNS_DIFFER}), floor({{0}} / {{1}})))"
)
REST_OF_FLOATS = f"select({_BY_INFINITY}, select({_SIGNS_DIFFER}, {{1}}, {{0}}), {{0}} - {{1}} * floor({{0}} / {{1}}))"
REST_OF_C = f"select({_BY_INFINITY}, {{0}}, {{0}} - {{1}} * trunc({{0}} / {{1}}))"


def ends(scalar: Type) -> dict[str, str]:
    """Returns ``{m}`` and ``{n}`` of a scalar type."""
    assert scalar.dtype is not None
    return {"m": literal(float(np.finfo(scalar.dtype).max), scalar), "n": literal(np.nan, scalar)}
