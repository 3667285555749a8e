"""``draw``: triangles, lines or points through a vertex and a fragment function, into images."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.errors import VerifyError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Graph, Node, Op, Value
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import Type
from fusepy.ir.value import Array

BODIES = ("vertex", "fragment")
VERTEX, INSTANCE = 0, 1  # the dimensions that operands of the vertex function run along


class Draw(Op):
    """One draw call. Its results are images: the colour targets, then depth if there is a depth buffer.

    Operands: the grid of the image; the indices, if ``indexed``; what the vertex function reads; what the fragment function
    reads. The first body is the vertex function, whose operands run along vertices (d0) and instances (d1); the second is the
    fragment function, whose operands are the same for all fragments.

    Attributes of a node:
        ``functions``: the names of both functions, for messages.
        ``indexed``: the second operand holds indices.
        ``vertex_inputs``: the number of operands of the vertex function.
        ``vertex_values``, ``fragment_values``: system values such as ``SV_VertexID`` that the bodies take before their operands.
            The others of a fragment function are the outputs of the vertex function, by name.
        ``varyings``: the names of the outputs of the vertex function. One output without a name is a struct of the user's.
        ``outputs``: the semantic of each output of the fragment function.
        ``types``: the types of the texels of the results. `backend.slang.raster` reads the other attributes.
    """

    name = "draw"
    nests = True
    spreads = False
    standalone = True
    needs = {
        **dict.fromkeys(("vertex_values", "fragment_values", "varyings", "outputs", "types", "formats", "functions"), (tuple,)),
        "indexed": (bool,),
        "vertex_inputs": (int,),
    }

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        return [Value(Type.parse(name), (None, None)) for name in names_in(node, "types")]

    def settled(self, node: Node, oracle: Oracle | None) -> list[ArgMap]:
        return list(node.maps)

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        raise VerifyError("a draw has no meaning in NumPy", hint="run it on a device that rasterises")

    def verify(self, node: Node) -> str | None:
        wrong = super().verify(node)
        if wrong is not None:
            return wrong
        if [body.name for body in node.bodies] != list(BODIES):
            return f"draw has the bodies {' and '.join(BODIES)}"
        types = [m.type or v.type for v, m in zip(node.operands, node.maps)]
        for body, given in zip(node.bodies, operands_of(node)):
            own = len(body.inputs) - len(given)
            if own < 0 or any(v.type is not types[i] for v, i in zip(body.inputs[own:], given)):
                return f"the inputs of body @{body.name} are not its operands"
        vertex, fragment = node.bodies
        if len(vertex.outputs) != len(names_in(node, "varyings")):
            return "the vertex function has other outputs than varyings"
        if len(fragment.outputs) != len(names_in(node, "outputs")):
            return "the fragment function has other outputs than outputs"
        bound = [m for m in node.maps[first_operand(node) :] if m.dims is None or set(m.dims) - {VERTEX, INSTANCE}]
        return "operands run along vertices, d0, and instances, d1" if bound else None


def names_in(node: Node, key: str) -> tuple[str, ...]:
    """Returns an attribute that is a tuple of strings."""
    value = node.attrs[key]
    assert isinstance(value, tuple), key
    return value


def first_operand(node: Node) -> int:
    """Returns the index of the first operand of the vertex function."""
    return 2 if node.attrs["indexed"] else 1


def operands_of(node: Node) -> tuple[range, range]:
    """Returns the indices of the operands of the vertex and of the fragment function."""
    first, count = first_operand(node), node.attrs["vertex_inputs"]
    assert isinstance(count, int)
    return range(first, first + count), range(first + count, len(node.operands))


def own_inputs(node: Node, body: Graph, k: int) -> Sequence[Value]:
    """Returns the inputs of body `k` that are no operands: system values, and values of the vertex function."""
    return body.inputs[: len(body.inputs) - len(operands_of(node)[k])]
