"""Loads of the matrices of a product into shared memory: four at once or one by one, along either side or along the sum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.products import normal
from tests.support.selection import daily


@pytest.mark.parametrize(
    ("shape", "fours"), daily([((36, 64, 72), "left, right and results"), ((35, 62, 72), "results")], 36), ids=str
)
def test_transposed_matrices(gpu: Any, shape: tuple[int, int, int], fours: str) -> None:
    rows, terms, columns = shape
    a, b = normal(terms, rows), normal(columns, terms)
    product = fp.fuse(lambda a, b: fp.vmap(a, (1, 0)) @ fp.vmap(b, (1, 0)))
    given = [fp.Tensor.from_numpy(gpu, x) for x in (a, b)]
    assert np.abs(product(*given).to_numpy() - a.T.astype("f8") @ b.T).max() <= 4e-6 * np.sqrt(terms)
    assert f"fours of {fours}" in str(product.explain(*given)).replace("left and right and", "left, right and")


@pytest.mark.rest
def test_what_lies_beside_a_row_does_not_count(gpu: Any) -> None:
    wide_a, wide_b = np.full((66, 70), np.nan, np.float32), np.full((70, 74), np.nan, np.float32)
    wide_a[1:65, 3:66], wide_b[3:66, 1:73] = a, b = normal(64, 63), normal(63, 72)
    x, y = fp.Tensor.from_numpy(gpu, wide_a)[1:65, 3:66], fp.Tensor.from_numpy(gpu, wide_b)[3:66, 1:73]
    np.testing.assert_allclose(fp.matmul(x, y).to_numpy(), a @ b, atol=1e-4)
