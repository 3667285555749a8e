"""Loads of the factors of a product: two neighbours at once along rows, columns or the sum, wherever the arrays begin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.products import normal
from tests.support.selection import daily

pytestmark = pytest.mark.usefixtures("on_lavapipe")


# rows, sum, columns; the pairs of the product of matrices as they are, and of both transposed
SIZES = {
    (66, 64, 72): ("left and right and results", "left and right and results"),
    (66, 62, 24): ("right and results", "left and results"),  # two terms at once only where there are whole steps of them
    (65, 33, 19): ("", ""),
    (41, 520, 9): ("left", "right"),
    (6, 4096, 60): ("left and right", "left and right"),
}


@pytest.mark.parametrize("size", SIZES, ids=lambda s: "x".join(map(str, s)))
@pytest.mark.parametrize("transposed", daily([False, True], True))
def test_pairs_of_neighbours(device: Any, size: tuple[int, int, int], transposed: bool) -> None:
    """The transposed matrices are parts of wider ones, so that their rows begin anywhere."""
    (rows, terms, columns), apart = size, int(transposed)
    a, b = (
        (normal(n, m + apart) for n, m in ((terms, rows), (columns, terms)) if transposed)
        if transposed
        else (
            normal(rows, terms + apart),
            normal(terms, columns + apart),
        )
    )

    @fp.fuse
    def product(a: Any, b: Any) -> Any:
        return fp.vmap(a, (1, 0)) @ fp.vmap(b, (1, 0)) if transposed else a @ b

    given = [fp.Tensor.from_numpy(device, x)[:, apart:] for x in (a, b)]
    x, y = (v[:, apart:].T if transposed else v[:, apart:] for v in (a, b))
    assert np.abs(product(*given).to_numpy() - x.astype("f8") @ y).max() <= 4e-6 * np.sqrt(terms)
    text, pairs = str(product.explain(*given)), SIZES[size][transposed]
    assert f"pairs of {pairs}," in text or f"pairs of {pairs};" in text if pairs else "pairs of" not in text


def test_what_lies_beside_a_row_does_not_count(device: Any) -> None:
    wide_a, wide_b = np.full((66, 70), np.nan, np.float32), np.full((70, 74), np.nan, np.float32)
    wide_a[1:65, 3:67], wide_b[3:67, 1:73] = a, b = normal(64, 64), normal(64, 72)
    x, y = fp.Tensor.from_numpy(device, wide_a)[1:65, 3:67], fp.Tensor.from_numpy(device, wide_b)[3:67, 1:73]
    np.testing.assert_allclose(fp.matmul(x, y).to_numpy(), a @ b, atol=1e-4)
