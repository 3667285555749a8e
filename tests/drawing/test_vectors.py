"""Vertices that functions compute are arguments of the primitives, as vectors and as rows of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.rasters import need_raster

SOURCE = "float4 placed(float3 p, float4x4 view) { return mul(view, float4(p, 1)); } float2 flat(float3 p) { return p.xy; }"
CORNERS = np.float32([[-0.7, -0.7, 0.5], [0.8, -0.5, 0.5], [-0.4, 0.8, 0.5]])
VIEW = np.eye(4, dtype=np.float32)


@pytest.mark.req("R5")
@pytest.mark.parametrize("form", ["numbers", "vectors", "tensor"])
def test_computed_vertices_have_one_width(device: Any, form: str) -> None:
    need_raster(device)
    m = fp.Module.load_from_source(device, "computed_vertices", SOURCE)
    corners: Any = fp.Tensor.from_numpy(device, CORNERS, "float3") if form == "vectors" else CORNERS
    corners = fp.Tensor.from_numpy(device, CORNERS) if form == "tensor" else corners

    @fp.fuse
    def picture(corners: Any, view: Any) -> Any:
        at = m.placed(corners, view)
        fragments = fp.rasterize(at, np.int32([[0, 1, 2]]), (6, 8))
        return fp.interpolate(m.flat(corners), fragments, np.int32([[0, 1, 2]]))

    wanted = fp.rasterize(np.concatenate([CORNERS, np.ones((3, 1), np.float32)], 1), np.int32([[0, 1, 2]]), (6, 8))
    found = np.asarray(picture(corners, VIEW))
    assert wanted[..., 3].sum() > 8
    np.testing.assert_allclose(found, np.asarray(fp.interpolate(CORNERS[:, :2], wanted, np.int32([[0, 1, 2]]))), atol=1e-6)
    with pytest.raises(fp.ShapeError, match=r"positions are of another shape[\s\S]*\(3, 2\)[\s\S]*\(n, 4\)"):
        fp.fuse(lambda corners: fp.rasterize(m.flat(corners), np.int32([[0, 1, 2]]), (6, 8)))(corners)


@pytest.mark.req("R5")
def test_an_image_that_is_antialiased_has_the_size_of_the_fragments(device: Any) -> None:
    need_raster(device)
    corners, triangles = np.concatenate([CORNERS, np.ones((3, 1), np.float32)], 1), np.int32([[0, 1, 2]])

    def blended(image: Any, corners: Any) -> Any:
        return fp.antialias(image, fp.rasterize(corners, triangles, (6, 8)), corners, triangles)

    image = np.random.default_rng(2).random((6, 8, 1), dtype=np.float32)
    np.testing.assert_array_equal(blended(image, corners)[..., 0], blended(image[..., 0], corners))
    for wrong in (np.ones((6, 9, 3), np.float32), np.ones((1, 8, 3), np.float32), np.ones((12, 8), np.float32)):
        with pytest.raises(fp.ShapeError, match="images are of different sizes"):
            blended(wrong, corners)
        if wrong.shape[0] > 1:  # in a fused function only the call knows the sizes; what has one row is stretched there
            with pytest.raises(fp.ShapeError, match="do not broadcast"):
                fp.fuse(lambda image, corners: blended(image * 2, corners))(wrong, corners)
    for given in (corners.astype(np.float16), corners.astype(np.int32)):
        with pytest.raises(fp.UnsupportedArgumentError, match="antialias: positions hold no floats of 32 bits"):
            fp.antialias(image, fp.rasterize(corners, triangles, (6, 8)), given, triangles)
