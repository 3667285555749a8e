"""Kinds of nodes: names, typed ports, and which values a port takes from a slider or a file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from fusepy.errors import RangeError, StudioError
from fusepy.ir.ranges import check_range
from fusepy.ir.types import Kind, Type

PortValue = bool | int | float | str | tuple[float, ...]
FILE, ANY = "file", "any"  # types of ports that are no types of Slang: a file's name; whatever the compiler takes
TEXT_LIMIT = 512  # characters of a value


@dataclass(frozen=True)
class Port:
    """An input or output of a node.

    Attributes:
        type: the Slang type as declared; ``"any"`` if only a call decides it, ``"file"`` for the name of a file.
        default: the value without an edge and without a set value; ``None`` if there must be an edge.
        range: the ends of its slider.
        choices: the names among which a value is chosen.
        fixed: True if only a value can be given, and no edge.
        described: the type by which a call can be traced without a value; ``None`` if only a call decides it.
    """

    name: str
    type: str
    default: PortValue | None = None
    range: tuple[float, float] | None = None
    choices: tuple[str, ...] = ()
    doc: str = ""
    fixed: bool = False
    described: str | None = None

    @cached_property
    def slang(self) -> Type | None:
        """The scalar or vector type of its values; ``None`` if values of this port are no numbers."""
        if self.type in (FILE, ANY):
            return None
        type = Type.parse(self.type)
        return type if type.kind in (Kind.SCALAR, Kind.VECTOR) else None

    def checked(self, value: Any, place: str) -> PortValue:
        """Returns a value that was read from a message or a file, in the form in which documents hold it.

        Raises:
            StudioError: if the port does not take it.
        """
        type = self.slang
        found: PortValue | None = None
        if self.type == FILE:
            found = value if isinstance(value, str) and 0 < len(value) <= TEXT_LIMIT and value.isprintable() else None
        elif type is not None and type.kind is Kind.SCALAR:
            found = _number(value, type)
            if self.fixed and self.range is not None and found is not None and not self.range[0] <= found <= self.range[1]:
                found = None  # the ends of other sliders are only where they begin
        elif type is not None and isinstance(value, (list, tuple)):
            scalar = cast("Type", type.scalar)
            parts = [_number(part, scalar) for part in cast("Sequence[Any]", value)]
            found = cast("tuple[float, ...]", tuple(parts)) if len(parts) == type.shape[0] and None not in parts else None
        if found is None:
            limits = f" from {self.range[0]} to {self.range[1]}" if self.fixed and self.range is not None else ""
            raise StudioError(
                f"{place}: this is no value of the input {self.name!r}",
                saw=repr(cast("Any", value))[:60],
                expected="the name of a file" if self.type == FILE else "a connection" if type is None else self.type + limits,
                hint="set a finite number, a list of them for a vector, or connect an output",
            )
        return found

    @property
    def json(self) -> dict[str, Any]:
        """The port as the page gets it."""
        shown: dict[str, Any] = {"name": self.name, "type": self.type}
        shown |= {} if self.default is None else {"default": self.default}
        shown |= {} if self.range is None else {"range": self.range}
        more = {"choices": self.choices, "doc": self.doc, "fixed": self.fixed}
        return shown | {name: value for name, value in more.items() if value}


@dataclass(frozen=True)
class NodeKind:
    """A kind of nodes.

    Attributes:
        name: identifies it in files: ``"look.slang/exposure"``, ``"photograph"``.
        label: an identifier from which the names of its nodes are made.
        group: its heading in the palette.
    """

    name: str
    label: str
    group: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    doc: str = ""

    def input(self, name: str) -> Port | None:
        """Returns the input of this name."""
        return next((port for port in self.inputs if port.name == name), None)

    def output(self, name: str) -> Port | None:
        """Returns the output of this name."""
        return next((port for port in self.outputs if port.name == name), None)

    @property
    def json(self) -> dict[str, Any]:
        """The kind as the page gets it."""
        ports = {"inputs": [p.json for p in self.inputs], "outputs": [p.json for p in self.outputs]}
        return {"kind": self.name, "name": self.label, "doc": self.doc, **ports}


def _number(value: Any, type: Type) -> float | None:
    """Returns a number that the scalar type holds; ``None`` for anything else."""
    dtype = type.dtype
    if dtype is None or isinstance(value, bool) != (dtype.kind == "b"):
        return None
    if isinstance(value, bool):
        return value
    if not isinstance(value, (int, float)) or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if dtype.kind == "f":
        return float(value) if abs(value) < 3e38 else None
    if value != int(value):
        return None
    try:
        check_range(int(value), type, "the value")
    except RangeError:
        return None
    return int(value)
