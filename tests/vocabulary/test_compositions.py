"""NumPy's functions that others make up: NumPy's values in every way that they can be computed, and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.ways import same_in_every_way

RANDOM = np.random.default_rng(0)
A, Q = (RANDOM.normal(size=shape).astype(np.float32) for shape in ((4, 5), (2, 3, 4)))
N = A.copy()
INF = float("inf")
N[1, 2], N[3] = np.nan, np.nan
PLACES, HEIGHTS = np.float32([0, 1, 2.5, 4]), np.float32([1, 3, -1, 2])


def words(xp: Any, a: Any, q: Any) -> tuple[Any, ...]:
    """What functions of fusepy or NumPy make of an array of two axes and one of three."""
    return (
        xp.diff(q),
        xp.diff(a, n=2, axis=0),
        xp.average(a, axis=1),
        xp.average(a, axis=0, weights=np.float32([1, 2, 3, 4])),
        xp.vdot(a, a),
        xp.float_power(a, 3),
        xp.logaddexp(a, np.float32([1, 2, 3, 4, -5])),
        xp.median(a),
        xp.quantile(q, [0.1, 0.75, 1], axis=-1, keepdims=True),
        xp.percentile(a, 30, keepdims=True),
        xp.ptp(a, axis=0),
        xp.searchsorted(np.float32([-1, 0, 0.5]), a, side="right"),
        xp.clip(a, a_min=0, a_max=None),
        xp.argsort(a, kind="stable"),
        xp.inner(q, q),
        xp.roll(a, (1, 2), axis=(0, -2)),
        xp.concatenate([a, q], axis=None),
        xp.concatenate(q),
        xp.stack(a, axis=1),
    )


def without_nan(xp: Any, n: Any) -> tuple[Any, ...]:
    extremes = xp.nanmin(n, axis=0), xp.nanmax(n), xp.median(n, axis=0)
    return xp.nansum(n, axis=1), xp.nanmean(n, axis=0), xp.nanvar(n, axis=0, keepdims=True), xp.nanstd(n, ddof=1), *extremes


@pytest.mark.long
def test_words_in_every_way(device: Any) -> None:
    same_in_every_way(device, lambda a, q: words(fp, a, q), [A, Q], words(np, A, Q))
    same_in_every_way(device, lambda n: without_nan(fp, n), [N], without_nan(np, N))


def test_select_and_interpolation(device: Any) -> None:
    for ways in (lambda f: f, fp.fuse):
        found = ways(lambda a: fp.select([a > 1, a > 0], [a, a * 2], -1.0))(A)
        np.testing.assert_allclose(found, np.select([A > 1, A > 0], [A, A * 2], -1))
        np.testing.assert_array_equal(ways(lambda a, b: fp.digitize(a, b))(A, PLACES), np.digitize(A, PLACES))
        np.testing.assert_array_equal(ways(lambda a, b: fp.digitize(a, b, right=True))(A, PLACES), np.digitize(A, PLACES, True))
        np.testing.assert_allclose(ways(fp.interp)(A * 3, PLACES, HEIGHTS), np.interp(A * 3, PLACES, HEIGHTS), atol=1e-6)
    x, heights = np.float32([-INF, -9, 0, 0.5, 5, INF, np.nan]), np.float32([1, 2, 3, 4])
    for xp in ([-INF, 0, 1, INF], [-INF, -INF, INF, INF], [0, 1, INF, INF], [-INF, -9, -9, 0]):
        with np.errstate(invalid="ignore"):
            for fy in (heights, np.float32([5, 5, 5, 5])):
                np.testing.assert_allclose(
                    fp.interp(x, np.float32(xp), fy), np.interp(x, xp, fy), atol=1e-6, err_msg=f"{xp} {fy}"
                )
    np.testing.assert_array_equal(fp.diff(A > 0), np.diff(A > 0))
    assert isinstance(fp.select([A > 1], [A]), np.ndarray)
    for call, error in (
        (lambda: fp.select([A > 1], []), fp.ArgumentError),
        (lambda: fp.quantile(A, 1.5), fp.ArgumentError),
        (lambda: fp.median(A[:0]), fp.ShapeError),
    ):
        with pytest.raises(error):
            call()


@pytest.mark.long
def test_gradients() -> None:
    fp.check_grads(lambda a: fp.sum(fp.diff(a) ** 2) + fp.median(a) + fp.sum(fp.quantile(a, (0.2, 0.7), axis=0) ** 2), A)
    fp.check_grads(lambda a, y: fp.sum(fp.interp(a, PLACES, y) ** 2), A, HEIGHTS)
    fp.check_grads(lambda a: fp.sum(fp.logaddexp(a, a * 2)) + fp.nanmean(a * a) + fp.sum(fp.nanmax(a, axis=0)) + fp.ptp(a), A)
    fp.check_grads(lambda a: fp.sum(fp.average(a, axis=0, weights=a[:, 0] + 3)) + fp.vdot(a, a + 1), A)
    fp.check_grads(lambda a: fp.sum(fp.select([a > 1, a > 0], [a * a, a * 2], -1.0)) + fp.sum(fp.inner(a[None], a) ** 2), A)
