"""The end of a product: its sums through the epilogue and into results, or into memory for the second kernel."""

from __future__ import annotations

from fusepy.backend.emit.fold.elements import FoldElements
from fusepy.backend.emit.fold.factors import Factors, loop
from fusepy.backend.emit.operand import BLOCK, Operand, addressing
from fusepy.backend.emit.store import ToMemory
from fusepy.ir.ops.control import block
from fusepy.ir.types import FLOAT
from fusepy.ir.value import declare


class ProductEnds:
    """Slang that passes the sums of a tile on, except those beyond the edge of the result.

    An operand of the epilogue that varies along columns alone, such as a bias, is loaded once for all rows.
    """

    def __init__(self, elements: FoldElements, factors: Factors):
        self.elements, self.factors, self.text = elements, factors, elements.text
        self.tile, self.index = factors.tile, factors.index
        used = self.text.then if elements.variant.finishes else []
        simple = [o for o in used if o.dims and addressing(self.text.given.accesses[o.arrival], o) == "memory"]
        self._of_columns = [o for o in simple if self.tile.row not in o.dims and not o.is_resource]
        self._pairs = [o for o in simple if o.position in self.tile.beside]

    def before(self) -> list[str]:
        """Returns lines that load what is the same for all rows."""
        if not self._of_columns:
            return []
        d, factors = self.tile.column, self.factors
        lines = [f"{declare(o.want, f'fz_of_{o.name}[{self.tile.columns}]')};" for o in self._of_columns]
        body = [f"{self.index} d{d} = {factors.column('fz_c')};", f"d{d} = d{d} < fz_columns ? d{d} : fz_columns - 1;"]
        body += [f"fz_of_{o.name}[fz_c] = {self.text.load(o)};" for o in self._of_columns]
        return [*lines, factors.columns, *block(body)]

    def lines(self) -> list[str]:
        """Returns loops over the sums of a tile."""
        tile, index = self.tile, self.index
        if tile.ends:
            head, column, one = loop("c", tile.columns, 2), self.factors.column("fz_c"), self._two()
        else:
            head, column, one = self.factors.columns, self.factors.column("fz_c"), self._one("fz_c")
        lines = [
            f"{index} d{tile.row} = fz_row + {index}(fz_r);",
            f"{index} d{tile.column} = {column};",
            f"if (d{tile.row} < fz_end && d{tile.column} < fz_columns)",
            *block(one),
        ]
        return [loop("r", tile.rows), f"    {head}", *(f"        {line}" for line in block(lines))]

    def _place(self) -> str:
        kept = self.text.kept
        out = f"d{kept[0]}"
        for d in kept[1:]:
            out = f"({out} * {BLOCK}.extent{d} + d{d})"
        return out

    def _one(self, c: str) -> list[str]:
        """Returns lines that pass the sum of one column on."""
        one = [f"{self.index} fz_out = {self._place()};"]
        if self.elements.variant.finishes:
            return one + self.elements.results_of([f"fz_sum[fz_r][{c}]"], "fz_out", self._held(c))
        (member, _), *_ = self.elements.before.members
        one += ["FzAcc fz_acc = fz_none();", f"fz_acc.{member} = fz_sum[fz_r][{c}];"]
        return one + self.elements.kept_as_partial("fz_acc", "fz_out")

    def _two(self) -> list[str]:
        """Returns lines that pass the sums of two neighbouring columns on, with loads and stores of both at once."""
        text, d = self.text, self.tile.column
        small = range(text.plain, len(text.types))
        stores = ((j, text.stores[j]) for j in small if text.types[j] is FLOAT)
        both = [j for j, store in stores if isinstance(store, ToMemory) and store.output.spec.dims == text.kept]
        lines = [f"float2 fz_two_{o.name} = fz_pair({self._address(o)});" for o in self._pairs]
        lines += [f"float fz_both_{j}[2];" for j in both]
        held = self._held("fz_c + fz_h") | {o.position: f"fz_two_{o.name}[fz_h]" for o in self._pairs}
        one = [f"{self.index} fz_out = {self._place()};"]
        one += self.elements.results_of(["fz_sum[fz_r][fz_c + fz_h]"], "fz_out", held, {j: f"fz_both_{j}[fz_h]" for j in both})
        lines += [loop("h", 2), *block([*one, f"d{d} += 1;"])]
        stores = [f"fz_store_pair({BLOCK}.r_{j} + fz_at_two, fz_both_{j}[0], fz_both_{j}[1]);" for j in both]
        return [f"{self.index} fz_at_two = {self._place()};", *lines, *stores]

    def _address(self, operand: Operand) -> str:
        pointer = f"{BLOCK}.a_{operand.name}"
        place = " + ".join([f"{pointer}_b", *(f"d{d} * {pointer}_s{axis}" for axis, d in enumerate(operand.dims))])
        return f"{pointer} + ({place})"

    def _held(self, c: str) -> dict[int, str]:
        return {o.position: f"fz_of_{o.name}[{c}]" for o in self._of_columns}
