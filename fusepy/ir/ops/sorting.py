"""The kinds of ``scan`` that sort: each result is the index of the element that stands there in order."""

from __future__ import annotations

import numpy as np

from fusepy.ir.value import Array

DESCENDING = "argsort_descending"
SORTS = ("argsort", DESCENDING)


def sorted_places(kind: str, array: Array) -> Array:
    """Returns the indices that sort `array` along its first axis; equal elements keep their order, and NaN is the largest.

    Example:
        >>> sorted_places("argsort_descending", np.float32([1, np.nan, 2, 1])).tolist()
        [1, 2, 0, 3]
    """
    if kind != DESCENDING:
        return np.argsort(array, axis=0, kind="stable")
    return len(array) - 1 - np.argsort(array[::-1], axis=0, kind="stable")[::-1]
