"""Dear values of which elements are taken by several views: stored once and read at other places, in place of computed each time.

A view of a computed value is recorded as the same work on views of arguments (`push`), which costs that work once for each view.
Where the function has been recorded, all views of a value are known, and their prices decide.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from fusepy.derivatives.terms import Term
from fusepy.ir.graph import Node, Value
from fusepy.ir.narrowing import DEFAULTS
from fusepy.passes.effects import is_pure
from fusepy.passes.partition.cost import LAUNCH_BYTES, compute_bytes, element_bytes
from fusepy.passes.rewrite import substitute
from fusepy.trace.components.checks import requested
from fusepy.trace.moves.parts import MovedPart
from fusepy.trace.moves.shapes import KnownShapes
from fusepy.trace.moves.uploads import upload_apart
from fusepy.trace.open_trace import OpenTrace

STORING = 2  # the price of a byte that is written and read: cheaper work is done again


class Mover(Protocol):
    """The part of `push.Pushing` that moves a value."""

    known: KnownShapes

    def taken(self, part: MovedPart) -> Term: ...


@dataclass(frozen=True)
class Copy:
    """Moved elements of a computed value, which are computed again.

    Attributes:
        part: the value that is moved.
        made: the moved elements.
        dims: the axes of the result along which they run.
        pushing: what moves the value.
    """

    part: MovedPart
    made: Value
    dims: tuple[int, ...]
    pushing: Mover


def finished(trace: OpenTrace, outputs: Sequence[Value]) -> list[Value]:
    """Settles what a function stores for views and checks, and which arrays are uploaded twice; returns its outputs."""
    asked = bool(trace.prints)
    for node in trace.builder.nodes:
        for value in node.operands:
            asked = asked or (value.weak and value.name is None and not value.arrival.literal)
    if asked:
        outputs = [*outputs, *requested(trace)]
    for value in trace.builder.inputs:
        if value.copied and value.type in DEFAULTS:
            upload_apart(trace, outputs)
            break
    return store_dear(trace, outputs) if trace.moves.copies else [*outputs]


def store_dear(trace: OpenTrace, outputs: Sequence[Value]) -> list[Value]:
    """Replaces copies of values by elements of a stored value, where that moves fewer bytes; returns the outputs."""
    found: dict[Value, list[Copy]] = {}
    for copy in trace.moves.copies:
        found.setdefault(copy.part.value, []).append(copy)
    outputs = list(outputs)
    nodes = trace.builder.nodes
    prices = {v: compute_bytes(node, trace.oracle) for node in nodes for v in node.results if v in found}
    for value in reversed([v for v in prices if prices[v] > STORING]):  # what uses a dear value may be stored in place of it
        live = _live(nodes, outputs)
        copies = list({c.made: c for c in found[value] if c.made in live}.values())
        if copies and _pays(trace, value, prices[value], copies, value in live):
            same = {c.made: made for c in copies if (made := _taken(trace, c)) is not None}
            nodes[:] = [substitute(node, same) for node in nodes]
            outputs = [same.get(v, v) for v in outputs]
    return outputs


def _live(nodes: Sequence[Node], outputs: Iterable[Value]) -> set[Value]:
    """Returns the values that the results, and calls with effects, are computed from."""
    live = set(outputs)
    for node in reversed(nodes):
        if not live.isdisjoint(node.results) or not is_pure(node):
            live.update(node.operands)
    return live


def _pays(trace: OpenTrace, value: Value, price: float, copies: Sequence[Copy], used: bool) -> bool:
    """True if it moves fewer bytes to store a value and to read elements of it than to compute each of them.

    Args:
        price: that of computing an element of the value.
        used: whether the value is computed anyway.
    """
    size = element_bytes(value.type, trace.oracle)
    known = copies[0].pushing.known
    whole, moved = math.prod(known.of(value)), sum(math.prod(known.of(c.made)) for c in copies)
    again = price * (moved + (whole if used else 0))
    return LAUNCH_BYTES + size * (whole + moved) + price * whole < again


def _taken(trace: OpenTrace, copy: Copy) -> Value | None:
    """Records the elements of the stored value before their first use; ``None`` if they have another type or other axes."""
    nodes = trace.builder.nodes
    count, place = len(nodes), next(k for k, node in enumerate(nodes) if copy.made in node.results)
    term = copy.pushing.taken(copy.part)
    made, nodes[count:] = nodes[count:], []
    nodes[place:place] = made
    same = (term.value.type, term.value.weak, tuple(term.dims)) == (copy.made.type, copy.made.weak, copy.dims)
    return term.value if same and term.wants is None else None
