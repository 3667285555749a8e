"""Checks that numbers fit the type that they are converted to."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fusepy.errors import ArgumentError, RangeError
from fusepy.ir.types import Type

WIDER = "use a wider type in Slang, or a number in range"
FITS = 65504.0  # every type of floats holds smaller numbers


Check = Callable[[Any], None]


def in_range(type: Type, what: str) -> Check:
    """Returns a check of numbers against the range of `type`; errors call them `what`."""
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
    if hasattr(value, "min"):  # a NumPy array or number
        if not value.size:
            return
        low, high = value.min().item(), value.max().item()  # Python's integers, since NumPy's do not compare with large ones
    low, high = (int(n) if isinstance(n, float) and math.isfinite(n) else n for n in (low, high))
    if not info.min <= low <= high <= info.max:  # also for NaN
        saw: Any = high if info.min <= low else low
        raise RangeError(
            f"{what} is out of range for {type}", place=place, saw=saw, expected=f"{info.min} to {info.max}", hint=hint
        )


def check_fits(value: Any, type: Type, what: str, hint: str = WIDER) -> None:
    """Raises `RangeError` as `check_range` does, and for a finite number that becomes infinite as a float of `type`.

    Example:
        >>> check_fits(70000, Type.parse("half"), "k")
        Traceback (most recent call last):
        ...
        fusepy.errors.RangeError: ...k is out of range for half
          saw:      70000
          expected: -65504 to 65504
          hint:     use a wider type in Slang, or a number in range
    """
    check_range(value, type, what, hint=hint)
    dtype = type.dtype
    if dtype is None or dtype.kind != "f" or dtype.itemsize == 8:
        return
    try:
        given = np.asarray(value, np.float64)
    except OverflowError:
        raise RangeError(f"{what} is out of range for {type}", saw=str(value)[:60], hint=hint) from None
    limits = np.finfo(dtype)
    bound = float(limits.max) * (1 + 0.25 * float(limits.eps))  # what is nearer to the largest number is rounded to it
    if given.size and not np.abs(given).max() < bound:  # True for NaN, which fits
        beyond = given[(np.abs(given) >= bound) & np.isfinite(given)]
        if beyond.size:
            largest = float(limits.max)
            saw = value if isinstance(value, (int, float)) else float(beyond[0])
            raise RangeError(f"{what} is out of range for {type}", saw=saw, expected=f"{-largest:g} to {largest:g}", hint=hint)


def check_whole(value: float, type: Type) -> None:
    """Raises `ArgumentError` for a fraction that is written where elements are integers or bools, as for one in a list."""
    scalar = type.scalar
    if scalar is None or scalar.is_float or not isinstance(value, (float, np.floating)):
        return
    if math.isfinite(value) and value % 1:  # NaN and infinities are out of range
        hint = "write x != 0" if scalar.name == "bool" else "round it first, round(x)"
        raise ArgumentError(f"an element of {type} holds no fraction", saw=value, hint=hint)


def as_narrower(array: np.ndarray[Any, Any], dtype: np.dtype[Any], type: Type) -> np.ndarray[Any, Any]:
    """Converts an array of one of NumPy's default dtypes to a smaller one.

    Raises:
        RangeError: for an integer that is out of range, or that a float cannot hold exactly; for a float that becomes infinite.
    """
    if array.dtype.kind == "f":
        with np.errstate(over="raise", under="ignore"):
            try:
                return array.astype(dtype)
            except FloatingPointError:
                largest = float(np.nanmax(np.where(np.isinf(array), 0, np.abs(array))))
                raise RangeError(
                    f"a number in an array of {array.dtype} is out of range for {type}",
                    saw=largest,
                    expected=f"at most {float(np.finfo(dtype).max):g}",
                    hint="scale the array, or use a wider type in Slang",
                ) from None
    if dtype.kind == "f":
        _check_exact(array, dtype, type)
    check_range(array, type, f"a number in an array of {array.dtype}")
    return array.astype(dtype)


def _check_exact(array: np.ndarray[Any, Any], dtype: np.dtype[Any], type: Type) -> None:
    """Raises `RangeError` for an integer beyond the range in which a float holds all integers exactly."""
    bound = 1 << np.finfo(dtype).nmant + 1
    ends = [] if not array.size else [int(array.min()), int(array.max())]
    wrong = next((n for n in ends if abs(n) > bound), None)
    if wrong is not None:
        raise RangeError(
            f"a number in an array of {array.dtype} is past the integers that {type} holds exactly",
            saw=wrong,
            expected=f"{-bound} to {bound}",
            hint=f"round it yourself with .astype(np.{dtype}), or use a wider type in Slang",
        )
