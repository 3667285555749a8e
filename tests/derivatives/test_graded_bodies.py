"""Gradients of textures, buffers and pointers that bodies of loops and branches read, against the same program unrolled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from tests.support.selection import daily

SOURCE = """
import fusepy;
float3 at(Texture2D<float4> t, SamplerState s, float2 uv, float k) { return t.SampleLevel(s, uv * k, 0).xyz; }
float behind(StructuredBuffer<float> b, float* q, int i) { return b[i] * q[i] * q[0]; }
float rows(StructuredBuffer<float3> b, int i) { return b[i].x * b[i + 1].z; }
"""
F32 = np.float32
RNG = np.random.default_rng(0)
IMAGE = RNG.random((4, 8, 4)).astype(F32)
UV = RNG.random((7, 2)).astype(F32)


@pytest.fixture(scope="module")
def m(device: fp.Device) -> fp.Module:
    if device.target.kind == "cpu":
        pytest.skip("no textures there")
    return fp.Module.load_from_source(device, "graded_bodies", SOURCE)


def texture(m: fp.Module, image: Any) -> Any:
    usage = spy.TextureUsage.shader_resource
    return m.device.sgl.create_texture(format=spy.Format.rgba32_float, width=8, height=4, usage=usage, data=image)


def arrays(found: Any) -> list[Any]:
    return [f.to_numpy() if isinstance(f, fp.Tensor) else np.asarray(f) for f in found]


# programs of a texture, coordinates, and a loop that is one of fusepy or of Python
def counted(m: fp.Module, t: Any, s: Any, uv: Any, loop: Any) -> Any:
    return loop(0, 3, lambda i, c: c + m.at(t, s, uv, 1.0 + 0.1 * i).x * c, 1.0)


def conditional(m: fp.Module, t: Any, s: Any, uv: Any, loop: Any) -> Any:
    if loop is unrolled:
        return counted(m, t, s, uv, loop)
    step = lambda c: (c[0] + 1, c[1] + m.at(t, s, uv, 1.0 + 0.1 * c[0]).x * c[1])  # noqa: E731
    return fp.while_loop(lambda c: c[0] < 3, step, (0, 1.0), max_steps=4)[1]


def nested(m: fp.Module, t: Any, s: Any, uv: Any, loop: Any) -> Any:
    def step(i: Any, c: Any) -> Any:
        used = lambda: m.at(t, s, uv, 1.0 + 0.1 * i).y * c  # noqa: E731
        if loop is unrolled:
            return c + (used() if i < 2 else c)
        return c + fp.cond(i < 2, used, lambda: c)

    return loop(0, 3, step, 1.0)


def branched(m: fp.Module, t: Any, s: Any, uv: Any, loop: Any) -> Any:
    test, a, b = m.at(t, s, uv, 1.0).z > 0.5, lambda: m.at(t, s, uv, 1.0).x, lambda: m.at(t, s, uv, 0.5).y * 2.0
    return fp.where(test, a(), b()) if loop is unrolled else fp.cond(test, a, b)


def one_sided(m: fp.Module, t: Any, s: Any, uv: Any, loop: Any) -> Any:
    test, a = m.at(t, s, uv, 1.0).z > 0.5, lambda: m.at(t, s, uv, 1.0).x
    return fp.where(test, a(), 0.5) if loop is unrolled else fp.cond(test, a, lambda: 0.5)


def many(m: fp.Module, t: Any, s: Any, uv: Any, loop: Any) -> Any:
    if loop is unrolled:
        return 70.0 * m.at(t, s, uv, 0.5).x
    return loop(0, 70, lambda i, c: c + m.at(t, s, uv, 0.5).x, 0.0)


def unrolled(low: int, high: int, body: Any, start: Any) -> Any:
    for i in range(low, high):
        start = body(i, start)
    return start


def total_of(program: Any, m: fp.Module, sampler: Any, loop: Any) -> Any:
    return lambda t, uv: fp.sum(program(m, t, sampler, uv, loop))


@pytest.mark.req("B16")
@pytest.mark.parametrize("program", daily([counted, conditional, nested, branched, one_sided, many], "nested"))
def test_bodies_that_sample(m: fp.Module, program: Any) -> None:
    given, sampler = texture(m, IMAGE), m.device.sgl.create_sampler(address_v=spy.TextureAddressingMode.clamp_to_edge)
    made, want = (arrays(fp.grad(total_of(program, m, sampler, loop), (0, 1))(given, UV)) for loop in (fp.fori_loop, unrolled))
    for got, expected in zip(made, want):
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)
    total = fp.FusedFunction(lambda uv: fp.sum(program(m, given, sampler, uv, fp.fori_loop)))  # coordinates alone
    np.testing.assert_allclose(np.asarray(fp.grad(total)(UV)), want[1], rtol=1e-4, atol=1e-5)


@pytest.mark.long
def test_buffers_pointers_graphs_lazy_calls_and_the_deterministic_mode(m: fp.Module) -> None:
    b, q, wide = F32([1, 2, 3]), F32([4, 5, 6]), RNG.random((4, 3)).astype(F32)
    for program, args in (
        (lambda loop: lambda b, q: loop(0, 3, lambda i, c: c + m.behind(b, q, i) * c, 1.0), (b, q)),
        (lambda loop: lambda b: loop(0, 3, lambda i, c: c + m.rows(b, i) * c, 1.0), (wide,)),
    ):
        both = [program(loop) for loop in (fp.fori_loop, unrolled)]
        names = tuple(range(len(args)))
        made, want = (arrays(fp.grad(f, names)(*args)) for f in both)
        exact = arrays(fp.grad(both[0], names).options(deterministic=True)(*args))
        for got, same, expected in zip(made, exact, want):
            np.testing.assert_allclose(got, expected, rtol=1e-5)
            np.testing.assert_allclose(same, expected, rtol=1e-5)
    given, sampler = texture(m, IMAGE), m.device.sgl.create_sampler()
    want = arrays([fp.grad(lambda t: fp.sum(counted(m, t, sampler, UV, unrolled)))(given)])[0]
    looped = fp.FusedFunction(lambda t: fp.sum(counted(m, t, sampler, UV, fp.fori_loop)))
    with fp.lazy():
        found = fp.grad(looped)(given)
    graph = fp.Graph(inputs=["t"])
    graph.set_outputs(looped.node()(*graph.get_inputs()))
    exact = fp.grad(looped).options(deterministic=True)
    for got in (found, fp.grad(graph)(given), exact(given)):
        np.testing.assert_allclose(got.to_numpy(), want, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(exact(given).to_numpy(), exact(given).to_numpy())


def test_gradients_that_are_taken_in_a_body(m: fp.Module) -> None:
    given, sampler = texture(m, IMAGE), m.device.sgl.create_sampler()

    def sampled(uv: Any) -> Any:
        inner = fp.grad(lambda k: m.at(given, sampler, uv, k).x)
        return fp.fori_loop(0, 2, lambda i, c: c + inner(c), 1.0)

    with pytest.raises(fp.GradientError, match="take the gradient outside of the loop or branch"):
        fp.FusedFunction(sampled)(UV)
    outer = fp.FusedFunction(lambda x: fp.fori_loop(0, 2, lambda i, c: c + fp.grad(lambda u: u * u)(x), 0.0))
    assert outer(F32([1, 2])).tolist() == [4, 8]
