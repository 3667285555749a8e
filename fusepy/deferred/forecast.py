"""`Recordable`: the facts about a program that `lazy` needs to record its calls without running them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from fusepy.arguments.mapped import unmapped
from fusepy.backend.emit.options import NO_OPTIONS
from fusepy.backend.execute.layouts import Layout
from fusepy.backend.marshals.generators import COMPUTED
from fusepy.backend.marshals.registry import kind_of_value
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.recast import flattened
from fusepy.backend.memory.storage import ARRAYS, NUMBERS, TENSORS
from fusepy.backend.memory.tensor import Tensor
from fusepy.deferred.calls import LazyTensor
from fusepy.ir.graph import Graph
from fusepy.ir.ops.base import filled_axes
from fusepy.ir.ranges import Check, in_range
from fusepy.ir.strides import telling
from fusepy.ir.types import AS_ONE, Kind
from fusepy.program.program import Program
from fusepy.pytree import flatten

SHAPES = 256
_NUMBERS = {"numpy": ARRAYS, "list": ARRAYS, "torch": NUMBERS}  # containers of numbers alone
_OF_NUMBERS = (Kind.VECTOR, Kind.MATRIX, Kind.ARRAY)  # types that these show as numbers
_TENSORS = (Tensor, LazyTensor)


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
        results: the results for these shapes; `numbers_of` has vectors and matrices as arrays of numbers.
        grouped: the vector type of arguments of which each use takes the last axes as the components of one.
        plain: what an eager call returns, as `Storage.as_numbers` says it.
        spread: an argument is a generator, with which an eager call returns tensors whatever the other arguments are.
    """

    def __init__(self, fits: bool, container: str | None):
        self.fits = fits
        self.container = container
        self.in_memory: frozenset[int] = frozenset()
        self.length = 0
        self.numbers: list[tuple[int, Check]] = []
        self.shapes: list[tuple[int, ...]] | None = None
        self.results: Sequence[Result] = ()
        self.numbers_of: Sequence[Result] = ()
        self.grouped: dict[int, Any] = {}
        self.plain, self.spread = TENSORS, False
        self._made: dict[Any, tuple[Sequence[Result], Sequence[Result]]] = {}

    @staticmethod
    def of(program: Any, given: Sequence[Any]) -> Recordable:
        """Collects the facts about `program`. A program that stands for others does not fit: those others are recorded.

        Args:
            given: the arguments of a call, nested ones as their leaves. Those of all calls of a program are of one kind each.
        """
        if not isinstance(program, Program):
            return Recordable(False, None)
        numbers = len(program.apart) == len(program.elements)  # which are no tensors
        made = Recordable(_fits(program), "tensor" if program.result_kind.put_off and not numbers else None)
        made.plain = _NUMBERS.get(program.result_kind.word, TENSORS)
        others = (v for v in map(unmapped, given) if v.__class__ not in _TENSORS)
        made.spread = any(kind_of_value(v).returns.word == "tensor" for v in others)
        if made.fits:
            made._learn(program)
        return made

    def _learn(self, program: Program) -> None:
        self._program = program
        self.in_memory = frozenset(_in_memory(program.resolved(), program.inputs.positions))
        self.grouped = _grouped(program.resolved(), program.inputs.positions)
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
        self.shapes, (self.results, self.numbers_of) = shapes, self._made[key]

    def _make(self, shapes: tuple[tuple[int, ...], ...]) -> tuple[Sequence[Result], Sequence[Result]]:
        program = self._program
        made: list[Result] = []
        for element, shape in zip(program.elements, program.executable.lower([Layout.contiguous(s) for s in shapes]).out_shapes):
            key = element.key(telling(shape) if element.scalar else len(shape), program.device)
            made.append(Result(element, shape, math.prod(shape), key))
        return made, [_as_numbers(result, program.device) for result in made]


def _as_numbers(result: Result, device: Any) -> Result:
    """Returns a result of vectors, matrices or arrays as an array of numbers."""
    element = result.element
    if element.type.kind not in _OF_NUMBERS or element.type.scalar is None:
        return result
    scalar, shape = Element.of(element.type.scalar), (*result.shape, *element.shape)
    return Result(scalar, shape, math.prod(shape), scalar.key(telling(shape), device))


def _grouped(graph: Graph, positions: Sequence[int]) -> dict[int, Any]:
    """Returns the vector type of each argument whose last axes become the components of one in each use."""
    place, found = dict(zip(graph.inputs, positions)), dict[int, Any]()
    for node in graph.nodes:
        for value, map in zip(node.operands, node.maps):
            if value in place:
                vectors = map.type is not None and map.type.kind in _OF_NUMBERS and filled_axes(value, map.type)
                type = map.type if vectors else None
                found[place[value]] = type if found.get(place[value], type) is type else None
    return found


def _fits(program: Program) -> bool:
    """True if calls of a program can be recorded."""
    graph = program.recording.graph
    return (
        type(program) is Program
        and program.options == NO_OPTIONS
        and program.result_kind.put_off
        and len(program.apart) < len(graph.outputs)
        and not (program.writes or program.destinations.targets or program.waits or program.detours)
        and bool(program.graph.nodes)
        and all(v.arrival.plain or v.arrival.array or v.arrival.computed for v in graph.inputs)
        and all(c.__class__ is Tensor or isinstance(c, COMPUTED) for c in program.inputs.captures)
        and not program.recording.prints
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


def stands_for(known: Recordable, given: Sequence[Any]) -> int:
    """Returns what an eager call with such arguments returns, as `Storage.as_numbers` says it."""
    if known.spread:
        return TENSORS
    tensors = [leaf.as_numbers for leaf in map(unmapped, given) if leaf.__class__ in _TENSORS]
    return min(tensors, default=known.plain)


def as_plain(made: Any, numbers: int) -> Any:
    """Returns results of a call that ran at once, with vectors as numbers."""
    leaves, structure = flatten(made)
    for i, leaf in enumerate(leaves):
        if leaf.__class__ is Tensor:
            leaves[i] = leaf = flattened(leaf) if leaf.dtype.kind in _OF_NUMBERS and leaf.dtype.scalar is not None else leaf
            leaf.stand_for(numbers)
    return structure.fill(leaves)
