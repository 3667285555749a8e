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
        (2.5, fp.ArgumentError, "uint8_t holds no fraction"),
        (np.float64(2.5), fp.ArgumentError, "uint8_t holds no fraction"),
        (float("inf"), fp.RangeError, "inf is out of range for uint8_t"),
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


def test_numbers_are_those_of_the_elements_in_components_and_fields_too(device: Any) -> None:
    """Fractions were cut off without a word, and components wrapped."""
    module = fp.Module.load_from_source(device, "fractions", "struct Q { int id; bool on; float x; };")
    q, v, flags = fp.InstanceTensor(module.Q, 2), fp.Tensor.zeros(device, 2, "int2"), fp.Tensor.zeros(device, 2, bool)

    def one(target: Any, **values: Any) -> None:
        for name, value in values.items():
            setattr(target, name, value)

    for write in (
        lambda: one(q, id=2.5),
        lambda: one(q, on=0.5),
        lambda: one(v, x=0.5),
        lambda: v.assign(1.5),
        lambda: flags.assign(0.5),
    ):
        with pytest.raises(fp.ArgumentError, match="holds no fraction"):
            write()
    with pytest.raises(fp.RangeError, match="out of range for uint8_t"):
        fp.Tensor.full(device, 2, [300, 1], "vector<uint8_t, 2>")
    one(q, id=2.0, on=1, x=2.5)
    q.x += 3
    v[0] = 4.0
    assert (q.id.tolist(), q["on"].tolist(), q.x.tolist(), v.tolist()) == ([2, 2], [True, True], [5.5, 5.5], [[4, 4], [0, 0]])
