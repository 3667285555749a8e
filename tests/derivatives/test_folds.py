"""Gradients and tangents of scans: running products, also of zeros, running extremes, and scans by Slang functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily, seldom


@pytest.mark.parametrize("zeros", daily([[0], [2, 4]], [2, 4]))  # of one row; the other has none
@pytest.mark.parametrize("exclusive", [False, True])
def test_running_products_have_derivatives_also_at_zeros(zeros: list[int], exclusive: bool) -> None:
    random = np.random.default_rng(0)
    x, w, d = random.uniform(-2, 2, (2, 6)), random.normal(size=(2, 6)), random.normal(size=(2, 6))
    x[0, zeros] = 0
    want = np.zeros_like(x)
    for k in range(6):  # the slope of an element is the product of the others
        others = x.copy()
        others[:, k] = 1
        running = np.cumprod(others, 1)
        running = np.concatenate([np.ones((2, 1)), running[:, :-1]], 1) if exclusive else running
        want[:, k] = np.sum((running * w)[:, k + exclusive :], 1)

    def weighted(x: Any, w: Any) -> Any:
        return fp.sum(fp.scan("prod", x, axis=1, exclusive=exclusive) * w)

    x, w, d = (a.astype(np.float32) for a in (x, w, d))
    np.testing.assert_allclose(fp.grad(weighted)(x, w), want, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(fp.jvp(weighted, (x, w), (d, None)).d, np.sum(want * d), rtol=1e-4, atol=1e-4)


SOURCE = """
[Differentiable] float smooth(float a, float b) { return log(exp(a) + exp(b)); }
[Differentiable] float3 product3(float3 a, float3 b) { return a * b; }
float rough(float a, float b) { return max(a, b); }
"""


@pytest.fixture(scope="module")
def m(device: fp.Device) -> fp.Module:
    return fp.Module.load_from_source(device, "derived_scans", SOURCE)


def running(m: fp.Module, kind: str, axis: int, exclusive: bool) -> Any:
    def scanned(x: Any) -> Any:
        if kind == "smooth":
            return fp.scan(m.smooth, -100.0, x, axis=axis, exclusive=exclusive)
        found = fp.scan(kind, x, axis=axis, exclusive=exclusive)
        return fp.maximum(fp.minimum(found, 100.0), -100.0)  # the first of an exclusive one is infinite

    return scanned


def slope_in_float64(kind: str, axis: int, exclusive: bool, x: Any, d: Any) -> Any:
    """The tangent of a scan: that of the element taken, or the mean by weights."""
    x, d = np.moveaxis(x, axis, 0).astype(float), np.moveaxis(d, axis, 0).astype(float)
    if kind == "smooth":
        made = np.cumsum(np.exp(x) * d, 0) / np.cumsum(np.exp(x), 0)
    else:
        at = np.array([np.argmax(x[: i + 1] * (1 if kind == "max" else -1), 0) for i in range(len(x))])
        made = np.take_along_axis(d, at, 0)
    made = np.concatenate([np.zeros_like(made[:1]), made[:-1]]) if exclusive else made
    return np.moveaxis(made, 0, axis)


@pytest.mark.parametrize(
    ("kind", "shape", "axis", "exclusive"),
    [
        *seldom([("max", (300,), 0, False), ("min", (3, 70), 1, True), ("smooth", (2, 40, 3), 1, False)], "max", "min", "smooth"),
        ("smooth", (70,), 0, True),
    ],
)
def test_each_step_of_a_scan_has_a_slope(m: fp.Module, kind: str, shape: Any, axis: int, exclusive: bool) -> None:
    random, function = np.random.default_rng(0), running(m, kind, axis, exclusive)
    x, w, d = (random.normal(size=shape).astype(np.float32) for _ in range(3))
    want = slope_in_float64(kind, axis, exclusive, x, d)
    np.testing.assert_allclose(fp.jvp(function, (x,), (d,)).d, want, rtol=1e-3, atol=1e-4)
    slope = fp.grad(lambda x: fp.sum(w * function(x)))(x)
    assert np.sum(slope * d) == pytest.approx(np.sum(want * w), rel=1e-3, abs=1e-3)


@pytest.mark.long
def test_scans_have_second_derivatives(m: fp.Module) -> None:
    x, w, d = np.float32([0.5, 1.5, 1, 2, -0.75]), np.float32([1, 2, 3, -1, 2]), np.float32([1, 2, 3, 4, 5])
    function, step = running(m, "smooth", 0, False), 1e-2
    slope = fp.grad(lambda x: fp.sum(w * function(x * x) ** 2))
    want = fp.grad(lambda x: fp.sum(d * slope(x)))(x)
    np.testing.assert_allclose(fp.jvp(slope, (x,), (d,)).d, want, rtol=1e-4, atol=1e-4)
    difference = (slope(x + step * d) - slope(x - step * d)) / (2 * step)
    np.testing.assert_allclose(want, difference, rtol=3e-2, atol=1e-2)


def test_running_extremes_of_vectors_and_equal_elements(m: fp.Module) -> None:
    colours = np.float32([[1, 2, 3], [0, 5, 1], [4, 1, 9]])
    assert fp.grad(lambda c: fp.sum(fp.scan("max", fp.vcast(c, "float3")).y))(colours)[:, 1].tolist() == [1, 2, 0]
    assert fp.grad(lambda x: fp.sum(fp.cummax(x)))([1.0, 3.0, 2.0, 3.0]) == [1, 2, 0, 1]  # of equal ones the last is taken


@pytest.mark.parametrize("axis", daily([None, 1], 1))
def test_reductions_by_a_function_have_derivatives(m: fp.Module, axis: Any) -> None:
    random = np.random.default_rng(0)
    x, d = (random.normal(size=(3, 40)).astype(np.float32) for _ in range(2))
    x[1, 2] = -np.inf  # has no share

    def squared(x: Any) -> Any:
        return fp.sum(fp.reduce(m.smooth, -100.0, x, axis=axis) ** 2)

    total = np.sum(np.exp(x.astype(float)), axis=axis, keepdims=True)
    want = 2 * np.log(total) * np.exp(x.astype(float)) / total
    np.testing.assert_allclose(fp.grad(squared)(x), want, rtol=1e-3, atol=1e-5)
    assert float(fp.jvp(squared, (x,), (d,)).d) == pytest.approx(np.sum(want * d), rel=1e-3)


def test_other_scans_have_none_and_say_so(m: fp.Module) -> None:
    with pytest.raises(fp.GradientError, match="what product3 combines has no gradient"):
        fp.grad(lambda x: fp.sum(fp.scan(m.product3, 1.0, fp.vcast(x, "float3")).x))(np.ones((2, 3), np.float32))
    with pytest.raises(fp.GradientError, match="cannot differentiate rough"):
        fp.grad(lambda x: fp.sum(fp.scan(m.rough, 0.0, x)))(np.float32([1, 2]))


def standardised(x: Any) -> Any:
    d = x - fp.mean(x, -1, keepdims=True)
    return fp.sum((d / fp.sqrt(fp.mean(d * d, -1, keepdims=True) + 1e-5)) ** 3)


def normed(x: Any) -> Any:
    return fp.sum((x / fp.sqrt(fp.mean(x * x, -1) + 1e-5)[:, None]) ** 3)


@pytest.mark.parametrize("loss", daily([standardised, normed], "normed"))
def test_gradients_of_norms_are_one_kernel(loss: Any) -> None:
    """What is broadcast along a row has a gradient that is summed along the row, and once more along an axis of extent 1."""
    x = np.random.default_rng(5).normal(size=(4, 40)).astype(np.float32)
    slope = fp.fuse(fp.grad(loss))
    assert slope.ir(x, after="join_rows").count(" region(") == 1
    fp.check_grads(loss, x)


def test_outer_products_are_summed_back_both_ways() -> None:
    """Rows that need columns, and columns that need rows, are no one kernel: they waited for each other."""

    def both(n: Any, x: Any) -> Any:
        product = n.sum(x, 0)[None] * n.sum(x, 1)[:, None]
        return n.sum(product, 0), n.sum(product, 1)

    x = np.random.default_rng(6).normal(size=(3, 4)).astype(np.float32)
    for got, want in zip(fp.fuse(lambda x: both(fp, x))(x), both(np, x.astype(np.float64))):
        np.testing.assert_allclose(got, want, rtol=1e-5)
    fp.check_grads(lambda x: fp.sum((fp.sum(x, 0, keepdims=True) * fp.sum(x, 1, keepdims=True)) ** 2), x)
