"""Vectorisation and fusion: each row of tests/requirements.ini by the example that it is about."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.marshals.base import Description
from fusepy.ir.types import Type
from tests.support.python_calls import python_calls
from tests.support.slang_functions import F32, close, ramp, same

SOURCE = """
float3 tonemap(float3 color, float filmic, float saturation) { return lerp(float3(color.y), color * filmic, saturation); }
void tonemap_to(float3 color, float filmic, float saturation, out float3 result) { result = tonemap(color, filmic, saturation); }
float3 sample_texture(float2 uv) { return float3(uv, uv.x * uv.y); }
float minus(float a, float b) { return a - b; }

typealias Colour = float3;
static const int Count = 1 + 2;
struct Half { typedef float Value; };
interface IHolder { associatedtype Value; };
struct Holder : IHolder { typedef float3 Value; };
float luma(Colour c) { return c.x + 10 * c.y + 100 * c.z; }
float total(float a[Count]) { return a[0] + 10 * a[1] + 100 * a[2]; }
float held(Holder.Value v) { return v.x + 10 * v.y + 100 * v.z; }
float single(Half.Value v) { return v; }

struct Ray { float3 position; float3 direction; __init(float3 p, float3 d) { position = p; direction = d; } };
float3 along(Ray ray, float t) { return ray.position + t * ray.direction; }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "vectorisation", SOURCE)


def tonemap(c: Any, filmic: Any, saturation: Any) -> Any:
    grey = c[..., 1:2]
    return (grey + (c * F32(filmic) - grey) * F32(saturation)).astype(F32)


IMAGE = ramp(4, 5, 3)
TONED = tonemap(IMAGE, 1, 0.5)


@pytest.mark.req("V1")
def test_v1_types_that_only_slang_can_tell(m: Any) -> None:
    """Aliases, associated types and computed extents: their spelling says nothing, Slang's answer decides the mapping."""
    c = ramp(4, 3)
    expected = c @ np.array([1, 10, 100], F32)
    for function in (m.luma, m.total, m.held):
        same(function(c), expected)
        assert fp.resolve(function, c).grid == 1
    same(m.single(c), c)
    assert fp.resolve(m.single, c).grid == 2


@pytest.mark.req("V2")
def test_v2_unvectorised_mapped_or_typed(m: Any) -> None:
    assert m.tonemap([0.0, 1.0, 2.0], 1, 0.5) == [0.5, 1, 1.5]  # one value for all
    same(m.tonemap(fp.vmap(IMAGE, (0, 1)), 1, 0.5), TONED)  # mapped; the type follows
    same(m.tonemap(fp.vcast(IMAGE, m.float3), 1, 0.5), TONED)  # typed; the mapping follows
    for said in (fp.vmap(IMAGE, (0, 1)), fp.vcast(IMAGE, m.float3)):
        answer = fp.resolve(m.tonemap, said, 1, 0.5)
        assert answer.types == [m.float3, m.float, m.float]
        assert [b.mapping for b in answer.bindings] == [(0, 1), (), ()]


@pytest.mark.req("V3")
def test_v3_vmap(m: Any) -> None:
    same(m.tonemap(fp.vmap(IMAGE, (0, 1)), 1, 0.5), TONED)
    same(m.tonemap(fp.vmap(IMAGE, (1, 0)), 1, 0.5), TONED.transpose(1, 0, 2))
    same(m.minus(fp.vmap(ramp(3), (0,)), fp.vmap(ramp(4), (1,))), np.subtract.outer(ramp(3), ramp(4)))


@pytest.mark.req("V4")
def test_v4_vcast(m: Any) -> None:
    same(m.tonemap(fp.vcast(IMAGE, m.float3), 1, 0.5), TONED)
    same(m.tonemap(fp.vcast(IMAGE.astype(np.float64), m.float3), 1, 0.5), TONED)
    traced = fp.fuse(lambda c: fp.vcast(m.tonemap(c, 1, 0.5) * 2, "int3"))
    same(traced(IMAGE), (TONED * 2).astype(np.int32))


@pytest.mark.req("V5")
def test_v5_mixed_and_on_out_arguments(m: Any, device: Any) -> None:
    result = fp.Tensor.zeros(device, (4, 5, 3))
    m.tonemap_to(fp.vmap(IMAGE, (0, 1)), 1, 0.5, fp.vcast(result, m.float3))
    same(result.to_numpy(), TONED)
    again = np.zeros((4, 5, 3), F32)
    m.tonemap_to(fp.vcast(IMAGE, m.float3), fp.vmap(ramp(4), (0,)), 1.0, fp.vmap(again, (0, 1)))
    same(again, IMAGE * ramp(4)[:, None, None])


