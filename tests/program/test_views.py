"""Views of arguments are made anew for other tensors, and live no longer than theirs."""

from __future__ import annotations

from typing import Any

import numpy as np

import fusepy as fp


def test_a_view_is_kept_for_one_tensor_and_goes_with_it(device: Any) -> None:
    f = fp.fuse(lambda x: x.T[1:] * 2)
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    for array in (a, -a, a.T.copy()):
        x = fp.Tensor.from_numpy(device, array)
        for _ in range(2):
            np.testing.assert_array_equal(f(x).to_numpy(), 2 * array.T[1:])
        x[...] = array + 1  # the same memory
        np.testing.assert_array_equal(f(x).to_numpy(), 2 * (array + 1).T[1:])
        np.testing.assert_array_equal(f(array), 2 * array.T[1:])
    big = fp.Tensor.zeros(device, (1 << 10, 1 << 10))
    f(big).to_numpy()
    before = fp.stats().pool_live_bytes
    del big
    assert fp.stats().pool_live_bytes <= before - (1 << 22)


def test_gradients_that_are_attached_later_are_seen(device: Any) -> None:
    x = fp.Tensor.from_numpy(device, np.ones((2, 3), np.float32))
    f = fp.fuse(lambda x: fp.sum(x.T * 3))
    assert float(f(x)) == float(f(x)) == 18
    x = x.with_grads(zero=True)
    f.bwds(x)
    np.testing.assert_array_equal(x.grad_out.to_numpy(), np.full((2, 3), 3, np.float32))
