"""Derivatives of operators and math functions: the gradient of each operand, from that of the result."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from fusepy.derivatives.terms import Term, Terms
from fusepy.ir.graph import Node
from fusepy.ir.types import Type

Pair = tuple[Term, Term | None]
Triple = tuple[Term, Term, Term]

LN2, LN10 = math.log(2), math.log(10)


def _power(t: Terms, g: Term, y: Term, x: Term, n: Term) -> Pair:
    """Gradient of x ** n. That of n is y log x, and 0 where x is not positive."""
    positive = x > 0
    log = t.op("log", t.where(positive, x, 1.0))
    flat = n.equals(0)  # the derivative of x ** 0 is 0, also where x is 0
    return g * t.where(flat, 0.0, n * t.op("pow", x, t.where(flat, 1.0, n - 1))), g * t.where(positive, y * log, 0.0)


def _smoothstep(t: Terms, g: Term, y: Term, low: Term, high: Term, x: Term) -> Triple:
    width = high - low
    s = t.op("saturate", (x - low) / width)
    slope = g * (6.0 * s * (1 - s)) / width
    return slope * (s - 1), -(slope * s), slope


def _chosen(t: Terms, g: Term, y: Term, a: Term, b: Term) -> Pair:
    """Gradient of a minimum or maximum: to the operand that is the result, and half to each if both are.

    It reads only the condition of the operands, so that a later kernel loads one number.
    """
    half = t.number(0.5)
    share = t.where(a.equals(b), half if g.value.weak else t.cast(half, g.type.scalar or g.type), 1.0)

    def of(x: Term) -> Term:
        part = t.where(x.equals(y), share, 0.0)
        return t.where(part > 0, g * part, 0.0)

    return of(a), of(b)


def _clip(t: Terms, g: Term, y: Term, x: Term, low: Term, high: Term) -> Triple:
    inside = t.op("bitand", x >= low, x <= high)
    at_high = t.op("bitor", x > high, low > high)
    at_low = t.op("bitand", x < low, low <= high)
    return t.where(inside, g, 0.0), t.where(at_low, g, 0.0), t.where(at_high, g, 0.0)


UNARY: dict[
    str, Callable[[Terms, Term, Term, Term], Term]
] = {  # of the terms, the gradient of the result, the result, the operand
    "neg": lambda t, g, y, a: -g,
    "sin": lambda t, g, y, x: g * t.op("cos", x),
    "cos": lambda t, g, y, x: -(g * t.op("sin", x)),
    "tan": lambda t, g, y, x: g * (1 + y * y),
    "sinh": lambda t, g, y, x: g * t.op("cosh", x),
    "cosh": lambda t, g, y, x: g * t.op("sinh", x),
    "tanh": lambda t, g, y, x: g * (1 - y * y),
    "exp": lambda t, g, y, x: g * y,
    "exp2": lambda t, g, y, x: g * (y * LN2),
    "log": lambda t, g, y, x: g / x,
    "log2": lambda t, g, y, x: g / (x * LN2),
    "log1p": lambda t, g, y, x: g / (1 + x),
    "expm1": lambda t, g, y, x: g * (y + 1),
    "log10": lambda t, g, y, x: g / (x * LN10),
    "sqrt": lambda t, g, y, x: g / (2 * y),
    "rsqrt": lambda t, g, y, x: g * (y / (-2 * x)),
    "asin": lambda t, g, y, x: g / t.op("sqrt", 1 - x * x),
    "acos": lambda t, g, y, x: -(g / t.op("sqrt", 1 - x * x)),
    "atan": lambda t, g, y, x: g / (1 + x * x),
    "fract": lambda t, g, y, x: g,
    "saturate": lambda t, g, y, x: t.where(t.op("bitand", x >= 0, x <= 1), g, 0.0),
    "relu": lambda t, g, y, x: t.op("gate", g, y),  # of the result: it is in memory, where a product follows
    "abs": lambda t, g, y, x: g * t.op("sign", x),
}
BINARY: dict[str, Callable[[Terms, Term, Term, Term, Term], Pair]] = {
    "add": lambda t, g, y, a, b: (g, g),
    "sub": lambda t, g, y, a, b: (g, -g),
    "mul": lambda t, g, y, a, b: (g * b, g * a),
    "div": lambda t, g, y, a, b: (g / b, -(g * y / b)),
    "mod": lambda t, g, y, a, b: (g, -(g * t.op("floordiv", a, b))),
    "fmod": lambda t, g, y, a, b: (g, -(g * t.op("trunc", a / b))),
    "copysign": lambda t, g, y, x, s: (g * t.op("sign", x) * t.op("copysign", 1.0, s), None),
    "pow": _power,
    "atan2": lambda t, g, y, a, b: (g * b / (a * a + b * b), -(g * a / (a * a + b * b))),
    "gate": lambda t, g, y, x, of: (t.op("gate", g, of), None),
    "minimum": _chosen,
    "maximum": _chosen,
}
TERNARY: dict[str, Callable[[Terms, Term, Term, Term, Term, Term], Triple]] = {
    "clip": _clip,
    "lerp": lambda t, g, y, a, b, s: (g * (1 - s), g * s, g * (b - a)),
    "smoothstep": _smoothstep,
}
FORMULAS = {**UNARY, **BINARY, **TERNARY}
STEPS = frozenset({"floor", "ceil", "trunc", "round", "sign", "step", "floordiv"})  # constant between their steps
FLAT = STEPS | {"stop_gradient", "gradient_array"}  # the gradient of these is 0


def gradients(t: Terms, name: str, g: Term, y: Term, x: Sequence[Term]) -> Sequence[Term | None]:
    """Returns the gradients of the operands of the operation `name`."""
    scalar = y.type.scalar or y.type  # integers compute as the operation does: 1 - s of a uint8_t would wrap
    x = [_as_float(t, a, scalar, name == "pow") for a in x]
    if name in UNARY:
        return [UNARY[name](t, g, y, x[0])]
    return BINARY[name](t, g, y, x[0], x[1]) if name in BINARY else TERNARY[name](t, g, y, x[0], x[1], x[2])


def _as_float(t: Terms, x: Term, scalar: Type, is_power: bool) -> Term:
    """Returns an operand as floats: the square of a large integer would wrap. Numbers of Python stay weak.

    Such an exponent stays an integer, with which powers of negative numbers are exact.
    """
    if x.type.is_float or (x.value.weak and is_power):
        return x
    if x.value.weak:
        return x * 1.0
    return t.cast(x, x.type.with_scalar(scalar) if x.type.shape else scalar)


def power(t: Terms, node: Node, g: Term, x: Term) -> Term | None:
    """Gradient of a power with a constant exponent."""
    exponent = node.attrs["exponent"]
    assert isinstance(exponent, (int, float))
    if exponent == 0:
        return None
    below = x if exponent == 2 else t.op("power", x, exponent=exponent - 1, type=node.text("type"))
    return g if exponent == 1 else g * (exponent * below)
