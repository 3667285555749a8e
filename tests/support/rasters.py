"""A rasteriser in NumPy, as a reference; meshes; and the devices on which draws are tested."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp

Array = np.ndarray[Any, np.dtype[Any]]
SOURCE = """
import fusepy;
struct Corner { float4 position : SV_Position; float3 colour; nointerpolation uint id; };
[shader("vertex")]
Corner vs(float4 at : POSITION, float3 colour : COLOR, uint id : SV_VertexID) { return { at, colour, id }; }
[shader("fragment")]
float4 fs(Corner c) : SV_Target { return float4(c.colour, 1); }
float3 tonemap(float4 c, float stops) { return c.xyz * exp2(stops) / (1 + c.xyz); }
"""


def need_raster(device: Any) -> None:
    """Skips a test on a device without a rasteriser; `tests/errors/hints/draws.py` has what such a device says."""
    if "rasterization" not in device.features:
        pytest.skip("the device cannot rasterise")


def soup(rng: Any, count: int) -> tuple[Array, Array, Array]:
    """Returns positions in clip space, colours and indices of triangles that share vertices and lie in any order of depth."""
    n = 3 * count // 2
    w = rng.uniform(0.5, 2.0, (n, 1))
    at = np.concatenate([rng.uniform(-1.1, 1.1, (n, 2)), rng.uniform(0.05, 0.95, (n, 1)), np.ones((n, 1))], axis=1) * w
    return np.float32(at), np.float32(rng.uniform(0, 1, (n, 3))), np.uint32(rng.integers(0, n, (count, 3)))


def rasterised(at: Array, values: Array, indices: Array, height: int, width: int) -> tuple[Array, Array, Array]:
    """Returns values and depths of the nearest triangles at the centres of pixels, and True for pixels near no edge.

    Pixels without a triangle have values of 0 and a depth of 1.
    """
    xs, ys = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    image, depth = np.zeros((height, width, values.shape[1])), np.ones((height, width))
    clear = np.ones((height, width), bool)
    screen = at[:, :3].astype(np.float64) / at[:, 3:]
    px, py = (screen[:, 0] + 1) / 2 * width, (1 - screen[:, 1]) / 2 * height
    for triangle in indices.reshape(-1, 3):
        x, y, z = px[triangle], py[triangle], screen[triangle, 2]
        area = (x[1] - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (y[1] - y[0])
        if abs(area) < 1e-9:
            continue
        edges = [(x[j] - x[i]) * (ys - y[i]) - (xs - x[i]) * (y[j] - y[i]) for i, j in ((1, 2), (2, 0), (0, 1))]
        weights = np.stack(edges) / area
        lengths = [np.hypot(x[j] - x[i], y[j] - y[i]) for i, j in ((1, 2), (2, 0), (0, 1))]
        clear &= ~(np.min([np.abs(e) / max(n, 1e-9) for e, n in zip(edges, lengths)], axis=0) < 0.02)
        here = np.einsum("ihw,i->hw", weights, z)
        inside = (weights >= 0).all(axis=0)
        clear &= ~(inside & (np.abs(here - depth) < 1e-4))
        closer = inside & (here < depth)
        over = weights / at[triangle, 3][:, None, None]
        mixed = np.einsum("ihw,ik->hwk", over, values[triangle]) / over.sum(axis=0)[..., None]
        image[closer], depth[closer] = mixed[closer], here[closer]
    return image, depth, clear


MODES = ["fused", "one by one", "recorded", "lazy", "graph"]


def called_as(mode: str, device: Any, frame: Callable[..., Any], given: tuple[Any, ...], graph: Callable[[], Any]) -> Any:
    """Returns what a function of draws gives in one of `MODES`; `graph` makes the same as a graph."""
    if mode == "fused":
        return fp.fuse(frame)(*given)
    if mode == "one by one":
        return frame(*given)
    if mode == "recorded":
        encoder = device.sgl.create_command_encoder()
        found = fp.fuse(frame).append_to(encoder, *given)
        device.sgl.submit_command_buffer(encoder.finish())
        return found
    if mode == "lazy":
        with fp.lazy():
            return frame(*given)
    return graph()(*given)
