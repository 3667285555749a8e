"""Functions along axes against NumPy: of every kind of number, along every axis, of empty arrays, and their gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily

Array = np.ndarray[Any, Any]
AXES = [None, 0, -1, (0, 2)]
DAILY = [("float32", None), ("float32", -1), ("int32", (0, 2))]


def _logsumexp(x: Array, **how: Any) -> Array:
    return np.log(np.sum(np.exp(x.astype(np.float64)), **how))


def _norm(order: Any) -> Any:
    def run(x: Array, **how: Any) -> Any:
        a = np.abs(x.astype(np.float64))
        return np.sum(a, **how) if order == 1 else np.max(a, **how) if order == math.inf else np.sqrt(np.sum(a * a, **how))

    return run


# the function, and NumPy's
ALONG: dict[str, tuple[Any, Any]] = {
    "var": (fp.var, np.var),
    "std": (fp.std, np.std),
    "var1": (lambda x, **how: fp.var(x, ddof=1, **how), lambda x, **how: np.var(x, ddof=1, **how)),
    "std2": (lambda x, **how: fp.std(x, ddof=1.5, **how), lambda x, **how: np.std(x, ddof=1.5, **how)),
    "count_nonzero": (fp.count_nonzero, np.count_nonzero),
    "logsumexp": (fp.logsumexp, _logsumexp),
    "norm": (fp.norm, _norm(None)),
    "norm1": (lambda x, **how: fp.norm(x, 1, **how), _norm(1)),
    "norm_inf": (lambda x, **how: fp.norm(x, np.inf, **how), _norm(math.inf)),
    "amax": (fp.amax, np.amax),
    "amin": (fp.amin, np.amin),
}
RUNNING = {"cumsum": np.cumsum, "cumprod": np.cumprod, "cummax": np.maximum.accumulate, "cummin": np.minimum.accumulate}


@pytest.mark.req("C5")
@pytest.mark.parametrize(
    ("dtype", "axis"),
    [
        pytest.param(dtype, axis, marks=[pytest.mark.rest] * ((dtype, axis) not in DAILY))
        for dtype in ("float32", "float64", "int32")
        for axis in AXES
    ],
    ids=str,
)
def test_every_function_in_one_program(device: Any, dtype: str, axis: Any) -> None:
    x = (np.random.default_rng(1).normal(size=(3, 5, 4)) * 3).astype(dtype)

    @fp.fuse
    def program(x: Any) -> Any:
        return [f(x, axis=axis, keepdims=keep) for f, _ in ALONG.values() for keep in (False, True)]

    results = iter(program(x))
    for name, (_, like) in ALONG.items():
        for keep in (False, True):
            found, wanted = next(results), like(x, axis=axis, keepdims=keep)
            assert np.shape(found) == np.shape(wanted), name
            assert np.asarray(found).dtype.kind == ("i" if name == "count_nonzero" or wanted.dtype == np.int32 else "f")
            np.testing.assert_allclose(found, wanted, rtol=3e-6, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("dtype", daily(["float32", "float64", "int32"], "float32"))
def test_running_functions_and_softmax(device: Any, dtype: str) -> None:
    x = (np.random.default_rng(2).normal(size=(3, 5)) * 3).astype(dtype)

    @fp.fuse
    def program(x: Any) -> Any:
        return [getattr(fp, n)(x, axis=axis) for n in RUNNING for axis in (0, 1)] + [fp.softmax(x), fp.softmax(x, (0, 1))]

    *running, rows, whole = program(x)
    for found, (like, axis) in zip(running, [(f, a) for f in RUNNING.values() for a in (0, 1)], strict=True):
        np.testing.assert_allclose(found, like(x, axis=axis), rtol=1e-5)
    powers = np.exp(x.astype(np.float64))
    np.testing.assert_allclose(rows, powers / powers.sum(-1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(whole, powers / powers.sum(), rtol=1e-5)


def test_at_once_with_lists_edges_and_empty_arrays(device: Any) -> None:
    assert fp.std([1.0, 2.0, 3.0], ddof=1) == pytest.approx(1.0)
    assert fp.norm([[3.0, 4.0]], axis=[1]) == [5.0]
    assert fp.cumsum([1, 2, 3]) == [1, 3, 6]
    assert fp.logsumexp([-np.inf, -np.inf]) == -np.inf
    assert fp.logsumexp([np.inf, 1.0]) == np.inf
    assert fp.softmax([1e4, 1e4]) == [0.5, 0.5]
    empty = np.ones((0, 3), np.float32)
    assert np.isnan(fp.var(empty, axis=0)).tolist() == [True] * 3
    assert fp.norm(empty, axis=0).tolist() == [0, 0, 0]
    assert (fp.cumsum(empty, 0).shape, fp.cumsum(empty).shape) == ((0, 3), (0,))
    assert np.isnan(fp.var(np.ones(1, np.float32), ddof=1))
    assert np.isnan(fp.std(np.float32([1, np.nan]), ddof=1))
    far = np.float32([1e4, 1e4 + 1, 1e4 + 2])  # one pass over squares loses all of it
    np.testing.assert_allclose(fp.var(far), np.var(far.astype(np.float64)), rtol=1e-6)


def test_whole_arrays(device: Any) -> None:
    x = np.float32([[1, 2], [3, np.nan]])
    assert not fp.array_equal(x, x)
    assert fp.array_equal(x, x, equal_nan=True)
    assert not fp.array_equal([1, 2], [1, 2, 3])
    assert fp.array_equal(fp.Tensor([1, 2]), np.float32([1, 2]))
    assert fp.allclose(x, x + 1e-6, equal_nan=True)
    assert not fp.allclose(x, x)
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(4, 3)
    for left, right in ((a, b), (a[0], b[0]), (a, b[0]), (2.0, a)):
        np.testing.assert_allclose(fp.inner(left, right), np.inner(left, right))


SMOOTH = {
    "along an axis": lambda x: (fp.softmax(x), fp.norm(x, 1, 0)),
    "of all": lambda x: (fp.std(x), fp.var(x, axis=1, ddof=1), fp.logsumexp(x), fp.norm(x)),
}


@pytest.mark.parametrize("name", daily(SMOOTH, "along an axis"))
def test_gradients_at_smooth_points(device: Any, name: str) -> None:
    fp.check_grads(SMOOTH[name], np.array([[1.0, 2.0, 4.0], [3.0, 5.0, -3.0]]))


def test_gradients_at_tricky_points(device: Any) -> None:
    for run in (fp.std, fp.norm):  # whose slope at 0 is none
        assert fp.grad(lambda x, run=run: run(x))([2.0, 2.0] if run is fp.std else [0.0, 0.0]) == [0.0, 0.0]
    assert fp.grad(lambda x: fp.logsumexp(x))([1e4, 1e4]) == [0.5, 0.5]


def test_lazy_calls_and_graphs(device: Any) -> None:
    x = np.float32([[1, 2, 4], [3, 5, -3]])
    with fp.lazy():
        found = fp.std(fp.softmax(fp.Tensor(x)), axis=0)
    rows = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    np.testing.assert_allclose(found.to_numpy(), rows.std(0), rtol=1e-5)
    g = fp.Graph(inputs=["x"])
    (value,) = g.get_inputs()
    g.set_outputs(value.std(axis=0) + value.sum())
    np.testing.assert_allclose(g(x), x.std(0) + x.sum(), rtol=1e-5)


def test_an_order_that_is_not_there(device: Any) -> None:
    with pytest.raises(fp.ArgumentError, match="norm\\(\\) of order 3"):
        fp.norm([1.0], 3)


def test_variances_of_columns_are_one_pass_and_accurate() -> None:
    """Whatever element comes first, and however far all are from zero."""
    noise = np.random.default_rng(3).normal(size=(4000, 40))
    moments = fp.fuse(lambda x: (fp.mean(x, 0), fp.var(x, 0), fp.std(x, 0, ddof=1)))
    for x in (noise + 1e5, np.concatenate([np.full((1, 40), 1e6), noise]), np.sort(noise, 0) * 100):
        x = x.astype(np.float32)
        wide = x.astype(np.float64)
        mean, var, std = moments(x)
        np.testing.assert_allclose(mean, wide.mean(0), rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(var, wide.var(0), rtol=1e-5)
        np.testing.assert_allclose(std, wide.std(0, ddof=1), rtol=1e-5)
        np.testing.assert_allclose(fp.var(x), wide.var(), rtol=1e-6)
    assert moments.explain(x).kernels == 1
    assert fp.fuse(lambda x: (x - fp.mean(x, 0)) / fp.std(x, 0)).explain(x).kernels == 2
    column = np.float32([[1e20, np.inf, np.nan, 5], [2e20, 1, 2, 5], [5, 2, 1, 5]])
    np.testing.assert_equal(fp.var(column, 0), np.float32([np.inf, np.nan, np.nan, 0]))
