"""Long sums in panels: rows, columns and terms that fit none, neighbouring sums or single ones, one chunk or several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.emit.fold.product_tiles import Lying, Sides, tile_of
from tests.support.products import normal
from tests.support.selection import daily

pytestmark = pytest.mark.usefixtures("on_lavapipe")

# rows, sum, columns: one row, an odd number, several groups of rows; whole panels and not; one to 8 vectors of columns
SIZES = [(1, 256, 140), (17, 131, 66), (300, 192, 37), (150, 260, 8), (34, 1500, 24), (5, 640, 130)]


@pytest.mark.parametrize("turned", daily(["", "left", "right", "both"], ""))
@pytest.mark.parametrize("size", daily(SIZES, 17, one=True), ids=lambda s: "x".join(map(str, s)))
def test_edges_of_panels(device: Any, size: tuple[int, int, int], turned: str) -> None:
    rows, terms, columns = size
    a, b, c, e = normal(rows, terms), normal(terms, columns), normal(columns), normal(rows, columns)
    x, y = (np.ascontiguousarray(v.T) if turned in (side, "both") else v for v, side in ((a, "left"), (b, "right")))

    @fp.fuse
    def ended(x: Any, y: Any, c: Any, e: Any) -> Any:
        left = fp.vmap(x, (1, 0)) if turned in ("left", "both") else x
        right = fp.vmap(y, (1, 0)) if turned in ("right", "both") else y
        return (left @ right + c) * e

    given = [fp.Tensor.from_numpy(device, v) for v in (x, y, c, e)]
    expected = (a.astype("f8") @ b + c) * e
    np.testing.assert_allclose(ended(*given).to_numpy(), expected, atol=4e-5 * np.sqrt(terms))
    ended(*given, _result=given[3])  # sums between panels are not in the memory of the result
    np.testing.assert_allclose(given[3].to_numpy(), expected, atol=4e-5 * np.sqrt(terms))
    assert "panels of" in str(ended.explain(*given))


@pytest.mark.rest
def test_batches_of_halfs_in_panels(device: Any) -> None:
    a, b = normal(3, 40, 200).astype(np.float16), normal(200, 36).astype(np.float16)
    found = fp.matmul(fp.Tensor.from_numpy(device, a), fp.Tensor.from_numpy(device, b)).to_numpy()
    np.testing.assert_allclose(found, a.astype("f8") @ b.astype("f8"), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize(("terms", "depth", "whole"), [(65536, 64, True), (1000, 100, True), (520, 104, True), (131, 64, False)])
def test_a_panel_divides_the_sum_where_it_can(terms: int, depth: int, whole: bool) -> None:
    tile = tile_of(Sides(0, 1, 2), (96, 64, terms), Lying({0: terms, 2: 1}, {1: 1, 2: 64}, {}))
    assert (tile.panels, tile.depth, tile.terms, tile.whole) == (True, depth, depth, whole)
    assert tile.twos
