"""The walk of a group of a GPU along the terms of its tile: the next terms of both arrays are loaded while these are used.

The next terms are loaded into registers, and go to the other half of the shared memory: one barrier for each step.
"""

from __future__ import annotations

from fusepy.backend.emit.fold.elements import FoldElements
from fusepy.backend.emit.fold.factors import place_of_group
from fusepy.backend.emit.fold.groups.factors import GroupFactor
from fusepy.backend.emit.fold.tile import GroupTile
from fusepy.backend.emit.operand import BARRIER, BLOCK
from fusepy.backend.emit.spaces.space import decoded
from fusepy.ir.ops.control import block

WAVE = 32


class GroupWalk:
    """The loops of a group over the terms of its tile.

    Args:
        left, right: the array that runs along the rows of the tile, and the one along its columns.
        unroll: the attribute of loops over the rows and columns of a thread.
    """

    def __init__(self, elements: FoldElements, left: GroupFactor, right: GroupFactor, unroll: str = "[ForceUnroll]"):
        tile = elements.variant.shape.tile
        assert isinstance(tile, GroupTile)
        self.elements, self.tile, self.index = elements, tile, elements.chunks.index
        self.left, self.right, self._unroll = left, right, unroll
        self.fetch = [*left.fetch(), *right.fetch()]

    def head(self) -> list[str]:
        """Returns lines that set the place of a thread, and where its loads begin."""
        index, tile = self.index, self.tile
        batch = [d for d in self.elements.text.kept if d not in (tile.row, tile.column)]
        return [
            f"{index} fz_end = {BLOCK}.extent{tile.row};",
            f"{index} fz_columns = {BLOCK}.extent{tile.column};",
            *self.places(),
            f"if (fz_batch >= {BLOCK}.outputs / (fz_end * fz_columns))",  # no product with it, which may exceed 32 bits
            "    return;",
            *self.elements.chunks.bounds("fz_chunk"),
            *decoded(self.elements.variant, "fz_batch", batch),
            *self.threads(),
            *self.left.start("fz_row", "fz_end"),
            *self.right.start("fz_column", "fz_columns"),
        ]

    def places(self) -> list[str]:
        """Returns lines that set the first row and column of a group, its chunk and its matrices."""
        return place_of_group(self.index, self.tile.rows, self.tile.columns)

    def threads(self) -> list[str]:
        """Returns lines that set the place of a thread in the tile. A wave has a part that is nearly square: it loads less."""
        down, beside = self.tile.across
        x = min(beside, max(8, WAVE // down))
        y = WAVE // x
        if beside * down <= WAVE or x == beside:
            return [f"uint fz_x = fz_lane % {beside};", f"uint fz_y = fz_lane / {beside};"]
        waves = beside // x
        return [
            f"uint fz_wave = fz_lane / {WAVE};",
            f"uint fz_x = fz_wave % {waves} * {x} + fz_lane % {x};",
            f"uint fz_y = fz_wave / {waves} * {y} + fz_lane % {WAVE} / {x};",
        ]

    def start(self) -> list[str]:
        """Returns lines that load the first terms."""
        return [*self.fetch, *self._keep("0"), BARRIER, "uint fz_turn = 0;"]

    def step(self, used: list[str]) -> list[str]:
        """Returns lines that go to the next terms; `used` are those that use the terms in shared memory."""
        return [
            f"fz_e += {self.tile.terms};",
            *("if (fz_e < fz_last)", *block(self.fetch)),
            *used,
            *("if (fz_e < fz_last)", *block(self._keep("fz_turn ^ 1"))),
            BARRIER,
            "fz_turn ^= 1;",
        ]

    def _keep(self, turn: str) -> list[str]:
        return [*self.left.keep(turn), *self.right.keep(turn)]

    def cells(self, lines: list[str]) -> list[str]:
        """Returns loops over the rows ``fz_r`` and columns ``fz_c`` of a thread."""
        rows, columns = self.tile.own
        inner = [f"    {self.loop('c', columns)}", *(f"        {line}" for line in lines)]
        return [self.loop("r", rows), *inner]

    def loop(self, name: str, count: int) -> str:
        """Returns the head of a loop over ``fz_`` and `name`, which is unrolled."""
        return f"{self._unroll} for (uint fz_{name} = 0; fz_{name} < {count}; fz_{name} += 1)"
