"""The text of a kernel that generates rays: entry points, and the part of the grid that each axis of the dispatch covers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.rays.stage import MAX_RAYS
from fusepy.backend.rays.text import rays_of
from tests.support.rays import need_rays

SOURCE = """
struct P { float t; };
RaytracingAccelerationStructure s;
void missed(inout P p) { p.t = -1; }
void met(inout P p, BuiltInTriangleIntersectionAttributes at) { p.t = RayTCurrent(); }
uint3 size() { return DispatchRaysDimensions(); }
uint3 place() { return DispatchRaysIndex(); }
float far(float3 from) { P p = {}; RayDesc r = { from, 0, float3(0, 0, -1), 9 }; TraceRay(s, 0, 255, 0, 0, 0, r, p); return p.t; }
float3 measured(float x) { return float3(size()) + 0 * x; }
float3 counted(float x) { return float3(place()) + 0 * x; }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    need_rays(device)
    return fp.Module.load_from_source(device, "texts", SOURCE)


@pytest.mark.req("R1")
@pytest.mark.parametrize("shape", [(), (5,), (4, 6), (3, 4, 6), (2, 3, 4, 6)])
def test_the_last_axes_of_the_grid_are_those_of_the_dispatch(m: Any, shape: Any) -> None:
    x = np.zeros(shape, np.float32)
    size = np.float32([*(*reversed(shape[-2:]), 1, 1)[:2], np.prod(shape[:-2], dtype=int)])
    measured = fp.ray_gen(m, "measured").return_type("numpy")(x)
    assert (measured == size).all()
    counted = fp.ray_gen(m, "counted").return_type("numpy")(x)
    number = counted[..., 0] + size[0] * (counted[..., 1] + size[1] * counted[..., 2])
    assert number.ravel().tolist() == list(range(x.size))


@pytest.mark.req("R1")
def test_equal_functions_share_an_entry_point_and_equal_pipelines_a_kernel(m: Any) -> None:
    groups = {"a": "met", "b": "met"}
    one = fp.ray_gen(m, "far", miss="missed", closesthit=groups)
    text = one.source([0.0, 0, 1])
    marks = re.findall(r'\[shader\("(\w+)"\)\]', text)
    assert marks == ["raygeneration", "miss", "closesthit"]
    scene = fp.Scene(fp.Mesh(np.float32([[-1, -1, 0], [1, -1, 0], [0, 1, 0]]), device=m.device))
    m.device.wait()
    assert one.set(s=scene)([0.0, 0, 1]) == 1
    before = fp.stats().kernels_compiled
    assert fp.ray_gen(m, "far", miss="missed", closesthit=groups).set(s=scene)([0.0, 0, 2]) == 2
    assert fp.stats().kernels_compiled == before
    assert one.options(hit_groups=["b"]).set(s=scene)([0.0, 0, 1]) == 1
    assert fp.stats().kernels_compiled == before + 1


def test_more_rays_than_a_device_takes_are_refused() -> None:
    assert rays_of((1 << 15, 1 << 15), "f") == [1 << 15, 1 << 15, 1]
    with pytest.raises(fp.ShapeError, match="too many rays"):
        rays_of((MAX_RAYS + 1,), "f")
