"""The meaning of functions of single elements, and the tables of all that is done to single elements."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fuzz.arithmetic import (
    Meaning,
    absolute,
    add,
    all_weak,
    as_float,
    bitwise,
    chosen,
    compare,
    corners,
    divide,
    floordiv,
    in_range,
    integer,
    jumping,
    mod,
    multiply,
    negative,
    of_python,
    steps,
    subtract,
    where,
    whole,
)
from tests.fuzz.values import SCALARS, UNIT, WIDE, Refused, Val, aligned, convert, is_float, make, number, promote


def _smooth(f: Callable[..., Any], rel: float = 4, abs: float = 0, more: Callable[..., Any] | None = None) -> Meaning:
    """A function with `rel` units in the last place and `abs` of error; `more` says how either grows with the operands.

    A double is held to 2 ulp and what the conditioning of the function makes of its operands' errors.
    """

    def run(*values: Val) -> Val:
        scalar, operands = as_float(*values)
        comp, pairs = aligned(*operands)
        v, e = corners(f, pairs)
        v = np.asarray(v, WIDE)
        if f in (np.sin, np.cos, np.tan):  # which the corners of a wide error say nothing of
            e = np.where(pairs[0][1] > 0.1, np.inf, e)
        with np.errstate(all="ignore"):
            grows = 1.0 if more is None else np.asarray(more(*(p[0] for p in pairs)), np.float64)
            size = np.abs(v).astype(np.float64)
            if scalar == "double":
                e = e + 4 * UNIT[scalar] * size
            else:
                e = e + (rel * UNIT[scalar] * size + abs * (UNIT[scalar] / UNIT["float"] if abs > 1e-7 else 1)) * grows
        return make(scalar, comp, v, e, all_weak(*values), rounds=2)

    return run


def _power(a: Val, b: Val) -> Val:
    scalar = promote(a, b)
    scalar = "int" if scalar == "bool" else scalar
    comp, pairs = aligned(convert(a, scalar), convert(b, scalar))
    (x, ex), (y, ey) = pairs
    if not is_float(scalar):
        below = np.broadcast_to(aligned(a, b)[1][1][0] < 0, y.shape)  # before it becomes a large number
        if np.any(ey) or (b.weak and np.any(below)):
            raise Refused("a negative exponent of an integer")
        whole = np.where(x == 1, 1, 0 if scalar.startswith("uint") else np.where(x == -1, 1 - 2 * (y % 2).astype(np.int64), 0))
        x, y = np.where(below, whole.astype(x.dtype), x), np.where(below, y.dtype.type(1), y)
        with np.errstate(all="ignore"):
            if all_weak(a, b) and scalar != "uint64_t":
                return of_python(np.power(x.astype(WIDE), y.astype(WIDE)), comp, ex)
            in_range(scalar, np.power(x.astype(WIDE), y.astype(WIDE)))
            return make(scalar, comp, np.power(x, y), ex, all_weak(a, b))
    v, e = corners(np.power, pairs)
    with np.errstate(all="ignore"):
        size = np.abs(np.asarray(v, WIDE)).astype(np.float64)
        steep = np.abs(np.asarray(y * np.log2(np.abs(x)), np.float64))
        rel = 4.0 if scalar == "double" else 32 + 64 * np.where(np.isfinite(steep), steep, 0) + 64 * np.abs(y).astype(np.float64)
        exact = (ex == 0) & (ey == 0) & (y == np.trunc(y)) & (y >= 0) & (y <= 64) & (v == np.asarray(v).astype(SCALARS[scalar]))
    e = np.where(exact & (scalar != "double"), 0, e + UNIT[scalar] * rel * size)
    e = np.where(np.isfinite(ex) & np.isfinite(ey), e, np.inf)  # the power of what is not known is not known
    return make(scalar, comp, v, e, all_weak(a, b), rounds=2)


def _atan2(y: Val, x: Val) -> Val:
    _, ((a, ea), (b, eb)) = aligned(*as_float(y, x)[1])
    if np.any((np.abs(a) <= ea) & (np.abs(b) <= eb)):
        raise Refused("no angle")
    if np.any((a == 0) & (b <= 0)):
        raise Refused("an angle that the sign of zero decides, which drivers do not keep")
    return _smooth(np.arctan2, 500, 1e-4)(y, x)


def _lerp(a: Val, b: Val, t: Val) -> Val:
    scalar, (a, b, t) = as_float(a, b, t)
    found = add(a, multiply(subtract(b, a), t))
    other = add(multiply(a, subtract(number(1), t)), multiply(b, t))  # which is the form that some devices take
    unknown = ~np.isfinite(found.v) | ~np.isfinite(other.v)
    return Val(
        scalar, found.comp, np.where(unknown, 0, found.v), np.where(unknown, np.inf, np.maximum(found.e, other.e)), found.weak
    )


def _fract(x: Val) -> Val:
    found = steps(lambda x: x - np.floor(x))(x)  # comes back to where it was: the corners of a wide error say nothing
    _, (x,) = as_float(x)
    e = np.where(np.broadcast_to(x.e, x.v.shape) > 0.25, np.inf, found.e)
    return make(found.scalar, found.comp, found.v, e, found.weak)


def _sqrt(x: Val) -> Val:
    """Of a number that may be below zero or not, nothing is known."""
    found = _smooth(np.sqrt, 4)(x)
    _, (x,) = as_float(x)
    return Val(found.scalar, found.comp, found.v, np.where((x.e > 0) & (x.v - x.e < 0), np.inf, found.e), found.weak)


def _step(edge: Val, x: Val) -> Val:
    scalar, (edge, x) = as_float(edge, x)
    found = convert(compare(np.greater_equal)(x, edge), scalar)
    _, ((a, _), (b, _)) = aligned(edge, x)
    return Val(found.scalar, found.comp, found.v, np.where(np.isfinite(a + b), found.e, np.inf), found.weak)


def _smoothstep(low: Val, high: Val, x: Val) -> Val:
    scalar, (low, high, x) = as_float(low, high, x)
    _, pairs = aligned(low, high)
    if np.any(pairs[0][0] + pairs[0][1] >= pairs[1][0] - pairs[1][1]):
        raise Refused("an empty range")
    t = UNARY["saturate"](divide(subtract(x, low), subtract(high, low)))
    found = multiply(multiply(t, t), subtract(number(3), multiply(number(2), t)))
    return make(scalar, found.comp, found.v, found.e + np.where(found.exact, 4 * UNIT[scalar], 4 * UNIT[scalar]), found.weak)


def _asked(f: Callable[..., Any]) -> Meaning:
    """A question about floats; not known of numbers that may be too large for their type."""

    def run(x: Val) -> Val:
        if not is_float(x.scalar):
            return make("bool", x.comp, np.broadcast_to(f(0.0), x.v.shape), 0, x.weak)
        most = float(np.finfo(SCALARS[x.scalar]).max)
        with np.errstate(all="ignore"):
            open = ~np.isfinite(x.e) | ((x.e > 0) & ~(np.abs(x.v).astype(np.float64) + x.e < most))
        return make("bool", x.comp, f(x.v), open, x.weak)

    return run


def _fmod(a: Val, b: Val) -> Val:
    scalar = promote(a, b)
    if not is_float(scalar):
        return integer(a, b, np.fmod)
    a, b = convert(a, scalar), convert(b, scalar)
    times = jumping(np.trunc, divide(a, b))
    times = dataclasses.replace(times, e=np.where(np.abs(times.v) < 1e6, times.e, np.inf))  # differences jump over many steps
    return subtract(a, multiply(b, times))


def _truth(x: Val) -> Val:
    return compare(np.not_equal)(x, number(0))


# name -> text over its operands, meaning
OPERATORS: dict[str, tuple[str, Meaning]] = {
    "add": ("{0} + {1}", add),
    "sub": ("{0} - {1}", subtract),
    "mul": ("{0} * {1}", multiply),
    "div": ("{0} / {1}", divide),
    "floordiv": ("{0} // {1}", floordiv),
    "mod": ("{0} % {1}", mod),
    "pow": ("{0} ** {1}", _power),
    "bitand": ("{0} & {1}", bitwise(np.bitwise_and)),
    "bitor": ("{0} | {1}", bitwise(np.bitwise_or)),
    "bitxor": ("{0} ^ {1}", bitwise(np.bitwise_xor)),
    "shl": ("{0} << {1}", bitwise(np.left_shift, shifts=True)),
    "shr": ("{0} >> {1}", bitwise(np.right_shift, shifts=True)),
    "lt": ("{0} < {1}", compare(np.less)),
    "le": ("{0} <= {1}", compare(np.less_equal)),
    "gt": ("{0} > {1}", compare(np.greater)),
    "ge": ("{0} >= {1}", compare(np.greater_equal)),
    "eq": ("{0} == {1}", compare(np.equal)),
    "ne": ("{0} != {1}", compare(np.not_equal)),
    "neg": ("-{0}", negative),
    "invert": ("~{0}", bitwise(np.invert)),
}
UNARY: dict[str, Meaning] = {
    "sin": _smooth(np.sin, 4, 2e-6, lambda x: 1 + np.abs(x)),
    "cos": _smooth(np.cos, 4, 2e-6, lambda x: 1 + np.abs(x)),
    "tan": _smooth(np.tan, 8, 4e-6, lambda x: (1 + np.abs(x)) * (1 + np.tan(x) ** 2)),
    "asin": _smooth(np.arcsin, 4, 5e-4),
    "acos": _smooth(np.arccos, 4, 5e-4),
    "atan": _smooth(np.arctan, 500, 1e-6),
    "sinh": _smooth(np.sinh, 64, 2e-6, lambda x: 1 + np.abs(x)),
    "cosh": _smooth(np.cosh, 64, 0, lambda x: 1 + np.abs(x)),
    "tanh": _smooth(np.tanh, 64, 1e-4),
    "exp": _smooth(np.exp, 16, 0, lambda x: 1 + np.abs(x)),
    "exp2": _smooth(np.exp2, 16, 0, lambda x: 1 + np.abs(x)),
    "log": _smooth(np.log, 32, 4e-6),
    "log2": _smooth(np.log2, 32, 4e-6),
    "log10": _smooth(np.log10, 32, 4e-6),
    "log1p": _smooth(np.log1p, 4),
    "expm1": _smooth(np.expm1, 4),
    "square": lambda x: multiply(x, x),
    "isnan": _asked(np.isnan),
    "isfinite": _asked(np.isfinite),
    "logical_not": lambda x: compare(np.equal)(x, number(0)),
    "sqrt": _sqrt,
    "rsqrt": _smooth(lambda x: 1 / np.sqrt(x), 8),
    "floor": whole(np.floor),
    "ceil": whole(np.ceil),
    "trunc": whole(np.trunc),
    "round": whole(np.round),
    "fract": _fract,
    "sign": whole(np.sign, special=True),
    "abs": absolute,
    "saturate": steps(lambda x: np.minimum(np.maximum(x, 0), 1), special=True),
}
SEVERAL: dict[str, tuple[int, Meaning]] = {
    "minimum": (2, chosen(np.minimum)),
    "maximum": (2, chosen(np.maximum)),
    "clip": (3, chosen(lambda x, low, high: np.minimum(np.maximum(x, low), high))),
    "atan2": (2, _atan2),
    "fmod": (2, _fmod),
    "logical_and": (2, lambda a, b: bitwise(np.bitwise_and)(_truth(a), _truth(b))),
    "hypot": (2, _smooth(np.hypot, 8)),
    "power": (2, _power),
    "step": (2, _step),
    "lerp": (3, _lerp),
    "smoothstep": (3, _smoothstep),
    "where": (3, where),
}
DOUBTFUL = {"sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "exp", "exp2", "log", "log2", "log10"}
