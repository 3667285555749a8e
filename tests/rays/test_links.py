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


@pytest.fixture
def linked(device: Any) -> tuple[Any, Any, Any, Any]:
    """A scene, two pipelines with other shader tables, and origins of rays."""
    need_rays(device)
    m = fp.Module.load_from_source(device, "links", SOURCE)
    scene = fp.Scene(fp.Instance(fp.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], device=device), hit_group="two"))
    here = fp.ray_gen(m, "look", miss="missed", closesthit={"one": "one", "two": "two"}).set(tlas=scene)
    there = here.options(hit_groups=["two", "one"])
    return scene, here, there, fp.Tensor.from_numpy(device, np.array([[0.25, 0.25, 1]], np.float32), "float3")


@pytest.mark.req("R1")
def test_recorded_rays_keep_their_hit_groups_whatever_runs_before_they_are_submitted(device: Any, linked: Any) -> None:
    _, here, there, from_ = linked
    encoder = device.sgl.create_command_encoder()
    first, second = here.append_to(encoder, from_), there.append_to(encoder, from_)
    assert there(from_).to_numpy() == [2]
    assert here(from_).to_numpy() == [2]
    device.sgl.submit_command_buffer(encoder.finish())
    assert first.to_numpy() == [2]
    assert second.to_numpy() == [2]


@pytest.mark.req("R1")
def test_pipelines_with_other_tables_have_structures_of_their_own_which_follow_the_scene(linked: Any) -> None:
    scene, here, there, from_ = linked
    assert [f(from_).to_numpy() for f in (here, there)] == [2, 2]
    structures = {scene, *scene._others.values()}
    assert len(structures) == 2
    scene.move([[1, 0, 0, 5], [0, 1, 0, 0], [0, 0, 1, 0]])
    assert [f(from_).to_numpy() for f in (here, there)] == [0, 0]
    scene.move(np.eye(3, 4))
    assert [f(from_).to_numpy() for f in (here, there)] == [2, 2]
    assert structures == {scene, *scene._others.values()}


@pytest.mark.req("R1")
def test_a_replay_traces_the_structure_of_its_own_table(linked: Any) -> None:
    _, here, there, from_ = linked
    there(from_)
    captured = fp.capture(here, from_)
    assert captured.launches == 1
    for _ in range(2):
        assert there(from_).to_numpy() == [2]
        assert captured.replay().to_numpy() == [2]
