"""Kernels of products of matrices: every tile, at sizes that do not fit it, views, types, and what follows in the same kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.products import normal
from tests.support.selection import daily

pytestmark = pytest.mark.usefixtures("on_lavapipe")

# rows, sum, columns: kept and streamed tiles, one chunk and several, edges on every side
SIZES = [(65, 33, 70), (1000, 64, 8), (97, 7, 60), (513, 100, 65), (40, 3000, 50), (9, 1000, 9), (5000, 9, 3), (3, 700, 40)]
SIZES += [(100, 128, 64)]  # the longest sum of which all columns are kept


def _near(found: Any, expected: np.ndarray, terms: int) -> None:
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= 4e-6 * np.sqrt(terms)


@pytest.mark.parametrize("size", daily(SIZES, 513, one=True), ids=lambda s: "x".join(map(str, s)))
def test_sizes_beside_tiles(device: Any, size: tuple[int, int, int]) -> None:
    rows, terms, columns = size
    a, b, c = normal(rows, terms), normal(terms, columns), normal(columns)

    @fp.fuse
    def layer(a: Any, b: Any, c: Any) -> Any:
        return fp.maximum(a @ b + c, 0)

    given = fp.Tensor.from_numpy(device, a), fp.Tensor.from_numpy(device, b)
    _near(layer(*given, c).to_numpy(), np.maximum(a.astype("f8") @ b + c, 0), terms)
    explained = str(layer.explain(*given, c))
    assert "by tiles of" in explained
    assert "layer: 1 kernel" in explained  # with what follows at its end


def test_batches_and_views(device: Any) -> None:
    a, b = normal(3, 1, 60, 50), normal(2, 50, 44)
    found = fp.matmul(fp.Tensor.from_numpy(device, a), fp.Tensor.from_numpy(device, b))
    _near(found.to_numpy(), a.astype("f8") @ b, 50)
    x, y = fp.Tensor.from_numpy(device, normal(600, 44)), normal(80, 22)
    target = fp.Tensor.from_numpy(device, np.zeros((160, 600), np.float32))
    fp.fuse(lambda x, y: y @ fp.vmap(x, (1, 0)))(x[::2, ::-2], y, _result=target[::2, ::2])
    _near(target.to_numpy()[::2, ::2], y.astype("f8") @ x.to_numpy()[::2, ::-2].T, 22)
    assert not target.to_numpy()[1::2].any()


@pytest.mark.rest
def test_halfs_are_summed_as_floats(device: Any) -> None:
    a, b = normal(300, 70).astype(np.float16), normal(70, 40).astype(np.float16)
    found = (fp.Tensor.from_numpy(device, a) @ fp.Tensor.from_numpy(device, b)).to_numpy()
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, a.astype("f8") @ b.astype("f8"), rtol=1e-3, atol=1e-3)


def test_special_numbers_beside_the_edge(device: Any) -> None:
    """What is loaded beyond the end of a sum counts as 0, whatever it is."""
    a, b = normal(300, 70), normal(70, 40)
    a[5, 3], a[7, 69], b[2, 9], b[69, 1] = np.nan, np.inf, 0, -np.inf
    with np.errstate(invalid="ignore"):
        expected = a @ b
    found = fp.matmul(a, b)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(np.isposinf(found), np.isposinf(expected))


def test_long_sums(device: Any) -> None:
    """They are cut into chunks and runs; NumPy's error is ten times as large."""
    x = np.full((32, 200_000), 0.1, np.float32)
    exact = float(np.float32(0.1)) ** 2 * 200_000
    assert np.abs(np.asarray(fp.matmul(x, fp.vmap(x, (1, 0))), np.float64) - exact).max() <= 4e-6 * exact


@pytest.mark.rest
def test_a_training_step_multiplies_what_is_stored(device: Any) -> None:
    """Values that are multiplied are stored, by the kernel that has computed what they follow."""

    def loss(p: Any, x: Any) -> Any:
        hidden = fp.maximum(x @ p["a"], 0)
        return fp.mean((hidden @ p["b"]) ** 2)

    p, x = {"a": normal(20, 40), "b": normal(40, 16)}, normal(300, 20)
    gradient = fp.grad(loss)
    found = gradient(p, x)
    hidden = np.maximum(x @ p["a"], 0)
    out = 2 * (hidden @ p["b"]) / (300 * 16)
    _near(found["b"], hidden.T @ out, 300)
    _near(found["a"], x.T @ ((out @ p["b"].T) * (hidden > 0)), 300)
    text = str(gradient.explain(p, x))
    assert text.count("matrices to") == 5
    assert "grad_of_loss: 5 kernels" in text
