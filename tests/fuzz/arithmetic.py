"""The meaning of arithmetic, comparisons and choices on single elements, with the error that they may leave."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fuzz.values import SCALARS, UNIT, WIDE, Refused, Val, aligned, convert, is_float, make, promote

Meaning = Callable[..., Val]


def corners(f: Callable[..., Any], pairs: list[tuple[Any, Any]], special: bool = False) -> tuple[Any, Any]:
    """``f`` of the numbers, and how far it is from there at the corners of their errors.

    Where it is infinite or NaN it is unknown, unless `special` says that ``f`` of infinities and NaN is the same everywhere.
    """
    with np.errstate(all="ignore"):
        base = f(*(v for v, _ in pairs))
        moving = [np.any(e) for _, e in pairs]
        error = np.zeros(np.shape(base))
        if any(moving):
            for signs in itertools.product(*((-1, 1) if m else (0,) for m in moving)):
                at = f(*(v + s * e if s else v for s, (v, e) in zip(signs, pairs)))
                off = np.abs((at - base).astype(np.float64))
                error = np.maximum(error, np.where(np.isnan(off), np.inf, off))
        certain = np.isfinite(np.asarray(base, WIDE))
        if special:
            certain |= np.any(np.broadcast_arrays(*(~np.isfinite(v) for v, _ in pairs)), axis=0) & (sum(e for _, e in pairs) == 0)
        return base, np.where(certain, error, np.inf)


def all_weak(*values: Val) -> bool:
    return all(x.weak for x in values)


def in_range(scalar: str, v: Any) -> None:
    """Signed integers do not wrap: that is undefined."""
    info = np.iinfo(SCALARS[scalar])
    if info.min < 0 and v.size and (v.min() < info.min or v.max() > info.max):
        raise Refused("overflow")


def of_python(v: Any, comp: tuple[int, ...], e: Any) -> Val:
    """Python's integers, which do not wrap: of the smallest type of 32 bits and more that holds them."""
    in_range("int64_t", v)
    info = np.iinfo(np.int32)
    fits = not v.size or (v.min() >= info.min and v.max() <= info.max)
    return make("int" if fits else "int64_t", comp, v, e, weak=True)


def _short(v: Any, scalar: str) -> Any:
    """Where numbers have some bits to spare: drivers may add and multiply in another order, where others become inexact."""
    mantissa, _ = np.frexp(np.asarray(v, WIDE))
    spare = np.ldexp(mantissa, round(-np.log2(UNIT[scalar])) - 4)
    return (np.floor(spare) == spare) | ~np.isfinite(v)


def arithmetic(f: Callable[..., Any]) -> Meaning:
    def run(*values: Val) -> Val:
        scalar = promote(*values)
        scalar = "int" if scalar == "bool" else scalar
        comp, pairs = aligned(*(convert(x, scalar) for x in values))
        if is_float(scalar):
            v, e = corners(f, pairs)  # drivers take 0 * x as 0 whatever x is
            with np.errstate(all="ignore"):  # of a chain of sums, what a driver adds first may be as large as all terms together
                size = np.abs(v) if f is np.multiply else np.where(np.isfinite(v), sum(np.abs(x) for x, _ in pairs), 0)
                e = np.where((e == 0) & _short(v, scalar), e, e + UNIT[scalar] * size.astype(np.float64))
            return make(scalar, comp, v, e, all_weak(*values))
        if all_weak(*values) and scalar != "uint64_t":
            return of_python(f(*(v.astype(WIDE) for v, _ in pairs)), comp, sum(e for _, e in pairs))
        with np.errstate(all="ignore"):
            in_range(scalar, f(*(v.astype(WIDE) for v, _ in pairs)))
            return make(scalar, comp, f(*(v for v, _ in pairs)), sum(e for _, e in pairs), all_weak(*values))

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
    return make(scalar, comp, v, e, all_weak(a, b), rounds=3)


