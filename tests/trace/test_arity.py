"""Functions with *args: fused, differentiated by position, and both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp

X, Y = np.float32([1, 2]), np.float32([3, 5])


def product(first: Any, *others: Any, scale: float = 1.0) -> Any:
    total = first * scale
    for other in others:
        total = total * other
    return fp.sum(total)


def test_any_number_of_arguments_is_fused() -> None:
    f = fp.fuse(product)
    assert [float(f(X)), float(f(X, Y)), float(f(X, Y, 2.0)), float(f(X, Y, scale=3.0)), float(f(X))] == [3, 13, 26, 39, 3]
    with pytest.raises(fp.ArgumentError, match="first"):
        f()
    with pytest.raises(fp.ArgumentError, match=r"takes \*\*kwargs"):
        fp.fuse(lambda x, **options: x)(X, a=1)


def test_gradients_are_by_position() -> None:
    assert fp.grad(product, 1)(X, Y).tolist() == [1, 2]
    first, last = fp.grad(product, (0, 2))(X, Y, X)
    assert (first.tolist(), last.tolist()) == ([3, 10], [3, 10])
    value, slope = fp.value_and_grad(lambda *xs: fp.sum(xs[0] * xs[1]))(X, Y)
    assert (float(value), slope.tolist()) == (13, [3, 5])
    assert [g.tolist() for g in fp.vjp(product, X, Y)[1](1.0)] == [[3, 5], [1, 2]]
    assert float(fp.jvp(product, (X, Y), (X, None)).d) == 13
    with pytest.raises(fp.ArgumentError, match="no parameter 3"):
        fp.grad(product, 3)(X, Y)
