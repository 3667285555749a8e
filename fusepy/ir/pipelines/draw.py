"""``draw``: triangles, lines or points through a vertex or a mesh function and a fragment function, into images."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.errors import VerifyError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Graph, Node, Op, Value
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import Type
from fusepy.ir.value import Array

BODIES = (("vertex", "fragment"), ("mesh", "fragment"), ("task", "mesh", "fragment"))
VERTEX, INSTANCE = 0, 1  # the dimensions that operands of the vertex function run along


class Draw(Op):
    """One draw call. Its results are images: the colour targets, then depth or the stencil if there is such a buffer.

    Operands: the grid of the image; the indices, if ``indexed``, or the grid of groups of a mesh function; what each function
    reads, in their order. The bodies are the functions. Operands of a vertex function run along vertices (d0) and instances (d1);
    those of the others are the same for all threads and fragments.

    Attributes of a node:
        ``functions``: the names of the functions, for messages.
        ``indexed``: the second operand holds indices.
        ``inputs``: for each body the number of its operands.
        ``vertex_values`` and so on, for each body: system values such as ``SV_VertexID`` that it takes before its operands. Those
            of a mesh function are also the vertices and triangles that it writes. The others of a fragment function are the
            outputs of the vertex function, by name.
        ``marks``: the attributes of the task and of the mesh function, as they stand in the source.
        ``varyings``: the names of the outputs of the vertex function. One output without a name is a struct of the user's.
        ``position``: the member of the vertex function's result by which triangles are clipped in depth; empty if that function
            does it, or a mesh function.
        ``outputs``: the semantic of each output of the fragment function.
        ``types``: the types of the texels of the results. `backend.slang.raster` reads the other attributes.
    """

    name = "draw"
    nests = True
    spreads = False
    standalone = True
    needs = {
        **dict.fromkeys(("fragment_values", "varyings", "outputs", "types", "formats", "functions", "inputs", "marks"), (tuple,)),
        "indexed": (bool,),
        "position": (str,),
    }

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        return [Value(Type.parse(name), (None, None)) for name in node.words("types")]

    def settled(self, node: Node, oracle: Oracle | None) -> list[ArgMap]:
        return list(node.maps)

    def evaluate(self, node: Node, args: Sequence[Array]) -> list[Array]:
        raise VerifyError("a draw has no meaning in NumPy", hint="run it on a device that rasterises")

    def verify(self, node: Node) -> str | None:
        wrong = super().verify(node)
        if wrong is not None:
            return wrong
        names = tuple(body.name for body in node.bodies)
        if names not in BODIES:
            return f"draw has the bodies {' or '.join(map(' and '.join, BODIES))}"
        if len(node.words("inputs")) != len(names) or any(not isinstance(node.attrs.get(f"{n}_values"), tuple) for n in names):
            return "draw has inputs and values for each body"
        types = [m.type or v.type for v, m in zip(node.operands, node.maps)]
        for body, given in zip(node.bodies, operands_of(node)):
            own = len(body.inputs) - len(given)
            if own < 0 or any(v.type is not types[i] for v, i in zip(body.inputs[own:], given)):
                return f"the inputs of body @{body.name} are not its operands"
        vertex, fragment = node.bodies[-2:]
        if not makes_meshes(node) and len(vertex.outputs) != len(node.words("varyings")):
            return "the vertex function has other outputs than varyings"
        if len(fragment.outputs) != len(node.words("outputs")):
            return "the fragment function has other outputs than outputs"
        bound = [m for m in node.maps[first_operand(node) :] if m.dims is None or set(m.dims) - {VERTEX, INSTANCE}]
        return "operands run along vertices, d0, and instances, d1" if bound else None


def makes_meshes(node: Node) -> bool:
    """True if a mesh function makes the triangles."""
    return node.bodies[0].name != "vertex"


def first_operand(node: Node) -> int:
    """Returns the index of the first operand of the first function."""
    return 2 if node.attrs["indexed"] or makes_meshes(node) else 1


def operands_of(node: Node) -> list[range]:
    """Returns the indices of the operands of each function."""
    at, found = first_operand(node), list[range]()
    for count in node.words("inputs"):
        found.append(range(at, at + int(count)))
        at += int(count)
    return found


def values_of(node: Node, k: int) -> tuple[str, ...]:
    """Returns the names of the inputs of body `k` that are no operands."""
    return node.words(f"{node.bodies[k].name}_values")


def own_inputs(node: Node, body: Graph, k: int) -> Sequence[Value]:
    """Returns the inputs of body `k` that are no operands: system values, and values of the vertex function."""
    return body.inputs[: len(body.inputs) - len(operands_of(node)[k])]
