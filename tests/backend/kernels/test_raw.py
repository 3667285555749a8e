"""Raw dispatch: entry points as they are written, and plain functions once per thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp

SOURCE = """
struct Processor { float a; StructuredBuffer<float> table; };
ParameterBlock<Processor> processor;
RWTexture2D<float4> target;
uniform float3 color;
extern static const int N = 1;

[shader("compute")]
[numthreads(16, 16, 1)]
void main(uint3 tid: SV_DispatchThreadID)
{
    uint2 dim;
    target.GetDimensions(dim.x, dim.y);
    if (any(tid.xy >= dim))
        return;
    target[tid.xy] = float4(color, 1);
}

[shader("compute")]
[numthreads(8, 4, 1)]
void process(uint3 tid: SV_DispatchThreadID, uint lane: SV_GroupIndex,
             uniform float k, RWStructuredBuffer<float> o, uniform float* p)
{
    o[tid.x] = k + N * processor.a + processor.table[0];
    p[lane] = lane;
}

[numthreads(128, 1, 1)]
void addBuffer(StructuredBuffer<float> a, StructuredBuffer<float> b, RWStructuredBuffer<float> res, int i: SV_DispatchThreadID)
{
    res[i] = a[i] + b[i];
}

void fill(uint2 pixel, float3* out, uniform float3 value, uint width) { out[pixel.y * width + pixel.x] = value * N; }
void grow(uint tid, RWStructuredBuffer<float3> rows) { rows[tid] += 1; }
float gives(uint tid) { return 1; }
void takes(float x) {}
float f(float x) { return x; }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "entry_test", SOURCE)


def canvas(device: Any, width: int, height: int) -> Any:
    both = spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access
    return device.sgl.create_texture(width=width, height=height, format=spy.Format.rgba32_float, usage=both)


@pytest.mark.req("F10")
def test_an_entry_point_runs_as_it_is(m: Any, device: Any) -> None:
    texture = canvas(device, 20, 5)
    for color in ((1, 0, 0.5), spy.float3(0, 1, 0)):
        m.main.set(color=color, target=texture).threads(texture.width, texture.height).call()
        device.wait()
        assert texture.to_numpy()[4, 19].tolist() == [*color, 1]
    m.main.threads(20, 5).set(target=texture, color=[2, 2, 2])()
    device.wait()
    assert (texture.to_numpy()[..., :3] == 2).all()


@pytest.mark.req("F10")
def test_dispatch_binds_parameters_by_name_and_position(m: Any, device: Any) -> None:
    a, b = np.random.default_rng(0).random((2, 1024), np.float32)
    left, right, res = fp.Tensor.from_numpy(device, a), fp.Tensor.from_numpy(device, b), fp.Tensor.zeros(device, 1024)
    m.addBuffer.dispatch(1024, a=left, b=right, res=res)
    np.testing.assert_array_equal(res.to_numpy(), a + b)
    m.addBuffer.dispatch(1024, left, left, res)
    np.testing.assert_array_equal(res.to_numpy(), a + a)
    buffers = [
        device.sgl.create_buffer(
            size=4096, struct_size=4, usage=spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access, data=x
        )
        for x in (a, b, b)
    ]
    m.addBuffer.dispatch([1024], *buffers)
    device.wait()
    np.testing.assert_array_equal(buffers[2].to_numpy().view(np.float32), a + b)


@pytest.mark.req("F10")
def test_nested_vars_and_uniforms_of_the_entry_point(m: Any, device: Any) -> None:
    o, p = fp.Tensor.zeros(device, 8), fp.Tensor.zeros(device, 32)
    table = fp.Tensor.from_numpy(device, np.arange(8, dtype=np.float32))
    m.process.dispatch((8, 4), k=0.5, o=o, p=p, vars={"processor": {"a": 10, "table": table[3:]}})
    assert o.to_numpy().tolist() == [13.5] * 8
    assert p.to_numpy().tolist() == list(range(32))
    three = m.process.constants(N=3).set(processor={"a": 10, "table": [1.0]})
    three.dispatch((8, 4), k=0.0, o=o, p=p)
    assert o.to_numpy().tolist() == [31.0] * 8
    three.dispatch((8, 4), k=0.0, o=o, p=p, processor={"a": 20})
    assert o.to_numpy().tolist() == [61.0] * 8
    hooked = m.process.hook(lambda c: c.set(processor={"a": 1, "table": [0.0]}))
    hooked.dispatch((8, 4), k=0.0, o=o, p=p)
    assert o.to_numpy().tolist() == [1.0] * 8


