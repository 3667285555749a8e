"""Tiles of products: what `explain` says of them, and the threads of a group."""

from __future__ import annotations

from fusepy.backend.emit.fold.tile import GroupTile, ProductTile


def test_a_tile_of_a_thread() -> None:
    tile = ProductTile(0, 1, 2, 8, 16, depth=32, left=0, right=-1)
    assert tile.described(8) == "tiles of 2x64, columns kept, pairs of left"
    assert (tile.gathered, tile.own, tile.together) == ((2, 8), (2, 8), 1)
    ended = tile.with_ends({2: {0: 64, 1: 1}, 3: {1: 1}, 4: {0: 1, 1: 64}})
    assert (ended.together, ended.beside) == (2, (2,))


def test_a_tile_of_a_group() -> None:
    tile = GroupTile(0, 1, 64, 32, (8, 4), 16, left=2, right=1)
    assert (tile.across, tile.threads, tile.together, tile.vectors) == ((8, 8), 64, 1, False)
    assert tile.described(64) == "tiles of 64x32x16, 8x4 for each of 64 threads"
    four = GroupTile(0, 1, 64, 32, (8, 4), 16, fours=(True, False), ends=True)
    assert (four.together, four.vectors) == (4, True)
    assert four.described(64).endswith(", fours of left and results")
