"""Parts: the values that a moved value is computed from, and which of them are stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fusepy.ir.graph import Node, Value
from fusepy.ir.types import Kind, Type
from fusepy.trace.moves.plans import Remap, Strided


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


def is_whole(plan: Remap, part: MovedPart) -> bool:
    """True if a plan takes all elements of a part in order."""
    same = all(plan.indices[d] == Strided(d) and plan.extents[d] == plan.shape[d] for d in part.dims)
    return same and part.dims == tuple(sorted(part.dims))


def is_compound(part: MovedPart) -> bool:
    """True if elements of a part are loaded as structs or fixed arrays."""
    return (part.type or part.value.type).kind in (Kind.NAMED, Kind.ARRAY)


def store_what_reads_compounds(
    parts: dict[MovedPart, Below | None], strided: Callable[[MovedPart], bool], place: Callable[[MovedPart], int]
) -> None:
    """Makes leaves of values of structs or fixed arrays that are not `strided`: these have no elements at computed indices.

    Args:
        place: the place of the node that computes a part.
    """
    fixed = {p for p, below in parts.items() if below is None and is_compound(p) and not strided(p)}
    inner = [(p, below[1]) for p, below in parts.items() if below is not None] if fixed else []
    for part, operands in sorted(inner, key=lambda item: place(item[0])):
        if not fixed.isdisjoint(operands):
            parts[part] = None
            if is_compound(part):
                fixed.add(part)
