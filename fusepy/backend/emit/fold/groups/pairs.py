"""Kernels of folds of pairs for GPUs, such as distances of points: a group computes a tile of the results in shared memory.

What is folded is computed of two arrays, of which one runs along the rows and one along the columns of the result, as in a
product of matrices. So each element is loaded once for all rows or columns of a tile. A thread has rows and columns with the
distance of the threads beside it, so that these load neighbours of shared memory, and store neighbouring results.
"""

from __future__ import annotations

from collections.abc import Sequence

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
        """Returns the body of the entry point. One run needs no accumulators meanwhile, which leaves room for more groups."""
        start = self._started("run", self.elements.run, self.elements.start)
        if not self.tile.runs:
            once = [*start, *self.walk.start(), f"fz_e += {self.tile.terms};", *self._taken()]
            end = ["FzAcc fz_acc = fz_none();", self.elements.gather.format("fz_acc", "run[fz_r][fz_c]")]
            return [*self.walk.head(), *once, *self._finished("fz_acc", end)]
        acc = "fz_acc[fz_r][fz_c]"
        run = [*start, *self._taken(), *self.walk.cells([self.elements.gather.format(acc, "run[fz_r][fz_c]")])]
        return [
            *self.walk.head(),
            *self._started("fz_acc", "FzAcc", "fz_none"),
            *self.walk.start(),
            *("do", *block(self.walk.step(run)), "while (fz_e < fz_last);"),
            *self._finished(acc),
        ]

    def _started(self, name: str, type: str, start: str) -> list[str]:
        """Returns lines that declare a variable for each result of a thread."""
        rows, columns = self.tile.own
        return [f"{type} {name}[{rows}][{columns}];", *self.walk.cells([f"{name}[fz_r][fz_c] = {start}();"])]

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

    def _finished(self, acc: str, end: Sequence[str] = ()) -> list[str]:
        """Returns loops over the results of a thread, except those beyond the edge; `end` are lines that set `acc`."""
        tile, index, (down, beside) = self.tile, self.index, self.tile.across
        lines = [
            f"{index} d{tile.row} = fz_row + {index}(fz_y + fz_r * {down});",
            f"{index} d{tile.column} = fz_column + {index}(fz_x + fz_c * {beside});",
            f"if (d{tile.row} < fz_end && d{tile.column} < fz_columns)",
            *block([*end, *self.elements.as_result(acc, "0")]),
        ]
        return self.walk.cells(block(lines))
