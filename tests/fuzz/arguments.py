"""Random arguments: their type, extents, container and strides, and what numbers are in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.fuzz.program import Arg
from tests.fuzz.uploads import draw_default, draw_texture
from tests.fuzz.values import INTS, SCALARS, is_float

if TYPE_CHECKING:
    from tests.fuzz.generate import Draw

LETTERS = "abcd"


def argument(d: Draw, rank: int, theme: str) -> Arg:
    """A random argument of a program whose grid has `rank` dimensions."""
    empty = any(0 in t.values() for t in d.program.sizes)
    if theme == "default" and d.chance(0.7):
        return draw_default(d, rank, LETTERS)
    if theme == "texture" and 1 <= rank <= 3 and not empty and d.chance(0.7):
        return draw_texture(d, rank, LETTERS)
    scalar = {
        "struct": lambda: "",
        "float": lambda: d.one(["float", "float", "float", "int", "bool"]),
        "int": lambda: d.one(INTS),
        "signs": lambda: d.one(("int", "uint") if d.chance(0.4) else INTS),
        "any": lambda: d.one(list(SCALARS)),
        "vector": lambda: d.one(["float", "float", "float", "int", "double", "half", "uint", "bool"]),
        "double": lambda: d.one(["double", "double", "float", "int64_t", "int"]),
        "half": lambda: d.one(["half", "half", "float", "int16_t", "uint8_t"]),
        "texture": lambda: d.one(["float", "float", "float", "int"]),
        "default": lambda: d.one(["float", "float", "float", "int"]),
    }[theme]()
    comp: tuple[int, ...] = ()
    if theme == "struct":
        scalar, comp = d.one([("Ray", (4,)), ("Ray", (4,)), ("float", ()), ("float", (3,)), ("bool", ())])
    if theme == "vector" and d.chance(0.7):
        comp = d.one([(2,), (3,), (3,), (4,), (2, 2), (2, 3), (3, 3), (4, 4)])
        if len(comp) == 2 and scalar not in ("float", "double", "int", "half"):
            comp = comp[:1]
    if theme == "signs" and d.chance(0.3):
        comp = (3,)
    dims: list[Any] = list(LETTERS[:rank])[d.one([0, 0, 0, *range(rank + 1)]) :]
    dims = [1 if d.chance(0.12) else x for x in dims]
    if scalar == "float" and not comp and len(dims) > 1 and d.chance(0.2):
        dims[-1] = 3  # an image, perhaps
    passed = d.one(["tensor", "tensor", "tensor", "numpy", "numpy", *(["torch"] if d.torch else [])])
    layout = d.one(["C", "C", "C", "F", "strided", "reversed", "repeated", "shifted"])
    if not comp and scalar in ("bool", "int", "float"):
        if not dims and d.chance(0.7):
            passed, layout = "number", "C"
        elif dims and not empty and d.chance(0.1):
            passed, layout = "list", "C"
    if not dims:
        layout = "C"
    data = d.one(
        ["small", "small", "large"] if theme == "signs" else ["small", "small", "small", "rough", "positive", "unit", "large"]
    )
    if is_float(scalar) and d.chance(0.08):
        data = "special"
    if scalar == "half" and data == "large":
        data = "small"
    if passed in ("number", "list") and data in ("rough", "unit"):
        data = "small"
    return Arg(scalar, comp, tuple(dims), passed, layout, data, seed=d.random.randrange(1 << 16))
