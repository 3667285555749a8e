"""The meaning of the Slang functions that programs call."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.fuzz.components import construct, dot, matmul, part
from tests.fuzz.elementwise import OPERATORS, SEVERAL, add, multiply, subtract, where
from tests.fuzz.reductions import chain, reduce, summed
from tests.fuzz.uploads import padded, uploaded
from tests.fuzz.values import TEXTURE, UNIT, WIDE, Refused, Val, is_float, make, number, special, strong


def _constant(*numbers: float) -> Val:
    return make("float", (len(numbers),), np.asarray(numbers))


def _total(x: Val, t: Val, weights: bool) -> Val:
    if weights:
        rows = make("float", (), np.arange(1, t.grid[0] + 1, dtype=WIDE)[:, None])
        t = multiply(t, rows)
    e = np.broadcast_to(t.e, t.v.shape)
    size = float(np.abs(t.v).sum()) + float(np.abs(x.v).max(initial=0))
    v, bound = summed(t.v, e, "float", t.v.size, np.sum)
    if bound or np.any(x.e) or np.any(x.v != np.round(x.v)):  # the sum begins with `x`, whose digits it may lose
        bound += 4 * t.v.size * UNIT["float"] * size
    return add(x, make("float", (), np.asarray(v), np.asarray(bound), rounds=0))


def next_row(t: Val) -> Val:
    t = _seen("whole float 2", t, False)
    if (t.scalar, t.comp, t.rank) != ("float", (), 2) or t.weak or t.arrives == TEXTURE:
        raise Refused("whole")
    rows = np.minimum(np.arange(t.grid[0]) + 1, t.grid[0] - 1)
    return Val(t.scalar, (), t.v[rows], np.broadcast_to(t.e, t.v.shape)[rows])


def placed(attrs: dict[str, Any], x: Val) -> list[Val]:
    """What is passed beside coordinates, which are added."""
    nth = attrs["function"] == "nth"
    if (x.scalar, x.comp) != ("float", ()) or not 1 <= x.rank <= (4 if nth else 3) or x.weak:
        raise Refused("type")
    if nth:
        at = np.arange(math.prod(x.grid)).reshape(x.grid)
    else:
        at = sum(np.indices(x.grid)[axis] * 16 ** (x.rank - 1 - axis) for axis in range(x.rank))
    return [strong(add(x, make("float", (), np.asarray(at, WIDE))))]


def _count(x: Val, t: Val) -> Val:
    weighted = multiply(t, make("int", (), np.arange(1, t.grid[0] + 1)))
    total = reduce({"kind": "sum", "axis": None}, weighted)[0]
    return add(x, total)


def _turned(x: Val) -> Val:
    return Val(x.scalar, x.comp[::-1], np.swapaxes(x.v, -1, -2), np.swapaxes(np.broadcast_to(x.e, x.v.shape), -1, -2))


def _luma(c: Val) -> Val:
    return dot(c, _constant(1, 2, 4))


WRITES = {"bump": (True, False), "exchange": (True, True)}  # functions that write arguments: which
RAY = ("Ray", (4,))  # three numbers of `at`, then `t`


def _ray(at: Val, t: Val) -> Val:
    made = construct({"scalar": "float", "comp": (4,)}, at, t)[0]
    return Val("Ray", (4,), made.v, made.e)


def _fields(r: Val) -> tuple[Val, Val]:
    x = Val("float", (4,), r.v, r.e)
    return part(x, [0, 1, 2]), part(x, 3)


def _along(r: Val, k: Val) -> Val:
    at, t = _fields(r)
    return add(multiply(at, k), t)


def _moved(r: Val, k: Val) -> Val:
    at, t = _fields(r)
    return _ray(add(at, k), t)


def _drifted(r: Val, k: Val) -> Val:
    at, t = _fields(r)
    return _ray(multiply(at, k), add(t, k))


def _gone(r: Val, k: Val) -> Val:
    at, t = _fields(r)
    return _ray(add(at, multiply(k, t)), multiply(t, k))


def _through(r: Val, x: Val) -> Val:
    at, t = _fields(r)
    return add(multiply(part(at, 0), x), t)


def _height(r: Val, x: Val) -> Val:
    t = _fields(r)[1]
    return add(multiply(t, x), t)


def _reach(r: Val, k: Val) -> Val:
    at, t = _fields(r)
    return add(multiply(at, k), multiply(at, t))


def _split(r: Val) -> tuple[Val, Val]:
    at, t = _fields(r)
    return multiply(at, t), add(t, part(at, 1))


def _picked(i: Val, t: Val) -> Val:
    """The elements of an array that is read whole, at indices of which some are equal."""
    if not t.v.size:
        raise Refused("an empty array")
    at = i.v.astype(np.int64) & 0xFFFFFFFF
    places = tuple(at % extent for extent in t.grid)
    e = np.broadcast_to(t.e, t.v.shape)[places]
    return Val(t.scalar, (), t.v[places], np.where(i.e > 0, np.inf, e))


def _texel(i: Val, t: Val) -> Val:
    """The first three channels of a texel, weighted: on CUDA a fourth that the format lacks is 0, elsewhere 1."""
    first, *others = (_picked(i, one) for one in padded(t))
    for weight, one in zip((2, 4), others):
        first = add(first, multiply(number(weight), one))
    return first


def _first(t: Val) -> Val:
    return Val(t.scalar, (), t.v[0], np.broadcast_to(t.e, t.v.shape)[0])


def _cubed(x: Val) -> Val:
    if x.comp or x.weak or not is_float(x.scalar):
        raise Refused("type")
    return multiply(multiply(x, x), x)


def _mixed(a: Val, b: Val) -> Val:
    if len(a.comp) != 1 or a.weak or b.weak or not is_float(a.scalar) or (a.scalar, a.comp) != (b.scalar, b.comp):
        raise Refused("type")
    return add(multiply(a, b), a)


def field(attrs: dict[str, Any], r: Val) -> list[Val]:
    if r.scalar != "Ray":
        raise Refused("no struct")
    return [_fields(r)[attrs["name"] == "t"]]


def choose(attrs: dict[str, Any], test: Val, a: Val, b: Val) -> list[Val]:
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
    "chain": ([F2, F2], chain),
    "apply": ([M23, F2], lambda m, v: matmul(v, m)),
    "turn": ([M23], _turned),
    "ray": ([F3, FL], _ray),
    "along": ([RAY, FL], _along),
    "moved": ([RAY, FL], _moved),
    "drift": ([RAY, FL], _drifted),
    "split": ([RAY], _split),
    "follow": ([RAY, FL], lambda r, x: multiply(_through(r, x), x)),
    "any_curve": ([RAY, FL], lambda r, x: subtract(_height(r, x), x)),
    "Ray.through": ([RAY, FL], _through),
    "Ray.reach": ([RAY, FL], _reach),
    "Ray.go": ([RAY, FL], _gone),
    "cubed": ([None], _cubed),
    "mixed": ([None, None], _mixed),
    "pick1": ([FL, ("int", ()), "whole float 1"], lambda x, i, t: add(multiply(x, _picked(i, t)), _first(t))),
    "pick2": ([("int", ()), "whole float 2"], _picked),
    "parts": ([FL], lambda x: (SEVERAL["minimum"][1](x, number(0)), SEVERAL["maximum"][1](x, number(0)))),
    "bump": ([FL, FL], lambda x, by: (x, add(x, by))),
    "exchange": ([("int", ())] * 2, lambda a, b: (b, a)),
    "total1": ([FL, "whole float 1"], lambda x, t: _total(x, t, False)),
    "total2": ([FL, "whole float 2"], lambda x, t: _total(x, t, True)),
    "count1": ([("int", ()), "whole int 1"], _count),
    "texel1": ([("int", ()), "texels float 1"], _texel),
    "texel2": ([("int", ()), "texels float 2"], _texel),
    "texel3": ([("int", ()), "texels float 3"], _texel),
    "texel_int": ([("int", ()), "texels int 2"], _texel),
    "texel_one": ([FL, ("int", ()), "texels float 2"], lambda x, i, t: multiply(x, _picked(i, padded(t)[0]))),
}


def call(attrs: dict[str, Any], *operands: Val) -> list[Val]:
    parameters, f = FUNCTIONS[attrs["name"]]
    operands = tuple(
        _seen(p, x, written)
        for p, x, written in zip(parameters, operands, WRITES.get(attrs["name"], (False,) * len(operands)), strict=True)
    )
    for p, x in zip(parameters, operands, strict=True):
        if isinstance(p, str):
            kind, scalar, rank = p.split()
            texels = x.arrives == TEXTURE
            if (x.scalar, x.rank) != (scalar, int(rank)) or x.weak or texels != (kind == "texels") or (x.comp and not texels):
                raise Refused("whole")
        elif p is not None and ((x.scalar, x.comp) != p or (x.weak and x.rank)):
            raise Refused("type")
    if attrs["name"] == "same" and operands[0].rank and not operands[0].comp:
        raise Refused("an array of scalars may be one of vectors")
    grid = np.broadcast_shapes(*(x.grid for p, x in zip(parameters, operands) if not isinstance(p, str)))
    if attrs["name"] in ("big", "parts", "total1", "total2") and any(map(special, operands)):
        raise Refused("Slang's own min and max, and sums in an order of their own")
    found = f(*operands)
    made = list(found) if isinstance(found, tuple) else [found]
    weak = all(x.weak for x in operands)  # of numbers alone, a number
    return [Val(x.scalar, x.comp, *_spread(x, grid), weak and x.scalar != "Ray") for x in made]


def _seen(p: Any, x: Val, written: bool) -> Val:
    """What a parameter sees of an operand: what is written to is never converted."""
    if not x.arrives or written or p is None:
        return x
    scalar, comp = p if isinstance(p, tuple) else (p.split()[1], ())
    return uploaded(x, scalar) if x.scalar != scalar and not comp else x


def image(attrs: dict[str, Any], x: Val, *others: Val) -> list[Val]:
    """A call with an array of numbers whose last axis becomes the components of a vector."""
    x = _seen(FL, x, False)
    if x.scalar != "float" or x.comp or x.weak or x.rank < 2 or x.grid[-1] != 3 or x.arrives == TEXTURE:
        raise Refused("no image")
    return call(attrs, Val("float", (3,), x.v, np.broadcast_to(x.e, x.v.shape)), *others)


def accumulate(attrs: dict[str, Any], *operands: Val) -> list[Val]:
    """One value of those of all calls."""
    (x,) = call(attrs, *operands)
    kind = attrs["kind"]
    if not x.v.size:
        raise Refused("no calls")
    if kind == "push" or not x.rank:
        return [x]
    if kind == "first":
        place = (0,) * x.rank
        return [Val(x.scalar, x.comp, x.v[place], x.e[place])]
    return [strong(reduce({"kind": kind, "axis": None}, x)[0])]


def _spread(x: Val, grid: tuple[int, ...]) -> tuple[Any, Any]:
    return np.broadcast_to(x.v, grid + x.comp), np.broadcast_to(x.e, grid + x.comp)


def outer(attrs: dict[str, Any], a: Val, b: Val) -> list[Val]:
    """``m.less`` of values that run along dimensions of their own."""
    rank = max([*attrs["a"], *attrs["b"]], default=-1) + 1
    if {*attrs["a"], *attrs["b"]} != set(range(rank)) or a.rank != len(attrs["a"]) or b.rank != len(attrs["b"]):
        raise Refused("dimensions")
    return call({"name": "less"}, *(_turn_axes(x, d, rank) for x, d in ((a, attrs["a"]), (b, attrs["b"]))))


def _turn_axes(x: Val, dims: Sequence[int], rank: int) -> Val:
    order = [dims.index(d) for d in sorted(dims)]
    shape = [x.grid[dims.index(d)] if d in dims else 1 for d in range(rank)]
    v, e = (np.transpose(a, order).reshape(shape) for a in (x.v, x.e))
    return Val(x.scalar, x.comp, v, e, x.weak, x.arrives)
