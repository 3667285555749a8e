"""The end of a product: its sums through the epilogue and into results, or into memory for the second kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from fusepy.backend.emit.effects import may_write
from fusepy.backend.emit.fold.elements import FoldElements
from fusepy.backend.emit.fold.tile import GroupTile, ProductTile
from fusepy.backend.emit.operand import BLOCK, Operand, addressing
from fusepy.backend.emit.store import ToMemory
from fusepy.ir.ops.control import block
from fusepy.ir.types import FLOAT, HALF
from fusepy.ir.value import declare

_STORED = {2: "pair", 4: "four", 8: "eight"}
_COUNTED = {**_STORED, 2: "both"}


class ResultPlaces(Protocol):
    """The places of a thread's rows and columns in the result."""

    index: str

    @property
    def tile(self) -> ProductTile | GroupTile: ...

    def row(self, r: str) -> str:
        """Returns the place of a thread's row number `r`."""
        ...

    def column(self, c: str) -> str:
        """Returns the place of a thread's column number `c`."""
        ...

    def last_column(self, c: str) -> str:
        """Returns the place that a thread's column number `c` has if it is beyond the edge of the result."""
        ...

    def loop(self, name: str, count: int, step: int = 1) -> str:
        """Returns the head of a loop over ``fz_`` and `name`, which is unrolled."""
        ...


