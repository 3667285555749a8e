"""The picture that shows two images beside each other, each with a label. Needs Pillow."""

from __future__ import annotations

from PIL import Image, ImageDraw, ImageFont

SIDE = 1600  # the longest side of each half of a comparison, in pixels


def flat(image: Image.Image) -> Image.Image:
    """Returns `image` without transparency, on white."""
    if image.mode != "RGBA":
        return image
    ground = Image.new("RGB", image.size, "white")
    ground.paste(image, mask=image.getchannel("A"))
    return ground


def comparison(before: Image.Image, after: Image.Image) -> Image.Image:
    """Returns both images with a thin divider and a small label each; wide ones are stacked."""
    halves = [flat(before), flat(after)]
    for half in halves:
        half.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    width, height = halves[0].size
    line = 2 if max(width, height) < 800 else 4
    across = width <= 2 * height
    sheet = Image.new("RGB", (2 * width + line, height) if across else (width, 2 * height + line), "white")
    for i, (half, text) in enumerate(zip(halves, ("before", "after"))):
        _label(half, text)
        sheet.paste(half, ((width + line) * i, 0) if across else (0, (height + line) * i))
    return sheet


def _label(image: Image.Image, text: str) -> None:
    """Writes a word into the lower left corner, on a dark translucent patch."""
    width, height = image.size
    points = max(11, min(width, height) // 26)
    font = ImageFont.load_default(points)
    pad = points // 2
    top, right = height - 3 * pad - points, round(3 * pad + font.getlength(text))
    if right > width or top < 0:
        return  # the picture is too small for text
    box = (pad, top, right, height - pad)
    patch = Image.new("L", image.size, 0)
    ImageDraw.Draw(patch).rounded_rectangle(box, radius=pad // 2 + 1, fill=150)
    image.paste((20, 20, 20), mask=patch)
    middle = ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)
    ImageDraw.Draw(image).text(middle, text, font=font, fill=(245, 245, 245), anchor="mm")
