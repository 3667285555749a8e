"""Launches of rays whose globals are those of the last one: they record their pass alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.kernels.kernel import Kernel
from tests.support.rays import need_rays

SOURCE = """
struct Payload { float seen; };
RaytracingAccelerationStructure tlas;
float gain;
void missed(inout Payload p) { p.seen = 0; }
void hit(inout Payload p, BuiltInTriangleIntersectionAttributes at) { p.seen = 1; }
float look(float2 at, float weight)
{
    Payload p = {};
    RayDesc ray = { float3(at, 1), 0, float3(0, 0, -1), 10 };
    TraceRay(tlas, 0, 0xff, 0, 0, 0, ray, p);
    return p.seen * weight * gain;
}
"""


def scene(at: float) -> Any:
    return fp.Scene(fp.Mesh(np.float32([[-1, -1, 0], [1, -1, 0], [-1, 1, 0]]) + np.float32(at)))


def test_the_globals_of_the_last_launch_are_not_bound_again(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    need_rays(device)
    m = fp.Module.load_from_source(device, "ray_kernels", SOURCE)
    look = fp.ray_gen(m, "look", miss="missed", closesthit="hit").set(tlas=scene(0), gain=1.0)
    other = look.set(gain=4.0)
    moved = look.set(tlas=scene(20))
    places, bound = fp.Tensor.from_numpy(device, np.float32([[-0.5, -0.5], [5, 5]])), list[Any]()
    launch = Kernel.launch

    def noted(self: Any, sink: Any, bindings: Any, *rest: Any, **more: Any) -> None:
        bound.append(bindings)
        launch(self, sink, bindings, *rest, **more)

    monkeypatch.setattr(Kernel, "launch", noted)
    for function, gain in ((look, 1), (other, 4), (moved, 0), (look, 1)):
        for weight in (1.0, 2.0, 3.0):
            assert function(places, weight).to_numpy().tolist() == [gain * weight, 0]
    assert len(bound) == 4
