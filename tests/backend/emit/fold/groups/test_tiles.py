"""Tiles of products on a GPU: their size for a product, and what is loaded four at once."""

from __future__ import annotations

import pytest

from fusepy.backend.emit.fold.groups.tiles import BUSY, CHUNK, PART, SIZES, group_tile, size_of
from fusepy.backend.emit.fold.product_tiles import Lying, Sides


@pytest.mark.parametrize(
    ("product", "tile", "chunks"),
    [
        ((4096, 4096, 4096, 1), (128, 128), 1),
        ((1024, 1024, 1024, 1), (64, 64), 1),
        ((512, 512, 512, 1), (64, 32), 1),
        ((256, 256, 256, 1), (32, 32), 1),
        ((256, 256, 256, 64), (128, 128), 1),
        ((65536, 64, 32, 1), (64, 64), 1),
        ((65536, 8, 64, 1), (64, 16), 1),
        ((8, 65536, 64, 1), (16, 64), 1),
        ((64, 64, 65536, 1), (64, 64), 256),
        ((64, 8, 65536, 1), (64, 16), 256),
        ((10, 10, 1 << 20, 1), (32, 32), BUSY),
        ((4096, 4096, 1 << 16, 1), (128, 128), 2),
    ],
    ids=str,
)
def test_size(product: tuple[int, int, int, int], tile: tuple[int, int], chunks: int) -> None:
    size, found = size_of(*product)
    assert ((size.rows, size.columns), found) == (tile, chunks)


def test_no_part_of_a_sum_is_too_short_or_too_long() -> None:
    for few in (1, 3, 64, 200):
        for reduced in (1, 100, 1023, 1024, 5000, 10**6, 10**8):
            size, chunks = size_of(64 * few, 64, reduced, 1)
            assert chunks == 1 or reduced // chunks >= PART
            assert -(-reduced // chunks) <= CHUNK
            assert size.terms <= max(4, 2 * reduced)


SIDES, GRID = Sides(0, 1, 2), (100, 80, 64)


@pytest.mark.parametrize(
    ("left", "right", "grid", "along", "fours"),
    [
        ({0: 64, 2: 1}, {1: 1, 2: 80}, GRID, (2, 1), (True, True)),
        ({0: 1, 2: 100}, {1: 64, 2: 1}, GRID, (0, 2), (True, True)),  # both transposed
        ({0: 64, 2: 1}, {1: 1, 2: 81}, GRID, (2, 1), (True, False)),  # rows of the right matrix are not aligned
        ({0: 128, 2: 2}, {1: 1, 2: 80}, GRID, (2, 1), (False, True)),
        ({0: 64, 2: -1}, {1: 1, 2: 80}, GRID, (2, 1), (False, True)),
        ({0: 62, 2: 1}, {1: 1, 2: 80}, (100, 78, 62), (2, 1), (False, False)),
        ({}, {1: 1, 2: 80}, GRID, (2, 1), (False, True)),  # of another type
    ],
)  # fmt: skip
def test_loads_of_four(
    left: dict[int, int], right: dict[int, int], grid: tuple[int, ...], along: tuple[int, int], fours: tuple[bool, bool]
) -> None:
    tile = group_tile(SIDES, grid, Lying(left, right, {}), SIZES[1], grid[2], 1)
    assert ((tile.left, tile.right), tile.fours) == (along, fours)
    assert tile.ends == (grid[1] % 4 == 0)


def test_what_is_loaded_beside_results() -> None:
    then = {3: {0: 80, 1: 1}, 4: {0: 81, 1: 1}, 5: {1: 1}, 6: {0: 1, 1: 100}}
    lies = Lying({0: 64, 2: 1}, {1: 1, 2: 80}, then)
    assert group_tile(SIDES, GRID, lies, SIZES[1], 64, 1).beside == (3,)
    assert not group_tile(SIDES, GRID, lies, SIZES[1], 64, 0).ends  # results are neighbours along rows
