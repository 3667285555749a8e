"""Rasterisation with gradients: `rasterize`, `interpolate` and `antialias`, of which differentiable renderers are made.

The method is that of Laine et al., "Modular Primitives for High-Performance Differentiable Rendering", 2020. The fourth
primitive is in `texture`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fusepy.backend.device.device import Device
from fusepy.backend.marshals.registry import host_array
from fusepy.drawing.arguments import extents, indices_of
from fusepy.drawing.function import Raster
from fusepy.drawing.making import raster
from fusepy.drawing.opposites import opposite_corners
from fusepy.drawing.samples import check_sizes, has_one_channel, image_of
from fusepy.drawing.vectors import checked_rows, grouped, like, node_of_graphs, on_device_of, whole
from fusepy.errors import ArgumentError, ShapeError
from fusepy.functions.fused import FusedFunction
from fusepy.language.differentiable import stop_gradient
from fusepy.language.generators import grid
from fusepy.modules.module import Module

Array = np.ndarray[Any, np.dtype[Any]]
_IN_CLIP_SPACE = "join x, y, z and w = 1: fp.concatenate([xyz, ones], axis=1)"


@node_of_graphs(lambda *args, **named: 2 if _given(args, named, 3, "derivatives") else 1)
def rasterize(positions: Any, triangles: Any, size: tuple[int, int], derivatives: bool = False) -> Any:
    """Finds which triangle each pixel shows, and where in it.

    Args:
        positions: the vertices in clip space, (n, 4) floats: x, y, z and w; what lies between 0 and w in depth is seen.
        triangles: three vertices for each triangle, (m, 3) integers.
        size: the height and the width of the image.
        derivatives: True returns two images, the second one with the derivatives of the weights.

    Returns:
        *Fragments*: (height, width) of ``float4``: the weights of the second and the third corner, the depth, and the number
        of the triangle plus 1; without one, weights 0, depth 1 and number 0. Weights and depth have gradients by `positions`;
        which triangle a pixel shows has none, see `antialias`. Derivatives: (height, width) of ``float4``: how the weight of the
        second corner changes by a step of a pixel to the right, and down, then that of the third; with gradients by `positions`.

    Raises:
        DeviceError: if the device has no rasteriser; CUDA has none.
        ShapeError: for a size that no image has, positions of another shape, no triangles, and an index past the vertices.

    Example:
        >>> import fusepy as fp
        >>> corners = [[-1, -1, 0, 1], [3, -1, 0, 1], [-1, 3, 0, 1]]
        >>> fp.rasterize(np.float32(corners), np.int32([[0, 1, 2]]), (2, 4))[1, 0].tolist()
        [0.0625, 0.125, 0.0, 1.0]
    """
    triangles = _numbers(triangles)
    indices_of(triangles, positions, "rasterize")
    run = on_device_of(positions, "primitives", _Primitives).fused_rasterize
    return run(positions, triangles, extents(size, "rasterize"), bool(derivatives))


@node_of_graphs(lambda *args, **named: 1 if _given(args, named, 3, "derivatives") is None else 2)
def interpolate(attributes: Any, fragments: Any, triangles: Any, derivatives: Any = None) -> Any:
    """Returns the values of `attributes` at `fragments`, and 0 where there is no triangle.

    Args:
        attributes: a value for each vertex: (n,) floats, or (n, 2), (n, 3) or (n, 4).
        fragments: what `rasterize` returns.
        triangles: (m, 3) integers, the entries of `attributes` at the corners of each triangle. They may be others than those of
            the positions, such as at the seams of a texture.
        derivatives: the second image of `rasterize`, for attributes of one or two numbers.

    Returns:
        (height, width) floats or vectors, with gradients by `attributes` and, through `fragments`, by the positions. With
        `derivatives` a second image: how each number changes by a step of one pixel to the right, and down. `render.texture`
        takes it as `uv_da`.

    Raises:
        ShapeError: for attributes of another shape, an index past them, and derivatives of more than two numbers.

    Example:
        >>> import fusepy as fp
        >>> corners, triangles = np.float32([[-1, -1, 0, 1], [3, -1, 0, 1], [-1, 3, 0, 1]]), np.int32([[0, 1, 2]])
        >>> fragments, steps = fp.rasterize(corners, triangles, (2, 4), derivatives=True)
        >>> values, by_step = fp.interpolate(np.float32([0, 16, 32]), fragments, triangles, steps)
        >>> values[1].tolist(), by_step[1, 0].tolist()
        ([5.0, 7.0, 9.0, 11.0], [2.0, -8.0])
    """
    triangles = _numbers(triangles)
    indices_of(triangles, attributes, "interpolate")
    run = on_device_of(attributes, "primitives", _Primitives).fused_interpolate
    return run(attributes, fragments, triangles, **({} if derivatives is None else {"derivatives": derivatives}))


@node_of_graphs()
def antialias(image: Any, fragments: Any, positions: Any, triangles: Any, opposites: Any = None) -> Any:
    """Blends the edges of an image with what lies behind them, by the share of the pixel that they cover.

    So the image changes smoothly as vertices move, and has a gradient by `positions` along silhouettes.

    Args:
        image: (height, width) floats, or (height, width, 1 to 4).
        fragments, positions, triangles: what `rasterize` has returned and taken.
        opposites: what `opposite_corners` returns; needed where `triangles` lie on the device or are traced.

    Returns:
        An image like `image`.

    Raises:
        ArgumentError: without `opposites` where they cannot be found.
        ShapeError: for an image that is not of the size of the fragments, or has more channels.

    Example:
        >>> import fusepy as fp
        >>> corners, triangles = np.float32([[-1, -1, 0, 1], [-0.25, -1, 0, 1], [-1, 4, 0, 1]]), np.int32([[0, 1, 2]])
        >>> fragments = fp.rasterize(corners, triangles, (1, 4))
        >>> image = fp.interpolate(np.ones(3, np.float32), fragments, triangles)
        >>> fp.antialias(image, fragments, corners, triangles).astype(float).round(2).tolist()
        [[1.0, 0.2, 0.0, 0.0]]
    """
    triangles = _numbers(triangles)
    if opposites is None:
        if host_array(triangles) is None:
            raise ArgumentError(
                "antialias needs the corners across from the edges of triangles that are not on the host",
                saw=triangles,
                hint="pass opposites=fp.opposite_corners(triangles), made before from a NumPy array",
            )
        opposites = opposite_corners(triangles)
    check_sizes("antialias", image=image, fragments=fragments)
    return on_device_of(image, "primitives", _Primitives).fused_antialias(image, fragments, positions, triangles, opposites)


# ---- on a device -----------------------------------------------------------------------------------------------------


class _Primitives:
    """The primitives on one device."""

    def __init__(self, device: Device):
        self.module = Module.load_from_source(device, "primitives", "import fusepy; import fusepy_raster;")
        self.fused_rasterize = FusedFunction(self.rasterize, ("size", "derivatives"))
        self.fused_interpolate = FusedFunction(self.interpolate)
        self.fused_antialias = FusedFunction(self.antialias)
        self._draw: Raster | None = None  # made at the first use: it needs a rasteriser

    def rasterize(self, positions: Any, triangles: Any, size: tuple[int, int], derivatives: bool) -> Any:
        if self._draw is None:
            self._draw = raster(self.module, vertex="_id_vertex", fragment="_id_fragment").options(depth="less")
        positions = checked_rows(positions, (4,), "rasterize: positions", _IN_CLIP_SPACE)
        vectors = grouped(positions, 1)
        numbers, _ = self._draw({"position": stop_gradient(vectors)}, triangles, targets=size)
        args = numbers, grid(size), size[::-1], whole(positions, 1), triangles
        fragments = like(vectors, self.module.fragment_at(*args))
        return (fragments, like(vectors, self.module.derivatives_at(*args))) if derivatives else fragments

    def interpolate(self, attributes: Any, fragments: Any, triangles: Any, derivatives: Any = None) -> Any:
        hint = "take attributes[:, 0] of one number, and several calls for more than four: attributes[:, :4], attributes[:, 4:]"
        attributes = checked_rows(attributes, (1, 2, 3, 4), "interpolate: attributes", hint)
        fragments, whole_attributes = grouped(fragments, 2), whole(attributes, 1)
        values = self.module.interpolated(fragments, whole_attributes, triangles)
        if derivatives is None:
            return values
        if len(attributes.shape) == 2 and attributes.shape[1] not in (1, 2):
            raise ShapeError(
                "interpolate: derivatives are those of one or two numbers",
                saw=f"attributes of shape {tuple(attributes.shape)}",
                expected="(n,) or (n, 2)",
                hint="call it once for the coordinates of the texture with derivatives, and once for the rest without",
            )
        return values, self.module.interpolated_derivatives(fragments, grouped(derivatives, 2), whole_attributes, triangles)

    def antialias(self, image: Any, fragments: Any, positions: Any, triangles: Any, opposites: Any) -> Any:
        one, size = has_one_channel(image), image.shape[:2]
        image = image_of(image, "antialias: image")
        own = stop_gradient(grouped(fragments, 2))
        positions = checked_rows(positions, (4,), "antialias: positions", _IN_CLIP_SPACE)
        args = image, own, whole(positions, 1), triangles, opposites, own
        blended = like(image, self.module.antialiased(*args, grid(size), size[::-1]))
        return blended[..., None] if one else blended


def _given(args: Sequence[Any], named: Mapping[str, Any], place: int, name: str) -> Any:
    """Returns an argument of a call that may be left out; ``None`` without it."""
    return args[place] if len(args) > place else named.get(name)


def _numbers(triangles: Any) -> Any:
    """Returns triangles of the host as integers of 32 bits, and others as they are."""
    found: Array | None = np.asarray(triangles) if isinstance(triangles, (list, tuple)) else host_array(triangles)  # pyright: ignore
    return triangles if found is None or found.dtype.kind not in "iu" else found.astype(np.int32, copy=False)  # pyright: ignore
