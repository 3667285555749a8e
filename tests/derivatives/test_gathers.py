"""Gradients of arrays that user code reads whole: calls add to them, at indices that collide, against differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.differences import differences

SOURCE = """
import fusepy;
[Differentiable] double at(Tensor<double, 1> t, int i, double y) { return t[i] * t.load(i) * y; }
[Differentiable] double pair(Tensor<double, 1> s, Tensor<double, 1> t, int i) { return s[i] * t[uint(i / 2)]; }
[Differentiable] double3 texel(Tensor<double3, 2> t, int2 at, double w) { return t[at] * w + t[0, 1]; }
[Differentiable] double bilinear(Tensor<double, 2> t, double2 uv)
{
    int2 p = int2(uv);
    double fx = uv.x - p.x, fy = uv.y - p.y;
    double upper = t[p.y, p.x] * (1.0lf - fx) + t[p.y, p.x + 1] * fx;
    return upper * (1.0lf - fy) + (t[p + int2(0, 1)] * (1.0lf - fx) + t[p + int2(1, 1)] * fx) * fy;
}
[Differentiable] double views(Tensor<double, 3> t, int i)
{
    Tensor<double, 2> back = t.slice(1).transpose();
    double sum = 0;
    [MaxIters(2)]
    for (int k = 0; k < 2; ++k)
        sum += back[i, k] * t.crop(int3(1, 0, 1), int3(2, 1, 1))[0, i, k];
    return sum;
}
[Differentiable] double through(DiffTensor<double, 1> t, int i) { return t[i] * t[i]; }
struct Pair : IDifferentiable { double a; double b; int n; };
extension Pair.Differential : IAtomicAddable
{
    static void atomicAdd(This* p, This v) { double.atomicAdd(&p.a, v.a); double.atomicAdd(&p.b, v.b); }
}
[Differentiable] double of(Tensor<Pair, 1> t, int i, double y) { Pair p = t[i]; return p.a * p.b * y * p.n; }
"""
RNG = np.random.default_rng(0)
AT = np.int32([0, 3, 3, 1, 3])
T, Y, IMAGE, CUBE = (RNG.random(s) + 0.2 for s in ((4,), (5,), (5, 4), (2, 3, 4)))
UV = RNG.random((6, 2)) * (2, 3)
TEXELS, WHERE = RNG.random((2, 3, 3)), np.int32([[1, 0], [2, 1], [1, 0], [1, 0]])


@pytest.fixture(scope="module")
def m(device: fp.Device) -> fp.Module:
    return fp.Module.load_from_source(device, "gathers", SOURCE)


Case = tuple[Callable[..., Any], tuple[Any, ...]]
CASES: dict[str, Callable[[Any], Case]] = {
    "one call": lambda m: (lambda t, y: m.at(t, AT, y), (T, Y)),
    "an array by two parameters": lambda m: (lambda t: m.pair(t, t, AT), (T,)),
    "two calls, and elementwise": lambda m: (
        lambda t, y: fp.sum(m.at(t, AT, y)) * t + fp.sum(m.pair(t, fp.sin(t), AT)) * t,
        (T, Y),
    ),
    "a computed array": lambda m: (lambda t, y: m.at(fp.sqrt(t * y), AT, fp.exp(y)), (T, np.array(0.7))),
    "vectors of trailing axes": lambda m: (lambda t, w: m.texel(t, WHERE, w), (TEXELS, RNG.random(4))),
    "vectors, elementwise too": lambda m: (
        lambda t: m.texel(t, WHERE, 0.5) * fp.sum(fp.sin(fp.vcast(t, "double3")).x),
        (TEXELS,),
    ),
    "two axes and coordinates": lambda m: (lambda t, uv: m.bilinear(t, uv), (IMAGE, UV)),
    "views": lambda m: (lambda t: m.views(t, np.int32([0, 0, 1])), (CUBE,)),
    "through": lambda m: (lambda t: m.through(t, AT) * 2.0, (T,)),
    "in a loop": lambda m: (lambda t, y: fp.fori_loop(0, 3, lambda k, c: c * m.at(t, k, y), 1.0 + 0 * y), (T, Y)),
    "in a branch": lambda m: (lambda t, y: fp.cond(y > 0.6, lambda: m.at(t, 1, y), lambda: m.at(t, 2, y * y)), (T, Y)),
}


@pytest.mark.req("B16")
@pytest.mark.parametrize("name", list(CASES))
def test_each_thread_adds_to_the_gradient_of_an_array(m: fp.Module, name: str) -> None:
    function, args = CASES[name](m)
    fused = fp.FusedFunction(function)
    values, pull = fp.vjp(function, *args)
    weights = np.cos(1.0 + np.arange(values.size)).reshape(values.shape)
    for got, expected in zip(pull(weights), differences(fused, args, weights)):
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-7)
