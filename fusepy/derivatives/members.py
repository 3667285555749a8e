"""Gradients of structs and arrays that are summed over many points, split into gradients of their numbers.

One thread has no room to sum all the numbers side by side. So each thread sums one of them, although it computes the whole
gradient of each point.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fusepy.derivatives.extents import Axis, max_rank
from fusepy.derivatives.folds import numbers_in
from fusepy.derivatives.terms import Term, Terms, spread
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Node, Value
from fusepy.ir.ops.reduce import folded_axes
from fusepy.ir.ops.struct import members
from fusepy.ir.types import Kind

FEW = 16  # numbers of a struct or array that a thread sums side by side
Grid = Sequence["Axis | None"]


class HandedDown(NamedTuple):
    """The gradient `part`, over `grid`, of the operand `operand` whose value is `value`."""

    value: Value
    operand: Term
    part: Term
    grid: Grid


def member_gradients(
    t: Terms, value: Value, operand: Term, part: Term, grid: Grid, made: tuple[Node, Sequence[ArgMap]] | None, long: bool
) -> list[HandedDown]:
    """Returns the gradient of a struct or array as gradients of its members; no gradients if the members are not known.

    Args:
        made: the node that makes the struct, with its maps.
        long: True if it is a part of a value of many numbers.
    """
    if part.type.is_numeric or not (long or numbers_in(t, part.type) > FEW):
        return []
    if made is not None:
        node, maps = made
        frame = result_dims(node, max(max_rank(maps), node.grid_rank))[: value.rank]
        places = {d: operand.dims[a] for a, d in enumerate(frame)}
        found, pieces = t.parts_of(part), list[HandedDown]()
        for name, member, map in zip(members(node), node.operands, maps):
            if name in found:
                inner = spread(t, member, map)
                placed = Term(t, member, tuple(places[d] for d in inner.dims), inner.wants)
                pieces.append(HandedDown(member, placed, found[name], grid))
        return pieces
    if part.type.kind is Kind.ARRAY and part.type.scalar is value.type:  # elements lie along trailing axes of the value
        rank, axes = len(grid), len(part.type.shape)
        filled = Term(t, value, (*operand.dims, *range(rank, rank + axes)))
        return [HandedDown(value, filled, t.ungrouped(part, rank), [*grid, *[None] * axes])]
    return []


def result_dims(node: Node, rank: int) -> tuple[int, ...]:
    """Returns the dimension of the grid for each axis of the results of a node."""
    folded = folded_axes(node)
    return tuple(d for d in range(rank) if d not in folded)


def on_grid(term: Term, frame: Sequence[int]) -> Term:
    """Returns a term over the axes of a result as one over the grid of its node."""
    return Term(term.terms, term.value, tuple(frame[d] for d in term.dims), term.wants)


def count(t: Terms, grid: Grid, dims: Sequence[int]) -> Term:
    """Returns the number of points of a grid along some dimensions."""
    axes = [axis for d in dims if (axis := grid[d]) is not None]
    return Term(t, t.extents.shapes.count(axes), ()) if axes else t.number(1.0)
