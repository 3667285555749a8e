"""Extents of values: which axes have extent 1, and so may be broadcast, and where the extents of the others come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from fusepy.ir.argmap import ArgMap
from fusepy.ir.builder import Builder
from fusepy.ir.graph import Attr, Node, Op, Value
from fusepy.ir.ops.reduce import folded_axes
from fusepy.ir.oracle import Oracle
from fusepy.ir.resolve.settle import settle
from fusepy.ir.types import Type
from fusepy.ir.value import is_spread


class Axis(NamedTuple):
    """An axis of an input of a graph."""

    input: Value
    axis: int


@dataclass(frozen=True)
class Pick:
    """A call that takes one element of each row of an array.

    Attributes:
        axis: the axis of the array that the rows lie along.
        axes: for each dimension of the call, the axis of the array whose coordinate it is; `axis` for one of extent 1.
        coordinates: the integers from 0 along `axis`, as an input.
        length: their number, as an input.
    """

    axis: int
    axes: tuple[int, ...]
    coordinates: Value
    length: Value


# an input: the place of an argument, and a view of it or `None`; or no place, and a captured value
Source = tuple["int | None", object]
Settled = tuple[Node, Sequence[ArgMap], dict[str, Attr]]  # a node with its resolved maps, and attributes to add


@dataclass
class ExtentFacts:
    """Extents of arguments that a program depends on. It serves for arguments with the same answers only.

    Attributes:
        units: for axes of inputs: whether the extent is 1.
        sizes: for axes of inputs: the extent, where elements are moved.
        smalls: for axes of inputs: the extent if it is from 2 to 4, else ``None``.
        levels: for inputs that are textures: the number of their mip levels.
        shared: pairs of inputs, and whether they have memory in common.
        numbers: for inputs that are integers which each call computes: their type.
    """

    units: dict[tuple[int, int], bool] = field(default_factory=dict[tuple[int, int], bool])
    sizes: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    smalls: dict[tuple[int, int], int | None] = field(default_factory=dict[tuple[int, int], int | None])
    levels: dict[int, int] = field(default_factory=dict[int, int])
    shared: list[tuple[Source, Source, bool]] = field(default_factory=list["tuple[Source, Source, bool]"])
    numbers: dict[int, Type] = field(default_factory=dict[int, Type])

    def __bool__(self) -> bool:
        return bool(self.units or self.sizes or self.smalls or self.levels or self.shared or self.numbers)


class Shapes(Protocol):
    """The extents of the inputs of a program.

    Attributes:
        exact: threads add gradients to exact sums.
    """

    exact: bool

    def is_unit(self, axis: Axis) -> bool:
        """True if the extent is 1. Programs that asked are used for arguments with the same answers only."""
        ...

    def count(self, axes: Sequence[Axis]) -> Value:
        """Returns the product of some extents as a number of the call."""
        ...

    def setting(self, value: Value) -> Value | None:
        """Returns the settings of a sampler as a number of the call; ``None`` inside of a body."""
        ...

    def levels(self, value: Value) -> Sequence[Value] | None:
        """Returns the mip levels of a texture behind the first one; ``None`` inside of a body."""
        ...

    def shares(self, value: Value, other: Value) -> bool:
        """True if two inputs have memory in common; see `is_unit`."""
        ...

    def numbers(self, extent: int) -> Value:
        """Returns the integers from 0 to below `extent`, along an axis."""
        ...

    def pick(self, node: Node, maps: Sequence[ArgMap]) -> Pick | None:
        """Returns how a node takes one element of each row of an array; ``None`` for every other node."""
        ...

    def recurrence(self, pairs: Value, axis: int, back: bool, exclusive: bool) -> Value:
        """Records ``s[i] = x * s[i - 1] + y`` along an axis, with the components of pairs, and returns pairs: their y is ``s``.

        Args:
            back: from the last element to the first.
            exclusive: the step of an element itself is left out.
        """
        ...


class Unasked:
    """A stand-in for `Shapes` in forward mode, which asks for no extents."""

    exact = False

    def __init__(self, shapes: Shapes | None):
        self.shapes = shapes

    def is_unit(self, axis: Axis) -> bool:
        return False

    def count(self, axes: Sequence[Axis]) -> Value:
        raise AssertionError("forward mode multiplies by no extents")

    def setting(self, value: Value) -> Value | None:
        raise AssertionError("forward mode asks for no settings")

    def levels(self, value: Value) -> Sequence[Value] | None:
        raise AssertionError("forward mode asks for no mip levels")

    def shares(self, value: Value, other: Value) -> bool:
        return self.shapes is not None and self.shapes.shares(value, other)

    def numbers(self, extent: int) -> Value:
        raise AssertionError("forward mode asks for no integers")

    def pick(self, node: Node, maps: Sequence[ArgMap]) -> Pick | None:
        return None

    def recurrence(self, pairs: Value, axis: int, back: bool, exclusive: bool) -> Value:
        assert self.shapes is not None, "a body has no scans"
        return self.shapes.recurrence(pairs, axis, back, exclusive)


class ViewOp(Op):
    """A view of an input, as a node for derivatives. No graph holds it: in graphs a view is an input."""

    name = "view"
    arity = 1
    spreads = False

    def gradient(self, view: Value, gradient: Value) -> Value:
        """Records the gradient of the input, from that of its view."""
        raise NotImplementedError

    def tangent(self, view: Value, tangent: Value) -> Value:
        """Records the tangent of the view, from that of the input."""
        raise NotImplementedError


class Extents:
    """The extents of recorded values: for each axis the `Axis` of an input that has its extent, ``None`` for extent 1."""

    def __init__(self, shapes: Shapes):
        self.shapes = shapes
        self._known: dict[Value, tuple[Axis | None, ...]] = {}

    def of(self, value: Value) -> tuple[Axis | None, ...]:
        """Returns the extents of an input, or of a result of a node that was added."""
        found = self._known.get(value) if value.rank else ()
        if found is None:
            assert value.name is not None, "a result of a node that was not added"
            axes = [Axis(value, i) for i in range(value.rank)]
            found = self._known[value] = tuple(None if self.shapes.is_unit(a) else a for a in axes)
        return found

    def knows(self, value: Value) -> bool:
        """True for inputs and results of nodes that were added."""
        return not value.rank or value in self._known or value.name is not None

    def grid(self, operands: Sequence[Value], maps: Sequence[ArgMap], rank: int) -> tuple[Axis | None, ...]:
        """Returns the extents of the grid of a node: those of the operands that are not 1."""
        found: list[Axis | None] = [None] * rank
        for value, map in zip(operands, maps):
            if is_spread(value):
                continue
            for dim, extent in zip(map.dims or (), self.of(value)):
                found[dim] = found[dim] or extent
        return tuple(found)

    def add(self, node: Node, maps: Sequence[ArgMap]) -> None:
        """Notes the extents of the results of a node with these resolved maps."""
        if isinstance(node.op, ViewOp):  # an input, which has its own
            return
        folded = folded_axes(node)
        rank = node.grid_rank if node.op.spreads and node.results and not folded else max_rank(maps)
        grid = tuple(extent for d, extent in enumerate(self.grid(node.operands, maps, rank)) if d not in folded)
        for result in node.results:
            self._known[result] = grid[: result.rank]

    def recorded(self, builder: Builder, oracle: Oracle, record: Callable[[], Value]) -> Value:
        """Returns what `record` records, whose nodes are added."""
        first = len(builder.nodes)
        made = record()
        for node in builder.nodes[first:]:
            self.add(node, settle(node, oracle)[0])
        return made


def max_rank(maps: Sequence[ArgMap]) -> int:
    return max((m.min_grid_rank for m in maps), default=0)
