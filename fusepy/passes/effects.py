"""Which nodes may be merged, dropped or moved."""

from __future__ import annotations

from fusepy.errors import TraceError
from fusepy.ir.graph import Graph, Node
from fusepy.ir.types import Kind, Type
from fusepy.ir.whole import has_gradients, writes


def is_pure(node: Node) -> bool:
    """Whether `node` only computes its results.

    A Slang function is taken to be pure where it has a result and writes no memory: one that takes a pointer may write
    through it, as may one that takes an `RWTensor` or a writable resource, or names a writable global, and one without a
    result can only be called for what it does. A loop or branch does what its bodies do.
    """
    if node.bodies:
        return all(is_pure(inner) for body in node.bodies for inner in body.nodes)
    if not node.results or not node.op.pure or node.attrs.get("writes"):
        return False
    return not any(_may_write(m.type or v.type) for v, m in zip(node.operands, node.maps))


def _may_write(type: Type) -> bool:
    """Whether a function that takes a `type` can change memory."""
    return type.writes or (type.kind is Kind.WHOLE and (writes(type) or has_gradients(type)))


def writes_array(node: Node) -> bool:
    """Whether `node` gives a whole array to user code that may write it."""
    taken = [m.type or v.type for v, m in zip(node.operands, node.maps)]
    return any(t.kind is Kind.WHOLE and writes(t) for t in taken)


def check_writes(graph: Graph) -> None:
    """A call that writes a whole array is the one call of its kernel, beside what feeds it, and the one in a body.

    Threads run in any order, so nothing else in the kernel could rely on having run before or after it; and where results
    broadcast to a larger grid than its own, it would write more than once.

    Raises:
        TraceError: naming the calls.
    """
    writing = [n for n in graph.nodes if writes_array(n)]
    if not writing:
        return
    node = writing[0]
    for body in node.bodies:
        check_writes(body)
    called = f"{_what(node)} writes a whole array"
    arrays = [v for v, m in zip(node.operands, node.maps) if m.type is not None and m.type.kind is Kind.WHOLE and writes(m.type)]
    uses = [(n, v) for n in graph.nodes for v in n.operands if v in arrays]
    hint = "call it by itself, or in a fused function of its own: kernels run one after the other"
    if len(writing) > 1:
        other = writing[1]
        saw = f"{_what(other)} ({other.loc}), which writes one too"
        raise TraceError(
            f"{graph.name}: {called}, so its kernel cannot hold another such call", place=node.loc, saw=saw, hint=hint
        )
    if len(uses) > len(arrays) or len(set(arrays)) < len(arrays):
        raise TraceError(
            f"{graph.name}: {called}, which is used otherwise too",
            place=node.loc,
            saw=", ".join(f"%{v.name} in {n.op.name} ({n.loc})" for n, v in uses),
            hint=hint,
        )
    if any(v not in node.results for v in graph.outputs):
        raise TraceError(
            f"{graph.name}: {called}, so only its own results can be returned with it",
            place=node.loc,
            saw=", ".join(
                f"%{v.name}" if v.name else "a value computed otherwise" for v in graph.outputs if v not in node.results
            ),
            hint=hint,
        )


def _what(node: Node) -> str:
    return f"{node.text('function')}()" if "function" in node.attrs else node.op.name
