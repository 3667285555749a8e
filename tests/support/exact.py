"""What functions of doubles are exactly, by mpmath, and how far off a result is in units of the last place.

`numpy.longdouble` is no reference: its functions are libm's, which differ by platform and are themselves off by several units for
some large arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import mpmath as mp
import numpy as np

Number = Any  # of mpmath

BITS = 180  # enough for the doubles nearest to multiples of pi / 2: mpmath reduces arguments by itself


def within(f: Callable[[Number], Number], low: float, high: float) -> Callable[[Number], Number]:
    """`f` on its domain, NaN outside."""
    return lambda x: f(x) if low <= x <= high else mp.nan


def _grows(f: Callable[[Number], Number], below: float) -> Callable[[Number], Number]:
    """`f`, which is past every double from 5000 on; `below` is what it is then at negative numbers."""
    return lambda x: f(x) if abs(x) < 5000 else mp.inf if x > 0 else mp.mpf(below)


def _log(base: int | None) -> Callable[[Number], Number]:
    def f(x: Number) -> Number:
        return mp.ninf if x == 0 else mp.nan if x < 0 else mp.log(x) / mp.log(base) if base else mp.log(x)

    return f


UNARY: dict[str, Callable[[Number], Number]] = {
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": mp.tan,
    "asin": within(mp.asin, -1, 1),
    "acos": within(mp.acos, -1, 1),
    "atan": mp.atan,
    "sinh": _grows(mp.sinh, -math.inf),
    "cosh": _grows(mp.cosh, math.inf),
    "tanh": mp.tanh,
    "asinh": mp.asinh,
    "acosh": within(mp.acosh, 1, math.inf),
    "atanh": lambda x: mp.inf * x if abs(x) == 1 else within(mp.atanh, -1, 1)(x),
    "exp": _grows(mp.exp, 0),
    "exp2": _grows(lambda x: mp.mpf(2) ** x, 0),
    "exp10": _grows(lambda x: mp.mpf(10) ** x, 0),
    "expm1": _grows(mp.expm1, -1),
    "log1p": lambda x: mp.ninf if x == -1 else mp.nan if x < -1 else mp.log1p(x),
    "log": _log(None),
    "log2": _log(2),
    "log10": _log(10),
}

_INFINITE: dict[str, tuple[float, float]] = {  # at infinity, and at minus infinity
    **dict.fromkeys(["sin", "cos", "tan", "asin", "acos", "atanh"], (math.nan, math.nan)),
    "atan": (math.pi / 2, -math.pi / 2),
    "tanh": (1, -1),
    **dict.fromkeys(["sinh", "asinh"], (math.inf, -math.inf)),
    "cosh": (math.inf, math.inf),
    "expm1": (math.inf, -1),
    **dict.fromkeys(["exp", "exp2", "exp10"], (math.inf, 0)),
    **dict.fromkeys(["acosh", "log", "log2", "log10", "log1p"], (math.inf, math.nan)),
}

_ODD = ("sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh")


def unary(name: str, x: float) -> Number:
    """The exact value at any double."""
    if math.isnan(x):
        return mp.nan
    if math.isinf(x):
        return mp.mpf(_INFINITE[name][x < 0])
    return UNARY[name](mp.mpf(x))


def power(x: float, y: float) -> Number:
    """``pow`` of C."""
    if not (math.isfinite(x) and math.isfinite(y) and x and y):
        if x == 0 and y < 0 and math.isfinite(y):
            return mp.mpf(math.copysign(math.inf, x) if y % 2 == 1 else math.inf)
        return mp.mpf(math.pow(x, y))
    if x < 0 and y != math.floor(y):
        return mp.nan
    exponent = mp.log(abs(mp.mpf(x))) * y
    value = mp.exp(exponent) if abs(exponent) < 5000 else mp.inf if exponent > 0 else mp.mpf(0)
    return -value if x < 0 and y % 2 == 1 else value


def angle(y: float, x: float) -> Number:
    """``atan2`` of C."""
    finite = math.isfinite(x) and math.isfinite(y) and x and y
    return mp.atan2(mp.mpf(y), mp.mpf(x)) if finite else mp.mpf(math.atan2(y, x))


def error(got: float, exact: Number) -> float:
    """How many units in the last place `got` is off; infinite where it is another kind of value."""
    if mp.isnan(exact) or math.isnan(got):
        return 0 if mp.isnan(exact) and math.isnan(got) else math.inf
    if mp.isinf(exact) or math.isinf(got):
        top = mp.mpf(2) ** 1024 * (1 - mp.mpf(2) ** -53)  # from half a unit below 2 ** 1024 either is right
        same = (got > 0) == (exact > 0)
        return 0 if same and (math.isinf(got) or got == np.finfo(np.float64).max) and abs(exact) >= top else math.inf
    exponent = -1022 if exact == 0 else max(int(mp.floor(mp.log(abs(exact), 2))), -1022)
    return float(abs(mp.mpf(got) - exact) / mp.mpf(2) ** (exponent - 52))


def worst(name: str, got: Sequence[float], x: Sequence[float], y: Sequence[float]) -> tuple[float, str]:
    """The largest error of function `name` at the points, and where it is."""
    found = (-1.0, "")
    with mp.workprec(BITS):
        triples = zip(got, x, y, strict=True)
        if name in UNARY:  # the edges come once for each edge
            triples = {f"{a!r} {result!r}": (result, a, a) for result, a, _ in triples}.values()
        for result, a, b in triples:
            exact = power(a, b) if name == "pow" else angle(a, b) if name == "atan2" else unary(name, a)
            off = error(result, exact)
            if name in _ODD and a == 0 and math.copysign(1, result) != math.copysign(1, a):
                off = math.inf
            if off > found[0]:
                found = (
                    off,
                    f"{name}({a!r}{'' if name in UNARY else f', {b!r}'}) is {result!r}, not {mp.nstr(exact, 20)}: off by {off}",
                )
    return found


EDGES = (
    *(0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, -7.0, 10.0, 1000.0, math.inf, -math.inf, math.nan),
    *(5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, -1.7976931348623157e308, 2.0**53, 2.0**53 + 2, 2.0**-27),
    *(709.782712893384, 709.7827128933841, -708.4, -745.1332191019411, -745.1332191019412),  # where exp ends
    *(710.4758600739439, 710.475860073944, 1023.9999999999999, 1024.0, -1074.0, -1075.0, -1075.1, 308.25471555991674, -323.7),
    *(6381956970095103 * 2.0**797, 5.319372648326541e255, 1e22, 2.0**20, 2.0**20 - 1, 1e15),  # near multiples of pi / 2, far away
    *(0.55, 0.17, 0.172, 0.4142, 2.414, 0.99999999999999989, 1.0000000000000002, 1e150, 1e-120, 2.0**60),  # where methods change
)


def points(count: int, seed: int) -> tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.float64]]]:
    """Pairs of doubles: all pairs of `EDGES`, random bits, and `count` of each kind of number that methods tell apart."""
    rng = np.random.default_rng(seed)
    edges = np.array(EDGES)
    bits = rng.integers(0, 2**64, count, dtype=np.uint64).view(np.float64)
    small, middle = rng.uniform(-1, 1, count), rng.uniform(-30, 30, count)
    above = 1 + small * 2.0 ** rng.integers(-50, -1, count)
    quarters = np.round(rng.uniform(-1e7, 1e7, count)) * (np.pi / 2)
    huge = rng.uniform(0.5, 1, count) * 2.0 ** rng.integers(20, 1023, count)
    tiny = small * 2.0 ** rng.integers(-1070, -1, count)
    x = [np.repeat(edges, len(edges)), bits, small, middle, rng.uniform(-760, 760, count), above]
    y = [np.tile(edges, len(edges)), np.roll(bits, 1), np.roll(small, 1), np.round(middle), 1 / middle, above * 1e10]
    x += [quarters, rng.integers(1, 1000, count) * (np.pi / 4), huge, tiny]
    y += [rng.integers(-100, 100, count) * 1.0, middle, small, np.roll(tiny, 1)]
    return np.concatenate(x), np.concatenate(y)
