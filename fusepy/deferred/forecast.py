"""`Recordable`: the facts about a program that `lazy` needs to record its calls without running them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from fusepy.backend.emit.options import NO_OPTIONS
from fusepy.backend.execute.layouts import Layout
from fusepy.backend.marshals.generators import COMPUTED
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.tensor import Tensor
from fusepy.ir.graph import Graph
from fusepy.ir.ops.base import filled_axes
from fusepy.ir.ranges import Check, in_range
from fusepy.ir.strides import telling
from fusepy.ir.types import AS_ONE
from fusepy.program.program import Program

SHAPES = 256


class Result(NamedTuple):
    """The type and extents of a result that is not computed yet."""

    element: Element
    shape: tuple[int, ...]
    size: int
    key: Any


class Recordable:
    """The facts about one program.

    Attributes:
        fits: True if its calls can be deferred: they only compute, and their arguments can be kept.
        container: the container of results of a call that runs at once; ``None`` for the container of the arguments.
        numbers: checks of the arguments that are integers, by position.
        in_memory: positions of arguments that user code reads whole, so that they must be computed before.
        length: the number of its operations.
        shapes: the shapes of the arguments of its last call.
        results: the results for these shapes.
    """

    def __init__(self, fits: bool, container: str | None):
        self.fits = fits
        self.container = container
        self.in_memory: frozenset[int] = frozenset()
        self.length = 0
        self.numbers: list[tuple[int, Check]] = []
        self.shapes: list[tuple[int, ...]] | None = None
        self.results: Sequence[Result] = ()
        self._made: dict[Any, Sequence[Result]] = {}

    @staticmethod
    def of(program: Any) -> Recordable:
        """Collects the facts about `program`. A program that stands for others does not fit: those others are recorded."""
        if not isinstance(program, Program):
            return Recordable(False, None)
        made = Recordable(_fits(program), "tensor" if program.result_kind.put_off else None)
        if made.fits:
            made._learn(program)
        return made

    def _learn(self, program: Program) -> None:
        self._program = program
        self.in_memory = frozenset(_in_memory(program.resolved(), program.inputs.positions))
        self.length = len(program.recording.graph.nodes)
        inputs = zip(program.graph.inputs, program.inputs.positions)
        what = program.graph.name
        numbers = [(p, v) for v, p in inputs if v.arrival.plain and v.type.dtype is not None and v.type.dtype.kind in "iu"]
        self.numbers = [*((p, in_range(v.type, f"{what}: argument {v.name!r}")) for p, v in numbers), *program.inputs.checks]

    def check_numbers(self, leaves: Sequence[Any]) -> None:
        """Raises `RangeError` for a number out of range of its Slang type, `TraceError` for a negative exponent of integers."""
        for position, check in self.numbers:
            value = leaves[position]
            if isinstance(value, (int, float)):
                check(value)

    def follow(self, shapes: list[tuple[int, ...]]) -> None:
        """Finds the results for arguments of these shapes.

        Raises:
            ShapeError: if they do not fit together.
        """
        key = tuple(shapes)
        if key not in self._made:
            if len(self._made) >= SHAPES:
                self._made.clear()
            self._made[key] = self._make(key)
        self.shapes, self.results = shapes, self._made[key]

    def _make(self, shapes: tuple[tuple[int, ...], ...]) -> Sequence[Result]:
        program = self._program
        made: list[Result] = []
        for element, shape in zip(program.elements, program.executable.lower([Layout.contiguous(s) for s in shapes]).out_shapes):
            key = element.key(telling(shape) if element.scalar else len(shape), program.device)
            made.append(Result(element, shape, math.prod(shape), key))
        return made


def _fits(program: Program) -> bool:
    """True if calls of a program can be recorded."""
    graph = program.recording.graph
    return (
        type(program) is Program
        and program.options == NO_OPTIONS
        and program.result_kind.put_off
        and not (program.writes or program.destinations.targets or program.waits or program.detours)
        and bool(program.graph.nodes)
        and all(v.arrival.plain or v.arrival.array or v.arrival.computed for v in graph.inputs)
        and all(c.__class__ is Tensor or isinstance(c, COMPUTED) for c in program.inputs.captures)
        and bool(graph.outputs)
        and not set(graph.outputs) & set(graph.inputs)
    )


def _in_memory(graph: Graph, positions: Sequence[int]) -> list[int]:
    """Returns the arguments that must be in memory: their vectors or matrices are loaded, or user code reads them whole."""
    place = dict(zip(graph.inputs, positions))
    found: list[int] = []
    for node in graph.nodes:
        for value, map in zip(node.operands, node.maps):
            kind = None if map.type is None else map.type.kind
            if value in place and (kind in AS_ONE or filled_axes(value, map.type)):
                found.append(place[value])
    return found
