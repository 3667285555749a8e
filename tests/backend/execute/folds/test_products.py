"""Stages of products on a GPU."""

from __future__ import annotations

import math

import pytest

from fusepy.backend.emit.fold.product_tiles import Lying, Sides
from fusepy.backend.emit.operand import Operand
from fusepy.backend.emit.variant import Variant
from fusepy.backend.execute.folds.products import group_stages, is_far
from fusepy.ir.arrivals import TENSOR
from fusepy.ir.types import FLOAT

SIDES = Sides(0, 1, 2)


@pytest.mark.parametrize(("grid", "kernels"), [((4096, 4096, 4096), 1), ((64, 64, 65536), 2), ((100, 50, 2000), 2)])
def test_groups_cover_the_result(grid: tuple[int, ...], kernels: int) -> None:
    lies = Lying({0: grid[2], 2: 1}, {1: 1, 2: grid[1]}, {})
    first, *rest = group_stages(SIDES, grid, Variant(False, 3), "cuda", True, lies)
    tile, sizes = first.variant.shape.tile, first.sizes
    assert tile is not None
    assert sizes["across"] * tile.columns >= grid[1] > (sizes["across"] - 1) * tile.columns
    assert sizes["chunks"] * sizes["chunk"] >= grid[2] > (sizes["chunks"] - 1) * sizes["chunk"]
    assert math.prod(first.groups()) >= sizes["across"] * sizes["down"] * sizes["chunks"]
    assert 1 + len(rest) == kernels
    assert first.variant.wide is False
    assert first.partials == (grid[0] * grid[1] * sizes["chunks"] if rest else 0)


def test_places_of_64_bits() -> None:
    """Places in the matrices count, not the number of products."""
    operands = [Operand(k, f"x{k}", TENSOR, FLOAT, FLOAT, dims, 2) for k, dims in enumerate(((0, 2), (2, 1)))]
    assert not is_far(operands, [(4096, 1), (4096, 1)], (4096, 4096, 4096))
    assert is_far(operands, [(1 << 20, 1), (4096, 1)], (4096, 4096, 4096))
