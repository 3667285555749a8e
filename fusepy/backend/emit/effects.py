"""Writes of memory by the code of a region."""

from __future__ import annotations

from fusepy.ir.graph import Node
from fusepy.ir.types import Kind
from fusepy.ir.whole import has_gradients, is_taken, writes


def may_write(region: Node, number: int = 0) -> bool:
    """True if user code is in a body of a region, which may write memory or talk to other threads.

    No Slang text is read for the answer: a macro, a default of a parameter or a cast to a pointer may hide a write in it.

    Args:
        number: which of its bodies; 1 is the epilogue.
    """
    body = region.bodies[number]
    for value in body.inputs:  # derivatives of fusepy's own reads add to memory
        type = value.type
        if type.writes or (type.kind is Kind.WHOLE and (writes(type) or has_gradients(type))):
            return True
    return any(not n.op.pure or "rays" in n.attrs or (n.op.name == "slang.call" and not is_taken(n)) for n in body.walk())
