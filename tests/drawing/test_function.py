"""Meshes as arguments, in every container and every kind of call; state; targets; what a draw says of itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from tests.support.rasters import MODES, SOURCE, called_as, need_raster, rasterised, soup
from tests.support.selection import daily

H, W = 37, 53
CORNERS = {
    "at": np.float32([[-1, -1, 0.5, 1], [3, -1, 0.5, 1], [-1, 3, 0.5, 1]]),
    "colour": np.float32([[1, 0, 0], [1, 0.5, 0], [1, 0, 0.25]]),
}


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    need_raster(device)
    return fp.Module.load_from_source(device, "rasters", SOURCE)


@pytest.fixture(scope="module")
def draw(m: Any) -> Any:
    return fp.raster(m, vertex="vs", fragment="fs")


def numbers(value: Any) -> Any:
    return value.to_numpy() if hasattr(value, "to_numpy") else np.asarray(value)


@pytest.mark.req("R4")
@pytest.mark.parametrize("form", ["numpy", "lists", "tensor", "view", "torch", "structs", "fields"])
def test_meshes_in_every_container(m: Any, draw: Any, form: str) -> None:
    at, colour, indices = soup(np.random.default_rng(5), 40)
    vertices: Any = {"at": at, "colour": colour}
    given: Any = indices
    if form == "lists":
        vertices, given = {name: v.tolist() for name, v in vertices.items()}, indices.tolist()
    elif form == "tensor":
        vertices, given = {name: fp.Tensor(v) for name, v in vertices.items()}, fp.Tensor(indices)
    elif form == "view":
        both = fp.Tensor(np.concatenate([colour, at], axis=1)[::-1].copy())[::-1]
        vertices = {"at": both[:, 3:], "colour": both[:, :3]}
    elif form == "torch":
        torch = pytest.importorskip("torch")
        vertices = {name: torch.from_numpy(v) for name, v in vertices.items()}
        given = torch.from_numpy(indices.astype(np.int64))
    elif form == "fields":  # a structured array without a struct: its fields are the parameters
        vertices = np.zeros(len(at), [("colour", "3f4"), ("at", "4f4")])
        vertices["at"], vertices["colour"] = at, colour
    elif form == "structs":
        source = SOURCE + "struct In { float4 at; float3 colour; }; Corner of(In v) { return { v.at, v.colour, 0 }; }"
        own = fp.Module.load_from_source(m.device, "rasters_of_structs", source)
        packed = np.zeros(len(at), [("at", "4f4"), ("colour", "3f4")])
        packed["at"], packed["colour"] = at, colour
        draw, vertices = fp.raster(own, vertex="of", fragment="fs"), fp.Tensor.from_numpy(m.device, packed, own.In)
    image, depth = draw.options(depth="less")(vertices, given, targets=(H, W))
    kind = {"numpy": np.ndarray, "lists": np.ndarray, "fields": np.ndarray, "torch": type(given)}.get(form, fp.Tensor)
    assert isinstance(image, kind)
    expected, near, clear = rasterised(at, colour, indices, H, W)
    assert clear.mean() > 0.5
    np.testing.assert_allclose(numbers(image)[..., :3][clear], expected[clear], atol=2e-3)
    np.testing.assert_allclose(numbers(depth)[clear], near[clear], atol=1e-3)  # NVIDIA places corners in 1/256 pixels


@pytest.mark.req("R4")
@pytest.mark.parametrize("mode", MODES)
def test_every_kind_of_call_with_a_tone_mapping_behind(m: Any, draw: Any, mode: str, tmp_path: Any) -> None:
    def frame(at: Any, colour: Any, stops: Any) -> Any:
        return m.tonemap(draw({"at": at, "colour": colour}, targets=(H, W)), stops) * 2.0

    def graph() -> fp.Graph:
        made = fp.Graph(inputs=["at", "colour", "stops"])
        at, colour, stops = made.get_inputs()
        image = draw.node()({"at": at, "colour": colour}, targets=(H, W))
        made.set_outputs(m.tonemap.node()(image, stops) * 2.0)
        return made

    given = fp.Tensor(CORNERS["at"]), fp.Tensor(CORNERS["colour"]), 1.0
    found = called_as(mode, m.device, frame, given, graph)
    if mode == "fused":
        told = str(fp.fuse(frame).explain(*given))
        assert "2 kernels" in told
        assert f"the rasteriser draws 3 vertices into {W} x {H} pixels" in told
        fp.fuse(frame).to_html(tmp_path / "frame.html", *given)
        assert "draw vs fs" in (tmp_path / "frame.html").read_text()
    image, _, clear = rasterised(CORNERS["at"], CORNERS["colour"], np.arange(3), H, W)
    np.testing.assert_allclose(numbers(found)[clear], (4 * image / (1 + image))[clear], atol=1e-4)


def test_what_a_draw_reads_may_be_computed(m: Any, draw: Any) -> None:
    @fp.fuse
    def frame(at: Any, colour: Any, gain: Any) -> Any:
        image = draw({"at": at * 0.5, "colour": colour * gain}, targets=(H, W))
        return fp.max(image), draw({"at": at, "colour": colour}, targets=(H, W)) + image

    most, both = frame(CORNERS["at"], CORNERS["colour"], 0.5)
    half, _, clear = rasterised(CORNERS["at"] * np.float32(0.5), CORNERS["colour"] * 0.5, np.arange(3), H, W)
    whole, _, _ = rasterised(CORNERS["at"], CORNERS["colour"], np.arange(3), H, W)
    np.testing.assert_allclose(most, [*half.max(axis=(0, 1)), 1], atol=1e-2)
    np.testing.assert_allclose(both[..., :3][clear], (half + whole)[clear], atol=1e-4)


@pytest.mark.req("R4")
def test_instances_and_what_is_shared(m: Any) -> None:
    source = (
        SOURCE
        + """
    uniform float dim;
    struct Camera { float2 by; float scale; };
    Corner placed(float4 at, float2 offset, Camera camera, uint nth : SV_InstanceID)
    { return { float4(at.xy * camera.scale + offset + camera.by, 0.5, 1), float3(nth == 0, nth == 1, offset.x > 0), nth }; }
    struct Targets { float4 colour : SV_Target0; uint2 ids : SV_Target1; };
    Targets both(Corner c, float4 place : SV_Position, float gain)
    { return { float4(c.colour * gain * dim, place.x), uint2(c.id, uint(place.y)) }; }
    """
    )
    own = fp.Module.load_from_source(m.device, "rasters_of_instances", source)
    draw = fp.raster(own, vertex="placed", fragment="both").options(clear=(0, 0, 0, -1))
    at = np.float32([[-1, -1, 0, 1], [1, -1, 0, 1], [-1, 1, 0, 1], [1, 1, 0, 1]])
    offsets = np.float32([[-0.5, 0], [0.5, 0]])
    camera = {"by": [0.0, 0.0], "scale": 0.25}
    given = {"instances": {"offset": offsets}, "camera": camera, "gain": 3.0, "targets": (8, 16)}
    image, ids = draw.options(topology="triangle_strip").set(dim=0.5)({"at": at}, **given)
    covered = np.zeros((8, 16), bool)
    covered[3:5, 2:6] = covered[3:5, 10:14] = True
    assert ((image[..., 3] >= 0) == covered).all()
    assert image[3, 3, :3].tolist() == [1.5, 0, 0]
    assert image[3, 12, :3].tolist() == [0, 1.5, 1.5]
    assert (image[3, 12, 3], ids[4, 12].tolist(), ids.dtype) == (12.5, [1, 4], np.uint32)
    again, _ = draw({"at": at}, [[0, 1, 2], [2, 1, 3]], dim=0.5, **given)
    np.testing.assert_array_equal(again, image)


@pytest.mark.req("R4")
@pytest.mark.parametrize(
    ("options", "pixel"),
    [
        ({}, [1, 0.125, 0.0625, 1]),
        ({"cull": "back"}, [1, 0.125, 0.0625, 1]),
        ({"cull": "front", "clear": (0, 0, 1)}, [0, 0, 1, 1]),
        ({"cull": "back", "front": "clockwise", "clear": 0.5}, [0.5, 0.5, 0.5, 0.5]),
        ({"blend": "add", "clear": (1, 0, 0, 0)}, [2, 0.125, 0.0625, 1]),
        ({"blend": "max", "clear": (0, 1, 0, 0)}, [1, 1, 0.0625, 1]),
        ({"depth": "greater", "clear_depth": 0.75, "clear": (0, 0, 0, 0)}, [0, 0, 0, 0]),
        ({"depth": "less_equal", "clear_depth": 0.5}, [1, 0.125, 0.0625, 1]),
        ({"viewport": (0, 0, 2, 4), "clear": 0}, [0, 0, 0, 0]),
        ({"samples": 4}, [1, 0.125, 0.0625, 1]),
        ({"fill": "wireframe", "clear": 0}, [0, 0, 0, 0]),
        ({"topology": "points", "clear": 0}, [0, 0, 0, 0]),
    ],
)
def test_state_is_options(draw: Any, options: dict[str, Any], pixel: list[float]) -> None:
    made = draw.options(**options)(CORNERS, targets=(4, 4))
    image = made[0] if "depth" in options else made
    assert image.shape == (4, 4, 4)
    found = image[1, 2] if "viewport" in options else image[1:3, 1:3].mean(axis=(0, 1))  # in the middle of the image
    np.testing.assert_allclose(found, pixel, atol=1e-5)


@pytest.mark.req("R4")
def test_targets_are_sizes_formats_or_textures(m: Any, draw: Any) -> None:
    usage = spy.TextureUsage.render_target | spy.TextureUsage.shader_resource | spy.TextureUsage.copy_source
    sized = draw.options(size=(4, 6), formats="rgba16_float")
    plain = draw(CORNERS, targets=(4, 6))
    np.testing.assert_allclose(numbers(sized(CORNERS)), plain, atol=1e-3)
    coded = draw(CORNERS, targets=((4, 6), "rgba8_unorm"))
    assert coded.dtype == np.float32
    np.testing.assert_allclose(coded, np.round(plain * 255) / 255, atol=1e-5)
    texture = m.device.sgl.create_texture(format=spy.Format.rgba8_unorm, width=6, height=4, usage=usage)
    assert draw(CORNERS, targets=texture) is texture
    np.testing.assert_array_equal(texture.to_numpy(), np.round(plain * 255))
    made = draw(CORNERS, targets=((4, 6), "rgba16_float"), _result="texture")
    assert made.format is spy.Format.rgba16_float
    out = fp.Tensor.empty(m.device, (6, 4), "float4")
    draw(CORNERS, targets=(4, 6), _result=out.T)
    np.testing.assert_array_equal(out.to_numpy().transpose(1, 0, 2), plain)


def test_other_sizes_need_no_new_program(m: Any, draw: Any) -> None:
    draw(CORNERS, targets=(4, 6))
    before = m.device.counters.plan_misses, m.device.counters.kernels_compiled
    for size in ((5, 5), (64, 3)):
        assert draw(CORNERS, targets=size).shape == (*size, 4)
    assert (m.device.counters.plan_misses, m.device.counters.kernels_compiled) == before


@pytest.mark.req("R4")
@pytest.mark.parametrize("place", [(4, 0), (4, 1), (4, 3)])
@pytest.mark.parametrize("value", daily([np.nan, np.inf, -np.inf], np.nan))
def test_triangles_that_are_not_finite_are_left_out(device: Any, place: Any, value: float) -> None:
    need_raster(device)

    def at_corner(at: Any) -> Any:
        return {"position": at}

    corners = np.float32([[-1, -1, 0.5, 1], [3, -1, 0.5, 1], [-1, 3, 0.5, 1], [-1, -1, 0.2, 1], [3, -1, 0.2, 1], [-1, 3, 0.2, 1]])
    triangles = np.int32([[0, 1, 2], [3, 4, 5]])
    assert (fp.rasterize(corners, triangles, (4, 4))[..., 3] == 2).all()
    corners[place] = value
    white = fp.raster(vertex=at_corner, fragment=lambda: fp.float4(1.0, 1.0, 1.0, 1.0), device=device)
    one = white.options(depth="less")({"at": corners}, triangles, targets=(4, 4))[1]
    if np.isnan(value) or place[1] < 3:  # an infinite w is at the centre of the image
        assert (one == 0.5).all()
    fragments = fp.rasterize(corners, triangles, (4, 4))
    assert (fragments[..., 3] == 1).all()
    assert np.isfinite(fragments).all()
    corners[3:] = corners[3]  # no area
    assert (white.options(depth="less")({"at": corners}, triangles, targets=(4, 4))[1] == 0.5).all()


@pytest.mark.req("R4")
def test_draws_of_depth_only_and_draws_upon_draws(m: Any, draw: Any) -> None:
    two = {k: np.concatenate([v, v]) for k, v in CORNERS.items()}
    two["at"][3:] *= np.float32([0.5, 0.5, 0.4, 1])  # a smaller triangle before the other one
    deep = {"depth": "less"}
    image, depth = draw.options(**deep)(two, targets=(8, 8))
    for fragment in (None, lambda: None):
        alone = fp.raster(m, vertex="vs", fragment=fragment).options(**deep)
        np.testing.assert_array_equal(alone(two, targets=(8, 8)), depth)
    np.testing.assert_array_equal(fp.fuse(lambda v: alone(v, targets=(8, 8)) * 2)(two), 2 * depth)
    holes = """
    struct V { float4 position : SV_Position; float2 at; };
    V vs(float2 at) { return { float4(at, 0.5, 1), at }; }
    void cut(V v) { if (v.at.x < 0) discard; }
    """
    cut = fp.raster(fp.Module.load_from_source(m.device, "holes", holes), vertex="vs", fragment="cut").options(**deep)
    assert cut({"at": CORNERS["at"][:, :2]}, targets=(4, 4))[0].tolist() == [1, 1, 0.5, 0.5]
    own = {"rgba32_float": spy.TextureUsage.render_target, "d32_float": spy.TextureUsage.depth_stencil}
    usage, new = spy.TextureUsage.shader_resource | spy.TextureUsage.copy_source, m.device.sgl.create_texture
    colour, stored = (new(format=spy.Format[f], width=8, height=8, usage=usage | use) for f, use in own.items())
    alone(two, targets=stored)
    first = draw.options(depth="equal", depth_write=False, clear_depth=None)  # behind a pass of depth
    first(two, targets=(colour, stored))
    np.testing.assert_array_equal(colour.to_numpy(), image)
    near = {**CORNERS, "at": CORNERS["at"] * np.float32([0.25, 0.25, 0.1, 1])}
    draw.options(**deep, clear=None, clear_depth=None)(near, targets=(colour, stored))
    every = {k: np.concatenate([two[k], near[k]]) for k in two}
    np.testing.assert_array_equal(colour.to_numpy(), draw.options(**deep)(every, targets=(8, 8))[0])
