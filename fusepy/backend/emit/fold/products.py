"""Kernels of products of matrices for CPU devices: each thread has some rows of its columns, the lanes of a group are columns.

Every load is a gather there, whatever it reads, and costs as much as some 20 multiplications of 8 lanes (decision 024). So a
group of 8 threads, one vector of the processor, loads 8 or 16 elements of the left matrix at once, one or two per lane, and each
lane gets all of them from the others. The elements of the right matrix are loaded once for many rows: a short sum keeps all of
them in registers and on the stack, and walks along the rows; a long one does so panel by panel, see `fold.panels`.
"""

from __future__ import annotations

from fusepy.backend.emit.fold.elements import FoldElements
from fusepy.backend.emit.fold.factors import FUNCTIONS, Factors, least, loop, place_of_group
from fusepy.backend.emit.fold.panels import Panels
from fusepy.backend.emit.fold.product_ends import ProductEnds
from fusepy.backend.emit.fold.tile import ProductTile
from fusepy.backend.emit.operand import BLOCK
from fusepy.backend.emit.spaces.space import decoded
from fusepy.backend.emit.tuning import LANES
from fusepy.ir.ops.control import block


class ProductLoops:
    """The loops of a product, over the loads of its two factors and the work on its results."""

    def __init__(self, elements: FoldElements):
        self.elements, text = elements, elements.text
        tile = elements.variant.shape.tile
        assert isinstance(tile, ProductTile)
        self.tile, self.index, self.kept = tile, elements.chunks.index, text.kept
        self.factors = Factors(text, tile, self.index)
        self.ends = ProductEnds(elements, self.factors)

    def functions(self) -> list[str]:
        """Returns Slang's functions under names of their own; a user's module may hide theirs."""
        return FUNCTIONS

    def lines(self) -> list[str]:
        """Returns the body of the entry point."""
        index, tile, own = self.index, self.tile, f"{self.index}({BLOCK}.rows_of_group)"
        batch = [d for d in self.kept if d not in (tile.row, tile.column)]
        return [
            f"{index} fz_rows = {BLOCK}.extent{tile.row};",
            f"{index} fz_columns = {BLOCK}.extent{tile.column};",
            *place_of_group(index, own, LANES * tile.columns),
            f"if (fz_batch * fz_rows * fz_columns >= {BLOCK}.outputs)",
            "    return;",
            f"{index} fz_end = {least(f'fz_row + {own}', 'fz_rows')};",
            *self.elements.chunks.bounds("fz_chunk"),
            *decoded(self.elements.variant, "fz_batch", batch),
            *self.factors.right_places(),
            *self.factors.left_steps(),
            *self.ends.before(),
            *(Panels(self.factors, self.ends).lines() if tile.panels else self._short()),
        ]

    def _short(self) -> list[str]:
        """Returns the loops of a short sum: all elements of the columns are loaded, then rows in sequence.

        The left elements of a step are loaded before the products of the step ahead of it, so that these do not wait for them.
        """
        tile, factors = self.tile, self.factors
        steps = factors.hold_left(f"{self.index}(0)", "fz_a0")
        for step, first in enumerate(range(0, tile.depth, tile.terms), 1):
            if (after := first + tile.terms) < tile.depth:
                zero = tile.waits[step - 1] if tile.flows else ""
                steps += factors.hold_left(f"{self.index}({after})", f"fz_a{step}", zero)
            steps += self._step(f"fz_a{step - 1}", first)
        body = [*factors.left_places(), *self._zeros(), *steps, *self.ends.lines(), f"fz_row += {tile.rows};"]
        return [*factors.hold_right(tile.depth, f"{self.index}(0)"), *("do", *block(body), "while (fz_row < fz_end);")]

    def _step(self, left: str, first: int) -> list[str]:
        """Returns the products of the terms from `first` on, whose left elements are in the array `left`.

        Each right element is multiplied for all rows at once. In the other order LLVM holds all columns', and stores sums.
        """
        tile, factors = self.tile, self.factors
        if not tile.deep:
            body = [
                f"float x = {factors.of_left(left, 'fz_r', 'fz_u')};",
                factors.columns,
                f"    fz_sum[fz_r][fz_c] = fz_fma(x, fz_b[{first} + fz_u][fz_c], fz_sum[fz_r][fz_c]);",
            ]
            return [loop("u", tile.terms), loop("r", tile.rows), *block(body)]
        body = [
            f"float x[{tile.rows}];",
            loop("r", tile.rows),
            f"    x[fz_r] = {factors.of_left(left, 'fz_r', 'fz_u')};",
            factors.columns,
            f"    {loop('r', tile.rows)}",
            f"        fz_sum[fz_r][fz_c] = fz_fma(x[fz_r], fz_b[{first} + fz_u][fz_c], fz_sum[fz_r][fz_c]);",
        ]
        return [loop("u", tile.terms), *block(body)]

    def _zeros(self) -> list[str]:
        tile = self.tile
        cells = [loop("r", tile.rows), f"    {self.factors.columns}", "        fz_sum[fz_r][fz_c] = 0.0;"]
        return [f"float fz_sum[{tile.rows}][{tile.columns}];", *cells]
