"""Kernels of folds of pairs for GPUs, such as distances of points: a group computes a tile of the results in shared memory.

What is folded is computed of two arrays, of which one runs along the rows and one along the columns of the result, as in a
product of matrices. So each element is loaded once for all rows or columns of a tile. A thread has rows and columns with the
distance of the threads beside it, so that these load neighbours of shared memory, and store neighbouring results.
"""

from __future__ import annotations

from fusepy.backend.emit.fold.elements import FoldElements
from fusepy.backend.emit.fold.groups.factors import GroupFactor
from fusepy.backend.emit.fold.groups.walk import GroupWalk
from fusepy.backend.emit.fold.tile import GroupTile
from fusepy.ir.ops.control import block


class PairLoops:
    """The loops of a fold of pairs, over the loads of its two arrays and the work on its elements and results."""

    def __init__(self, elements: FoldElements):
        text, tile = elements.text, elements.variant.shape.tile
        assert isinstance(tile, GroupTile)
        self.elements, self.tile, self.index = elements, tile, elements.chunks.index
        pair = (next(o for o in text.loaded if o.position == position) for position in tile.pair)
        self.left, self.right = (GroupFactor(text, tile, self.index, o, k == 1) for k, o in enumerate(pair))
        self.walk = GroupWalk(elements, self.left, self.right, text.unroll)

    def functions(self) -> list[str]:
        """Returns the shared memory of both arrays."""
        return [self.left.shared, self.right.shared, ""]

    def lines(self) -> list[str]:
        """Returns the body of the entry point."""
        (rows, columns), elements, cell = self.tile.own, self.elements, "[fz_r][fz_c]"
        run = [
            f"{elements.run} run[{rows}][{columns}];",
            *self.walk.cells([f"run{cell} = {elements.start}();"]),
            *self._taken(),
            *self.walk.cells([elements.gather.format(f"fz_acc{cell}", f"run{cell}")]),
        ]
        return [
            *self.walk.head(),
            f"FzAcc fz_acc[{rows}][{columns}];",
            *self.walk.cells([f"fz_acc{cell} = fz_none();"]),
            *self.walk.start(),
            *("do", *block(self.walk.step(run)), "while (fz_e < fz_last);"),
            *self._finished(),
        ]

    def _taken(self) -> list[str]:
        """Returns a loop over the terms in shared memory, which adds what is computed of each pair to a run."""
        elements, (rows, columns), (down, beside) = self.elements, self.tile.own, self.tile.across
        (over,), index = elements.text.spec.over, self.index
        left, right = self.left, self.right
        held = {left.operand.name: "fz_a[fz_r]", right.operand.name: "fz_b[fz_c]"}
        given = "".join(f"r_{a.j}, " for a in elements.accumulators)
        take = f"fz_take(run[fz_r][fz_c], {given}int(d{over}));"
        body = [
            f"{index} d{over} = fz_first + {index}(fz_u);",
            f"{left.type} fz_a[{rows}];",
            f"{right.type} fz_b[{columns}];",
            *(self.walk.loop("r", rows), f"    fz_a[fz_r] = fz_sa[fz_turn][fz_u][fz_y + fz_r * {down}];"),
            *(self.walk.loop("c", columns), f"    fz_b[fz_c] = fz_sb[fz_turn][fz_u][fz_x + fz_c * {beside}];"),
            *self.walk.cells(block([*elements.text.element((), held), take])),
        ]
        return [
            f"{index} fz_first = fz_e - {self.tile.terms};",
            f"uint fz_terms = uint(fz_e <= fz_last ? {self.tile.terms} : fz_last - fz_first);",
            "for (uint fz_u = 0; fz_u < fz_terms; ++fz_u)",
            *block(body),
        ]

    def _finished(self) -> list[str]:
        """Returns loops over the results of a thread, except those beyond the edge."""
        tile, index, (down, beside) = self.tile, self.index, self.tile.across
        lines = [
            f"{index} d{tile.row} = fz_row + {index}(fz_y + fz_r * {down});",
            f"{index} d{tile.column} = fz_column + {index}(fz_x + fz_c * {beside});",
            f"if (d{tile.row} < fz_end && d{tile.column} < fz_columns)",
            *block(self.elements.as_result("fz_acc[fz_r][fz_c]", "0")),
        ]
        return self.walk.cells(block(lines))
