"""Math functions of traced values, under NumPy's names; they run on arrays and numbers as well.

Each becomes Slang's intrinsic of that meaning, component by component; integers become float where the function needs it.
"""

from __future__ import annotations

from typing import Any

from fusepy.language.elementwise import apply as _apply

__all__ = [
    "abs",
    "acos",
    "asin",
    "atan",
    "atan2",
    "ceil",
    "clip",
    "cos",
    "cosh",
    "cross",
    "dot",
    "exp",
    "exp2",
    "floor",
    "fract",
    "length",
    "lerp",
    "log",
    "log2",
    "log10",
    "maximum",
    "minimum",
    "normalize",
    "power",
    "reflect",
    "round",
    "rsqrt",
    "saturate",
    "sign",
    "sin",
    "sinh",
    "smoothstep",
    "sqrt",
    "step",
    "tan",
    "tanh",
    "trunc",
    "where",
]


def sin(x: Any) -> Any:
    """Sine of `x`, in radians."""
    return _apply("sin", "x", x)


def cos(x: Any) -> Any:
    """Cosine of `x`, in radians."""
    return _apply("cos", "x", x)


def tan(x: Any) -> Any:
    """Tangent of `x`, in radians."""
    return _apply("tan", "x", x)


def asin(x: Any) -> Any:
    """Inverse sine, in radians."""
    return _apply("asin", "x", x)


def acos(x: Any) -> Any:
    """Inverse cosine, in radians."""
    return _apply("acos", "x", x)


def atan(x: Any) -> Any:
    """Inverse tangent, in radians."""
    return _apply("atan", "x", x)


def atan2(y: Any, x: Any) -> Any:
    """Angle of the point ``(x, y)``, in radians from -pi to pi."""
    return _apply("atan2", "y x", y, x)


def sinh(x: Any) -> Any:
    """Hyperbolic sine."""
    return _apply("sinh", "x", x)


def cosh(x: Any) -> Any:
    """Hyperbolic cosine."""
    return _apply("cosh", "x", x)


def tanh(x: Any) -> Any:
    """Hyperbolic tangent."""
    return _apply("tanh", "x", x)


def exp(x: Any) -> Any:
    """e to the power of `x`."""
    return _apply("exp", "x", x)


def exp2(x: Any) -> Any:
    """2 to the power of `x`."""
    return _apply("exp2", "x", x)


def log(x: Any) -> Any:
    """Natural logarithm."""
    return _apply("log", "x", x)


def log2(x: Any) -> Any:
    """Logarithm to base 2."""
    return _apply("log2", "x", x)


def log10(x: Any) -> Any:
    """Logarithm to base 10."""
    return _apply("log10", "x", x)


def sqrt(x: Any) -> Any:
    """Square root."""
    return _apply("sqrt", "x", x)


def rsqrt(x: Any) -> Any:
    """One over the square root."""
    return _apply("rsqrt", "x", x)


def power(x: Any, y: Any) -> Any:
    """`x` to the power of `y`, as NumPy has it; the same as ``x ** y``.

    Integers give integers, which wrap. A negative base takes integer exponents, and gives NaN with others. An integer to a
    negative power is an error where the exponent is written in the program, and the integer part where it is a value.

    Example:
        >>> import fusepy as fp
        >>> fp.power([-2, -3], [2, 3]), fp.power(5.0, 2), fp.power([-0.5, 4.0], -1)
        ([4, -27], 25.0, [-2.0, 0.25])
    """
    return _apply("pow", "x y", x, y)


def floor(x: Any) -> Any:
    """The largest integer not above `x`, as a float."""
    return _apply("floor", "x", x)


def ceil(x: Any) -> Any:
    """The smallest integer not below `x`, as a float."""
    return _apply("ceil", "x", x)


def trunc(x: Any) -> Any:
    """`x` without its fraction."""
    return _apply("trunc", "x", x)


def round(x: Any) -> Any:
    """The nearest integer as a float, ties to even."""
    return _apply("round", "x", x)


def fract(x: Any) -> Any:
    """``x - floor(x)``."""
    return _apply("fract", "x", x)


def abs(x: Any) -> Any:
    """Magnitude."""
    return _apply("abs", "x", x)


def sign(x: Any) -> Any:
    """-1, 0 or 1, as a float."""
    return _apply("sign", "x", x)


def minimum(x: Any, y: Any) -> Any:
    """The smaller of two values; NaN where one of them is NaN, as in NumPy."""
    return _apply("minimum", "x y", x, y)


def maximum(x: Any, y: Any) -> Any:
    """The larger of two values; NaN where one of them is NaN, as in NumPy."""
    return _apply("maximum", "x y", x, y)


def clip(x: Any, low: Any, high: Any) -> Any:
    """`x` between `low` and `high`; NaN where one of the three is NaN."""
    return _apply("clip", "x low high", x, low, high)


def saturate(x: Any) -> Any:
    """`x` between 0 and 1."""
    return _apply("saturate", "x", x)


def lerp(a: Any, b: Any, t: Any) -> Any:
    """``a + (b - a) * t``."""
    return _apply("lerp", "a b t", a, b, t)


def step(edge: Any, x: Any) -> Any:
    """1 where ``x >= edge``, else 0."""
    return _apply("step", "edge x", edge, x)


def smoothstep(low: Any, high: Any, x: Any) -> Any:
    """Hermite interpolation from 0 at `low` to 1 at `high`."""
    return _apply("smoothstep", "low high x", low, high, x)


def dot(a: Any, b: Any) -> Any:
    """Scalar product of two vectors of one length."""
    return _apply("dot", "a b", a, b)


def cross(a: Any, b: Any) -> Any:
    """Cross product of two vectors of three."""
    return _apply("cross", "a b", a, b)


def length(a: Any) -> Any:
    """Euclidean length of a vector."""
    return _apply("length", "a", a)


def normalize(a: Any) -> Any:
    """A vector of length 1 in the direction of `a`."""
    return _apply("normalize", "a", a)


def reflect(i: Any, n: Any) -> Any:
    """`i` mirrored at a surface with unit normal `n`."""
    return _apply("reflect", "i n", i, n)


def where(condition: Any, a: Any, b: Any) -> Any:
    """`a` where `condition` holds, else `b`, component by component; both are computed.

    Example:
        >>> import fusepy as fp
        >>> @fp.fuse
        ... def relu(x):
        ...     return where(x > 0, x, 0)
        >>> relu([-1.0, 2.0])
        [0.0, 2.0]
    """
    return _apply("select", "condition a b", condition, a, b)
