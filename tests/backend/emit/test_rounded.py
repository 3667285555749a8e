"""Sums that lead to a value which is compared with its own extreme: no driver may contract them with products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("scalar", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3)], ids=["numbers", "vectors", "matrices"])
def test_such_sums_are_rounded_by_themselves(device: fp.Device, scalar: Any, shape: tuple[int, ...]) -> None:
    x, y = (RNG.random((5, 6, *shape)).astype(scalar) for _ in range(2))
    words = {2: "half", 4: "float", 8: "double"}[np.dtype(scalar).itemsize]
    type = {0: words, 1: f"{words}3", 2: f"{words}2x3"}[len(shape)]

    @fp.fuse
    def f(x: Any, y: Any) -> Any:
        x, y = fp.vcast(x, type), fp.vcast(y, type)
        made = x * y - y + x
        return made == fp.max(made, axis=-1, keepdims=True)

    made = (x * y - y) + x
    want = made == made.max(axis=1, keepdims=True)
    np.testing.assert_array_equal(np.asarray(f(x, y)), want)
    text = f.source(x, y)
    assert "fzround_sub(" in text
    assert "fzround_add(" in text


def test_the_gradient_of_a_maximum_asks_for_it(device: fp.Device) -> None:
    x = fp.asarray(RNG.random((4, 5), np.float32))
    loss = lambda x: fp.sum(fp.max(x * x - x, axis=-1))  # noqa: E731
    assert "fzround_sub(" in fp.grad(loss).source(x)
    assert "fzround_sub(" not in fp.fuse(lambda x: fp.max(x * x - x, axis=-1)).source(x)
