"""Derivatives of gradients: through Slang calls, loops and branches, against differences of the gradient."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.pytree import flatten
from tests.support.selection import daily

SOURCE = """
import fusepy;
struct Light : IDifferentiable { float power; float3 at; };
struct Scene : IDifferentiable { float k; Light light; int n; };
[Differentiable] float wave(float x, float y) { return x * x * x * y + sin(x * y); }
[Differentiable] float lit(Scene s) { return s.k * s.k * dot(s.light.at, s.light.at) * s.light.power * s.n; }
[Differentiable] Light moved(Light l) { Light r; r.power = l.power * l.power; r.at = l.at * l.power * l.at; return r; }
[Differentiable] float3 turned(float3x3 m, float3 v) { return mul(m, v) * v; }
[Differentiable] float item(float x[4], int i) { return x[i]; }
[Differentiable] float product(float x[4]) { float s = 1; [MaxIters(4)] for (int i = 0; i < 4; ++i) s *= item(x, i); return s; }
[Differentiable] float fixed(float x, no_diff float y) { return x * x * x * y; }
[ForwardDerivative(own_forward)] [BackwardDerivative(own_back)] double own(double x) { return x * x * x; }
[Differentiable] void own_back(inout DifferentialPair<double> x, double g) { x = diffPair(x.p, 3 * x.p * x.p * g); }
[Differentiable] DifferentialPair<double> own_forward(DifferentialPair<double> x)
{
    return diffPair(x.p * x.p * x.p, 3 * x.p * x.p * x.d);
}
[Differentiable] float fourth(float x) { return x * x * x * x; }
[Differentiable] float weighted(Tensor<float, 1> t, int i, float x) { return t[i] * x * x * x; }
[Differentiable] void cubed(float x, out float y) { y = x * x * x; }
[Differentiable] float3 raised(float3 x) { return pow(x, 1.5); }
"""
F32 = np.float32
RNG = np.random.default_rng(0)


def drawn(*shape: int) -> Any:
    return (RNG.random(shape) * 0.8 + 0.4).astype(F32)


@pytest.fixture(scope="module")
def m(device: fp.Device) -> fp.Module:
    return fp.Module.load_from_source(device, "second_order", SOURCE)


def squared(y: Any) -> Any:
    return fp.sum(y * y)


# programs of floats, which give one number
def of_calls(m: fp.Module) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return lambda x, y: squared(m.wave(x, y)) + squared(m.fixed(x, 2.0)), (drawn(3), drawn(1)[0])


def of_more_calls(m: fp.Module) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def total(x: Any, matrix: Any, v: Any, four: Any) -> Any:
        own = fp.astype(m.own(fp.astype(x, np.float64)), F32)
        read = m.weighted(F32([1, 2, 3]), [0, 1, 1], x)
        return sum(map(squared, (m.product(four), own, read))) + fp.sum(m.turned(matrix, v).y)

    return total, (drawn(3), drawn(3, 3, 3), drawn(3, 3), drawn(3, 4))


def of_structs(m: fp.Module) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def total(k: Any, light: Any) -> Any:
        return squared(m.lit({"k": k, "light": m.moved(light), "n": np.int32([2, 3])}))

    return total, (drawn(2), {"power": drawn(2), "at": drawn(2, 3)})


def of_bodies(m: fp.Module) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def total(x: Any, y: Any) -> Any:
        counted = fp.fori_loop(0, 3, lambda i, c: m.wave(c, y) * 0.5, x)
        until = fp.while_loop(lambda c: c < 4, lambda c: c + m.wave(c, y), x, max_steps=20)
        chosen = fp.cond(x > 0.7, lambda x, y: m.wave(x, y), lambda x, y: x * m.wave(y, x), x, y)
        return squared(counted) + 0.1 * squared(until) + squared(chosen)

    return total, (F32([0.5, 0.6, 1.1, 0.9]), F32([0.9, 1.1, 0.7, 0.8]))


def leaves(tree: Any) -> list[Any]:
    return [v.to_numpy() if isinstance(v, fp.Tensor) else np.asarray(v) for v in flatten(tree)[0]]


@pytest.mark.req("B5")
@pytest.mark.parametrize("program", daily([of_calls, of_bodies, of_more_calls, of_structs], "of_bodies"))
def test_products_with_the_second_derivative(m: fp.Module, program: Any) -> None:
    """Backwards and forwards over the gradient, and backwards over a tangent."""
    total, args = program(m)
    places = tuple(range(len(args)))
    gradient = fp.grad(total, places)
    values, structure = flatten(args)
    along = structure.fill([RNG.standard_normal(np.shape(v)).astype(F32) for v in values])

    def at(step: float) -> Any:
        return leaves(gradient(*structure.fill([v + F32(step) * d for v, d in zip(values, flatten(along)[0])])))

    def weighted(*args: Any) -> Any:
        return sum(fp.sum(g * d) for g, d in zip(flatten(gradient(*args))[0], flatten(along)[0]))

    step = 2e-3
    want = np.concatenate([((a - b) / (2 * step)).ravel() for a, b in zip(at(step), at(-step))])
    found = [fp.grad(weighted, places)(*args)]
    if program is not of_structs:
        found += [fp.jvp(gradient, args, along).d, fp.grad(lambda *x: fp.jvp(total, x, along).d, places)(*args)]
    for tree in found:
        got = np.concatenate([v.ravel() for v in leaves(tree)])
        np.testing.assert_allclose(got, want, atol=4e-3 * np.abs(want).max())


def powers_of_components(m: fp.Module) -> Any:
    return lambda x: m.raised(m.float3(x, x, x)).x  # of which Slang dies


def a_result_that_is_written(m: fp.Module) -> Any:
    return lambda x: m.cubed(x)  # which Slang refuses


@pytest.mark.parametrize("function", daily([powers_of_components, a_result_that_is_written], "powers_of_components"))
def test_what_slang_cannot_do_twice_is_an_error_and_ends_nothing(m: fp.Module, function: Any) -> None:
    f = function(m)
    for derivative in (fp.grad(fp.grad(f)), lambda x: fp.jvp(fp.grad(f), (x,), (x,))):
        with pytest.raises(fp.GradientError, match=r"cannot be differentiated again[^~]*pow of components"):
            derivative(F32([1, 2]))


def test_the_second_derivative_of_a_read_is_an_error_that_names_what_to_write(m: fp.Module) -> None:
    with pytest.raises(fp.GradientError, match=r"f\(array\[i\], x\)"):
        fp.grad(lambda t: fp.sum(fp.grad(m.weighted, 2)(t, [0, 1], F32([1, 2]))))(F32([1, 2, 3]))


@pytest.mark.rest
def test_third_derivatives(m: fp.Module) -> None:
    with pytest.raises(fp.GradientError, match="cannot be differentiated again"):
        fp.grad(fp.grad(fp.grad(m.wave)))(F32([1]), 1.0)
    once = lambda f: lambda x: fp.jvp(f, (x,), (F32([1, 1]),)).d  # noqa: E731
    np.testing.assert_allclose(once(once(once(m.fourth)))(F32([1, 2])), [24, 48], rtol=1e-4)


def test_derivatives_by_numbers_of_python_and_by_what_is_outside_of_a_loop(m: fp.Module) -> None:
    x, one = F32([1, 2, 3]), F32([1, 1, 1])
    slope = 3 * 4 + np.cos(2)  # of wave by x at (2, 1)

    def products(two: Any, x: Any) -> Any:
        looped = fp.fori_loop(0, 2, lambda i, c: c * fp.grad(m.wave)(two, 1.0), x)
        pulled = fp.vjp(m.wave, two, 1.0)[1](1.0)[0]
        return x * fp.grad(m.wave)(two, 1.0), x * fp.jvp(m.wave, (two, 1.0), (1.0, None)).d, x * pulled, looped / slope

    for two in (2.0, F32(2)):
        for got in fp.fuse(partial(products, two))(x):
            np.testing.assert_allclose(got, slope * x, rtol=1e-5)
    np.testing.assert_allclose(fp.fuse(lambda x: x * fp.grad(m.wave)([2.0, 2.0, 2.0], one))(x), slope * x, rtol=1e-5)
    outside = fp.fuse(lambda x: fp.fori_loop(0, 2, lambda i, c: c + fp.grad(lambda u: u * u)(x), 0.0))
    assert outside(x).tolist() == [4, 8, 12]


def test_numbers_of_the_program_beside_what_is_differentiated_twice(m: fp.Module) -> None:
    x = F32([1, 2, 3])
    want = 12 * x - 4 * np.sin(2 * x)  # of wave(x, 2) by x, twice

    def by_x(x: Any) -> Any:
        return fp.sum(m.wave(x, 2.0))

    np.testing.assert_allclose(fp.grad(lambda x: fp.sum(fp.grad(by_x)(x)))(x), want, rtol=1e-5)
    np.testing.assert_allclose(fp.jvp(fp.grad(by_x), (x,), (x,)).d, want * x, rtol=1e-5)
    np.testing.assert_allclose(
        fp.grad(lambda x: fp.sum(fp.jvp(lambda x: m.wave(x, 2), (x,), (F32([1, 1, 1]),)).d))(x), want, rtol=1e-5
    )