def floordiv(a: Val, b: Val) -> Val:
    scalar = promote(a, b)
    if is_float(scalar):
        return jumping(np.floor, divide(convert(a, scalar), convert(b, scalar)))
    return integer(a, b, np.floor_divide)


def mod(a: Val, b: Val) -> Val:
    scalar = promote(a, b)
    if is_float(scalar):
        a, b = convert(a, scalar), convert(b, scalar)
        return subtract(a, multiply(b, floordiv(a, b)))
    return integer(a, b, np.remainder)


def of_both_signs(scalar: str, *values: Val) -> bool:
    """Whether a type without negative numbers is that of an operation on integers of which one may be negative."""
    return scalar.startswith("uint") and any(not x.weak and x.scalar.startswith("int") for x in values)


def wrapped(f: Callable[..., Any], scalar: str, *values: Val) -> Val:
    """What `f` gives for Python's integers, of which the last bits are kept."""
    comp, pairs = aligned(*values)
    kept = f(*(v.astype(object) for v, _ in pairs)) & int(np.iinfo(SCALARS[scalar]).max)
    return make(scalar, comp, np.asarray(kept, SCALARS[scalar]), sum(e for _, e in pairs))


def remainder_of_c(x: Any, y: Any) -> Any:
    """The remainder with the sign of `x`, of integers of any size."""
    return np.abs(x) % np.abs(y) * np.where(x < 0, -1, 1).astype(object)


def integer(a: Val, b: Val, f: Callable[..., Any]) -> Val:
    scalar = promote(a, b)
    scalar = "int" if scalar == "bool" else scalar
    if of_both_signs(scalar, a, b):
        if np.any(b.v == 0) or np.any(b.e):
            raise Refused("division by zero")
        return wrapped(remainder_of_c if f is np.fmod else f, scalar, a, b)
    comp, ((x, ex), (y, ey)) = aligned(convert(a, scalar), convert(b, scalar))
    if np.any(y == 0) or np.any(ey):
        raise Refused("division by zero")
    info = np.iinfo(SCALARS[scalar])
    if info.min < 0 and np.any((x == info.min) & (y == -1)):
        raise Refused("overflow")
    if all_weak(a, b) and not scalar.startswith("uint"):
        return of_python(f(x, y), comp, ex + ey)
    return make(scalar, comp, f(x, y), ex + ey, all_weak(a, b))


def negative(x: Val) -> Val:
    scalar = "int" if x.scalar == "bool" else x.scalar
    x2 = convert(x, scalar)
    if not is_float(scalar):
        if x.weak:
            return of_python(-x2.v.astype(WIDE), x.comp, x2.e)
        in_range(scalar, -x2.v.astype(WIDE))
    return make(scalar, x.comp, np.negative(x2.v), x2.e, x.weak, rounds=0)


def bitwise(f: Callable[..., Any], shifts: bool = False) -> Meaning:
    def run(*values: Val) -> Val:
        scalar = promote(*values)
        if is_float(scalar) or (shifts and scalar == "bool"):
            raise Refused("integers only")
        comp, pairs = aligned(*(convert(x, scalar) for x in values))
        v = [p[0] for p in pairs]
        if f is np.right_shift and of_both_signs(scalar, values[0]) and not np.any(values[1].e):
            return wrapped(f, scalar, *values)
        if shifts and (np.any(v[1] < 0) or np.any(pairs[1][1])):
            raise Refused("a negative count")
        if f is np.left_shift and all_weak(*values):
            return of_python(np.ldexp(v[0].astype(WIDE), v[1]), comp, pairs[0][1])
        made = f(*v)
        if f is np.right_shift and all_weak(*values) and not scalar.startswith("uint"):
            return of_python(made, comp, sum(p[1] for p in pairs))
        return make(scalar, comp, made, sum(p[1] for p in pairs), all_weak(*values))

    return run


