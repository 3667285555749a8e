"""Pictures on disk: reads usual formats as sRGB, writes them, and composes a comparison of two. Needs Pillow."""

# Pillow's stubs leave profiles and opened files partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import os
import struct
import warnings
import zlib
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageCms, ImageOps

from fusepy.cli.comparison import comparison, flat
from fusepy.errors import FusepyError, nearest

# errors that Pillow raises for damaged files, by format
_DAMAGED = (OSError, SyntaxError, ValueError, EOFError, IndexError, struct.error, zlib.error, Image.DecompressionBombError)
_ALPHA = {"PNG", "WEBP", "TIFF"}  # formats that keep transparency
_SAVE: dict[str, dict[str, Any]] = {
    "JPEG": {"quality": 95, "subsampling": 0},
    "WEBP": {"quality": 95},
    "TIFF": {"compression": "tiff_lzw"},
}
_READABLE = "PNG, JPEG, TIFF, WebP or BMP"


class PictureError(FusepyError):
    """An error for a file that cannot be read or written, in one line with a hint."""

    def _render(self, placed: bool = True) -> str:
        return f"{self.what}; {self.hint}"


@dataclass(frozen=True)
class Picture:
    """A picture in memory.

    Attributes:
        rgb: sRGB code values of shape ``(height, width, 3)``, ``uint8`` or ``uint16``, upright.
        alpha: opacity of shape ``(height, width)``, 0 to 255; None if the file has none.
    """

    rgb: NDArray[Any]
    alpha: NDArray[np.uint8] | None = None

    @property
    def size(self) -> tuple[int, int]:
        """The width and height in pixels."""
        return self.rgb.shape[1], self.rgb.shape[0]

    def floats(self, rows: slice = slice(None), step: int = 1) -> NDArray[np.float32]:
        """Returns the code values of some rows in 0 … 1, every `step`-th pixel in both directions."""
        part = self.rgb[rows][::step, ::step]
        return np.divide(part, np.iinfo(self.rgb.dtype).max, dtype=np.float32)

    def image(self) -> Image.Image:
        """Returns a Pillow image of mode RGB or RGBA."""
        shown = Image.fromarray(self.rgb if self.rgb.dtype == np.uint8 else (self.rgb >> 8).astype(np.uint8))
        if self.alpha is not None:
            shown.putalpha(Image.fromarray(self.alpha))
        return shown


def read(path: Path) -> Picture:
    """Reads a picture of any mode and bit depth. Applies its EXIF orientation and converts colours to sRGB.

    Grey pictures keep 16 bits; Pillow reads colours with 8.

    Raises:
        PictureError: for a missing, unreadable, damaged or oversized file.
    """
    if not os.path.exists(path):  # unlike Path.exists() it takes any name, even a too long one
        raise PictureError(f"there is no file {shown(path)}", hint=_near(path))
    if not path.is_file():
        raise PictureError(
            f"{shown(path)} is {'a directory' if path.is_dir() else 'no regular file'}", hint="name one picture file"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on large files, and on metadata that does not matter here
            with Image.open(path) as opened:
                if opened.format == "TIFF" and _misread(opened.tag_v2):
                    raise PictureError(f"{shown(path)} stores 16-bit channels in separate planes", hint="save it interleaved")
                opened.load()
                return _converted(_managed(ImageOps.exif_transpose(opened)))
    except PermissionError:
        raise PictureError(f"{shown(path)} may not be read", hint="change its permissions or copy it") from None
    except Image.UnidentifiedImageError:
        raise PictureError(f"{shown(path)} is not a picture of a known format", hint=f"give a {_READABLE} file") from None
    except Image.DecompressionBombError:
        limit = (Image.MAX_IMAGE_PIXELS or 0) * 2 // 1_000_000
        raise PictureError(f"{shown(path)} has more than {limit} million pixels", hint="give a smaller version of it") from None
    except _DAMAGED as error:
        raise PictureError(f"{shown(path)} is damaged ({_line(error)})", hint="export or download it again") from None


def shown(path: Path) -> str:
    """Returns a path as one line that any terminal can show."""
    text = str(path)
    return text if text.isprintable() else repr(text)


def _misread(tags: Any) -> bool:
    """True if Pillow would misread a TIFF: planes (PlanarConfiguration 2) of more than 8 bits (measured: it mixes them up)."""
    return tags.get(284) == 2 and max(tags.get(258) or (1,)) > 8


def _near(path: Path) -> str:
    """Returns a hint for a missing file: the nearest names in its folder."""
    try:
        near = nearest(path.name, os.listdir(path.parent), 1)
    except (OSError, ValueError):
        near = []
    return f"did you mean {shown(path.with_name(near[0]))}?" if near else "check the path"


def _managed(image: Image.Image) -> Image.Image:
    """Converts an image with a profile of another colour space to sRGB; most pictures of phones have one."""
    profile = image.info.get("icc_profile")
    if not profile or image.mode not in ("RGB", "RGBA", "CMYK", "L"):
        return image
    try:
        mode = "RGBA" if image.mode == "RGBA" else "RGB"
        source = ImageCms.ImageCmsProfile(BytesIO(profile))
        return ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode=mode) or image
    except (ImageCms.PyCMSError, OSError):
        return image  # a damaged profile, which viewers ignore as well