class ProductEnds:
    """Slang that passes the sums of a tile on, except those beyond the edge of the result.

    An operand of the epilogue that varies along columns alone, such as a bias, is loaded once for all rows.
    """

    def __init__(self, elements: FoldElements, places: ResultPlaces):
        self.elements, self.places, self.text = elements, places, elements.text
        self.tile, self.index = places.tile, places.index
        self.rows, self.columns = self.tile.own
        used = self.text.then if elements.variant.finishes else []
        simple = [o for o in used if o.dims and addressing(self.text.given.accesses, o) == "memory"]
        self._of_columns = [o for o in simple if self.tile.row not in o.dims and not o.is_resource]
        self._beside = [o for o in simple if o.position in self.tile.beside]
        small = range(self.text.plain, len(self.text.types))
        kinds = (FLOAT, HALF) if isinstance(self.tile, GroupTile) and self.tile.cores else (FLOAT,)
        stores = [(j, self.text.stores[j]) for j in small if self.text.types[j] in kinds]
        self._stored = [j for j, one in stores if isinstance(one, ToMemory) and one.output.spec.dims == self.text.kept]
        pure = len(self.text.region.bodies) == 1 or not may_write(self.text.region, 1)
        flows = isinstance(self.tile, ProductTile) and self.tile.flows
        self._repeats = flows and elements.variant.finishes and len(self._stored) == len(small) and pure

    def before(self) -> list[str]:
        """Returns lines that load what is the same for all rows."""
        if not self._of_columns:
            return []
        d, places = self.tile.column, self.places
        lines = [f"{declare(o.want, f'fz_of_{o.name}[{self.columns}]')};" for o in self._of_columns]
        last = places.last_column("fz_c")
        body = [f"{self.index} d{d} = {places.column('fz_c')};", f"d{d} = d{d} < fz_columns ? d{d} : {last};"]
        body += [f"fz_of_{o.name}[fz_c] = {self.text.load(o)};" for o in self._of_columns]
        return [*lines, places.loop("c", self.columns), *block(body)]

    def lines(self) -> list[str]:
        """Returns loops over the sums of a tile."""
        if self._repeats:
            return self._repeated()
        tile = self.tile
        inside = f"if (d{tile.row} < fz_end && d{tile.column} < fz_columns)"
        return self._each([inside, *block(self._together() if tile.together > 1 else self._one("fz_c"))])

    def _each(self, lines: list[str]) -> list[str]:
        """Returns loops of `lines` over the sums of a tile, or over neighbours that are stored at once."""
        tile, index, places = self.tile, self.index, self.places
        lines = [f"{index} d{tile.row} = {places.row('fz_r')};", f"{index} d{tile.column} = {places.column('fz_c')};", *lines]
        inner = places.loop("c", self.columns, tile.together)
        return [places.loop("r", self.rows), f"    {inner}", *(f"        {line}" for line in block(lines))]

    def _repeated(self) -> list[str]:
        """Returns loops without a guard: places beyond an edge are the last ones, whose values are computed and stored again.

        All values are computed before any is stored, since a result may lie in the memory of an operand.
        """
        row, column, count = self.tile.row, self.tile.column, self.tile.together
        clamp = [f"d{row} = d{row} < fz_end ? d{row} : fz_end - 1;"]
        clamp.append(f"d{column} = d{column} < fz_columns ? d{column} : fz_columns - {count};")
        made = [f"float fz_both_{j}[{self.rows}][{self.columns}];" for j in self._stored]
        into = {j: f"fz_both_{j}[fz_r][fz_c + fz_h]" for j in self._stored}
        at = f"{self.index} fz_at_two = {self.place()};"
        values = self._each([*clamp, *self._loaded(), *self._values(into)])
        return [*made, *values, *self._each([*clamp, at, *self._stores(into)])]

    def place(self) -> str:
        """Returns the number of the result at the coordinates of a row and a column."""
        kept = self.text.kept
        out = f"d{kept[0]}"
        for d in kept[1:]:
            out = f"({out} * {BLOCK}.extent{d} + d{d})"
        return out

    def _one(self, c: str) -> list[str]:
        """Returns lines that pass the sum of one column on."""
        one = [f"{self.index} fz_out = {self.place()};"]
        if self.elements.variant.finishes:
            return one + self.elements.results_of([f"fz_sum[fz_r][{c}]"], "fz_out", self._held(c))
        (member, _), *_ = self.elements.before.members
        one += ["FzAcc fz_acc = fz_none();", f"fz_acc.{member} = fz_sum[fz_r][{c}];"]
        return one + self.elements.kept_as_partial("fz_acc", "fz_out")

    def _together(self) -> list[str]:
        """Returns lines that pass the sums of neighbouring columns on, with loads and stores of all at once."""
        if not self.elements.variant.finishes:
            return self._partials()
        count = self.tile.together
        names = {j: f"fz_{_COUNTED[count]}_{j}" for j in self._stored}
        made = [f"{self.text.types[j]} {name}[{count}];" for j, name in names.items()]
        into = {j: f"{name}[fz_h]" for j, name in names.items()}
        at = f"{self.index} fz_at_two = {self.place()};"
        return [at, *self._loaded(), *made, *self._values(into), *self._stores(into)]

    def _loaded(self) -> list[str]:
        """Returns lines that load neighbours of the operands beside the result at once."""
        count = self.tile.together
        load = "fz_pair" if count == 2 else "fz_four"
        return [f"float{count} fz_two_{o.name} = {load}({self._address(o)});" for o in self._beside]

    def _values(self, into: Mapping[int, str]) -> list[str]:
        """Returns lines that compute neighbouring results; those of `into` are not stored, but go into variables."""
        d, count = self.tile.column, self.tile.together
        held = self._held("fz_c + fz_h") | {o.position: f"fz_two_{o.name}[fz_h]" for o in self._beside}
        one = [f"{self.index} fz_out = {self.place()};"]
        one += self.elements.results_of(["fz_sum[fz_r][fz_c + fz_h]"], "fz_out", held, into)
        return [self.places.loop("h", count), *block([*one, f"d{d} += 1;"])]

    def _stores(self, into: Mapping[int, str]) -> list[str]:
        """Returns lines that store the variables `into` of neighbouring results at once."""
        count = range(self.tile.together)
        given = {j: ", ".join(name.replace("fz_h", str(h)) for h in count) for j, name in into.items()}
        if len(count) == 1:
            return [f"{BLOCK}.r_{j}[fz_at_two] = {value};" for j, value in given.items()]
        store = f"fz_store_{_STORED[len(count)]}"
        return [f"{store}({BLOCK}.r_{j} + fz_at_two, {values});" for j, values in given.items()]

    def _partials(self) -> list[str]:
        """Returns lines that store the sums of neighbouring columns for the second kernel; they have no errors yet."""
        (member, _), *rest = self.elements.after.members
        at = [f"{self.index} fz_out = {self.place()};"]
        at.append(f"{self.index} at = {self.elements.chunks.place('fz_chunk', 'fz_out', 'chunks')};")
        count = range(self.tile.together)
        store = f"fz_store_{_STORED[len(count)]}"
        given = ", ".join(f"fz_sum[fz_r][fz_c + {h}]" for h in count)
        zeros = [f"{store}({BLOCK}.p_{name} + at, {', '.join('0.0' for _ in count)});" for name, _ in rest]
        return [*at, f"{store}({BLOCK}.p_{member} + at, {given});", *zeros]

    def _address(self, operand: Operand) -> str:
        pointer = f"{BLOCK}.a_{operand.name}"
        return f"{pointer} + ({self.elements.variant.offset(pointer, operand.dims)})"

    def _held(self, c: str) -> dict[int, str]:
        return {o.position: f"fz_of_{o.name}[{c}]" for o in self._of_columns}
