"""What steps mean: `run_step` gives the values that a step makes of its operands."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.fuzz.control import MEANINGS
from tests.fuzz.elementwise import OPERATORS, SEVERAL, UNARY, add, divide, multiply, subtract, where
from tests.fuzz.program import Program, Step
from tests.fuzz.values import SCALARS, UNIT, WIDE, Refused, Val, aligned, convert, is_float, make, number, promote

COMPONENTS = {c: i for i, c in enumerate("xyzw")}


def evaluate(program: Program, inputs: Sequence[Val]) -> list[Val]:
    """All values of a program: its arguments, and what its steps make."""
    values = list(inputs)
    for step in program.steps:
        values += run_step(step, values)
    return values


def run_step(step: Step, values: Sequence[Val]) -> list[Val]:
    """What a step gives.

    Raises:
        Refused: where it means nothing on these operands.
    """
    operands = [number(p[0]) if isinstance(p, list) else values[p] for p in step.operands]
    op, attrs = step.op, step.attrs
    if op not in ("field", "choose", "call") and any(x.scalar == "Ray" for x in operands):
        raise Refused("a struct")
    if op in OPERATORS:
        return [OPERATORS[op][1](*operands)]
    if op in UNARY:
        return [UNARY[op](*operands)]
    if op in SEVERAL:
        return [SEVERAL[op][1](*operands)]
    return (MEANINGS.get(op) or KNOWN[op])(attrs, *operands)


# ---- components -----------------------------------------------------------------------------------------------------


def _part(x: Val, i: Any) -> Val:
    """Components, by an index into the last axis."""
    index = (..., i) if len(x.comp) == 1 else (..., i, slice(None))
    v = x.v[index]
    return Val(x.scalar, v.shape[x.rank :], v, np.broadcast_to(x.e, x.v.shape)[index], x.weak)


def _member(attrs: dict[str, Any], x: Val) -> list[Val]:
    indices = [COMPONENTS[c] for c in attrs["name"]]
    if not x.comp:
        x = Val(x.scalar, (1,), x.v[..., None], np.broadcast_to(x.e, x.v.shape)[..., None], x.weak)
    if max(indices) >= x.comp[0] or len(x.comp) != 1:
        raise Refused("swizzle")
    return [_part(x, indices[0] if len(indices) == 1 else indices)]


def _index(attrs: dict[str, Any], x: Val, i: Val | None = None) -> list[Val]:
    if not x.comp:
        raise Refused("no components")
    if i is None:
        return [_strong(_part(x, attrs["at"]))]
    if is_float(i.scalar) or i.comp or i.scalar == "bool" or not i.exact or np.any(i.v < 0) or np.any(i.v >= x.comp[0]):
        raise Refused("index")
    grid = np.broadcast_shapes(x.grid, i.grid)
    at = np.broadcast_to(i.v, grid).astype(np.intp)
    parts = [_part(x, k) for k in range(x.comp[0])]
    comp = parts[0].comp
    v, e = parts[0].v, parts[0].e
    for k, p in enumerate(parts):
        mask = (at == k).reshape(grid + (1,) * len(comp))
        v, e = np.where(mask, p.v, v), np.where(mask, p.e, e)
    return [Val(x.scalar, comp, v, e)]


def _strong(x: Val) -> Val:
    return Val(x.scalar, x.comp, x.v, np.broadcast_to(x.e, x.v.shape))


def _construct(attrs: dict[str, Any], *parts: Val) -> list[Val]:
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
    return [Val(scalar, comp, v, e, all(p.weak for p in parts))]


def _cast(attrs: dict[str, Any], x: Val) -> list[Val]:
    if x.weak and is_float(x.scalar) and not is_float(attrs["scalar"]):
        raise Refused("a Python float never becomes an integer")
    return [_strong(convert(x, attrs["scalar"]))]


def _dot(a: Val, b: Val) -> Val:
    if a.comp != b.comp or len(a.comp) != 1:
        raise Refused("vectors")
    scalar = promote(a, b)
    scalar = scalar if is_float(scalar) else "float"
    products = multiply(convert(a, scalar), convert(b, scalar))
    total = _part(products, 0)
    for k in range(1, a.comp[0]):
        total = add(total, _part(products, k))
    return total


def _sqrt(x: Val) -> Val:
    return UNARY["sqrt"](x)


def _wide(x: Val, comp: tuple[int, ...]) -> Val:
    """A scalar in every component."""
    v = np.broadcast_to(x.v.reshape(x.grid + (1,) * len(comp)), x.grid + comp)
    return Val(x.scalar, comp, v, np.broadcast_to(np.broadcast_to(x.e, x.v.shape).reshape(x.grid + (1,) * len(comp)), v.shape))


def _normalize(a: Val) -> Val:
    found = divide(a, _wide(_sqrt(_dot(a, a)), a.comp))
    with np.errstate(all="ignore"):
        e = found.e + 8 * UNIT[found.scalar] * np.abs(found.v).astype(np.float64)
    return make(found.scalar, found.comp, found.v, e)


def _cross(a: Val, b: Val) -> Val:
    if a.comp != (3,) or b.comp != (3,):
        raise Refused("vectors of three")
    scalar = promote(a, b)
    a, b = (convert(x, scalar if is_float(scalar) else "float") for x in (a, b))
    return subtract(
        multiply(_part(a, [1, 2, 0]), _part(b, [2, 0, 1])),
        multiply(_part(a, [2, 0, 1]), _part(b, [1, 2, 0])),
    )


def _reflect(i: Val, n: Val) -> Val:
    return subtract(i, multiply(_wide(multiply(number(2), _dot(n, i)), i.comp), n))


def _matmul(a: Val, b: Val) -> Val:
    if not a.comp or not b.comp or len(a.comp) + len(b.comp) < 3 or a.comp[-1] != b.comp[0]:
        raise Refused("inner extents")
    scalar = promote(a, b)
    if scalar == "bool":
        raise Refused("bools")
    a, b = convert(a, scalar), convert(b, scalar)
    rows = [_part(a, r) for r in range(a.comp[0])] if len(a.comp) == 2 else [a]
    columns = [_column(b, c) for c in range(b.comp[1])] if len(b.comp) == 2 else [b]
    cells = []
    for row in rows:
        for column in columns:
            products = multiply(row, column)
            total = _part(products, 0)
            for k in range(1, row.comp[0]):
                total = add(total, _part(products, k))
            cells.append(total)
    comp = a.comp[:-1] + b.comp[1:]
    (found,) = _construct({"scalar": scalar, "comp": comp}, *cells)
    return _strong(found)


def _column(x: Val, c: int) -> Val:
    v = x.v[..., :, c]
    return Val(x.scalar, (x.comp[0],), v, np.broadcast_to(x.e, x.v.shape)[..., :, c])


# ---- folds ----------------------------------------------------------------------------------------------------------


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


def _summed(v: Any, e: Any, scalar: str, count: int, f: Callable[..., Any]) -> tuple[Any, Any]:
    """Sums by `f`, of which nothing is lost where all partial sums have few enough bits; else a rounding for each term."""
    total, spread = f(v), f(np.abs(v)).astype(np.float64)
    finest = 2.0**-10
    exact = not np.any(e) and np.all(np.floor(v / finest) * finest == v) and np.all(spread < finest / UNIT[scalar] / 2)
    return total, (np.zeros(total.shape) if exact else f(e) + (count + 2) * UNIT[scalar] * (spread + f(e)))


def _reduce(attrs: dict[str, Any], x: Val) -> list[Val]:
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
    weak = x.weak and kind not in ("any", "all", "argmax", "argmin")
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
        return [make("bool", x.comp, f(x.v, axis=axes, keepdims=keep), np.any(x.e > 0, axis=axes, keepdims=keep))]
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
            return [make(want, x.comp, v, 0 if few else e + (count + 2) * UNIT[want] * size, weak)]
    v, e = _summed(x.v, e, want, count, total)
    found = make(want, x.comp, v, e, weak, rounds=0)
    if kind == "mean":
        found = divide(found, make(want, (), np.asarray(WIDE(count))))
    found.weak = weak
    return [found]


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
    return make("int", (), at, unknown)


def _scan(attrs: dict[str, Any], x: Val) -> list[Val]:
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
                made, bound = _summed(v, e, want, len(v), lambda a: np.cumsum(a, axis=0))
            else:
                made, bound = np.cumsum(v, axis=0, dtype=dtype), np.cumsum(e, axis=0)
        else:
            made, bound = np.cumprod(v, axis=0, dtype=dtype), np.cumsum(e, axis=0)
            if is_float(want):
                size = np.cumprod(np.abs(v), axis=0).astype(np.float64)
                few = not np.any(e) and np.all(made.astype(SCALARS[want]) == made) and np.all(size < 0.5 / UNIT[want])
                grown = np.cumprod(np.abs(v) + e, axis=0).astype(np.float64) - size
                bound = np.zeros(made.shape) if few else grown + (len(v) + 2) * UNIT[want] * size
        if not is_float(want) and want != "bool" and np.iinfo(SCALARS[want]).min < 0 and kind in ("sum", "prod"):
            wide = (np.cumsum if kind == "sum" else np.cumprod)(np.abs(v.astype(WIDE)), axis=0)
            if wide.size and wide.max() > np.iinfo(SCALARS[want]).max:
                raise Refused("overflow")
    return [make(want, x.comp, np.moveaxis(made, 0, axis), np.moveaxis(bound, 0, axis), x.weak, rounds=0)]


def _fold_call(attrs: dict[str, Any], x: Val) -> list[Val]:
    """`fp.reduce` and `fp.scan` by ``m.big``, ``m.add``, and ``m.chain``, which does not commute."""
    if (x.scalar, x.comp) != ("float", (2,) if attrs["function"] == "chain" else ()) or x.weak:
        raise Refused("type")
    if attrs["function"] != "chain":
        kind = {"big": "max", "add": "sum"}[attrs["function"]]
        if attrs["scan"]:
            found = _scan({**attrs, "kind": kind}, x)
        else:
            found = _reduce({**attrs, "kind": kind}, x)
        if attrs["function"] == "big" and (attrs.get("exclusive") or not all(x.grid)):
            raise Refused("the identity is not NumPy's")
        return [_strong(f) for f in found]
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
        return [_strong(x)]
    made, total = [], one
    for p in parts:
        after = _chain(total, p)
        made.append(total if attrs.get("exclusive") else after)
        total = after
    return [Val("float", (2,), np.stack([m.v for m in made], axis), np.stack([m.e for m in made], axis))]


def _chain(a: Val, b: Val) -> Val:
    x = multiply(_part(a, 0), _part(b, 0))
    y = add(multiply(_part(a, 1), _part(b, 0)), _part(b, 1))
    return _construct({"scalar": "float", "comp": (2,)}, x, y)[0]


# ---- Slang functions ------------------------------------------------------------------------------------------------


def _constant(*numbers: float) -> Val:
    return make("float", (len(numbers),), np.asarray(numbers))


def _total(x: Val, t: Val, weights: bool) -> Val:
    if weights:
        rows = make("float", (), np.arange(1, t.grid[0] + 1, dtype=WIDE)[:, None])
        t = multiply(t, rows)
    e = np.broadcast_to(t.e, t.v.shape)
    size = float(np.abs(t.v).sum()) + float(np.abs(x.v).max(initial=0))
    v, bound = _summed(t.v, e, "float", t.v.size, np.sum)
    if bound:
        bound += t.v.size * UNIT["float"] * size
    return add(x, make("float", (), np.asarray(v), np.asarray(bound), rounds=0))


def _next(t: Val) -> Val:
    rows = np.minimum(np.arange(t.grid[0]) + 1, t.grid[0] - 1)
    return Val(t.scalar, (), t.v[rows], np.broadcast_to(t.e, t.v.shape)[rows])


def _count(x: Val, t: Val) -> Val:
    weighted = multiply(t, make("int", (), np.arange(1, t.grid[0] + 1)))
    total = _reduce({"kind": "sum", "axis": None}, weighted)[0]
    return add(x, total)


def _turned(x: Val) -> Val:
    return Val(x.scalar, x.comp[::-1], np.swapaxes(x.v, -1, -2), np.swapaxes(np.broadcast_to(x.e, x.v.shape), -1, -2))


def _luma(c: Val) -> Val:
    return _dot(c, _constant(1, 2, 4))


RAY = ("Ray", (4,))  # three numbers of `at`, then `t`


def _ray(at: Val, t: Val) -> Val:
    made = _construct({"scalar": "float", "comp": (4,)}, at, t)[0]
    return Val("Ray", (4,), made.v, made.e)


def _fields(r: Val) -> tuple[Val, Val]:
    x = Val("float", (4,), r.v, r.e)
    return _part(x, [0, 1, 2]), _part(x, 3)


def _along(r: Val, k: Val) -> Val:
    at, t = _fields(r)
    return add(multiply(at, k), t)


def _moved(r: Val, k: Val) -> Val:
    at, t = _fields(r)
    return _ray(add(at, k), t)


def _field(attrs: dict[str, Any], r: Val) -> list[Val]:
    if r.scalar != "Ray":
        raise Refused("no struct")
    return [_fields(r)[attrs["name"] == "t"]]


def _chosen_ray(attrs: dict[str, Any], test: Val, a: Val, b: Val) -> list[Val]:
    if (a.scalar, b.scalar, test.scalar, test.comp) != ("Ray", "Ray", "bool", ()):
        raise Refused("no structs")
    a, b = (Val("float", (4,), x.v, x.e) for x in (a, b))
    made = where(test, a, b)
    return [Val("Ray", (4,), made.v, made.e)]


FL, F2, F3, M23 = ("float", ()), ("float", (2,)), ("float", (3,)), ("float", (2, 3))
# name -> parameters, and what it gives; a parameter "whole 1" is an array that is read whole
FUNCTIONS: dict[str, tuple[list[Any], Callable[..., Any]]] = {
    "twice": ([FL], lambda x: multiply(number(2), x)),
    "less": ([FL, FL], subtract),
    "add": ([FL, FL], add),
    "big": ([FL, FL], SEVERAL["maximum"][1]),
    "add_int": ([("int", ())] * 2, add),
    "add_long": ([("int64_t", ())] * 2, add),
    "mix_double": ([("double", ())] * 2, lambda a, b: subtract(multiply(a, number(2)), b)),
    "less_half": ([("half", ())] * 2, subtract),
    "either": ([("bool", ())] * 2, OPERATORS["bitor"][1]),
    "same": ([None], lambda x: x),
    "tone": ([F3, FL], lambda c, k: add(multiply(c, k), _constant(1, 2, 3))),
    "luma": ([F3], _luma),
    "chain": ([F2, F2], _chain),
    "apply": ([M23, F2], lambda m, v: _matmul(v, m)),
    "turn": ([M23], _turned),
    "ray": ([F3, FL], _ray),
    "along": ([RAY, FL], _along),
    "moved": ([RAY, FL], _moved),
    "parts": ([FL], lambda x: (SEVERAL["minimum"][1](x, number(0)), SEVERAL["maximum"][1](x, number(0)))),
    "bump": ([FL, FL], lambda x, by: (x, add(x, by))),
    "exchange": ([("int", ())] * 2, lambda a, b: (b, a)),
    "total1": ([FL, "whole float 1"], lambda x, t: _total(x, t, False)),
    "total2": ([FL, "whole float 2"], lambda x, t: _total(x, t, True)),
    "count1": ([("int", ()), "whole int 1"], _count),
}


def _call(attrs: dict[str, Any], *operands: Val) -> list[Val]:
    parameters, f = FUNCTIONS[attrs["name"]]
    for p, x in zip(parameters, operands, strict=True):
        if isinstance(p, str):
            _, scalar, rank = p.split()
            if (x.scalar, x.comp, x.rank) != (scalar, (), int(rank)) or x.weak:
                raise Refused("whole")
        elif p is not None and ((x.scalar, x.comp) != p or (x.weak and x.rank)):
            raise Refused("type")
    if attrs["name"] == "same" and operands[0].rank and not operands[0].comp:
        raise Refused("an array of scalars may be one of vectors")
    grid = np.broadcast_shapes(*(x.grid for p, x in zip(parameters, operands) if not isinstance(p, str)))
    found = f(*operands)
    made = list(found) if isinstance(found, tuple) else [found]
    return [_strong(Val(x.scalar, x.comp, *_spread(x, grid))) for x in made]


def _spread(x: Val, grid: tuple[int, ...]) -> tuple[Any, Any]:
    return np.broadcast_to(x.v, grid + x.comp), np.broadcast_to(x.e, grid + x.comp)


def _outer(attrs: dict[str, Any], a: Val, b: Val) -> list[Val]:
    """``m.less`` of values that run along dimensions of their own."""
    rank = max([*attrs["a"], *attrs["b"]], default=-1) + 1
    if {*attrs["a"], *attrs["b"]} != set(range(rank)) or a.rank != len(attrs["a"]) or b.rank != len(attrs["b"]):
        raise Refused("dimensions")
    return _call({"name": "less"}, *(_turn_axes(x, d, rank) for x, d in ((a, attrs["a"]), (b, attrs["b"]))))


def _turn_axes(x: Val, dims: Sequence[int], rank: int) -> Val:
    order = [dims.index(d) for d in sorted(dims)]
    shape = [x.grid[dims.index(d)] if d in dims else 1 for d in range(rank)]
    return Val(x.scalar, x.comp, np.transpose(x.v, order).reshape(shape), np.transpose(x.e, order).reshape(shape), x.weak)


KNOWN: dict[str, Callable[..., list[Val]]] = {
    "member": _member,
    "index": _index,
    "construct": _construct,
    "cast": _cast,
    "dot": lambda attrs, a, b: [_dot(a, b)],
    "cross": lambda attrs, a, b: [_cross(a, b)],
    "length": lambda attrs, a: [_sqrt(_dot(a, a))],
    "normalize": lambda attrs, a: [_normalize(a)],
    "reflect": lambda attrs, a, b: [_reflect(a, b)],
    "matmul": lambda attrs, a, b: [_matmul(a, b)],
    "reduce": _reduce,
    "scan": _scan,
    "fold": _fold_call,
    "call": _call,
    "next": lambda attrs, t: [_next(t)],
    "outer": _outer,
    "field": _field,
    "choose": _chosen_ray,
}
__all__ = ["FUNCTIONS", "aligned", "evaluate", "run_step", "where"]
