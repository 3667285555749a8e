"""The index space of GPU kernels over grids of two dimensions and more: a thread group covers a block of the grid.

The coordinates come from the group's indices along x, y and z, so that no element costs a division. On an H100 a 5-point stencil
by hand takes 524 µs with four rows a thread, 650 with one, and 716 with coordinates divided from a number. Blocks would leave
most threads of a narrow grid idle: there the same kernel divides them from a number, so that no size compiles another one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from fusepy.backend.emit.operand import BLOCK, Field, Variant
from fusepy.backend.emit.space import ElementWork, decoded, extents
from fusepy.backend.emit.tuning import GROUPS_PER_ROW, HEAVY_PRICE, LIGHT_PRICE, Shape
from fusepy.backend.slang.stage import THREAD_ID
from fusepy.ir.ops.control import block

MAX_GROUPS = 65535  # along one axis, on every device

# The threads of a group along x and y, and the rows of a thread, which lie a group's height apart.
BLOCKS = {
    "squares": (16, 16, 1),  # for texels: memory keeps those of a square together
    "blocks light": (32, 8, 4),  # more loads in flight
    "blocks": (32, 8, 1),  # more threads
    "blocks heavy": (32, 2, 1),  # few elements fill the device
}


def blocks_for(price: float, moved_bytes: int) -> str:
    """Returns the name of the blocks for a body of this price, with operands and results of so many bytes."""
    if price >= HEAVY_PRICE:
        return "blocks heavy"
    return "blocks light" if price <= LIGHT_PRICE and moved_bytes <= 32 else "blocks"


def block_shape(space: str) -> Shape | None:
    """Returns the shape by which elements are counted in blocks of this name, one a thread; ``None`` for other index spaces."""
    return Shape(BLOCKS[space][0] * BLOCKS[space][1], 1, False) if space in BLOCKS else None


@lru_cache(256)
def groups_of(name: str, grid: tuple[int, ...]) -> tuple[int, int, int] | None:
    """Returns the groups that cover a grid along x, y and z; ``None`` if many threads would idle, or above `MAX_GROUPS`.

    Example:
        >>> groups_of("blocks light", (6, 64, 100)), groups_of("squares", (64, 3))
        ((4, 2, 6), None)
    """
    wide, tall, rows = BLOCKS[name]
    groups = -(-grid[-1] // wide), -(-grid[-2] // (tall * rows)), math.prod(grid[:-2])
    covered = groups[0] * wide * groups[1] * tall * rows
    return groups if 3 * grid[-1] * grid[-2] >= 2 * covered and max(groups) <= MAX_GROUPS else None


@dataclass(frozen=True)
class Blocks:
    """Blocks of `wide` by `tall` threads with `rows` elements each, `tall` rows apart; or elements by their number."""

    variant: Variant
    wide: int
    tall: int
    rows: int
    lane: str = THREAD_ID

    @property
    def threads(self) -> tuple[int, ...]:
        return (self.wide, self.tall, 1)

    def fields(self, work: ElementWork) -> list[Field]:
        return [*extents(self.variant), Field("uint", "counted", "size")]

    def lines(self, work: ElementWork) -> list[str]:
        index, x, y = self.variant.index, self.variant.rank - 1, self.variant.rank - 2
        group = f"({index}(fz_group.y) * {GROUPS_PER_ROW} + fz_group.x)"
        counted = [
            f"{index} fz_number = {index}({group} * {self.wide * self.tall} + fz_lane.y * {self.wide} + fz_lane.x);",
            f"if (fz_number >= {BLOCK}.count)",
            "    return;",
            *decoded(self.variant, "fz_number", range(self.variant.rank)),
            *work.element(numbered=True),
            "return;",
        ]
        return [
            *work.before(),
            f"if ({BLOCK}.counted != 0)",
            *block(counted),
            f"{index} d{x} = {index}(fz_group.x * {self.wide} + fz_lane.x);",
            f"{index} fz_row = {index}(fz_group.y * {self.tall * self.rows} + fz_lane.y);",
            f"if (fz_row >= {BLOCK}.extent{y} || d{x} >= {BLOCK}.extent{x})",
            "    return;",
            *decoded(self.variant, f"{index}(fz_group.z)", range(y)),
            *self._rows(work),
        ]

    def _rows(self, work: ElementWork) -> list[str]:
        """Returns statements for the elements of a thread in its column, from ``fz_row``."""
        index, y = self.variant.index, self.variant.rank - 2
        if self.rows == 1:
            return [f"{index} d{y} = fz_row;", *work.element(numbered=True)]
        at, end = f"fz_row + {index}(k * {self.tall})", f"{BLOCK}.extent{y}"
        if work.arrays:
            one = [f"{index} d{y} = {at};", f"if (d{y} >= {end})", "    return;", *work.element(numbered=True)]
            return [f"[ForceUnroll] for (uint k = 0; k < {self.rows}; ++k)", *block(one)]
        load = [f"{index} d{y} = {work.nearest(at, f'{end} - 1')};", *work.number]  # below the last row, that again
        store = [f"{index} d{y} = {at};", f"if (d{y} < {end})", *block([*work.number, *work.store("{}[k]".format)])]
        return work.batched(self.rows, f"{at} < {end}", load, store)
