"""Lists and arrays of the host that overwrite elements of a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp


@pytest.mark.req("T18")
def test_lists_are_numbers_of_the_type_of_the_elements(device: Any) -> None:
    t = fp.Tensor.zeros(device, (2, 3), np.float32)
    t[0] = [1, 2, 3]
    t[1, 1:] = (4.5, True)
    assert t.tolist() == [[1, 2, 3], [0, 4.5, 1]]
    n = fp.Tensor.zeros(device, 3, np.uint8)
    n[:2] = [7, 255]
    assert n.tolist() == [7, 255, 0]
    v = fp.Tensor.zeros(device, 2, "float3")
    v[1] = [1, 2, 3]
    v[0] = [4]
    assert v.tolist() == [[4, 4, 4], [1, 2, 3]]


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ([1.5, 2], fp.ArgumentError, "truncates floats"),
        ([256, 0], fp.RangeError, "out of range for uint8_t"),
        ([1, 2, 3], fp.ShapeError, r"do not fit those that are written(?s:.*)\(3,\)(?s:.*)\(2,\)"),
        (np.ones(3, np.uint8), fp.ShapeError, "give as many elements, or one for all"),
        ([[1], [2, 3]], fp.ShapeError, "ragged"),
        (np.ones(2), fp.UnsupportedArgumentError, "convert it with"),
    ],
)
def test_what_does_not_fit_is_an_error_and_writes_nothing(device: Any, values: Any, error: type[Exception], words: str) -> None:
    n = fp.Tensor.zeros(device, 3, np.uint8)
    with pytest.raises(error, match=words):
        n[:2] = values
    assert n.tolist() == [0, 0, 0]
