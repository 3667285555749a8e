"""The cat Chelsea, photograph by Stefan van der Walt, CC0, from scikit-image: for examples that want a picture."""

import importlib.util
import sys
from pathlib import Path

import numpy as np

if not all(map(importlib.util.find_spec, ("PIL", "rich", "skimage"))):
    raise SystemExit('this example needs Pillow, rich and scikit-image: pip install "fusepy-slang[demo]"')
from PIL import Image, ImageDraw, ImageFont
from rich.console import Console
from rich.progress import track


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


def bar(steps, what):
    """The steps, with a progress bar where a terminal shows it."""
    return track(steps, what, console=Console(stderr=True), disable=not sys.stderr.isatty())


def plot(path, losses, size=(640, 280)):
    """A loss over the steps of training, and its mean over steps nearby, on a logarithmic axis."""
    image = Image.new("RGB", (2 * size[0], 2 * size[1]), "white")  # twice as large, then made smaller, for smooth lines
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(24)
    low, high = np.log10(min(losses)) - 0.15, np.log10(max(losses)) + 0.15
    left, top, right, bottom = 130, 60, image.width - 50, image.height - 90
    last = len(losses) - 1

    def at(step, loss):
        return left + (right - left) * step / last, bottom - (bottom - top) * (np.log10(loss) - low) / (high - low)

    digits = (1, 2, 5) if high - low < 1.5 else (1,)
    for value in (float(f"{digit}e{power}") for power in range(int(low) - 1, int(high) + 2) for digit in digits):
        y = at(0, value)[1]
        if not top <= y <= bottom:
            continue
        draw.line([(left, y), (right, y)], fill="#dddddd", width=2)
        draw.text((left - 16, y), f"{value:g}", "#444444", font, "rm")
    apart = next(n for n in (10, 20, 50, 100, 200, 500, 1000, 5000, 10**9) if last < 7 * n)
    for step in range(0, last + 1, apart):
        x = at(step, losses[0])[0]
        draw.line([(x, bottom), (x, bottom + 10)], fill="#888888", width=2)
        draw.text((x, bottom + 18), str(step), "#444444", font, "ma")
    draw.text((left - 16, top - 24), "loss", "#444444", font, "rs")
    draw.text(((left + right) / 2, image.height - 8), "step", "#444444", font, "ms")
    draw.line([at(i, loss) for i, loss in enumerate(losses)], fill="#ecc4bf", width=3, joint="curve")
    near = max(last // 30, 1)  # steps see different pictures: their mean says how training goes
    mean = [np.exp(np.mean(np.log(losses[max(i - near, 0) : i + near + 1]))) for i in range(last + 1)]
    draw.line([at(i, loss) for i, loss in enumerate(mean)], fill="#c0392b", width=5, joint="curve")
    image.resize(size, Image.Resampling.LANCZOS).quantize(32).save(path, optimize=True)
