"""`SmallExtents`: the extents from 2 to 4 of computed values, which a vector or matrix could take in.

Extents are no part of a program, but for these: an array of three numbers per pixel may be one of vectors. Whether a computed
value has such an axis follows from the inputs that it is computed from. The trace notes what it had to ask of its arguments.
"""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.derivatives.extents import Axis, max_rank
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Node, Value
from fusepy.ir.ops.reduce import folded_axes
from fusepy.ir.resolve.settle import settle
from fusepy.ir.types import Kind
from fusepy.ir.value import Dims, is_spread
from fusepy.trace.moves.extents import TraceShapes
from fusepy.trace.open_trace import OpenTrace


class SmallExtents:
    """The extents from 2 to 4 of the values of a trace; ``None`` for any other extent."""

    def __init__(self, trace: OpenTrace):
        self.trace = trace
        self._makers: dict[Value, Node] = {}
        self._seen = 0
        self._maps: dict[int, Sequence[ArgMap]] = {}
        self._known: dict[Axis, int | None] = {}

    def maker(self, value: Value) -> Node | None:
        """Returns the node that computes a value; ``None`` for an input."""
        nodes = self.trace.builder.nodes
        for node in nodes[self._seen :]:
            self._makers.update(dict.fromkeys(node.results, node))
        self._seen = len(nodes)
        return self._makers.get(value)

    def maps(self, node: Node) -> Sequence[ArgMap]:
        """Returns the resolved maps of a node."""
        found = self._maps.get(id(node))
        if found is None:
            found = self._maps[id(node)] = settle(node, self.trace.oracle)[0]
        return found

    def tail(self, value: Value) -> Dims:
        """Returns the axes of a value as a call gets them: those of the last two have a number if it is from 2 to 4."""
        dims: list[int | None] = [None] * value.rank
        for axis in range(value.rank - 1, max(value.rank - 3, -1), -1):
            dims[axis] = self.of(value, axis)
            if dims[axis] is None:
                break
        return tuple(dims)

    def of(self, value: Value, axis: int) -> int | None:
        """Returns the extent of an axis if it is from 2 to 4."""
        key = Axis(value, axis)
        if key not in self._known:
            node = self.maker(value)
            self._known[key] = self._of_input(value, axis) if node is None else self._of_node(node, axis)
        return self._known[key]

    def is_unit(self, value: Value, axis: int) -> bool:
        """True if the extent of an axis is 1."""
        node = self.maker(value)
        if node is None:
            return TraceShapes(self.trace).is_unit(Axis(value, axis))
        found = [self.is_unit(v, a) for v, a in self._sources(node, axis)]
        return all(found)

    def _sources(self, node: Node, axis: int) -> list[Axis]:
        """Returns the axes of operands that run along an axis of the results."""
        maps = self.maps(node)
        folded = folded_axes(node)
        dim = [d for d in range(max_rank(maps)) if d not in folded][axis] if folded else axis
        along = [(v, m.dims) for v, m in zip(node.operands, maps) if m.dims is not None and not is_spread(v)]
        return [Axis(value, dims.index(dim)) for value, dims in along if dim in dims]

    def _of_input(self, value: Value, axis: int) -> int | None:
        behind = value.rank - axis
        if is_spread(value) or value.type.kind is Kind.RESOURCE or value.arrival.raw:
            return None
        known = value.arrival.memory and value.type.kind is Kind.SCALAR
        if known and (behind == 1 or (behind == 2 and value.dims[-1] is not None)):  # these are in the key of the program
            return value.dims[axis]
        return TraceShapes(self.trace).small(Axis(value, axis))

    def _of_node(self, node: Node, axis: int) -> int | None:
        found = (self.of(value, place) for value, place in self._sources(node, axis))
        return next((extent for extent in found if extent is not None), None)
