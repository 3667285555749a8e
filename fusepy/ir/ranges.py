"""Whether integers fit the type that they are to become: in one place, in the same words."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fusepy.errors import RangeError
from fusepy.ir.types import Type

WIDER = "use a wider type in Slang, or a number in range"


Check = Callable[[Any], None]


def in_range(type: Type, what: str) -> Check:
    """A check of numbers, `what` they are, against the integers of `type`."""
    return lambda value: check_range(value, type, what)


def check_range(value: Any, type: Type, what: str, place: str | None = None, hint: str = WIDER) -> None:
    """Raises `RangeError` if a number, or one of an array, without its fraction is not representable in the integers of `type`.

    Example:
        >>> check_range(255, Type.parse("uint8_t"), "k")
        >>> check_range(np.array([1, 256]), Type.parse("uint8_t"), "k", place="look.py:7")
        Traceback (most recent call last):
        ...
        fusepy.errors.RangeError: look.py:7: k is out of range for uint8_t
          saw:      256
          expected: 0 to 255
          hint:     use a wider type in Slang, or a number in range
    """
    dtype = type.dtype
    if dtype is None or dtype.kind not in "iu":
        return
    info = np.iinfo(dtype)
    low, high = value, value
    if isinstance(value, np.ndarray):
        if not value.size:
            return
        low, high = value.min().item(), value.max().item()  # NumPy's integers do not compare with all of Python's
    low, high = (int(n) if isinstance(n, float) and math.isfinite(n) else n for n in (low, high))
    if not info.min <= low <= high <= info.max:  # nor is what is not a number
        saw: Any = high if info.min <= low else low
        raise RangeError(
            f"{what} is out of range for {type}", place=place, saw=saw, expected=f"{info.min} to {info.max}", hint=hint
        )
