"""Prices and rules of regions that go along rows."""

from __future__ import annotations

from dataclasses import dataclass

from fusepy.ir.graph import Node


@dataclass(frozen=True)
class Joined:
    """The costs of several regions that are joined to one.

    Attributes:
        number: the number of this one among the joined regions of the program.
        again: the price, in bytes, of values that are computed more than once for an element if threads hold no elements.
        stored: the bytes for each element that separate regions store and load again.
    """

    number: int = 0
    again: float = 0.0
    stored: int = 0


def wrong_rows(node: Node, rows: tuple[int, ...]) -> str | None:
    """Returns the first rule about rows that a region breaks."""
    combining = [n for body in node.bodies for n in body.nodes if n.op.name == "row_fold"]
    if not rows and not combining:
        return None
    if not rows or not combining:
        return "rows say along which dimensions row_fold nodes combine, and only that"
    return None if rows == tuple(range(rows[0], rows[-1] + 1)) else "rows are not adjacent dimensions of the grid, in order"
