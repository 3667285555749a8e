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
struct Ray : IDifferentiable { float3 o; float t; }
[Differentiable] float far(Ray r) { return dot(r.o, r.o) * r.t; }
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
    "one value as two arguments": (
        lambda m, x: sum(fp.grad(lambda p, q: fp.sum(p * p * q * x), (0, 1))(x, x)[k] * (k + 1) for k in (0, 1)),
        lambda x: 4 * x**3,
    ),
    "one value twice in a dict": (
        lambda m, x: grad(lambda p: p["a"] * x + p["b"][0] ** 2 * x)({"a": x, "b": [x]})["b"][0],
        lambda x: 2 * x * x,
    ),
    "one value as two arguments of a vjp": (
        lambda m, x: (lambda pulled: pulled[0] + 2 * pulled[1])(fp.vjp(lambda p, q: p * q * q, x, x)[1](x)),
        lambda x: 5 * x**3,
    ),
    "vectors as two arguments": (
        lambda m, x: (lambda y: grad(lambda p: m.size(p[0]) * m.size(p[1]) ** 2)([y, y])[0])(x * 2),
        lambda x: 4 * x * (4 * (x * x).sum(-1, keepdims=True)) ** 2,
    ),
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


def test_structs_from_outside_are_constants(m: Any) -> None:
    rays = np.zeros(4, m.Ray.dtype)
    rays["o"], rays["t"] = X, X[:, 0]
    far = (X * X).sum(-1) ** 2 * X[:, 0]
    for given in (rays, fp.Tensor.from_numpy(m.device, rays, m.Ray)):
        slopes = fp.fuse(lambda r: grad(lambda p: m.far(p) * m.far(r))(r))(given)
        np.testing.assert_allclose(np.asarray(slopes["t"]), far, rtol=1e-5)
        twice = fp.fuse(lambda r: grad(lambda p: grad(lambda q: m.far(q) * m.far(p))(p).t)(r))(given)
        np.testing.assert_allclose(np.asarray(twice["t"]), (X * X).sum(-1) ** 2, rtol=1e-5)
