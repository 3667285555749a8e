"""Gradients of arrays that user code reads whole: calls add to them, at indices that collide, against differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.differences import differences
from tests.support.selection import seldom

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


LONG = ["two calls, and elementwise", "a computed array", "vectors, elementwise too", "in a branch"]


@pytest.mark.req("B16")
@pytest.mark.parametrize("name", seldom(CASES, *LONG))
def test_each_thread_adds_to_the_gradient_of_an_array(m: fp.Module, name: str) -> None:
    function, args = CASES[name](m)
    fused = fp.FusedFunction(function)
    values, pull = fp.vjp(function, *args)
    weights = np.cos(1.0 + np.arange(values.size)).reshape(values.shape)
    for got, expected in zip(pull(weights), differences(fused, args, weights)):
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-7)


CONSTANT = """
import fusepy;
float helper(Tensor<float, 1> t, int i) { return t[i]; }
uint extent(Tensor<float, 1> t) { return t.shape[0]; }
[Differentiable] float by_helper(Tensor<float, 1> t, int i) { return helper(t, i) * 2; }
[Differentiable] float by_interface(ITensor<float, 1> t, int i) { return t[i]; }
[Differentiable] float stopped(Tensor<float, 1> t, int i) { return t[i % extent(t)] * detach(t[i]); }
[Differentiable] float of_image(Tensor<float, 2> t, int i) { return t[i, i]; }
[Differentiable] float squared(Tensor<float, 1> t, int i) { return t[i] * t[i]; }
[Differentiable] float carried(DiffTensor<float, 1> t, int i) { return t[i] * t[i]; }
void put(int i, float x, RWTensor<float, 1> log) { log[i] = x; }
[Differentiable] half halves(Tensor<half, 1> t, int i) { return t[i] * t[i]; }
"""


@pytest.fixture(scope="module")
def constant(device: fp.Device) -> fp.Module:
    return fp.Module.load_from_source(device, "constant_gathers", CONSTANT)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("by_helper", "'helper' reads a Tensor and is not"),
        ("by_interface", "'by_interface' takes an ITensor"),
    ],
)
def test_reads_that_slang_takes_as_constants_are_refused(constant: fp.Module, name: str, words: str) -> None:
    table = np.ones(4, np.float32)
    with pytest.raises(fp.GradientError, match=words):
        fp.grad(lambda t: fp.sum(getattr(constant, name)(t, AT)))(table)


def test_elements_of_half_and_reads_that_are_detached(constant: fp.Module) -> None:
    table = np.float32([1, 2, 3, 4])
    assert fp.grad(lambda t: fp.sum(constant.stopped(t, AT)))(table).tolist() == [1, 2, 0, 12]
    halves = fp.grad(lambda t: fp.sum(constant.halves(t, AT)))(table.astype(np.float16))
    assert (halves.dtype, halves.tolist()) == (np.float16, [2, 4, 0, 24])


@pytest.mark.req("B16")
def test_a_gather_takes_the_memory_of_its_gradient(constant: fp.Module) -> None:
    image = fp.Tensor.from_numpy(constant.device, np.ones((1024, 1024), np.float32))
    places = fp.Tensor.from_numpy(constant.device, np.arange(65536, dtype=np.int32) % 1000)
    gradient = fp.grad(lambda t: fp.mean(constant.of_image(t, places)))
    gradient(image)
    before = fp.stats(constant.device).pool_live_bytes
    constant.device.pool.reset_peak()
    found = gradient(image)
    assert fp.stats(constant.device).pool_peak_bytes <= before + 3 * image.size * 4  # at most two gradients live, and 64k numbers
    assert float(found.to_numpy().sum()) == pytest.approx(1.0)


def test_destinations_lists_wide_numbers_and_lazy_calls(constant: fp.Module) -> None:
    table, want = np.float32([1, 2, 3, 4]), [2, 4, 0, 24]
    gradient = fp.grad(lambda t: fp.sum(constant.squared(t, AT)))
    given = fp.Tensor.from_numpy(constant.device, table)
    for target in (fp.Tensor.from_numpy(constant.device, 7 * table), given):  # at last over the argument itself
        gradient(given, _result=target)
        assert target.to_numpy().tolist() == want
    assert gradient([1.0, 2.0, 3.0, 4.0]) == want
    with pytest.warns(fp.PrecisionWarning):
        assert gradient(table.astype(np.float64)).tolist() == want
    with fp.lazy():
        again = fp.Tensor.from_numpy(constant.device, table)
        a, b = gradient(again), gradient(again)
    assert a.to_numpy().tolist() == b.to_numpy().tolist() == want

    @fp.fuse
    def step(t: Any) -> Any:
        return t - 0.5 * fp.grad(lambda t: fp.sum(constant.squared(t, AT)))(t), fp.grad(
            lambda t: fp.sum(constant.squared(t, AT))
        )(t)

    moved, slope = step(table)
    assert (moved.tolist(), slope.tolist()) == ([0, 0, 3, -8], want)


def test_arrays_with_gradients_get_them_by_bwds(constant: fp.Module) -> None:
    for function in (constant.squared, constant.carried):
        table = fp.differentiable(fp.Tensor.from_numpy(constant.device, np.float32([1, 2, 3, 4])))
        function.bwds(table, AT)
        assert table.grad.to_numpy().tolist() == [2, 4, 0, 24]


def test_a_gradient_through_what_a_call_writes_is_refused(constant: fp.Module) -> None:
    log = fp.Tensor.from_numpy(constant.device, np.zeros(4, np.float32))
    x = np.float32([1, 2, 3, 4])

    def written(x: Any) -> Any:
        constant.put(fp.grid((4,)), x, log)
        return fp.sum(log * 2.0)

    def twice(t: Any, y: Any) -> Any:
        return fp.sum(fp.grad(lambda t: fp.sum(constant.squared(t, AT) * y))(t))

    y = np.float32([2])
    slope = lambda y: fp.grad(lambda t: fp.sum(constant.squared(t, AT) * y))(x)  # noqa: E731
    for call in (lambda: fp.grad(written)(x), lambda: fp.jvp(written, (x,), (x,))):
        with pytest.raises(fp.GradientError, match="on which the result depends, and such a write has no gradient"):
            call()
    for call in (lambda: fp.grad(twice, 1)(x, y), lambda: fp.jvp(slope, (y,), (y,))):
        with pytest.raises(fp.GradientError, match="adds to the gradient of an array that is read whole"):
            call()
