"""PNG files of bytes, written without a package for pictures."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

COLOUR_TYPES = {3: 2, 4: 6}  # by channels: truecolour, and truecolour with alpha


def png(pixels: NDArray[np.uint8]) -> bytes:
    """Returns RGB or RGBA bytes of shape ``(height, width, 3)`` or ``(height, width, 4)`` as a PNG file.

    It is compressed for speed, not for size.

    Source: https://www.w3.org/TR/png-3/
    """
    height, width, channels = pixels.shape
    rows = np.zeros((height, 1 + channels * width), np.uint8)
    rows[:, 0] = 1  # filter: the difference to the pixel on the left
    rows[:, 1:] = pixels.reshape(height, -1)
    rows[:, 1 + channels :] -= pixels[:, :-1].reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, COLOUR_TYPES[channels], 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 1)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in parts)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
