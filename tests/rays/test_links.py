"""Scenes whose instances name hit groups, linked to the shader tables of several pipelines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.rays import need_rays

SOURCE = """
import fusepy_rays;
struct Payload { float found; };
RaytracingAccelerationStructure tlas;
void missed(inout Payload p) { p.found = 0; }
void one(inout Payload p, BuiltInTriangleIntersectionAttributes at) { p.found = 1; }
void two(inout Payload p, BuiltInTriangleIntersectionAttributes at) { p.found = 2; }
float look(float3 from)
{
    Payload payload = {};
    TraceRay(tlas, 0, 0xff, 0, 0, 0, ray_from(from, float3(0, 0, -1)), payload);
    return payload.found;
}
"""


@pytest.mark.req("R1")
def test_a_replay_links_the_scene_to_its_own_table_again(device: Any) -> None:
    need_rays(device)
    m = fp.Module.load_from_source(device, "links", SOURCE)
    scene = fp.Scene(fp.Instance(fp.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], device=device), hit_group="two"))
    here = fp.ray_gen(m, "look", miss="missed", closesthit={"one": "one", "two": "two"}).set(tlas=scene)
    there = here.options(hit_groups=["two", "one"])
    from_ = fp.Tensor.from_numpy(device, np.array([[0.25, 0.25, 1]], np.float32), "float3")
    there(from_)
    captured = fp.capture(here, from_)
    assert captured.launches == 1
    for _ in range(2):
        assert there(from_).to_numpy() == [2]
        assert captured.replay().to_numpy() == [2]
