"""The tile of a product of matrices: its size, and which neighbours in memory are loaded at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from fusepy.backend.emit.fold.tile import ProductTile
from fusepy.backend.emit.fold.tuning import GROUPS
from fusepy.backend.emit.tuning import LANES, power_above

DEEPEST = 128  # the longest sum whose elements of the right matrix are kept
PANELS = range(64, 129, 2)  # terms of a panel: the first that divides the sum, so that no term is compared with its end
ROWS = 128  # for which a group loads a panel, at least
STREAMS = 32  # rows that a processor reads ahead along, panel by panel; more matters where one group alone reads them
CHUNK = 1 << 15  # the longest sum of one group
NEAR = 1 << 20  # bytes of both matrices that stay in the cache of a processor, for all groups of a chunk
Steps = Mapping[int, int]


class Sides(NamedTuple):
    """The dimensions of a product: rows, columns, and the sum."""

    row: int
    column: int
    over: int


@dataclass(frozen=True)
class Lying:
    """The memory layout of a product: for arrays of floats, on GPUs of halfs too, the step along each dimension of the grid.

    Attributes:
        left, right: the steps of the matrices.
        then: the steps of operands of the epilogue, by position.
        cores: both matrices are of halfs, which the device can multiply by tensor cores.
    """

    left: Steps
    right: Steps
    then: Mapping[int, Steps]
    cores: bool = False

    def swapped(self) -> Lying:
        return Lying(self.right, self.left, self.then, self.cores)


def tile_of(sides: Sides, grid: Sequence[int], lies: Lying) -> ProductTile:
    """Returns the tile for a product over `grid`."""
    rows, columns, reduced = (grid[d] for d in sides)
    wide = min(8, power_above(-(-columns // LANES)))
    by_row = lies.left.get(sides.row) == 1 and rows % 2 == 0
    if panels := reduced > DEEPEST:
        depth, own = next((d for d in PANELS if reduced % d == 0), PANELS[0]), {8: 2, 4: 4, 2: 8, 1: 8}[wide]
    else:
        depth = power_above(max(LANES, reduced)) if reduced <= 16 else -(-reduced // 16) * 16
        own = {8: 3 if depth > 16 and not by_row else 2, 4: 4, 2: 8, 1: 16}[wide]  # their sums stay in registers
    tile = ProductTile(sides.row, sides.column, own, wide, depth if panels else 8, depth, panels, whole=reduced % depth == 0)
    by_term = lies.left.get(sides.over) == 1 and tile.whole and (panels or depth % 16 == 0)
    by_column = lies.right.get(sides.column) == 1 and wide > 1 and columns % 2 == 0
    below = lies.right.get(sides.over) == 1 and tile.whole
    left = sides.row if by_row else sides.over if by_term else -1
    terms = 16 if left == sides.over and not panels else tile.terms
    twos = panels and wide > 1 and columns % 2 == 0 and sides.column > sides.row
    return replace(tile, terms=terms, twos=twos, left=left, right=sides.column if by_column else sides.over if below else -1)


def division_of(tile: ProductTile, extents: tuple[int, int, int], across: int, batches: int) -> tuple[int, int]:
    """Returns the rows of a group, and the chunks of each sum.

    Args:
        extents: rows, columns, and the terms of a sum.
        across: the groups side by side along the columns.
    """
    rows, columns, reduced = extents
    own = max(ROWS if tile.panels else STREAMS, -(-rows * across * batches // GROUPS["software"]))
    if across == 1 and reduced > 512 and tile.left != tile.row:
        own = STREAMS
    own, chunks = -(-min(own, rows) // tile.step) * tile.step, 1
    if tile.panels and (few := -(-GROUPS["software"] // (across * -(-rows // own) * batches))) > 1:
        chunks = min(-(-reduced // 512), max(few, (rows + columns) * reduced * 4 // NEAR))
    return own, max(chunks, -(-reduced // CHUNK))
