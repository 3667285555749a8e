"""What a value of a program is: its type, its numbers, and a bound of the error that each of them may have.

Numbers are computed in more digits than any device has, so what is left between a kernel and its meaning is rounding alone,
and that is counted: every operation adds what its own rounding may be to what its operands' errors become. A place whose
bound is infinite is not known, e.g. behind a comparison of two numbers that are equal up to rounding. Where nothing rounds,
the bound is 0 and every bit counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

# in the order of promotion, written out here a second time: a slip in fusepy's table must not be the fuzzer's too
SCALARS: dict[str, Any] = {
    "bool": np.bool_, "int8_t": np.int8, "uint8_t": np.uint8, "int16_t": np.int16, "uint16_t": np.uint16, "int": np.int32,
    "uint": np.uint32, "int64_t": np.int64, "uint64_t": np.uint64, "half": np.float16, "float": np.float32, "double": np.float64,
}  # fmt: skip
FLOATS = ("half", "float", "double")
INTS = tuple(n for n in SCALARS if "int" in n)
TEXTURE = "texture"  # how a value arrives; the others are in `uploads`
UNIT = {"half": 2.0**-11, "float": 2.0**-24, "double": 2.0**-53}
TINY = {"half": 2.0**-24, "float": 2.0**-126, "double": 2.0**-1000}  # a device may flush what is smaller than normal
AS_NUMBER = {"half": "float", **dict.fromkeys(("int8_t", "uint8_t", "int16_t", "uint16_t"), "int")}  # what Python computes with
WIDE = np.longdouble


class Refused(Exception):  # not an error: the generator draws another step
    """A step that has no meaning on these operands."""


@dataclass
class Val:
    """One value: the scalar of its type, the extents of its components, and whether it is weak (a Python number).

    A `named` vector or matrix is made of Python numbers: it has its type for good, and its components are numbers.

    `v` has the shape of the grid followed by the components; `e` is the bound of the error, of that shape. `arrives` is how a
    call may read it otherwise than as these elements, of arguments alone.
    """

    scalar: str
    comp: tuple[int, ...]
    v: Any
    e: Any
    weak: bool = False
    arrives: str = ""
    named: bool = False

    @property
    def grid(self) -> tuple[int, ...]:
        return self.v.shape[: self.v.ndim - len(self.comp)]

    @property
    def rank(self) -> int:
        return self.v.ndim - len(self.comp)

    @property
    def name(self) -> str:
        return type_name(self.scalar, self.comp)

    @property
    def exact(self) -> bool:
        return not np.any(self.e)


def type_name(scalar: str, comp: tuple[int, ...]) -> str:
    """As Slang spells it."""
    if not comp or scalar not in SCALARS:
        return scalar
    if scalar in ("bool", "int", "uint", "half", "float", "double"):
        return scalar + "x".join(map(str, comp))
    return f"{'vector' if len(comp) == 1 else 'matrix'}<{scalar},{','.join(map(str, comp))}>"


def is_float(scalar: str) -> bool:
    return scalar in FLOATS


def promote(*values: Val) -> str:
    """The common scalar: C's order, weak ones following the others unless only they are floats."""
    if any(x.scalar not in SCALARS for x in values):
        raise Refused("a struct")
    order = list(SCALARS)
    strong = [x.scalar for x in values if not x.weak]
    best = max(strong or [x.scalar for x in values], key=order.index)
    for x in values:
        if strong and x.weak and ((is_float(x.scalar) and not is_float(best)) or best == "bool"):
            best = "float" if is_float(x.scalar) else AS_NUMBER.get(x.scalar, x.scalar)
    return best if strong else AS_NUMBER.get(best, best)