@pytest.mark.req("V5")
def test_v5_inside_nested_arguments(m: Any) -> None:
    position, direction, t = ramp(4, 3), np.arange(15, dtype=np.int32).reshape(5, 3), ramp(5)
    ray = {"position": fp.vmap(position, (0,)), "direction": fp.vmap(fp.vcast(direction, m.float3), (1,))}
    expected = position[:, None] + t[:, None] * direction.astype(F32)
    same(m.along(ray, fp.vmap(t, (1,))), expected)
    components = {"position": {"x": fp.vmap(position[:, 0], 0), "y": 1, "z": 2}, "direction": fp.vmap([0.0, 0.0, 1.0], ())}
    same(m.along(components, fp.vmap(t, 1))[:, :, 0], np.repeat(position[:, :1], 5, 1))


@pytest.mark.req("V6")
def test_v6_declare(m: Any, device: Any) -> None:
    for declared in (
        m.tonemap.declare(fp.vmapping((0, 1))),
        m.tonemap.declare(fp.vmapping(0, 1), None, None),
        m.tonemap.declare(m.float3),
        m.tonemap.declare(color=fp.vmapping(0, 1), filmic=None),
        m.tonemap.declare(None, None, None).declare(m.float3),
    ):
        same(declared(IMAGE, 1, 0.5), TONED)
    result = fp.Tensor.zeros(device, (4, 5, 3))
    m.tonemap_to.declare(fp.vmapping(0, 1), None, None, m.float3)(IMAGE, 1, 0.5, result)
    same(result.to_numpy(), TONED)
    with pytest.raises(TypeError, match="did you mean 'filmic'"):
        m.tonemap.declare(filmik=m.float)


@pytest.mark.req("V7", "V9")
def test_v7_a_declared_call_runs_the_least(m: Any, device: Any) -> None:
    image, out = fp.Tensor.from_numpy(device, IMAGE), fp.Tensor.zeros(device, (4, 5), m.float3)
    declared = m.tonemap.declare(fp.vmapping(0, 1), None, None)
    runs = {
        "declared": python_calls(lambda: declared(image, 1.0, 0.5, _result=out)),
        "implicit": python_calls(lambda: m.tonemap(image, 1.0, 0.5, _result=out)),
        "vmap": python_calls(lambda: m.tonemap(fp.vmap(image, (0, 1)), 1.0, 0.5, _result=out)),
        "vcast": python_calls(lambda: m.tonemap(fp.vcast(image, m.float3), 1.0, 0.5, _result=out)),
    }
    assert runs["declared"] == min(runs.values()), runs
    assert runs["declared"] < 0.9 * runs["vmap"], runs
    same(out.to_numpy(), TONED)


@pytest.mark.req("V8")
def test_v8_vdim(m: Any) -> None:
    cube = ramp(2, 3, 4)
    assert repr(fp.vdim(1.0, 3)) == repr(fp.vmap(1.0, (0, 1, 2)))
    same(m.minus(fp.vdim(cube, 3), 1.0), m.minus(fp.vmap(cube, (0, 1, 2)), 1.0))
    same(m.tonemap(fp.vdim(IMAGE, 2), 1, 0.5), TONED)


@pytest.mark.req("V9")
def test_v9_implicit_calls_end_in_the_kernel_of_declared_ones(m: Any, device: Any) -> None:
    image = fp.Tensor.from_numpy(device, IMAGE)
    declared = m.tonemap.declare(fp.vmapping(0, 1), None, None)
    sources = {f.source(i, 1.0, 0.5) for f, i in [(declared, image), (m.tonemap, image), (m.tonemap, fp.vdim(image, 2))]}
    assert len(sources) == 1
    calls = [lambda f: f(image, 1.0, 0.25), lambda f: f(image, 1.0, 0.5)]
    calls[0](declared)
    compiled = fp.stats(device).kernels_compiled
    same(m.tonemap(image, 1.0, 0.5).to_numpy(), TONED)
    # the line of the call is in the kernel's text; nothing else may differ
    assert fp.stats(device).kernels_compiled - compiled <= 1


@pytest.mark.req("V11")
def test_v11_sizes_are_uniforms(m: Any, device: Any) -> None:
    def call(n: int) -> None:
        same(m.tonemap(ramp(n, 3), 1, 0.5), tonemap(ramp(n, 3), 1, 0.5))

    call(100)
    before = fp.stats(device).kernels_compiled
    for n in (1, 99, 101, 5000):
        call(n)
    for extent in (2, 4):
        with pytest.raises(TypeError, match=rf"{extent}\](.|\n)*float3"):
            m.tonemap(ramp(100, extent), 1, 0.5)
    call(100)
    assert fp.stats(device).kernels_compiled == before


