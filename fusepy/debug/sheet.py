"""Several pictures as one: side by side, with titles. Titles need Pillow."""

# Pillow's stubs leave images partly untyped.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fusepy.debug.pixels import Bytes
from fusepy.errors import MissingPackageError

GAP = 8  # pixels between pictures
BACKGROUND, INK = (64, 64, 64), (240, 240, 240)
LINE = 16  # pixels of a title's height


def side_by_side(pictures: Sequence[Bytes], titles: Sequence[str]) -> Bytes:
    """Returns one picture of several, the first on the left; `titles` is empty, or has one for each.

    Raises:
        MissingPackageError: for titles without Pillow.
    """
    labels = [_label(title) for title in titles]
    if len(pictures) == 1 and not labels:
        return pictures[0]
    channels = max(p.shape[2] for p in pictures)
    top = LINE if labels else 0
    height = top + max(p.shape[0] for p in pictures)
    widths = [max(p.shape[1], label.shape[1]) for p, label in zip(pictures, labels or pictures)]
    sheet = np.full((height, sum(widths) + GAP * (len(widths) - 1), channels), 255, np.uint8)
    sheet[..., :3] = BACKGROUND
    left = 0
    for place, (picture, width) in enumerate(zip(pictures, widths)):
        if labels:
            sheet[:LINE, left : left + labels[place].shape[1], :3] = labels[place]
        rows, columns, own = picture.shape
        sheet[top : top + rows, left : left + columns, :own] = picture
        left += width + GAP
    return sheet


def _label(title: str) -> Bytes:
    """Returns a line of text as pixels."""
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError:
        raise MissingPackageError("titles of pictures need Pillow", hint="pip install pillow, or pass titles=()") from None
    font: Any = ImageFont.load_default()
    left, _, right, _ = font.getbbox(title)
    image = Image.new("RGB", (max(1, int(right - left) + 2), LINE), BACKGROUND)
    ImageDraw.Draw(image).text((1, 2), title, INK, font=font)
    return np.asarray(image, np.uint8)
