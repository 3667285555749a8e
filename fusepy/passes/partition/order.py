"""`WriteOrder`: the order of nodes that write memory, among each other and against nodes that read it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from fusepy.ir.graph import Node, Value
from fusepy.passes.effects import may_share, written_arrays


class WriteOrder:
    """The levels of the nodes so far that write or read memory.

    Only a call shows which arrays share memory. So a node that writes an array comes after earlier reads of memory that may be
    the same, and before later ones. Calls with other effects (through a pointer, on a global) stay in order. What is passed as
    a pointer, or as a buffer or texture that can be written, is read and written elsewhere in other kernels.

    Args:
        pointed: what nodes may write through pointers, see `pointed_arrays`.
        effects: all nodes with effects.
    """

    def __init__(self, pointed: Mapping[Node, set[Value]], effects: Collection[Node]) -> None:
        self.pointing = pointed
        self.effects = effects
        self.acted = 0  # the level of the last node with effects
        self.wrote: dict[Value, int] = {}  # arrays that were written, with the level of the last write
        self.read: dict[Value, int] = {}  # memory that was read, with the highest level of a read
        self.pointed: dict[object, int] = {}  # memory passed as a pointer or writable resource, with the highest level
        self.loaded: dict[object, int] = {}  # memory that was read otherwise, with the highest level

    def before(self, node: Node) -> int:
        """Returns the lowest level that `node` may have."""
        level = 0
        if self.wrote:
            read = [v for v in node.operands if _in_memory(v) or v in self.wrote]
            level = max((at + 1 for w, at in self.wrote.items() for v in read if may_share(v, w)), default=0)
        if node in self.effects:
            level = max([level, self.acted, *(at + 1 for at in self.wrote.values())])
            written = written_arrays(node)
            level = max([level, *(at for v, at in self.read.items() for w in written if may_share(v, w))])
        if self.pointing:
            pointed = self.pointing.get(node, ())
            for value in node.operands:
                level = max(level, self.pointed.get(value.memory, -1) + 1)
                if value in pointed:
                    level = max(level, self.loaded.get(value.memory, -1) + 1)
        return level

    def add(self, node: Node, level: int) -> None:
        for value in filter(_in_memory, node.operands):
            self.read[value] = max(self.read.get(value, 0), level)
        if node in self.effects:
            self.acted = level
        self.wrote.update(dict.fromkeys(written_arrays(node), level))
        pointed = self.pointing.get(node, ())
        for value in node.operands if self.pointing else ():
            if _in_memory(value) or value.arrival.texels:
                into = self.pointed if value in pointed else self.loaded
                into[value.memory] = max(into.get(value.memory, 0), level)


def _in_memory(value: Value) -> bool:
    return value.arrival.memory or value.arrival.raw
