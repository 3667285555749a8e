"""Folds of pairs on GPUs: whether a region is one, and its stage.

Distances of all points of one array from all points of another are one: what is folded is computed of an array that runs along
the rows of the result and of one that runs along its columns, and both run along the axis that is folded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from fusepy.backend.emit.effects import may_write
from fusepy.backend.emit.fold.groups.tiles import loaded_along
from fusepy.backend.emit.fold.operands import accumulators_of
from fusepy.backend.emit.fold.tile import GroupTile
from fusepy.backend.emit.fold.variant import FoldShape, FoldVariant
from fusepy.backend.emit.operand import Operand, addressing
from fusepy.backend.execute.folds.products import MARGIN, is_far
from fusepy.backend.execute.folds.stages import Stage, sizes_of
from fusepy.backend.execute.plan import PlanContext
from fusepy.backend.execute.recipe import LINEAR_LIMIT
from fusepy.backend.marshals.registry import ACCESSES
from fusepy.backend.memory.element import Element
from fusepy.ir.graph import Node
from fusepy.ir.ops.region import spec_of
from fusepy.ir.types import FLOAT, HALF, INT, UINT

MANY = 1 << 16  # results below which a fold is as fast
LEAST = 8  # rows and columns of which a tile has some use
TERMS, SHORT = 16, 4  # elements in shared memory at a time: a run of a sum; those of short sums, such as of coordinates
STATE = 16  # bytes of an accumulator and a run for which the registers of a thread are enough
TYPES = (FLOAT, HALF, INT, UINT)
FILLING = 132  # groups that give each multiprocessor of a GPU one
SIZES = ((64, 64, (8, 4)), (64, 16, (4, 4)), (16, 64, (4, 4)), (32, 32, (4, 4)))  # rows, columns, and those of a thread


class Pair(NamedTuple):
    """The operands of a fold of pairs, and the dimensions along which only the left and only the right one run."""

    left: Operand
    right: Operand
    row: int
    column: int


def may_pair(region: Node, operands: Sequence[Operand], context: PlanContext) -> bool:
    """True if a region folds numbers that it computes of arrays of numbers, with an accumulator that registers can hold."""
    body, spec = region.body, spec_of(region)
    assert body is not None
    if context.device.target.kind == "software" or context.placed:
        return False
    if len(spec.over) != 1 or spec.scans or any(f.sorts for f in spec.folds) or len(body.outputs) != len(spec.folds):
        return False
    own = operands[: len(body.inputs)]
    if any(o.is_whole or o.is_resource or addressing(ACCESSES, o) not in ("memory", "uniform") for o in own) or may_write(region):
        return False
    if sum(addressing(ACCESSES, o) == "memory" and spec.over[0] in o.dims and len(o.dims) > 1 for o in own) < 2:
        return False
    members = [m for f in accumulators_of(region) for m in (*f.members(), *f.members(run=True))]
    return sum(Element.of(type).nbytes for _, type in members) <= STATE


def pair_of(operands: Sequence[Operand], over: int, grid: Sequence[int], strides: Sequence[tuple[int, ...]]) -> Pair | None:
    """Returns the pair among the `operands` of a region's body, ``None`` if there is no pair; see `pair_stages`."""
    runs = [{d for d, step in zip(o.dims, strides[o.position]) if step and grid[d] > 1} for o in operands]
    pair = [(o, dims) for o, dims in zip(operands, runs) if dims - {over}]
    if len(pair) != 2 or not all(addressing(ACCESSES, o) == "memory" and o.want in TYPES and not o.consumed for o, _ in pair):
        return None
    (a, first), (b, second) = pair
    if over not in first & second or first <= second or second <= first:
        return None
    row, column = (max(own, key=lambda d: grid[d]) for own in (first - second, second - first))
    pair = Pair(a, b, row, column) if row < column else Pair(b, a, column, row)
    others = [o for o in operands if o is not a and o is not b]
    return None if any({row, column} & {*o.dims} for o in others) else pair


def pair_stages(
    operands: Sequence[Operand], first: int, over: int, grid: Sequence[int], strides: Sequence[tuple[int, ...]]
) -> list[Stage]:
    """Returns the stage of a region of which `may_pair` holds. Empty if it folds no pairs, or another fold does as well.

    Args:
        operands: those of the body, which are the `first` ones, and of the epilogue.
        over: the dimension that is folded.
        strides: those of the operands over their own dimensions, 0 where they are stretched.
    """
    pair = pair_of(operands[:first], over, grid, strides)
    if pair is None:
        return []
    rows, columns, reduced = grid[pair.row], grid[pair.column], grid[over]
    batches = math.prod(n for d, n in enumerate(grid) if d not in (pair.row, pair.column, over))
    outputs = rows * columns * batches
    if min(rows, columns) < LEAST or reduced < 2 or outputs < MANY:
        return []
    fitting = [s for s in SIZES if s[0] <= 4 * rows and s[1] <= 4 * columns] or SIZES[-1:]
    high, wide, own = next((s for s in fitting if -(-rows // s[0]) * -(-columns // s[1]) * batches >= FILLING), fitting[-1])
    steps = [dict(zip(o.dims, strides[o.position])) for o in (pair.left, pair.right)]
    left, right = (loaded_along(d, over, of) for d, of in zip((pair.row, pair.column), steps))
    positions = pair.left.position, pair.right.position
    terms, runs = SHORT if reduced <= SHORT else TERMS, reduced > TERMS
    tile = GroupTile(pair.row, pair.column, high, wide, own, terms, False, runs, left, right, pair=positions)
    sizes = sizes_of(outputs, reduced, 1, reduced, terms)
    sizes.update(across=-(-columns // wide), down=-(-rows // high), batches=batches)
    far = is_far([o for o in operands if o.dims], strides, grid) or outputs + MARGIN >= LINEAR_LIMIT
    return [Stage(FoldVariant(False, len(grid), far, shape=FoldShape(False, False, tile.threads, tile=tile)), sizes)]
