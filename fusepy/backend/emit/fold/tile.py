"""`ProductTile`: the part of a product of matrices that a thread computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class ProductTile:
    """The part of a product of matrices that a thread computes; see `fold.products`.

    Attributes:
        row, column: the dimensions of the grid along which only the left and only the right matrix run.
        rows: rows of the tile of a thread; each lane has `columns` columns.
        terms: terms of the sum that are loaded at a time.
        depth: the longest sum, whose elements of the right matrix are all kept; 0 if these are loaded for each tile.
        whole: all sums and chunks are whole numbers of `terms`.
        left, right: the dimension along which two neighbours are loaded at once; -1 for elements one by one.
        ends: results are stored in pairs of columns, and operands of the epilogue at the positions `beside` are loaded in pairs.
    """

    row: int
    column: int
    rows: int
    columns: int
    terms: int
    depth: int = 0
    whole: bool = False
    left: int = -1
    right: int = -1
    ends: bool = False
    beside: tuple[int, ...] = ()

    @property
    def gathered(self) -> tuple[int, int]:
        """The rows and terms of the left matrix that all lanes load at once; in pairs they are 16 elements, otherwise 8."""
        if self.left == self.row:
            across = min(16, self.rows) if not self.depth else 2
            return across, 16 // across
        along = min(self.terms, 8 if self.left < 0 else 16)
        return (8 if self.left < 0 else 16) // along, along

    def with_ends(self, then: Mapping[int, Mapping[int, int]]) -> ProductTile:
        """Returns the tile with results in pairs of columns; `then` are the steps of operands of the epilogue, by position."""
        if self.columns == 1 or self.column < self.row:
            return self
        beside = sorted(k for k, steps in then.items() if self.row in steps and steps.get(self.column) == 1)
        return replace(self, ends=True, beside=tuple(beside))

    def described(self, lanes: int) -> str:
        """Returns its description for `explain`, for groups of `lanes` threads."""
        pairs = [what for what, d in (("left", self.left), ("right", self.right)) if d >= 0] + ["results"] * self.ends
        kept = ", columns kept" if self.depth else ""
        return f"tiles of {self.rows}x{lanes * self.columns}{kept}{', pairs of ' * bool(pairs)}{' and '.join(pairs)}"
