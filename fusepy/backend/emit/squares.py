"""The index spaces of GPU kernels whose group indices along x, y and z give the coordinates: no element costs a division.

`Squares` are for texels: a thread group covers a square of the grid, like the memory layout of texels. `Blocks` are for arrays:
a group covers a block of `WIDE` columns, and each thread several rows. On an H100 a 5-point stencil by hand takes 524 µs with
four rows a thread, 650 with one, and 716 with coordinates divided from a number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from fusepy.backend.emit.operand import BLOCK, Field, Variant
from fusepy.backend.emit.space import ElementWork, decoded, extents
from fusepy.backend.emit.tuning import LIGHT_PRICE
from fusepy.backend.slang.stage import THREAD_ID
from fusepy.ir.ops.control import block

SIDE = 16
WIDE, TALL = 32, 8  # threads of a block
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


def rows_for(price: float, moved_bytes: int) -> int:
    """Returns the rows of a thread of `Blocks`: more loads in flight for light bodies, more threads for the others."""
    return 4 if price <= LIGHT_PRICE and moved_bytes <= 32 else 1


@lru_cache(256)
def blocks_of(grid: tuple[int, ...], rows: int) -> tuple[int, int, int] | None:
    """Returns the groups that cover a grid along x, y and z; ``None`` if many threads would idle, or above `MAX_GROUPS`.

    Example:
        >>> blocks_of((6, 64, 100), 4), blocks_of((64, 3), 4)
        ((4, 2, 6), None)
    """
    if len(grid) < 2:
        return None
    groups = -(-grid[-1] // WIDE), -(-grid[-2] // (TALL * rows)), math.prod(grid[:-2])
    covered = groups[0] * WIDE * groups[1] * TALL * rows
    return groups if 3 * grid[-1] * grid[-2] >= 2 * covered and max(groups) <= MAX_GROUPS else None


@dataclass(frozen=True)
class Blocks:
    """Blocks of `WIDE` by `TALL` threads with `rows` elements each, `TALL` rows apart."""

    variant: Variant
    rows: int
    lane: str = THREAD_ID
    threads: tuple[int, ...] = (WIDE, TALL, 1)

    def fields(self, work: ElementWork) -> list[Field]:
        return extents(self.variant)

    def lines(self, work: ElementWork) -> list[str]:
        index, x, y = self.variant.index, self.variant.rank - 1, self.variant.rank - 2
        lines = [
            f"{index} d{x} = {index}(fz_group.x * {WIDE} + fz_lane.x);",
            f"{index} fz_row = {index}(fz_group.y * {TALL * self.rows} + fz_lane.y);",
            f"if (fz_row >= {BLOCK}.extent{y} || d{x} >= {BLOCK}.extent{x})",
            "    return;",
            *decoded(self.variant, f"{index}(fz_group.z)", range(y)),
            *work.before(),
        ]
        if self.rows == 1:
            return [*lines, f"{index} d{y} = fz_row;", *work.element(numbered=True)]
        at, end = f"fz_row + {index}(k * {TALL})", f"{BLOCK}.extent{y}"
        loop = f"[ForceUnroll] for (uint k = 0; k < {self.rows}; ++k)"
        if work.arrays:
            one = [f"{index} d{y} = {at};", f"if (d{y} >= {end})", "    return;", *work.element(numbered=True)]
            return [*lines, loop, *block(one)]
        # the loads of all rows are in flight together; below the last row, it is loaded again
        load = [f"{index} d{y} = {work.nearest(at, f'{end} - 1')};", *work.number]
        load += [f"{name}[k] = {value};" for _, name, value in work.loads]
        store = [f"{index} d{y} = {at};", f"if (d{y} < {end})", *block([*work.number, *work.store(lambda name: f"{name}[k]")])]
        return [
            *lines,
            *(f"{declared}[{self.rows}];" for declared, _, _ in work.loads),
            *(f"{declared}[{self.rows}];" for declared in work.outputs),
            *(loop, *block(load)),
            *(loop, f"    if ({at} < {end})", f"        {work.call(lambda name: f'{name}[k]')}"),
            *(loop, *block(store)),
        ]
