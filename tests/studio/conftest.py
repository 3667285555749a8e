"""A folder with a Slang file and a picture, and an engine on it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("PIL")
from PIL import Image

from fusepy.studio.document import Document, Socket
from fusepy.studio.engine import StudioEngine

SLANG = """
import fusepy;
/// Makes a picture brighter.
/// @param stops [-4, 4] in powers of two
float3 exposure(float3 c, float stops = 0.5) { return c * exp2(stops); }
float3 tint(float3 c, float3 k = float3(1, 0.9, 0.8)) { return c * k; }
float luma(float3 c) { return dot(c, float3(0.2126, 0.7152, 0.0722)); }
float3 rings(float2 uv, [Range(1, 100)] float n = 40) { return 0.5 + 0.5 * sin(n * length(uv - 0.5)); }
float3 blur(int2 p, Tensor<float3,2> image)
{
    int2 last = int2(image.shape[1], image.shape[0]) - 1;
    return (image[clamp(p - int2(1, 0), 0, last)] + image[p] + image[clamp(p + int2(1, 0), 0, last)]) / 3;
}
float root(float x) { return sqrt(x - 0.5); }
void split(float3 c, out float low, out float3 high) { low = c.x; high = c - low; }
float flip(float x, bool on = false) { return on ? 1 - x : x; }
T twice<T : __BuiltinFloatingPointType>(T x) { return x + x; }
"""
PYTHON = """
import fusepy as fp

@fp.fuse
def contrast(image, slope: float = 1.5):
    \"\"\"Makes a picture steeper.\"\"\"
    return (image - 0.5) * slope + 0.5
"""


def write_folder(folder: Path) -> None:
    (folder / "look.slang").write_text(SLANG, encoding="utf-8")
    (folder / "mine.py").write_text(PYTHON, encoding="utf-8")
    pixels = np.random.default_rng(1).integers(0, 256, (48, 64, 3)).astype(np.uint8)
    Image.fromarray(pixels).save(folder / "noise.png")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_folder(tmp_path)
    return tmp_path


@pytest.fixture
def engine(folder: Path) -> StudioEngine:
    return StudioEngine(str(folder), ("look.slang",), (str(folder / "mine.py"),))


class Bench:
    """A document under construction: `add` and `join` return nothing, the document is an attribute."""

    def __init__(self, engine: StudioEngine):
        self.engine, self.kinds, self.document = engine, engine.kinds(), Document()

    def add(self, kind: str, **values: object) -> str:
        self.document = self.document.add(self.kinds, kind if kind in self.kinds else f"look.slang/{kind}", (0, 0))
        name = list(self.document.nodes)[-1]
        for port, value in values.items():
            self.set(name, port, value)
        return name

    def set(self, name: str, port: str, value: object) -> None:
        self.document = self.document.set(self.kinds, name, port, value)

    def join(self, *edges: str) -> None:
        """Connects ``"node.port -> node.port"``, if the compiler agrees."""
        for edge in edges:
            start, end = (socket(text) for text in edge.split(" -> "))
            joined = self.document.connect(self.kinds, start, end)
            self.engine.check(joined, end)
            self.document = joined


def socket(text: str) -> Socket:
    node, _, port = text.partition(".")
    return node, port


@pytest.fixture
def bench(engine: StudioEngine) -> Bench:
    return Bench(engine)
