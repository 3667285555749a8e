"""The cat Chelsea, photograph by Stefan van der Walt, CC0, from scikit-image: for examples that want a picture."""

import importlib.util
from pathlib import Path

import numpy as np

if not all(map(importlib.util.find_spec, ("PIL", "skimage"))):
    raise SystemExit('this example needs Pillow and scikit-image: pip install "fusepy-slang[demo]"')
from PIL import Image


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
