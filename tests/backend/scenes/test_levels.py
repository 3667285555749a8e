"""Acceleration structures: they live as long as somebody may read them, and no longer."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.rays import need_rays

SOURCE = """import fusepy_rays;
float depth(RaytracingAccelerationStructure scene, float3 from)
{ return closest_hit(scene, ray_from(from, float3(0, 0, -1))).t; }"""
TRIANGLE = np.float32([[0, 0, 0], [1, 0, 0], [0, 1, 0]])


@pytest.mark.req("R3")
def test_dropped_scenes_are_read_to_the_end_and_then_released(device: Any) -> None:
    need_rays(device)
    m = fp.Module.load_from_source(device, "levels", SOURCE)
    device.wait()  # releases what other tests have left
    results: list[Any] = []
    for i in range(60):  # each scene is dropped before the queue runs the call
        scene = fp.Scene(fp.Mesh(TRIANGLE + np.float32([0, 0, -i]), device=device))
        results.append(m.depth.return_type("tensor")(scene, [[0.25, 0.25, 1.0]]))
    del scene
    gc.collect()
    assert [float(r.to_numpy()[0]) for r in results] == [1.0 + i for i in range(60)]
    assert len(device.retired) < 100  # four for each scene, without the release on the way
    device.wait()
    assert len(device.retired) <= 2


@pytest.mark.req("R3")
def test_a_call_with_a_scene_is_not_submitted_by_itself(device: Any) -> None:
    """Nobody else writes to a scene, so calls share a command buffer: without that, each call takes twice as long."""
    need_rays(device)
    m = fp.Module.load_from_source(device, "levels", SOURCE)
    own = fp.init_device(device.raw.info.type)
    n = fp.Module.load_from_source(own, "levels", SOURCE)
    scene, at = fp.Scene(fp.Mesh(TRIANGLE, device=own)), fp.Tensor.from_numpy(own, TRIANGLE + 0.1, "float3")
    n.depth(scene, at)
    own.wait()
    before = own.queue.now()
    for _ in range(5):
        n.depth(scene, at)
    assert own.queue.now() <= before + 2
    assert m.device is not own
    own.close()
