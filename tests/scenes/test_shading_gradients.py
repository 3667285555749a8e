"""Gradients of what is computed around rays: shading, textures, attributes and places of vertices, against differences."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from tests.support.rays import need_rays

SOURCE = """
import fusepy;
import fusepy_rays;
struct Light : IDifferentiable { float3 direction; float power; };
float4 texel(Hit hit, Texture2D<float4> map, SamplerState s)
{
    if (hit.front == 0)
        return float4(0);
    return map.SampleLevel(s, hit.barycentrics, 0);
}
float textured(RaytracingAccelerationStructure scene, Camera camera, float2 uv, Texture2D<float4> map, SamplerState s)
{
    Hit hit = closest_hit(scene, camera.ray(uv));
    if (hit.found == 0)
        return 1;
    return dot(texel(hit, map, s), float4(1, 2, 3, 4)) * (1 + hit.t);
}
[Differentiable]
float away(RaytracingAccelerationStructure scene, Camera camera, float2 uv, Tensor<float3, 1> places, Tensor<int3, 1> triangles)
{
    Hit hit = closest_hit(scene, camera.ray(uv));
    if (hit.found == 0)
        return 0;
    int3 at = triangles[hit.primitive];
    return meeting(camera.position, camera.direction(uv), places[at.x], places[at.y], places[at.z]).x;
}
[Differentiable]
float3 shaded(
    RaytracingAccelerationStructure scene, Camera camera, float2 uv, Tensor<float3, 1> places, Tensor<float3, 1> colours,
    Tensor<int3, 1> triangles, Light light)
{
    Hit hit = closest_hit(scene, camera.ray(uv));
    if (hit.found == 0)
        return float3(0, 0, 0.5);
    int3 at = triangles[hit.primitive];
    float3 a = places[at.x], b = places[at.y], c = places[at.z];
    float3 met = meeting(camera.position, camera.direction(uv), a, b, c);
    float3 colour = colours[at.x] + met.y * (colours[at.y] - colours[at.x]) + met.z * (colours[at.z] - colours[at.x]);
    float lit = max(dot(normalize(cross(b - a, c - a)), normalize(light.direction)), 0.0f) * light.power;
    bool dark = is_occluded(scene, ray_from(camera.position + met.x * camera.direction(uv), light.direction, 1e-3f));
    return hit.interpolated(colours[at.x], colours[at.y], colours[at.z]) * (dark ? 0 : lit) + colour * met.x;
}
"""
PLACES = np.float32([[-1, -1, 0], [1, -1, 0.25], [-1, 1, -0.25], [1, 1, 0], [0, 0, 1], [0.5, 0, 1], [0, 0.5, 1.25]])
TRIANGLES = np.int32([[0, 1, 2], [2, 1, 3], [4, 5, 6]])
RNG = np.random.default_rng(3)


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    need_rays(device)
    return fp.Module.load_from_source(device, "shading_gradients", SOURCE)


@pytest.mark.req("R5")
def test_shading_around_queries_has_gradients(m: Any) -> None:
    scene, camera = fp.Scene(fp.Mesh(PLACES, TRIANGLES)), fp.Camera(position=(0.2, 0.1, 4), target=(0, 0, 0), fov=60)
    pixels, weights = RNG.random((24, 2)).astype(np.float32), RNG.random((24, 3)).astype(np.float32)
    colours, light = RNG.random((7, 3)).astype(np.float32), {"direction": np.float32([0.5, 0.25, 1]), "power": np.float32(2)}

    @fp.fuse
    def look(places: Any, colours: Any, light: Any) -> Any:  # rays meet the scene as it was, so that no pixel changes sides
        return fp.sum(m.shaded(scene, camera, pixels, places, colours, TRIANGLES, light) * weights)

    fp.check_grads(look, PLACES, colours, light)
    places, hues, lights = fp.grad(look, (0, 1, 2))(PLACES, colours, light)
    assert all(np.abs(found).max() > 0.1 for found in (places, hues, lights["direction"], lights["power"]))


@pytest.mark.req("R5")
def test_a_gradient_by_a_camera_is_a_camera(m: Any) -> None:
    scene, camera = fp.Scene(fp.Mesh(PLACES, TRIANGLES)), fp.Camera(position=(0.2, 0.1, 4), target=(0, 0, 0), fov=20)
    places = np.float32([[0.2, 0.8], [0.95, 0.3], [0.65, 0.4]])
    look = fp.fuse(lambda camera: fp.sum(m.away(scene, camera, places, PLACES, TRIANGLES)))
    slopes = fp.grad(look)(camera)
    assert isinstance(slopes, fp.Camera)
    for name in ("position", "forward", "right", "up"):
        for k in range(3):
            ends = [copy.copy(camera), copy.copy(camera)]
            for end, step in zip(ends, (0.002, -0.002)):
                setattr(end, name, [x + step * (i == k) for i, x in enumerate(getattr(camera, name))])
            apart = (float(look(ends[0])) - float(look(ends[1]))) / 0.004
            assert getattr(slopes, name)[k] == pytest.approx(apart, rel=2e-3, abs=2e-3), (name, k)
    assert max(map(abs, slopes.forward)) > 1


@pytest.mark.rest
@pytest.mark.req("R5")
def test_textures_behind_hits_have_gradients(m: Any) -> None:
    scene, camera = fp.Scene(fp.Mesh(PLACES, TRIANGLES)), fp.Camera(position=(0, 0, 4), target=(0, 0, 0), fov=60)
    pixels, texels = RNG.random((64, 2)).astype(np.float32), RNG.random((4, 4, 4)).astype(np.float32)
    sgl = m.device.sgl
    sampler = sgl.create_sampler()

    def texture(data: Any) -> Any:
        given = {"format": spy.Format.rgba32_float, "width": 4, "height": 4, "usage": spy.TextureUsage.shader_resource}
        return sgl.create_texture(**given, data=np.ascontiguousarray(data))

    def look(map: Any) -> Any:
        return fp.sum(m.textured(scene, camera, pixels, map, sampler))

    slopes, value = fp.grad(look)(texture(texels)).to_numpy(), fp.fuse(look)
    moves = RNG.random((4, 4, 4)).astype(np.float32)
    ahead, behind = (float(value(texture(texels + sign * moves))) for sign in (1, -1))
    assert float((slopes * moves).sum()) == pytest.approx((ahead - behind) / 2, rel=2e-3)
    assert np.count_nonzero(slopes[..., 0]) > 12


PIPELINE = """
import fusepy;
import fusepy_rays;
struct Found { float2 at; int triangle; };
RaytracingAccelerationStructure scene;
void missed(inout Found found) { found.triangle = -1; }
void met(inout Found found, BuiltInTriangleIntersectionAttributes hit) { found = { hit.barycentrics, PrimitiveIndex() }; }
Found look(Camera camera, float2 uv)
{
    Found found = {};
    TraceRay(scene, 0, 255, 0, 0, 0, camera.ray(uv), found);
    return found;
}
[Differentiable]
float3 shaded(Found found, Tensor<float3, 1> colours, Tensor<float, 1> glow, Tensor<uint3, 1> triangles, float light)
{
    if (found.triangle < 0)
        return float3(light);
    uint3 at = triangles[found.triangle];
    float3 a = colours[at.x], b = colours[at.y], c = colours[at.z];
    float3 colour = a + found.at.x * (b - a) + found.at.y * (c - a);
    return light * colour * colour + glow[found.triangle];
}
"""


@pytest.mark.req("R5")
def test_shading_behind_a_pipeline_has_gradients(device: Any) -> None:
    need_rays(device)
    m, mesh = fp.Module.load_from_source(device, "shaded_behind", PIPELINE), fp.Mesh(PLACES, TRIANGLES)
    look = fp.ray_gen(m, "look", miss="missed", closesthit="met").set(scene=fp.Scene(mesh))
    camera, pixels = fp.Camera(position=(0.2, 0.1, 4), target=(0, 0, 0), fov=60), RNG.random((24, 2)).astype(np.float32)
    weights = RNG.random((24, 3)).astype(np.float32)

    def picture(colours: Any, glow: Any, light: Any) -> Any:
        return m.shaded(look(camera, pixels), colours, glow, mesh.indices, light)

    def total(colours: Any, glow: Any, light: Any) -> Any:
        summed = fp.sum(picture(colours, glow, light) * fp.vcast(weights, "float3"))
        return summed.x + summed.y + summed.z

    given = RNG.random((7, 3)).astype(np.float32), RNG.random(3).astype(np.float32), 0.75
    assert fp.fuse(picture).explain(*given).kernels == 1
    fp.check_grads(total, *given)
    fp.check_grads(fp.fuse(total), *given)
    colours, glow, light = fp.grad(total, (0, 1, 2))(*given)
    assert all(np.abs(np.asarray(found)).max() > 0.1 for found in (colours, glow, light))
    with pytest.raises(fp.GradientError, match=r"no derivative"):
        fp.grad(lambda uv: fp.sum(m.shaded(look(camera, uv), *given[:2], mesh.indices, 0.75)))(pixels)
