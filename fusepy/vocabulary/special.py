"""Error functions, and what is made of softmax: functions of SciPy, torch and JAX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fusepy.ir.types import HALF, Type
from fusepy.language import math as _math
from fusepy.language.axes import Axis
from fusepy.language.elementwise import composed
from fusepy.language.movement.extents import seen_as_array
from fusepy.vocabulary.arithmetic import typed
from fusepy.vocabulary.ramps import arange
from fusepy.vocabulary.statistics import logsumexp

__all__ = ["erf", "erfc", "log_softmax", "one_hot"]

# W. J. Cody, Rational Chebyshev approximations for the error function, 1969; in his order, the last numerator's constant first
_NEAR = (
    (1.85777706184603153e-1, 3.16112374387056560, 113.864154151050156, 377.485237685302021, 3209.37758913846947),
    (1.0, 23.6012909523441209, 244.024637934444173, 1282.61652607737228, 2844.23683343917062),
)
_MIDDLE = (
    (
        *(2.15311535474403846e-8, 0.564188496988670089, 8.88314979438837594, 66.1191906371416295, 298.635138197400131),
        *(881.952221241769090, 1712.04761263407058, 2051.07837782607147, 1230.33935479799725),
    ),
    (
        *(1.0, 15.7449261107098347, 117.693950891312499, 537.181101862009858, 1621.38957456669019),
        *(3290.79923573345963, 4362.61909014324716, 3439.36767414372164, 1230.33935480374942),
    ),
)
_FAR = (
    (
        *(0.0163153871373020978, 0.305326634961232344, 0.360344899949804439, 0.125781726111229246),
        *(0.0160837851487422766, 6.58749161529837803e-4),
    ),
    (1.0, 2.56852019228982242, 1.87295284992346725, 0.527905102951428412, 0.0605183413124413191, 2.33520497626869185e-3),
)


@composed()
def erf(x: Any) -> Any:
    """Returns the error function: ``2 / sqrt(pi)`` times the integral of ``exp(-t * t)`` from 0 to `x`.

    Example:
        >>> import fusepy as fp
        >>> round(fp.erf(0.5), 6), fp.erf(-30.0)
        (0.5205, -1.0)
    """
    x, type = _wide(x)
    size = _math.abs(x)
    tail = 1.0 - _tail(size)
    return _of(type, _math.where(size < 0.46875, _near(x), _math.where(x < 0.0, -tail, tail)))


@composed()
def erfc(x: Any) -> Any:
    """Returns ``1 - erf(x)``, with all digits also where that is small."""
    x, type = _wide(x)
    size = _math.abs(x)
    tail = _tail(size)
    return _of(type, _math.where(size < 0.46875, 1.0 - _near(x), _math.where(x < 0.0, 2.0 - tail, tail)))


def _wide(x: Any) -> tuple[Any, Type]:
    """Returns floats that hold the parts of the polynomials, which halfs do not, and the type of the result."""
    x = seen_as_array(x) * 1.0
    return (typed(x, "float") if x.type.scalar is HALF else x), x.type


def _of(type: Type, found: Any) -> Any:
    return typed(found, "half") if type.scalar is HALF else found


def _near(x: Any) -> Any:
    """Returns erf near 0."""
    near = _math.where(_math.abs(x) < 0.46875, x, 0.0)
    return near * _ratio(_NEAR, near * near)


def _tail(size: Any) -> Any:
    """Returns erfc of numbers from 0.46875."""
    size = _math.where(size < 0.46875, 0.46875, _math.where(size > 30.0, 30.0, size))  # NaN stays; numbers beyond are 0
    middle = _math.where(size < 4.0, size, 4.0)
    far = _math.where(size < 4.0, 4.0, size)
    small = 1.0 / (far * far)
    found = (1.0 / math.sqrt(math.pi) - small * _ratio(_FAR, small)) / far
    coarse = _math.trunc(size * 16.0) / 16.0  # whose square is exact
    power = _math.exp(-coarse * coarse) * _math.exp((coarse - size) * (coarse + size))
    return power * _math.where(size < 4.0, _ratio(_MIDDLE, middle), found)


def _ratio(parts: tuple[Sequence[float], Sequence[float]], x: Any) -> Any:
    """Returns the ratio of two polynomials, the highest power first."""
    above, below = (_polynomial(part, x) for part in parts)
    return above / below


def _polynomial(parts: Sequence[float], x: Any) -> Any:
    found: Any = parts[0]
    for part in parts[1:]:
        found = found * x + part
    return found


@composed("axis")
def log_softmax(x: Any, axis: Axis = -1) -> Any:
    """Returns ``log(softmax(x))`` along axes, the last one by default, without overflow.

    Example:
        >>> import fusepy as fp
        >>> fp.log_softmax([0.0, 0.0], axis=0)
        [-0.6931471824645996, -0.6931471824645996]
    """
    x = seen_as_array(x)
    return x - logsumexp(x, axis, keepdims=True)


def one_hot(x: Any, num_classes: int, dtype: Any = float) -> Any:
    """Returns 1 at the place that each integer of `x` names, and 0 at the others, along a new last axis; of others only 0.

    Example:
        >>> import fusepy as fp
        >>> fp.one_hot([2, 0], 3)
        [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    return typed(_one_hot(x, num_classes), dtype)


@composed("count")
def _one_hot(x: Any, count: int) -> Any:
    x = seen_as_array(x)
    return arange(count) == (x[..., None] if x.ndim else x)
