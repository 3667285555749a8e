"""Gradients in deterministic mode: exactly the sum of what threads add, rounded once, whatever their order."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from tests.support.selection import daily

SOURCE = """
import fusepy;
struct Line : IDifferentiable { float a; int id; float3 b; float c[2]; };
struct Mixed : IDifferentiable { double d; float a; half3 h; Line lines[2]; };
struct Large : IDifferentiable { float a[20]; };
[Differentiable] float of_float(Tensor<float, 1> t, int i, float y) { return t[i] * y; }
[Differentiable] float carried(DiffTensor<float, 1> t, int i, float y) { return t[i] * y; }
[Differentiable] double of_double(Tensor<double, 1> t, int i, double y) { return t[i] * y; }
[Differentiable] half of_half(Tensor<half, 1> t, int i, half y) { return t[i] * y; }
[Differentiable] float of_vector(Tensor<float3, 1> t, int i, float3 y) { return dot(t[i], y); }
[Differentiable] float of_square(Tensor<float, 2> t, int i, float y)
{ return t.transpose().slice(1).crop(int[1](1), int[1](2))[i] * y; }
[Differentiable] float of_matrix(Tensor<float2x3, 1> t, int i, float2x3 y)
{ float2x3 x = t[i]; return dot(x[0], y[0]) + dot(x[1], y[1]); }
[Differentiable] float of_array(Tensor<half[3], 1> t, int i, half y) { return float(t[i][2] * y); }
[Differentiable] double of_doubles(Tensor<double[2], 1> t, int i, double y) { return t[i][1] * y; }
[Differentiable] float of_mixed(Tensor<Mixed, 1> t, int i, float y)
{ Mixed x = t[i]; return float(x.d) * y + x.a * y + float(x.h.z) * 2 + x.lines[1].b.y * y; }
[Differentiable] float of_large(Tensor<Large, 1> t, int i, float y) { return t[i].a[19] * y; }
float behind(StructuredBuffer<float> b, float* q, int i, float y) { return b[i] * y + q[i] * y; }
float4 texel(Texture2D<float4> t, int2 p) { return t[p]; }
float sampled(Texture2D<float4> t, SamplerState s, float2 uv) { return t.SampleLevel(s, uv, 0).y; }
"""
F32 = np.float32
RNG = np.random.default_rng(0)
COUNT, ELEMENTS = 4000, 6
AT = RNG.integers(0, ELEMENTS - 1, COUNT).astype(np.int32)  # nothing reads the last element


def wild(shape: Any, dtype: Any, decades: int) -> Any:
    """Numbers of both signs and many sizes, whose sum in floats depends on the order."""
    return (RNG.standard_normal(shape) * 10.0 ** RNG.integers(-decades, decades, shape)).astype(dtype)


def exactly(at: Any, values: Any) -> Any:
    """The sums of the values of each element, rounded once."""
    sums = [Fraction(0)] * ELEMENTS
    for i, value in zip(at.tolist(), values.tolist()):
        sums[i] += Fraction(value)
    rounded = [float(s) for s in sums]
    return np.array(rounded, values.dtype)


@pytest.fixture(scope="module")
def m(device: fp.Device) -> fp.Module:
    return fp.Module.load_from_source(device, "scattered", SOURCE)


def gradient(function: Any, table: Any) -> Any:
    found = fp.grad(lambda t: fp.sum(function(t))).options(deterministic=True)(table)
    return found.to_numpy() if isinstance(found, fp.Tensor) else found


@pytest.mark.parametrize("name", daily(["of_float", "of_double", "carried"], "of_float", "carried"))
def test_a_gradient_is_the_exact_sum(m: fp.Module, name: str) -> None:
    dtype = np.float64 if name == "of_double" else F32
    y = wild(COUNT, dtype, 200 if name == "of_double" else 30)
    function = getattr(m, name)
    for table in (np.ones(ELEMENTS, dtype), fp.Tensor.from_numpy(m.device, np.ones(ELEMENTS, dtype))):
        given = fp.differentiable(table) if name == "carried" else table
        np.testing.assert_array_equal(gradient(lambda t: function(t, AT, y), given), exactly(AT, y))


@pytest.mark.parametrize("dtype", daily([F32, np.float64], "float32"))
def test_extremes(m: fp.Module, dtype: Any) -> None:
    least, most, inf = F32(1e-45), np.finfo(F32).max, np.inf
    cases = {
        (most, most, -most): most,  # the sum of the first two is not finite
        (most, most): inf,
        (1e30, least, -1e30): least,
        (1.0, 2.0**-24): 1.0,  # halfway: to even
        (1.0, 2.0**-24, least): F32(1) + F32(2) ** -23,
        (1.0 + 2.0**-23, 2.0**-24): 1 + 2.0**-22,
        (2.0, -(2.0**-24)): 2.0,
        (1e-40, 1e-41, -1e-40): 1e-41,
        (-most, -1e31): -most,
        (-most, -most): -inf,
        (1.0, -1.0): 0.0,
        (inf, 1.0): inf,
        (-inf, most): -inf,
        (inf, -inf): np.nan,
        (np.nan, 1.0): np.nan,
    }
    doubles = {(1e308, 1e308, -1e308): 1e308, (5e-324, 1e300, -1e300): 5e-324, (1.0, 2.0**-53): 1.0, (1e308, 1e308): inf}
    function, table = (m.of_float, cases) if dtype is F32 else (m.of_double, doubles)
    for values, want in table.items():
        at = np.zeros(len(values), np.int32)
        got = gradient(lambda t, at=at, v=values: function(t, at, np.array(v, dtype)), np.ones(2, dtype))
        np.testing.assert_array_equal(got, np.array([want, 0], dtype), str(values))


@pytest.mark.long
def test_vectors_matrices_halfs_and_views(m: fp.Module) -> None:
    y, halfs = wild((COUNT, 3), F32, 30), wild(COUNT, np.float16, 2)
    want = np.stack([exactly(AT, y[:, c]) for c in range(3)], 1)
    vectors = fp.Tensor.zeros(m.device, (ELEMENTS,), "float3")
    for table in (np.ones((ELEMENTS, 3), F32), vectors):
        np.testing.assert_array_equal(gradient(lambda t: m.of_vector(t, AT, y), table), want)
    computed = gradient(lambda t: m.of_vector(fp.vcast(t, "float3") * 2.0, AT, y), np.zeros((ELEMENTS, 3), F32))
    np.testing.assert_array_equal(computed, 2 * want)
    z = wild((COUNT, 2, 3), F32, 30)
    want = np.stack([[exactly(AT, z[:, r, c]) for c in range(3)] for r in range(2)]).transpose(2, 0, 1)
    np.testing.assert_array_equal(gradient(lambda t: m.of_matrix(t, AT, z), np.ones((ELEMENTS, 2, 3), F32)), want)
    np.testing.assert_array_equal(gradient(lambda t: m.of_half(t, AT, halfs), np.ones(ELEMENTS, np.float16)), exactly(AT, halfs))
    one = wild(COUNT, F32, 30)
    square = gradient(lambda t: m.of_square(t, AT % 2, one), np.ones((4, 3), F32))
    want = np.zeros((4, 3), F32)
    want[1:3, 1] = exactly(AT % 2, one)[:2]
    np.testing.assert_array_equal(square, want)


@pytest.mark.long
def test_arrays_and_structs(m: fp.Module) -> None:
    y = wild(COUNT, F32, 4)
    halfs, doubles = wild(COUNT, np.float16, 2), wild(COUNT, np.float64, 100)
    if m.device.sgl.info.type is not spy.DeviceType.cuda:  # it packs half[3] otherwise
        array = fp.Tensor.zeros(m.device, (ELEMENTS,), "half[3]")
        np.testing.assert_array_equal(gradient(lambda t: m.of_array(t, AT, halfs), array)[:, 2], exactly(AT, halfs))
    array = fp.Tensor.zeros(m.device, (ELEMENTS,), "double[2]")
    np.testing.assert_array_equal(gradient(lambda t: m.of_doubles(t, AT, doubles), array)[:, 1], exactly(AT, doubles))
    large = gradient(lambda t: m.of_large(t, AT, y), fp.Tensor.zeros(m.device, (ELEMENTS,), m.Large))["a"]
    np.testing.assert_array_equal(large[:, 19], exactly(AT, y))
    assert not large[:, :19].any()
    mixed = gradient(lambda t: m.of_mixed(t, AT, y), fp.Tensor.zeros(m.device, (ELEMENTS,), m.Mixed))
    np.testing.assert_array_equal(mixed["a"], exactly(AT, y))
    np.testing.assert_array_equal(mixed["d"], exactly(AT, y.astype(np.float64)))
    np.testing.assert_array_equal(mixed["h"][:, 2], 2 * np.bincount(AT, minlength=ELEMENTS))
    np.testing.assert_array_equal(mixed["lines"]["b"][:, 1, 1], exactly(AT, y))


def test_buffers_and_pointers(m: fp.Module) -> None:
    y = wild(COUNT, F32, 30)
    total = fp.grad(lambda b, q: fp.sum(m.behind(b, q, AT, y)), (0, 1)).options(deterministic=True)
    for found in total(np.ones(ELEMENTS, F32), np.ones(ELEMENTS, F32)):
        np.testing.assert_array_equal(found, exactly(AT, y))


@pytest.fixture
def image(m: fp.Module) -> Any:
    if m.device.target.kind == "cpu":
        pytest.skip("no textures there")
    usage = spy.TextureUsage.shader_resource
    return m.device.sgl.create_texture(format=spy.Format.rgba32_float, width=ELEMENTS, height=2, usage=usage)


def test_texels(m: fp.Module, image: Any) -> None:
    places, y4 = np.stack([AT, AT * 0 + 1], 1), wild((COUNT, 4), F32, 30)
    slope = gradient(lambda t: fp.dot(m.texel(t, places), fp.vcast(y4, "float4")), image)
    np.testing.assert_array_equal(slope[1], np.stack([exactly(AT, y4[:, c]) for c in range(4)], 1))
    assert not slope[0].any()


@pytest.mark.rest
def test_samples(m: fp.Module, image: Any) -> None:
    sgl, y = m.device.sgl, wild(COUNT, F32, 30)
    uv = RNG.random((COUNT, 2)).astype(F32)
    runs = [gradient(lambda t: y * m.sampled(t, sgl.create_sampler(), uv), image) for _ in range(2)]
    np.testing.assert_array_equal(*runs)
    close = fp.grad(lambda t: fp.sum(y * m.sampled(t, sgl.create_sampler(), uv)))(image).to_numpy()
    np.testing.assert_allclose(runs[0], close, rtol=1e-3, atol=1e-3 * np.abs(y).max())


def test_loops_branches_lazy_calls_graphs_and_bwds(m: fp.Module) -> None:
    y, table = wild(COUNT, F32, 30), np.ones(ELEMENTS, F32)
    want = exactly(AT, y)

    def looped(t: Any) -> Any:
        body = lambda k, c: c + fp.cond(k < 2, lambda: m.of_float(t, AT, y), lambda: m.of_float(t, 0, 0.0))  # noqa: E731
        return fp.fori_loop(0, 4, body, 0.0)

    np.testing.assert_array_equal(gradient(looped, table), exactly(np.tile(AT, 2), np.tile(y, 2)))

    @fp.fuse
    def step(t: Any) -> Any:
        return t - 1.0 * fp.grad(lambda t: fp.sum(m.of_float(t, AT, y)))(t) - m.of_float(t, 5, 0.0)

    np.testing.assert_array_equal(step.options(deterministic=True)(table), table - want)
    inner = fp.FusedFunction(lambda t: fp.grad(lambda t: fp.sum(m.of_float.options(deterministic=True)(t, AT, y)))(t))
    np.testing.assert_array_equal(inner(table), want)
    with fp.lazy():
        found = fp.grad(lambda t: fp.sum(m.of_float(t, AT, y))).options(deterministic=True)(table)
    np.testing.assert_array_equal(found, want)
    graph = fp.Graph(inputs=["t", "i", "y"])
    graph.set_outputs(m.of_float.node()(*graph.get_inputs()))
    for function in (m.of_float, graph, m.carried):
        own = fp.differentiable(table.copy())
        for times in (1, 2):
            function.bwds.options(deterministic=True)(own, AT, y)
            np.testing.assert_array_equal(own.grad.to_numpy(), want * F32(times))


def test_memory_and_the_option(m: fp.Module) -> None:
    table = fp.Tensor.from_numpy(m.device, np.ones(1 << 16, F32))
    at = fp.Tensor.from_numpy(m.device, AT)
    total = fp.grad(lambda t: fp.sum(m.of_float(t, at, 1.0))).options(deterministic=True)
    total(table)
    before = fp.stats(m.device).pool_live_bytes
    m.device.pool.reset_peak()
    total(table)
    assert fp.stats(m.device).pool_peak_bytes <= before + table.size * (44 + 2 * 4) + 4 * COUNT * 4
    assert "_add_exact" not in fp.grad(lambda t: fp.sum(m.of_float(t, at, 1.0))).source(table)
    for wrong in (1, "yes", None):
        with pytest.raises(fp.ArgumentError, match="deterministic is True or False"):
            m.of_float.options(deterministic=wrong)
