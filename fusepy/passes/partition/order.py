"""`WriteOrder`: the order of nodes that write memory, among each other and against nodes that read it."""

from __future__ import annotations

from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Node, Value
from fusepy.ir.types import Kind
from fusepy.passes.effects import is_pure, may_share, written_arrays


class WriteOrder:
    """The levels of the nodes so far that write or read memory.

    Only a call shows which arrays share memory. So a node that writes an array comes after earlier reads of memory that may be
    the same, and before later ones. Calls with other effects (through a pointer, on a global) stay in order.
    """

    def __init__(self) -> None:
        self.acted = 0  # the level of the last node with effects
        self.wrote: dict[Value, int] = {}  # arrays that were written, with the level of the last write
        self.read: dict[Value, int] = {}  # memory that was read, with the highest level of a read
        self.pointed: dict[Value, int] = {}  # arrays that were passed as pointers, with the highest level
        self.loaded: dict[Value, int] = {}  # arrays whose elements were read, with the highest level

    def before(self, node: Node) -> int:
        """Returns the lowest level that `node` may have."""
        level = 0
        if self.wrote:
            read = [v for v in node.operands if _in_memory(v) or v in self.wrote]
            level = max((at + 1 for w, at in self.wrote.items() for v in read if may_share(v, w)), default=0)
        if not is_pure(node):
            level = max([level, self.acted, *(at + 1 for at in self.wrote.values())])
            written = written_arrays(node)
            level = max([level, *(at for v, at in self.read.items() for w in written if may_share(v, w))])
        for value, map in zip(node.operands, node.maps):
            other = self.loaded if _points(map, value) else self.pointed
            if value in other and not value.arrival.plain:
                level = max(level, other[value] + 1)
        return level

    def add(self, node: Node, level: int) -> None:
        for value in filter(_in_memory, node.operands):
            self.read[value] = max(self.read.get(value, 0), level)
        if not is_pure(node):
            self.acted = level
        self.wrote.update(dict.fromkeys(written_arrays(node), level))
        for value, map in zip(node.operands, node.maps):
            if value.arrival.memory:
                into = self.pointed if _points(map, value) else self.loaded
                into[value] = max(into.get(value, 0), level)


def _points(map: ArgMap, value: Value) -> bool:
    return (map.type or value.type).kind is Kind.POINTER


def _in_memory(value: Value) -> bool:
    return value.arrival.memory or value.arrival.raw