@pytest.mark.req("F10")
def test_plain_functions_run_once_per_thread(m: Any, device: Any) -> None:
    out = fp.Tensor.zeros(device, (5, 7), m.float3)
    m.fill.dispatch((7, 4), out=out, value=[1, 2, 3], width=7)
    assert (out.to_numpy()[:4] == [1, 2, 3]).all()
    assert (out.to_numpy()[4] == 0).all()  # nothing past the threads asked for
    m.fill.constants(N=2).options(numthreads=[4, 2]).dispatch((7, 5), out=out, value=[1, 2, 3], width=7)
    assert (out.to_numpy() == [2, 4, 6]).all()
    rows = fp.Tensor.zeros(device, (6, 3))  # rows of three floats are float3
    m.grow.dispatch(6, rows)
    assert (rows.to_numpy() == 1).all()
    m.grow.dispatch(0, rows)
    assert (rows.to_numpy() == 1).all()


@pytest.mark.req("F10", "F8")
def test_dispatches_in_order_and_into_an_encoder(m: Any, device: Any) -> None:
    a, res = fp.Tensor.full(device, 128, 1.0), fp.Tensor.zeros(device, 128)
    for _ in range(4):
        m.addBuffer.dispatch(128, a=a, b=a, res=res)
        m.addBuffer.dispatch(128, a=res, b=res, res=a)
    assert a.to_numpy()[5] == 4.0**4
    encoder = device.sgl.create_command_encoder()
    m.addBuffer.threads(128).append_to(encoder, a, a, res)
    device.wait()
    before = res.to_numpy()[5]
    device.sgl.submit_command_buffer(encoder.finish())
    assert (before, res.to_numpy()[5]) == (128.0, 512.0)


def test_what_cannot_be_dispatched(m: Any, device: Any) -> None:
    a, res = fp.Tensor.zeros(device, 4), fp.Tensor.zeros(device, 4)
    wrong: list[tuple[Any, type[fp.FusepyError], str]] = [
        (lambda: m.main(), fp.ArgumentError, r"main\.threads\(width, height\)"),
        (lambda: fp.fuse(lambda x: m.main(x))([1.0]), fp.ArgumentError, "entry point"),
        (lambda: m.main.threads(4, 4)(), fp.ArgumentError, "reads the global '(target|color)', which was never set"),
        (lambda: m.addBuffer.dispatch(4, a, a), fp.ArgumentError, "misses the argument 'res'"),
        (lambda: m.addBuffer.dispatch(4, a, a, res, a), fp.ArgumentError, "takes 3 arguments"),
        (lambda: m.addBuffer.dispatch(4, a, a=a, b=a, res=res), fp.ArgumentError, "twice"),
        (lambda: m.addBuffer.dispatch(4, a, a, rse=res), fp.UnknownNameError, "did you mean 'res'"),
        (lambda: m.addBuffer.dispatch(4, a, a, res, vars={"colour": 1}), fp.UnknownNameError, "did you mean 'color'"),
        (lambda: m.addBuffer.dispatch(4, a, a, a), fp.UnsupportedArgumentError, "another parameter writes"),
        (lambda: m.addBuffer.dispatch(4, a, a, np.zeros(4)), fp.UnsupportedArgumentError, "a Tensor or a buffer"),
        (lambda: m.addBuffer.dispatch(4, a, a, fp.Tensor.zeros(device, 4, "int")), fp.UnsupportedArgumentError, "float"),
        (lambda: m.addBuffer.dispatch(4, a, a, fp.Tensor.zeros(device, 0)), fp.UnsupportedArgumentError, "empty"),
        (lambda: m.addBuffer.dispatch(-1, a, a, res), fp.ArgumentError, "one to three integers"),
        (lambda: m.addBuffer.threads("4"), fp.ArgumentError, "one to three integers"),
        (lambda: m.main.options(numthreads=[8]).dispatch(1), fp.ArgumentError, "its own"),
        (lambda: m.gives.dispatch(4), fp.ArgumentError, "returns something"),
        (lambda: m.takes.dispatch(4), fp.ArgumentError, "no thread id"),
        (lambda: fp.fuse(lambda x: m.grow.dispatch(4, x))([1.0]), fp.ArgumentError, "cannot be fused"),
    ]
    for call, error, words in wrong:
        with pytest.raises(error, match=words) as caught:
            call()
        assert caught.value.hint
    assert m.f(2.0) == 2.0
    m.addBuffer.dispatch(4, a, a, res)
    with pytest.raises(AttributeError, match="torch"):
        _ = m.addBuffer.threads(4).torch
    if device.target.kind == "software":  # GPUs take longer grids than any that could be waited for
        with pytest.raises(fp.ShapeError, match="at most"):
            m.addBuffer.dispatch(1 << 31, a, a, res)


def test_dispatches_of_a_capture_keep_their_parameters(device: Any) -> None:
    m = fp.Module.load_from_source(device, "raw_capture", "void put(uint id, float* to, float x) { to[id] = x; }")
    a, b = fp.Tensor.zeros(device, (4,), "float"), fp.Tensor.zeros(device, (4,), "float")

    def both() -> None:
        m.put.dispatch(4, to=a, x=1.0)
        m.put.dispatch(4, to=b, x=2.0)

    captured = fp.capture(both)
    m.put.dispatch(4, to=b, x=7.0)
    a.clear()
    captured.replay()
    assert (a.tolist(), b.tolist()) == ([1.0] * 4, [2.0] * 4)
