"""Gradients through ray-tracing pipelines: of ray generations, of hit and miss functions, and what is refused."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from tests.support.rays import moved, nearest, need_rays

SHADING = """
struct Payload : IDifferentiable { float3 color; float gain; no_diff float2 at; int primitive; };
[Differentiable] void matte(inout Payload p, BuiltInTriangleIntersectionAttributes at)
{
    p.color = p.gain * p.gain * float3(at.barycentrics, InstanceIndex() + 1);
    p.at = at.barycentrics;
    p.primitive = PrimitiveIndex();
}
[Differentiable] void missed(inout Payload p) { p.color = sin(p.gain) * abs(WorldRayDirection()); p.primitive = -1; }
"""
SOURCE = """
import fusepy;
import fusepy_rays;
%s
struct Shadow { float lit; };
RaytracingAccelerationStructure world;
uniform float3 tint;
[shader("closesthit")] [Differentiable] void glossy(inout Payload p, in BuiltInTriangleIntersectionAttributes at)
{
    p.color = sin(p.gain * RayTCurrent()) * tint + PrimitiveIndex() * 0.1;
    p.primitive = -1;
}
void unshadowed(inout Shadow s) { s.lit = 1; }
void dark(inout Shadow s, BuiltInTriangleIntersectionAttributes at) { s.lit = 0.25; }
void plain(inout Payload p) {}
[Differentiable]
float look(no_diff float3 from, float gain, float3 weights)
{
    Payload p = {};
    p.gain = gain;
    TraceRay(world, 0, 0xff, 0, 0, 0, ray_from(from, float3(0, 0, -1)), p);
    float3 first = p.color;
    p.gain = 3 * gain;
    TraceRay(world, 0, 0xff, 0, 0, 0, ray_from(from + float3(2, 0.3, 0), float3(0, 0, -1)), p);
    Shadow s = {};
    TraceRay(world, 0, 0xff, 2, 0, 1, ray_from(from, float3(0, 0.1, -1)), s);
    return dot(first * p.color + first, weights) * s.lit;
}
[Differentiable] float interpolated(no_diff float3 from, Tensor<float, 1> heights, Tensor<uint3, 1> triangles)
{
    Payload p = {};
    p.gain = 1;
    TraceRay(world, 0, 0xff, 0, 0, 0, ray_from(from, float3(0, 0, -1)), p);
    if (p.primitive < 0)
        return 0;
    uint3 t = triangles[p.primitive];
    return heights[t.x] * (1 - p.at.x - p.at.y) + heights[t.y] * p.at.x + heights[t.z] * p.at.y;
}
float4 textured(float3 from, Texture2D<float4> image, SamplerState sampler)
{
    Payload p = {};
    p.gain = 1;
    TraceRay(world, 0, 0xff, 0, 0, 0, ray_from(from, float3(0, 0, -1)), p);
    return image.SampleLevel(sampler, p.at, 0);
}
[Differentiable] float placed(float gain) { return gain * DispatchRaysIndex().x; }
[Differentiable] float tone(float x) { return x / (1 + x * x); }
"""
DOWN, MISS = np.float32([0, 0, -1]), ["missed", "unshadowed"]
HITS: dict[str, Any] = {"matte": "matte", "glossy": "glossy", "dark": "dark"}
WEIGHTS = np.float32([1, 0.5, 0.25])
USAGE = spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    need_rays(device)
    return fp.Module.load_from_source(device, "slopes", SOURCE % SHADING)


@pytest.fixture(scope="module")
def soup(m: Any) -> Any:
    """The corners of triangles, two instances of them with a hit group each, and the origins of rays."""
    rng = np.random.default_rng(8)
    corners = rng.uniform(-1, 1, (60, 3)).astype(np.float32)
    mesh, beside = fp.Mesh(corners, device=m.device), np.eye(3, 4, dtype=np.float32)
    beside[0, 3] = 2
    scene = fp.Scene([mesh, fp.Instance(mesh, beside, hit_group="glossy")])
    origins = np.concatenate([rng.uniform((-1, -1), (3, 1), (200, 2)), np.full((200, 1), 3)], axis=1).astype(np.float32)
    return corners, scene, origins, mesh


def made(module: Any, soup: Any, name: Any = "look", **given: Any) -> Any:
    stages = {"miss": MISS, "closesthit": HITS, **given}
    return (
        fp.ray_gen(module, name, **stages)
        .options(hit_groups=["matte", "glossy", "dark", "dark"])
        .set(world=soup[1], tint=WEIGHTS)
    )


def slope(f: Any, x: float, by: float = 1e-2) -> float:
    return (float(f(x + by)) - float(f(x - by))) / (2 * by)


@pytest.mark.req("R5", "R1")
def test_gradients_go_through_ray_generation_hit_and_miss_functions(m: Any, soup: Any) -> None:
    look = made(m, soup)

    def loss(gain: Any, weights: Any = WEIGHTS) -> Any:
        return fp.mean(m.tone(look(fp.vcast(soup[2], "float3"), gain, weights)))

    value, (by_gain, by_weights) = fp.value_and_grad(loss, (0, 1))(0.7, WEIGHTS)
    assert value == pytest.approx(float(loss(0.7)), rel=1e-5)
    assert by_gain == pytest.approx(slope(loss, 0.7), rel=1e-2)
    for k, part in enumerate(np.asarray(by_weights)):
        moved_by = partial(lambda k, h: loss(0.7, WEIGHTS + np.float32(h) * np.eye(3, dtype=np.float32)[k]), k)
        assert part == pytest.approx(slope(moved_by, 0), rel=1e-2, abs=1e-3)
    assert fp.jvp(loss, (0.7,), (1.0,))[1] == pytest.approx(by_gain, rel=1e-4)
    assert fp.fuse(fp.grad(loss))(0.7) == pytest.approx(by_gain, rel=1e-4)
    with fp.lazy():
        lazily = fp.grad(loss)(0.7)
    assert float(lazily) == pytest.approx(by_gain, rel=1e-4)
    gains, out = fp.differentiable(np.full(200, 0.7, np.float32)), None
    out = look(fp.vcast(soup[2], "float3"), gains, WEIGHTS)
    assert out.shape == (200,)
    each = np.asarray(
        fp.grad(lambda g: fp.sum(look(fp.vcast(soup[2], "float3"), g, WEIGHTS)))(fp.Tensor(np.full(200, 0.7, np.float32)))
    )
    apart = [fp.grad(partial(lambda o, g: look(o, g, WEIGHTS), o))(0.7) for o in soup[2][:3].tolist()]
    np.testing.assert_allclose(each[:3], apart, rtol=1e-4, atol=1e-5)


@pytest.mark.rest
@pytest.mark.req("R5")
def test_functions_in_files_fused_ray_generations_and_loops(m: Any, soup: Any, tmp_path: Path) -> None:
    """What a module imports has its share of the pipeline: the values of hits, here."""
    (tmp_path / "shading.slang").write_text(SHADING)
    (tmp_path / "split.slang").write_text(SOURCE % "import shading;")
    split = fp.Module.load_from_file(m.device, str(tmp_path / "split.slang"))
    fused = made(m, soup, fp.fuse(lambda p, g: m.tone(m.look(p, g * 2.0, WEIGHTS))))
    look, from_file = made(m, soup), made(split, soup)
    origins = fp.vcast(soup[2], "float3")
    losses = {
        "files": lambda g: fp.mean(from_file(origins, g, WEIGHTS)),
        "a fused function": lambda g: fp.mean(fused(origins, g)),
        "a loop": lambda g: fp.mean(fp.fori_loop(0, 2, lambda i, c: c + look(origins, g, WEIGHTS), np.zeros(200, np.float32))),
    }
    for name, loss in losses.items():
        assert fp.grad(loss)(0.7) == pytest.approx(slope(loss, 0.7), rel=1e-2), name


@pytest.mark.rest
@pytest.mark.req("R5")
def test_gradients_of_vertex_attributes_and_textures(m: Any, soup: Any) -> None:
    corners, _, origins, mesh = soup
    places = fp.vcast(origins, "float3")
    heights = np.random.default_rng(1).uniform(0, 1, len(corners)).astype(np.float32)
    interpolated = made(m, soup, "interpolated")
    found = np.asarray(fp.grad(lambda h: fp.sum(interpolated(places, h, mesh.indices)))(heights))
    weights = np.zeros(len(corners))
    t, number = nearest(corners.reshape(-1, 3, 3), origins, DOWN)
    beside, _ = nearest(moved(corners.reshape(-1, 3, 3), np.float32([[1, 0, 0, 2], [0, 1, 0, 0], [0, 0, 1, 0]])), origins, DOWN)
    for k in np.flatnonzero((number >= 0) & (t < beside)):
        a, b, c = corners[3 * number[k] : 3 * number[k] + 3].astype(float)
        at = origins[k] + t[k] * DOWN
        weights[3 * number[k] : 3 * number[k] + 3] += np.linalg.lstsq(
            np.stack([[*p, 1] for p in (a, b, c)], 1), [*at, 1], rcond=None
        )[0]
    np.testing.assert_allclose(found, weights, atol=2e-3)
    image = np.random.default_rng(2).uniform(0, 1, (4, 4, 4)).astype(np.float32)
    texture = m.device.create_texture(format=spy.Format.rgba32_float, width=4, height=4, usage=USAGE, data=image)
    sampler = m.device.create_sampler()
    by_texel = np.asarray(fp.grad(lambda i: fp.sum(made(m, soup, "textured")(places, i, sampler).x))(texture))
    assert by_texel[..., 0].sum() == pytest.approx(200, rel=1e-3)  # the weights of a sample add to 1
    assert not by_texel[..., 1:].any()


@pytest.mark.rest
@pytest.mark.req("R5")
def test_torch_and_backward_passes(m: Any, soup: Any) -> None:
    look, origins = made(m, soup), fp.vcast(soup[2], "float3")
    wanted = np.asarray(fp.grad(lambda g: fp.sum(look(origins, g, WEIGHTS)))(fp.Tensor(np.full(200, 0.7, np.float32))))
    gains = fp.differentiable(np.full(200, 0.7, np.float32))
    look.bwds(origins, gains, WEIGHTS)
    np.testing.assert_allclose(gains.grad.to_numpy(), wanted, rtol=1e-4, atol=1e-5)
    torch = pytest.importorskip("torch")
    given = torch.full((200,), 0.7, requires_grad=True)
    look(origins, given, WEIGHTS).sum().backward()
    np.testing.assert_allclose(given.grad.numpy(), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.req("R5")
@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("look", {"miss": ["plain", "unshadowed"]}, "plain, which runs for its rays, has no derivative"),
        ("placed", {}, r"reads DispatchRaysIndex\(\), which its derivative does not have"),
        ("look twice", {}, "first derivatives only"),
    ],
)
def test_what_has_no_derivative_is_named(m: Any, soup: Any, name: str, given: Any, words: str) -> None:
    f = made(m, soup, name.partition(" ")[0], **given)

    def loss(gain: Any) -> Any:
        return fp.sum(f(gain) if name == "placed" else f(fp.vcast(soup[2], "float3"), gain, WEIGHTS))

    with pytest.raises(fp.GradientError, match=words) as caught:
        (fp.grad(fp.grad(loss)) if "twice" in name else fp.grad(loss))(0.7)
    assert caught.value.hint


OTHERS = """
import fusepy_rays;
struct P : IDifferentiable { float c; };
RaytracingAccelerationStructure world;
static uint seed = 1;
[Differentiable] void miss(inout P payload) { payload.c = payload.c * payload.c; }
[Differentiable] void given(inout P row, BuiltInTriangleIntersectionAttributes met) { row.c = 3 * row.c * row.c; }
[Differentiable] void at(inout P by, BuiltInTriangleIntersectionAttributes payload) { by.c = sin(by.c); }
[BackwardDerivative(slope_of_own)] void own(inout P p, BuiltInTriangleIntersectionAttributes a) { p.c = p.c * p.c; }
void slope_of_own(inout DifferentialPair<P> p, BuiltInTriangleIntersectionAttributes a)
{
    P.Differential d = p.d;
    d.c = d.c * 20 * p.p.c;
    p = diffPair(p.p, d);
}
[Differentiable] float look(no_diff float3 from, float c)
{
    P p = { c };
    TraceRay<P>(world, 0, 0xff, 16, 0, 65536, ray_from(from, float3(0, 0, -1)), p);
    return p.c;
}
[Differentiable] float drawn(no_diff float3 from, float c) { seed = seed * 3; return look(from, c) * seed; }
"""


@pytest.fixture(scope="module")
def others(m: Any, soup: Any) -> Any:
    module = fp.Module.load_from_source(m.device, "others", OTHERS)
    world = fp.Scene(soup[3])
    return lambda hit, name="look": fp.ray_gen(module, name, miss="miss", closesthit=hit).set(world=world)


@pytest.mark.rest
@pytest.mark.req("R5")
def test_names_types_and_bits_of_traced_rays(others: Any, soup: Any) -> None:
    """Generated functions have none of the user's names; devices use 4 bits of a row and 16 of a miss index."""
    origins, c = fp.vcast(soup[2], "float3"), np.linspace(0.5, 1.5, 200, dtype=np.float32)
    for hit, slope_of in (("given", lambda c: 6 * c), ("at", np.cos), ("own", lambda c: 20 * c)):
        look = others(hit)
        found, value = np.asarray(fp.grad(lambda c, f=look: fp.sum(f(origins, c)))(c)), np.asarray(look(origins, c))
        hits = ~np.isclose(value, c * c) if hit != "own" else np.isclose(found, 20 * c, rtol=1e-4)
        assert 20 < hits.sum() < 190
        np.testing.assert_allclose(found, np.where(hits, slope_of(c), 2 * c), rtol=1e-4)


