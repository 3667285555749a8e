"""The index space of CPU kernels that need the coordinates of elements: a group of 8 threads walks along rows of the grid.

All lanes are in one row. Values that depend on the row only, above all addresses, are computed once for the 8 lanes, and no
element costs a division. The sizes determine the number of rows, or the part of a row, per group. They are parameters of the
kernel, so that one kernel serves rows of any length. Decision 014 has the measurements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from fusepy.backend.emit.operand import BLOCK, Field
from fusepy.backend.emit.spaces.space import ElementWork, decoded, extents
from fusepy.backend.emit.tuning import GROUPS_PER_ROW, LANES, RUN, Shape
from fusepy.backend.emit.variant import Variant
from fusepy.backend.slang.stage import THREAD_INDEX
from fusepy.ir.ops.control import block

ELEMENTS = 8192  # elements per group
SLACK = 1 << 29  # bound on the index, past the last element, that a group without elements computes


@dataclass(frozen=True)
class Walk:
    """The elements of a group: `rows` of the grid in sequence, or one of `segments` parts of a row, `segment` elements each."""

    rows: int
    segment: int
    segments: int
    groups: tuple[int, int, int]

    @property
    def sizes(self) -> dict[str, int]:
        """The parameters of the kernel, by the names of `walk_fields`."""
        return {"rows": self.rows, "segment": self.segment, "segments": self.segments}


@lru_cache(256)
def walk_for(grid: tuple[int, ...]) -> Walk:
    """Returns the distribution of the rows of a grid, of rank 1 at least, over groups.

    Example:
        >>> walk_for((100, 200)), walk_for((2, 10000))
        (Walk(rows=40, segment=200, segments=1, groups=(3, 1, 1)), Walk(rows=1, segment=5000, segments=2, groups=(4, 1, 1)))
    """
    rows, extent = math.prod(grid[:-1]), grid[-1]
    segments = -(-extent // ELEMENTS)
    segment = -(-extent // (segments * LANES)) * LANES if segments > 1 else extent
    several = max(1, ELEMENTS // max(extent, 1))
    groups = -(-rows // several) * segments
    return Walk(several, segment, segments, (min(groups, GROUPS_PER_ROW), -(-groups // GROUPS_PER_ROW), 1))


def walk_fields(variant: Variant) -> list[Field]:
    """Returns the parameters of the kernel for a `Walk`."""
    types = {"rows": variant.index, "segment": variant.index, "segments": "uint"}
    return [Field(type, name, "size") for name, type in types.items()]


@dataclass(frozen=True)
class Rows:
    """Rows in sequence; along each row, every thread takes each eighth element."""

    variant: Variant
    shape: Shape
    lane: str = THREAD_INDEX
    threads: tuple[int, ...] = (LANES, 1, 1)

    def fields(self, work: ElementWork) -> list[Field]:
        return [*extents(self.variant), *walk_fields(self.variant)]

    def lines(self, work: ElementWork) -> list[str]:
        index, last, element = self.variant.index, self.variant.rank - 1, work.element(numbered=True)
        extent = f"{BLOCK}.extent{last}"
        return [
            *work.before(),
            f"uint fz_at = fz_group.y * {GROUPS_PER_ROW} + fz_group.x;",
            f"{index} fz_row = {index}(fz_at / {BLOCK}.segments) * {BLOCK}.rows;",
            f"{index} fz_from = {index}(fz_at % {BLOCK}.segments) * {BLOCK}.segment;",
            f"{index} fz_to = {extent} - fz_from < {BLOCK}.segment ? {extent} : fz_from + {BLOCK}.segment;",
            f"{index} fz_rows = {index}({BLOCK}.count) / {extent};",
            f"{index} fz_end = fz_rows - fz_row < {BLOCK}.rows ? fz_rows : fz_row + {BLOCK}.rows;",
            *(self._narrow(element) if last else ()),
            "for (; fz_row < fz_end; ++fz_row)",
            *block([*decoded(self.variant, "fz_row", range(last)), *self._row(work, element)]),
        ]

    def _row(self, work: ElementWork, element: Sequence[str]) -> list[str]:
        """Returns the loops over the elements of a row."""
        index, x, wide = self.variant.index, f"d{self.variant.rank - 1}", RUN * LANES
        row, place = [f"{index} fz_x = fz_from;"], [f"{index} {x} = fz_x + {index}(k * {LANES} + fz_lane);"]
        several: list[str] = []
        if work.light:  # one by one, which is as fast
            several = [f"[unroll] for (uint k = 0; k < {RUN}; ++k)", *block([*place, *element])]
        elif self.shape.run > 1 and not work.arrays:
            several = work.run(RUN, [*place, *work.number])
        if several:
            row += [f"for (; fz_x + {wide} <= fz_to; fz_x += {wide})", *block(several)]
        one = [f"{index} {x} = fz_x + {index}(fz_lane);", *element]
        return [*row, f"for (; fz_x + {index}(fz_lane) < fz_to; fz_x += {LANES})", *block(one)]

    def _narrow(self, element: Sequence[str]) -> list[str]:
        """Returns the loop for rows with fewer elements than lanes. Lanes are in several rows, and divide for coordinates."""
        index, extent = self.variant.index, f"{BLOCK}.extent{self.variant.rank - 1}"
        loop = f"for ({index} fz_i = fz_row * {extent} + {index}(fz_lane); fz_i < fz_last; fz_i += {LANES})"
        one = [*decoded(self.variant, "fz_i", range(self.variant.rank)), *element]
        return [f"if ({extent} < {LANES})", *block([f"{index} fz_last = fz_end * {extent};", loop, *block(one), "return;"])]
