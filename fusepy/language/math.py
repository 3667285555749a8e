"""Math functions of traced values, under NumPy's names; they run on arrays and numbers as well.

Each becomes Slang's intrinsic of that meaning, component by component; integers become float where the function needs it.
"""

from __future__ import annotations

from typing import Any, Protocol

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


class OfOne(Protocol):
    """A function of one value."""

    def __call__(self, x: Any) -> Any: ...


def _of_x(name: str, doc: str) -> OfOne:
    def function(x: Any) -> Any:
        return _apply(name, "x", x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


sin = _of_x("sin", "Sine of `x`, in radians.")
cos = _of_x("cos", "Cosine of `x`, in radians.")
tan = _of_x("tan", "Tangent of `x`, in radians.")
asin = _of_x("asin", "Inverse sine, in radians.")
acos = _of_x("acos", "Inverse cosine, in radians.")
atan = _of_x("atan", "Inverse tangent, in radians.")


def atan2(y: Any, x: Any) -> Any:
    """Angle of the point ``(x, y)``, in radians from -pi to pi."""
    return _apply("atan2", "y x", y, x)


sinh = _of_x("sinh", "Hyperbolic sine.")
cosh = _of_x("cosh", "Hyperbolic cosine.")
tanh = _of_x("tanh", "Hyperbolic tangent.")
exp = _of_x("exp", "e to the power of `x`.")
exp2 = _of_x("exp2", "2 to the power of `x`.")
log = _of_x("log", "Natural logarithm.")
log2 = _of_x("log2", "Logarithm to base 2.")
log10 = _of_x("log10", "Logarithm to base 10.")
sqrt = _of_x("sqrt", "Square root.")
rsqrt = _of_x("rsqrt", "One over the square root.")


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


floor = _of_x("floor", "The largest integer not above `x`, as a float.")
ceil = _of_x("ceil", "The smallest integer not below `x`, as a float.")
trunc = _of_x("trunc", "`x` without its fraction.")
round = _of_x("round", "The nearest integer as a float, ties to even.")
fract = _of_x("fract", "``x - floor(x)``.")
abs = _of_x("abs", "Magnitude.")
sign = _of_x("sign", "-1, 0 or 1, as a float.")


def minimum(x: Any, y: Any) -> Any:
    """The smaller of two values; NaN where one of them is NaN, as in NumPy."""
    return _apply("minimum", "x y", x, y)


def maximum(x: Any, y: Any) -> Any:
    """The larger of two values; NaN where one of them is NaN, as in NumPy."""
    return _apply("maximum", "x y", x, y)


def clip(x: Any, low: Any, high: Any) -> Any:
    """`x` between `low` and `high`; NaN where one of the three is NaN."""
    return _apply("clip", "x low high", x, low, high)


saturate = _of_x("saturate", "`x` between 0 and 1.")


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
