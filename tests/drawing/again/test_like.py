"""Draws that come again: which calls skip the ordinary way, and that they return and refuse the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from fusepy.drawing.function import Raster
from fusepy.drawing.mesh import MeshRaster
from tests.support.rasters import need_raster

SOURCE = """
struct Corner { float4 position : SV_Position; float3 colour; };
Corner vs(float2 at, float3 colour, float scale) { return { float4(at * scale, 0.5, 1), colour }; }
float4 fs(Corner c) { return float4(c.colour * GAIN, 1); }
"""
AT = np.float32([[-1, -1], [3, -1], [-1, 3]])


@pytest.fixture
def draw(device: Any) -> Any:
    need_raster(device)
    m = fp.Module.load_from_source(device, "again", SOURCE.replace("GAIN", "1"))
    return fp.raster(m, vertex="vs", fragment="fs").options(depth="less", formats="rgba32_float")


@pytest.fixture
def ordinary(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The calls that went the ordinary way, by their targets."""
    asked: list[Any] = []
    given = Raster._given

    def noted(self: Any, *args: Any) -> Any:
        asked.append(args[3])
        return given(self, *args)

    monkeypatch.setattr(Raster, "_given", noted)
    return asked


def corners(device: Any, red: float, count: int = 3) -> dict[str, Any]:
    colours = np.tile(np.float32([red, 0, 0]), (count, 1))
    return {name: fp.Tensor.from_numpy(device, v) for name, v in {"at": np.resize(AT, (count, 2)), "colour": colours}.items()}


def test_a_call_of_the_same_kind_asks_nothing_and_draws_what_it_got(device: Any, draw: Any, ordinary: list[Any]) -> None:
    indices = fp.Tensor.from_numpy(device, np.uint32([0, 1, 2]))
    for red, scale in ((0.25, 1.0), (0.5, 2.0), (0.75, 0.0)):
        for count in (6, 9):
            image, depth = draw(corners(device, red, count), indices, targets=(4, 6), scale=scale)
            assert image.to_numpy()[3, 0, 0] == (red if scale else 0)
            assert depth.to_numpy()[3, 0] == (0.5 if scale else 1)
    assert ordinary == [(4, 6)]


def test_destinations_are_filled_and_checked_as_ever(device: Any, draw: Any, ordinary: list[Any]) -> None:
    image, depth = fp.Tensor.empty(device, (4, 4), "float4"), fp.Tensor.empty(device, (4, 4))
    for red in (0.25, 0.5):
        assert draw(corners(device, red), targets=(4, 4), scale=1.0, _result=(image, depth)) == (image, depth)
        assert image.to_numpy()[..., 0].tolist() == [[red] * 4] * 4
    assert len(ordinary) == 1
    with pytest.raises(fp.ShapeError, match="does not fit"):
        draw(corners(device, 1), targets=(4, 4), scale=1.0, _result=(image, fp.Tensor.empty(device, (4, 5))))
    with pytest.raises(fp.ShapeError, match="shares memory"):
        draw(corners(device, 1), targets=(4, 4), scale=1.0, _result=(image, image.flatten_dtype()[..., 0]))
    with pytest.raises(fp.ArgumentError, match="results"):
        draw(corners(device, 1), targets=(4, 4), scale=1.0, _result=(image,))
    assert len(ordinary) == 1


def test_other_kinds_of_calls_go_the_ordinary_way(device: Any, draw: Any, ordinary: list[Any]) -> None:
    mesh = corners(device, 0.5)
    draw(mesh, targets=(4, 4), scale=1.0)
    arrays = {name: t.to_numpy() for name, t in mesh.items()}
    calls: list[Any] = [
        lambda: draw(mesh, targets=(4, 5), scale=1.0),
        lambda: draw(arrays, targets=(4, 4), scale=1.0),
        lambda: draw(mesh, [0, 1, 2], targets=(4, 4), scale=1.0),
        lambda: draw({**arrays, "scale": np.ones(3, np.float32)}, targets=(4, 4)),
        lambda: draw(mesh, instances=2, targets=(4, 4), scale=1.0),
        lambda: fp.fuse(lambda at: draw({**mesh, "at": at}, targets=(4, 4), scale=1.0))(mesh["at"]),
    ]
    for i, call in enumerate(calls):
        assert np.asarray(call()[0])[3, 0, 0] == 0.5
        assert len(ordinary) == i + 2
    with pytest.raises(fp.ArgumentError, match="scael"):
        draw(mesh, targets=(4, 4), scael=1.0)
    with pytest.raises(fp.UnsupportedArgumentError):
        draw(mesh, targets=(4, 4), scale=object())
    assert draw(mesh, targets=(4, 4), scale=1.0)[0].to_numpy()[3, 0, 0] == 0.5


