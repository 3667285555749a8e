"""Copies of memory that a derivative reads again and the program has overwritten since; an error where a copy is impossible.

The nodes of a derivative come behind those of the program. What they read of an argument would be what the program left there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fusepy.derivatives.extents import Settled, Shapes
from fusepy.derivatives.refused import called, rewritten
from fusepy.derivatives.terms import Term, Terms
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Node, Value
from fusepy.ir.ops import OPS
from fusepy.ir.oracle import Oracle
from fusepy.ir.resolve.settle import settle
from fusepy.ir.types import AS_ONE, Kind
from fusepy.ir.whole import writes
from fusepy.passes.effects import memory_written


class Writes:
    """The nodes of a program that write memory of arguments.

    Args:
        steps: nodes with their places in the program and their resolved maps, in order.
        shapes: knows which arguments share memory.
    """

    def __init__(self, steps: Iterable[tuple[int, Node, Sequence[ArgMap]]], shapes: Shapes):
        self.shapes = shapes
        self._found = [(i, node, memory) for i, node, maps in steps if (memory := memory_written(node, maps))]

    def __bool__(self) -> bool:
        return bool(self._found)

    def since(self, place: int, value: Value, own: bool = False) -> Node | None:
        """Returns the first node behind a place that writes the memory of a value; with `own` also the node at the place."""
        if in_memory(value):
            for i, writer, memory in self._found:
                if (i > place or (own and i == place)) and any(self.same(value, w) for w in memory):
                    return writer
        return None

    def same(self, value: Value, written: Value) -> bool:
        """True if an input has memory in common with one that is written."""
        if value is written:
            return True
        apart = value.copied or written.copied or not in_memory(written)
        return not apart and self.shapes.shares(value, written)


def writes_of(nodes: Sequence[Node], oracle: Oracle, shapes: Shapes) -> Writes:
    """Returns the writes of recorded nodes."""
    acting = ((i, node) for i, node in enumerate(nodes) if node.bodies or "function" in node.attrs)
    return Writes(((i, node, settle(node, oracle)[0]) for i, node in acting), shapes)


def first_writer(nodes: Sequence[Node], oracle: Oracle) -> str | None:
    """Returns words about the first node that writes memory of an input, such as ``put() writes 't'``; ``None`` if none does."""
    for node in nodes:
        for value in memory_written(node, settle(node, oracle)[0]):
            if in_memory(value):
                return f"{called(node)} writes {value.name!r}"
    return None


def check_kept(nodes: Sequence[Node], oracle: Oracle, shapes: Shapes) -> None:
    """Raises `GradientError` if nodes have read memory that later ones of them write: they cannot run again."""
    writes = writes_of(nodes, oracle, shapes)
    for i, node in enumerate(nodes if writes else ()):
        for value in node.operands:
            writer = writes.since(i, value)
            if writer is not None:
                raise rewritten(node, writer, value)


class Rereads:
    """The memory that a program writes, and copies of what it had read before.

    Args:
        settled: the nodes of the program in order, with their resolved maps.
    """

    def __init__(self, terms: Terms, settled: Sequence[Settled]):
        self.terms = terms
        self._writes = Writes(((i, node, maps) for i, (node, maps, _) in enumerate(settled)), terms.extents.shapes)
        self._read = {v for n, _, _ in settled for v in n.operands if in_memory(v)} if self._writes else set[Value]()
        self._place = {node: i for i, (node, _, _) in enumerate(settled)}
        self._copies: dict[tuple[object, ...], Term] = {}
        self._lost: dict[Value, tuple[Node, Node]] = {}  # what the node that is visited has read, and where it is written
        self._globals = [(i, n) for i, (n, _, _) in enumerate(settled) if n.attrs.get("writes") and not n.attrs.get("reads")]

    def kept(self, node: Node, maps: Sequence[ArgMap], operands: Sequence[Term]) -> list[Term]:
        """Returns the operands of a node as a derivative may read them: copies of those that are written later.

        Raises:
            GradientError: for a loop or branch that writes, and for a call that reads global memory which is written later.
        """
        self._lost = {}
        if node.attrs.get("writes"):  # or reads, what the others write
            later = next((writer for i, writer in self._globals if i > self._place[node]), None)
            if later is not None:
                raise rewritten(node, later)
        if not self._writes:
            return list(operands)
        if node.op.name in ("cond", "fori_loop", "while_loop"):
            for value in memory_written(node, maps):
                raise rewritten(node, node, value)
        return [self._kept(node, x) for x in operands]

    def written(self, node: Node, maps: Sequence[ArgMap]) -> set[Value]:
        """Returns what a node writes, and the other inputs that share this memory."""
        found = memory_written(node, maps)
        return found | {v for v in self._read for w in found if v not in found and self._writes.same(v, w)} if found else found

    def check(self, first: int) -> None:
        """Raises `GradientError` if nodes from `first` on read memory that has been written, and of which there is no copy."""
        if self._lost:
            for made in self.terms.builder.nodes[first:]:
                for value in made.operands if made.op.name != "gradient_array" else ():  # whose extents alone count
                    if value in self._lost:
                        raise rewritten(*self._lost[value], value)

    def _kept(self, node: Node, x: Term) -> Term:
        writer = self._writes.since(self._place[node], x.value)
        if writer is None:
            return x
        read_only = x.type.kind is Kind.WHOLE and not writes(x.type)
        if x.type.kind in AS_ONE and not read_only:
            self._lost[x.value] = node, writer
            return x
        if read_only:
            made = self._copy(writer, Term(self.terms, x.value, tuple(range(x.value.rank))))
            return Term(self.terms, made.value, x.dims, x.type)
        return self._copy(writer, x)

    def _copy(self, writer: Node, x: Term) -> Term:
        """Returns the elements of a term as they are before a node writes them."""
        key = (writer, x.value, x.dims, x.type)
        if key not in self._copies:
            frame = sorted(x.dims)
            map = ArgMap(tuple(frame.index(d) for d in x.dims), x.wants)
            nodes = self.terms.builder.nodes
            (made,) = self.terms.builder.add(OPS["cast"], [x.value], [map], {"type": x.type.name}, writer.loc)
            node, place = nodes.pop(), nodes.index(writer)
            nodes.insert(place, node)
            self.terms.extents.add(node, [map])
            self._copies[key] = Term(self.terms, made, tuple(frame))
        return self._copies[key]


def in_memory(value: Value) -> bool:
    """True for an input that is an array, a buffer or a texture."""
    arrival = value.arrival
    return value.name is not None and (arrival.memory or arrival.raw or arrival.texels or value.type.kind in AS_ONE)
