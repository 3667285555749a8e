"""Draws of mesh shaders: the pictures are those of the same triangles drawn by vertices."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp

SOURCE = """
import fusepy;
struct Corner { float4 position : SV_Position; float3 colour : COLOUR; };
struct Part { uint unused; };
float2 turned(float2 at) { return at * (1 + 0.125 * at.yx); }
Corner vs(float2 at, float3 colour, float depth) { return { float4(turned(at), depth, 1), colour }; }

uniform float depth;
Tensor<float2, 1> places;
Tensor<float3, 1> colours;
[shader("mesh")] [numthreads(3, 1, 1)] [outputtopology("triangle")]
void ms(uint k : SV_GroupThreadID, uint3 group : SV_GroupID, OutputVertices<Corner, 3> corners, OutputIndices<uint3, 1> triangles)
{
    SetMeshOutputCounts(3, 1);
    corners[k] = vs(places[3 * group.x + k], colours[3 * group.x + k], depth);
    if (k == 0)
        triangles[0] = uint3(0, 1, 2);
}
[shader("amplification")] [numthreads(1, 1, 1)]
void ts() { Part part; part.unused = 0; DispatchMesh(4, 1, 1, part); }
[shader("fragment")] float4 fs(Corner c) : SV_Target { return float4(c.colour, 1); }
float4 plain(Corner c) : SV_Target { return float4(c.colour, 1); }
"""
RNG = np.random.default_rng(11)
PLACES, COLOURS = np.float32(RNG.uniform(-1, 1, (12, 2))), np.float32(RNG.random((12, 3)))
SIZE = (24, 32)


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    if "mesh_shader" not in device.features:
        pytest.skip("the device has no mesh shaders")
    return fp.Module.load_from_source(device, "mesh_shaders", SOURCE)


def by_vertices(m: Any, **options: Any) -> Any:
    return fp.raster(m, vertex="vs", fragment="fs").options(**options)(
        {"at": PLACES, "colour": COLOURS}, targets=SIZE, depth=0.25
    )


@pytest.mark.req("R4")
def test_a_mesh_shader_draws_what_vertices_draw(m: Any) -> None:
    draw = fp.raster(m, mesh="ms", fragment="fs").set(places=PLACES, colours=COLOURS)
    want = by_vertices(m)
    found = draw(groups=4, targets=SIZE, depth=0.25)
    assert type(found) is np.ndarray
    np.testing.assert_allclose(found, want, atol=1e-5)
    assert 0.2 < (want[..., 3] > 0).mean() < 0.95
    shadow = fp.raster(m, mesh="ms").options(depth="less")
    near = shadow(4, targets=SIZE, depth=0.25, places=PLACES, colours=COLOURS)
    assert (near == np.where(want[..., 3] > 0, np.float32(0.25), 1)).all()
    assert not draw(groups=0, targets=SIZE, depth=0.25).any()
    both = fp.raster(m, task="ts", mesh="ms", fragment="fs").set(places=fp.Tensor(PLACES), colours=COLOURS).options(depth="less")
    colour, depth = both(targets=(SIZE, "rgba32_float"), depth=0.25)
    np.testing.assert_allclose(colour, by_vertices(m, depth="less")[0], atol=1e-5)
    assert (depth == np.where(colour[..., 3] > 0, np.float32(0.25), 1)).all()
    culled = draw.options(cull="back", size=SIZE, formats="rgba16_float")(4, depth=0.25)
    np.testing.assert_allclose(culled, by_vertices(m, cull="back"), atol=2e-3)


@pytest.mark.req("R4")
def test_mesh_shaders_see_tensors_as_they_are_and_draw_into_textures(m: Any) -> None:
    draw = fp.raster(m, mesh="ms", fragment="fs").set(colours=COLOURS)
    with fp.lazy():
        later = fp.Tensor(PLACES) * np.float32(0.5)
        found = draw(groups=4, targets=SIZE, depth=0.25, places=later)
    again = draw(groups=4, targets=SIZE, depth=0.25, places=PLACES * np.float32(0.5))
    np.testing.assert_allclose(found.to_numpy(), again, atol=1e-5)
    usage = spy.TextureUsage.render_target | spy.TextureUsage.shader_resource | spy.TextureUsage.copy_source
    picture = m.device.sgl.create_texture(format=spy.Format.rgba32_float, width=32, height=24, usage=usage)
    assert draw(groups=4, targets=picture, depth=0.25, places=PLACES) is picture
    np.testing.assert_allclose(picture.to_numpy(), by_vertices(m), atol=1e-5)
    draw.options(clear=None, blend="add")(groups=4, targets=picture, depth=0.25, places=PLACES)
    assert picture.to_numpy().max() > 1.2


@pytest.mark.req("R4")
def test_captured_draws_keep_their_own_globals_and_are_counted(m: Any) -> None:
    draw = fp.raster(m, mesh="ms", fragment="fs").set(places=PLACES, colours=COLOURS)
    shadow = fp.raster(m, mesh="ms").set(places=PLACES, colours=COLOURS).options(depth="less")
    draw(4, targets=SIZE, depth=0.25)
    before = fp.stats()["dispatches"]
    draw(4, targets=SIZE, depth=0.25)
    assert fp.stats()["dispatches"] == before + 1
    both = fp.capture(lambda: tuple(shadow(4, targets=SIZE, depth=d, _result="tensor") for d in (0.25, 0.5)))
    assert both.launches == 2
    shadow(4, targets=SIZE, depth=0.75)
    for found, depth in zip(both.replay(), (0.25, 0.5)):
        assert found.to_numpy().min() == depth


@pytest.mark.req("R4")
def test_mesh_shaders_that_do_not_fit_are_refused(m: Any) -> None:
    draw = fp.raster(m, mesh="ms", fragment="fs").set(places=PLACES, colours=COLOURS)
    for call, error, match in (
        (lambda: draw(groups=4, targets=SIZE), fp.ArgumentError, "reads the global 'depth'"),
        (lambda: draw(groups=4, targets=SIZE, dept=1.0), fp.UnknownNameError, "depth"),
        (lambda: draw(groups=(1, 2, 3, 4), targets=SIZE), fp.ShapeError, "groups are one to three numbers"),
        (lambda: draw(groups=70_000, targets=SIZE), fp.ShapeError, "65,535"),
        (lambda: draw.options(topology="lines"), fp.ArgumentError, "no option 'topology'"),
        (lambda: draw.options(fast_math=True), fp.ArgumentError, "no option 'fast_math'"),
        (lambda: fp.raster(m, mesh="vs", fragment="fs")(targets=SIZE), fp.ArgumentError, "no entry point of the stage mesh"),
        (lambda: fp.raster(m, mesh="ms", fragment="plain")(targets=SIZE), fp.ArgumentError, "of the stage fragment"),
        (lambda: fp.raster(m, mesh=m.vs, fragment="fs"), fp.ArgumentError, "mesh is the name of an entry point"),
        (lambda: draw(4, targets=SIZE, depth=0.25, _result="texture"), fp.ArgumentError, "returns arrays or tensors"),
        (lambda: fp.raster(m, mesh="ms")(4, targets=SIZE, depth=0.25), fp.ArgumentError, "draws nothing"),
        (lambda: fp.fuse(lambda x: draw(4, targets=SIZE, depth=0.25) + x)(1.0), fp.ArgumentError, "cannot be fused"),
    ):
        with pytest.raises(error, match=match):
            call()
    with mock.patch.object(m.device, "features", ()), pytest.raises(fp.DeviceError, match="has no mesh shaders"):
        fp.raster(m, mesh="ms", fragment="fs")
