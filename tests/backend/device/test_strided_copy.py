"""Copies between strides: every size of elements, axes that run backwards, repeat, or lie behind one another."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import fusepy as fp

DTYPES = ["uint8_t", "half", "half3", "float", "float3", "double", "float4", "float3x3", "double4", "bool", "float[5]"]


def viewed(t: Any, cut: random.Random) -> Any:
    """A view of a tensor or an array: steps, reversed and reordered axes."""
    steps = tuple(slice(None, None, cut.choice([1, 1, 2, 3, -1, -2])) for _ in range(t.ndim if t.ndim < 6 else 4))
    return steps, cut.sample(range(len(steps)), len(steps))


@pytest.mark.parametrize("dtype", DTYPES)
def test_copies_are_what_numpy_has(device: Any, dtype: str) -> None:
    cut = random.Random(dtype)
    for shape in [(7,), (40, 3), (5, 4, 9), (3, 2, 4, 5), (2, 100, 33)]:
        whole = fp.Tensor.empty(device, shape, dtype)
        numbers = np.random.default_rng(0).integers(0, 2, whole.to_numpy().shape).astype(whole.element.dtype)
        whole.copy_from_numpy(numbers)
        for _ in range(3):
            steps, order = viewed(whole, cut)
            inner = range(len(shape), numbers.ndim)
            view, wanted = whole[steps].transpose(*order), numbers[steps].transpose(*order, *inner)
            np.testing.assert_array_equal(view.copy().to_numpy(), wanted)
            over = fp.Tensor.zeros(device, (*view.shape, 2), dtype)
            over[..., 1].copy_from(view)
            np.testing.assert_array_equal(over.to_numpy()[(slice(None),) * len(shape) + (1,)], wanted)
            assert not over[..., 0].to_numpy().any()
        stretched = whole[:1].broadcast_to(6, *shape[1:])
        np.testing.assert_array_equal(stretched.copy().to_numpy(), np.broadcast_to(numbers[:1], (6, *numbers.shape[1:])))


def test_large_copies_take_many_groups(device: Any) -> None:
    numbers = np.arange(3 * 400 * 1000, dtype=np.uint8).reshape(3, 400, 1000)
    whole = fp.Tensor.from_numpy(device, numbers)
    for view, wanted in [
        (whole[:, ::2, 1:], numbers[:, ::2, 1:]),
        (whole.T, numbers.T),
        (whole.reshape(-1)[::-3], numbers.ravel()[::-3]),
        (whole.reshape(-1, 4)[:, 1:], numbers.reshape(-1, 4)[:, 1:]),
    ]:
        np.testing.assert_array_equal(view.copy().to_numpy(), wanted)


def test_copies_need_memory_of_their_own_and_are_not_traced(device: Any) -> None:
    t = fp.Tensor.from_numpy(device, np.arange(8, dtype=np.float32))
    with pytest.raises(fp.ShapeError, match="overlaps"):
        t[1:].copy_from(t[:-1])
    t[::2].copy_from(t[1::2])
    t.copy_from(t)
    assert t.tolist() == [1, 1, 3, 3, 5, 5, 7, 7]
    function = fp.fuse(lambda x: x + t[::2].copy())
    with pytest.raises(fp.TraceError, match="a copy of a tensor that a fused function uses"):
        function(fp.Tensor.zeros(device, 4))


def test_recorded_calls_read_what_a_copy_overwrites_before_it_does(device: Any) -> None:
    t = fp.Tensor.from_numpy(device, np.arange(4, dtype=np.float32))
    with fp.lazy():
        twice = t + t
    t.copy_from(fp.Tensor.zeros(device, 4))
    assert twice.tolist() == [0, 2, 4, 6]


@pytest.mark.parametrize("dtype", ["uint8_t", "half", "float"])
def test_copies_from_and_to_places_of_other_alignments(device: Any, dtype: str) -> None:
    """One shape and one distance: a copy that is planned already moves words, which must not be longer than addresses allow."""
    numbers = np.random.default_rng(1).integers(0, 99, 96).astype(fp.Tensor.empty(device, (1,), dtype).element.dtype)
    source = fp.Tensor.from_numpy(device, numbers)
    for start in (0, 1, 2, 3, 4, 8, 16, 0, 1, 17):
        part = source[start : start + 64]
        assert part.copy().tolist() == numbers[start : start + 64].tolist()
        over = fp.Tensor.zeros(device, (96,), dtype)
        over[start : start + 64].copy_from(source[:64])
        assert over.tolist() == [*[0] * start, *numbers[:64].tolist(), *[0] * (32 - start)]
