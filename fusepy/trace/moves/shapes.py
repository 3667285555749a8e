"""Extents of traced values. A program that asked for some is used for arguments with the same ones only."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager

from fusepy.derivatives.extents import Extents
from fusepy.errors import ShapeError, TraceError
from fusepy.ir.graph import Node, Value
from fusepy.ir.resolve.settle import settle
from fusepy.ir.value import is_spread
from fusepy.trace.moves.extents import TraceShapes
from fusepy.trace.open_trace import OpenTrace


class KnownShapes:
    """The extents of the values of one trace.

    Attributes:
        extents: those of its nodes, as far as they have been asked for.
    """

    def __init__(self, trace: OpenTrace):
        self.shapes = TraceShapes(trace)
        self.trace = trace
        self.extents = Extents(self.shapes)
        self._seen = 0

    def update(self) -> Extents:
        """Returns the extents of all nodes so far."""
        nodes = self.trace.builder.nodes
        while self._seen < len(nodes):
            node = nodes[self._seen]
            self._seen += 1
            self.extents.add(node, settle(node, self.trace.oracle)[0])
        return self.extents

    def of(self, value: Value) -> tuple[int, ...]:
        """Returns the extents of a value, without the components of an element."""
        if not value.rank:
            return ()
        return tuple(1 if axis is None else self.shapes.extent(axis) for axis in self.update().of(value))

    def is_unit(self, value: Value, axis: int) -> bool:
        """True if the extent of an axis is 1."""
        return self.update().of(value)[axis] is None


def shape_of(trace: OpenTrace, value: Value) -> tuple[int, ...]:
    """Returns the extents of a value, also of one that a body captures.

    Raises:
        TraceError: for a generator that follows the grid in which it is used.
    """
    behind = trace.behind(value)
    if behind is not None:
        return shape_of(*behind)
    if is_spread(value):
        raise TraceError(
            f"{value.name!r} has no extents of its own",
            hint="it follows the grid in which it is used: ask an array of that grid, or use fp.grid(shape)",
        )
    return known_shapes(trace).of(value)


def known_shapes(trace: OpenTrace) -> KnownShapes:
    """Returns the `KnownShapes` of a trace."""
    if trace.moves.shapes is None:
        trace.moves.shapes = KnownShapes(trace)
    return trace.moves.shapes


@contextmanager
def held_to(trace: OpenTrace, strict: bool, unstretched: bool) -> Generator[None]:
    """Surrounds a call that is strict, or has strict broadcasting, inside a trace that may not be.

    Raises:
        ShapeError: if an argument of an operation that the call records would be stretched.
    """
    before, count = trace.strict, len(trace.builder.nodes)
    trace.strict = before or strict
    try:
        yield
    finally:
        trace.strict = before
    if unstretched:
        for node in trace.builder.nodes[count:]:
            if node.op.spreads:
                check_unstretched(trace, node)


def check_unstretched(trace: OpenTrace, node: Node) -> None:
    """Compares the extents of all arguments of a call that have axes of the grid; its program is for these extents only.

    Raises:
        ShapeError: if one would be stretched.
    """
    first: tuple[str, tuple[int, ...]] | None = None
    composed = {n.results[0]: n for n in trace.builder.nodes if n.op.name == "struct"}
    for found in _extents_of_arguments(trace, node, composed):
        first, extents = first or found, found[1]
        if extents != first[1]:
            raise ShapeError(
                f"{node.attrs.get('function', node.op.name)}: {first[0]} and {found[0]} do not broadcast: Shape mismatch",
                place=node.loc,
                saw=f"{first[1]} and {extents}",
                expected="identical shapes: Strict broadcasting is enabled",
                hint="repeat the smaller one with fp.repeat or fp.tile, or call the function without strict broadcasting",
            )


def _extents_of_arguments(
    trace: OpenTrace, node: Node, composed: Mapping[Value, Node], within: str = ""
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yields the arguments of a call, and the members of those that are put together of several, with their extents."""
    for i, (value, map) in enumerate(zip(node.operands, settle(node, trace.oracle)[0])):
        if not map.dims or is_spread(value):
            continue
        name = value.name or f"argument {i + 1}{within}"
        if value in composed:
            yield from _extents_of_arguments(trace, composed[value], composed, f" of {name}")
        else:
            yield name, shape_of(trace, value)[: len(map.dims)]
