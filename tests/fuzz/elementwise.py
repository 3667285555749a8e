"""The meaning of what is done to single elements, with the error that it may leave."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fuzz.values import SCALARS, UNIT, WIDE, Refused, Val, aligned, convert, is_float, make, number, promote

Meaning = Callable[..., Val]


def corners(f: Callable[..., Any], pairs: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """``f`` of the numbers, and how far it is from there at the corners of their errors."""
    with np.errstate(all="ignore"):
        base = f(*(v for v, _ in pairs))
        moving = [np.any(e) for _, e in pairs]
        error = np.zeros(np.shape(base))
        if any(moving):
            for signs in itertools.product(*((-1, 1) if m else (0,) for m in moving)):
                at = f(*(v + s * e if s else v for s, (v, e) in zip(signs, pairs)))
                off = np.abs((at - base).astype(np.float64))
                error = np.maximum(error, np.where(np.isnan(off), np.inf, off))
        return base, np.where(np.isfinite(np.asarray(base, WIDE)), error, np.inf)


def _weak(*values: Val) -> bool:
    return all(x.weak for x in values)


def _in_range(scalar: str, v: Any) -> None:
    """Signed integers do not wrap: that is undefined."""
    info = np.iinfo(SCALARS[scalar])
    if info.min < 0 and v.size and (v.min() < info.min or v.max() > info.max):
        raise Refused("overflow")


def _arithmetic(f: Callable[..., Any]) -> Meaning:
    def run(*values: Val) -> Val:
        scalar = promote(*values)
        scalar = "int" if scalar == "bool" else scalar
        comp, pairs = aligned(*(convert(x, scalar) for x in values))
        if is_float(scalar):
            return make(scalar, comp, *corners(f, pairs), _weak(*values))
        with np.errstate(all="ignore"):
            _in_range(scalar, f(*(v.astype(WIDE) for v, _ in pairs)))
            return make(scalar, comp, f(*(v for v, _ in pairs)), sum(e for _, e in pairs), _weak(*values))

    return run


def as_float(*values: Val) -> tuple[str, list[Val]]:
    """The operands of what needs floats."""
    scalar = promote(*values)
    scalar = scalar if is_float(scalar) else "float"
    return scalar, [convert(x, scalar) for x in values]


def divide(a: Val, b: Val) -> Val:
    scalar, operands = as_float(a, b)
    comp, pairs = aligned(*operands)
    v, e = corners(np.divide, pairs)
    (_, (d, de)) = pairs
    e = np.where((np.abs(d) <= de) & (de > 0), np.inf, e)
    mantissa, _ = np.frexp(d)
    # only a division by a power of two is exact on every device
    e = np.where((np.abs(mantissa) == 0.5) & (de == 0), e, e + 2 * UNIT[scalar] * np.abs(v.astype(np.float64)))
    return make(scalar, comp, v, e, _weak(a, b), rounds=3)


def floordiv(a: Val, b: Val) -> Val:
    scalar = promote(a, b)
    if is_float(scalar):
        return _jumping(np.floor, divide(convert(a, scalar), convert(b, scalar)))
    return _integer(a, b, np.floor_divide)


def mod(a: Val, b: Val) -> Val:
    scalar = promote(a, b)
    if is_float(scalar):
        a, b = convert(a, scalar), convert(b, scalar)
        return subtract(a, multiply(b, floordiv(a, b)))
    return _integer(a, b, np.remainder)


def _integer(a: Val, b: Val, f: Callable[..., Any]) -> Val:
    scalar = promote(a, b)
    scalar = "int" if scalar == "bool" else scalar
    comp, ((x, ex), (y, ey)) = aligned(convert(a, scalar), convert(b, scalar))
    if np.any(y == 0) or np.any(ey):
        raise Refused("division by zero")
    info = np.iinfo(SCALARS[scalar])
    if info.min < 0 and np.any((x == info.min) & (y == -1)):
        raise Refused("overflow")
    return make(scalar, comp, f(x, y), ex + ey, _weak(a, b))


def negative(x: Val) -> Val:
    scalar = "int" if x.scalar == "bool" else x.scalar
    x2 = convert(x, scalar)
    if not is_float(scalar):
        _in_range(scalar, -x2.v.astype(WIDE))
    return make(scalar, x.comp, np.negative(x2.v), x2.e, x.weak, rounds=0)


def _bitwise(f: Callable[..., Any], shifts: bool = False) -> Meaning:
    def run(*values: Val) -> Val:
        scalar = promote(*values)
        if is_float(scalar) or (shifts and scalar == "bool"):
            raise Refused("integers only")
        comp, pairs = aligned(*(convert(x, scalar) for x in values))
        v = [p[0] for p in pairs]
        if shifts:
            bits = np.iinfo(SCALARS[scalar]).bits
            if np.any(v[1] < 0) or np.any(v[1] >= bits) or np.any(pairs[1][1]):
                raise Refused("shift count")
            if f is np.left_shift and np.iinfo(SCALARS[scalar]).min < 0:
                if np.any(v[0] < 0):
                    raise Refused("shift of a negative number")
                _in_range(scalar, v[0].astype(WIDE) * WIDE(2) ** v[1].astype(WIDE))
        return make(scalar, comp, f(*v), sum(p[1] for p in pairs), _weak(*values))

    return run


def _compare(f: Callable[..., Any]) -> Meaning:
    def run(a: Val, b: Val) -> Val:
        scalar = promote(a, b)
        comp, ((x, ex), (y, ey)) = aligned(convert(a, scalar), convert(b, scalar))
        if is_float(scalar):
            near = (ex + ey > 0) & ~(np.abs(x - y) > ex + ey)
        else:
            near = (ex + ey) > 0
        return make("bool", comp, f(x, y), near, _weak(a, b))

    return run


def where(test: Val, a: Val, b: Val) -> Val:
    scalar = promote(a, b)
    comp, ((t, et), (x, ex), (y, ey)) = aligned(convert(test, "bool"), convert(a, scalar), convert(b, scalar))
    return make(scalar, comp, np.where(t, x, y), np.where(et > 0, np.inf, np.where(t, ex, ey)), _weak(a, b), rounds=0)


def _jumping(f: Callable[..., Any], x: Val, scalar: str = "") -> Val:
    scalar = scalar or x.scalar
    v, e = corners(f, [(x.v, x.e)])
    return make(scalar, x.comp, v, e, x.weak, rounds=0)


def _steps(f: Callable[..., Any]) -> Meaning:
    return lambda x: _jumping(f, as_float(x)[1][0])


def _chosen(f: Callable[..., Any]) -> Meaning:
    """The least, the largest and the like: one of the operands, of any type."""

    def run(*values: Val) -> Val:
        scalar = promote(*values)
        comp, pairs = aligned(*(convert(x, scalar) for x in values))
        if len(pairs) == 3 and np.any(pairs[1][0] + pairs[1][1] > pairs[2][0] - pairs[2][1]):
            raise Refused("an empty range")
        if not is_float(scalar):
            return make(scalar, comp, f(*(v for v, _ in pairs)), sum(e for _, e in pairs), _weak(*values))
        return make(scalar, comp, *corners(f, pairs), _weak(*values), rounds=0)

    return run


def absolute(x: Val) -> Val:
    if not is_float(x.scalar):
        if x.scalar != "bool":
            _in_range(x.scalar, np.abs(x.v.astype(WIDE)))
        return make(x.scalar, x.comp, np.abs(x.v), x.e, x.weak)
    return make(x.scalar, x.comp, *corners(np.abs, [(x.v, x.e)]), x.weak, rounds=0)


def _smooth(f: Callable[..., Any], rel: float = 4, abs: float = 0, more: Callable[..., Any] | None = None) -> Meaning:
    """A function with `rel` units in the last place and `abs` of error; `more` says how either grows with the operands.

    A double is held to 2 ulp and what the conditioning of the function makes of its operands' errors.
    """

    def run(*values: Val) -> Val:
        scalar, operands = as_float(*values)
        comp, pairs = aligned(*operands)
        v, e = corners(f, pairs)
        v = np.asarray(v, WIDE)
        with np.errstate(all="ignore"):
            grows = 1.0 if more is None else np.asarray(more(*(p[0] for p in pairs)), np.float64)
            size = np.abs(v).astype(np.float64)
            if scalar == "double":
                e = e + 4 * UNIT[scalar] * size
            else:
                e = e + (rel * UNIT[scalar] * size + abs * (UNIT[scalar] / UNIT["float"] if abs > 1e-7 else 1)) * grows
        return make(scalar, comp, v, e, _weak(*values), rounds=2)

    return run


def _power(a: Val, b: Val) -> Val:
    scalar = promote(a, b)
    scalar = "int" if scalar == "bool" else scalar
    comp, pairs = aligned(convert(a, scalar), convert(b, scalar))
    (x, ex), (y, ey) = pairs
    if not is_float(scalar):
        if np.any(y < 0) or np.any(ey):
            raise Refused("a negative exponent of an integer")
        with np.errstate(all="ignore"):
            _in_range(scalar, np.power(x.astype(WIDE), y.astype(WIDE)))
            return make(scalar, comp, np.power(x, y), ex, _weak(a, b))
    v, e = corners(np.power, pairs)
    with np.errstate(all="ignore"):
        size = np.abs(np.asarray(v, WIDE)).astype(np.float64)
        steep = np.abs(np.asarray(y * np.log2(np.abs(x)), np.float64))
        rel = 4.0 if scalar == "double" else 32 + 64 * np.where(np.isfinite(steep), steep, 0) + 64 * np.abs(y).astype(np.float64)
        exact = (ex == 0) & (ey == 0) & (y == np.trunc(y)) & (y >= 0) & (y <= 64) & (v == np.asarray(v).astype(SCALARS[scalar]))
    e = np.where(exact & (scalar != "double"), 0, e + UNIT[scalar] * rel * size)
    return make(scalar, comp, v, e, _weak(a, b), rounds=2)


def _atan2(y: Val, x: Val) -> Val:
    _, ((a, ea), (b, eb)) = aligned(*as_float(y, x)[1])
    if np.any((np.abs(a) <= ea) & (np.abs(b) <= eb)):
        raise Refused("no angle")
    return _smooth(np.arctan2, 500, 1e-4)(y, x)


def _lerp(a: Val, b: Val, t: Val) -> Val:
    scalar, (a, b, t) = as_float(a, b, t)
    found = add(a, multiply(subtract(b, a), t))
    other = add(multiply(a, subtract(number(1), t)), multiply(b, t))  # which is the form that some devices take
    return Val(scalar, found.comp, found.v, np.maximum(found.e, other.e), found.weak)


def _smoothstep(low: Val, high: Val, x: Val) -> Val:
    scalar, (low, high, x) = as_float(low, high, x)
    _, pairs = aligned(low, high)
    if np.any(pairs[0][0] + pairs[0][1] >= pairs[1][0] - pairs[1][1]):
        raise Refused("an empty range")
    t = UNARY["saturate"](divide(subtract(x, low), subtract(high, low)))
    found = multiply(multiply(t, t), subtract(number(3), multiply(number(2), t)))
    return make(scalar, found.comp, found.v, found.e + np.where(found.exact, 4 * UNIT[scalar], 4 * UNIT[scalar]), found.weak)


add: Meaning = _arithmetic(np.add)
subtract: Meaning = _arithmetic(np.subtract)
multiply: Meaning = _arithmetic(np.multiply)

# name -> text over its operands, meaning
OPERATORS: dict[str, tuple[str, Meaning]] = {
    "add": ("{0} + {1}", add),
    "sub": ("{0} - {1}", subtract),
    "mul": ("{0} * {1}", multiply),
    "div": ("{0} / {1}", divide),
    "floordiv": ("{0} // {1}", floordiv),
    "mod": ("{0} % {1}", mod),
    "pow": ("{0} ** {1}", _power),
    "bitand": ("{0} & {1}", _bitwise(np.bitwise_and)),
    "bitor": ("{0} | {1}", _bitwise(np.bitwise_or)),
    "bitxor": ("{0} ^ {1}", _bitwise(np.bitwise_xor)),
    "shl": ("{0} << {1}", _bitwise(np.left_shift, shifts=True)),
    "shr": ("{0} >> {1}", _bitwise(np.right_shift, shifts=True)),
    "lt": ("{0} < {1}", _compare(np.less)),
    "le": ("{0} <= {1}", _compare(np.less_equal)),
    "gt": ("{0} > {1}", _compare(np.greater)),
    "ge": ("{0} >= {1}", _compare(np.greater_equal)),
    "eq": ("{0} == {1}", _compare(np.equal)),
    "ne": ("{0} != {1}", _compare(np.not_equal)),
    "neg": ("-{0}", negative),
    "invert": ("~{0}", _bitwise(np.invert)),
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
    "sqrt": _smooth(lambda x: np.sqrt(np.maximum(x, 0)) + np.where(x < -1e-3, np.nan, 0), 4),
    "rsqrt": _smooth(lambda x: 1 / np.sqrt(x), 8),
    "floor": _steps(np.floor),
    "ceil": _steps(np.ceil),
    "trunc": _steps(np.trunc),
    "round": _steps(np.round),
    "fract": _steps(lambda x: x - np.floor(x)),
    "sign": _steps(np.sign),
    "abs": absolute,
    "saturate": _steps(lambda x: np.minimum(np.maximum(x, 0), 1)),
}
SEVERAL: dict[str, tuple[int, Meaning]] = {
    "minimum": (2, _chosen(np.minimum)),
    "maximum": (2, _chosen(np.maximum)),
    "clip": (3, _chosen(lambda x, low, high: np.minimum(np.maximum(x, low), high))),
    "atan2": (2, _atan2),
    "power": (2, _power),
    "step": (2, lambda edge, x: convert(_compare(np.greater_equal)(*as_float(x, edge)[1]), as_float(x, edge)[0])),
    "lerp": (3, _lerp),
    "smoothstep": (3, _smoothstep),
    "where": (3, where),
}
DOUBTFUL = {"sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "exp", "exp2", "log", "log2", "log10"}
