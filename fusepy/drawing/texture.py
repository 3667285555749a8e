"""`texture` and `mip_levels`: samples of images that are plain arrays, with gradients by the image and the places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fusepy.backend.device.device import Device
from fusepy.drawing.samples import BOUNDARIES, check_levels, given_levels, has_one_channel, image_of, meant, vectors_of
from fusepy.drawing.vectors import like, node_of_graphs, on_device_of
from fusepy.errors import ShapeError
from fusepy.functions.fused import FusedFunction
from fusepy.language.differentiable import stop_gradient
from fusepy.language.generators import grid
from fusepy.language.math import floor
from fusepy.location import user_line
from fusepy.modules.module import Module

_CHOICE = ("uv_da", "mip_level_bias", "mip")


@node_of_graphs()
def texture(
    image: Any,
    uv: Any,
    uv_da: Any = None,
    mip_level_bias: Any = None,
    mip: Any = None,
    filter_mode: str = "auto",
    boundary_mode: str = "wrap",
    max_mip_level: int | None = None,
) -> Any:
    """Returns samples of an image at places: nvdiffrast's fourth primitive, with its names.

    Args:
        image: (height, width) floats, or (height, width, 1 to 4); or an array of `float2` to `float4`.
        uv: (…, 2) floats, u along rows and v down the columns: (0, 0) is the outer corner of the first texel, (1, 1) that of the
            last one, and centres of texels are at (column + 0.5) / width and (row + 0.5) / height.
        uv_da: (…, 4) floats: the derivatives of u by a step of one pixel to the right and down, then those of v, as `interpolate`
            returns them. They choose the mip level.
        mip_level_bias: (…) floats, added to this level; without `uv_da` it is the level. Level 0 is the image.
        mip: the levels from 1 on, a list of images; by default each is made of the one before, see `mip_levels`.
        filter_mode: ``"nearest"``, ``"linear"``, ``"linear-mipmap-nearest"`` or ``"linear-mipmap-linear"``. ``"auto"`` is the
            last one where `uv_da` or `mip_level_bias` is given, else ``"linear"``.
        boundary_mode: what lies outside: ``"wrap"``, ``"clamp"``, ``"mirror"``, or ``"zero"``.
        max_mip_level: the last level that is used.

    Returns:
        (…) floats or vectors; (…, 1) floats of an image (height, width, 1). They have gradients by `image` or the levels, `uv`,
        `uv_da` and `mip_level_bias`. Threads add to the gradient of a texel in no fixed order, unless the function has the
        option ``deterministic``.

    Raises:
        ArgumentError: for another word, mip levels without a level to choose, or a level without mip levels.
        ShapeError: for other shapes; for an extent that is odd, since the next level has half of it.
        UnsupportedArgumentError: for an image of other numbers than floats, and for textures of the device.

    Example:
        >>> import numpy as np
        >>> import fusepy as fp
        >>> image = np.float32([[0, 1], [2, 3]])
        >>> fp.render.texture(image, np.float32([[0.25, 0.25], [0.5, 0.25], [0.5, 0.5]])).tolist()
        [0.0, 0.5, 1.5]
        >>> fp.render.texture(image, np.float32([[0.25, 0.25]]), mip_level_bias=0.5).tolist()
        [0.75]
    """
    filter_mode = meant(filter_mode, boundary_mode, uv_da, mip_level_bias, mip)
    check_levels(mip, max_mip_level)
    given = zip(_CHOICE, (uv_da, mip_level_bias, None if mip is None else list(mip)))
    named = {name: value for name, value in given if value is not None}
    run = on_device_of(image, "samples", _Samples).texture
    return run(image, uv, filter_mode=filter_mode, boundary_mode=boundary_mode, max_mip_level=max_mip_level, **named)


def mip_levels(image: Any, max_mip_level: int | None = None) -> list[Any]:
    """Returns the mip levels of an image from 1 on, each the means of 2 x 2 texels of the one before; an extent of 1 stays.

    It saves time where many calls of `texture` read one image: pass them as `mip`.

    Args:
        image: as for `texture`; the gradient by it includes that of its levels.
        max_mip_level: the last level; by default the one with a single texel.

    Raises:
        ShapeError: for an odd extent before the last level.

    Example:
        >>> import numpy as np
        >>> import fusepy as fp
        >>> [level.tolist() for level in fp.render.mip_levels(np.float32([[0, 1, 4, 4], [2, 3, 4, 4]]))]
        [[[1.5, 4.0]], [[2.75]]]
    """
    check_levels(None, max_mip_level)
    return list(on_device_of(image, "samples", _Samples).levels(image, last=max_mip_level))


class _Samples:
    """Samples of images on one device."""

    def __init__(self, device: Device):
        self.module = Module.load_from_source(device, "images", "import fusepy; import fusepy_images;")
        self.texture = FusedFunction(self._texture, ("filter_mode", "boundary_mode", "max_mip_level"))
        self.levels = FusedFunction(self._levels, ("last",))

    def _texture(
        self, image: Any, uv: Any, *, filter_mode: str, boundary_mode: str, max_mip_level: int | None, **chosen: Any
    ) -> Any:
        """Returns the samples; `chosen` has what `texture` takes to choose among mip levels, as far as it was given."""
        one, boundary = has_one_channel(image), BOUNDARIES.index(boundary_mode)
        found = self._sampled(
            image_of(image, "texture: image"), vectors_of(uv, 2, "uv"), filter_mode, boundary, max_mip_level, **chosen
        )
        return found[..., None] if one else found

    def _sampled(self, image: Any, uv: Any, filter_mode: str, boundary: int, max_mip_level: int | None, **chosen: Any) -> Any:
        uv_da, mip_level_bias, mip = (chosen.get(name) for name in _CHOICE)
        if "mipmap" not in filter_mode:
            read = self.module.nearest_texel if filter_mode == "nearest" else self.module.sampled
            return read(image, uv, boundary)
        rest = self._halves(image, max_mip_level) if mip is None else given_levels(mip, max_mip_level)
        level = 0.0 if mip_level_bias is None else mip_level_bias
        if uv_da is not None:
            height, width = image.shape[:2]
            level = self.module.level_of(vectors_of(uv_da, 4, "uv_da"), (float(width), float(height))) + level
        level = self.module.existing_level(level, len(rest))
        if filter_mode == "linear-mipmap-nearest":
            level = floor(stop_gradient(level) + 0.5)
        return self._between((image, *rest), uv, boundary, level)

    def _between(self, levels: Sequence[Any], uv: Any, boundary: int, level: Any) -> Any:
        """Returns samples between two levels. Eight are read by one call: each call has a kernel of its own in a gradient."""
        if len(levels) == 1:
            return self.module.sampled(levels[0], uv, boundary)
        total: Any = None
        for k in range(0, len(levels), 8):
            eight = [levels[min(k + j, len(levels) - 1)] for j in range(8)]  # no sample has a share of those past the last one
            share = self.module.shares_of_levels(*eight, uv, boundary, level, k)
            total = share if total is None else total + share
        return total

    def _levels(self, image: Any, last: int | None) -> tuple[Any, ...]:
        one = has_one_channel(image)
        return tuple(level[..., None] if one else level for level in self._halves(image_of(image, "texture: image"), last))

    def _halves(self, image: Any, last: int | None) -> list[Any]:
        """Returns the levels from 1 on."""
        made: list[Any] = []
        size = tuple(image.shape[:2])
        while max(size) > 1 and (last is None or len(made) < last):
            if any(n > 1 and n % 2 for n in size):
                raise ShapeError(
                    f"texture: level {len(made)} of the image has an odd extent, and the next level half of it",
                    place=user_line(),
                    saw=f"{size}, of an image of {tuple(image.shape[:2])}",
                    expected="even extents, or 1",
                    hint=f"pass max_mip_level={len(made)}, or an image whose extents are powers of two",
                )
            size = tuple(max(n // 2, 1) for n in size)
            before = made[-1] if made else image
            made.append(like(image, self.module.halved(before, grid(size))))
        return made
