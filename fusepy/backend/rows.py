"""Kernels that know where in the grid they are: groups of threads lie along rows of it, or cover squares.

Group numbers along x, y and z are coordinates, so that no element costs a division, and what only depends on the row is computed
once for all lanes: on lavapipe that makes kernels of strided arguments 1.5 to 1.8 times as fast, and blurs 1.4 to 1.65 times. On
a GPU it is done for texels, which lie in squares, so a group covers one there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fusepy.backend.marshals.base import BLOCK, Variant

MAX_GROUPS = 65535  # along one axis, on every device


@dataclass(frozen=True)
class Rows:
    """The size of a group along the last two dimensions, last one first, and how many elements a thread takes along the last."""

    tile: tuple[int, int]
    steps: int

    @property
    def width(self) -> int:
        """Elements along the last dimension that a group covers."""
        return self.tile[0] * self.steps


def rows_for(kind: str) -> Rows:
    """The shape for a device ``kind``; see `tuning.choose`."""
    return Rows((256, 1), 4) if kind == "software" else Rows((16, 16), 1)


def groups_for(kind: str, grid: Sequence[int]) -> list[int] | None:
    """How many groups cover a grid along x, y and z; ``None`` where most threads would idle, or a device takes no more.

    Example:
        >>> groups_for("vulkan", (6, 64, 100)), groups_for("vulkan", (64, 3))
        ([7, 4, 6], None)
    """
    rows = rows_for(kind)
    if len(grid) < 2 or 2 * grid[-1] < rows.width or 2 * grid[-2] < rows.tile[1]:
        return None
    groups = [-(-grid[-1] // rows.width), -(-grid[-2] // rows.tile[1]), math.prod(grid[:-2])]
    return groups if max(groups) <= MAX_GROUPS else None


def linear_index(variant: Variant) -> str:
    """The place of an element in its grid in C order, for what is computed from that."""
    place = "d0"
    for d in range(1, variant.rank):
        place = f"({place} * {BLOCK}.extent{d} + d{d})"
    return f"{variant.index} i = {place};"


def row_kernel(
    kind: str, entry: str, block: str, name: str, variant: Variant, before: Sequence[str], loop: str, element: Sequence[str]
) -> list[str]:
    """The entry point: coordinates from group and thread, then elements along the row.

    Args:
        before: lines that stand once, before any element.
        loop: how the elements of a thread follow each other, ``[loop]`` or ``[unroll]``.
    """
    index, rank, rows = variant.index, variant.rank, rows_for(kind)
    x, y = rank - 1, rank - 2
    lines = [
        f'#line 1 "{name}_kernel"',
        '[shader("compute")]',
        f"[numthreads({rows.tile[0]}, {rows.tile[1]}, 1)]",
        f"void {entry}(uint3 fz_group : SV_GroupID, uint3 fz_lane : SV_GroupThreadID{block})",
        "{",
        *before,
        f"    {index} d{y} = {index}(fz_group.y * {rows.tile[1]} + fz_lane.y);",
    ]
    rest = f"{index}(fz_group.z)"
    for d in reversed(range(1, y)):
        lines += [f"    {index} d{d} = {rest} % {BLOCK}.extent{d};", f"    {index} rest{d} = {rest} / {BLOCK}.extent{d};"]
        rest = f"rest{d}"
    if y:
        lines.append(f"    {index} d0 = {rest};")
    if rows.tile[1] > 1:
        lines += [f"    if (d{y} >= {BLOCK}.extent{y})", "        return;"]
    first = f"{index}(fz_group.x * {rows.width} + fz_lane.x)"
    if rows.steps == 1:
        body = [f"{index} d{x} = {first};", f"if (d{x} >= {BLOCK}.extent{x})", "    return;", *element]
        return [*lines, *(f"    {line}" for line in body), "}"]
    lines += [f"    {index} first = {first};", f"    {loop}", f"    for (uint k = 0; k < {rows.steps}; ++k)", "    {"]
    body = [f"{index} d{x} = first + {index}(k * {rows.tile[0]});", f"if (d{x} >= {BLOCK}.extent{x})", "    return;", *element]
    return [*lines, *(f"        {line}" for line in body), "    }", "}"]
