"""The index space of GPU kernels over grids of two dimensions and more: a thread group covers a block of the grid.

The coordinates come from the group's indices along x, y and z, so that no element costs a division. On an H100 a 5-point stencil
by hand takes 524 µs with four rows a thread, 650 with one, and 716 with coordinates divided from a number. Blocks would leave
most threads of a narrow grid idle: there the same kernel divides them from a number, so that no size compiles another one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from fusepy.backend.emit.operand import BLOCK, Field
from fusepy.backend.emit.spaces.space import ElementWork, decoded, extents, reciprocals
from fusepy.backend.emit.spaces.turned import SIDE
from fusepy.backend.emit.tuning import GROUPS_PER_ROW, HEAVY_PRICE, LIGHT_PRICE, Shape
from fusepy.backend.emit.variant import Variant
from fusepy.backend.slang.stage import THREAD_ID
from fusepy.ir.ops.control import block

MAX_GROUPS = 65535  # along one axis, on every device

IN_SQUARES = "blocks in squares"

# The threads of a group along x and y, and the rows of a thread, which lie a group's height apart.
BLOCKS = {
    "squares": (16, 16, 1),  # for texels: memory keeps those of a square together
    "blocks light": (32, 8, 4),  # more loads in flight
    IN_SQUARES: (SIDE, 8, SIDE // 8),  # for operands that lie turned
    "blocks": (32, 8, 1),  # more threads
    "blocks heavy": (32, 2, 1),  # few elements fill the device
}


def blocks_for(price: float, moved_bytes: int) -> str:
    """Returns the name of the blocks for a body of this price, with operands and results of so many bytes."""
    if price >= HEAVY_PRICE:
        return "blocks heavy"
    return "blocks light" if price <= LIGHT_PRICE and moved_bytes <= 48 else "blocks"


def block_shape(space: str) -> Shape | None:
    """Returns the shape by which elements are counted in blocks of this name; ``None`` for other index spaces."""
    if space not in BLOCKS:
        return None
    wide, tall, rows = BLOCKS[space]
    return Shape(wide * tall, rows, rows > 1)


def beyond(space: str) -> int:
    """Returns how far past the last element the numbers of threads go: the last row of groups is full."""
    return GROUPS_PER_ROW * math.prod(BLOCKS[space])


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
    """Blocks of `wide` by `tall` threads with `rows` elements each, `tall` rows apart; or as many elements by their number."""

    variant: Variant
    wide: int
    tall: int
    rows: int
    lane: str = THREAD_ID

    @property
    def threads(self) -> tuple[int, ...]:
        return (self.wide, self.tall, 1)

    def fields(self, work: ElementWork) -> list[Field]:
        quick = [] if self.variant.wide else reciprocals(self.variant)
        return [*extents(self.variant), *quick, Field("uint", "counted", "size")]

    def lines(self, work: ElementWork) -> list[str]:
        index, x, y = self.variant.index, self.variant.rank - 1, self.variant.rank - 2
        return [
            *work.before(),
            f"if ({BLOCK}.counted != 0)",
            *block([*self._counted(work), "return;"]),
            *self._decoded(f"{index}(fz_group.z)", range(y)),
            *work.squares.filled([*self._in_square(y, "x", work), *self._in_square(x, "y + k * 8", work), *work.number]),
            f"{index} d{x} = {index}(fz_group.x * {self.wide} + fz_lane.x);",
            f"{index} fz_row = {index}(fz_group.y * {self.tall * self.rows} + fz_lane.y);",
            f"if (fz_row >= {BLOCK}.extent{y} || d{x} >= {BLOCK}.extent{x})",
            "    return;",
            *self._rows(work),
        ]

    def _decoded(self, number: str, dims: Sequence[int]) -> list[str]:
        return decoded(self.variant, number, dims, not self.variant.wide)

    def _in_square(self, d: int, lane: str, work: ElementWork) -> list[str]:
        """Returns the line that sets a coordinate of the element that a thread reads into a square: at most the last one."""
        index, group = self.variant.index, "xy"[self.variant.rank - 1 - d]
        at = f"{index}(fz_group.{group} * {SIDE} + fz_lane.{lane})"
        return [f"{index} d{d} = {work.nearest(at, f'{BLOCK}.extent{d} - 1')};"]

    def _counted(self, work: ElementWork) -> list[str]:
        """Returns statements for the elements of a thread by their number, which lie a group apart."""
        index, threads = self.variant.index, self.wide * self.tall
        group, end = f"({index}(fz_group.y) * {GROUPS_PER_ROW} + fz_group.x)", f"{index}({BLOCK}.count)"
        first = f"{index} fz_first = {index}({group} * {threads * self.rows} + fz_lane.y * {self.wide} + fz_lane.x);"
        beyond = [f"if (fz_first >= {end})", "    return;"]
        place = self._decoded("fz_number", range(self.variant.rank))
        if self.rows == 1:
            return [first, *beyond, f"{index} fz_number = fz_first;", *place, *work.element(numbered=True)]
        at = f"fz_first + {index}(k * {threads})"
        if work.arrays:
            one = [f"{index} fz_number = {at};", f"if (fz_number >= {end})", "    return;", *place, *work.element(numbered=True)]
            return [first, f"{work.text.unroll} for (uint k = 0; k < {self.rows}; ++k)", *block(one)]
        load = [f"{index} fz_number = {work.nearest(at, f'{end} - 1')};", *place, *work.number]
        store = [*place, *work.number, *work.store("{}[k]".format)]
        store = [f"{index} fz_number = {at};", f"if (fz_number < {end})", *block(store)]
        return [first, *beyond, *work.batched(self.rows, f"{at} < {end}", load, store)]

    def _rows(self, work: ElementWork) -> list[str]:
        """Returns statements for the elements of a thread in its column, from ``fz_row``."""
        index, y = self.variant.index, self.variant.rank - 2
        if self.rows == 1:
            return [f"{index} d{y} = fz_row;", *work.element(numbered=True)]
        at, end = f"fz_row + {index}(k * {self.tall})", f"{BLOCK}.extent{y}"
        if work.arrays:
            one = [f"{index} d{y} = {at};", f"if (d{y} >= {end})", "    return;", *work.element(numbered=True)]
            return [f"{work.text.unroll} for (uint k = 0; k < {self.rows}; ++k)", *block(one)]
        load = [f"{index} d{y} = {work.nearest(at, f'{end} - 1')};", *work.number]  # below the last row, that again
        store = [f"{index} d{y} = {at};", f"if (d{y} < {end})", *block([*work.number, *work.store("{}[k]".format)])]
        return work.batched(self.rows, f"{at} < {end}", load, store, work.squares.held())
