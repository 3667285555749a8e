"""What the tests of products of matrices share."""

from __future__ import annotations

import numpy as np


def normal(*shape: int) -> np.ndarray:
    """Returns normally distributed floats, the same ones for a shape."""
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)
