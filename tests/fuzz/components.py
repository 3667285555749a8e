"""The meaning of what takes vectors and matrices apart, makes them, and multiplies them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.fuzz.arithmetic import summed
from tests.fuzz.elementwise import UNARY, add, divide, multiply, subtract
from tests.fuzz.values import UNIT, Refused, Val, convert, is_float, make, number, promote, strong

COMPONENTS = {c: i for i, c in enumerate("xyzw")}


def part(x: Val, i: Any) -> Val:
    """Components, by an index into the last axis."""
    index = (..., i) if len(x.comp) == 1 else (..., i, slice(None))
    v = x.v[index]
    comp = v.shape[x.rank :]
    number = x.named and not comp and not x.rank
    return Val(x.scalar, comp, v, np.broadcast_to(x.e, x.v.shape)[index], x.weak or number, named=x.named and bool(comp))


def member(attrs: dict[str, Any], x: Val) -> list[Val]:
    indices = [COMPONENTS[c] for c in attrs["name"]]
    if not x.comp:
        x = Val(x.scalar, (1,), x.v[..., None], np.broadcast_to(x.e, x.v.shape)[..., None], x.weak)
    if max(indices) >= x.comp[0] or len(x.comp) != 1:
        raise Refused("swizzle")
    return [part(x, indices[0] if len(indices) == 1 else indices)]


def index(attrs: dict[str, Any], x: Val, i: Val | None = None) -> list[Val]:
    if not x.comp:
        raise Refused("no components")
    if i is None:
        return [strong(part(x, attrs["at"]))]
    if is_float(i.scalar) or i.comp or i.scalar == "bool" or not i.exact or np.any(i.v < 0) or np.any(i.v >= x.comp[0]):
        raise Refused("index")
    grid = np.broadcast_shapes(x.grid, i.grid)
    at = np.broadcast_to(i.v, grid).astype(np.intp)
    parts = [part(x, k) for k in range(x.comp[0])]
    comp = parts[0].comp
    v, e = parts[0].v, parts[0].e
    for k, p in enumerate(parts):
        mask = (at == k).reshape(grid + (1,) * len(comp))
        v, e = np.where(mask, p.v, v), np.where(mask, p.e, e)
    return [Val(x.scalar, comp, v, e)]


def construct(attrs: dict[str, Any], *parts: Val) -> list[Val]:
    scalar, comp = attrs["scalar"], tuple(attrs["comp"])
    grid = np.broadcast_shapes(*(p.grid for p in parts))
    if not is_float(scalar) and any(p.weak and is_float(p.scalar) for p in parts):
        raise Refused("a Python float never becomes an integer")
    found = [convert(p, scalar) for p in parts]
    if sum(math.prod(p.comp) for p in parts) != math.prod(comp):
        raise Refused("components")

    def flat(a: Any, p: Val) -> Any:
        return np.broadcast_to(a, grid + p.comp).reshape((*grid, math.prod(p.comp)))

    v = np.concatenate([flat(p.v, p) for p in found], axis=-1).reshape(grid + comp)
    e = np.concatenate([flat(np.broadcast_to(p.e, p.v.shape), p) for p in found], axis=-1).reshape(grid + comp)
    return [Val(scalar, comp, v, e, named=all(p.weak for p in parts))]


def cast(attrs: dict[str, Any], x: Val) -> list[Val]:
    return [strong(convert(x, attrs["scalar"]))]


def dot(a: Val, b: Val) -> Val:
    if a.comp != b.comp or len(a.comp) != 1:
        raise Refused("vectors")
    scalar = promote(a, b)
    scalar = scalar if is_float(scalar) else "float"
    return _total(multiply(convert(a, scalar), convert(b, scalar)))


def _total(terms: Val) -> Val:
    """The sum of the components, in whatever order a device adds them."""
    total = part(terms, 0)
    for k in range(1, terms.comp[0]):
        total = add(total, part(terms, k))
    if not is_float(terms.scalar):
        return total
    v, e = summed(terms.v, np.broadcast_to(terms.e, terms.v.shape), terms.scalar, terms.comp[0], lambda x: np.sum(x, axis=-1))
    return Val(terms.scalar, (), total.v, np.maximum(e, np.broadcast_to(total.e, np.shape(v))), terms.weak)


def root(x: Val) -> Val:
    return UNARY["sqrt"](x)


def _wide(x: Val, comp: tuple[int, ...]) -> Val:
    """A scalar in every component."""
    v = np.broadcast_to(x.v.reshape(x.grid + (1,) * len(comp)), x.grid + comp)
    return Val(x.scalar, comp, v, np.broadcast_to(np.broadcast_to(x.e, x.v.shape).reshape(x.grid + (1,) * len(comp)), v.shape))


def normalize(a: Val) -> Val:
    found = divide(a, _wide(root(dot(a, a)), a.comp))
    with np.errstate(all="ignore"):
        e = found.e + 8 * UNIT[found.scalar] * np.abs(found.v).astype(np.float64)
    return make(found.scalar, found.comp, found.v, e, found.weak)


def cross(a: Val, b: Val) -> Val:
    if a.comp != (3,) or b.comp != (3,):
        raise Refused("vectors of three")
    scalar = promote(a, b)
    a, b = (convert(x, scalar if is_float(scalar) else "float") for x in (a, b))
    return subtract(
        multiply(part(a, [1, 2, 0]), part(b, [2, 0, 1])),
        multiply(part(a, [2, 0, 1]), part(b, [1, 2, 0])),
    )


def reflect(i: Val, n: Val) -> Val:
    return subtract(i, multiply(_wide(multiply(number(2), dot(n, i)), i.comp), n))


def matmul(a: Val, b: Val) -> Val:
    if not a.comp or not b.comp or len(a.comp) + len(b.comp) < 3 or a.comp[-1] != b.comp[0]:
        raise Refused("inner extents")
    scalar = promote(a, b)
    if scalar == "bool":
        raise Refused("bools")
    a, b = convert(a, scalar), convert(b, scalar)
    rows = [part(a, r) for r in range(a.comp[0])] if len(a.comp) == 2 else [a]
    columns = [_column(b, c) for c in range(b.comp[1])] if len(b.comp) == 2 else [b]
    cells = []
    for row in rows:
        for column in columns:
            cells.append(_total(multiply(row, column)))
    comp = a.comp[:-1] + b.comp[1:]
    return construct({"scalar": scalar, "comp": comp}, *cells)[0]


def _column(x: Val, c: int) -> Val:
    v = x.v[..., :, c]
    return Val(x.scalar, (x.comp[0],), v, np.broadcast_to(x.e, x.v.shape)[..., :, c])
