"""Moved elements: what NumPy's words that move, join and sort elements mean, their texts, and draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tests.fuzz.program import Step
from tests.fuzz.values import Refused, Val, is_float

if TYPE_CHECKING:
    from tests.fuzz.generate import Draw


class Move(NamedTuple):
    """A word: its text over an operand, an axis and a number; and what it does along the first axis of an array."""

    text: str
    of: Callable[[Any, int], Any]


class Turn(NamedTuple):
    """A word that changes the axes: its text over an operand and an axis; what it does, given the axis and how many axes stay."""

    text: str
    of: Callable[[Any, int, int], Any]


def _axes_turned(a: Any, parts: int) -> Any:
    rank = a.ndim - parts
    return np.transpose(a, (*reversed(range(rank)), *range(rank, a.ndim)))


MOVES = {
    "flip": Move("fp.flip({0}, {1})", lambda a, n: a[::-1]),
    "backwards": Move("fp.moveaxis(fp.moveaxis({0}, {1}, 0)[::-1], 0, {1})", lambda a, n: a[::-1]),
    "roll": Move("fp.roll({0}, {2}, {1})", lambda a, n: np.roll(a, n, axis=0)),
    "behind": Move("fp.split({0}, (1,), {1})[1]", lambda a, n: a[1:]),
    "twice": Move("fp.concatenate([{0}, {0}], {1})", lambda a, n: np.concatenate([a, a])),
    "pad": Move(
        'fp.moveaxis(fp.pad(fp.moveaxis({0}, {1}, 0), [(1, 2), *[(0, 0)] * (fp.ndim({0}) - 1)], "edge"), 0, {1})',
        lambda a, n: a[[0, *range(len(a)), -1, -1]],
    ),
    "repeat": Move("fp.repeat({0}, 2, {1})", lambda a, n: np.repeat(a, 2, axis=0)),
    "take": Move("fp.take({0}, [0, -1, 0], {1})", lambda a, n: a[[0, -1, 0]]),
    "every other": Move("fp.moveaxis(fp.moveaxis({0}, {1}, 0)[::2], 0, {1})", lambda a, n: a[::2]),
}
# words that change the axes: what they do with an array whose last `parts` axes stay
TURNS: dict[str, Turn] = {
    "transpose": Turn("fp.transpose({0})", lambda a, axis, parts: _axes_turned(a, parts)),
    "front": Turn("fp.moveaxis({0}, {1}, 0)", lambda a, axis, parts: np.moveaxis(a, axis, 0)),
    "flat": Turn("fp.reshape({0}, (-1,))", lambda a, axis, parts: a.reshape(-1, *a.shape[a.ndim - parts :])),
    "stack": Turn("fp.stack([{0}, {0}], {1})", lambda a, axis, parts: np.stack([a, a], axis)),
}


def move(attrs: dict[str, Any], x: Val) -> list[Val]:
    """The value of a word; the last axes are components, which stay."""
    axis = attrs["axis"]
    if x.weak or not x.rank or not 0 <= axis < x.rank or not x.grid[axis]:
        raise Refused("axis")
    if attrs["word"] == "sort":
        return [_sorted(x, axis)]
    e = np.broadcast_to(x.e, x.v.shape)
    if attrs["word"] in TURNS:
        v, e = (TURNS[attrs["word"]].of(a, axis, len(x.comp)) for a in (x.v, e))
        return [Val(x.scalar, x.comp, v, e)]
    v, e = (np.moveaxis(MOVES[attrs["word"]].of(np.moveaxis(a, axis, 0), attrs["n"]), 0, axis) for a in (x.v, e))
    return [Val(x.scalar, x.comp, v, e)]


def _sorted(x: Val, axis: int) -> Val:
    """Sorted rows. Each has an element within the largest error of the row."""
    if x.comp or (is_float(x.scalar) and not np.isfinite(x.v).all()):
        raise Refused("an order")
    e = np.broadcast_to(x.e, x.v.shape)
    return Val(x.scalar, (), np.sort(x.v, axis=axis), np.broadcast_to(e.max(axis=axis, keepdims=True), x.v.shape))


def text(attrs: dict[str, Any], name: str) -> str:
    word = attrs["word"]
    if word in TURNS:
        return TURNS[word].text.format(name, attrs["axis"])
    return f"fp.sort({name}, {attrs['axis']})" if word == "sort" else MOVES[word].text.format(name, attrs["axis"], attrs["n"])


def draw_move(d: Draw, a: int, x: Val) -> Step | None:
    if not x.rank or x.weak:
        return None
    attrs = {"word": d.one([*MOVES, *TURNS, "sort"]), "axis": d.one(range(x.rank)), "n": d.one([1, -2, 5])}
    return Step("move", [a], attrs)
