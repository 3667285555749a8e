"""Error functions, logarithms of softmax and one-hot rows: their values in every way, and gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.ways import same_in_every_way

A = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)


@pytest.mark.long
def test_words_in_every_way(device: Any) -> None:
    powers = np.exp(A)
    wanted = (np.log(powers / powers.sum(1, keepdims=True)), np.eye(5, dtype=np.int32)[[0, 1, 2, 2]])
    wanted = (np.vectorize(math.erf)(A), *wanted)
    at = np.array([0, 1, 2, 2], np.int32)
    same_in_every_way(device, lambda a: (fp.erf(a), fp.log_softmax(a), fp.one_hot(at, 5, int)), [A], wanted)


@pytest.mark.parametrize(("type", "near"), [(np.float32, 2e-6), (np.float64, 2e-15), (np.float16, 1e-3)])
def test_error_functions_keep_their_digits(type: Any, near: float) -> None:
    x = np.array([*np.linspace(-4, 4, 33), 1e-4, 30, -30, np.inf, -np.inf, np.nan]).astype(type)
    for f, of in ((fp.erf, math.erf), (fp.erfc, math.erfc)):
        found = f(x)
        assert found.dtype == type
        np.testing.assert_allclose(found, [of(v) for v in x.astype(float)], rtol=near, atol=1e-7 if type == np.float16 else 0)


def test_gradients() -> None:
    x = np.float32([-5, -1, 0, 0.3, 0.46875, 1, 4, 6, np.inf])
    want = 2 / math.sqrt(math.pi) * np.exp(-(x.astype(float) ** 2))
    np.testing.assert_allclose(fp.grad(lambda x: fp.sum(fp.erf(x)))(x), want, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(fp.grad(lambda x: fp.sum(fp.erfc(x)))(x), -want, rtol=1e-4, atol=1e-7)
    fp.check_grads(lambda a: fp.sum(fp.log_softmax(a) ** 2), A)


def test_the_angle_of_no_vector_is_0() -> None:
    """lavapipe's is 3/4 of pi."""
    y, x = np.float32([0, -0.0, 1, -1, 0, 0, 2]), np.float32([0, 0, 0, 0, 1, -1, -3])
    for dtype in (np.float32, np.float16, np.int32, np.int64):
        found = np.asarray(fp.arctan2(fp.Tensor(y.astype(dtype)), fp.Tensor(x.astype(dtype))))
        np.testing.assert_allclose(found, np.arctan2(y.astype(dtype), x.astype(dtype)), atol=1e-3)
    assert float(fp.fuse(lambda v: fp.atan2(v.x, v.y))(fp.float2(0, 0))) == 0
