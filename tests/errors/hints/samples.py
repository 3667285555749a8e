"""Programs after hints about samples of images, and derivatives by pixels."""

from __future__ import annotations

from typing import Any

import numpy as np

import fusepy as fp
from tests.errors.hints.support import Program
from tests.support.rasters import need_raster

IMAGE = np.float32([[0, 1], [2, 3]])
MIDDLE = np.float32([[0.5, 0.5]])
MEAN = np.float32([1.5])
WIDE = np.ones((2, 2, 5), np.float32) * np.float32([1.5, 0, 0, 0, 0])
CORNERS, TRIANGLE = np.float32([[-1, -1, 0.5, 1], [3, -1, 0.5, 1], [-1, 3, 0.5, 1]]), np.int32([[0, 1, 2]])
LONG = np.full((6, 2), 1.5, np.float32)


def sampled(image: Any = IMAGE, uv: Any = MIDDLE, *args: Any, **given: Any) -> Any:
    return fp.render.texture(image, uv, *args, **given)


def right(m: Any) -> Any:
    return sampled()


def stepped(count: int) -> Any:
    need_raster(fp.default_device())
    fragments, steps = fp.rasterize(CORNERS, TRIANGLE, (2, 2), derivatives=True)
    values = np.float32([[0, 0, 7], [2, 0, 7], [0, 2, 7]])[:, :count].copy()
    return fp.interpolate(values, fragments, [[0, 1, 2]], steps)[1][0, 0]


def blended(image: Any, corners: Any = CORNERS) -> Any:
    need_raster(fp.default_device())
    return fp.antialias(image, fp.rasterize(CORNERS, TRIANGLE, (2, 2)), corners, TRIANGLE)


PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    "an image of integers": (
        lambda m: sampled(IMAGE.astype(np.uint8)),
        'convert it: fp.astype(image, "float")',
        lambda m: sampled(fp.astype(IMAGE.astype(np.uint8), "float")),
        MEAN,
    ),
    "an image of another size than its fragments": (
        lambda m: blended(np.ones((3, 3), np.float32)),
        "compute the image of the same fragments, as interpolate does",
        lambda m: blended(fp.interpolate(np.ones(3, np.float32), fp.rasterize(CORNERS, TRIANGLE, (2, 2)), TRIANGLE)),
        np.ones((2, 2), np.float32),
    ),
    "corners as doubles": (
        lambda m: blended(np.ones((2, 2), np.float32), fp.Tensor(CORNERS.astype(np.float64))),
        'convert them: fp.astype(x, "float")',
        lambda m: blended(np.ones((2, 2), np.float32), fp.astype(fp.Tensor(CORNERS.astype(np.float64)), "float")),
        np.ones((2, 2), np.float32),
    ),
    "an image of five channels": (
        lambda m: sampled(WIDE),
        "take image[..., :4]",
        lambda m: sampled(WIDE[..., :4].copy())[..., 0],
        MEAN,
    ),
    "places of three numbers": (
        lambda m: sampled(uv=np.float32([[0.5, 0.5, 0]])),
        "join them with fp.stack(…, axis=-1), u before v",
        lambda m: sampled(uv=fp.stack([MIDDLE[:, 0], MIDDLE[:, 1]], axis=-1)),
        MEAN,
    ),
    "derivatives of two numbers": (
        lambda m: sampled(IMAGE, MIDDLE, np.zeros((1, 2), np.float32)),
        "pass what interpolate returns for uv",
        lambda m: sampled(IMAGE, MIDDLE, stepped(2)[None]),
        MEAN,
    ),
    "a filter of mip levels without a level": (
        lambda m: sampled(filter_mode="linear-mipmap-linear"),
        "leave filter_mode out, and pass uv_da=, or mip_level_bias= with the level",
        lambda m: sampled(mip_level_bias=1.0),
        MEAN,
    ),
    "mip levels in one array": (
        lambda m: sampled(mip_level_bias=1.0, mip=MEAN[:, None]),
        "pass the levels from 1 on: mip=fp.render.mip_levels(image)",
        lambda m: sampled(mip_level_bias=1.0, mip=fp.render.mip_levels(IMAGE)),
        MEAN,
    ),
    "a level below none": (
        lambda m: sampled(mip_level_bias=1.0, max_mip_level=-1),
        "pass 1 for the image and one level of half its size",
        lambda m: sampled(mip_level_bias=1.0, max_mip_level=1),
        MEAN,
    ),
    "an odd extent": (
        lambda m: sampled(LONG, mip_level_bias=3.0),
        "pass max_mip_level=1, or an image whose extents are powers of two",
        lambda m: sampled(LONG, mip_level_bias=3.0, max_mip_level=1),
        MEAN,
    ),
    "derivatives of three numbers": (
        lambda m: stepped(3),
        "call it once for the coordinates of the texture with derivatives, and once for the rest without",
        lambda m: stepped(2),
        np.float32([0.5, 0, 0, -0.5]),
    ),
}