def _converted(image: Image.Image) -> Picture:
    """Returns the arrays of an image of any mode."""
    if image.mode == "F" or image.mode.startswith("I"):  # one channel of more than 8 bits, which Pillow's convert() clips
        return Picture(np.repeat(_sixteen_bits(np.asarray(image))[..., None], 3, axis=2))
    if image.has_transparency_data:
        pixels = np.asarray(image.convert("RGBA"))
        return Picture(np.ascontiguousarray(pixels[..., :3]), np.ascontiguousarray(pixels[..., 3]))
    return Picture(np.asarray(image.convert("RGB")))


def _sixteen_bits(values: NDArray[Any]) -> NDArray[np.uint16]:
    """Returns grey values as ``uint16``; floats, and integers beyond 16 bits, are scaled by their maximum."""
    if values.dtype == np.uint16:
        return values
    numbers = np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0).clip(0)
    full = 1.0 if values.dtype.kind == "f" else 65535.0
    return np.round(numbers * (65535.0 / max(full, float(numbers.max(initial=0))))).astype(np.uint16)


def check_writable(path: Path, source: Path | None) -> None:
    """Checks, before any work is done, that a picture can be written to `path`.

    Raises:
        PictureError: if the format is unknown, the folder is missing or not writable, or `path` is the `source`.
    """
    folder = path.parent
    if os.path.isdir(path):
        raise PictureError(
            f"cannot write {shown(path)}, it is a directory", hint=f"give a file name, e.g. -o {shown(path / 'demo.png')}"
        )
    if _format(path) is None:
        raise PictureError(
            f"cannot write {shown(path)}, its name ends in no picture format", hint="end it in .png, .jpg, .webp or .tif"
        )
    if not os.path.isdir(folder):
        raise PictureError(
            f"cannot write {shown(path)}, there is no folder {shown(folder)}", hint="make it, or choose another OUT"
        )
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise PictureError(f"cannot write {shown(path)}, which may not be changed", hint="choose another OUT")
    if source is not None and os.path.exists(path) and os.path.exists(source) and path.samefile(source):
        raise PictureError(f"{shown(path)} is the picture to develop", hint="choose another OUT, so that it is not lost")


def write(path: Path, image: Image.Image) -> None:
    """Writes an image in the format of the file name. Formats without transparency get a white background.

    Raises:
        PictureError: if it cannot be written.
    """
    kind = _format(path) or "PNG"
    if image.mode == "RGBA" and kind not in _ALPHA:
        image = flat(image)
    try:
        encoded = BytesIO()
        image.save(encoded, kind, **_SAVE.get(kind, {}))
        path.write_bytes(encoded.getbuffer())
    except (OSError, ValueError, KeyError, struct.error) as error:
        raise PictureError(f"cannot write {shown(path)} ({_line(error)})", hint="choose another OUT, or another format") from None


def write_comparison(path: Path, before: Image.Image, after: Image.Image) -> None:
    """Writes two images beside each other, each with a label.

    Raises:
        PictureError: if it cannot be written.
    """
    write(path, comparison(before, after))


def _format(path: Path) -> str | None:
    """Returns Pillow's name for the format of a file name, or None."""
    kind = Image.registered_extensions().get(path.suffix.lower())
    return kind if kind in Image.SAVE else None


def _line(error: BaseException) -> str:
    """Returns the message of a foreign error as part of a line."""
    text = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    return " ".join(text.split())
