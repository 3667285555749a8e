"""Draws of mesh shaders: the pictures are those of the same triangles drawn by vertices."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from tests.support.rasters import MODES, called_as
from tests.support.selection import daily

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

struct Sized { float size; };
static const int CORNERS = 3;
[outputtopology("triangle")]  // attributes in any order
[shader("mesh")]
[numthreads(CORNERS, 1, 1)]
void given(uint k : SV_GroupThreadID, uint3 group : SV_GroupID, in payload Sized part, Tensor<float2, 1> at, float3 tint,
    OutputVertices<Corner, 3> corners, OutputIndices<uint3, 1> triangles)
{
    SetMeshOutputCounts(3, 1);
    corners[k] = { float4(turned(at[3 * group.x + k] * part.size), 0.5, 1), tint };
    if (k == 0)
        triangles[0] = uint3(0, 1, 2);
}
[shader("amplification")] [numthreads(1, 1, 1)]
void sized(float size) { Sized part; part.size = size; DispatchMesh(4, 1, 1, part); }
float3 film(float4 c, float stops) { return c.xyz * exp2(stops) / (c.xyz + 1); }
[shader("mesh")] [numthreads(1, 1, 1)] [outputtopology("triangle")]
void old(out indices uint3 triangles[1], out vertices Corner corners[3]) { SetMeshOutputCounts(0, 0); }
[shader("mesh")] [numthreads(1, 1, 1)] [outputtopology("triangle")]
void empty() { SetMeshOutputCounts(0, 0); }
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
@pytest.mark.parametrize("mode", daily(MODES, "fused"))  # all of them daily for triangles, in test_function
def test_mesh_shaders_in_every_kind_of_call_with_a_tone_mapping_behind(m: Any, mode: str, tmp_path: Any) -> None:
    def shade(c: Any, gain: Any) -> Any:
        return fp.float4(c.colour * gain, 1.0)

    draw = fp.raster(m, task="sized", mesh="given", fragment=fp.fuse(shade)).options(depth="less")
    shared = {"targets": SIZE, "tint": np.float32([0.25, 0.5, 1]), "size": 0.5}

    def frame(at: Any, stops: Any) -> Any:
        image, depth = draw(at=at, gain=2.0, **shared)
        return m.film(image, stops) * 2.0 + depth

    def graph() -> fp.Graph:
        made = fp.Graph(inputs=["at", "stops"])
        at, stops = made.get_inputs()
        image, depth = draw.node(outputs=2)(at=at, gain=2.0, **shared)
        made.set_outputs(m.film.node()(image, stops) * 2.0 + depth)
        return made

    given = fp.Tensor(PLACES), 1.0
    found = called_as(mode, m.device, frame, given, graph)
    if mode == "fused":
        told = str(fp.fuse(frame).explain(*given))
        assert "2 kernels" in told
        assert "the rasteriser draws 1 x 1 x 1 groups of meshlets into 32 x 24 pixels" in told
        fp.fuse(frame).to_html(tmp_path / "frame.html", *given)
        assert "draw sized given shade" in (tmp_path / "frame.html").read_text()
    colour = np.repeat(np.float32([[0.5, 1, 2]]), len(PLACES), 0)
    image, depth = fp.raster(m, vertex="vs", fragment="fs").options(depth="less")(
        {"at": PLACES * np.float32(0.5), "colour": colour}, targets=SIZE, depth=0.5
    )
    want = 4 * image[..., :3] / (1 + image[..., :3]) + depth[..., None]
    np.testing.assert_allclose(found.to_numpy(), want, atol=1e-5)
    assert 0.02 < (want[..., 0] > 1).mean() < 0.95


@pytest.mark.req("R4")
def test_what_a_mesh_shader_reads_may_be_computed_and_globals_stay(m: Any) -> None:
    draw = fp.raster(m, mesh="ms", fragment="plain").set(places=PLACES, colours=COLOURS)
    want = by_vertices(m)
    assert (draw(4, targets=SIZE, depth=0.25) == want).mean() > 0.9
    both = fp.fuse(lambda x: (draw(4, targets=SIZE, depth=0.25) * x, fp.max(draw(4, targets=SIZE, depth=0.25))))
    scaled, most = both(2.0)
    np.testing.assert_allclose(scaled, 2 * want, atol=1e-5)
    assert most == 1

    @fp.fuse
    def computed(at: Any) -> Any:
        half = fp.vcast(at, "float2") * 0.5
        far = fp.raster(m, task="sized", mesh="given").options(depth="less")
        return far(targets=SIZE, at=half, tint=fp.float3(1.0, 1.0, 1.0), size=2.0) * 2.0

    assert (computed(PLACES) == np.where(want[..., 3] > 0, 1, 2)).all()
    before = m.device.counters.plan_misses, m.device.counters.kernels_compiled
    drawn = [draw(groups, targets=SIZE, depth=0.25)[..., 3].sum() for groups in (1, (2, 1), (4, 1, 1))]
    assert 0 < drawn[0] < drawn[1] < drawn[2] == want[..., 3].sum()
    assert (m.device.counters.plan_misses, m.device.counters.kernels_compiled) == before


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
        (lambda: draw(groups=4, targets=SIZE, dept=1.0), fp.ArgumentError, "depth"),
        (lambda: draw(groups=(1, 2, 3, 4), targets=SIZE), fp.ShapeError, "groups are one to three numbers"),
        (lambda: draw(4, 5, targets=SIZE), fp.ArgumentError, "only groups may be given by position"),
        (lambda: draw(groups=70_000, targets=SIZE), fp.ShapeError, "65,535"),
        (lambda: draw.options(topology="lines"), fp.ArgumentError, "no option 'topology'"),
        (lambda: draw.options(fast_math=True), fp.ArgumentError, "no option 'fast_math'"),
        (lambda: fp.raster(m, mesh="vs", fragment="fs")(targets=SIZE), fp.ArgumentError, "no entry point of the stage mesh"),
        (lambda: fp.raster(m, mesh="old", fragment="fs")(targets=SIZE), fp.UnsupportedArgumentError, "as in HLSL"),
        (lambda: fp.raster(m, mesh="empty", fragment="fs")(targets=SIZE), fp.ArgumentError, "writes no vertices"),
        (lambda: fp.raster(m, mesh="given", fragment="fs")(targets=SIZE), fp.ArgumentError, "there is no such argument"),
        (
            lambda: fp.raster(m, mesh="given", fragment="fs")(targets=SIZE, at=PLACES, tint=[1, 2, 3]),
            fp.ArgumentError,
            "no task function",
        ),
        (
            lambda: fp.raster(m, task="ts", mesh="given", fragment="fs")(targets=SIZE, at=PLACES, tint=[1, 2, 3]),
            fp.ArgumentError,
            "payloads of ts and given do not match",
        ),
        (lambda: fp.raster(m, mesh=m.vs, fragment="fs"), fp.ArgumentError, "mesh is the name of an entry point"),
        (lambda: fp.raster(m, mesh="ms")(4, targets=SIZE, depth=0.25), fp.ArgumentError, "draws nothing"),
    ):
        with pytest.raises(error, match=match):
            call()
    with mock.patch.object(m.device, "features", ()), pytest.raises(fp.DeviceError, match="has no mesh shaders"):
        fp.raster(m, mesh="ms", fragment="fs")
