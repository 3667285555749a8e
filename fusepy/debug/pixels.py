"""Arrays of numbers as pixels of bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fusepy.errors import ArgumentError, ShapeError

Array = NDArray[Any]
Bytes = NDArray[np.uint8]
BAD = (255, 0, 255)  # of a pixel that is NaN or infinite


@dataclass(frozen=True)
class Scale:
    """The numbers that become black and white.

    Attributes:
        low: the number that is black; ``None`` for 0.
        high: the number that is white; ``None`` for 1, for integers the largest of ``uint8`` and ``uint16``, or of the array.
        normalise: true to take the smallest and largest finite number of the array for what is ``None``.
        encode_srgb: true for numbers that are linear light.
    """

    low: float | None = None
    high: float | None = None
    normalise: bool = False
    encode_srgb: bool = False

    def ends(self, colours: Array) -> tuple[float, float]:
        """Returns the numbers that are black and white in an array.

        Raises:
            ArgumentError: if black is not less than white.
        """
        low, high = self.low, self.high
        if self.normalise:
            finite = colours[np.isfinite(colours)]
            low = low if low is not None else float(finite.min()) if finite.size else 0.0
            high = high if high is not None else float(finite.max()) if finite.size else 1.0
            if high == low and None in (self.low, self.high):  # all pixels are black
                high = low + 1
        low, high = 0.0 if low is None else float(low), _white(colours) if high is None else float(high)
        if not low < high:
            raise ArgumentError(
                "show(): black is not less than white",
                saw=f"vmin {low:g}, vmax {high:g}",
                hint="give a vmin that is less than vmax, such as vmin=0, vmax=1",
            )
        return low, high


def check_picture(array: Array, name: str) -> None:
    """Refuses an array that is no picture.

    Raises:
        ShapeError: unless it has two axes, or three of which the last has 1 to 4 components.
    """
    if array.ndim == 2 or (array.ndim == 3 and 1 <= array.shape[2] <= 4):
        if array.size:
            return
        hint = "show an array that has elements"
    elif array.ndim == 3 and array.shape[0] in (1, 3, 4):
        hint = "channels come last: show np.moveaxis(image, 0, -1), for torch x.permute(1, 2, 0)"
    elif array.ndim > 2:
        hint = "show one picture of it, such as image[0], or several as a list, [image[0], image[1]]"
    else:
        hint = "give it two axes, rows and columns: x.reshape(height, width)"
    raise ShapeError(
        f"show(): {name} is no picture",
        saw=f"an array of extents {array.shape}",
        expected="(height, width), or (height, width, 1 to 4)",
        hint=hint,
    )


def pixels_of(array: Array, scale: Scale) -> Bytes:
    """Returns a picture as RGB bytes, or RGBA for four components. What is not finite is magenta.

    One component is grey, two are red and green. The fourth is alpha, which no scale changes.
    """
    channels = array[..., None] if array.ndim == 2 else array
    alpha = channels[..., 3:]
    colours = channels[..., :3]
    low, high = scale.ends(colours)
    made = _as_bytes(_scaled(colours, low, high), scale.encode_srgb)
    if made.shape[2] == 1:
        made = np.repeat(made, 3, axis=2)
    elif made.shape[2] == 2:
        made = np.concatenate([made, np.zeros_like(made[..., :1])], axis=2)
    if alpha.shape[2]:
        made = np.concatenate([made, _as_bytes(_scaled(alpha, 0.0, _white(alpha)), False)], axis=2)
    made[~np.isfinite(channels).all(axis=2)] = BAD if made.shape[2] == 3 else (*BAD, 255)
    return np.ascontiguousarray(made)


def _white(values: Array) -> float:
    """Returns the number that is white by default."""
    if values.dtype.kind in "fb":
        return 1.0
    if values.dtype.name in ("uint8", "uint16"):
        return float(np.iinfo(values.dtype).max)
    return max(1.0, float(values.max()))


def _scaled(values: Array, low: float, high: float) -> Array:
    """Returns numbers with `low` as 0 and `high` as 1."""
    wide = values.astype(np.float64)
    half = high / 2 - low / 2  # of halves, since the difference of the largest numbers is infinite
    with np.errstate(over="ignore", invalid="ignore"):
        return (wide / 2 - low / 2) / half


def _as_bytes(values: Array, encode_srgb: bool) -> Bytes:
    """Returns numbers from 0 to 1 as bytes, those of linear light encoded.

    Source: IEC 61966-2-1, the transfer function of sRGB.
    """
    clipped = np.clip(np.nan_to_num(values), 0, 1)
    if encode_srgb:
        clipped = np.where(clipped <= 0.0031308, clipped * 12.92, 1.055 * clipped ** (1 / 2.4) - 0.055)
    return (clipped * 255 + 0.5).astype(np.uint8)
