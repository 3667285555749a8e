"""Whether the code of a region may write memory."""

from __future__ import annotations

from fusepy.ir.graph import Node
from fusepy.ir.types import Kind
from fusepy.ir.whole import has_gradients, writes


def may_write(region: Node) -> bool:
    """True if the body of a region may write other memory than its results: by pointers, arrays, textures or globals."""
    assert region.body is not None
    structs = False
    for value in region.body.inputs:
        type = value.type
        if type.writes or (type.kind is Kind.WHOLE and (writes(type) or has_gradients(type))):
            return True
        structs = structs or type.kind is Kind.NAMED or type.kind is Kind.ARRAY
    for node in region.body.walk():
        if not node.op.pure or not node.results or "writes" in node.attrs or "rays" in node.attrs:
            return True
        if structs and node.op.name == "slang.call":
            return True  # a struct may hold a pointer
    return False
