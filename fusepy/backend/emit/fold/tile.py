"""Tiles: `ProductTile` of a product of matrices for a CPU's thread, `GroupTile` of that or another fold for a GPU's group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from fusepy.backend.emit.tuning import LANES


@dataclass(frozen=True)
class ProductTile:
    """The part of a product of matrices that a thread computes; see `fold.products`.

    Attributes:
        row, column: the dimensions of the grid along which only the left and only the right matrix run.
        rows: rows of the tile of a thread; each lane has `columns` columns.
        terms: terms of the left matrix that are loaded at a time.
        depth: the terms of the right matrix that are kept: all of them, or those of a panel.
        panels: sums may be of several panels, see `fold.panels`.
        twos: two neighbouring columns of sums are neighbours in memory, between panels.
        whole: all sums and chunks are whole numbers of `terms`.
        left, right: the dimension along which two neighbours are loaded at once; -1 for elements one by one.
        ends: results are contiguous, and stored in pairs of columns where a lane has several; operands of the epilogue at the
            positions `beside` are loaded in pairs.
    """

    row: int
    column: int
    rows: int
    columns: int
    terms: int
    depth: int
    panels: bool = False
    twos: bool = False
    whole: bool = False
    left: int = -1
    right: int = -1
    ends: bool = False
    beside: tuple[int, ...] = ()

    @property
    def own(self) -> tuple[int, int]:
        """The rows and columns of a thread."""
        return self.rows, self.columns

    @property
    def together(self) -> int:
        """The neighbouring columns that are stored at once."""
        return min(2, self.columns) if self.ends else 1

    @property
    def deep(self) -> bool:
        """True if all elements of the right matrix are kept for so many terms that a thread's sums crowd the registers."""
        return self.depth > (32 if self.left == self.row else 16)

    @property
    def flows(self) -> bool:
        """True if no branch stands around a store, and one between two steps, so that a processor has many sums at work.

        LLVM computes what only one branch uses in that branch, and the sums of a step one after the other. Both leave two or four
        chains of additions, each of which waits for the one before (decision 024). Shorter sums gain nothing.
        """
        return self.ends and self.deep and self.left != self.row

    @property
    def splits(self) -> bool:
        """True if the halves of a load of 64 bits are combined with a zero of the parameter block.

        Otherwise LLVM keeps both in a register of 512 bits, and stores and loads all of it wherever it is short of registers.
        Intel's processors add and multiply with two units in place of three while they work on such registers (decision 024).
        Numbers that are compared with the end of a sum are taken apart by that, and sums of up to 16 terms gain nothing.
        """
        return self.whole and self.deep

    @property
    def per_lane(self) -> int:
        """The neighbouring rows of the left matrix that a lane loads at once for a panel."""
        return 2 if self.left == self.row else 1

    @property
    def step(self) -> int:
        """The rows whose left elements are loaded together."""
        return LANES * self.per_lane if self.panels else self.rows

    @property
    def waits(self) -> list[str]:
        """The zeros of the parameter block that such a sum or a panel reads, since a read is a branch to the driver."""
        if self.panels:
            return ["zero1"]
        return [f"zero{step}" for step in range(1, self.depth // self.terms)] if self.flows else []

    @property
    def gathered(self) -> tuple[int, int]:
        """The rows and terms of the left matrix that all lanes load at once; in pairs they are 16 elements, otherwise 8."""
        if self.left == self.row:
            return 2, 8
        along = min(self.terms, 8 if self.left < 0 else 16)
        return (8 if self.left < 0 else 16) // along, along

    def with_ends(self, then: Mapping[int, Mapping[int, int]]) -> ProductTile:
        """Returns the tile with results in pairs of columns; `then` are the steps of operands of the epilogue, by position."""
        if self.column < self.row:
            return self
        if self.columns == 1:
            return replace(self, ends=True)
        beside = sorted(k for k, steps in then.items() if self.row in steps and steps.get(self.column) == 1)
        return replace(self, ends=True, beside=tuple(beside))

    def described(self, lanes: int) -> str:
        """Returns its description for `explain`, for groups of `lanes` threads."""
        pairs = [what for what, d in (("left", self.left), ("right", self.right)) if d >= 0] + ["results"] * (self.together > 1)
        kept = f", panels of {self.depth} terms" if self.panels else ", columns kept"
        return f"tiles of {self.rows}x{lanes * self.columns}{kept}{', pairs of ' * bool(pairs)}{' and '.join(pairs)}"


@dataclass(frozen=True)
class GroupTile:
    """The part of a product of matrices that a group of a GPU computes, or of another fold of pairs; see `fold.groups`.

    Attributes:
        row, column: the dimensions of the grid along which only the left and only the right array run.
        rows, columns: the size of the tile.
        own: the rows and columns of a thread, multiples of 4.
        terms: terms of the sum that are in shared memory at a time.
        whole: all sums and chunks are whole numbers of `terms`.
        runs: chunks may be longer than one run. A pair's run is `terms`.
        left, right: the dimension along which neighbouring threads load neighbours of each matrix.
        fours: whether each matrix is loaded in four neighbours along that dimension at once.
        ends: results are stored in four columns at once, by tensor cores in eight, and operands of the epilogue at the positions
            `beside` are loaded so.
        pair: the positions of the left and the right array, if it is no product but any fold of what is computed of two arrays.
        cores: for products of halfs by tensor cores, the neighbours of each matrix that are copied at once: 8, 4, 2 or 1.
    """

    row: int
    column: int
    rows: int
    columns: int
    own: tuple[int, int]
    terms: int
    whole: bool = False
    runs: bool = False
    left: int = -1
    right: int = -1
    fours: tuple[bool, bool] = (False, False)
    ends: bool = False
    beside: tuple[int, ...] = ()
    pair: tuple[int, ...] = ()
    cores: tuple[int, ...] = ()

    @property
    def across(self) -> tuple[int, int]:
        """The number of threads along the rows and along the columns of the tile."""
        return self.rows // self.own[0], self.columns // self.own[1]

    @property
    def threads(self) -> int:
        down, beside = self.across
        return down * beside

    @property
    def together(self) -> int:
        """The neighbouring columns that are stored at once."""
        return 1 if not self.ends else 8 if self.cores else 4

    @property
    def vectors(self) -> bool:
        """True if some loads or stores are of several neighbours, which need aligned memory."""
        return self.ends or any(self.fours) or any(count > 1 for count in self.cores)

    def described(self, lanes: int) -> str:
        """Returns its description for `explain`, for groups of `lanes` threads."""
        fours = [what for what, four in zip(("left", "right", "results"), (*self.fours, self.ends)) if four]
        own = f", {self.own[0]}x{self.own[1]} for each of {lanes} threads"
        what = f"{'pairs in ' * bool(self.pair)}tiles of {self.rows}x{self.columns}x{self.terms}"
        if self.cores:
            left, right = self.cores
            return f"{what} by tensor cores{own}, copies of {left} and {right}{', eights of results' * self.ends}"
        return f"{what}{own}{', fours of ' * bool(fours)}{' and '.join(fours)}"
