"""Products of matrices by groups, as on GPUs, also on lavapipe: sizes beside the tiles, views, types, what follows, long sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.emit.fold.groups import tiles
from fusepy.backend.emit.fold.groups.tiles import SIZES, Size
from tests.support.products import normal
from tests.support.selection import daily


def _near(found: Any, expected: np.ndarray, terms: int) -> None:
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= 4e-6 * np.sqrt(terms)


def layer(a: Any, b: Any, c: Any) -> Any:
    return fp.maximum(a @ b + c, 0)


# rows, sum, columns, chunks: loads of four and of one, edges on every side
CASES = [
    *((SIZES[k], (100, 72, 84), 1) for k in (4, 5)),
    (SIZES[3], (36, 400, 68), 2),
    *daily(
        [
            (SIZES[1], (100, 72, 84), 1),
            (SIZES[2], (67, 301, 33), 3),
            (Size(64, 64, 4, (8, 8)), (66, 134, 130), 1),
            (SIZES[1]._replace(terms=4), (66, 3, 320), 1),
        ]
    ),
]
LARGE = (SIZES[0], (129, 200, 132), 1)


@pytest.mark.parametrize(("size", "shape", "chunks"), [*CASES, LARGE], ids=str)
def test_every_tile(gpu: Any, monkeypatch: pytest.MonkeyPatch, size: Any, shape: tuple[int, int, int], chunks: int) -> None:
    if size is SIZES[0] and "llvmpipe" in gpu.name:
        pytest.skip("lavapipe needs seconds to compile it")
    monkeypatch.setattr(tiles, "size_of", lambda *_: (size, chunks))
    rows, terms, columns = shape
    a, b, c = normal(rows, terms), normal(terms, columns), normal(columns)
    given, f = [fp.Tensor.from_numpy(gpu, x) for x in (a, b, c)], fp.fuse(layer)
    _near(f(*given).to_numpy(), np.maximum(a.astype("f8") @ b + c, 0), terms)
    explained = str(f.explain(*given))
    assert f"tiles of {size.rows}x{size.columns}x{size.terms}" in explained
    assert ("fours of" in explained) == (columns % 4 == 0)
    assert ("; then" in explained) == (chunks > 1)


@pytest.mark.rest
def test_batches_and_views(gpu: Any) -> None:
    """Transposed, reversed and strided matrices are read where they lie."""
    a, b = normal(3, 1, 60, 52), normal(2, 52, 44)
    found = fp.matmul(fp.Tensor.from_numpy(gpu, a), fp.Tensor.from_numpy(gpu, b))
    _near(found.to_numpy(), a.astype("f8") @ b, 52)
    x, y = fp.Tensor.from_numpy(gpu, normal(600, 44)), fp.Tensor.from_numpy(gpu, normal(80, 22))
    target = fp.Tensor.from_numpy(gpu, np.zeros((160, 600), np.float32))
    fp.fuse(lambda x, y: y @ fp.vmap(x, (1, 0)))(x[::2, ::-2], y, _result=target[::2, ::2])
    _near(target.to_numpy()[::2, ::2], y.to_numpy().astype("f8") @ x.to_numpy()[::2, ::-2].T, 22)
    assert not target.to_numpy()[1::2].any()


@pytest.mark.rest
def test_memory_that_begins_between_fours(gpu: Any) -> None:
    """It is read one by one, with the same additions, so to the same bits."""
    a, b, e = normal(65, 64), normal(64, 64), normal(64, 64)
    wide = fp.Tensor.from_numpy(gpu, np.pad(b, ((0, 0), (1, 3))))
    f = fp.fuse(lambda a, b, e: a @ b - e)
    x, y, z = (fp.Tensor.from_numpy(gpu, v) for v in (a, b, e))
    apart, together = f(x[1:], wide[:, 1:65], z), f(fp.Tensor.from_numpy(gpu, a[1:]), y, z)
    assert "fours of" in str(f.explain(x[1:], y, z))
    assert "fours of" not in str(f.explain(x[1:], wide[:, 1:65], z))
    np.testing.assert_array_equal(apart.to_numpy(), together.to_numpy())
    _near(together.to_numpy(), a[1:].astype("f8") @ b - e, 64)


@pytest.mark.rest
def test_halfs_are_summed_as_floats(gpu: Any) -> None:
    a, b = normal(300, 72).astype(np.float16), normal(72, 40).astype(np.float16)
    found = (fp.Tensor.from_numpy(gpu, a) @ fp.Tensor.from_numpy(gpu, b)).to_numpy()
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, a.astype("f8") @ b.astype("f8"), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", daily([np.float64, np.int32]))
def test_other_types_are_folds(gpu: Any, dtype: Any) -> None:
    a, b = (10 * normal(40, 30)).astype(dtype), (10 * normal(30, 50)).astype(dtype)
    given = fp.Tensor.from_numpy(gpu, a), fp.Tensor.from_numpy(gpu, b)
    np.testing.assert_allclose(fp.matmul(*given).to_numpy(), a @ b, rtol=1e-12, atol=1e-9)
    assert "tiles of" not in str(fp.fuse(lambda a, b: a @ b).explain(*given))


@pytest.mark.rest
def test_special_numbers_beside_the_edge(gpu: Any) -> None:
    """What is loaded beyond the end of a sum counts as 0, whatever it is."""
    a, b = normal(100, 70), normal(70, 40)
    a[5, 3], a[7, 69], b[2, 9], b[69, 1] = np.nan, np.inf, 0, -np.inf
    with np.errstate(invalid="ignore"):
        expected = a @ b
    found = fp.matmul(fp.Tensor.from_numpy(gpu, a), fp.Tensor.from_numpy(gpu, b)).to_numpy()
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(np.isposinf(found), np.isposinf(expected))


@pytest.mark.rest  # tests/backend/emit/fold/test_products.py has such sums
def test_long_sums(gpu: Any) -> None:
    """They are cut into chunks and runs; NumPy's error is ten times as large."""
    x = fp.Tensor.from_numpy(gpu, np.full((16, 100_000), 0.1, np.float32))
    exact = float(np.float32(0.1)) ** 2 * 100_000
    found = fp.fuse(lambda x: x @ fp.vmap(x, (1, 0)))(x).to_numpy()
    assert np.abs(found.astype("f8") - exact).max() <= 4e-6 * exact


def test_what_follows(gpu: Any) -> None:
    """Operands along rows, columns and both, results of two types, in one kernel."""
    shapes = (70, 32), (32, 20), (20,), (70, 1), (70, 20)
    a, b, c, r, e = (normal(*s) for s in shapes)

    @fp.fuse
    def ended(a: Any, b: Any, c: Any, r: Any, e: Any) -> Any:
        found = (a @ b + c) * r + e
        return found, fp.vcast(8 * found, "int")

    given = [fp.Tensor.from_numpy(gpu, x) for x in (a, b, c, r, e)]
    expected = (a.astype("f8") @ b + c) * r + e
    found, whole = (x.to_numpy() for x in ended(*given))
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert np.abs(whole - 8 * expected).max() <= 1.01
    assert "ended: 1 kernel" in str(ended.explain(*given))
