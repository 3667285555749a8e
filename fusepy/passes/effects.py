"""Effects of nodes. Only nodes without effects may be merged, dropped or moved."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.errors import TraceError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.types import Kind
from fusepy.ir.whole import has_gradients, writes


def is_pure(node: Node, maps: Sequence[ArgMap] | None = None, rays: bool = False) -> bool:
    """True if `node` only computes its results; `maps` are its resolved ones, which say what a call takes.

    A Slang function counts as pure if it has a result and cannot write memory. It can write if it takes an `RWTensor` or an array
    with gradients, if it takes a pointer or a writable resource and its text may do more than read, or if it names a writable
    global. A loop or branch is pure if its bodies are.

    Args:
        rays: True leaves out what functions do that rays run: they may write globals, and cost too much to run twice.
    """
    if "rays" in node.attrs and not rays:
        return False
    if node.bodies:
        inner = [n for body in node.bodies for n in body.nodes]
        derived = node.op.name == "vjp"  # the rule below, about its operands, finds all effects but `writes`
        if any(n.attrs.get("writes") if derived else not is_pure(n) for n in inner):
            return False
    elif not node.results or not node.op.pure or node.attrs.get("writes"):
        return False
    for value, map in zip(node.operands, node.maps if maps is None else maps):
        type = map.type or value.type
        if type.writes and not node.attrs.get("reads"):
            return False
        if type.kind is Kind.WHOLE and (writes(type) or (has_gradients(type) and _may_add(value))):
            return False
    return True


def _may_add(value: Value) -> bool:
    """True if user code may add to the gradients of an array: it has gradients, or lies in a body, where that is unknown."""
    return value.arrival.paired or not value.rank


def writes_array(node: Node) -> bool:
    """True if `node` gives a whole array to user code that may write it."""
    return bool(written_arrays(node))


def written_arrays(node: Node) -> set[Value]:
    """Returns the whole arrays that `node` gives to user code that may write them."""
    return arrays_written(node.operands, node.maps)


def arrays_written(operands: Sequence[Value], maps: Sequence[ArgMap]) -> set[Value]:
    """Returns the `operands` that user code gets as whole arrays, by resolved maps, and may write."""
    arrays: set[Value] = set()
    for value, map in zip(operands, maps):
        type = map.type or value.type
        if type.kind is Kind.WHOLE and writes(type):
            arrays.add(value)
    return arrays


def pointed_arrays(node: Node) -> set[Value]:
    """Returns the operands that `node` may write through pointers, or as buffers and textures."""
    return pointed_by(node, node.maps)


def pointed_by(node: Node, maps: Sequence[ArgMap]) -> set[Value]:
    """Returns the operands that a node with these resolved maps may write through pointers, or as buffers and textures."""
    found: set[Value] = set()
    for value, map in zip(node.operands, maps):
        if (map.type or value.type).writes and not value.arrival.plain:
            found.add(value)
    return found if found and _may_point(node) else set()


def _may_point(node: Node) -> bool:
    """False for operators and calls that only read their operands, and for loops, branches and derivatives of these."""
    inner = [n for body in node.bodies for n in body.nodes]
    calls = "function" in node.attrs or not node.op.pure
    return any(map(_may_point, inner)) if inner else calls and not node.attrs.get("reads")


def memory_written(node: Node, maps: Sequence[ArgMap]) -> set[Value]:
    """Returns the operands that a node with these resolved maps may write: whole arrays, and by `pointed_by`."""
    return arrays_written(node.operands, maps) | pointed_by(node, maps)


def may_write(node: Node, value: Value) -> bool:
    """True if `node` may write the memory of `value`: as a whole array that may be the same, or through a pointer to it."""
    return any(value.memory == w.memory for w in pointed_arrays(node)) or any(may_share(value, w) for w in written_arrays(node))


def may_share(value: Value, array: Value) -> bool:
    """True if `value`, which is read, may share memory with `array`, which is written.

    Arguments may overlap whatever their types; only the call shows it. Inputs that the call copies to the device, textures and
    computed values share no memory with others.
    """
    separate = value.copied or array.copied or array.name is None
    return value is array or ((value.arrival.memory or value.arrival.raw) and not separate)


def check_writes(graph: Graph) -> None:
    """Raises `TraceError` for a call that writes a whole array and gets the same array by another parameter.

    The threads of a kernel run in any order, so what they read would be random. Separate calls become separate kernels; a loop
    or branch counts as one call.
    """
    for node in graph.walk():
        written = written_arrays(node)
        given = [v for v in node.operands if v in written and v.name is not None]  # threads only add to computed arrays
        twice = next((v for v in given if node.operands.count(v) > 1), None)
        if twice is not None:
            what = f"{node.text('function')}()" if "function" in node.attrs else node.op.name
            raise TraceError(
                f"{graph.name}: {what} writes the whole array %{twice.name}, and gets it twice",
                place=node.loc,
                hint="pass the array once, or a copy of it",
            )


def unneeded_effects(graph: Graph) -> dict[Node, None]:
    """Returns the nodes with effects whose results, if any, no output needs."""
    live: set[Value] = set(graph.outputs)
    effects: list[Node] = []
    for node in reversed(graph.nodes):
        if any(v in live for v in node.results):
            live.update(node.operands)
        elif not is_pure(node):
            effects.append(node)
    return dict.fromkeys(reversed(effects))
