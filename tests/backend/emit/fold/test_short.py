"""Short rows and columns as GPUs fold them: a thread has several results by itself, and loads their elements ahead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.emit.fold.tuning import fold_shape
from tests.support.selection import daily


@pytest.fixture(autouse=True)
def of_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "fusepy.backend.execute.folds.stages.fold_shape", lambda kind, *sizes, **more: fold_shape("gpu", *sizes, **more)
    )


@pytest.mark.parametrize("kind", daily([np.float32, np.float64, np.int8], "float32"))
def test_short_columns_have_numpys_values(device: Any, kind: Any) -> None:
    """One element, fewer and more than are loaded ahead, more than a run; columns that end inside a group."""
    alone = fp.fuse(lambda x: fp.max(x, 0))
    beside = fp.fuse(lambda x: (fp.sum(x, 0), fp.argmin(x, 0), fp.any(x, 0), fp.var(x, 0)))
    for shape in [(1, 5), (3, 700), (17, 513)]:
        x = (np.random.default_rng(shape[0]).standard_normal(shape) * 4).astype(kind)
        assert alone(x).tolist() == x.max(0).tolist()
        sums, places, some, spread = beside(x)
        np.testing.assert_allclose(sums, x.sum(0, np.int64 if kind == np.int8 else np.float64), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(spread, x.astype(np.float64).var(0), rtol=1e-5, atol=1e-5)
        assert places.tolist() == x.argmin(0).tolist()
        assert some.tolist() == x.any(0).tolist()
    assert "fz_within" in alone.source(fp.Tensor.from_numpy(device, x))


@pytest.mark.parametrize("length", [1, 3, 8])
def test_short_rows_have_numpys_values(device: Any, length: int) -> None:
    """Contiguous ones, ones with steps, and products of two arrays that are stretched."""
    x = np.random.default_rng(length).standard_normal((517, 2 * length)).astype(np.float32)
    beside = fp.fuse(lambda x: (fp.sqrt(fp.sum(x * x, -1)), fp.argmax(x, -1), fp.max(x, -1, True) - 1))
    for a in (x[:, :length].copy(), fp.Tensor.from_numpy(device, x)[:, ::2]):
        of = np.asarray(a).astype(np.float64)
        for got, want in zip(beside(a), (np.sqrt((of * of).sum(-1)), of.argmax(-1), of.max(-1, keepdims=True) - 1)):
            np.testing.assert_allclose(np.asarray(got), want, rtol=1e-6)
    assert "fz_within" in beside.source(fp.Tensor.from_numpy(device, x[:, :length]))
    p, q = x[:40, None, :length], x[40:90, length:]
    apart = fp.fuse(lambda p, q: fp.sum((p - q) * (p - q), -1))(p, q)
    np.testing.assert_allclose(apart, ((p - q) * (p - q)).sum(-1), rtol=1e-5)


@pytest.mark.parametrize("axis", daily([1, (0, 1)], 1, one=True))
def test_middle_axes_with_what_stands_before_and_after(axis: Any) -> None:
    x = np.random.default_rng(3).standard_normal((3, 5, 4, 130), np.float32)
    f = fp.fuse(lambda x, k: (fp.sum(x * x, axis, keepdims=True) * k + x, fp.max(x, axis), x + 1))
    total, most, plain = f(x, 2.0)
    np.testing.assert_allclose(total, (x * x).sum(axis, keepdims=True) * 2 + x, rtol=1e-5, atol=1e-5)
    assert most.tolist() == x.max(axis).tolist()
    assert plain.tolist() == (x + 1).tolist()


def test_strides_and_results_in_place(device: Any) -> None:
    """Elements are loaded before any result is stored over them."""
    x = np.arange(12 * 600, dtype=np.float32).reshape(12, 600) % 37
    half = fp.Tensor.from_numpy(device, x)[::2, ::-1]
    f = fp.fuse(lambda x: (fp.sum(x, 0), x * 2))
    own = fp.Tensor.from_numpy(device, x)
    assert f(half)[0].to_numpy().tolist() == x[::2, ::-1].sum(0).tolist()
    sums, _ = f(own, _result=(fp.Tensor.zeros(device, (600,)), own))
    assert sums.to_numpy().tolist() == x.sum(0).tolist()
    assert own.to_numpy().tolist() == (x * 2).tolist()


def test_no_elements_and_no_columns() -> None:
    f = fp.fuse(lambda x: fp.sum(x, 0))
    assert f(np.zeros((0, 4), np.float32)).tolist() == [0] * 4
    assert f(np.zeros((4, 0), np.float32)).shape == (0,)
