"""Infinities in quotients, remainders and means between elements, and the digits of functions near 0, against NumPy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import fusepy as fp

ENDS = [0.0, 1, -1, 5, -5, 2.5, np.inf, -np.inf, np.nan]
OF_TWO = ("fmod", "remainder", "floor_divide", "hypot", "logaddexp", "copysign")
ODD = ("tanh", "sinh", "arcsinh", "arctanh", "expm1", "log1p")
FLOATS = [np.float16, np.float32, np.float64]


@pytest.mark.req("C5")
@pytest.mark.parametrize("dtype", FLOATS)
def test_infinite_operands(device: Any, dtype: Any) -> None:
    """A finite number divided by an infinity leaves itself: ``fmod(5, inf)`` was NaN."""
    x, y = (a.ravel() for a in np.meshgrid(np.array(ENDS, dtype), np.array(ENDS, dtype)))
    fused = fp.fuse(lambda x, y: [getattr(fp, name)(x, y) for name in OF_TWO])(x, y)
    with np.errstate(all="ignore"):
        for name, found in zip(OF_TWO, fused, strict=True):
            wanted = getattr(np, name)(x, y)
            for made in (found, getattr(fp, name)(x, y)):
                np.testing.assert_allclose(made, wanted, rtol=4 * np.finfo(dtype).eps, err_msg=name)
        whole, rest = divmod(fp.Tensor.from_numpy(device, x), y)
        np.testing.assert_array_equal([whole.numpy(), rest.numpy()], np.divmod(x, y))


@pytest.mark.req("C5")
@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_that_are_small_near_0_keep_their_digits(device: Any, dtype: Any) -> None:
    """Drivers subtract exponentials that are nearly equal: ``tanh(1e-20)`` was 3e-8."""
    least = -np.log10(float(np.finfo(dtype).smallest_normal))
    x = np.float64(10) ** -np.linspace(0.01, least - 0.5, 60)
    x = np.concatenate([x, -x, [0.0, -0.0]]).astype(dtype)
    found = fp.fuse(lambda x: [getattr(fp, name)(x) for name in ODD])(x)
    for name, made in zip(ODD, found, strict=True):
        wanted = getattr(np, name)(x.astype(np.longdouble)).astype(dtype)
        np.testing.assert_allclose(made, wanted, rtol=6 * np.finfo(dtype).eps, err_msg=name)
        np.testing.assert_array_equal(np.signbit(made), np.signbit(x), err_msg=name)
    vectors = fp.tanh(fp.vcast(x[:120].reshape(-1, 3), ["half3", "float3", "double3"][FLOATS.index(dtype)]))
    np.testing.assert_array_equal(np.asarray(vectors).ravel(), found[0][:120])


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_medians_between_infinities(device: Any, count: int) -> None:
    rows = np.float32(list(itertools.product([-np.inf, 1, 2, np.inf], repeat=count)))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(fp.median(rows, axis=1), np.median(rows, axis=1))
    quarter = fp.quantile(np.float32([[-np.inf, 1], [1, np.inf], [np.inf, np.inf], [-np.inf, np.inf]]), 0.25, axis=1)
    np.testing.assert_array_equal(quarter, [-np.inf, np.inf, np.inf, np.nan])


def test_slopes_and_points_at_infinities(device: Any) -> None:
    rows = np.float32(list(itertools.product([-np.inf, 1, 3, np.inf], repeat=4)))
    places, x = np.float32([0, 1, 3, 4]), np.float32([-1, 0, 0.5, 1, 2, 3, 9])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(fp.gradient(rows, axis=1), np.gradient(rows, axis=1))
        np.testing.assert_allclose(fp.gradient(rows, places, axis=1), np.gradient(rows, places, axis=1), atol=1e-6)
        points = fp.fuse(lambda rows: [fp.interp(x, np.arange(4.0, dtype=np.float32), rows[i]) for i in range(0, 256, 37)])
        np.testing.assert_allclose(points(rows), [np.interp(x, np.arange(4), row) for row in rows[::37]])
