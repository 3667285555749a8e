"""The places and rays of pixels of traced values, values of graphs and grids. `Camera` has those of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from fusepy.backend.marshals.generators import Generator, Grid
from fusepy.errors import ShapeError
from fusepy.language.constructors import CONSTRUCTORS
from fusepy.language.elementwise import composed
from fusepy.language.math import dot, sqrt
from fusepy.language.reductions import sum
from fusepy.location import user_line
from fusepy.symbolic import Symbolic, holds

_float2, _float3 = CONSTRUCTORS["float2"], CONSTRUCTORS["float3"]


def is_open(*values: Any) -> bool:
    """True if a kernel computes with one of these values."""
    return any(isinstance(value, (Symbolic, Generator, Grid)) or holds(value) for value in values)


@composed("size")
def pixel_to_uv(pixel: Any, size: Any) -> Any:
    """Returns the places of pixels in the image: vectors of vectors, and arrays of numbers of such arrays."""
    width, height = size
    if _is_vector(pixel):
        return (pixel + 0.5) / _float2(width, height)
    return (pixel + 0.5) / np.array([width, height], np.float32)


@composed("size")
def ray(pixel: Any, position: Any, forward: Any, right: Any, up: Any, size: Any) -> Any:
    """Returns the origins and the directions of the rays through the centres of pixels."""
    uv = pixel_to_uv(pixel, size)
    if _is_vector(pixel):
        start, *axes = (_float3(v[0], v[1], v[2]) for v in (position, forward, right, up))
        x, y = uv.x, uv.y
    else:
        start, *axes = position, forward, right, up
        x, y = uv[..., :1], uv[..., 1:]
    direction = axes[0] + (2 * x - 1) * axes[1] + (1 - 2 * y) * axes[2]
    squared = dot(direction, direction) if _is_vector(pixel) else sum(direction * direction, -1, True)
    return start + 0 * direction, direction / sqrt(squared)


def _is_vector(pixel: Any) -> bool:
    """True for pixels that are vectors.

    Raises:
        ShapeError: for what has not two coordinates.
    """
    vector, shape = bool(pixel.type.shape), tuple(pixel.type.shape or pixel.shape[-1:])
    if shape != (2,):
        raise ShapeError(
            "pixels have two coordinates",
            place=user_line(),
            saw=f"{pixel.type} over {pixel.rank} axes",
            expected="an int2, or an array of (…, 2)",
            hint="give x before y: fp.grid((height, width)), or fp.int2(x, y)",
        )
    return vector