def test_a_capture_and_a_lazy_block_take_calls_that_came_before(device: Any, draw: Any) -> None:
    mesh = corners(device, 0.5)
    draw(mesh, targets=(4, 4), scale=1.0)
    captured = fp.capture(lambda at: draw({**mesh, "at": at}, targets=(4, 4), scale=1.0)[0], mesh["at"])
    assert captured.replay(fp.Tensor.from_numpy(device, AT - 9)).to_numpy()[..., 0].max() == 0
    mesh["at"].copy_from_numpy(AT)
    with fp.lazy():
        image = draw(mesh, targets=(4, 4), scale=1.0)[0]
        before = device.counters.dispatches
        doubled = image * 2.0
    assert device.counters.dispatches == before
    assert doubled.to_numpy()[3, 0, 0] == 1


def test_a_reload_is_seen(device: Any, tmp_path: Path) -> None:
    need_raster(device)
    path = tmp_path / "again_hot.slang"
    path.write_text(SOURCE.replace("GAIN", "1"))
    m = fp.Module.load_from_file(device, path)
    draw, mesh = fp.raster(m, vertex="vs", fragment="fs"), corners(device, 0.5)
    for gain in (1, 0.5, 0.25):
        path.write_text(SOURCE.replace("GAIN", str(gain)))
        m.reload()
        assert [draw(mesh, targets=(4, 4), scale=1.0).to_numpy()[3, 0, 0] for _ in range(2)] == [gain / 2] * 2


def textures(device: Any, *formats: str, size: tuple[int, int] = (4, 4)) -> list[Any]:
    made: list[Any] = []
    for name in formats:
        usage = spy.TextureUsage.depth_stencil if name.startswith("d") else spy.TextureUsage.render_target
        usage |= spy.TextureUsage.shader_resource | spy.TextureUsage.copy_source
        made.append(device.sgl.create_texture(format=spy.Format[name], width=size[1], height=size[0], usage=usage))
    return made


def test_indices_of_the_host_come_again_and_are_checked(device: Any, draw: Any, ordinary: list[Any]) -> None:
    mesh = corners(device, 0.5)
    for indices, seen in (([[0, 1, 2]], 0.5), ([[1, 1, 1]], 0), (np.int64([2, 0, 1]), 0.5), (np.uint8([[0, 0, 2]]), 0)):
        for _ in range(2):
            assert draw(mesh, indices, targets=(4, 4), scale=1.0)[0].to_numpy()[3, 0, 0] == seen
    assert len(ordinary) == 1
    for wrong in ([[0, 1, 3]], np.int8([0, 1, -1]), np.uint64([0, 1, 2**63])):
        with pytest.raises(fp.ShapeError, match="an index points past the vertices"):
            draw(mesh, wrong, targets=(4, 4), scale=1.0)
    with pytest.raises(fp.UnsupportedArgumentError, match="integers"):
        draw(mesh, [[0.0, 1.0, 2.0]], targets=(4, 4), scale=1.0)
    assert len(ordinary) == 1


def test_arrays_of_the_host_are_read_in_each_call(device: Any, draw: Any, ordinary: list[Any]) -> None:
    arrays = {name: t.to_numpy() for name, t in corners(device, 0.5, 6).items()}
    for red in np.float32([0.25, 0.5, 0.75, 1]):
        arrays["colour"][:, 0] = red
        assert draw(arrays, np.arange(6), targets=(4, 4), scale=1.0)[0][3, 0, 0] == red
    longer = {name: np.concatenate([a, a]) for name, a in arrays.items()}
    longer["colour"][:6] = 0
    for first, seen in ((0, 0), (6, 1)):
        assert draw(longer, np.arange(6) + first, targets=(4, 4), scale=1.0)[0][3, 0, 0] == seen
    assert len(ordinary) == 1


