"""Loads of the two matrices of a product: the right one into columns of each lane, the left one into lanes, 8 or 16 at once.

Two neighbours in memory are one load of 64 bits, which takes as long as one of 32 bits (decision 024). They need not be aligned
to 8 bytes. Elements beyond an edge are the last ones again; terms beyond the end of a sum are 0.
"""

from __future__ import annotations

from fusepy.backend.emit.fold.tile import ProductTile
from fusepy.backend.emit.operand import BLOCK, Operand
from fusepy.backend.emit.text import KernelText
from fusepy.backend.emit.tuning import LANES
from fusepy.ir.ops.control import block

RUN = 128  # products that are added before their sum goes to the total, so that long sums are exact to a few roundings
FUNCTIONS = [
    *("float fz_fma(float a, float b, float c)", "{", "    return mad(a, b, c);", "}", ""),
    *("float fz_of_lane(float x, uint lane)", "{", "    return WaveReadLaneAt(x, lane);", "}", ""),
    "float2 fz_pair(float* at)",
    *("{", "    uint64_t both = loadAligned<4>((uint64_t*)at);"),
    *("    return float2(asfloat(uint(both)), asfloat(uint(both >> 32)));", "}", ""),
    "void fz_store_pair(float* at, float a, float b)",
    *("{", "    storeAligned<4>((uint64_t*)at, uint64_t(asuint(a)) | (uint64_t(asuint(b)) << 32));", "}", ""),
]


