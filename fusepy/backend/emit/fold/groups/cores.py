"""Kernels of products of halfs by the tensor cores of NVIDIA's GPUs: 16 x 16 times 16 x 8 halfs at once, added as floats.

Copies from memory into shared memory go on while former terms are multiplied: three sets of 32 terms lie there. A wave of 32
threads computes its own part of the tile.
"""

from __future__ import annotations

from fusepy.backend.emit.fold.elements import FoldElements
from fusepy.backend.emit.fold.groups.copies import SETS, TERMS, CoreFactor
from fusepy.backend.emit.fold.groups.factors import unrolled
from fusepy.backend.emit.fold.groups.products import GroupLoops
from fusepy.backend.emit.fold.groups.walk import WAVE, GroupWalk
from fusepy.backend.emit.operand import BARRIER, BLOCK
from fusepy.ir.ops.control import block

CHUNK = 1 << 13  # the longest sum of a group: the cores cut off what a float cannot hold, so that errors grow with its length
BAND = 8  # rows of tiles whose groups are neighbours, so that those that run at a time read few different rows and columns
EIGHT = "a, b, c, d, e, f, g, h"
STORES = [
    *("uint fz_two(half a, half b)", "{", "    return uint(asuint16(a)) | (uint(asuint16(b)) << 16);", "}", ""),
    f"void fz_store_eight(half* at, half {EIGHT.replace(', ', ', half ')})",
    *("{", "    ((uint4*)at)[0] = uint4(fz_two(a, b), fz_two(c, d), fz_two(e, f), fz_two(g, h));", "}", ""),
    f"void fz_store_eight(float* at, float {EIGHT.replace(', ', ', float ')})",
    *("{", "    ((float4*)at)[0] = float4(a, b, c, d);", "    ((float4*)at)[1] = float4(e, f, g, h);", "}", ""),
]


class CoreWalk(GroupWalk):
    """The walk of a group, whose waves have parts of the tile. Groups go through some rows of tiles column by column."""

    def places(self) -> list[str]:
        """Returns lines that set the first row and column of a group, its chunk and its matrices."""
        index, tile = self.index, self.tile
        return [
            *super().places(),
            f"uint fz_tile = fz_at % ({BLOCK}.across * {BLOCK}.down);",
            f"uint fz_band = fz_tile / ({BLOCK}.across * {BAND}) * {BAND};",
            f"uint fz_deep = {BLOCK}.down - fz_band < {BAND} ? {BLOCK}.down - fz_band : {BAND};",
            f"fz_tile -= fz_band * {BLOCK}.across;",
            f"fz_row = {index}(fz_band + fz_tile % fz_deep) * {tile.rows};",
            f"fz_column = {index}(fz_tile / fz_deep) * {tile.columns};",
        ]

    def threads(self) -> list[str]:
        """Returns lines that set the place of a thread in its wave, and the part of its wave."""
        high, wide = self.tile.own[0] * 8, self.tile.own[1] * 4  # the part of a wave
        across = self.tile.columns // wide
        return [
            f"uint fz_in = fz_lane % {WAVE};",
            f"uint fz_high = fz_lane / {WAVE} / {across} * {high};",
            f"uint fz_wide = fz_lane / {WAVE} % {across} * {wide};",
        ]


