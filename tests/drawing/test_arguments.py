"""Sizes, counts and indices that are refused, by name and with a hint."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from tests.support.rasters import SOURCE, need_raster

V = {"at": np.float32([[-1, -1, 0.5, 1], [3, -1, 0.5, 1], [-1, 3, 0.5, 1]]), "colour": np.ones((3, 3), np.float32)}


@pytest.fixture(scope="module")
def draw(device: Any) -> Any:
    need_raster(device)
    return fp.raster(fp.Module.load_from_source(device, "arguments_of_draws", SOURCE), vertex="vs", fragment="fs")


REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no size": ({}, fp.ArgumentError, "has a size"),
    "three extents": ({"targets": (4, 4, 4)}, fp.ShapeError, "a height and a width"),
    "no pixels": ({"targets": (0, 4)}, fp.ShapeError, "a height and a width"),
    "past the end": ({"targets": (4, 4), "indices": [0, 1, 3]}, fp.ShapeError, "3 at 2, of 3 vertices"),
    "negative": ({"targets": (4, 4), "indices": np.array([0, -1, 2])}, fp.ShapeError, "-1 at 1"),
    "floats": ({"targets": (4, 4), "indices": [0.0, 1.0, 2.0]}, fp.UnsupportedArgumentError, "indices are integers"),
    "a tensor of floats": ({"targets": (4, 4), "indices": fp.Tensor([0.0, 1.0, 2.0])}, fp.ShapeError, "array of integers"),
    "one index": ({"targets": (4, 4), "indices": 3}, fp.ShapeError, "array of integers"),
    "fewer than none": ({"targets": (4, 4), "vertices": -1}, fp.ShapeError, "counted"),
    "lengths": ({"targets": (4, 4), "vertices": {**V, "colour": np.ones((2, 3), np.float32)}}, fp.ShapeError, "colour"),
    "no vertices": ({"targets": (4, 4), "vertices": {k: v[:0] for k, v in V.items()}}, fp.ShapeError, "mesh is empty"),
    "no indices": ({"targets": (4, 4), "indices": np.zeros((0, 3), int)}, fp.ShapeError, "mesh is empty"),
    "two indices": ({"targets": (4, 4), "indices": [0, 1]}, fp.ShapeError, "2 indices make no whole triangles"),
    "a rest": ({"targets": (4, 4), "indices": fp.Tensor(np.uint32([0, 1, 2, 0]))}, fp.ShapeError, "4 indices make no"),
    "components": ({"targets": (4, 4), "vertices": {**V, "colour": np.ones((3, 2), np.float32)}}, fp.FusepyError, "colour"),
    "an unknown format": ({"targets": ((4, 4), "rgba33")}, fp.UnknownNameError, "rgba33"),
}


@pytest.mark.req("R4")
@pytest.mark.parametrize("name", REFUSED)
def test_arguments_are_refused(draw: Any, name: str) -> None:
    given, error, words = REFUSED[name]
    with pytest.raises(error, match=words) as caught:
        draw(**{"vertices": V, **given})
    assert caught.value.hint


@pytest.mark.req("R4")
@pytest.mark.parametrize(
    ("topology", "least", "wrong", "hint"),
    [
        ("triangles", 3, (1, 2, 4), "triangle_strip"),
        ("triangle_strip", 3, (1, 2), "points"),
        ("lines", 2, (1, 3), "line_strip"),
        ("line_strip", 2, (1,), "points"),
        ("points", 1, (), ""),
    ],
)
def test_vertices_that_make_no_whole_shapes_are_refused(
    draw: Any, topology: str, least: int, wrong: tuple[int, ...], hint: str
) -> None:
    other = draw.options(topology=topology)
    for count in wrong:
        with pytest.raises(fp.ShapeError, match=f"{count} vert") as caught:
            other({name: np.resize(v, (count, v.shape[1])) for name, v in V.items()}, targets=(4, 4))
        with pytest.raises(fp.ShapeError, match=f"{count} ind"):
            other(V, [0] * count, targets=(4, 4))
    assert hint in str(caught.value.hint) if wrong else not hint
    other(V, [0, 1, 2][:least], targets=(4, 4))


def test_more_arguments_by_position_are_refused(draw: Any) -> None:
    with pytest.raises(fp.ArgumentError, match="only vertices and indices may be given by position") as caught:
        draw(V, [0, 1, 2], 3, targets=(4, 4))
    assert "targets=(height, width)" in str(caught.value.hint)


def test_targets_that_are_refused(draw: Any) -> None:
    sgl, usage = draw.tracer.device.sgl, spy.TextureUsage

    def texture(width: int, format: spy.Format = spy.Format.rgba32_float, used: Any = usage.render_target) -> Any:
        return sgl.create_texture(format=format, width=width, height=4, usage=used | usage.shader_resource)

    for targets, words in (
        ([texture(4), texture(5)], "of one size"),
        (texture(4, used=usage.unordered_access), "without the usage render_target"),
        (texture(4, spy.Format.r32_uint), "cannot hold"),
        ((4.0, 4), "a height and a width"),
    ):
        with pytest.raises(fp.FusepyError, match=words) as caught:
            draw(V, targets=targets)
        assert caught.value.hint
    with pytest.raises(fp.UnsupportedArgumentError, match="no target of this draw"):
        draw(V, targets=(4, 4), _result=texture(4, spy.Format.rgba8_unorm))
    with pytest.raises(fp.ArgumentError, match="targets of a call"):
        fp.fuse(lambda at: draw({**V, "at": at}, targets=texture(4)))(V["at"])


def test_a_target_is_the_first_level_of_a_texture(draw: Any) -> None:
    usage = spy.TextureUsage.render_target | spy.TextureUsage.shader_resource | spy.TextureUsage.copy_source
    texture = draw.tracer.device.sgl.create_texture(
        format=spy.Format.rgba32_float, width=4, height=4, mip_count=2, usage=usage | spy.TextureUsage.copy_destination
    )
    texture.copy_from_numpy(np.full((2, 2, 4), 0.5, np.float32), mip=1)
    draw(V, targets=texture)
    assert np.all(texture.to_numpy() == 1)
    assert np.all(texture.to_numpy(mip=1) == 0.5)


def test_a_texture_that_a_function_reads_is_named(draw: Any) -> None:
    source = """
    struct Corner { float4 position : SV_Position; };
    Corner vs(float2 at) { return { float4(at, 0.5, 1) }; }
    float4 fs(Corner c, Texture2D<float4> image) { return image[int2(0)]; }
    """
    m = fp.Module.load_from_source(draw.tracer.device, "named_texture", source)
    textured, usage, made = fp.raster(m, vertex="vs", fragment="fs"), spy.TextureUsage, []
    for used in (usage.shader_resource, usage.render_target):
        texture = m.device.sgl.create_texture(
            format=spy.Format.rgba32_float, width=1, height=1, usage=used | usage.copy_destination
        )
        texture.copy_from_numpy(np.full((1, 1, 4), 0.5, np.float32))
        made.append(texture)
    assert np.all(textured({"at": V["at"][:, :2]}, targets=(2, 2), image=made[0]) == 0.5)
    with pytest.raises(fp.UnsupportedArgumentError, match="argument 'image': a texture without the usage"):
        textured(3, targets=(2, 2), at=np.float32([0, 0]), image=made[1])


def test_a_mesh_of_another_device(draw: Any) -> None:
    other = fp.create_device(type="vulkan") if hasattr(fp, "create_device") else None
    if other is None or other is draw.tracer.device:
        pytest.skip("one device")
    with pytest.raises(fp.ShapeError, match="device"):
        draw({**V, "at": fp.Tensor.from_numpy(other, V["at"])}, targets=(4, 4))


@pytest.mark.parametrize("dtype", [np.int8, np.int16])
def test_negative_indices_of_few_bits_are_refused(draw: Any, dtype: Any) -> None:
    """As unsigned numbers they are vertices that a large mesh has."""
    many = {name: np.resize(v, ((1 << 16) + 1, v.shape[1])) for name, v in V.items()}
    assert draw(many, dtype([0, 1, 127]), targets=(4, 4)).shape[:2] == (4, 4)
    with pytest.raises(fp.ShapeError, match="-1 at 2"):
        draw(many, dtype([0, 1, -1]), targets=(4, 4))


@pytest.mark.req("R4")
def test_indices_on_the_device_never_read_past_the_vertices(draw: Any) -> None:
    given = {name: fp.Tensor(v) for name, v in V.items()}
    wrong = draw(given, fp.Tensor(np.uint32([0, 1, 0xFFFFFFFF])), targets=(4, 4))
    np.testing.assert_array_equal(wrong.to_numpy(), draw(given, targets=(4, 4)).to_numpy())


def test_options_that_are_refused(draw: Any) -> None:
    for options in (
        {"cull": "bakc"},
        {"samples": 3},
        {"clear": (1, 2)},
        {"depth": 1},
        {"viewport": (0, 0, 0, 1)},
        {"blnd": "add"},
    ):
        with pytest.raises(fp.ArgumentError) as caught:
            draw.options(**options)
        assert caught.value.hint
    with pytest.raises(fp.UnknownNameError, match="rgba9"):
        draw.options(formats=["rgba9"])
