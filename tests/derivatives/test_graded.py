"""Gradients of textures, samplers' coordinates, buffers and pointers that user code reads, against differences."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from tests.support.sampling import Sampling
from tests.support.selection import daily

SOURCE = """
import fusepy;
float4 sampled(Texture2D<float4> t, SamplerState s, float2 uv, float level) { return t.SampleLevel(s, uv, level); }
float single(Texture2D<float> t, SamplerState s, float2 uv) { return t.SampleLevel(s, uv, 0); }
float line(Texture1D<float> t, SamplerState s, float u) { return t.SampleLevel(s, u, 0); }
float2 volume(Texture3D<float2> t, SamplerState s, float3 uvw) { return t.SampleLevel(s, uvw, 0); }
float3 first_of(Texture2D<float3> t, int2 p) { return t[p]; }
float loads(Texture2D<float4> t, int2 p) { return first_of_four(t, p) * t.Load(int3(p, 0)).x; }
float first_of_four(Texture2D<float4> t, int2 p) { uint w, h; t.GetDimensions(w, h); return t[min(p, int2(w, h))].y; }
float behind(StructuredBuffer<float> b, float* q, int i) { return b[i] * q[i] * q[0]; }
float vectors(StructuredBuffer<float3> b, int i) { return b[i].x * b[i + 1].z; }
float gathers(Texture2D<float4> t, SamplerState s, float2 uv) { return t.Gather(s, uv).x; }
[Differentiable] float constant(Texture2D<float4> t, float x) { return x * t[uint2(1, 2)].x; }
float doubled(StructuredBuffer<double> b, int i) { return float(b[i]); }
float whole_bytes(RWStructuredBuffer<float> b, int i) { return b[i]; }
"""
F32 = np.float32
RNG = np.random.default_rng(0)
UV = RNG.random((7, 2), F32)
USAGE = spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access
A = spy.TextureAddressingMode
FILTERS = spy.TextureFilteringMode


@pytest.fixture(scope="module")
def m(device: fp.Device) -> fp.Module:
    if device.target.kind == "cpu":
        pytest.skip("no textures there")
    return fp.Module.load_from_source(device, "graded", SOURCE)


def without_cuda(m: fp.Module, what: str) -> None:
    if m.device.sgl.info.type is spy.DeviceType.cuda:
        pytest.skip(f"textures on CUDA lack {what}")


def texture(m: fp.Module, array: Any) -> Any:
    channels = array.shape[-1]
    names = {1: "r32_float", 2: "rg32_float", 4: "rgba32_float"}
    extents = dict(zip(("width", "height", "depth"), reversed(array.shape[:-1])))
    type = [spy.TextureType.texture_1d, spy.TextureType.texture_2d, spy.TextureType.texture_3d][len(extents) - 1]
    data = np.ascontiguousarray(array)
    return m.device.sgl.create_texture(type=type, format=spy.Format[names[channels]], usage=USAGE, data=data, **extents)


def check(m: fp.Module, function: Any, image: Any, uv: Any, like: Sampling, level: float = 0.0) -> None:
    """Compares the gradients of a sum with those of a sampler in float64; devices filter with 8 bits, gradients do not."""
    channels = image.shape[-1]
    places = uv.reshape(len(uv), -1)
    factors = RNG.uniform(0.5, 1.5, (len(uv), channels)).astype(F32)

    def total(t: Any, uv: Any) -> Any:
        made = function(t, uv)
        return fp.sum(made * factors[:, 0].copy() if channels == 1 else fp.dot(made, fp.vcast(factors, f"float{channels}")))

    def wanted(texels: Any, at: Any) -> Any:
        return (like.read([texels], at, np.full(len(at), level)) * factors).sum(1)

    slope, moved = (np.asarray(found) for found in fp.grad(total, (0, 1))(texture(m, image), uv))
    slope, wide, step = slope.reshape(image.shape), image.astype(float), 1e-6
    for at in np.ndindex(image.shape):
        more = wide.copy()
        more[at] += 1  # a sum of texels with weights: no step is too large
        assert slope[at] == pytest.approx((wanted(more, places) - wanted(wide, places)).sum(), abs=1e-5), at
    for axis, found in enumerate(moved.reshape(places.shape).T):
        side = step * np.eye(places.shape[1])[axis]
        want = (wanted(wide, places + side) - wanted(wide, places - side)) / (2 * step)
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)


# by texels of 8 x 4: away from where two texels meet; colliding, inside and outside
UV = F32([[0.28, 0.28], [0.28, 0.28], [0.72, 0.55], [-0.36, 1.45], [1.28, -0.20], [2.34, 0.05]])


@pytest.mark.req("B16")
@pytest.mark.parametrize("linear", [0, 1])
@pytest.mark.parametrize("mode", daily(["wrap", "clamp_to_edge", "clamp_to_border", "mirror_repeat"], "clamp_to_border"))
def test_samples_have_gradients_in_texels_and_coordinates(m: fp.Module, mode: str, linear: int) -> None:
    filter = FILTERS.linear if linear else FILTERS.point
    sampler = m.device.sgl.create_sampler(min_filter=filter, mag_filter=filter, address_u=A[mode], address_v=A[mode])
    image = RNG.random((4, 8, 4)).astype(F32)
    like = Sampling((mode, mode), (bool(linear),) * 3)
    check(m, lambda t, uv: m.sampled(t, sampler, uv, 0.0), image, UV, like)


@pytest.mark.rest  # with levels, and so daily, in test_mips
def test_minifying_and_magnifying_filters(m: fp.Module) -> None:
    without_cuda(m, "filters that differ")
    sampler = m.device.sgl.create_sampler(min_filter=FILTERS.point, mag_filter=FILTERS.linear)
    image = RNG.random((4, 8, 4)).astype(F32)
    for level in (0.0, 2.0):
        sampled = functools.partial(lambda level, t, uv: m.sampled(t, sampler, uv, level), level)
        check(m, sampled, image, UV, Sampling(("wrap", "wrap"), (True, False, True)), level)


@pytest.mark.rest  # with levels, and so daily, in test_mips
def test_lines_and_volumes(m: fp.Module) -> None:
    without_cuda(m, "textures of one dimension")
    sampler = m.device.sgl.create_sampler(address_u=A.clamp_to_edge)
    like = Sampling(("clamp_to_edge", "wrap", "wrap"))
    check(m, lambda t, u: m.line(t, sampler, u), RNG.random((8, 1)).astype(F32), UV[:, 0].copy(), like)
    places = np.concatenate([UV, UV[:, :1]], 1)
    check(m, lambda t, u: m.volume(t, sampler, u), RNG.random((4, 2, 8, 2)).astype(F32), places, like)


def test_loads_and_helpers_that_are_not_differentiable_themselves(m: fp.Module) -> None:
    places = np.int32([[1, 2], [1, 2], [5, 3]])
    image = RNG.random((4, 8, 4)).astype(F32)
    slope = fp.grad(lambda t: fp.sum(m.loads(t, places)))(texture(m, image)).to_numpy()
    want = np.zeros_like(image)
    for x, y in places:
        want[y, x, :2] += image[y, x, 1::-1]
    np.testing.assert_allclose(slope, want, rtol=1e-5)
    without_cuda(m, "three components")
    slope = fp.grad(lambda t: fp.sum(m.first_of(t, places).z))(texture(m, image)).to_numpy()
    assert slope[2, 1].tolist() == [0, 0, 2, 0]
    assert slope.sum() == 3


def test_texels_outside_get_no_gradient(m: fp.Module) -> None:
    without_cuda(m, "three components")
    image = np.ones((4, 8, 4), F32)
    places = np.int32([[8, 0], [-1, 2], [0, 4], [7, 3]])
    slope = fp.grad(lambda t: fp.sum(m.first_of(t, places).x))(texture(m, image)).to_numpy()
    assert slope[3, 7, 0] == slope.sum() == 1


@pytest.mark.req("B16")
def test_buffers_and_pointers(m: fp.Module) -> None:
    b, q, at = F32([1, 2, 3]), F32([4, 5, 6]), np.int32([1, 1, 2])
    total = lambda b, q: fp.sum(m.behind(b, q, at))  # noqa: E731
    given = fp.Tensor.from_numpy(m.device, b), fp.Tensor.from_numpy(m.device, q)
    for args in ((b, q), given):
        of_b, of_q = fp.grad(total, (0, 1))(*args)
        assert np.asarray(of_b).tolist() == [0, 40, 24]
        assert np.asarray(of_q).tolist() == [38, 16, 12]
    rows = np.arange(12, dtype=F32).reshape(4, 3)
    slope = fp.grad(lambda r: fp.sum(m.vectors(r, np.int32([0, 2]))))(rows)
    assert slope.tolist() == [[5, 0, 0], [0, 0, 0], [11, 0, 0], [0, 0, 6]]


@pytest.mark.rest
@pytest.mark.req("B16")
def test_calls_into_two_modules(m: fp.Module) -> None:
    b, q, at = F32([1, 2, 3]), F32([4, 5, 6]), np.int32([1, 1, 2])
    other = fp.Module.load_from_source(m.device, "places", "int same(int i) { return i; } float2 moved(float2 p) { return p; }")
    wrapped = lambda b, q: fp.sum(m.behind(b, q, other.same(at)))  # noqa: E731  # one kernel with calls into both
    assert [np.asarray(x).tolist() for x in fp.grad(wrapped, (0, 1))(b, q)] == [[0, 40, 24], [38, 16, 12]]
    image, sampler = texture(m, RNG.random((4, 8, 1), F32)), m.device.sgl.create_sampler()
    slope = fp.grad(lambda t, uv: fp.sum(m.single(t, sampler, other.moved(uv))))(image, UV)
    np.testing.assert_allclose(slope.to_numpy(), fp.grad(lambda t: fp.sum(m.single(t, sampler, UV)))(image).to_numpy())


def test_textures_in_fused_functions_lazy_calls_and_graphs(m: fp.Module) -> None:
    image = RNG.random((4, 8, 4)).astype(F32)
    given, sampler = texture(m, image), m.device.sgl.create_sampler()
    total = lambda t: fp.sum(m.sampled(t, sampler, UV, 0.0).x)  # noqa: E731
    want = fp.grad(total)(given).to_numpy()

    @fp.fuse
    def step(t: Any) -> Any:
        value, slope = fp.value_and_grad(total)(t)
        return value, slope * 2.0

    value, slope = step(given)
    np.testing.assert_allclose(slope.to_numpy(), 2 * want)
    assert float(value) == pytest.approx(float(fp.FusedFunction(total)(given)))
    with fp.lazy():
        found = fp.grad(total)(given)
    np.testing.assert_allclose(found.to_numpy(), want)


@pytest.mark.req("B16")
def test_graphs_of_textures_samples_buffers_and_pointers(m: fp.Module) -> None:
    image = RNG.random((4, 8, 4)).astype(F32)
    given, sampler = texture(m, image), m.device.sgl.create_sampler()
    wanted = fp.grad(lambda t, uv, k: fp.sum(m.sampled(t, sampler, uv, 0.0).x * k), (0, 1, 2))(given, UV, 2.0)

    def graph_of(*names: str) -> tuple[Any, list[Any]]:
        graph = fp.Graph(inputs=list(names))
        return graph, list(graph.get_inputs())

    graph, (t, uv, k) = graph_of("t", "uv", "k")
    graph.set_outputs(m.sampled.node()(t, sampler, uv, 0.0).x * k)
    inner, (t, uv, k) = graph_of("t", "uv", "k")  # a gradient as a node
    inner.set_outputs(fp.grad(graph).node()(t, uv, k))
    slopes = fp.grad(graph, ("t", "uv", "k"))(given, UV, 2.0)
    for got, want in zip((*slopes, inner(given, UV, 2.0)), (*wanted, wanted[0])):
        np.testing.assert_allclose(np.asarray(got), np.asarray(want))
    held, (uv, k) = graph_of("uv", "k")  # a texture that the graph holds
    held.set_outputs(m.sampled.node()(given, sampler, uv, 0.0).x * k)
    for backwards, first in ((graph.backwards, (given,)), (held.backwards, ())):
        moved, gain = fp.differentiable(fp.Tensor.from_numpy(m.device, UV)), fp.differentiable(2.0)
        backwards(*first, moved, gain)
        np.testing.assert_allclose(moved.grad.to_numpy(), np.asarray(wanted[1]))
        assert float(gain.grad) == pytest.approx(float(wanted[2]))

    buffers, inputs = graph_of("b", "q", "i")
    buffers.set_outputs(m.behind.node()(*inputs))
    for backwards in (buffers.backwards, m.behind.bwds):
        b, q = (fp.differentiable(fp.Tensor.from_numpy(m.device, F32(numbers))) for numbers in ([1, 2, 3], [4, 5, 6]))
        backwards(b, q, np.int32([1, 1, 2]))
        assert (b.grad.tolist(), q.grad.tolist()) == ([0, 40, 24], [38, 16, 12])


def test_a_texture_of_half_precision_and_the_sampler_as_argument(m: fp.Module) -> None:
    image = RNG.random((4, 8, 4)).astype(np.float16)
    made = m.device.sgl.create_texture(format=spy.Format.rgba16_float, width=8, height=4, usage=USAGE, data=image)
    total = fp.grad(lambda t, s: fp.sum(m.sampled(t, s, UV, 0.0).y))
    slopes = [
        np.asarray(total(made, m.device.sgl.create_sampler(address_u=mode)).to_numpy(), F32) for mode in (A.wrap, A.clamp_to_edge)
    ]
    assert [s.sum() for s in slopes] == pytest.approx([6, 6], rel=1e-2)
    assert np.abs(slopes[0] - slopes[1]).max() > 0.1  # each call reads the settings of its own sampler


def test_what_has_no_gradient_is_refused(m: fp.Module) -> None:
    given, sampler = texture(m, np.ones((4, 8, 4), F32)), m.device.sgl.create_sampler()
    least = m.device.sgl.create_sampler(reduction_op=spy.TextureReductionOp.minimum)
    cases = [
        (lambda t: m.gathers(t, sampler, UV), given, "Gather"),
        (lambda t: m.sampled(t, least, UV, 0.0).x, given, "what this sampler reads"),
        (lambda b: m.doubled(b, 0), np.ones(4), "read whole"),
        (lambda b: m.whole_bytes(b, 0), np.ones(4, F32), "read whole"),
    ]
    for function, value, words in cases:
        total = functools.partial(lambda function, x: fp.sum(function(x)), function)
        with pytest.raises(fp.GradientError, match=words):
            fp.grad(total)(value)


def test_a_texture_that_is_a_constant(m: fp.Module) -> None:
    given = texture(m, np.full((4, 8, 4), 3, F32))
    assert fp.grad(lambda x: fp.sum(m.constant(given, x)))(F32([1, 2])).tolist() == [3, 3]


@pytest.mark.req("B16")
def test_many_samples_of_a_large_texture_take_the_memory_of_its_gradient(m: fp.Module) -> None:
    side, count = 4096, 65536
    usage = spy.TextureUsage.shader_resource
    given = m.device.sgl.create_texture(format=spy.Format.r32_float, width=side, height=side, usage=usage)
    sampler = m.device.sgl.create_sampler()
    uv = fp.Tensor.from_numpy(m.device, RNG.random((count, 2)).astype(F32))
    gradient = fp.grad(lambda t: fp.mean(m.single(t, sampler, uv)))
    before = fp.stats(m.device).pool_live_bytes
    m.device.pool.reset_peak()
    found = gradient(given)
    assert fp.stats(m.device).pool_peak_bytes <= before + 3 * side * side * 4
    assert float(fp.sum(found)) == pytest.approx(1.0, rel=1e-3)
