"""Slopes, convolutions and correlations: NumPy's values in every way, and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.ways import same_in_every_way

A, V = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32), np.float32([2, 0, -1, 1])
P = np.float32([0, 1, 3, 4])


def words(xp: Any, a: Any, v: Any) -> tuple[Any, ...]:
    return (
        *xp.gradient(a),
        xp.gradient(a, 0.5, axis=0),
        *xp.gradient(a, 2.0, P),
        xp.convolve(a[0], v),
        xp.convolve(v[:3], a[1], "same"),
        xp.correlate(a[0], v[:2]),
        xp.correlate(v[:3], a[1], "same"),
        xp.correlate(v[:3], a[1], "full"),
    )


def test_words_fused() -> None:
    for found, want in zip(fp.fuse(lambda a, v: words(fp, a, v))(A, V), words(np, A, V)):
        np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)


@pytest.mark.long
def test_words_in_every_way(device: Any) -> None:
    same_in_every_way(device, lambda a, v: words(fp, a, v), [A, V], words(np, A, V))


@pytest.mark.long
def test_gradients() -> None:
    def f(a: Any, v: Any) -> Any:
        return fp.sum(fp.convolve(a[0], v) ** 2) + fp.sum(fp.gradient(a, axis=1) ** 2) + fp.sum(fp.gradient(a, P, axis=1) ** 2)

    fp.check_grads(f, A, V)


@pytest.mark.parametrize(
    ("of", "error"),
    [
        (lambda: fp.gradient(A, 1.0, 2.0, 3.0), fp.ArgumentError),
        (lambda: fp.gradient(A, axis=2), fp.ShapeError),
        (lambda: fp.convolve(V, V, "all"), fp.ArgumentError),
        (lambda: fp.correlate(V[0], V), fp.ShapeError),
    ],
)
def test_refused(of: Any, error: Any) -> None:
    with pytest.raises(error):
        of()


def test_numpys_own_functions_are_these_in_fused_functions(device: Any) -> None:
    x, weights = np.float32([1, 2, 4, 7]), [1.0, 2.0, 0.5]
    found = fp.fuse(lambda x: (np.gradient(x), np.convolve(x, weights), np.correlate(x, weights)))(x)
    for made, wanted in zip(found, (np.gradient(x), np.convolve(x, weights), np.correlate(x, weights)), strict=True):
        np.testing.assert_allclose(made, wanted, rtol=1e-6)
