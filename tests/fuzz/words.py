"""Composed words: rows in order, histograms, sums of products and statistics of rows; what they mean, their texts, and draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tests.fuzz.arithmetic import subtract
from tests.fuzz.elementwise import UNARY, add, divide, multiply
from tests.fuzz.program import Step
from tests.fuzz.reductions import reduce
from tests.fuzz.values import WIDE, Refused, Val, is_float, make, number, special

if TYPE_CHECKING:
    from tests.fuzz.generate import Draw

ROWS = ("softmax", "var", "std", "norm")
LONGEST = 4096  # elements of a row that is sorted
WORDS = ("topk", "argsort", "histogram", "einsum", *ROWS)


def word(attrs: dict[str, Any], *operands: Val) -> list[Val]:
    """The values of a word."""
    name = attrs["word"]
    if any(x.weak or x.comp for x in operands):
        raise Refused("an array of numbers")
    if name == "einsum":
        return [_einsum(attrs["letters"], attrs["result"], operands)]
    (x,) = operands
    if name == "histogram":
        return _histogram(x, attrs["bins"], attrs["range"])
    axis = attrs["axis"]
    if not 0 <= axis < x.rank or not x.grid[axis]:
        raise Refused("axis")
    if name in ("topk", "argsort"):
        return _ordered(x, axis, attrs) if name == "topk" else _ordered(x, axis, {"k": x.grid[axis], "largest": False})[1:]
    if x.scalar not in ("float", "double"):
        raise Refused("half rounds in an order of its own")
    return [_row(name, x, axis)]


def _row(name: str, x: Val, axis: int) -> Val:
    def fold(kind: str, x: Val, keep: bool = True) -> Val:
        return reduce({"kind": kind, "axis": axis, "keepdims": keep}, x)[0]

    if special(x):
        raise Refused("differences of infinities")
    if name == "softmax":
        powers = UNARY["exp"](subtract(x, fold("max", x)))
        return divide(powers, fold("sum", powers))
    if name == "norm":
        return UNARY["sqrt"](fold("sum", multiply(x, x), False))
    apart = subtract(x, fold("mean", x))
    found = fold("mean", multiply(apart, apart), False)
    return found if name == "var" else UNARY["sqrt"](found)


def _ordered(x: Val, axis: int, attrs: dict[str, Any]) -> list[Val]:
    """The first elements of rows in order, and their places. Equal ones keep their order, NaN is the largest."""
    k, largest = attrs["k"], attrs["largest"]
    if not 0 <= k <= x.grid[axis] <= LONGEST:
        raise Refused("as many")
    v, e = (np.moveaxis(a, axis, -1) for a in (x.v, np.broadcast_to(x.e, x.v.shape)))
    nan = np.isnan(v) if is_float(x.scalar) else np.zeros(v.shape, bool)
    size = np.where(nan, 0, v).astype(WIDE)
    place = np.broadcast_to(np.arange(v.shape[-1]), v.shape)
    at = np.lexsort((place, -size, ~nan) if largest else (place, size, nan), axis=-1)[..., :k]
    doubt = np.broadcast_to(e.max(axis=-1, keepdims=True, initial=0), at.shape)
    values = np.take_along_axis(v, at, -1)
    found = Val(x.scalar, (), np.moveaxis(values, -1, axis), np.moveaxis(doubt, -1, axis))
    return [found, make("int", (), np.moveaxis(at, -1, axis), np.moveaxis(doubt > 0, -1, axis))]


def _histogram(x: Val, bins: int, ends: list[float] | None) -> list[Val]:
    if x.scalar != "float" or special(x) or np.any(x.e) or not x.v.size:
        raise Refused("exact numbers")
    flat = Val("float", (), x.v.reshape(-1), np.zeros(x.v.size))
    found = [number(end) for end in ends] if ends else [reduce({"kind": k, "axis": None}, flat)[0] for k in ("min", "max")]
    low, high = (make("float", (), end.v) for end in found)
    if low.v == high.v:
        low, high = subtract(low, number(0.5)), add(high, number(0.5))
    at = make("float", (), np.arange(bins + 1))
    edges = add(low, multiply(at, divide(subtract(high, low), number(bins))))
    if np.any(edges.e) or np.any(high.e):
        raise Refused("an edge is rounded")
    v = edges.v.reshape(-1)
    inside = (flat.v >= v[:-1, None]) & (
        (flat.v < v[1:, None]) | ((np.arange(bins) == bins - 1)[:, None] & (flat.v == v[1:, None]))
    )
    return [make("int", (), inside.sum(axis=1)), edges]


def _einsum(letters: list[str], result: str, operands: tuple[Val, ...]) -> Val:
    if any(x.scalar not in ("float", "double", "int") or special(x) for x in operands):
        raise Refused("sums in an order of their own")
    flat = "".join(letters)
    order = [*result, *sorted({*flat} - {*result})]
    placed: list[Val] = []
    for text, x in zip(letters, operands, strict=True):
        if x.rank != len(text) or len({*text}) != len(text) or not {*result} <= {*flat}:
            raise Refused("letters")
        turn = [text.index(b) for b in order if b in text]
        shape = [x.grid[text.index(b)] if b in text else 1 for b in order]
        v, e = (np.transpose(a, turn).reshape(shape) for a in (x.v, np.broadcast_to(x.e, x.v.shape)))
        placed.append(Val(x.scalar, (), v, e))
    for b in order:
        if len({x.grid[text.index(b)] for text, x in zip(letters, operands) if b in text}) > 1:
            raise Refused("extents")
    made = placed[0]
    for other in placed[1:]:
        made = multiply(made, other)
    dropped = list(range(len(result), len(order)))
    return reduce({"kind": "sum", "axis": dropped, "keepdims": False}, made)[0] if dropped else made


def text(attrs: dict[str, Any], names: list[str]) -> str:
    word = attrs["word"]
    if word == "einsum":
        subscripts = f"{','.join(attrs['letters'])}->{attrs['result']}"
        return f"fp.einsum({subscripts!r}, {', '.join(names)})"
    if word == "histogram":
        given = [names[0], str(attrs["bins"]), *([] if attrs["range"] is None else [repr(tuple(attrs["range"]))])]
        return f"fp.histogram({', '.join(given)})"
    if word == "topk":
        return f"fp.topk({names[0]}, {attrs['k']}, {attrs['axis']}, {attrs['largest']})"
    return f"fp.{word}({names[0]}, axis={attrs['axis']})"


def draw_word(d: Draw, a: int) -> Step | None:
    """A word of a value, or of another one where that is no array of numbers."""
    fits = [i for i, v in enumerate(d.values[0]) if v.rank and not v.weak and not v.comp]
    if not fits:
        return None
    name = d.one(["topk", "argsort", "histogram", "einsum", "einsum", d.one(ROWS), "rows", "rows"])
    floats = [i for i in fits if d.values[0][i].scalar in ("float", "double")]
    if name in ("histogram", "einsum", *ROWS) and floats:
        fits = floats
    a = a if a in fits else d.one(fits)
    x = d.values[0][a]
    if name == "rows":
        return draw_rows(d, a, x)
    if name == "einsum":
        return _draw_einsum(d, a, x)
    if name == "histogram":
        return Step("word", [a], {"word": name, "bins": d.one([1, 2, 4, 8]), "range": d.one([None, [-2.0, 2.0], [0.0, 4.0]])}, 2)
    axis = d.one(range(x.rank))
    if name == "topk":
        return Step("word", [a], {"word": name, "axis": axis, "k": d.one([0, 1, 2, x.grid[axis]]), "largest": d.chance(0.5)}, 2)
    return Step("word", [a], {"word": name, "axis": axis})


def _draw_einsum(d: Draw, a: int, x: Val) -> Step | None:
    """Sums of products: axes of equal extents share letters, mostly, and the result has some of all letters in any order."""
    places = [a] if d.chance(0.25) else [a, d.place()] if d.chance(0.8) else [a, d.place(), d.place()]
    letters: list[str] = []
    known: dict[tuple[int, ...], list[str]] = {}
    for place in places:
        text = ""
        for axis in range(d.values[0][place].rank):
            extents = tuple(values[place].grid[axis] if axis < values[place].rank else -1 for values in d.values)
            fits = [b for b in known.get(extents, []) if b not in text]
            b = d.one(fits) if fits and d.chance(0.8) else "ijklmnopqrst"[sum(map(len, known.values()))]
            if b not in fits:
                known.setdefault(extents, []).append(b)
            text += b
            if sum(map(len, known.values())) > 6:
                return None
        letters.append(text)
    every = sorted({*"".join(letters)})
    kept = [b for b in every if d.chance(0.5)]
    d.random.shuffle(kept)
    return Step("word", places, {"word": "einsum", "letters": letters, "result": "".join(kept)})


def draw_rows(d: Draw, a: int, x: Val) -> Step | None:
    """Reductions along rows or columns and what uses them, several times over: a region that may be one kernel."""
    along = -1 if x.rank < 2 or d.chance(0.5) else d.one([0, -2, [-2, -1], [0, 1]])
    for _ in range(d.one([1, 2, 3])):
        keep = {
            "kind": d.one(["max", "min", "sum", "mean"]),
            "axis": along if d.chance(0.9) else -1,
            "keepdims": True,
        }
        if not d.take(Step("reduce", [a], keep)):
            return None
        row = len(d.values[0]) - 1
        if not d.take(Step(d.one(["sub", "sub", "add", "mul", "div", "lt", "maximum"]), [a, row])):
            return None
        a = len(d.values[0]) - 1
        if d.chance(0.3):
            d.take(Step(d.one(["exp", "abs", "square", "tanh"]), [a]))
            a = len(d.values[0]) - 1
    return Step("reduce", [a], {"kind": d.one(["sum", "max", "mean"]), "axis": along, "keepdims": d.chance(0.5)})
