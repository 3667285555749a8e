"""Programs as data: arguments, steps, results; to and from JSON, and as Python text that runs."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.fuzz.values import type_name


@dataclass
class Arg:
    """An argument.

    Attributes:
        dims: for each axis of its grid a letter, whose extent is the program's, or an extent.
        passed: ``tensor numpy torch list number``.
        layout: ``C F strided reversed repeated shifted``: how it lies.
        data: ``small`` (few bits: nothing rounds), ``rough``, ``large``, ``positive``, ``unit``,
            ``special`` (infinities and NaN among small ones).
    """

    scalar: str
    comp: tuple[int, ...] = ()
    dims: tuple[Any, ...] = ()
    passed: str = "tensor"
    layout: str = "C"
    data: str = "small"
    seed: int = 0

    @property
    def type(self) -> str:
        return type_name(self.scalar, self.comp)

    def shape(self, sizes: dict[str, int]) -> tuple[int, ...]:
        return tuple(sizes[d] if isinstance(d, str) else d for d in self.dims)


@dataclass
class Step:
    """An operation on values, arguments first and then what steps gave. An operand is a place, or ``[number]``."""

    op: str
    operands: list[Any]
    attrs: dict[str, Any] = field(default_factory=dict)
    gives: int = 1


@dataclass
class Program:
    """`sizes` are two tables of extents: those of the first call, and those of the next."""

    args: list[Arg]
    steps: list[Step]
    results: list[int]
    sizes: list[dict[str, int]]
    structure: str = "tuple"
    seed: int = 0

    def dumps(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def loads(text: str) -> Program:
        found = json.loads(text)
        args = [Arg(**{**a, "comp": tuple(a["comp"]), "dims": tuple(a["dims"])}) for a in found["args"]]
        return Program(**{**found, "args": args, "steps": [Step(**s) for s in found["steps"]]})

    def places(self) -> list[tuple[int, ...]]:
        """For each step the places of what it gives."""
        at, found = len(self.args), []
        for step in self.steps:
            found.append(tuple(range(at, at + step.gives)))
            at += step.gives
        return found
