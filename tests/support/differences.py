"""Gradients by central differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def differences(function: Callable[..., Any], args: Sequence[Array], weights: Array, h: float = 1e-5) -> list[Array]:
    """Central differences of the weighted sum of a function's results."""
    found: list[Array] = []
    for i, x in enumerate(args):
        slope = np.zeros_like(x)
        for at in np.ndindex(x.shape):
            ends: list[float] = []
            for side in (h, -h):
                moved = [a.copy() for a in args]
                moved[i][at] += side
                ends.append(float(np.sum(np.asarray(function(*moved)) * weights)))
            slope[at] = (ends[0] - ends[1]) / (2 * h)
        found.append(slope)
    return found
