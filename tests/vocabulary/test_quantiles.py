"""Quantiles along several axes, against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.slang_functions import ramp

Q = np.sin(ramp(2, 3, 5) * 7)


def test_quantiles_along_several_axes() -> None:
    """As NumPy's, in any order of axes, also counted from the end and in a list."""

    def along(xp: Any, q: Any) -> tuple[Any, ...]:
        return xp.median(q, axis=(-1, 0)), xp.quantile(q, [0.1, 0.7], axis=(0, 2), keepdims=True)

    for got, wanted in zip(fp.fuse(lambda q: along(fp, q))(Q), along(np, Q)):
        np.testing.assert_allclose(got, wanted, rtol=1e-6)
    np.testing.assert_allclose(fp.ptp(Q, axis=[0, 2]), np.ptp(Q, axis=(0, 2)), rtol=1e-6)
    with pytest.raises(fp.ShapeError, match=r"median\(\): axis 3 is out of range"):
        fp.median(Q, axis=(0, 3))
