"""Kernels of products of matrices for GPUs: a group computes a tile of the result, through shared memory.

Each thread has some rows and columns of the tile, whose sums are in registers: four neighbours and four more further on, so that
it loads four numbers of shared memory at once, and neighbouring threads load neighbours.
"""

from __future__ import annotations

from fusepy.backend.emit.fold.elements import FoldElements
from fusepy.backend.emit.fold.factors import RUN, least
from fusepy.backend.emit.fold.groups.factors import FUNCTIONS, OF_HALFS, GroupFactor, unrolled
from fusepy.backend.emit.fold.groups.walk import GroupWalk
from fusepy.backend.emit.fold.product_ends import ProductEnds
from fusepy.backend.emit.fold.tile import GroupTile
from fusepy.ir.ops.control import block
from fusepy.ir.types import HALF


class GroupLoops:
    """The loops of a product, over the loads of its two factors and the work on its results.

    Attributes:
        factor, way: the classes of a matrix and of the walk.
    """

    factor: type[GroupFactor] = GroupFactor
    way: type[GroupWalk] = GroupWalk

    def __init__(self, elements: FoldElements):
        text, tile = elements.text, elements.variant.shape.tile
        assert isinstance(tile, GroupTile)
        self.tile, self.index = tile, elements.chunks.index
        left, right = text.loaded
        if tile.column in left.dims:
            left, right = right, left
        self.left, self.right = (self.factor(text, tile, self.index, o, k == 1) for k, o in enumerate((left, right)))
        self.walk = self.way(elements, self.left, self.right)
        self.ends = ProductEnds(elements, self)
        self._halfs = any(o.have is HALF and four for o, four in zip((left, right), tile.fours))

    def functions(self) -> list[str]:
        """Returns shared memory, and Slang's functions under names of their own; a user's module may hide theirs."""
        return [self.left.shared, self.right.shared, "", *FUNCTIONS, *(OF_HALFS if self._halfs else ())]

    def row(self, r: str) -> str:
        """Returns the place of a thread's row number `r`."""
        return f"fz_row + {self.index}((fz_y + {r} / 4 * {self.tile.across[0]}) * 4 + {r} % 4)"

    def column(self, c: str) -> str:
        """Returns the place of a thread's column number `c`."""
        return f"fz_column + {self.index}((fz_x + {c} / 4 * {self.tile.across[1]}) * 4 + {c} % 4)"

    def last_column(self, c: str) -> str:
        """Returns the place of a thread's column number `c` beyond the edge."""
        return "fz_columns - 1"

    def loop(self, name: str, count: int, step: int = 1) -> str:
        """Returns the head of an unrolled loop."""
        return unrolled(name, count, step)

    def lines(self) -> list[str]:
        """Returns the body of the entry point."""
        return [*self.walk.head(), *self._sums(), *self.ends.before(), *self.ends.lines()]

    def _sums(self) -> list[str]:
        """Returns loops over the chunk, run by run if there may be several, after which ``fz_sum`` has the sums of a thread."""
        start = [*self._zeros("fz_sum"), *self.walk.start()]
        if not self.tile.runs:
            return [*start, "do", *block(self.walk.step(self._multiplied("fz_sum"))), "while (fz_e < fz_last);"]
        run = [
            *self._zeros("fz_run"),
            f"{self.index} fz_stop = {least(f'fz_e + {RUN}', 'fz_last')};",
            *("do", *block(self.walk.step(self._multiplied("fz_run"))), "while (fz_e < fz_stop);"),
            *self.walk.cells(["fz_sum[fz_r][fz_c] += fz_run[fz_r][fz_c];"]),
        ]
        return [*start, "do", *block(run), "while (fz_e < fz_last);"]

    def _multiplied(self, into: str) -> list[str]:
        (rows, columns), (down, beside) = self.tile.own, self.tile.across
        product = f"{into}[fz_r][fz_c] = fz_fma(fz_a[fz_r / 4][fz_r % 4], fz_b[fz_c / 4][fz_c % 4], {into}[fz_r][fz_c]);"
        body = [
            f"float4 fz_a[{rows // 4}], fz_b[{columns // 4}];",
            *(unrolled("q", rows // 4), f"    fz_a[fz_q] = fz_sa[fz_turn][fz_u][fz_y + fz_q * {down}];"),
            *(unrolled("q", columns // 4), f"    fz_b[fz_q] = fz_sb[fz_turn][fz_u][fz_x + fz_q * {beside}];"),
            *self.walk.cells([product]),
        ]
        return [f"[unroll] for (uint fz_u = 0; fz_u < {self.tile.terms}; fz_u += 1)", *block(body)]

    def _zeros(self, name: str) -> list[str]:
        rows, columns = self.tile.own
        return [f"float {name}[{rows}][{columns}];", *self.walk.cells([f"{name}[fz_r][fz_c] = 0.0;"])]
