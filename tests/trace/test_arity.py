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


SQUARE = fp.fuse(lambda x: x * x)


def test_arguments_of_any_names_are_fused() -> None:
    f = fp.fuse(lambda x, **more: sum(more.values(), x))
    assert f(X).tolist() == X.tolist()
    assert f(X, a=Y, b=1.0).tolist() == (X + Y + 1).tolist()
    assert f(X, b=1.0, a=2 * Y).tolist() == (X + 2 * Y + 1).tolist()  # in another order
    both = fp.fuse(lambda *args, **named: args[0] * named["scale"])
    assert both(X, scale=2.0).tolist() == (2 * X).tolist()
    assert fp.grad(lambda **p: fp.sum(p["a"] * p["b"]), argnums="b")(a=X, b=Y).tolist() == X.tolist()
    assert fp.fuse(lambda p: fp.sum(p[0]) + fp.sum(p[1]))([X, X[:1]]) == X.sum() + X[0]  # arrays of unequal shapes


def test_strings_functions_and_none_are_static() -> None:
    f = fp.fuse(lambda x, kind, then, other=None: then(x if kind == "plain" else 2 * x) if other is None else other)
    assert f(X, "plain", SQUARE).tolist() == (X * X).tolist()
    assert f(X, "double", SQUARE).tolist() == (4 * X * X).tolist()
    assert f(X, "plain", SQUARE, Y).tolist() == Y.tolist()


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
