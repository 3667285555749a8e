"""Kinds of nodes that every studio has: numbers, colours, pixels, photographs, and arithmetic."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import fusepy as fp
from fusepy.errors import StudioError
from fusepy.studio.files import inside
from fusepy.studio.kinds import ANY, FILE, NodeKind, Port, PortValue
from fusepy.studio.pictures import PICTURES, photograph
from fusepy.studio.recipes import RESULT, NodeRecipe, Values

SOURCES, ARITHMETIC = "Sources", "Arithmetic"
MOST_SHOWN = 200  # pictures that are offered by name


def number_recipe(name: str, type: str, default: PortValue, ends: tuple[float, float], doc: str) -> NodeRecipe:
    """Returns the recipe of a number or vector that several nodes may use."""
    port = Port("value", type, default, ends, fixed=True)
    return _Given(NodeKind(name, name, SOURCES, (port,), (Port("value", type, described=type),), doc), _unchanged, "")


class _Given(NodeRecipe):
    """A node whose argument is its output."""

    def build(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {"value": given["value"]}

    def lines(self, given: Mapping[str, str], names: Mapping[str, str]) -> list[str]:
        return [f"{names['value']} = {given['value']}"]


class PixelsRecipe(NodeRecipe):
    """The pixels of a picture: their coordinates, and these divided by the size."""

    def __init__(self) -> None:
        sizes = [Port(n, "int", 512, (1, 4096), fixed=True, doc="pixels") for n in ("width", "height")]
        outputs = (Port("uv", "float2", described="Tensor<float2>[?,?]"), Port("pixel", "int2", described="Tensor<int2>[?,?]"))
        kind = NodeKind("pixels", "pixels", SOURCES, tuple(sizes), outputs, "The pixels of a new picture.")
        super().__init__(kind, fp.grid, "")

    def arguments(self, values: Values) -> dict[str, Any]:
        width, height = cast("tuple[int, int]", (values["width"], values["height"]))
        return {"grid": fp.grid((height, width)), "size": fp.vcast([float(width), float(height)], "float2")}

    def written(self, values: Values) -> dict[str, str]:
        width, height = values["width"], values["height"]
        return {"grid": f"fp.grid(({height}, {width}))", "size": f'fp.vcast([{width}.0, {height}.0], "float2")'}

    def build(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {"uv": (given["grid"] + 0.5) / given["size"], "pixel": given["grid"]}

    def lines(self, given: Mapping[str, str], names: Mapping[str, str]) -> list[str]:
        return [f"{names['uv']} = ({given['grid']} + 0.5) / {given['size']}", f"{names['pixel']} = {given['grid']}"]


class PhotographRecipe(NodeRecipe):
    """A picture file below the folder of the studio, uploaded once."""

    needs = ("photograph",)

    def __init__(self, device: fp.Device, folder: Path):
        self.device, self.folder = device, folder
        self.kept: dict[tuple[str, int, int], Any] = {}
        found = pictures_in(folder)
        inputs = (
            Port("file", FILE, found[0] if found else None, choices=found, fixed=True, doc="a picture below the folder"),
            Port("longest", "int", 512, (16, 4096), fixed=True, doc="pixels of the longer side at most"),
        )
        doc = "A photograph: sRGB code values in 0 to 1."
        kind = NodeKind(
            "photograph", "photograph", SOURCES, inputs, (Port("picture", "float3", described="Tensor<float3>[?,?]"),), doc
        )
        super().__init__(kind, photograph, "photograph")

    def arguments(self, values: Values) -> dict[str, Any]:
        name, longest = cast("tuple[str, int]", (values["file"], values["longest"]))
        path = inside(self.folder, name, PICTURES)
        try:
            key = (name, longest, path.stat().st_mtime_ns)
        except OSError:
            raise StudioError(f"there is no picture {name}", hint="copy it into the folder of the studio") from None
        if key not in self.kept:
            self.kept = {k: v for k, v in self.kept.items() if k[0] != name or k[2] == key[2]}
            self.kept[key] = fp.Tensor.from_numpy(self.device, photograph(path, longest), "float3")
        return {"picture": self.kept[key]}

    def stamp(self, arguments: Mapping[str, Any]) -> object:
        return id(arguments["picture"])

    def written(self, values: Values) -> dict[str, str]:
        return {"picture": f"photograph({values['file']!r}, {values['longest']})"}

    def build(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {"picture": given["picture"]}

    def lines(self, given: Mapping[str, str], names: Mapping[str, str]) -> list[str]:
        return [f"{names['picture']} = {given['picture']}"]


class OperatorRecipe(NodeRecipe):
    """An operator or a function of fusepy. Its operands are what the compiler takes."""

    def __init__(self, name: str, function: Callable[..., Any], form: str):
        doc = form.replace("{", "").replace("}", "")
        inputs = tuple(Port(n, ANY) for n in ("a", "b", "t") if f"{{{n}}}" in form)
        super().__init__(NodeKind(name, name, ARITHMETIC, inputs, (Port(RESULT, ANY),), doc), function, form)

    def lines(self, given: Mapping[str, str], names: Mapping[str, str]) -> list[str]:
        return [f"{names[RESULT]} = {self.spelled.format(**given)}"]


# the name of a kind: what it computes, as a program has it
_FORMS = {
    "add": "{a} + {b}",
    "subtract": "{a} - {b}",
    "multiply": "{a} * {b}",
    "divide": "{a} / {b}",
    "minimum": "fp.minimum({a}, {b})",
    "maximum": "fp.maximum({a}, {b})",
    "lerp": "fp.lerp({a}, {b}, {t})",
    "absolute": "fp.abs({a})",
    "square_root": "fp.sqrt({a})",
    "mean": "fp.mean({a})",
}
_OPERATORS: dict[str, Callable[..., Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


def operators() -> list[NodeRecipe]:
    """Returns the recipes of arithmetic."""
    return [OperatorRecipe(name, _function(form), form) for name, form in _FORMS.items()]


def _function(form: str) -> Callable[..., Any]:
    """Returns what a form computes, of values of a graph."""
    if not form.startswith("fp."):
        return _OPERATORS[form.split()[1]]
    function: Any = fp.fuse(getattr(fp, form[3:].partition("(")[0]))
    return function.node()


def _unchanged(value: Any) -> Any:
    return value


def sources(device: fp.Device, folder: Path) -> list[NodeRecipe]:
    """Returns the recipes of numbers, colours, pixels and photographs."""
    return [
        PhotographRecipe(device, folder),
        PixelsRecipe(),
        number_recipe("number", "float", 0.5, (0.0, 1.0), "A number for several nodes."),
        number_recipe("integer", "int", 1, (0, 16), "A whole number for several nodes."),
        number_recipe("colour", "float3", (0.5, 0.5, 0.5), (0.0, 1.0), "A colour, or three numbers."),
        *operators(),
    ]


def pictures_in(folder: Path) -> tuple[str, ...]:
    """Returns the names of pictures in a folder and the folders in it, sorted."""
    found = [p for pattern in ("*", "*/*") for p in folder.glob(pattern) if p.suffix.lower() in PICTURES and p.is_file()]
    return tuple(sorted(p.relative_to(folder).as_posix() for p in found))[:MOST_SHOWN]
