"""A knot of 100,000 triangles: its vertices are computed, its fragments are shaded in Python, and a fused pass develops it.

python examples/28_knot.py picture.png    # also writes what it drew, at 1280 x 720
"""

import sys
from pathlib import Path

import numpy as np

import fusepy as fp

m = fp.Module.load_from_file(fp.default_device(), Path(__file__).with_name("knot.slang"))
drawing = len(sys.argv) > 1
H, W, RINGS, SIDES = (720, 1280, 1000, 50) if drawing else (90, 160, 500, 24)
t, s = np.meshgrid(np.linspace(0, 2 * np.pi, RINGS + 1), np.linspace(0, 2 * np.pi, SIDES + 1), indexing="ij")
uv = np.float32(np.stack([t, s], -1).reshape(-1, 2))
corner = np.arange(RINGS)[:, None] * (SIDES + 1) + np.arange(SIDES)
indices = corner[..., None] + np.array([0, 1, SIDES + 1, SIDES + 1, 1, SIDES + 2])


def shade(at, normal, uv, light):
    view = at / fp.sqrt(fp.dot(at, at))
    facing = fp.where(fp.dot(normal, view) > 0.0, -1.0, 1.0)
    return m.shine(normal * facing, view, light, m.palette(uv.x * 0.4774648))


knot = fp.raster(m, vertex="vs", fragment=shade).options(depth="less", samples=4)


@fp.fuse
def frame(uv, view, light):
    image = knot({"uv": uv}, indices, targets=(H, W), view=view, lens=[2.55 * H / W, -2.55], light=light)
    at = fp.vcast(fp.grid((H, W)), "float2") / fp.float2(W, H) - 0.5
    glow = fp.exp(-6.0 * fp.dot(at, at)) * (1.0 - image.w)
    return m.film(image.xyz + glow * fp.float3(0.05, 0.07, 0.13))


turn, tilt = 0.5, 1.0
c, s, k, n = np.cos(turn), np.sin(turn), np.cos(tilt), np.sin(tilt)
view = np.float32([[1, 0, 0], [0, k, -n], [0, n, k]]) @ np.float32([[c, -s, 0], [s, c, 0], [0, 0, 1]])
light = np.float32([-0.45, -0.7, -0.55]) / np.float32(np.linalg.norm([-0.45, -0.7, -0.55]))
picture = frame(uv, view, light)
kernels = frame.explain(uv, view, light).kernels
print(f"{indices.size // 3:,} triangles in {kernels} kernels, {picture.shape[1]} x {picture.shape[0]}")

# In front of everything lies what a depth buffer keeps: drawn in the opposite order, the picture stays.
turned = knot({"uv": uv}, indices.reshape(-1, 3)[::-1], targets=(H, W), view=view, lens=[2.55 * H / W, -2.55], light=light)
again = knot({"uv": uv}, indices, targets=(H, W), view=view, lens=[2.55 * H / W, -2.55], light=light)
assert np.isclose(turned, again, atol=1e-2).mean() > 0.999
covered = (again[..., 3] > 0.5).mean()
assert 0.05 < covered < 0.6, covered
print("\n".join("".join(" .:-=+*#%@"[int(v * 9.99)] for v in row) for row in picture.mean(-1)[:: H // 30, :: W // 80]))
if drawing:
    from PIL import Image

    Image.fromarray((picture * 255 + 0.5).astype(np.uint8)).save(sys.argv[1])