def make(scalar: str, comp: tuple[int, ...], v: Any, e: Any = 0.0, weak: bool = False, rounds: float = 1.0) -> Val:
    """A result: rounded to `scalar` unless that changes nothing, with `rounds` units in the last place added to its bound."""
    v = np.asarray(v)
    if not is_float(scalar):
        v = v.astype(SCALARS[scalar])
        e = np.broadcast_to(np.where(np.asarray(e) > 0, np.inf, 0.0), v.shape)
        return Val(scalar, tuple(comp), v, e, weak)
    v = v.astype(WIDE)
    e = np.nan_to_num(np.broadcast_to(np.asarray(e, np.float64), v.shape), nan=np.inf, posinf=np.inf)
    with np.errstate(all="ignore"):
        special = ~np.isfinite(v) & (e == 0)  # infinities and NaN that are certain
        rounded = v.astype(SCALARS[scalar]).astype(WIDE)
        size = np.abs(v).astype(np.float64)
        inexact = (rounded != v) | (e > 0)
        e = np.where(inexact, e + rounds * UNIT[scalar] * (size + e) + TINY[scalar], 0.0)
        unknown = (~np.isfinite(rounded) | ~np.isfinite(e) | (e > 0.05 * size + 0.05)) & ~special
        e = np.where(special, 0.0, e)
    return Val(scalar, tuple(comp), np.where(unknown, 0, v).astype(WIDE), np.where(unknown, np.inf, e), weak)


def convert(x: Val, scalar: str) -> Val:
    """As an operator converts its operands, and as C casts."""
    if x.scalar == scalar:
        return x
    if x.scalar not in SCALARS or scalar not in SCALARS:
        raise Refused("a struct")
    if is_float(scalar):
        if x.weak and scalar == "half" and np.any(np.abs(x.v.astype(WIDE)) > 65504):
            raise Refused("a Python number out of range")
        # lavapipe rounds texels towards 0 as it reads them, where they become halfs
        cut = UNIT["half"] * np.abs(x.v.astype(WIDE)) if scalar == "half" and x.arrives == TEXTURE else 0
        return make(scalar, x.comp, x.v.astype(WIDE), x.e + cut, x.weak)
    if not is_float(x.scalar):
        limits = (0, 1) if scalar == "bool" else (np.iinfo(SCALARS[scalar]).min, np.iinfo(SCALARS[scalar]).max)
        if x.weak and x.v.size and not (limits[0] <= int(x.v.min()) and int(x.v.max()) <= limits[1]):
            raise Refused("a Python number out of range")
        return make(scalar, x.comp, x.v != 0 if scalar == "bool" else x.v, x.e, x.weak)
    if scalar == "bool":
        return make(scalar, x.comp, x.v != 0, (x.e > 0) & (x.e >= np.abs(x.v)), x.weak)
    low, high = np.iinfo(SCALARS[scalar]).min, np.iinfo(SCALARS[scalar]).max
    if special(x):
        raise Refused("no integer")
    known = np.where(np.isfinite(x.e), x.e, 0)
    if np.any(np.trunc(x.v - known) < low) or np.any(np.trunc(x.v + known) > high):
        raise Refused("out of range: undefined in C")
    unknown = ~np.isfinite(x.e) | (np.trunc(x.v - known) != np.trunc(x.v + known))
    return make(scalar, x.comp, np.trunc(x.v), unknown, x.weak)


def special(x: Val) -> bool:
    """Whether infinities or NaN are among the numbers."""
    return is_float(x.scalar) and not np.all(np.isfinite(x.v))


def aligned(*values: Val) -> tuple[tuple[int, ...], list[tuple[Any, Any]]]:
    """The common component shape, and numbers and bounds with trailing axes so that NumPy broadcasts them.

    Raises:
        Refused: for components or grids that do not go together.
    """
    comps = {x.comp for x in values if x.comp}
    if len(comps) > 1:
        raise Refused("components")
    comp = next(iter(comps), ())
    try:
        grid = np.broadcast_shapes(*(x.grid for x in values))
    except ValueError:
        raise Refused("grids") from None
    found = []
    for x in values:
        shape = x.grid + (x.comp or (1,) * len(comp))
        found.append(tuple(np.broadcast_to(a.reshape(shape), grid + comp) for a in (x.v, np.broadcast_to(x.e, x.v.shape))))
    return comp, found


def number(value: Any) -> Val:
    """A Python number."""
    scalar = "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "float"
    return make(scalar, (), np.asarray(value), weak=True)


def strong(x: Val) -> Val:
    return Val(x.scalar, x.comp, x.v, np.broadcast_to(x.e, x.v.shape))


def written(value: Any, scalar: str | None = None) -> Val:
    """A number that the text of a program has, under a ``vcast`` to `scalar`."""
    return number(value) if scalar is None else strong(convert(number(value), scalar))
