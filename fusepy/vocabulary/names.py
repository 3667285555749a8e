"""Operations by the names of NumPy: operators, other names of `fusepy.language.math`, questions about floats, constants."""

from __future__ import annotations

import math
from typing import Any, Protocol

from fusepy.language import math as _math
from fusepy.language.elementwise import apply

__all__ = [
    "absolute", "add", "arccos", "arcsin", "arctan", "arctan2", "bitwise_and", "bitwise_not", "bitwise_or",
    "bitwise_xor", "copysign", "divide", "e", "equal", "expm1", "floor_divide", "fmod", "greater", "greater_equal",
    "inf", "invert", "isfinite", "isinf", "isnan", "left_shift", "less", "less_equal", "log1p", "mix", "mod",
    "multiply", "nan", "negative", "newaxis", "not_equal", "pi", "pow", "remainder", "right_shift", "rint",
    "subtract", "true_divide",
]  # fmt: skip

pi, e, inf, nan, newaxis = math.pi, math.e, math.inf, math.nan, None


class OfTwo(Protocol):
    """A function of two values."""

    def __call__(self, x: Any, y: Any) -> Any: ...


def _of_two(name: str, op: str, symbol: str) -> OfTwo:
    def function(x: Any, y: Any) -> Any:
        return apply(op, "a b", x, y)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Returns ``x {symbol} y``."
    return function


add = _of_two("add", "add", "+")
subtract = _of_two("subtract", "sub", "-")
multiply = _of_two("multiply", "mul", "*")
divide = true_divide = _of_two("divide", "div", "/")
floor_divide = _of_two("floor_divide", "floordiv", "//")
mod = remainder = _of_two("mod", "mod", "%")
bitwise_and = _of_two("bitwise_and", "bitand", "&")
bitwise_or = _of_two("bitwise_or", "bitor", "|")
bitwise_xor = _of_two("bitwise_xor", "bitxor", "^")
left_shift = _of_two("left_shift", "shl", "<<")
right_shift = _of_two("right_shift", "shr", ">>")
equal = _of_two("equal", "eq", "==")
not_equal = _of_two("not_equal", "ne", "!=")
less = _of_two("less", "lt", "<")
less_equal = _of_two("less_equal", "le", "<=")
greater = _of_two("greater", "gt", ">")
greater_equal = _of_two("greater_equal", "ge", ">=")
negative = _math.of_one("negative", "Returns ``-x``.", "neg")
invert = bitwise_not = _math.of_one("invert", "Returns ``~x``.")

absolute = _math.abs
arcsin, arccos, arctan, arctan2 = _math.asin, _math.acos, _math.atan, _math.atan2
mix = _math.lerp
pow = _math.power
rint = _math.round

expm1 = _math.of_one("expm1", "Returns ``exp(x) - 1``, with all digits also where `x` is near 0.")
log1p = _math.of_one("log1p", "Returns ``log(1 + x)``, with all digits also where `x` is near 0.")
isnan = _math.of_one("isnan", "True where `x` is NaN. Drivers cannot take this away, as they may ``x != x``.")
isinf = _math.of_one("isinf", "True where `x` is infinite.")
isfinite = _math.of_one("isfinite", "True where `x` is neither NaN nor infinite.")


def copysign(x: Any, y: Any) -> Any:
    """Returns `x` with the sign of `y`, also of zeros and NaN."""
    return apply("copysign", "x y", x, y)


def fmod(x: Any, y: Any) -> Any:
    """Returns the remainder of C, with the sign of `x`; that of Python, with the sign of `y`, is ``x % y``.

    Example:
        >>> import fusepy as fp
        >>> fp.fmod([-7, 7], 3), fp.mod([-7, 7], 3)
        ([-1, 1], [2, 1])
    """
    return apply("fmod", "x y", x, y)
