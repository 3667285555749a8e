"""Kernels of products of matrices for CPU devices: each thread has some rows of its columns, the lanes of a group are columns.

Every load is a gather there, whatever it reads, and costs as much as 16 multiplications of 8 lanes (decision 024). So a group of
8 threads, one vector of the processor, loads 8 elements of a row of the left matrix at once, one per lane, and each lane gets all
8 from the others. The elements of the right matrix are loaded once for many rows: a short sum keeps all of them in registers
and on the stack, and walks along the rows; a long one loads 8 rows of the right matrix for all rows of a tile.
"""

from __future__ import annotations

from fusepy.backend.emit.fold.elements import FoldElements
from fusepy.backend.emit.operand import BLOCK, Operand
from fusepy.backend.emit.space import decoded
from fusepy.backend.emit.tuning import LANES
from fusepy.ir.ops.control import block

RUN = 64  # products that are added before their sum goes to the total, so that long sums are exact to a few roundings


class ProductLoops:
    """The loops of a product, over the loads of its two factors and the work on one result."""

    def __init__(self, elements: FoldElements):
        self.elements, self.text = elements, elements.text
        tile = elements.variant.shape.tile
        assert tile is not None
        self.tile, self.index, (self.sum,) = tile, elements.chunks.index, self.text.spec.over
        self.left, self.right = self.text.loaded
        if tile.column in self.left.dims:
            self.left, self.right = self.right, self.left
        self.rows = f"[unroll] for (uint fz_r = 0; fz_r < {tile.rows}; ++fz_r)"
        self.columns = f"[unroll] for (uint fz_c = 0; fz_c < {tile.columns}; ++fz_c)"

    def functions(self) -> list[str]:
        """Returns Slang's functions under names of their own; a user's module may hide theirs."""
        return [
            *("float fz_fma(float a, float b, float c)", "{", "    return mad(a, b, c);", "}", ""),
            *("float fz_of_lane(float x, uint lane)", "{", "    return WaveReadLaneAt(x, lane);", "}", ""),
        ]

    def lines(self) -> list[str]:
        """Returns the body of the entry point."""
        index, tile, own = self.index, self.tile, f"{self.index}({BLOCK}.rows_of_group)"
        batch = [d for d in self.text.kept if d not in (tile.row, tile.column)]
        return [
            f"{index} fz_rows = {BLOCK}.extent{tile.row};",
            f"{index} fz_columns = {BLOCK}.extent{tile.column};",
            f"{index} fz_column = {index}(fz_at % {BLOCK}.across) * {LANES * tile.columns} + {index}(fz_lane);",
            f"uint fz_rest = fz_at / {BLOCK}.across;",
            f"{index} fz_row = {index}(fz_rest % {BLOCK}.down) * {own};",
            f"fz_rest /= {BLOCK}.down;",
            f"{index} fz_chunk = {index}(fz_rest % uint({BLOCK}.chunks));",
            f"{index} fz_batch = {index}(fz_rest / uint({BLOCK}.chunks));",
            f"if (fz_batch * fz_rows * fz_columns >= {BLOCK}.outputs)",
            "    return;",
            f"{index} fz_end = {_least(f'fz_row + {own}', 'fz_rows')};",
            *self.elements.chunks.bounds("fz_chunk"),
            *decoded(self.elements.variant, "fz_batch", batch),
            *self._places(self.right, "fz_below", tile.columns, f"fz_column + {index}(fz_c * {LANES})", "fz_columns"),
            *(self._kept() if tile.depth else self._streamed()),
        ]

    def _kept(self) -> list[str]:
        """Returns the loops of a short sum: all elements of the columns are loaded, then rows in sequence."""
        tile, index = self.tile, self.index
        body = [
            *self._left_places(),
            *self._zeros("fz_sum"),
            f"[unroll] for (uint s = 0; s < {tile.depth // LANES}; ++s)",
            *block(self._step(f"{index}(s * {LANES})", f"fz_b[s * {LANES} + u]", "fz_sum")),
            *self._finish(),
            f"fz_row += {tile.rows};",
        ]
        return [*self._held(tile.depth, f"{index}(u)"), *("do", *block(body), "while (fz_row < fz_end);")]

    def _streamed(self) -> list[str]:
        """Returns the loops of a long sum: over the chunk in runs, for one tile of rows and columns."""
        step = [*self._held(LANES, f"fz_e + {self.index}(u)"), *self._step("fz_e", "fz_b[u]", "fz_run"), f"fz_e += {LANES};"]
        run = [
            *self._zeros("fz_run"),
            f"{self.index} fz_stop = {_least(f'fz_e + {RUN}', 'fz_last')};",
            *("do", *block(step), "while (fz_e < fz_stop);"),
            *self._each(["fz_sum[fz_r][fz_c] += fz_run[fz_r][fz_c];"]),
        ]
        return [*self._left_places(), *self._zeros("fz_sum"), *("do", *block(run), "while (fz_e < fz_last);"), *self._finish()]

    # ---- loads --------------------------------------------------------------------------------------------------

    def _left_places(self) -> list[str]:
        return self._places(self.left, "fz_beside", self.tile.rows, f"fz_row + {self.index}(fz_r)", "fz_end")

    def _places(self, factor: Operand, name: str, count: int, at: str, end: str) -> list[str]:
        """Returns lines that compute where rows or columns begin; those beyond the edge are the last one."""
        right = factor is self.right
        own, each, loop = (self.tile.column, "fz_c", self.columns) if right else (self.tile.row, "fz_r", self.rows)
        pointer = f"{BLOCK}.a_{factor.name}"
        steps = (f"d{d} * {pointer}_s{axis}" for axis, d in enumerate(factor.dims) if d != self.sum)
        place = " + ".join([f"{pointer}_b", *steps])
        body = [f"{self.index} d{own} = {_least(at, f'{end} - 1')};", f"{name}[{each}] = {place};"]
        return [f"{self.index} {name}[{count}];", loop, *block(body)]

    def _loaded(self, factor: Operand, into: str, e: str, place: str) -> list[str]:
        """Returns lines that load element `e` of a row or column; elements beyond the end of the sum are 0."""
        pointer = f"{BLOCK}.a_{factor.name}"
        index = " + ".join([f"{pointer}_b", *(f"d{d} * {pointer}_s{axis}" for axis, d in enumerate(factor.dims))])
        load = self.text.load(factor)
        assert index in load, load
        step, nearest = f"{pointer}_s{factor.dims.index(self.sum)}", _least("fz_k", "fz_last - 1")
        return [
            f"{self.index} fz_k = {e};",
            f"float fz_x = {load.replace(index, f'{place} + {nearest} * {step}')};",
            f"{into} = fz_k < fz_last ? fz_x : 0.0;",
        ]

    def _held(self, depth: int, e: str) -> list[str]:
        """Returns lines that load `depth` elements of each column."""
        load = block(self._loaded(self.right, "fz_b[u][fz_c]", e, "fz_below[fz_c]"))
        return [
            f"float fz_b[{depth}][{self.tile.columns}];",
            f"[unroll] for (uint u = 0; u < {depth}; ++u)",
            f"    {self.columns}",
            *(f"        {line}" for line in load),
        ]

    def _step(self, first: str, b: str, into: str) -> list[str]:
        """Returns lines that add the products of 8 elements of each row, from `first` on, with as many of each column.

        Sums of few rows stay in registers; of many rows only those of one row do.
        """
        outer, inner = f"[unroll] for (uint u = 0; u < {LANES}; ++u)", self.rows
        if not self.tile.depth:
            outer, inner = inner, outer
        return [
            f"float fz_a[{self.tile.rows}];",
            self.rows,
            *block(self._loaded(self.left, "fz_a[fz_r]", f"{first} + {self.index}(fz_lane)", "fz_beside[fz_r]")),
            outer,
            f"    {inner}",
            "    {",
            "        float x = fz_of_lane(fz_a[fz_r], u);",
            f"        {self.columns}",
            f"            {into}[fz_r][fz_c] = fz_fma(x, {b}[fz_c], {into}[fz_r][fz_c]);",
            "    }",
        ]

    # ---- sums ---------------------------------------------------------------------------------------------------

    def _zeros(self, name: str) -> list[str]:
        return [f"float {name}[{self.tile.rows}][{self.tile.columns}];", *self._each([f"{name}[fz_r][fz_c] = 0.0;"])]

    def _each(self, lines: list[str]) -> list[str]:
        """Returns loops over the rows and columns of a thread."""
        return [self.rows, f"    {self.columns}", *(f"        {line}" for line in block(lines))]

    def _finish(self) -> list[str]:
        """Returns loops that pass each sum on, except those beyond the edge of the result."""
        index, tile, kept = self.index, self.tile, self.text.kept
        out = f"d{kept[0]}"
        for d in kept[1:]:
            out = f"({out} * {BLOCK}.extent{d} + d{d})"
        one = [f"{index} fz_out = {out};"]
        if self.elements.variant.finishes:
            one += self.elements.results_of(["fz_sum[fz_r][fz_c]"], "fz_out")
        else:
            (member, _), *_ = self.elements.before.members
            one += ["FzAcc fz_acc = fz_none();", f"fz_acc.{member} = fz_sum[fz_r][fz_c];"]
            one += self.elements.kept_as_partial("fz_acc", "fz_out")
        lines = [
            f"{index} d{tile.row} = fz_row + {index}(fz_r);",
            f"{index} d{tile.column} = fz_column + {index}(fz_c * {LANES});",
            f"if (d{tile.row} < fz_end && d{tile.column} < fz_columns)",
            *block(one),
        ]
        return self._each(lines)


def _least(a: str, b: str) -> str:
    """Returns the smaller of two numbers; a user's module may hide Slang's ``min``."""
    return f"({a} < {b} ? {a} : {b})"
