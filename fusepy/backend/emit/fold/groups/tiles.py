"""The tile of a product of matrices on a GPU: its size, the division of long sums, and what is loaded four at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from fusepy.backend.emit.fold.groups.copies import TERMS
from fusepy.backend.emit.fold.groups.cores import CHUNK as CORE_CHUNK
from fusepy.backend.emit.fold.groups.products import RUN
from fusepy.backend.emit.fold.product_tiles import Lying, Sides, Steps
from fusepy.backend.emit.fold.tile import GroupTile
from fusepy.backend.emit.tuning import power_above

CHUNK = 1 << 15  # the longest sum of one group
PART = 256  # the shortest one, if a sum is cut
LONG = 1024  # sums below this are not cut: a second kernel takes longer
BUSY = 264  # groups of the size of `SIZES[1]` that fill a GPU: two for each of 132 multiprocessors


class Size(NamedTuple):
    """The size of a tile: rows, columns and terms, and the rows and columns of a thread.

    With fewer groups than `enough`, smaller tiles are faster, since multiprocessors are left without work. `resident` is that of
    `FoldShape`; `cores` says that tensor cores multiply.
    """

    rows: int
    columns: int
    terms: int
    own: tuple[int, int]
    enough: int = 0
    resident: int = 0
    cores: bool = False


SIZES = (
    Size(128, 128, 16, (8, 8), 200),
    Size(64, 64, 16, (8, 4), 200),
    Size(64, 32, 16, (4, 4), 100),
    Size(32, 64, 16, (4, 4), 100),
    Size(64, 16, 16, (4, 4), 100),
    Size(16, 64, 16, (4, 4), 100),
    Size(32, 32, 16, (4, 4)),
)
CORE_SIZES = (
    Size(128, 128, TERMS, (8, 16), 132, 2, True),
    Size(128, 64, TERMS, (8, 8), 132, 4, True),
    Size(64, 64, TERMS, (4, 8), 0, 5, True),
)


def sizes_for(rows: int, columns: int, reduced: int, lies: Lying) -> Sequence[Size]:
    """Returns the sizes among which a product chooses. Narrow ones and short sums gain nothing by tensor cores."""
    large = min(rows, columns) > CORE_SIZES[-1].rows // 2 and reduced >= TERMS
    return CORE_SIZES if lies.cores and large else SIZES


def size_of(rows: int, columns: int, reduced: int, batches: int, sizes: Sequence[Size] = SIZES) -> tuple[Size, int]:
    """Returns that of `sizes` for the tiles of `batches` products, and into how many chunks a sum is cut at most.

    No tile is more than twice as wide as the result, but of narrow results. Of few results with long sums, the sums are cut,
    so that all multiprocessors have work; with short sums, tiles are smaller.
    """

    def groups(size: Size) -> int:
        return -(-rows // size.rows) * -(-columns // size.columns) * batches

    high, wide = (max(16, power_above(n)) for n in (rows, columns))
    fitting = [s for s in sizes if s.rows <= high and s.columns <= wide] or [sizes[-1]]
    large = next((s for s in fitting if s.enough <= groups(s)), sizes[-1])
    least = -(-reduced // (CORE_CHUNK if sizes[0].cores else CHUNK))
    middle = next((s for s in fitting if s is not sizes[0]), large)
    few = groups(middle)
    if reduced >= max(LONG, 16 * few) and few < max(middle.enough, sizes[-2].enough):
        chunks = min(BUSY // few, reduced // PART)
        if chunks > 1:
            return _short(middle, reduced), max(chunks, least)
    return _short(large, reduced), least


def _short(size: Size, reduced: int) -> Size:
    """Returns the size with fewer terms if sums are shorter, except that of tensor cores."""
    if size.cores:
        return size
    return size._replace(terms=min(size.terms, max(4, power_above(reduced))))


def group_tile(sides: Sides, grid: Sequence[int], lies: Lying, size: Size, chunk: int, last: int) -> GroupTile:
    """Returns the tile for a product over `grid`, whose sums are cut into chunks of `chunk` terms.

    Args:
        last: the dimension along which results are neighbours in memory.
    """
    whole = grid[sides.over] % size.terms == 0 and chunk % size.terms == 0
    ways = [_loaded(place, sides, grid, steps) for place, steps in ((sides.row, lies.left), (sides.column, lies.right))]
    (left, four_left), (right, four_right) = ways
    ends = last == sides.column and grid[last] % 4 == 0
    beside = sorted(k for k, s in lies.then.items() if sides.row in s and s.get(last) == 1 and _even(s, (last,))) if ends else ()
    made = (sides.row, sides.column, size.rows, size.columns, size.own, size.terms, whole)
    if size.cores:
        copied = (_copied(left, grid, lies.left), _copied(right, grid, lies.right))
        ends = last == sides.column and grid[last] % 8 == 0
        return _roomy(GroupTile(*made, False, left, right, ends=ends, cores=copied))
    made += (chunk > RUN,)
    return GroupTile(*made, left, right, (four_left, four_right), ends, tuple(beside))


def _loaded(place: int, sides: Sides, grid: Sequence[int], steps: Steps) -> tuple[int, bool]:
    """Returns the dimension along which threads load neighbours of a matrix, and whether they load four at once."""
    along = loaded_along(place, sides.over, steps)
    return along, steps.get(along) == 1 and grid[along] % 4 == 0 and _even(steps, (along,))


def one_by_one(tile: GroupTile) -> GroupTile:
    """Returns the tile for arrays that begin anywhere, whose elements are loaded and stored one by one."""
    return _roomy(replace(tile, fours=(False, False), ends=False, beside=(), cores=tile.cores and (1, 1)))


def _roomy(tile: GroupTile) -> GroupTile:
    """Returns the tile with fewer results for a thread if halfs go through registers one by one, which need the room."""
    return replace(tile, own=(8, 8)) if tile.rows == tile.columns == 128 and 1 in tile.cores else tile


def _copied(along: int, grid: Sequence[int], steps: Steps) -> int:
    """Returns how many neighbours of a matrix of halfs are copied at once."""
    near = steps.get(along) == 1
    fits = (n for n in (8, 4, 2) if near and grid[along] % n == 0 and _even(steps, (along,), n))
    return next(fits, 1)


def loaded_along(place: int, over: int, steps: Steps) -> int:
    """Returns that of two dimensions along which an array lies closer together."""
    near = {d: abs(steps.get(d, 0)) or 1 << 62 for d in (over, place)}
    return min(near, key=lambda d: near[d])


def _even(steps: Steps, along: Sequence[int], count: int = 4) -> bool:
    """True if all steps but those along some dimensions are whole numbers of `count` elements."""
    return all(step % count == 0 for d, step in steps.items() if d not in along)
