"""Parts: the values that a moved value is computed from, and which of them are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from fusepy.derivatives.terms import Term
from fusepy.ir.graph import Attr, Node, Value
from fusepy.ir.oracle import Oracle, member_types
from fusepy.ir.types import Kind, Type
from fusepy.trace.moves.plans import Remap, Strided
from fusepy.trace.open_trace import OpenTrace


class MovedPart(NamedTuple):
    """A value that the moved one is computed from.

    Attributes:
        dims: the axis of the moved value along which each of its axes runs; further axes are components.
        type: the type as which it is loaded, if that is not its own.
    """

    value: Value
    dims: tuple[int, ...]
    type: Type | None


Below = tuple[Node, list[MovedPart | None]]  # the node that computes a part, and its operands; None for those that are not moved


def whole_along(plan: Remap, part: MovedPart) -> tuple[int, ...] | None:
    """Returns the axes of the result along which those of a part run; ``None`` if a plan does not take all elements in order."""
    dims: list[int] = []
    for d in part.dims:
        index = plan.indices[d]
        if not isinstance(index, Strided) or index.dim is None or index != Strided(index.dim):
            return None
        if plan.extents[index.dim] != plan.shape[d] or index.dim in dims:
            return None
        dims.append(index.dim)
    return tuple(dims)


def is_untaken(part: MovedPart, oracle: Oracle, differentiated: bool = True) -> bool:
    """True if elements of a part are not taken at computed indices.

    These are structs and fixed arrays that numbers along axes are loaded as. Of structs with matrices they can be taken, but
    threads cannot add to their gradients, where the function is `differentiated`.
    """
    if part.type is not None and part.type is not part.value.type:
        return part.type.kind in (Kind.NAMED, Kind.ARRAY)
    return differentiated and part.value.type.kind is Kind.NAMED and _has_matrix(part.value.type, oracle)


def _has_matrix(type: Type, oracle: Oracle) -> bool:
    if type.kind is Kind.NAMED:
        return any(_has_matrix(member, oracle) for member in (member_types(oracle, type) or {}).values() if member is not None)
    return type.kind is Kind.MATRIX or (
        type.kind is Kind.ARRAY and type.element is not None and _has_matrix(type.element, oracle)
    )


def store_compounds(
    parts: dict[MovedPart, Below | None], strided: Callable[[MovedPart], bool], place: Callable[[MovedPart], int], oracle: Oracle
) -> None:
    """Makes leaves of values of structs or fixed arrays that are not `strided`, and not taken at computed indices.

    Args:
        place: the place of the node that computes a part.
    """
    fixed = {p for p, below in parts.items() if below is None and is_untaken(p, oracle) and not strided(p)}
    inner = [(p, below[1]) for p, below in parts.items() if below is not None] if fixed else []
    for part, operands in sorted(inner, key=lambda item: place(item[0])):
        if not fixed.isdisjoint(operands):
            parts[part] = None
            if is_untaken(part, oracle):
                fixed.add(part)


def moved_attrs(node: Node, operands: Sequence[Value]) -> dict[str, Attr]:
    """Returns the attributes of a node that is recorded on moved operands: moved indices are not all components in order."""
    whole = "all" not in node.attrs or operands[1] is node.operands[1]
    return {name: attr for name, attr in node.attrs.items() if whole or name != "all"}


def is_small(trace: OpenTrace, term: Term) -> bool:
    """True if a term is computed element by element from the reduced value, and has its axes in order.

    Kernels that go along rows know such values, and views of them with axes of extent 1.
    """
    if term.wants is not None or list(term.dims) != sorted(term.dims):
        return False
    producer = {v: node for node in trace.builder.nodes for v in node.results}
    stack, seen = [term.value], set[Value]()
    while stack:
        value = stack.pop()
        node = producer.get(value)
        if node is not None and node.op.name == "reduce":
            return True
        if node is not None and node.op.spreads and value not in seen:
            stack += [v for v in node.operands if v.rank]
        seen.add(value)
    return False
