"""Sizes and depths that follow from the functions that rays run."""

from __future__ import annotations

from typing import Any

import pytest

import fusepy as fp
from fusepy.rays.ray_tracer import RayTracer
from tests.support.rays import need_rays

SOURCE = """
struct Small { half a; };
struct Large { float4 a[2]; int b; };
struct Edge { float3 at; float k; };
RaytracingAccelerationStructure s;
void small(inout Small p) {}
void large(inout Large p) {}
void bytes(inout uint64_t p) {}
void met(inout Large p, Edge e) {}
void deep(inout Large p, Edge e) { again(p); }
void again(inout Large p) { RayDesc ray = {}; TraceRay(s, 0, 255, 0, 0, 0, ray, p); }
float one(float x) { return x; }
float other(float x) { Small p = {}; if (x > 0) { RayDesc ray = {}; TraceRay(s, 0, 255, 0, 0, 0, ray, p); } return x; }
float two(float x) { return one(x); }
"""


@pytest.mark.req("R1")
@pytest.mark.parametrize(
    ("given", "sizes"),
    [
        ({}, (1, 0, 8)),
        ({"miss": "small"}, (1, 2, 8)),
        ({"miss": ["small", "bytes", "large"]}, (1, 36, 8)),
        ({"closesthit": "met"}, (1, 36, 16)),
        ({"closesthit": "deep"}, (2, 36, 16)),
        ({"closesthit": "deep", "max_recursion": 5, "max_payload_size": 64}, (5, 64, 16)),
    ],
)
def test_sizes_follow_from_the_functions(device: Any, given: Any, sizes: Any) -> None:
    need_rays(device)
    m = fp.Module.load_from_source(device, "payloads", SOURCE)
    tracer = fp.ray_gen(m, "two", **given).tracer
    assert isinstance(tracer, RayTracer)
    assert (tracer.rays.recursion, tracer.rays.payload, tracer.rays.attributes) == sizes


@pytest.mark.req("R1")
def test_only_what_a_ray_generation_reaches_is_compared(device: Any) -> None:
    need_rays(device)
    m = fp.Module.load_from_source(device, "payloads", SOURCE)
    fp.ray_gen(m, "two", miss="large")  # `other` is not reached
    with pytest.raises(fp.ArgumentError, match="other traces a ray with Small, and large takes Large"):
        fp.ray_gen(m, "other", miss="large")


def _missed(device: Any, name: str, payload: str) -> Any:
    source = f"struct Payload {{ {payload} }}; uniform float gain; void missed(inout Payload p) {{ p.t = 2; }}"
    return fp.Module.load_from_source(device, name, source).missed


@pytest.mark.req("R1")
def test_modules_have_structs_of_their_own(device: Any) -> None:
    need_rays(device)
    source = """
    struct Payload { float t; };
    uniform float gain;
    RaytracingAccelerationStructure s;
    void met(inout Payload p, BuiltInTriangleIntersectionAttributes at) { p.t = RayTCurrent(); }
    float seen(float3 from)
    {
        Payload p = {};
        RayDesc r = { from, 0, float3(0, 0, -1), 9 };
        TraceRay(s, 0, 255, 0, 0, 0, r, p);
        return p.t;
    }
    """
    m = fp.Module.load_from_source(device, "several", source)
    seen = fp.ray_gen(m, "seen", miss=_missed(device, "beside", "float t;"), closesthit="met")
    scene = fp.Scene(fp.Mesh([[-1, -1, 0], [1, -1, 0], [0, 1, 0]], device=device))
    points = [[0.0, 0, 1], [5, 5, 1]]
    assert seen.set(s=scene).return_type("numpy")(fp.Tensor(points, device=device)).tolist() == [1, 2]
    with pytest.raises(fp.ArgumentError, match="seen: two modules have a global 'gain'"):
        seen.set(s=scene, gain=1.0)(points[0])
    with pytest.raises(fp.ArgumentError, match="structs Payload of two modules do not match") as caught:
        fp.ray_gen(m, "seen", miss=_missed(device, "other", "float k; float t;"), closesthit="met")
    assert "several has float t; other has float k, float t" in str(caught.value)
