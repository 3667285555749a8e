"""Tensors of one integer where Python wants an integer."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.slang_functions import ramp, same


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64"])
def test_an_integer_without_axes_is_an_index(device: Any, dtype: str) -> None:
    two = fp.Tensor.from_numpy(device, np.array([2, 5], dtype))[0]
    assert (list(range(two)), "abc"[two], [1, 2, 3][:two], hex(two)) == ([0, 1], "c", [1, 2], "0x2")
    assert (np.zeros(two).shape, np.arange(5)[two], fp.zeros(two).shape, fp.zeros((two, 3)).shape) == ((2,), 2, (2,), (2, 3))
    x = fp.Tensor.from_numpy(device, ramp(3, 4))
    same(x[:, :two].numpy(), ramp(3, 4)[:, :2])
    same(x[two].numpy(), ramp(3, 4)[2])


def test_an_integer_that_is_not_computed_yet() -> None:
    with fp.lazy():
        three = fp.sum(fp.Tensor([1, 2], dtype=int))
        assert list(range(three)) == [0, 1, 2]


@pytest.mark.parametrize("value", [fp.Tensor([1.5])[0], fp.Tensor([2], dtype=int), fp.Tensor([1.0])[0] > 0])
def test_others_are_no_integers(value: Any) -> None:
    for use in (range, operator.index, [1, 2, 3].__getitem__):
        with pytest.raises(fp.UnsupportedArgumentError, match=r"no integer[\s\S]*write int\(t\)") as caught:
            use(value)
        assert isinstance(caught.value, TypeError)


def test_an_integer_of_a_traced_function_is_not_read(device: Any) -> None:
    two = fp.Tensor.from_numpy(device, np.int32([2]))[0]
    with pytest.raises(fp.TraceError, match="the integer of a tensor"):
        fp.fuse(lambda x: [x for _ in range(two)])(ramp(3))


@pytest.mark.parametrize("index", [slice(None, None, 0), slice(0, 1.5), (slice(None), slice("a", None))])
def test_slices_that_are_none(index: Any) -> None:
    for read in (lambda t: t[index], fp.fuse(lambda t: t[index])):
        with pytest.raises(fp.ShapeError, match="the bounds of a slice"):
            read(fp.Tensor([1, 2, 3], [4, 5, 6]))
