"""The index space of GPU kernels over texels: a thread group covers a square of the grid, like the memory layout of texels.

The group indices along x, y and z give the coordinates, so that no element costs a division.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fusepy.backend.emit.operand import BLOCK, Field, Variant
from fusepy.backend.emit.space import ElementWork, decoded, extents
from fusepy.backend.slang.stage import THREAD_ID

SIDE = 16
MAX_GROUPS = 65535  # along one axis, on every device


def squares_of(grid: Sequence[int]) -> list[int] | None:
    """Returns the groups that cover a grid along x, y and z; ``None`` if most threads would idle, or above `MAX_GROUPS`.

    Example:
        >>> squares_of((6, 64, 100)), squares_of((64, 3))
        ([7, 4, 6], None)
    """
    if len(grid) < 2 or 2 * min(grid[-2:]) < SIDE:
        return None
    groups = [-(-grid[-1] // SIDE), -(-grid[-2] // SIDE), math.prod(grid[:-2])]
    return groups if max(groups) <= MAX_GROUPS else None


@dataclass(frozen=True)
class Squares:
    """Squares of `SIDE` by `SIDE` threads, one element per thread."""

    variant: Variant
    lane: str = THREAD_ID
    threads: tuple[int, ...] = (SIDE, SIDE, 1)

    def fields(self, work: ElementWork) -> list[Field]:
        return extents(self.variant)

    def lines(self, work: ElementWork) -> list[str]:
        index, rank = self.variant.index, self.variant.rank
        x, y = rank - 1, rank - 2
        return [
            f"{index} d{y} = {index}(fz_group.y * {SIDE} + fz_lane.y);",
            f"{index} d{x} = {index}(fz_group.x * {SIDE} + fz_lane.x);",
            f"if (d{y} >= {BLOCK}.extent{y} || d{x} >= {BLOCK}.extent{x})",
            "    return;",
            *decoded(self.variant, f"{index}(fz_group.z)", range(y)),
            *work.before(),
            *work.element(numbered=True),
        ]