def compare(f: Callable[..., Any]) -> Meaning:
    def run(a: Val, b: Val) -> Val:
        scalar = promote(a, b)
        if not is_float(scalar):  # integers are compared as they are, whatever their types hold
            comp, ((x, ex), (y, ey)) = aligned(a, b)
            return make("bool", comp, f(x.astype(object), y.astype(object)), (ex + ey) > 0, all_weak(a, b))
        comp, ((x, ex), (y, ey)) = aligned(convert(a, scalar), convert(b, scalar))
        with np.errstate(invalid="ignore"):  # of two infinities
            near = (ex + ey > 0) & ~(np.abs(x - y) > ex + ey)
        return make("bool", comp, f(x, y), near, all_weak(a, b))

    return run


def where(test: Val, a: Val, b: Val) -> Val:
    scalar = promote(a, b)
    comp, ((t, et), (x, ex), (y, ey)) = aligned(convert(test, "bool"), convert(a, scalar), convert(b, scalar))
    return make(scalar, comp, np.where(t, x, y), np.where(et > 0, np.inf, np.where(t, ex, ey)), all_weak(test, a, b), rounds=0)


def jumping(f: Callable[..., Any], x: Val, special: bool = False) -> Val:
    v, e = corners(f, [(x.v, x.e)], special)
    return make(x.scalar, x.comp, v, e, x.weak, rounds=0)


def steps(f: Callable[..., Any], special: bool = False) -> Meaning:
    return lambda x: jumping(f, as_float(x)[1][0], special)


def whole(f: Callable[..., Any], special: bool = False) -> Meaning:
    """Steps of floats; integers and bools keep their type."""

    def run(x: Val) -> Val:
        if is_float(x.scalar):
            return jumping(f, x, special)
        return make(x.scalar, x.comp, x.v if x.scalar == "bool" else f(x.v).astype(x.v.dtype), x.e, x.weak)

    return run


def chosen(f: Callable[..., Any]) -> Meaning:
    """The least, the largest and the like: one of the operands, of any type."""

    def run(*values: Val) -> Val:
        scalar = promote(*values)
        if of_both_signs(scalar, *values):
            return wrapped(f, scalar, *(convert(x, scalar) if x.weak else x for x in values))
        comp, pairs = aligned(*(convert(x, scalar) for x in values))
        if not is_float(scalar):
            return make(scalar, comp, f(*(v for v, _ in pairs)), sum(e for _, e in pairs), all_weak(*values))
        v, e = corners(f, pairs, special=True)
        unknown = sum(np.isinf(own) for _, own in pairs) > 0  # it may be NaN, which no bound holds
        return make(scalar, comp, v, np.where(unknown, np.inf, e), all_weak(*values), rounds=0)

    return run


def absolute(x: Val) -> Val:
    if not is_float(x.scalar):
        if x.scalar != "bool":
            in_range(x.scalar, np.abs(x.v.astype(WIDE)))
        return make(x.scalar, x.comp, np.abs(x.v), x.e, x.weak)
    return make(x.scalar, x.comp, *corners(np.abs, [(x.v, x.e)], special=True), x.weak, rounds=0)


add: Meaning = arithmetic(np.add)
subtract: Meaning = arithmetic(np.subtract)
multiply: Meaning = arithmetic(np.multiply)


def summed(v: Any, e: Any, scalar: str, count: int, f: Callable[..., Any]) -> tuple[Any, Any]:
    """Sums by `f`, of which nothing is lost where all partial sums have few enough bits; else a rounding for each term."""
    total, spread = f(v), f(np.abs(v)).astype(np.float64)
    finest = 2.0**-10
    exact = not np.any(e) and np.all(np.floor(v / finest) * finest == v) and np.all(spread < finest / UNIT[scalar] / 2)
    return total, (np.zeros(total.shape) if exact else f(e) + (count + 2) * UNIT[scalar] * (spread + f(e)))
