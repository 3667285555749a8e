"""Pictures: photographs as arrays, arrays as pixels and thumbnails. Photographs need Pillow."""

# Pillow's stubs leave opened files partly untyped.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fusepy.debug.pixels import Scale, pixels_of
from fusepy.debug.png import png
from fusepy.errors import MissingPackageError, StudioError

Array = NDArray[Any]
PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp")
THUMBNAIL = 192  # pixels of the longer side at most
_MOST_PIXELS = 1 << 27


def photograph(path: Path, longest: int) -> NDArray[np.float32]:
    """Returns sRGB code values in 0 to 1, of shape ``(height, width, 3)``, upright, no side longer than `longest`.

    An exported program has the same lines.

    Raises:
        MissingPackageError: without Pillow.
        StudioError: for a missing, damaged or oversized file.
    """
    try:
        from PIL import Image, ImageOps
    except ImportError:
        raise MissingPackageError("photographs need Pillow", hint='pip install "fusepy-slang[studio]"') from None
    try:
        with Image.open(path) as opened:
            large = opened.width * opened.height > _MOST_PIXELS
            picture = None if large else ImageOps.exif_transpose(opened).convert("RGB")
    except (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error, Image.DecompressionBombError) as error:
        hint = "give a picture that other programs open, below the folder of the studio"
        raise StudioError(f"{path.name} cannot be read as a picture", saw=str(error)[:120], hint=hint) from None
    if picture is None:
        saw, hint = f"{opened.width} x {opened.height}", "give a smaller version of it"
        raise StudioError(f"{path.name} has too many pixels", saw=saw, hint=hint)
    picture.thumbnail((longest, longest), Image.Resampling.BOX)
    return np.divide(np.asarray(picture), np.float32(255), dtype=np.float32)


def as_pixels(values: Array) -> NDArray[np.uint8] | None:
    """Returns a grid of numbers as RGB bytes: 0 is black, 1 is white; ``None`` for anything but a picture.

    Integers are scaled by their maximum. One component is grey, two are red and green. What is not finite is magenta.
    """
    if values.dtype.names is not None or values.dtype.kind not in "biuf" or values.ndim not in (2, 3) or not values.size:
        return None
    if values.ndim == 3 and values.shape[2] > 4:
        return None
    largest = max(1.0, float(np.abs(values.astype(np.float64)).max())) if values.dtype.kind in "iu" else 1.0
    return pixels_of(values if values.ndim == 2 else values[..., :3], Scale(high=largest))


def thumbnail(values: Array) -> str | None:
    """Returns a small picture of a grid of numbers as a data URL; ``None`` for anything but a picture."""
    if values.ndim not in (2, 3):
        return None
    step = -(-max(values.shape[:2]) // THUMBNAIL) or 1
    pixels = as_pixels(values[::step, ::step])
    return None if pixels is None else "data:image/png;base64," + b64encode(png(pixels)).decode("ascii")


def bad_numbers(values: Array) -> int:
    """Returns how many numbers are NaN or infinite."""
    if values.dtype.names is not None:
        return sum(bad_numbers(values[name]) for name in values.dtype.names)
    if values.dtype.kind != "f":
        return 0
    with np.errstate(all="ignore"):
        if np.isfinite(values.sum()):  # one pass, without a temporary array
            return 0
    return int(values.size - np.count_nonzero(np.isfinite(values)))