@pytest.mark.req("V12", "V14", "V15")
def test_v12_the_fused_example(m: Any) -> None:
    during: list[int] = []

    @fp.fuse
    def tone_map_sample(uv: Any) -> Any:
        before = fp.stats().dispatches
        result = m.tonemap(m.sample_texture(uv), 1, 0.5)
        during.append(fp.stats().dispatches - before)
        return result

    @fp.fuse
    def from_components(u: Any, v: Any) -> Any:
        return m.tonemap(m.sample_texture(m.float2(u, v)), 1, 0.5)

    uv = ramp(6, 2)
    expected = tonemap(np.stack([uv[:, 0], uv[:, 1], uv[:, 0] * uv[:, 1]], -1), 1, 0.5)
    before = fp.stats().dispatches
    close(tone_map_sample(uv), expected)
    assert during == [0]
    assert fp.stats().dispatches - before == 1
    close(from_components(uv[:, 0], uv[:, 1]), expected)
    assert tone_map_sample.explain(uv).kernels == from_components.explain(uv[:, 0], uv[:, 1]).kernels == 1


@pytest.mark.req("V13")
def test_v13_a_fused_function_is_a_function(m: Any) -> None:
    def body(uv: Any) -> Any:
        return m.tonemap(m.sample_texture(uv), 1, 0.5)

    fused, uv = fp.fuse(body), ramp(2, 3, 2)
    expected = fused(uv)
    assert expected.shape == (2, 3, 3)
    for call in (
        fused.call,
        fused.declare(fp.vmapping(0, 1)),
        fused.declare(m.float2),
        fused.map(uv=m.float2),
        lambda uv: fused(fp.vmap(uv, (0, 1))),
        lambda uv: fused(uv=fp.vcast(uv, m.float2)),
        lambda uv: fused.return_type("tensor")(uv).to_numpy(),
    ):
        same(call(uv), expected)
    same(fused.declare(fp.vmapping(1, 0))(uv), expected.transpose(1, 0, 2))
    result = fp.Tensor.zeros(m.device, (2, 3), m.float3)
    encoder = m.device.create_command_encoder()
    fused.append_to(encoder, uv, _result=result)
    assert not result.to_numpy().any()
    m.device.submit_command_buffer(encoder.finish())
    same(result.to_numpy(), expected)


@pytest.mark.req("V14")
def test_v14_results_inherit_mappings(m: Any) -> None:
    @fp.fuse
    def chain(a: Any, b: Any) -> Any:
        d = m.minus(a, b)
        return m.minus(d, b * 2), d

    a, b = ramp(3), ramp(4)
    both, d = chain(fp.vmap(a, 0), fp.vmap(b, 1))
    same(d, np.subtract.outer(a, b))
    same(both, d - 2 * b)
    turned, _ = chain(fp.vmap(a, 1), fp.vmap(b, 0))
    same(turned, both.T)


@pytest.mark.req("V15")
def test_v15_constructors_and_members(m: Any) -> None:
    @fp.fuse
    def shoot(x: Any, y: Any, t: Any) -> Any:
        ray = m.Ray(m.float3(x, y, 0), m.float3(0, 0, 1))
        return m.along(ray, t), ray.direction.z, ray.position.yx

    point, z, yx = shoot(ramp(5), ramp(5, start=3), 2.0)
    same(point, np.stack([ramp(5), ramp(5, start=3), np.full(5, 2, F32)], -1))
    same(z, np.ones(5, F32))
    same(yx, np.stack([ramp(5, start=3), ramp(5)], -1))


@pytest.mark.req("V16")
def test_v16_resolve_is_a_query(m: Any, device: Any) -> None:
    image = fp.Tensor.from_numpy(device, IMAGE, m.float3)
    before = fp.stats(device)
    answer = fp.resolve(m.tonemap, image, 1.0, 0.5)
    assert answer.types == [m.float3, m.float, m.float]
    assert answer.result == m.float3
    assert fp.stats(device) == before, "nothing ran or was compiled"


class Fractions:
    """A conversion that a user adds: `fractions.Fraction` becomes a float."""

    returns = "scalar"

    def key(self, value: Any) -> Any:
        return "fraction"

    def describe(self, value: Any) -> Any:
        return Description(Type.parse("float"), (), "", weak=True)

    def place(self, value: Any, type: Any, device: Any) -> Any:
        return float(value)


@pytest.mark.req("V16")
def test_v16_users_add_conversions(m: Any) -> None:
    fp.register(Fraction, Fractions())
    assert m.minus(Fraction(3, 4), Fraction(1, 4)) == 0.5
    same(m.minus(ramp(5), Fraction(1, 2)), ramp(5) - F32(0.5))
    assert fp.resolve(m.minus, Fraction(1, 2), 1).types == [m.float, m.float]