class CoreLoops(GroupLoops):
    """The loops of a product by tensor cores, over the copies of its two factors and the work on its results."""

    factor, way = CoreFactor, CoreWalk

    def __init__(self, elements: FoldElements):
        super().__init__(elements)
        rows, columns = self.tile.own
        self.down, self.beside = rows // 2, columns // 2  # the products of a wave

    def functions(self) -> list[str]:
        """Returns shared memory, and Slang's functions."""
        return [self.left.shared, self.right.shared, "", *(STORES if self.tile.ends else ())]

    def row(self, r: str) -> str:
        """Returns the place of a thread's row number `r`."""
        return f"fz_row + {self.index}(fz_high + {r} / 2 * 16 + {r} % 2 * 8 + fz_in / 4)"

    def column(self, c: str) -> str:
        """Returns the place of a thread's column number `c`."""
        return f"fz_column + {self.index}(fz_wide + {c} / 8 * 32 + fz_in % 4 * 8 + {c} % 8)"

    def _sums(self) -> list[str]:
        """Returns the loop over the chunk, and then `_taken`."""
        return [
            *("uint fz_set = 0;", "uint fz_free = 0;", f"{self.index} fz_done = fz_e;"),
            *(*self.walk.fetch, "fzcore_commit();"),
            *(f"fz_e += {TERMS};", "fz_free = 1;", "if (fz_e < fz_last)", *block(self.walk.fetch), "fzcore_commit();"),
            f"float4 fz_core[{self.down}][{self.beside}];",
            *self._cells(["fz_core[fz_r][fz_c] = float4(0.0);"]),
            *("do", *block(self._step()), "while (fz_done < fz_last);"),
            *self._taken(),
        ]

    def _step(self) -> list[str]:
        """Returns lines that wait for a set, copy the terms two sets ahead into the one that is done, and multiply."""
        return [
            *("fzcore_wait();", BARRIER),
            *(f"fz_e += {TERMS};", f"fz_free = fz_set == 0 ? {SETS - 1} : fz_set - 1;"),
            *("if (fz_e < fz_last)", *block(self.walk.fetch), "fzcore_commit();"),
            *self._multiplied("fz_core"),
            *(f"fz_set = fz_set == {SETS - 1} ? 0 : fz_set + 1;", f"fz_done += {TERMS};"),
        ]

    def _multiplied(self, into: str) -> list[str]:
        second, fourth = "fz_in / 8 % 2", "fz_in / 16"
        assert isinstance(self.left, CoreFactor)
        assert isinstance(self.right, CoreFactor)
        right = "fz_c % 2 == 0 ? fz_b[fz_c / 2].xy : fz_b[fz_c / 2].zw"
        a = self.left.matrices("(fz_high + fz_r * 16)", second, fourth)
        b = self.right.matrices("(fz_wide + fz_c * 16)", fourth, second)
        body = [
            f"uint4 fz_a[{self.down}], fz_b[{self.beside // 2}];",
            *(unrolled("r", self.down), f"    fz_a[fz_r] = {a};"),
            *(unrolled("c", self.beside // 2), f"    fz_b[fz_c] = {b};"),
            *self._cells([f"{into}[fz_r][fz_c] = fzcore_product(fz_a[fz_r], {right}, {into}[fz_r][fz_c]);"]),
        ]
        return [unrolled("u", TERMS // 16), *block(body)]

    def _taken(self) -> list[str]:
        """Returns lines that set ``fz_sum``, the sums of a thread by its rows and columns.

        Four threads have two columns each of four products. They exchange them, so that each has the eight columns of one.
        """
        rows, columns = self.tile.own
        core = [f"fz_core[fz_r][fz_c + {k}]" for k in range(4)]
        place = "fz_sum[fz_r * 2 + fz_h][fz_c * 2 + fz_q]"
        body = [
            f"float fz_eight[8] = fzcore_exchanged(fz_in, {', '.join(f'fz_h == 0 ? {c}.xy : {c}.zw' for c in core)});",
            *(unrolled("q", 8), f"    {place} = fz_eight[fz_q];"),
        ]
        inner = [unrolled("h", 2), *block(body)]
        return [
            f"float fz_sum[{rows}][{columns}];",
            *(unrolled("r", self.down), f"    {unrolled('c', self.beside, 4)}", *(f"        {line}" for line in inner)),
        ]

    def _cells(self, lines: list[str]) -> list[str]:
        """Returns loops over the products of a wave: blocks of 16 rows and 8 columns."""
        return [unrolled("r", self.down), f"    {unrolled('c', self.beside)}", *(f"        {line}" for line in lines)]
