"""The index space of kernels whose thread groups are tiles of the grid, so that neighbouring threads are near on the screen.

A group covers ``numthreads`` elements along the last dimensions of the grid, x along the last. Groups are numbered row by row and
dispatched like those of any other kernel, so grids of any size and rank work. A bounds check cuts ragged edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fusepy.backend.emit.operand import BLOCK, Field
from fusepy.backend.emit.spaces.space import ElementWork, extents
from fusepy.backend.emit.tuning import GROUPS_PER_ROW
from fusepy.backend.emit.variant import Variant
from fusepy.backend.slang.stage import THREAD_ID


def tile_extents(tile: Sequence[int], rank: int) -> list[int]:
    """Returns the elements of a tile along each dimension of the grid, slowest first.

    Example:
        >>> tile_extents((16, 8), 3), tile_extents((16, 8), 1)
        ([1, 8, 16], [16])
    """
    return [1] * (rank - len(tile)) + list(reversed(tile[:rank]))


def covered(tile: Sequence[int], grid: Sequence[int], per_group: int) -> int:
    """Returns the number of threads that cover a grid with whole tiles.

    Example:
        >>> covered((16, 16), (20, 40), 256) // 256
        6
    """
    groups = 1
    for extent, size in zip(grid, tile_extents(tile, len(grid))):
        groups *= -(-extent // size)
    return groups * per_group


@dataclass(frozen=True)
class Tiles:
    """Tiles of threads with a bounds check, one element per thread."""

    variant: Variant
    lane: str = THREAD_ID

    @property
    def threads(self) -> tuple[int, ...]:
        return (*self.variant.tile, 1, 1)[:3]

    def fields(self, work: ElementWork) -> list[Field]:
        return extents(self.variant)

    def lines(self, work: ElementWork) -> list[str]:
        index, rank, tile = self.variant.index, self.variant.rank, self.variant.tile
        group = "uint64_t" if self.variant.wide else "uint"
        lines = [f"{group} fz_tile = {group}(fz_group.y) * {GROUPS_PER_ROW} + fz_group.x;"]
        for d, size in reversed(list(enumerate(tile_extents(tile, rank)))):
            axis = rank - 1 - d
            lane = f" + {index}(fz_lane.{'xyz'[axis]})" if axis < len(tile) else ""
            count = f"{group}({BLOCK}.extent{d} + {size - 1}) / {size}" if size > 1 else f"{group}({BLOCK}.extent{d})"
            if d:
                lines.append(f"{group} fz_tiles{d} = {count};")
                lines.append(f"{index} d{d} = {index}(fz_tile % fz_tiles{d}) * {size}{lane};")
                lines.append(f"fz_tile /= fz_tiles{d};")
            else:  # groups past the end, in the last row of a folded dispatch, get a coordinate beyond the first extent
                lines.append(f"{index} d0 = {index}(fz_tile) * {size}{lane};")
        beyond = [f"d{d} >= {BLOCK}.extent{d}" for d in range(rank)]
        beyond += [f"fz_lane.{'xyz'[axis]} != 0" for axis in range(rank, len(tile))]
        lines += [f"if ({' || '.join(beyond)})", "    return;"] if beyond else []
        strides = ["".join(f" * {BLOCK}.extent{e}" for e in range(d + 1, rank)) for d in range(rank)]
        linear = " + ".join(f"d{d}{step}" for d, step in enumerate(strides))
        return [*lines, f"{index} i = {linear or 0};", *work.before(), *work.element()]
