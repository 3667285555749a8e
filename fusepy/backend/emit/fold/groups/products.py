"""Kernels of products of matrices for GPUs: a group computes a tile of the result, through shared memory.

Each thread has some rows and columns of the tile, whose sums are in registers: four neighbours and four more further on, so that
it loads four numbers of shared memory at once, and neighbouring threads load neighbours. The next terms of both matrices are
loaded into registers while these are multiplied, and go to the other half of the shared memory: one barrier for each step.
"""

from __future__ import annotations

from fusepy.backend.emit.fold.elements import FoldElements
from fusepy.backend.emit.fold.factors import RUN, least, place_of_group
from fusepy.backend.emit.fold.groups.factors import FUNCTIONS, OF_HALFS, GroupFactor, unrolled
from fusepy.backend.emit.fold.product_ends import ProductEnds
from fusepy.backend.emit.fold.tile import GroupTile
from fusepy.backend.emit.operand import BARRIER, BLOCK
from fusepy.backend.emit.spaces.space import decoded
from fusepy.ir.ops.control import block
from fusepy.ir.types import HALF

WAVE = 32


class GroupLoops:
    """The loops of a product, over the loads of its two factors and the work on its results."""

    def __init__(self, elements: FoldElements):
        self.elements, text = elements, elements.text
        tile = elements.variant.shape.tile
        assert isinstance(tile, GroupTile)
        self.tile, self.index, self.kept = tile, elements.chunks.index, text.kept
        left, right = text.loaded
        if tile.column in left.dims:
            left, right = right, left
        self.left, self.right = (GroupFactor(text, tile, self.index, o, k == 1) for k, o in enumerate((left, right)))
        self.ends = ProductEnds(elements, self)
        self._halfs = any(o.have is HALF and four for o, four in zip((left, right), tile.fours))

    def functions(self) -> list[str]:
        """Returns shared memory, and Slang's functions under names of their own; a user's module may hide theirs."""
        return [self.left.shared, self.right.shared, "", *FUNCTIONS, *(OF_HALFS if self._halfs else ())]

    # ---- the places of a thread ---------------------------------------------------------------------------------

    def row(self, r: str) -> str:
        """Returns the place of a thread's row number `r`."""
        return f"fz_row + {self.index}((fz_y + {r} / 4 * {self.tile.across[0]}) * 4 + {r} % 4)"

    def column(self, c: str) -> str:
        """Returns the place of a thread's column number `c`."""
        return f"fz_column + {self.index}((fz_x + {c} / 4 * {self.tile.across[1]}) * 4 + {c} % 4)"

    def loop(self, name: str, count: int, step: int = 1) -> str:
        """Returns the head of an unrolled loop."""
        return unrolled(name, count, step)

    def _threads(self) -> list[str]:
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

    def lines(self) -> list[str]:
        """Returns the body of the entry point."""
        index, tile = self.index, self.tile
        batch = [d for d in self.kept if d not in (tile.row, tile.column)]
        return [
            f"{index} fz_end = {BLOCK}.extent{tile.row};",
            f"{index} fz_columns = {BLOCK}.extent{tile.column};",
            *place_of_group(index, tile.rows, tile.columns),
            f"if (fz_batch >= {BLOCK}.outputs / (fz_end * fz_columns))",  # no product with it, which may exceed 32 bits
            "    return;",
            *self.elements.chunks.bounds("fz_chunk"),
            *decoded(self.elements.variant, "fz_batch", batch),
            *self._threads(),
            *self.left.start("fz_row", "fz_end"),
            *self.right.start("fz_column", "fz_columns"),
            *self._sums(),
            *self.ends.before(),
            *self.ends.lines(),
        ]

    # ---- the sums -----------------------------------------------------------------------------------------------

    def _sums(self) -> list[str]:
        """Returns loops over the chunk, run by run if there may be several, after which ``fz_sum`` has the sums of a thread."""
        fetch = [*self.left.fetch(), *self.right.fetch()]
        start = [*self._zeros("fz_sum"), *fetch, *self._keep("0"), BARRIER, "uint fz_turn = 0;"]
        if not self.tile.runs:
            return [*start, "do", *block(self._step(fetch, "fz_sum")), "while (fz_e < fz_last);"]
        run = [
            *self._zeros("fz_run"),
            f"{self.index} fz_stop = {least(f'fz_e + {RUN}', 'fz_last')};",
            *("do", *block(self._step(fetch, "fz_run")), "while (fz_e < fz_stop);"),
            *self._all("fz_sum[fz_r][fz_c] += fz_run[fz_r][fz_c];"),
        ]
        return [*start, "do", *block(run), "while (fz_e < fz_last);"]

    def _step(self, fetch: list[str], into: str) -> list[str]:
        """Returns lines that multiply the terms in shared memory, and load the next ones meanwhile."""
        return [
            f"fz_e += {self.tile.terms};",
            *("if (fz_e < fz_last)", *block(fetch)),
            *self._multiplied(into),
            *("if (fz_e < fz_last)", *block(self._keep("fz_turn ^ 1"))),
            BARRIER,
            "fz_turn ^= 1;",
        ]

    def _multiplied(self, into: str) -> list[str]:
        (rows, columns), (down, beside) = self.tile.own, self.tile.across
        body = [
            f"float4 fz_a[{rows // 4}], fz_b[{columns // 4}];",
            *(unrolled("q", rows // 4), f"    fz_a[fz_q] = fz_sa[fz_turn][fz_u][fz_y + fz_q * {down}];"),
            *(unrolled("q", columns // 4), f"    fz_b[fz_q] = fz_sb[fz_turn][fz_u][fz_x + fz_q * {beside}];"),
            *self._all(f"{into}[fz_r][fz_c] = fz_fma(fz_a[fz_r / 4][fz_r % 4], fz_b[fz_c / 4][fz_c % 4], {into}[fz_r][fz_c]);"),
        ]
        return [f"[unroll] for (uint fz_u = 0; fz_u < {self.tile.terms}; fz_u += 1)", *block(body)]

    def _keep(self, turn: str) -> list[str]:
        return [*self.left.keep(turn), *self.right.keep(turn)]

    def _zeros(self, name: str) -> list[str]:
        rows, columns = self.tile.own
        return [f"float {name}[{rows}][{columns}];", *self._all(f"{name}[fz_r][fz_c] = 0.0;")]

    def _all(self, line: str) -> list[str]:
        """Returns loops of one line over the rows and columns of a thread."""
        rows, columns = self.tile.own
        return [unrolled("r", rows), f"    {unrolled('c', columns)}", f"        {line}"]
