"""The meaning of reductions and scans."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fuzz.arithmetic import summed
from tests.fuzz.components import construct, part
from tests.fuzz.elementwise import add, divide, multiply
from tests.fuzz.values import SCALARS, UNIT, WIDE, Refused, Val, convert, is_float, make, special, strong


def folded_scalar(kind: str, scalar: str) -> str:
    """The scalar of a fold of elements of another."""
    if kind in ("argmax", "argmin"):
        return "int"
    if kind in ("any", "all"):
        return "bool"
    if kind == "mean" and not is_float(scalar):
        return "float"
    if kind in ("sum", "prod") and scalar in ("bool", "int8_t", "int16_t", "uint8_t", "uint16_t"):
        return "uint" if scalar.startswith("u") else "int"
    return scalar


def reduce(attrs: dict[str, Any], x: Val) -> list[Val]:
    kind, keep = attrs["kind"], bool(attrs.get("keepdims"))
    rank = x.rank
    axis = attrs.get("axis")
    axes = (
        tuple(range(rank))
        if axis is None
        else tuple(a % rank if rank else a for a in (axis if isinstance(axis, list) else [axis]))
    )
    if any(not 0 <= a < rank for a in axes) or len(set(axes)) != len(axes):
        raise Refused("axis")
    weak = x.weak
    want = folded_scalar(kind, x.scalar)
    count = math.prod(x.grid[a] for a in axes)
    if not axes:
        if kind in ("argmax", "argmin"):
            raise Refused("no axes")
        return [_reduced_none(kind, want, x)]
    if not count and kind in ("max", "min", "argmax", "argmin", "mean"):
        raise Refused("nothing to choose from")
    if kind in ("argmax", "argmin"):
        return [_place(x, kind, axes, keep)]
    e = np.broadcast_to(x.e, x.v.shape)
    if kind in ("any", "all"):
        x = convert(x, "bool")
        f = np.any if kind == "any" else np.all
        return [make("bool", x.comp, f(x.v, axis=axes, keepdims=keep), np.any(x.e > 0, axis=axes, keepdims=keep), weak)]
    if kind in ("max", "min"):
        f = np.max if kind == "max" else np.min
        return [
            make(want, x.comp, f(x.v, axis=axes, keepdims=keep), np.max(e, axis=axes, keepdims=keep, initial=0), weak, rounds=0)
        ]
    x = convert(x, want)
    e = np.broadcast_to(x.e, x.v.shape)
    total = lambda a: np.sum(a, axis=axes, keepdims=keep)  # noqa: E731
    product = lambda a: np.prod(a, axis=axes, keepdims=keep)  # noqa: E731
    if not is_float(want):
        f = product if kind == "prod" else total
        info = np.iinfo(SCALARS[want])
        size = f(np.abs(x.v.astype(WIDE)))
        if info.min < 0 and size.size and size.max() > info.max:
            raise Refused("overflow")
        return [make(want, x.comp, f(x.v).astype(SCALARS[want]), total(e), weak)]
    if kind == "prod":
        v, size = product(x.v), product(np.abs(x.v)).astype(np.float64)
        with np.errstate(all="ignore"):
            e = product(np.abs(x.v) + e).astype(np.float64) - size
            few = not np.any(e) and np.all(v.astype(SCALARS[want]) == v) and np.all(size < 0.5 / UNIT[want])
            e = 0 if few else e + (count + 2) * UNIT[want] * size
        return [make(want, x.comp, v, np.where(_order_matters(x.v, product, want), np.inf, e), weak)]
    v, e = summed(x.v, e, want, count, total)
    found = make(want, x.comp, v, e, weak, rounds=0)
    if kind == "mean":
        found = divide(found, make(want, (), np.asarray(WIDE(count))))
    found.weak = weak
    return [found]


def _order_matters(v: Any, product: Callable[[Any], Any], want: str) -> Any:
    """True where a part of a product may overflow or vanish, depending on which factors come first."""
    size = np.where(np.isfinite(v), np.abs(v), 1)
    limits = np.finfo(SCALARS[want])
    with np.errstate(all="ignore"):
        return (product(np.maximum(size, 1)) > limits.max) | (product(np.minimum(np.where(size == 0, 1, size), 1)) < limits.tiny)


def _reduced_none(kind: str, want: str, x: Val) -> Val:
    if kind in ("any", "all"):
        return convert(x, "bool")
    return convert(x, want)


def _place(x: Val, kind: str, axes: tuple[int, ...], keep: bool) -> Val:
    if x.comp:
        raise Refused("no order")
    left = [a for a in range(x.rank) if a not in axes]
    order = (*left, *sorted(axes))
    shape = tuple(x.grid[a] for a in left)
    flat = lambda a: np.transpose(a, order).reshape((*shape, -1))  # noqa: E731
    v, e = flat(x.v), flat(np.broadcast_to(x.e, x.v.shape))
    if x.scalar == "bool":
        v = v.astype(np.int8)
    at = np.argmax(v, -1) if kind == "argmax" else np.argmin(v, -1)
    best = np.take_along_axis(v, at[..., None], -1)
    room = np.take_along_axis(e, at[..., None], -1) + e
    rivals = (room > 0) & (np.abs(v.astype(WIDE) - best) <= room) & (np.arange(v.shape[-1]) != at[..., None])
    unknown = np.any(rivals, axis=-1) | np.any(~np.isfinite(e), axis=-1)
    if keep:
        kept = tuple(1 if a in axes else n for a, n in enumerate(x.grid))
        at, unknown = at.reshape(kept), unknown.reshape(kept)
    return make("int", (), at, unknown, x.weak)


def scan(attrs: dict[str, Any], x: Val) -> list[Val]:
    kind, axis, exclusive = attrs["kind"], attrs["axis"], bool(attrs.get("exclusive"))
    if not x.rank or not -x.rank <= axis < x.rank:
        raise Refused("axis")
    axis %= x.rank
    want = folded_scalar(kind, x.scalar)
    x = convert(x, want)
    v, e = np.moveaxis(x.v, axis, 0), np.moveaxis(np.broadcast_to(x.e, x.v.shape), axis, 0)
    dtype = WIDE if is_float(want) else SCALARS[want]
    start = {"sum": 0, "prod": 1}.get(kind)
    if start is None:
        if is_float(want):
            start = -np.inf if kind == "max" else np.inf
        elif want == "bool":
            start = kind == "min"
        else:
            start = np.iinfo(SCALARS[want]).min if kind == "max" else np.iinfo(SCALARS[want]).max
    if exclusive:
        first = np.full((1, *v.shape[1:]), start, v.dtype)
        v, e = np.concatenate([first, v])[: len(v)], np.concatenate([np.zeros((1, *e.shape[1:])), e])[: len(e)]
    with np.errstate(all="ignore"):
        if kind in ("max", "min"):
            f = np.maximum if kind == "max" else np.minimum
            made, bound = f.accumulate(v, axis=0), np.maximum.accumulate(e, axis=0)
        elif kind == "sum":
            if is_float(want):
                made, bound = summed(v, e, want, len(v), lambda a: np.cumsum(a, axis=0))
            else:
                made, bound = np.cumsum(v, axis=0, dtype=dtype), np.cumsum(e, axis=0)
        else:
            made, bound = np.cumprod(v, axis=0, dtype=dtype), np.cumsum(e, axis=0)
            if is_float(want):
                size = np.cumprod(np.abs(v), axis=0).astype(np.float64)
                few = not np.any(e) and np.all(made.astype(SCALARS[want]) == made) and np.all(size < 0.5 / UNIT[want])
                grown = np.cumprod(np.abs(v) + e, axis=0).astype(np.float64) - size
                bound = np.zeros(made.shape) if few else grown + (len(v) + 2) * UNIT[want] * size
                bound = np.where(_order_matters(v, lambda a: np.cumprod(a, axis=0), want), np.inf, bound)
        if not is_float(want) and want != "bool" and np.iinfo(SCALARS[want]).min < 0 and kind in ("sum", "prod"):
            wide = (np.cumsum if kind == "sum" else np.cumprod)(np.abs(v.astype(WIDE)), axis=0)
            if wide.size and wide.max() > np.iinfo(SCALARS[want]).max:
                raise Refused("overflow")
    return [make(want, x.comp, np.moveaxis(made, 0, axis), np.moveaxis(bound, 0, axis), x.weak, rounds=0)]


def fold_call(attrs: dict[str, Any], x: Val) -> list[Val]:
    """`fp.reduce` and `fp.scan` by ``m.big``, ``m.add``, and ``m.chain``, which does not commute."""
    if (x.scalar, x.comp) != ("float", (2,) if attrs["function"] == "chain" else ()) or x.weak:
        raise Refused("type")
    if attrs["function"] != "chain":
        kind = {"big": "max", "add": "sum"}[attrs["function"]]
        if special(x):
            raise Refused("Slang's own max")
        if attrs["scan"]:
            found = scan({**attrs, "kind": kind}, x)
        else:
            found = reduce({**attrs, "kind": kind}, x)
        if attrs["function"] == "big" and (attrs.get("exclusive") or not all(x.grid)):
            raise Refused("the identity is not NumPy's")
        return [strong(f) for f in found]
    axis = attrs["axis"]
    if axis is None or not x.rank or not attrs["scan"]:
        raise Refused("axis")
    axis %= x.rank
    parts = [
        Val("float", (2,), np.take(x.v, k, axis), np.take(np.broadcast_to(x.e, x.v.shape), k, axis)) for k in range(x.grid[axis])
    ]
    one = (
        Val("float", (2,), np.broadcast_to(np.asarray([1, 0], WIDE), parts[0].v.shape), np.zeros(parts[0].v.shape))
        if parts
        else None
    )
    if one is None:
        return [strong(x)]
    made, total = [], one
    for p in parts:
        after = chain(total, p)
        made.append(total if attrs.get("exclusive") else after)
        total = after
    return [Val("float", (2,), np.stack([m.v for m in made], axis), np.stack([m.e for m in made], axis))]


def chain(a: Val, b: Val) -> Val:
    x = multiply(part(a, 0), part(b, 0))
    y = add(multiply(part(a, 1), part(b, 0)), part(b, 1))
    return construct({"scalar": "float", "comp": (2,)}, x, y)[0]
