"""Values by which a function is differentiated, and which it takes from outside too: constants there, as call by call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily

SOURCE = """
import fusepy;
[Differentiable] float size(float3 p) { return dot(p, p); }
[Differentiable] float square(float p) { return p * p; }
[Differentiable] float twice(Tensor<float, 1> t, int i) { return 2 * t[i]; }
"""
X = np.random.default_rng(3).random((4, 3), np.float32) + np.float32(0.5)
COLUMN = np.arange(4, dtype=np.int32)


class Held:
    def __init__(self, w: Any):
        self.w = w

    def loss(self, p: Any) -> Any:
        return fp.sum(p * self.w)


def grad(loss: Callable[..., Any]) -> Callable[..., Any]:
    return fp.grad(lambda *args: fp.sum(loss(*args)))


# programs of an array, and what they are
PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "an argument": (lambda m, x: grad(lambda p: p * x)(x), lambda x: x),
    "a computed value": (lambda m, x: (lambda y: grad(lambda p: p * p * y)(y))(x + 1), lambda x: 2 * (x + 1) ** 2),
    "a method": (lambda m, x: fp.grad(Held(x).loss)(x), lambda x: x),
    "vectors": (lambda m, x: grad(lambda p: m.size(p) * m.size(x))(x), lambda x: 2 * x * (x * x).sum(-1, keepdims=True)),
    "calls of numbers": (lambda m, x: grad(lambda p: m.square(p) * m.square(x))(x), lambda x: 2 * x**3),
    "a view": (lambda m, x: grad(lambda p: p[::-1] * x)(x), lambda x: x[::-1]),
    "a moved constant": (lambda m, x: grad(lambda p: p * fp.sqrt(x)[::-1])(x), lambda x: np.sqrt(x)[::-1]),
    "a whole array": (
        lambda m, x: grad(lambda p: m.twice(p, COLUMN) * m.twice(x[:, 0], COLUMN))(x[:, 0]),
        lambda x: 4 * x[:, 0],
    ),
    "a vjp": (lambda m, x: fp.vjp(lambda p: p * x, x)[1](x)[0], lambda x: x * x),
    "a jvp": (lambda m, x: fp.jvp(lambda p: p * x, (x,), (x,)).d, lambda x: x * x),
    "the inner of two functions": (lambda m, x: grad(lambda p: grad(lambda q: q * q * p)(p))(x), lambda x: 4 * x),
    "both functions": (lambda m, x: grad(lambda p: grad(lambda q: q * q * x)(p))(x), lambda x: 2 * x),
    "one after the other": (lambda m, x: grad(lambda p: p * x)(x) + grad(lambda p: p * p)(x), lambda x: 3 * x),
    "an array of NumPy": (lambda m, x: grad(lambda p: p * X * 2)(X) + 0 * x, lambda x: 2 * X),
    "two arguments": (lambda m, x: grad(lambda p, q: p * q * x)(x, x), lambda x: x * x),
    "the body of a loop": (
        lambda m, x: fp.fori_loop(0, 2, lambda i, c: grad(lambda p: p * c)(c) + c, x),
        lambda x: 4 * x,
    ),
}


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "outside", SOURCE)


@pytest.mark.req("V1")
@pytest.mark.parametrize("name", daily(PROGRAMS, "an argument", "the inner of two functions", "vectors"))
def test_what_a_function_takes_from_outside_is_a_constant_of_its_derivative(m: Any, name: str) -> None:
    program, want = PROGRAMS[name]
    for x in (X, fp.Tensor.from_numpy(m.device, X)):
        for way in (fp.fuse(lambda x: program(m, x)), lambda x: program(m, x)):
            np.testing.assert_allclose(np.asarray(way(x)), want(X), rtol=1e-5)
