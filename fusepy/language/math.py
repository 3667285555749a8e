"""Math functions of traced values, under NumPy's names; they take arrays and numbers as well.

Each becomes the Slang intrinsic of that meaning, component by component. Integers become float if the function needs it.
"""

from __future__ import annotations

from typing import Any, Protocol

from fusepy.errors import ArgumentError
from fusepy.language.elementwise import apply as _apply
from fusepy.language.elementwise import composed as _composed
from fusepy.language.movement.extents import seen_as_array as _seen
from fusepy.language.movement.joins import stack as _stack
from fusepy.methods import FUNCTIONS

__all__ = [
    "abs", "acos", "asin", "atan", "atan2", "ceil", "clip", "cos", "cosh", "cross", "dot", "exp", "exp2", "floor",
    "fract", "length", "lerp", "log", "log2", "log10", "matmul", "maximum", "minimum", "normalize", "power", "reflect",
    "round", "rsqrt", "saturate", "sign", "sin", "sinh", "smoothstep", "sqrt", "step", "tan", "tanh", "trunc", "where",
]  # fmt: skip


class OfOne(Protocol):
    """A function of one value."""

    def __call__(self, x: Any) -> Any: ...


def of_one(name: str, doc: str, op: str = "") -> OfOne:
    """Returns the function of the operation `op`, by default that of its name."""
    op = op or name

    def function(x: Any) -> Any:
        return _apply(op, "x", x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


sin = of_one("sin", "Returns the sine of `x`, in radians.")
cos = of_one("cos", "Returns the cosine of `x`, in radians.")
tan = of_one("tan", "Returns the tangent of `x`, in radians.")
asin = of_one("asin", "Returns the inverse sine, in radians.")
acos = of_one("acos", "Returns the inverse cosine, in radians.")
atan = of_one("atan", "Returns the inverse tangent, in radians.")


def atan2(y: Any, x: Any) -> Any:
    """Returns the angle of the point ``(x, y)``, in radians from -pi to pi."""
    return _apply("atan2", "y x", y, x)


sinh = of_one("sinh", "Returns the hyperbolic sine.")
cosh = of_one("cosh", "Returns the hyperbolic cosine.")
tanh = of_one("tanh", "Returns the hyperbolic tangent.")
exp = of_one("exp", "Returns e to the power of `x`.")
exp2 = of_one("exp2", "Returns 2 to the power of `x`.")
log = of_one("log", "Returns the natural logarithm.")
log2 = of_one("log2", "Returns the logarithm to base 2.")
log10 = of_one("log10", "Returns the logarithm to base 10.")
sqrt = of_one("sqrt", "Returns the square root.")
rsqrt = of_one("rsqrt", "Returns one over the square root.")


def power(x: Any, y: Any) -> Any:
    """Returns `x` to the power of `y`, as in NumPy; the same as ``x ** y``.

    Integers give integers, which wrap. A negative base takes integer exponents, and gives NaN with others. An integer to a
    negative power raises an error if the exponent is a constant; if it is a value, the result is the integer part.

    Example:
        >>> import fusepy as fp
        >>> fp.power([-2, -3], [2, 3]), fp.power(5.0, 2), fp.power([-0.5, 4.0], -1)
        ([4, -27], 25.0, [-2.0, 0.25])
    """
    return _apply("pow", "x y", x, y)


floor = of_one("floor", "Returns the largest whole number not above `x`, in the type of `x`.")
ceil = of_one("ceil", "Returns the smallest whole number not below `x`, in the type of `x`.")
trunc = of_one("trunc", "Returns `x` without its fraction, in the type of `x`.")
_whole = of_one("round", "Returns the nearest whole number, ties to even, in the type of `x`.")


def round(x: Any, decimals: int = 0) -> Any:
    """Returns the nearest whole number, ties to even, in the type of `x`; with `decimals` as `around`."""
    return FUNCTIONS["around"](x, decimals) if decimals else _whole(x)


fract = of_one("fract", "Returns ``x - floor(x)``.")
abs = of_one("abs", "Returns the magnitude.")
sign = of_one("sign", "Returns -1, 0 or 1, in the type of `x`; NaN if `x` is NaN.")


def minimum(x: Any, y: Any) -> Any:
    """Returns the smaller of two values; NaN if one of them is NaN, as in NumPy."""
    return _apply("minimum", "x y", x, y)


def maximum(x: Any, y: Any) -> Any:
    """Returns the larger of two values; NaN if one of them is NaN, as in NumPy."""
    return _apply("maximum", "x y", x, y)


def clip(
    x: Any, low: Any = None, high: Any = None, *, min: Any = None, max: Any = None, a_min: Any = None, a_max: Any = None
) -> Any:
    """Limits `x` to the range from `low` to `high`, or by NumPy's names; NaN if one of the three is NaN. ``None`` is no limit."""
    low, high = (next((v for v in named if v is not None), None) for named in ((low, min, a_min), (high, max, a_max)))
    if low is None:
        return x if high is None else minimum(x, high)
    if high is None:
        return maximum(x, low)
    return _apply("clip", "x low high", x, low, high)


saturate = of_one("saturate", "Limits `x` to the range from 0 to 1.")
relu = of_one("relu", "Returns `x` where it is positive, else 0; it is `fusepy.nn.relu`.")


def lerp(a: Any, b: Any, t: Any) -> Any:
    """Returns ``a + (b - a) * t``."""
    return _apply("lerp", "a b t", a, b, t)


def step(edge: Any, x: Any) -> Any:
    """Returns 1 where ``x >= edge``, else 0."""
    return _apply("step", "edge x", edge, x)


def smoothstep(low: Any, high: Any, x: Any) -> Any:
    """Interpolates from 0 at `low` to 1 at `high` with Hermite's polynomial."""
    return _apply("smoothstep", "low high x", low, high, x)


def dot(a: Any, b: Any) -> Any:
    """Returns the scalar product of two vectors of one length; of arrays NumPy's `dot`: `matmul` for one or two axes."""
    return _apply("dot", "a b", a, b)


def matmul(a: Any, b: Any) -> Any:
    """Returns the product of matrices ``a @ b``, with the meaning of `numpy.matmul`.

    Floats are summed at least as accurately as in blocks; integers wrap. Bools count as integers, as for ``+`` and ``*``.

    Args:
        a: an array of shape ``(…, m, k)``, or ``(k,)`` for a row; ``fp.vmap(a, (1, 0))`` is the transposed matrix.
        b: an array of shape ``(…, k, n)``, or ``(k,)`` for a column. Axes before the last two broadcast.

    Returns:
        an array of shape ``(…, m, n)``, without the axis of an operand that has only one.

    Raises:
        ShapeError: if the extents that are summed differ, or an operand is a single number.

    Example:
        >>> import fusepy as fp
        >>> fp.matmul([[1.0, 2.0], [3.0, 4.0]], [1.0, 10.0])
        [21.0, 43.0]
    """
    return _apply("matmul", "a b", a, b)


@_composed()
def cross(a: Any, b: Any) -> Any:
    """Returns the cross product of two vectors of three components; arrays of numbers have them along their last axis."""
    x, y = _seen(a), _seen(b)
    if x.type.shape or y.type.shape or not x.rank or not y.rank or (x.shape[-1], y.shape[-1]) != (3, 3):
        return _apply("cross", "a b", a, b)
    parts = [x[..., i] * y[..., j] - x[..., j] * y[..., i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return _stack(parts, -1)


def length(a: Any) -> Any:
    """Returns the Euclidean length of a vector."""
    return _apply("length", "a", a)


def normalize(a: Any) -> Any:
    """Returns a vector of length 1 in the direction of `a`."""
    return _apply("normalize", "a", a)


def reflect(i: Any, n: Any) -> Any:
    """Reflects `i` at a surface with unit normal `n`."""
    return _apply("reflect", "i n", i, n)


def where(condition: Any, a: Any = None, b: Any = None) -> Any:
    """Returns `a` where `condition` is true, else `b`, component by component; both are computed.

    Example:
        >>> import fusepy as fp
        >>> @fp.fuse
        ... def relu(x):
        ...     return where(x > 0, x, 0)
        >>> relu([-1.0, 2.0])
        [0.0, 2.0]
    """
    if a is None or b is None:
        hint = "write fusepy.where(condition, a, b); which elements are true is known when the function runs"
        raise ArgumentError("where() takes a condition and two values", hint=hint)
    return _apply("select", "condition a b", condition, a, b)
