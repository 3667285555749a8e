"""Which nodes may be merged, dropped or moved."""

from __future__ import annotations

from fusepy.ir.graph import Node
from fusepy.ir.types import Kind


def is_pure(node: Node) -> bool:
    """Whether `node` only computes its results.

    A Slang function is taken to be pure where it has a result and sees no memory: one that takes a pointer may write
    through it, as may one that names a writable global, and one without a result can only be called for what it does.
    """
    if not node.results or not node.op.pure or node.attrs.get("writes"):
        return False
    return not any((m.type or v.type).kind is Kind.POINTER for v, m in zip(node.operands, node.maps))
