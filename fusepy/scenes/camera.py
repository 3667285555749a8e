"""`Camera`, and the places of pixels, as in ``fusepy_rays.slang``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fusepy.backend.sealed import Sealed
from fusepy.errors import ShapeError
from fusepy.ir.value import Array
from fusepy.pytree import attributes, reader, register
from fusepy.scenes import pixels


class Camera(Sealed):
    """A pinhole camera. Slang takes it as a ``Camera`` of ``import fusepy_rays;``.

    Args:
        position: the eye.
        target: a point in the middle of the image.
        up: a direction that is upwards in the image.
        fov: the angle between the lower and the upper edge of the image, in degrees.
        aspect: the width of the image divided by its height.

    Attributes:
        position, forward, right, up: as in Slang: `right` and `up` reach from the middle of the image to its edges. Each
            use reads them, so they can be assigned; a camera at another position looks in the same direction.

    Raises:
        ShapeError: if something is no three finite numbers, `target` is `position`, or `up` points along the view.

    Example:
        >>> import fusepy as fp
        >>> camera = fp.Camera(position=(0, 0, 2), target=(0, 0, 0))
        >>> origin, direction = camera.ray((50, 50), (101, 101))
        >>> origin.tolist(), direction.tolist()
        ([0.0, 0.0, 2.0], [0.0, 0.0, -1.0])
        >>> fp.Camera(position=(0, 0, 2), target=(0, 0, 0), fov=90)
        <Camera position (0, 0, 2), forward (0, 0, -1), right (1, 0, 0), up (0, 1, 0)>
    """

    _free = ("position", "forward", "right", "up")
    _assigning = {"": "make another one: fp.Camera(position, target, fov=45)"}

    def __init__(self, position: Any, target: Any, up: Any = (0, 1, 0), *, fov: float = 45.0, aspect: float = 1.0):
        eye, aim, above = _three(position, "position"), _three(target, "target"), _three(up, "up")
        forward, distance = aim - eye, float(np.linalg.norm(aim - eye))
        right = np.cross(forward, above)
        length = float(np.linalg.norm(right))
        if not length > 1e-6 * distance * float(np.linalg.norm(above)):
            raise ShapeError(
                "a camera that looks nowhere",
                saw=f"position {eye.tolist()}, target {aim.tolist()}, up {above.tolist()}",
                expected="a target apart from the position, and up across the view",
                hint="move the target, or choose another up, such as (0, 0, 1)",
            )
        given: tuple[Any, Any] = fov, aspect
        numbers = all(isinstance(number, (int, float, np.number)) for number in given)
        if not (numbers and 0 < fov < 180 and 0 < aspect < math.inf):
            raise ShapeError(
                "a camera without an image", saw=f"fov {fov!r}, aspect {aspect!r}", expected="0 < fov < 180, aspect > 0",
                hint="give the angle in degrees, and width / height",
            )  # fmt: skip
        reach = math.tan(math.radians(fov) / 2)
        self.position = _listed(eye)
        self.forward = _listed(forward / distance)
        self.right = _listed(right / length * (reach * aspect))
        self.up = _listed(np.cross(right / length, forward / distance) * reach)

    def ray(self, pixel: Any, size: Any) -> tuple[Any, Any]:
        """Returns the origins and the directions, of length 1, of the rays through the centres of pixels.

        Args:
            pixel: ``(x, y)``, an array of shape ``(…, 2)``, a grid, or a value of a fused function or graph.
            size: ``(width, height)`` of the image.

        Returns:
            two arrays of shape ``(…, 3)``; of a grid or of vectors arrays of ``float3``.
        """
        if pixels.is_open(pixel, self.position):
            made = pixels.ray(pixel, self.position, self.forward, self.right, self.up, _extents(size))
            return made[0], made[1]
        uv = pixel_to_uv(pixel, size)
        forward, right, up = (np.asarray(v) for v in (self.forward, self.right, self.up))
        direction = forward + (2 * uv[..., :1] - 1) * right + (1 - 2 * uv[..., 1:]) * up
        direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
        return np.broadcast_to(np.array(self.position, np.float32), direction.shape), direction.astype(np.float32)

    def __repr__(self) -> str:
        members = {name: getattr(self, name) for name in ("position", "forward", "right", "up")}
        return f"<Camera {', '.join(f'{k} ({_shown(v)})' for k, v in members.items())}>"


register(Camera, attributes(reader(("position", "forward", "right", "up"))))  # a gradient by a camera is a camera of gradients


def pixel_to_uv(pixel: Any, size: Any) -> Any:
    """Returns the places of the centres of pixels, from ``(0, 0)`` at the top left to ``(1, 1)`` at the bottom right.

    Args:
        pixel: ``(x, y)``, an array of shape ``(…, 2)``, a grid, or a value of a fused function or graph.
        size: ``(width, height)`` of the image.

    Raises:
        ShapeError: for anything else.

    Example:
        >>> import fusepy as fp
        >>> fp.pixel_to_uv((0, 3), (4, 4)).tolist()
        [0.125, 0.875]
        >>> fp.fuse(lambda pixels: fp.pixel_to_uv(pixels, (4, 2)).x)(fp.grid((1, 2))).to_numpy().tolist()
        [[0.125, 0.375]]
    """
    if pixels.is_open(pixel):
        return pixels.pixel_to_uv(pixel, _extents(size))
    place, extent = np.asarray(pixel, np.float64), _extents(size)
    if place.shape[-1:] != (2,):
        raise _two(place.shape)
    return ((place + 0.5) / np.array(extent)).astype(np.float32)


def _extents(size: Any) -> tuple[float, float]:
    """Returns the width and the height of an image as numbers of Python."""
    given = np.asarray(size, np.float64)
    if given.shape != (2,) or not (given > 0).all():
        raise _two(given.tolist())
    return float(given[0]), float(given[1])


def _two(saw: Any) -> ShapeError:
    return ShapeError(
        "pixels have two coordinates, and so has the size",
        saw=saw,
        expected="(…, 2) and (width, height)",
        hint="give x before y, and width before height",
    )


def _three(given: Any, what: str) -> Array:
    try:
        found = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape != (3,) or not np.isfinite(found).all():
        raise ShapeError(f"{what} of a camera is three numbers", saw=repr(given)[:60], hint=f"write {what}=(x, y, z)")
    return found


def _shown(vector: Any) -> str:
    return ", ".join(f"{x + 0.0:.4g}" for x in np.asarray(vector, np.float64).ravel())


def _listed(vector: Array) -> Sequence[float]:
    return [float(x) for x in vector]
