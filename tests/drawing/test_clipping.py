"""What lies before the near plane or behind the far plane is not drawn: depth is clipped, and not moved to the planes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.rasters import SOURCE, need_raster
from tests.support.selection import daily

H, W = 8, 16
# a triangle over the whole picture: depth is -0.5 at the left edge, 1.5 at the right one
AT = np.float32([[-1, -1, -0.5, 1], [3, -1, 3.5, 1], [-1, 3, -0.5, 1]])
COLOUR = np.ones((3, 3), np.float32)
OWN = """
struct Cut { float4 at : SV_Position; float cut : SV_ClipDistance; };
Cut vs_cut(float4 at) { return { at, at.x - 0.5 }; }
float4 fs_cut(Cut c) { return 1; }
struct Late { float3 colour; float4 where : SV_Position; };
Late vs_late(float4 at, float3 colour) { return { colour, at }; }
float4 fs_late(Late v) { return float4(v.colour, 1); }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    need_raster(device)
    return fp.Module.load_from_source(device, "clipping", SOURCE + OWN)


def vertex_of_python(at: Any, colour: Any) -> Any:
    return {"position": at, "colour": colour}


def fragment_of_python(colour: Any) -> Any:
    return fp.float4(colour, 1.0)


@pytest.mark.req("R4")
@pytest.mark.parametrize("depth", daily([None, "less", "always"], "less"))
@pytest.mark.parametrize(
    "stages", [("vs", "fs"), ("vs_late", "fs_late"), (vertex_of_python, fragment_of_python), ("vs", fragment_of_python)]
)
def test_depth_is_clipped(m: Any, stages: Any, depth: Any) -> None:
    draw = fp.raster(m, vertex=stages[0], fragment=stages[1]).options(depth=depth)
    made = draw({"at": AT, "colour": COLOUR}, targets=(H, W))
    image = made[0] if depth else made
    z = -0.5 + 2 * (np.arange(W) + 0.5) / W
    seen = np.broadcast_to((z >= 0) & (z <= 1), (H, W))
    assert (image[..., 0] == seen).all()
    if depth:
        np.testing.assert_allclose(made[1], np.where(seen, z, 1.0), atol=1e-5)


def test_planes_belong_to_what_is_drawn(m: Any) -> None:
    for z in (0.0, 1.0):
        at = np.float32([[-1, -1, z, 1], [3, -1, z, 1], [-1, 3, z, 1]])
        assert fp.raster(m, vertex="vs", fragment="fs")({"at": at, "colour": COLOUR}, targets=(H, W))[..., 0].all()


def test_a_function_with_clip_distances_clips_by_itself(m: Any) -> None:
    flat = np.float32([[-1, -1, 0.5, 1], [3, -1, 0.5, 1], [-1, 3, 0.5, 1]])
    image = fp.raster(m, vertex="vs_cut", fragment="fs_cut")({"at": flat}, targets=(H, W))
    x = -1 + 2 * (np.arange(W) + 0.5) / W
    assert (image[..., 0] == (x >= 0.5)).all()


@pytest.mark.req("R5")
def test_fragments_lie_between_the_planes(m: Any) -> None:
    fragments = fp.rasterize(fp.Tensor.from_numpy(m.device, AT), [[0, 1, 2]], (H, W)).to_numpy()
    z = -0.5 + 2 * (np.arange(W) + 0.5) / W
    assert (fragments[..., 3] == ((z >= 0) & (z <= 1))).all()