def test_textures_of_one_kind_come_again(device: Any, draw: Any, ordinary: list[Any]) -> None:
    mesh = corners(device, 0.5)
    for scale in (1.0, 0.0, 1.0):
        image, depth = textures(device, "rgba32_float", "d32_float")
        for _ in range(3):
            assert draw(mesh, targets=(image, depth), scale=scale) == (image, depth)
            assert image.to_numpy()[3, 0, 0] == (0.5 if scale else 0)
            assert depth.to_numpy()[3, 0] == (0.5 if scale else 1)
    assert len(ordinary) == 1
    other = textures(device, "rgba16_float", "d32_float")
    draw(mesh, targets=other, scale=1.0)
    assert len(ordinary) == 2
    assert other[0].to_numpy()[3, 0, 0] == 0.5
    usage = spy.TextureUsage.shader_resource
    unfit = device.sgl.create_texture(format=spy.Format.rgba32_float, width=4, height=4, usage=usage)
    with pytest.raises(fp.UnsupportedArgumentError, match="without the usage render_target"):
        draw(mesh, targets=(unfit, depth), scale=1.0)
    with pytest.raises(fp.ShapeError, match="images of one size"):
        draw(mesh, targets=(image, *textures(device, "d32_float", size=(4, 8))), scale=1.0)


def test_sizes_with_formats_come_again(device: Any, draw: Any, ordinary: list[Any]) -> None:
    mesh = corners(device, 0.3)
    for _ in range(3):
        assert draw(mesh, targets=((4, 4), "rgba8_unorm"), scale=1.0)[0].to_numpy()[3, 0, 0] == pytest.approx(0.3, abs=1 / 255)
        assert draw(mesh, targets=((4, 4), "rgba32_float"), scale=1.0)[0].to_numpy()[3, 0, 0] == np.float32(0.3)
    assert len(ordinary) == 2


def test_a_view_of_a_target_is_refused_when_it_comes_again(device: Any) -> None:
    source = SOURCE.replace("GAIN", "1") + "float4 ft(Corner c, Texture2D<float4> seen) { return seen.Load(int3(0, 0, 0)); }"
    need_raster(device)
    draw = fp.raster(fp.Module.load_from_source(device, "again_views", source), vertex="vs", fragment="ft")
    mesh, (target, other) = corners(device, 0.5), textures(device, "rgba32_float", "rgba32_float")
    for _ in range(3):
        draw(mesh, targets=target, scale=1.0, seen=other.create_view({}))
    with pytest.raises(fp.ArgumentError, match="reads a texture that it draws into"):
        draw(mesh, targets=target, scale=1.0, seen=target.create_view({}))


MESH = """
struct Corner { float4 position : SV_Position; float3 colour; };
[shader("mesh")] [numthreads(3, 1, 1)] [outputtopology("triangle")]
void ms(uint k : SV_GroupThreadID, uint3 group : SV_GroupID, float red, OutputVertices<Corner, 3> corners,
    OutputIndices<uint3, 1> triangles)
{
    SetMeshOutputCounts(3, 1);
    corners[k] = { float4(k == 1 ? 3 : -1, k == 2 ? 3 : -1, 0.5, 1), float3(red * (1 + group.x), 0, 0) };
    if (k == 0)
        triangles[0] = uint3(0, 1, 2);
}
[shader("fragment")] float4 fs(Corner c) : SV_Target { return float4(c.colour, 1); }
"""


def test_draws_of_mesh_shaders_come_again(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    need_raster(device)
    if "mesh_shader" not in device.features:
        pytest.skip("no mesh shaders")
    m = fp.Module.load_from_source(device, "again_meshes", MESH)
    draw = fp.raster(m, mesh="ms", fragment="fs").options(formats="rgba32_float", blend="add", clear=(0, 0, 0, 0))
    image, asked = fp.Tensor.empty(device, (4, 4), "float4"), []
    given = MeshRaster._of_groups
    monkeypatch.setattr(MeshRaster, "_of_groups", lambda self, *args: (asked.append(args[0]), given(self, *args))[1])
    for groups, seen in ((1, 0.5), (2, 1.5), ((2, 1), 1.5)):
        for _ in range(3):
            draw(groups, targets=(4, 4), red=0.5, _result=image)
            assert image.to_numpy()[..., 0].tolist() == [[seen] * 4] * 4
    assert asked == [1, 2, (2, 1)]
    with pytest.raises(fp.ShapeError, match="groups are one to three numbers"):
        draw(True, targets=(4, 4), red=0.5, _result=image)
    draw(1, targets=(4, 4), red=0.25, _result=image)
    assert image.to_numpy()[0, 0, 0] == 0.25
