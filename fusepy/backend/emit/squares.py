"""Kernels over texels on a GPU: a group of threads covers a square of the grid, as texels lie in memory.

Group numbers along x, y and z are coordinates, so that no element costs a division.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fusepy.backend.emit.coordinates import decoded
from fusepy.backend.emit.operand import BLOCK, Variant

SIDE = 16
MAX_GROUPS = 65535  # along one axis, on every device


def squares_of(grid: Sequence[int]) -> list[int] | None:
    """How many groups cover a grid along x, y and z; ``None`` where most threads would idle, or a device takes no more.

    Example:
        >>> squares_of((6, 64, 100)), squares_of((64, 3))
        ([7, 4, 6], None)
    """
    if len(grid) < 2 or 2 * min(grid[-2:]) < SIDE:
        return None
    groups = [-(-grid[-1] // SIDE), -(-grid[-2] // SIDE), math.prod(grid[:-2])]
    return groups if max(groups) <= MAX_GROUPS else None


def square_kernel(entry: str, block: str, name: str, variant: Variant, element: Sequence[str]) -> list[str]:
    """The entry point: coordinates from group and thread, then one element."""
    index, rank = variant.index, variant.rank
    x, y = rank - 1, rank - 2
    lines = [
        f'#line 1 "{name}_kernel"',
        '[shader("compute")]',
        f"[numthreads({SIDE}, {SIDE}, 1)]",
        f"void {entry}(uint3 fz_group : SV_GroupID, uint3 fz_lane : SV_GroupThreadID{block})",
        "{",
        f"    {index} d{y} = {index}(fz_group.y * {SIDE} + fz_lane.y);",
        f"    {index} d{x} = {index}(fz_group.x * {SIDE} + fz_lane.x);",
        f"    if (d{y} >= {BLOCK}.extent{y} || d{x} >= {BLOCK}.extent{x})",
        "        return;",
    ]
    lines += [f"    {line}" for line in decoded(variant, f"{index}(fz_group.z)", range(y))]
    return [*lines, *(f"    {line}" for line in element), "}"]
