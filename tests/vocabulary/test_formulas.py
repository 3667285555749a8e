"""NumPy's functions made of a few others: NumPy's values in every way that they can be computed, and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.ways import same, same_in_every_way

RANDOM = np.random.default_rng(0)
A, Q = (RANDOM.normal(size=shape).astype(np.float32) for shape in ((4, 5), (2, 4, 3)))


def words(xp: Any, a: Any, q: Any) -> tuple[Any, ...]:
    """What functions of fusepy or NumPy make of an array of two axes and one of three."""
    return (
        xp.arcsinh(xp.multiply(a, 3)),
        xp.arccosh(xp.add(xp.multiply(a, a), 1)),
        xp.arctanh(xp.divide(a, 6)),
        xp.sinc(a),
        xp.heaviside(xp.floor(a), np.float32(0.5)),
        xp.logaddexp2(a, xp.ravel(a)[0]),
        xp.isposinf(xp.add(a, np.float32(np.inf))),
        xp.isneginf(a),
        xp.trace(a),
        xp.trace(q, 1),
        xp.multiply(xp.tri(4, 5, 1, np.float32), a),
        xp.indices((4, 5)).astype(np.int32)[1],
        xp.diagflat(a[:2], 1),
        xp.ediff1d(a),
        xp.cov(a),
        xp.cov(a, rowvar=False, ddof=0),
        xp.corrcoef(a),
        xp.polyval(a[0], q),
        xp.hsplit(a, [2])[1],
        xp.vsplit(a, 2)[1],
        xp.cross(q, q[0]),
        xp.cross(q[0], q[1][0]),
    )


def test_words_fused(device: Any) -> None:
    same(fp.fuse(lambda a, q: words(fp, a, q))(A, Q), words(np, A, Q))


@pytest.mark.rest
def test_words_in_every_way(device: Any) -> None:
    same_in_every_way(device, lambda a, q: words(fp, a, q), [A, Q], words(np, A, Q))


def test_areas_and_sums_of_products() -> None:
    """NumPy has these names since version 2."""
    for ways in (lambda f: f, fp.fuse):
        np.testing.assert_allclose(ways(lambda a: fp.trapezoid(a))(A), (A[:, 1:] + A[:, :-1]).sum(1) / 2, rtol=1e-5)
        np.testing.assert_allclose(ways(lambda q: fp.vecdot(q, q[0]))(Q), (Q * Q[0]).sum(-1), rtol=1e-5)
        steps = np.diff(A[:, 0])[:, None] * (A[1:] + A[:-1]) / 2
        np.testing.assert_allclose(ways(lambda a: fp.trapezoid(a, a[:, 0], axis=0))(A), steps.sum(0), rtol=1e-4, atol=1e-6)


def test_the_ends_of_inverse_functions() -> None:
    ends = np.float32([1e30, -1e30, 1e-4, 0, np.inf, -np.inf, np.nan])
    np.testing.assert_allclose(fp.arcsinh(ends), np.arcsinh(ends), rtol=1e-6)
    np.testing.assert_allclose(fp.arccosh(abs(ends) + 1), np.arccosh(abs(ends) + 1), rtol=1e-3)
    for type, near in ((np.float16, 1e-3), (np.float64, 1e-15)):  # in the digits of each type
        far = np.array([150, 300, 5e4]).astype(type)
        np.testing.assert_allclose(fp.arcsinh(far), np.arcsinh(far), rtol=near)
        np.testing.assert_allclose(fp.arccosh(far), np.arccosh(far), rtol=near)
    assert fp.grad(lambda x: fp.sum(fp.arcsinh(x)))(np.float32([0, 1e20])).tolist() == pytest.approx([1, 1e-20])
    assert fp.grad(lambda x: fp.sum(fp.sinc(x)))(np.float32([0])).tolist() == [0]


@pytest.mark.long
def test_gradients() -> None:
    def f(a: Any) -> Any:
        powers = fp.arcsinh(a) * fp.arctanh(a / 6) + fp.arccosh(a * a + 1.5) + fp.logaddexp2(a, 0.5) * fp.sinc(a)
        return fp.sum(powers) + fp.trace(a) ** 2 + fp.sum(fp.cross(a[:, :3], a[:, 2:]) ** 2) + fp.sum(fp.corrcoef(a)[0])

    fp.check_grads(f, A)


@pytest.mark.parametrize("of", [lambda a: fp.tril(a[0]), lambda a: fp.triu(a[0, 0]), lambda a: fp.polyval(a[0, 0], a)])
def test_too_few_axes_are_refused(of: Any) -> None:
    for ways in (lambda f: f, fp.fuse):
        with pytest.raises(fp.ShapeError):
            ways(of)(fp.asarray(A))


def test_one_element_of_a_tensor(device: Any) -> None:
    t = fp.Tensor.from_numpy(device, A)
    assert (t.item(3), t.item(1, 2), t.T.item(1), t[0, 0].item()) == (A[0, 3], A[1, 2], A[1, 0], A[0, 0])
    with pytest.raises(fp.ShapeError, match="check the extents"):
        t.item(20)
    with pytest.raises(fp.ShapeError):
        t.item()
