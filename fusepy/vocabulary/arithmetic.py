"""NumPy's elementwise functions, made of other functions."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from fusepy.arguments.mapping import vcast
from fusepy.backend.memory.element import element_of
from fusepy.ir.types import Kind, Type
from fusepy.language import math as _math
from fusepy.language.differentiable import stop_gradient
from fusepy.language.elementwise import composed
from fusepy.trace.trace import current_trace
from fusepy.vocabulary.names import copysign, isfinite, isinf, isnan

__all__ = [
    "around", "astype", "cbrt", "deg2rad", "degrees", "distance", "fabs", "fmax", "fmin", "hypot", "isclose",
    "logical_and", "logical_not", "logical_or", "logical_xor", "nan_to_num", "rad2deg", "radians", "reciprocal",
    "signbit", "square",
]  # fmt: skip


@composed()
def logical_and(x: Any, y: Any) -> Any:
    """True where both values are not 0."""
    return (x != 0) & (y != 0)


@composed()
def logical_or(x: Any, y: Any) -> Any:
    """True where one of two values is not 0, or both are."""
    return (x != 0) | (y != 0)


@composed()
def logical_xor(x: Any, y: Any) -> Any:
    """True where exactly one of two values is not 0."""
    return (x != 0) ^ (y != 0)


@composed()
def logical_not(x: Any) -> Any:
    """True where `x` is 0."""
    return x == 0


@composed()
def square(x: Any) -> Any:
    """Returns ``x * x``."""
    return x * x


@composed()
def reciprocal(x: Any) -> Any:
    """Returns ``1 / x``, a float also for integers."""
    return 1 / x


@composed()
def fabs(x: Any) -> Any:
    """Returns the magnitude as a float."""
    return copysign(x, 1)


@composed()
def signbit(x: Any) -> Any:
    """True where the sign of `x` is negative, also that of a zero."""
    return copysign(1, x) < 0


@composed()
def fmin(x: Any, y: Any) -> Any:
    """Returns the smaller of two values; the other one if one is NaN."""
    return _math.where(isnan(x), y, _math.where(isnan(y), x, _math.minimum(x, y)))


@composed()
def fmax(x: Any, y: Any) -> Any:
    """Returns the larger of two values; the other one if one is NaN."""
    return _math.where(isnan(x), y, _math.where(isnan(y), x, _math.maximum(x, y)))


@composed()
def deg2rad(x: Any) -> Any:
    """Converts degrees to radians."""
    return x * (math.pi / 180)


@composed()
def rad2deg(x: Any) -> Any:
    """Converts radians to degrees."""
    return x * (180 / math.pi)


radians, degrees = deg2rad, rad2deg


@composed()
def hypot(x: Any, y: Any) -> Any:
    """Returns the length of the hypotenuse, ``sqrt(x*x + y*y)``, without overflow; the gradient at (0, 0) is 0."""
    a, b = fabs(copysign(x, y)), fabs(copysign(y, x))  # both of the type that the two have in common
    large, small = _math.maximum(a, b), _math.minimum(a, b)
    ratio = small / _math.where((large == 0) | isinf(large), 1.0, large)
    length = large * _math.sqrt(1 + ratio * ratio)
    return _math.where(isinf(a) | isinf(b), math.inf, length)


@composed()
def cbrt(x: Any) -> Any:
    """Returns the cube root, of negative numbers too. Its slope at 0 is infinite."""
    start = stop_gradient(copysign(fabs(x) ** (1 / 3), x))
    root = start - (start - x / (start * start)) / 3  # a step of Newton's, which the gradient goes through
    return _math.where((x == 0) | isinf(x), stop_gradient(x), root)


@composed()
def distance(x: Any, y: Any) -> Any:
    """Returns the Euclidean distance of two points, which are vectors of Slang: ``length(x - y)``."""
    return _math.length(x - y)


@composed("decimals")
def around(x: Any, decimals: int = 0) -> Any:
    """Returns `x` rounded to a number of decimals, as a float, ties to even. Negative `decimals` round tens and hundreds."""
    if not decimals:
        return _math.round(x)
    scale = 10.0 ** builtins.abs(decimals)
    return _math.round(x * scale) / scale if decimals > 0 else _math.round(x / scale) * scale


@composed("equal_nan")
def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """True where ``abs(a - b) <= atol + rtol * abs(b)``, or both are the same infinity.

    Args:
        equal_nan: true if NaN is close to NaN.

    Example:
        >>> import fusepy as fp
        >>> fp.isclose([1.0, 2.0, fp.inf], [1.000001, 2.1, fp.inf])
        [True, False, True]
    """
    a, b = 1.0 * a, 1.0 * b
    close = (a == b) | (isfinite(b) & (_math.abs(a - b) <= atol + rtol * _math.abs(b)))
    return close | (isnan(a) & isnan(b)) if equal_nan else close


@composed("nan", "posinf", "neginf")
def nan_to_num(x: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
    """Replaces NaN and infinities by numbers.

    Args:
        nan: in place of NaN.
        posinf, neginf: in place of the infinities; by default the largest and the lowest number of the type.
    """
    x = traced(x)
    if not x.type.is_float:
        return x
    most, infinite = float(np.finfo(x.type.dtype).max), isinf(x)
    below = _math.where(infinite & (x < 0), -most if neginf is None else neginf, x)
    finite = _math.where(infinite & (x > 0), most if posinf is None else posinf, below)
    return _math.where(isnan(x), nan, finite)


def astype(x: Any, dtype: Any) -> Any:
    """Returns `x` converted to a type, as in C: floats lose their fraction, integers wrap. Vectors keep their components.

    Args:
        dtype: a Slang type or its name (``"half"``, ``"float3"``), a NumPy dtype, or Python's ``float``, ``int`` or ``bool``,
            which are Slang's types of these names.

    Raises:
        UnsupportedArgumentError: if Slang has no such type.

    Example:
        >>> import fusepy as fp
        >>> fp.astype([1.75, -2.5], int)
        [1, -2]
    """
    return _converted(x, element_of(dtype).type, True)


def typed(x: Any, dtype: Any) -> Any:
    """Returns `x` as `astype` does, also Python's numbers in the type for good."""
    return _converted(x, element_of(dtype).type, False)


@composed("type", "as_number")
def _converted(x: Any, type: Type, as_number: bool) -> Any:
    x = traced(x)
    have: Type = x.type
    want = have.with_scalar(type) if have.shape and not type.shape and type.is_numeric else type
    if type.shape:
        return traced(vcast(x, want))
    if have is want and not x.is_weak:
        return x
    if as_number and x.is_weak and not have.shape and want.kind is Kind.SCALAR:
        return x._record("construct", x, type=want.name)  # numbers stay numbers, as those that an eager call gives
    made, trace = x._fusepy_cast(want), current_trace()
    if trace is not None and have.shape:
        trace.plain.follow(trace.lift(made), trace.lift(x))  # numbers stay numbers, unlike under vcast
    return made


def traced(x: Any) -> Any:
    """Returns a value of the trace that runs, also for a number or an array from outside of it."""
    trace = current_trace()
    assert trace is not None, "a composed function runs in a trace"
    return trace.captured(x, "x")
