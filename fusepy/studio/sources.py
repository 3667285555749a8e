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
from fusepy.studio.recipes import RESULT, NodeRecipe, Values, quoted

SOURCES, ARITHMETIC = "Sources", "Arithmetic"
MOST_SHOWN = 200  # pictures that are offered by name
_PIXELS = (
    Port("uv", "float2", doc="0 to 1", described="Tensor<float2>[?,?]"),
    Port("pixel", "int2", described="Tensor<int2>[?,?]"),
)


def number_recipe(name: str, type: str, default: PortValue, ends: tuple[float, float], doc: str) -> NodeRecipe:
    """Returns the recipe of a number or vector that several nodes may use."""
    port = Port("value", type, default, ends, fixed=True)
    return SourceRecipe(NodeKind(name, name, SOURCES, (port,), (Port("value", type, described=type),), doc))


class SourceRecipe(NodeRecipe):
    """A node that calls nothing: each output is an expression of the arguments.

    Attributes:
        forms: the expressions by output.
    """

    forms: Mapping[str, str] = {"value": "{value}"}

    def __init__(self, kind: NodeKind):
        super().__init__(kind, _unchanged, "")

    def build(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {port.name: given[port.name] for port in self.kind.outputs}

    def lines(self, given: Mapping[str, str], names: Mapping[str, str]) -> list[str]:
        return [f"{name} = {self.forms[port].format(**given)}" for port, name in names.items()]


class PixelsRecipe(SourceRecipe):
    """The pixels of a picture: their coordinates, and these divided by the size."""

    forms = {"uv": "({grid} + 0.5) / {size}", "pixel": "{grid}"}

    def __init__(self, kind: NodeKind | None = None):
        sizes = [Port(n, "int", 512, (1, 4096), fixed=True, doc="pixels") for n in ("width", "height")]
        super().__init__(kind or NodeKind("pixels", "pixels", SOURCES, tuple(sizes), _PIXELS, "The pixels of a new picture."))

    def size(self, values: Values) -> tuple[int, int]:
        """Returns height and width."""
        return cast("tuple[int, int]", (values["height"], values["width"]))

    def arguments(self, values: Values) -> dict[str, Any]:
        height, width = self.size(values)
        return {"grid": fp.grid((height, width)), "size": fp.vcast([float(width), float(height)], "float2")}

    def written(self, values: Values) -> dict[str, str]:
        height, width = self.size(values)
        return {"grid": f"fp.grid(({height}, {width}))", "size": f'fp.vcast([{width}.0, {height}.0], "float2")'}

    def build(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {"uv": (given["grid"] + 0.5) / given["size"], "pixel": given["grid"]}


class PhotographRecipe(PixelsRecipe):
    """A picture file below the folder of the studio, uploaded once, and its pixels."""

    forms = {"picture": "{picture}", **PixelsRecipe.forms}
    needs = ("photograph",)

    def __init__(self, device: fp.Device, folder: Path):
        self.device, self.folder = device, folder
        self.kept: dict[tuple[str, int, int], fp.Tensor] = {}
        found = pictures_in(folder)
        inputs = (
            Port("file", FILE, found[0] if found else None, choices=found, fixed=True, doc="a picture below the folder"),
            Port("longest", "int", 512, (16, 4096), fixed=True, doc="pixels of the longer side at most"),
        )
        outputs = (Port("picture", "float3", described="Tensor<float3>[?,?]"), *_PIXELS)
        super().__init__(NodeKind("photograph", "photograph", SOURCES, inputs, outputs, "A photograph: code values in 0 to 1."))

    def size(self, values: Values) -> tuple[int, int]:
        height, width = self._tensor(values).shape
        return height, width

    def arguments(self, values: Values) -> dict[str, Any]:
        return {"picture": self._tensor(values), **super().arguments(values)}

    def stamp(self, arguments: Mapping[str, Any]) -> object:
        return id(arguments["picture"])

    def written(self, values: Values) -> dict[str, str]:
        return {"picture": f"photograph({quoted(values['file'])}, {values['longest']})", **super().written(values)}

    def build(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {"picture": given["picture"], **super().build(given)}

    def _tensor(self, values: Values) -> fp.Tensor:
        """Returns the picture on the device; a file that has changed is read again."""
        name, longest = cast("tuple[str, int]", (values["file"], values["longest"]))
        path = inside(self.folder, name, PICTURES)
        try:
            key = (name, longest, path.stat().st_mtime_ns)
        except OSError:
            raise StudioError(f"there is no picture {name}", hint="copy it into the folder of the studio") from None
        if key not in self.kept:
            self.kept = {k: v for k, v in self.kept.items() if k[0] != name or k[2] == key[2]}
            self.kept[key] = fp.Tensor.from_numpy(self.device, photograph(path, longest), "float3")
        return self.kept[key]


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
