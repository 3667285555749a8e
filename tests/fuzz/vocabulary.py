"""NumPy's words, each a step of its own: what they mean, their texts, and draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.fuzz.array_words import OF_ARRAYS
from tests.fuzz.element_words import OF_ELEMENTS
from tests.fuzz.program import Step
from tests.fuzz.values import Refused, Val

if TYPE_CHECKING:
    from tests.fuzz.generate import Draw

WORDS = {**OF_ELEMENTS, **OF_ARRAYS}
# which choose among elements, so that equal ones are a tie of gradients
CHOOSE = {"take_along_axis", "cummax", "cummin", "ptp", "nanmax", "nanmin", "median", "quantile", "percentile", "fmin", "fmax"}
CHOOSE |= {"sum of pairs", "maximum of pairs"}


def vocabulary(attrs: dict[str, Any], *operands: Val) -> list[Val]:
    """The value of a word."""
    word = WORDS[attrs["word"]]
    if attrs["word"] in OF_ELEMENTS:
        return [word.of(*operands)]
    (x,) = operands
    if x.weak or x.comp or not 0 <= attrs["axis"] < x.rank or not x.v.size:
        raise Refused("an array of numbers")
    return [word.of(x, attrs["axis"])]


def text(attrs: dict[str, Any], names: list[str]) -> str:
    return WORDS[attrs["word"]].text.format(*names, axis=attrs["axis"])


def direct(attrs: dict[str, Any]) -> bool:
    """True for a word that may be called outside of a fused function: no part of it is an operator of NumPy's."""
    return "[..., " not in WORDS[attrs["word"]].text and ")[" not in WORDS[attrs["word"]].text


def draw(d: Draw, a: int, x: Val) -> Step | None:
    """A word of a value, or of another one where that is no array of numbers."""
    if d.chance(0.5):
        name = d.one(OF_ELEMENTS)
        return Step("vocabulary", [a, *(d.like(a) for _ in range(OF_ELEMENTS[name].count - 1))], {"word": name, "axis": 0})
    fits = [i for i, v in enumerate(d.values[0]) if v.rank and not v.weak and not v.comp]
    if not fits:
        return None
    a = a if a in fits else d.one(fits)
    return Step("vocabulary", [a], {"word": d.one(OF_ARRAYS), "axis": d.one(range(d.values[0][a].rank))})
