"""The entry points of task and mesh functions: their attributes, their parameters, and what they write."""

from __future__ import annotations

from fusepy.ir.graph import Graph
from fusepy.ir.types import Type

STAGES = {"task": "amplification", "mesh": "mesh"}
VERTICES, PRIMITIVES, PAYLOAD = "OutputVertices", "OutputPrimitives", "payload"
WRITTEN = (VERTICES, "OutputIndices", PRIMITIVES)  # the types of what a mesh function writes


def element_of(type: Type) -> str:
    """Returns the element type of a parameter of a mesh function.

    Example:
        >>> element_of(Type.parse("OutputVertices<Corner,3>"))
        'Corner'
    """
    return type.name.partition("<")[2].rpartition(",")[0].strip()


def written_by(body: Graph) -> str:
    """Returns the struct of the vertices that a mesh function writes."""
    return next(element_of(v.type) for v in body.inputs if v.type.name.startswith(VERTICES))


def mesh_parameter(name: str, local: str, type: Type) -> str:
    """Returns the declaration of a parameter of an entry point: of a system value, a payload, or what it writes.

    Args:
        name: the name of the value in the node: ``SV_GroupID``, ``payload``, ``OutputVertices``.
    """
    if name == PAYLOAD:
        return f"in payload {type} {local}"
    return f"{type} {local}" + f" : {name.partition(' ')[0]}" * name.startswith("SV_")
