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


def test_targets_that_are_refused(draw: Any) -> None:
    sgl, usage = draw.tracer.device.sgl, spy.TextureUsage

    def texture(width: int, format: spy.Format = spy.Format.rgba32_float, used: Any = usage.render_target) -> Any:
        return sgl.create_texture(format=format, width=width, height=4, usage=used | usage.shader_resource)

    for targets, words in (
        ([texture(4), texture(5)], "of one size"),
        (texture(4, used=usage.unordered_access), "without the usage render_target"),
        (texture(4, spy.Format.r32_uint), "cannot hold"),
    ):
        with pytest.raises(fp.FusepyError, match=words) as caught:
            draw(V, targets=targets)
        assert caught.value.hint
    with pytest.raises(fp.UnsupportedArgumentError, match="no target of this draw"):
        draw(V, targets=(4, 4), _result=texture(4, spy.Format.rgba8_unorm))
    with pytest.raises(fp.ArgumentError, match="targets of a call"):
        fp.fuse(lambda at: draw({**V, "at": at}, targets=texture(4)))(V["at"])


def test_a_mesh_of_another_device(draw: Any) -> None:
    other = fp.create_device(type="vulkan") if hasattr(fp, "create_device") else None
    if other is None or other is draw.tracer.device:
        pytest.skip("one device")
    with pytest.raises(fp.ShapeError, match="device"):
        draw({**V, "at": fp.Tensor.from_numpy(other, V["at"])}, targets=(4, 4))


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
