"""Reverse mode over broadcasting, mappings, reductions, structs, loops and calls, against differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.differences import differences
from tests.support.selection import seldom

SOURCE = """
struct Ray : IDifferentiable { double3 o; double3 d; int id; };
[Differentiable] double along(Ray r, double s) { return dot(r.o, r.d) * s * r.id; }
[Differentiable] void two(double a, out double b, inout double c) { b = a * c; c = c + a * a; }
[Differentiable] double four(double w[4], double x) { return w[0] * w[1] * x + w[3] * x * x; }
[Differentiable] double3 curve(double3 c, double k) { return c * k / (1.0lf + c * k); }
double plain(double x) { return x * x; }
"""
RNG = np.random.default_rng(0)
X, ROW, COLUMN, LINE, LAST = (RNG.random(s) + 0.2 for s in ((3, 4), (1, 4), (3, 1), (4,), (4, 5)))


@pytest.fixture(scope="module")
def m(device: fp.Device) -> fp.Module:
    return fp.Module.load_from_source(device, "gradient_cases", SOURCE)


Case = tuple[Callable[..., Any], tuple[Any, ...]]
CASES: dict[str, Callable[[Any], Case]] = {
    "broadcast": lambda m: (lambda x, y, z, w: x * y * z + w * y, (X, COLUMN, ROW, LINE)),
    "one number": lambda m: (lambda x, k: fp.sum(x * k + k), (X, np.array(0.5))),
    "softmax": lambda m: (lambda x: fp.exp(x) / fp.sum(fp.exp(x), 1, keepdims=True) * x, (X,)),
    "standardised": lambda m: (lambda x: ((x - fp.mean(x, 0)) / fp.sqrt(fp.mean((x - fp.mean(x, 0)) ** 2, 0) + 0.1)) ** 3, (X,)),
    "extremes": lambda m: (lambda x: fp.max(x, 0) * fp.min(x), (X,)),
    "product": lambda m: (lambda x: fp.prod(x, 1), (X,)),
    "product with a zero": lambda m: (lambda x: fp.prod(x, 1), (np.where(X[1, 2] == X, 0, X),)),
    "scan": lambda m: (lambda x: fp.scan("sum", x, axis=1) * x, (X,)),
    "scan without itself": lambda m: (lambda x: fp.scan("sum", x, axis=0, exclusive=True) * x, (X,)),
    "transposed": lambda m: (lambda x, y: fp.vmap(x, (1, 0)) * fp.vmap(y, (1, 2)), (X.T, LAST)),
    "call": lambda m: (lambda c, k: m.curve(c, k), (RNG.random((4, 3)), np.array(0.7))),
    "call with out": lambda m: (lambda a, c: m.two(a, c)[0] * m.two(a, c)[1], (LINE, X)),
    "struct": lambda m: (lambda o, d, s: m.along({"o": o, "d": d, "id": 2}, s), (RNG.random((4, 3)), RNG.random((4, 3)), LINE)),
    "a vector for each row": lambda m: (
        lambda c, k: m.curve(c, 0.7) * fp.vcast(k, "double3"),
        (RNG.random((4, 2, 3)), RNG.random((4, 1, 3))),
    ),
    "array": lambda m: (lambda w, x: m.four(w, x), (LINE, X)),
    "loop": lambda m: (lambda x: fp.fori_loop(0, 5, lambda i, c: fp.sin(c * x) + c, 1.0 + 0 * x), (X,)),
    "bounded loop": lambda m: (
        lambda x: fp.while_loop(lambda c: c < 3.0, lambda c: c * (1.5 + 0.1 * x), 0.6 + 0.01 * x, max_steps=20),
        (X,),
    ),
    "nested loops": lambda m: (
        lambda x, y: fp.fori_loop(
            0,
            3,
            lambda i, c: (c[0] + fp.fori_loop(1, 4, lambda j, s: s * c[1] + y * j, c[0] * 0.1), fp.sin(c[1] + x * i)),
            (x, y),
        )[0],
        (X, LINE),
    ),
    "calls in a loop": lambda m: (
        lambda x, c: fp.fori_loop(0, 3, lambda i, s: m.curve(s, x) + s * 0.1, fp.vcast(c, "double3")),
        (LINE, RNG.random((4, 3))),
    ),
    "branch": lambda m: (lambda x: fp.cond(x > 0.5, lambda: x * x, lambda: fp.sin(x)), (X,)),
}


LONG = ["softmax", "standardised", "product", "scan without itself", "call", "a vector for each row"]
LONG += ["nested loops", "calls in a loop"]


@pytest.mark.parametrize("name", seldom(CASES, *LONG))
def test_a_gradient_agrees_with_differences(m: fp.Module, name: str) -> None:
    function, args = CASES[name](m)
    result = np.asarray(fp.FusedFunction(function)(*args))
    weights = np.cos(1.0 + np.arange(result.size)).reshape(result.shape)
    want = differences(fp.FusedFunction(function), [np.asarray(a) for a in args], weights)
    values, pull = fp.vjp(function, *args)
    np.testing.assert_array_equal(values, result)
    for mine, right in zip(pull(weights), want):
        assert np.shape(mine) == right.shape
        np.testing.assert_allclose(mine, right, rtol=1e-6, atol=1e-8)


def test_an_axis_of_extent_1_gets_a_program_of_its_own(m: fp.Module) -> None:
    gradient = fp.grad(lambda x, y: fp.sum(x * y), 1)
    for shape in ((3, 4), (1, 4), (3, 1), (1, 1), (3, 4)):
        y = np.ones(shape)
        want = X.sum(axis=tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True)
        np.testing.assert_allclose(gradient(X, y), want)


def test_halfs_of_more_elements_than_a_half_can_count(device: fp.Device) -> None:
    x = np.full(100_000, 2, np.float16)
    np.testing.assert_allclose(fp.grad(lambda x: fp.mean(x * x))(x)[:2], 4e-5, rtol=1e-2)
    np.testing.assert_allclose(fp.grad(lambda k, x: fp.mean(k * k * x))(np.float16(1), x), 4, rtol=1e-2)


def test_a_function_without_derivative_is_named(m: fp.Module) -> None:
    with pytest.raises(fp.GradientError, match="cannot differentiate plain"):
        fp.grad(m.plain)(X)


def test_integers_beside_floats_do_not_wrap() -> None:
    x, s = np.array([0.5, 2.0]), np.array([2, 7], np.uint8)
    assert fp.grad(lambda x, s: fp.lerp(x, s, s))(x, s).tolist() == [-1, -6]
    assert fp.jvp(lambda x, s: fp.lerp(x, s, s), (x, s), (np.ones(2), None)).d.tolist() == [-1, -6]
