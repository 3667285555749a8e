"""Files of the project that ``fusepy new`` makes: a Slang file, a program, its test and a page about them."""

from __future__ import annotations

SLANG = """\
/// Returns the place of a pixel: (0, 0) is the top left corner of the picture, (1, 1) the bottom right one.
float2 place(int2 pixel, int2 size) { return (float2(pixel) + 0.5) / float2(size); }

/// Returns the colour of the sky.
/// @param height [0, 1] 0 at the top
float3 sky(float height) { return lerp(float3(0.1, 0.2, 0.5), float3(0.9, 0.6, 0.4), height); }

/// Returns 1 inside of a disc, 0 outside, and numbers between on its edge.
/// @param radius [0, 0.5] a part of the picture
/// @param soft the width of the edge
float disc(float2 at, float radius = 0.3, float soft = 0.01)
{
    return 1 - smoothstep(radius - soft, radius + soft, length(at - 0.5));
}

/// Paints with an ink.
/// @param cover [0, 1] how much of the ground the ink hides
float3 paint(float3 ground, float3 ink, float cover) { return lerp(ground, ink, cover); }
"""

PROGRAM = '''\
"""Draws a picture with the functions of NAME.slang, which run as one kernel."""

from pathlib import Path

import numpy as np

import fusepy as fp

FOLDER = Path(__file__).parent
m = fp.load(FOLDER / "NAME.slang")


@fp.fuse
def picture(pixel, size, ink, radius):
    at = m.place(pixel, size)
    return m.paint(m.sky(at.y), ink, m.disc(at, radius))


def arguments(size=240, ink=(1.0, 0.9, 0.7), radius=0.3):
    return fp.grid((size, size)), (size, size), ink, radius


if __name__ == "__main__":
    pixels = np.asarray(picture(*arguments()))
    fp.Bitmap((pixels * 255).round().astype(np.uint8)).write(FOLDER / "NAME.png")
    print(f"NAME.png: {pixels.shape[1]} x {pixels.shape[0]} pixels")
    print(picture.explain(*arguments()))
'''

TEST = '''\
"""Tests of NAME.slang and of the picture."""

import numpy as np
from main import arguments, m, picture


def test_disc():
    places = np.array([[0.5, 0.5], [0.0, 0.0]], np.float32)
    assert np.asarray(m.disc(places, 0.3)).tolist() == [1, 0]


def test_picture():
    pixels = np.asarray(picture(*arguments(size=64, ink=(1.0, 0.0, 0.0))))
    assert pixels.shape == (64, 64, 3)
    assert np.allclose(pixels[32, 32], (1, 0, 0))
    assert picture.explain(*arguments()).kernels == 1
'''

PAGE = """\
# NAME

`NAME.slang` has functions of one pixel. `main.py` composes them in Python, and fusepy runs them as one kernel.

    python main.py             # writes NAME.png
    python -m pytest           # runs the tests (pip install pytest)
    fusepy stubs NAME.slang    # writes NAME.pyi, by which editors complete and check m.disc(…)
"""

FILES = {"NAME.slang": SLANG, "main.py": PROGRAM, "test_NAME.py": TEST, "README.md": PAGE}


def project_files(name: str) -> dict[str, str]:
    """Returns the texts of a project's files by their names.

    Example:
        >>> list(project_files("glow"))
        ['glow.slang', 'main.py', 'test_glow.py', 'README.md']
    """
    return {file.replace("NAME", name): text.replace("NAME", name) for file, text in FILES.items()}