class Factors:
    """Slang of the places and loads of both matrices.

    Attributes:
        columns: the head of a loop over the columns of a lane.
    """

    def __init__(self, text: KernelText, tile: ProductTile, index: str):
        self.text, self.tile, self.index, (self.sum,) = text, tile, index, text.spec.over
        self.left, self.right = text.loaded
        if tile.column in self.left.dims:
            self.left, self.right = self.right, self.left
        self.paired = tile.right == tile.column  # columns come in pairs
        self.across, self.along = tile.gathered
        self.blocks, self.steps = tile.rows // self.across, tile.terms // self.along
        self.columns = loop("c", tile.columns)

    def row(self, r: str) -> str:
        """Returns the place of a row number `r` of the tile."""
        return f"fz_row + {self.index}({r})"

    def loop(self, name: str, count: int, step: int = 1) -> str:
        """Returns the head of an unrolled loop, see `loop`."""
        return loop(name, count, step)

    def column(self, c: str) -> str:
        """Returns the place of a lane's column number `c`. Neighbouring columns are in the same lane."""
        lane, index = f"{self.index}(fz_lane)", self.index
        if self.tile.columns == 1:
            return f"fz_column + {lane}"
        return f"fz_column + {index}({c} / 2 * {2 * LANES}) + 2 * {lane} + {index}({c} % 2)"

    def last_column(self, c: str) -> str:
        """Returns the place of a lane's column number `c` beyond the edge. Neighbours that are stored at once stay neighbours."""
        tile = self.tile
        two = tile.twos or self.paired if tile.panels else tile.flows and tile.together > 1
        return f"fz_columns - 2 + {self.index}({c} % 2)" if two else "fz_columns - 1"

    # ---- places -------------------------------------------------------------------------------------------------

    def right_places(self) -> list[str]:
        """Returns lines that compute where columns begin; those beyond the edge are the last one or two."""
        tile, each = self.tile, "fz_c * 2" if self.paired else "fz_c"
        count = tile.columns // 2 if self.paired else tile.columns
        last = "fz_columns - 2" if self.paired else self.last_column("fz_c")
        at = [f"{self.index} d{tile.column} = {self.column(f'({each})')};", f"d{tile.column} = {least(f'd{tile.column}', last)};"]
        return [*self._steps(self.right, "fz_down"), *self._places(self.right, "fz_below", count, "c", at)]

    def left_places(self) -> list[str]:
        """Returns lines that compute where rows begin, and ``fz_term``, the first term of a lane among those of a load."""
        tile, index, pairs = self.tile, self.index, self.tile.left == self.tile.row
        if pairs:
            row, term = f"2 * (fz_lane % {self.across // 2})", f"fz_lane / {self.across // 2}"
        else:
            lanes = self.along // 2 if tile.left >= 0 else self.along
            row, term = f"fz_lane / {lanes}", f"{2 if tile.left >= 0 else 1} * (fz_lane % {lanes})"
        at = [
            f"{index} d{tile.row} = fz_row + {index}(fz_q * {self.across}) + {index}({row});",
            f"d{tile.row} = {least(f'd{tile.row}', f'fz_end - {2 if pairs else 1}')};",
        ]
        places = self._places(self.left, "fz_beside", self.blocks, "q", at, "fz_term")
        return [f"{index} fz_term = {index}({term});", *places]

    def left_steps(self) -> list[str]:
        """Returns the line that sets the step of a term of the left matrix."""
        return self._steps(self.left, "fz_right")

    def _steps(self, factor: Operand, name: str) -> list[str]:
        """Returns the line that sets the step of a term; inside a loop, the driver would load it again and again."""
        return [f"{self.index} {name} = {BLOCK}.a_{factor.name}_s{factor.dims.index(self.sum)};"]

    def _step(self, factor: Operand) -> str:
        return "fz_down" if factor is self.right else "fz_right"

    def _places(self, factor: Operand, name: str, count: int, variable: str, at: list[str], term: str = "0") -> list[str]:
        pointer = f"{BLOCK}.a_{factor.name}"
        steps = [f"d{d} * {pointer}_s{axis}" for axis, d in enumerate(factor.dims) if d != self.sum]
        if self.tile.whole and term != "0":  # otherwise each load compares its term with the last one
            steps.append(f"{term} * {self._step(factor)}")
        place = f"{pointer} + ({' + '.join([f'{pointer}_b', *steps])})"
        return [f"{factor.have}* {name}[{count}];", loop(variable, count), *block([*at, f"{name}[fz_{variable}] = {place};"])]

    # ---- loads --------------------------------------------------------------------------------------------------

    def hold_right(self, count: int, first: str) -> list[str]:
        """Returns lines that load `count` terms of each column from `first` on, into ``fz_b``."""
        tile, two = self.tile, self.tile.right == self.sum
        u, inner = "2 * fz_u" if two else "fz_u", loop("c", tile.columns // 2) if self.paired else self.columns
        into = [f"fz_b[{u}][fz_c]", f"fz_b[{u} + 1][fz_c]"] if two else [f"fz_b[{u}][fz_c]"]
        if self.paired:
            into = [f"fz_b[{u}][2 * fz_c]", f"fz_b[{u}][2 * fz_c + 1]"]
        load = self._load(self.right, f"{first} + {self.index}({u})", "fz_below[fz_c]", into)
        return [
            f"float fz_b[{count}][{tile.columns}];",
            loop("u", count // 2 if two else count),
            f"    {inner}",
            *(f"        {line}" for line in block(load)),
        ]

    def hold_left(self, first: str, name: str, zero: str = "") -> list[str]:
        """Returns lines that load the terms of a step from `first` on for all rows, into the array `name`.

        Args:
            zero: a zero of the parameter block, which is read behind the loads.
        """
        halves = 2 if self.tile.left >= 0 else 1
        term = f"{first} + {self.index}(fz_s * {self.along})"
        into = [f"{name}[fz_q][fz_s][{h}]" for h in range(halves)]
        load = self._load(self.left, term, "fz_beside[fz_q]", into, "fz_term")
        loops = [loop("q", self.blocks), f"    {loop('s', self.steps)}"]
        lines = [f"float {name}[{self.blocks}][{self.steps}][{halves}];", *loops, *(f"        {line}" for line in block(load))]
        if zero:
            lines += [*loops, *(f"        {line}" for line in block([f"{x} = fz_hold({x}, {BLOCK}.{zero});" for x in into]))]
        return lines

    def _load(self, factor: Operand, term: str, place: str, into: list[str], own: str = "0") -> list[str]:
        """Returns lines that load one element, or two at once, of the term `term`, plus `own` of a lane."""
        tile, pointer = self.tile, f"{BLOCK}.a_{factor.name}"
        nearest = term if tile.whole else least("fz_k", "fz_last - 1")
        lines = [] if tile.whole else [f"{self.index} fz_k = {term} + {own};" if own != "0" else f"{self.index} fz_k = {term};"]
        at = f"({nearest}) * {self._step(factor)}"
        if len(into) == 2:
            lines.append(f"float2 fz_x = fz_pair({place} + {at});")
            values = [f"fz_hold(fz_x.{h}, {BLOCK}.zero)" if tile.splits else f"fz_x.{h}" for h in "xy"]
        else:
            index = self.text.variant.offset(pointer, factor.dims)
            load = self.text.load(factor)
            assert f"{pointer}[{index}]" in load, load
            lines.append(f"float fz_x = {load.replace(f'{pointer}[{index}]', f'{place}[{at}]')};")
            values = ["fz_x"]
        return lines + [f"{name} = {x if tile.whole else f'fz_k < fz_last ? {x} : 0.0'};" for name, x in zip(into, values)]

    def hold_panel(self) -> list[str]:
        """Returns lines that load a panel's left elements of the rows from ``fz_row`` on, one or two per lane, into ``fz_a``."""
        tile, index, per = self.tile, self.index, self.tile.per_lane
        at = [
            f"{index} d{tile.row} = fz_row + {per} * {index}(fz_lane);",
            f"d{tile.row} = {least(f'd{tile.row}', f'fz_end - {per}')};",
        ]
        terms, into = 1, [f"fz_a[fz_u][{h}]" for h in range(per)]
        if tile.left == self.sum:
            terms, into = 2, ["fz_a[2 * fz_u][0]", "fz_a[2 * fz_u + 1][0]"]
        load = self._load(self.left, f"fz_e + {index}({terms} * fz_u)", "fz_beside[0]", into)
        loads = [loop("u", tile.terms // terms), *(f"    {line}" for line in block(load))]
        return [*self._places(self.left, "fz_beside", 1, "q", at), f"float fz_a[{tile.terms}][{per}];", *loads]

    def of_left(self, name: str, row: str, term: str) -> str:
        """Returns the element of a row and term of a step in the array `name`, for all lanes."""
        across, along, tile = self.across, self.along, self.tile
        r, t = f"({row}) % {across}", f"({term}) % {along}"
        if tile.left == tile.row:
            half, lane = f"({r}) % 2", f"({t}) * {across // 2} + ({r}) / 2"
        elif tile.left >= 0:
            half, lane = f"({t}) % 2", f"({r}) * {along // 2} + ({t}) / 2"
        else:
            half, lane = "0", f"({r}) * {along} + {t}"
        return f"fz_of_lane({name}[({row}) / {across}][({term}) / {along}][{half}], {lane})"


def loop(name: str, count: int, step: int = 1) -> str:
    """Returns the head of a loop over ``fz_`` and `name`, which the driver unrolls."""
    return f"[unroll] for (uint fz_{name} = 0; fz_{name} < {count}; fz_{name} += {step})"


def least(a: str, b: str) -> str:
    """Returns the smaller of two numbers; a user's module may hide Slang's ``min``."""
    return f"({a} < {b} ? {a} : {b})"


def place_of_group(index: str, rows: int | str, columns: int) -> list[str]:
    """Returns lines that set the first column and row of a group of a product, its chunk and its matrices.

    Args:
        rows, columns: those of a group.
    """
    return [
        f"{index} fz_column = {index}(fz_at % {BLOCK}.across) * {columns};",
        f"uint fz_rest = fz_at / {BLOCK}.across;",
        f"{index} fz_row = {index}(fz_rest % {BLOCK}.down) * {rows};",
        f"fz_rest /= {BLOCK}.down;",
        f"{index} fz_chunk = {index}(fz_rest % uint({BLOCK}.chunks));",
        f"{index} fz_batch = {index}(fz_rest / uint({BLOCK}.chunks));",
    ]
