"""Gradients and tangents of running products, with zeros among the elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp


@pytest.mark.parametrize("zeros", [[], [0], [2], [2, 4]])
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


def test_running_extremes_have_none() -> None:
    with pytest.raises(fp.GradientError, match=r"the scan 'max' has no gradient[^~]*fp.scan\('prod', x\) have one"):
        fp.grad(lambda x: fp.sum(fp.scan("max", x)))(np.float32([1, 2]))
