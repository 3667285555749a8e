"""Products with long sums on CPU devices: panels of the right matrix, whose sums lie in memory in between.

A group keeps a panel of the right matrix, 64 or a few more terms of its columns, and walks along its rows as for a short sum. It
adds what each panel gives to the sums in memory. The left elements of 8 or 16 rows are loaded together, one row or two neighbours
per lane; the lane that all others read is a number of the loop, so that the code has the products of a few rows only. Products of
a panel are added plainly, and panels to their total, so that long sums are exact to a few roundings.
"""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.backend.emit.fold.factors import Factors, loop
from fusepy.backend.emit.fold.product_ends import ProductEnds
from fusepy.backend.emit.operand import BLOCK
from fusepy.backend.emit.tuning import LANES
from fusepy.ir.ops.control import block


class Panels:
    """The loops over the panels of a chunk, and over the rows of a group."""

    def __init__(self, factors: Factors, ends: ProductEnds):
        self.factors, self.ends, self.tile, self.index = factors, ends, factors.tile, factors.index
        (self.sums, _), *errors = ends.elements.after.members
        self.errors = [] if ends.elements.variant.finishes else [name for name, _ in errors]

    def lines(self) -> list[str]:
        """Returns the loops of a group: zeros in memory, panels, and the end of the product if the sums are complete."""
        tile, finishes = self.tile, self.ends.elements.variant.finishes
        zeros = [self._stored(name, ["0.0", "0.0"]) for name in (self.sums, *self.errors)]
        panel = [
            *self.factors.hold_right(tile.terms, "fz_e"),
            "fz_row = fz_top;",
            *_repeated(self._rows(), "fz_row < fz_end"),
            f"fz_e += {tile.terms};",
        ]
        lines = [f"{self.index} fz_top = fz_row;", *self._walk(self._each(zeros)), *_repeated(panel, "fz_e < fz_last")]
        if not finishes:
            return lines
        loaded = [f"float fz_sum[{tile.rows}][{tile.columns}];", *self._each(self._loaded("fz_sum"))]
        return [*lines, "fz_row = fz_top;", *self._walk([*loaded, *self.ends.lines()])]

    def _walk(self, lines: Sequence[str]) -> list[str]:
        """Returns a loop of `lines` along the rows of the group, a few at a time."""
        return _repeated([*lines, f"fz_row += {self.tile.rows};"], "fz_row < fz_end")

    def _rows(self) -> list[str]:
        """Returns the work on the rows whose left elements are loaded together."""
        tile, per = self.tile, self.tile.per_lane
        cells = f"[{tile.rows}][{tile.columns}]"
        all_sums = [loop("r", tile.rows), f"    {self.factors.columns}"]
        some = [
            f"float fz_old{cells};",
            *self._each(self._loaded("fz_old")),
            f"float fz_sum{cells};",
            *all_sums,
            "        fz_sum[fz_r][fz_c] = 0.0;",
            *self._products(),
            *all_sums,  # a branch behind the products, without which LLVM computes each sum where it is stored
            f"        fz_sum[fz_r][fz_c] = fz_old[fz_r][fz_c] + fz_hold(fz_sum[fz_r][fz_c], {BLOCK}.{tile.waits[0]});",
            *self._each([self._stored(self.sums, ["fz_sum[fz_r][fz_c]", "fz_sum[fz_r][fz_c + 1]"])]),
            f"fz_turn += {tile.rows // per};",
            f"fz_row += {tile.rows};",
        ]
        held = self.factors.hold_panel()
        return [*held, "uint fz_turn = 0;", *_repeated(some, f"fz_turn < {LANES} && fz_row < fz_end")]

    def _products(self) -> list[str]:
        """Returns loops that add the products of a panel for a few rows."""
        tile, per = self.tile, self.tile.per_lane
        body = [
            f"float x[{tile.rows}];",
            loop("r", tile.rows),
            f"    x[fz_r] = fz_of_lane(fz_a[fz_u][fz_r % {per}], fz_turn + fz_r / {per});",
            self.factors.columns,
            f"    {loop('r', tile.rows)}",
            "        fz_sum[fz_r][fz_c] = fz_fma(x[fz_r], fz_b[fz_u][fz_c], fz_sum[fz_r][fz_c]);",
        ]
        return [loop("u", tile.terms), *block(body)]

    # ---- sums in memory -----------------------------------------------------------------------------------------

    def _each(self, lines: Sequence[str]) -> list[str]:
        """Returns loops of `lines` over the places ``fz_at_sum``; those beyond an edge are the last ones."""
        tile, index, d = self.tile, self.index, self.tile.column
        count = 2 if tile.twos else 1
        place = [
            f"{index} d{tile.row} = {self.factors.row('fz_r')};",
            f"{index} d{d} = {self.factors.column('fz_c')};",
            f"d{tile.row} = d{tile.row} < fz_end ? d{tile.row} : fz_end - 1;",
            f"d{d} = d{d} < fz_columns ? d{d} : {self.factors.last_column('fz_c')};",
            f"{index} fz_at_sum = fz_chunk * {BLOCK}.outputs + {self.ends.place()};",
        ]
        inner = loop("c", tile.columns, count)
        return [loop("r", tile.rows), f"    {inner}", *(f"        {line}" for line in block([*place, *lines]))]

    def _stored(self, member: str, values: Sequence[str]) -> str:
        to = f"{BLOCK}.p_{member}"
        return f"fz_store_pair({to} + fz_at_sum, {', '.join(values)});" if self.tile.twos else f"{to}[fz_at_sum] = {values[0]};"

    def _loaded(self, name: str) -> list[str]:
        """Returns lines that load sums into the array `name`."""
        at = f"{BLOCK}.p_{self.sums}"
        if not self.tile.twos:
            return [f"{name}[fz_r][fz_c] = {at}[fz_at_sum];"]
        halves = (f"{name}[fz_r][fz_c + {k}] = fz_two.{h};" for k, h in enumerate("xy"))
        return [f"float2 fz_two = fz_pair({at} + fz_at_sum);", *halves]


def _repeated(lines: Sequence[str], condition: str) -> list[str]:
    """Returns a loop that tests at its end; else the driver would run the body once more to find that no lane is active."""
    return ["do", *block([*lines]), f"while ({condition});"]
