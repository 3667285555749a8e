"""The cat Chelsea, photograph by Stefan van der Walt, CC0, from scikit-image: for examples that want a picture."""

import importlib.util
from pathlib import Path

import numpy as np

if not all(map(importlib.util.find_spec, ("PIL", "skimage"))):
    raise SystemExit('this example needs Pillow and scikit-image: pip install "fusepy-slang[demo]"')
from PIL import Image, ImageDraw


def read():
    """Its linear light, (300, 451, 3) floats from 0 to 1."""
    spec = importlib.util.find_spec("skimage")
    encoded = np.asarray(Image.open(Path(spec.origin).parent / "data" / "chelsea.png").convert("RGB")) / np.float32(255)
    return np.where(encoded > 0.04045, ((encoded + 0.055) / 1.055) ** 2.4, encoded / 12.92).astype(np.float32)


def write(path, *pictures):
    """Pictures of linear light, side by side."""
    light = np.clip(np.concatenate(pictures, axis=1), 0, 1)
    encoded = np.where(light > 0.0031308, 1.055 * light ** (1 / 2.4) - 0.055, light * 12.92)
    Image.fromarray((encoded * 255 + 0.5).astype(np.uint8)).save(path)


def plot(path, losses, size=(640, 240)):
    """A loss over the steps of training, on a logarithmic axis."""
    image = Image.new("RGB", size, "white")
    draw, (width, height) = ImageDraw.Draw(image), size
    low, high = np.floor(np.log10(min(losses))), np.ceil(np.log10(max(losses)))

    def at(step, loss):
        part = (np.log10(loss) - low) / max(high - low, 1)
        return 56 + (width - 72) * step / max(len(losses) - 1, 1), height - 28 - (height - 44) * part

    for power in np.arange(low, high + 1):
        y = at(0, 10**power)[1]
        draw.line([(56, y), (width - 16, y)], fill="#dddddd")
        draw.text((8, y - 6), f"1e{power:.0f}", fill="#444444")
    for step in np.linspace(0, len(losses) - 1, 6).astype(int):
        draw.text((at(step, losses[0])[0] - 8, height - 20), str(step), fill="#444444")
    draw.line([at(i, loss) for i, loss in enumerate(losses)], fill="#c0392b", width=2)
    image.save(path)
