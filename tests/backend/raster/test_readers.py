"""Images of every format as tensors: the texels that slangpy reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.rasters import SOURCE, need_raster
from tests.support.selection import daily

V = {"at": np.float32([[-1, -1, 0.5, 1], [3, -1, 0.5, 1], [-1, 3, 0.5, 1]]), "colour": np.float32(np.eye(3))}
FLOATS = ["rgba32_float", "rg32_float", "r32_float", "rgba16_float", "r16_float", "rgba8_unorm", "rg8_unorm", "rgba16_unorm"]
INTEGERS = ["r32_uint", "rg32_uint", "rgba8_uint", "r16_uint"]


@pytest.mark.parametrize(
    "format",
    daily([*FLOATS, "rgb10a2_unorm", "r11g11b10_float", *INTEGERS], "rgba32_float", "rg8_unorm", "rgba8_uint"),
)
def test_texels_of_every_format(device: Any, format: str) -> None:
    need_raster(device)
    m = fp.Module.load_from_source(device, "images", SOURCE)
    from fusepy.backend.memory.texture import texel_type
    from fusepy.backend.raster.formats import format_named

    texel = texel_type(format_named(format, "test"))
    count = texel.shape[0] if texel.shape else 1

    def shade(c: Any) -> Any:
        value = fp.float4(c.colour, 0.5)
        if not texel.is_float:
            value = fp.vcast(value * 200.0, "uint4")
        return getattr(value, "xyzw"[:count])

    draw = fp.raster(m, vertex="vs", fragment=shade)
    # 7 texels of a row fill no multiple of what drivers like
    texture = draw(V, targets=((5, 7), format), _result="texture")
    found = draw(V, targets=((5, 7), format), _result="tensor")
    assert found.dtype == texel
    told = np.float64(fp.fuse(lambda t: t)(texture).to_numpy())
    np.testing.assert_allclose(np.float64(found.to_numpy()), told, atol=1e-6)
    turned = fp.Tensor.empty(device, (7, 5), str(texel)).T
    draw(V, targets=((5, 7), format), _result=turned)
    np.testing.assert_array_equal(turned.to_numpy(), found.to_numpy())
    assert found.to_numpy().any()


def test_samples_are_averaged_and_depth_is_that_of_the_nearest(device: Any) -> None:
    need_raster(device)
    m = fp.Module.load_from_source(device, "images", SOURCE)
    draw = fp.raster(m, vertex="vs", fragment="fs")
    half = {**V, "at": V["at"] * np.float32([0.5, 1, 1, 1])}
    edges = draw.options(samples=4)(half, targets=(16, 16))[..., 3]
    assert set(np.unique(edges)) > {0.0, 0.25, 1.0}
    for format, tolerance in (("d32_float", 0), ("d16_unorm", 1e-4)):
        _, depth = draw.options(depth="less", depth_format=format)(half, targets=(16, 16))
        np.testing.assert_allclose(np.unique(depth), [0.5, 1], atol=tolerance)