@pytest.mark.rest
@pytest.mark.req("R5")
def test_two_pipelines_of_one_module_are_not_mixed(others: Any, soup: Any) -> None:
    """The plain call ran the hit functions of the pipeline that was differentiated, in one kernel."""
    origins, c = fp.vcast(soup[2], "float3"), np.linspace(0.5, 1.5, 200, dtype=np.float32)
    given, at = others("given"), others("at")
    by_given = lambda c: fp.grad(lambda d: fp.sum(given(origins, d)))(c)  # noqa: E731
    wanted = np.asarray(given(origins, c)) * np.asarray(by_given(c))
    np.testing.assert_allclose(fp.fuse(lambda c: given(origins, c) * by_given(c))(c), wanted, rtol=1e-4)
    behind = fp.fuse(lambda c: by_given(at(origins, c)))(c)  # in a kernel of its own
    np.testing.assert_allclose(behind, by_given(np.asarray(at(origins, c))), rtol=1e-4)
    with pytest.raises(fp.GradientError, match="another pipeline of its module are in one kernel"):
        fp.fuse(lambda c: at(origins, c) * by_given(c))(c)
    with pytest.raises(fp.GradientError, match="uses the static variable seed"):
        fp.grad(lambda d: fp.sum(others("at", "drawn")(origins, d)))(c)
