"""Programs after hints about ray-tracing pipelines."""

from __future__ import annotations

import functools
from typing import Any
from unittest import mock

import numpy as np

import fusepy as fp
from fusepy.backend.rays.text import rays_of
from tests.errors.hints.support import Program
from tests.support.slang_functions import F32

SOURCE = """
import fusepy_rays;
struct Payload { float t; };
struct Other { float2 t; };
RaytracingAccelerationStructure scene;
uniform float far;
void missed(inout Payload p) { p.t = far; }
void lost(inout Other p) { p.t = far; }
void met(inout Payload p, BuiltInTriangleIntersectionAttributes at) { p.t = RayTCurrent(); }
void twice(inout Payload p, BuiltInTriangleIntersectionAttributes at) { p.t = 2 * RayTCurrent(); }
void open(inout Payload p, BuiltInTriangleIntersectionAttributes at) {}
void again(inout Payload p, BuiltInTriangleIntersectionAttributes at)
{
    Payload next = {};
    TraceRay(scene, 0, 255, 0, 0, 0, ray_from(WorldRayOrigin(), float3(0, 0, 1)), next);
    p.t = RayTCurrent() + next.t;
}
void onward(inout Payload p) { TraceRay(scene, 0, 255, 0, 0, 0, ray_from(WorldRayOrigin(), WorldRayDirection()), p); }
void endless(inout Payload p, BuiltInTriangleIntersectionAttributes at) { onward(p); }
void counting(inout Payload p, BuiltInTriangleIntersectionAttributes at)
{
    p.t += 1;
    if (p.t < 5)
        onward(p);
}
void plain(Payload p) {}
void over(inout Payload p) { p.t = far; }
void over(inout Other p) { p.t = far; }
float look(float3 from)
{
    Payload p = {};
    TraceRay(scene, 0, 255, 0, 0, 0, ray_from(from, float3(0, 0, -1)), p);
    return p.t;
}
float query(float3 from) { return closest_hit(scene, ray_from(from, float3(0, 0, -1))).t; }
static uint seed = 1;
[Differentiable] float seeded(float k) { seed = seed * 3; return seed * k; }
[Differentiable] float there(float k) { return DispatchRaysIndex().x * k; }
[Differentiable] float here(uint2 pixel, float k) { return pixel.x * k * 2; }
[Differentiable] float scaled(no_diff float t, float k) { return t * k; }
"""
ABOVE = np.array([[0.5, 0.5, 1], [5, 5, 1]], F32)
SEEN = np.array([1, 9], F32)


@functools.cache
def on(device: Any) -> Any:
    return fp.Module.load_from_source(device, "hint_rays", SOURCE)


@functools.cache
def world(hit_group: int = 0) -> Any:
    mesh = fp.Mesh([[0, 0, 0], [2, 0, 0], [0, 2, 0]], device=fp.default_device())
    return fp.Scene([fp.Instance(mesh, hit_group=hit_group)])


def r() -> Any:
    return on(fp.default_device())


def made(**given: Any) -> Any:
    return fp.ray_gen(r(), "look", **given)


def seen(hit_group: int = 0, options: Any = None, **given: Any) -> Any:
    """What rays from above meet: the distance, or 9."""
    found = made(**{"miss": "missed", "closesthit": "met", **given}).set(scene=world(hit_group), far=9)
    return found.options(options or {})(ABOVE)


def with_features(features: set[str], call: Any) -> Any:
    with mock.patch.object(fp.default_device(), "features", frozenset(features)):
        return call()


def two_in_a_loop() -> Any:
    near, far = (made(miss="missed", closesthit=hit).set(scene=world(), far=9) for hit in ("met", "twice"))
    return fp.fuse(lambda x: fp.fori_loop(0, 1, lambda i, t: near(x) + far(x), 0.0 * x[:, 0]))(ABOVE)


def slope(traced: Any) -> Any:
    return fp.grad(lambda k, x: fp.sum(traced(k, x)))(fp.Tensor([1.0]), ABOVE[:1]).to_numpy()


PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    "ray queries without pipelines": (
        lambda m: with_features({"ray_query"}, made),
        "trace rays in a plain function, by closest_hit of import fusepy_rays;",
        lambda m: r().query.set(scene=world())(ABOVE[:1]),
        SEEN[:1],
    ),
    "a device without pipelines": (
        lambda m: with_features(set(), made),
        'device = fp.init_device("vulkan")',
        lambda m: seen(),
        SEEN,
    ),
    "a function that is a number": (lambda m: made(miss=3), 'write miss="name"', lambda m: seen(miss="missed"), SEEN),
    "an overloaded function": (
        lambda m: made(miss="over"),
        "give it a name of its own",
        lambda m: seen(miss="missed"),
        SEEN,
    ),
    "a function of another stage": (
        lambda m: made(miss="plain"),
        "give it the parameters of the stage; pass further values as globals, with set()",
        lambda m: seen(miss="missed"),
        SEEN,
    ),
    "an any-hit function without a group": (
        lambda m: made(closesthit={"one": "met"}, anyhit="open"),
        'write anyhit={"one": …}',
        lambda m: seen(closesthit={"one": "met"}, anyhit={"one": "open"}),
        SEEN,
    ),
    "one group in place of a list": (
        lambda m: made(closesthit={"lit": "met", "glass": "twice"}, hit_groups="lit"),
        'write hit_groups=["lit", "glass"]',
        lambda m: seen(1, closesthit={"lit": "met", "glass": "twice"}, hit_groups=["lit", "glass"]),
        np.array([2, 9], F32),
    ),
    "a group with two words": (
        lambda m: made(closesthit={"a glass": "met"}),
        'write {"glass": …}',
        lambda m: seen(closesthit={"glass": "met"}),
        SEEN,
    ),
    "a group of no pipeline": (
        lambda m: made(hit_groups=["lit"]),
        "give fp.HitGroup(closesthit=…)",
        lambda m: seen(closesthit=None, hit_groups=[fp.HitGroup(closesthit="met")]),
        SEEN,
    ),
    "an instance past the table": (
        lambda m: seen(1),
        "options(hit_groups=[…]), which may repeat a group",
        lambda m: seen(1, {"hit_groups": ["hit", "hit"]}) + seen(1, closesthit={"a": "met", "b": "twice"}),
        np.array([3, 18], F32),
    ),
    "payloads of two types": (
        lambda m: made(miss="lost", closesthit="met"),
        "give all functions that a ray may run the same struct",
        lambda m: seen(miss="missed", closesthit="met"),
        SEEN,
    ),
    "a recursion that no device has": (
        lambda m: made(max_recursion=99),
        "trace the path in a loop of the ray generation, which needs a recursion of 1",
        lambda m: seen(max_recursion=1),
        SEEN,
    ),
    "a hit that traces past the recursion": (
        lambda m: made(closesthit="again", max_recursion=1),
        "write options(max_recursion=2), and let the payload count how deep a ray is",
        lambda m: seen(options={"max_recursion": 2}, closesthit="again"),
        np.array([10, 9], F32),
    ),
    "rays past the recursion": (
        lambda m: seen(closesthit="endless", options={"max_recursion": 3}),
        "write options(max_recursion=6); or let the payload count how deep a ray is, and stop",
        lambda m: seen(options={"max_recursion": 6}, closesthit="counting"),
        np.array([5, 9], F32),
    ),
    "rays past every recursion": (
        lambda m: seen(closesthit="endless", options={"max_recursion": 31}),
        "trace the path in a loop of the ray generation, which needs a recursion of 1",
        lambda m: seen(max_recursion=1),
        SEEN,
    ),
    "a payload past its limit": (
        lambda m: made(miss="missed", max_payload_size=2),
        "leave max_payload_size out, and the largest payload decides",
        lambda m: seen(),
        SEEN,
    ),
    "rays as compute threads": (
        lambda m: made().dispatch(4),
        "call it over a grid: look(fp.grid((h, w)), …)",
        lambda m: made(miss="missed").set(scene=world(), far=9)(fp.vcast(fp.grid((2, 2, 2)), "float3")).shape,
        np.array([2, 2, 2]),
    ),
    "a pipeline of a number": (
        lambda m: fp.ray_gen(r(), 3),
        'write fp.ray_gen(m, "ray_gen", …)',
        lambda m: seen(),
        SEEN,
    ),
    "thread groups of rays": (
        lambda m: made().options(numthreads=[8]),
        "leave numthreads out; the driver decides",
        lambda m: seen(),
        SEEN,
    ),
    "more rays than one call traces": (
        lambda m: rays_of((1 << 16, 1 << 15), "look"),
        "call it for parts of the grid",
        lambda m: rays_of((1 << 15, 1 << 15), "look"),
        np.array([1 << 15, 1 << 15, 1]),
    ),
    "two pipelines in a loop": (
        lambda m: two_in_a_loop(),
        "give one pipeline several hit groups and miss functions",
        lambda m: seen() + seen(1, closesthit={"a": "met", "b": "twice"}),
        np.array([3, 18], F32),
    ),
    "rays without a pipeline": (
        lambda m: r().look.set(scene=world(), far=9)(ABOVE),
        "fp.ray_gen(m, name, miss=…, closesthit=…); or ask a RayQuery, which runs anywhere",
        lambda m: fp.ray_gen(r(), "look", miss="missed", closesthit="met").set(scene=world(), far=9)(ABOVE),
        SEEN,
    ),
    "a scene that is a number": (
        lambda m: made().set(scene=3, far=9)(ABOVE),
        "give a Scene",
        lambda m: made(miss="missed", closesthit="met").set(scene=world(), far=9)(ABOVE),
        SEEN,
    ),
    "a gradient through a pipeline": (
        lambda m: slope(lambda k, x: fp.ray_gen(r(), "seeded")(k)),
        "hand the value on in the payload",
        lambda m: slope(lambda k, x: r().scaled(r().query.set(scene=world())(ABOVE[:1]), k)),
        SEEN[:1],
    ),
    "a gradient of a place in the dispatch": (
        lambda m: slope(lambda k, x: fp.ray_gen(r(), "there")(k)),
        "take the pixel as an argument, as fp.grid((height, width)) gives it, and the size as another",
        lambda m: slope(lambda k, x: fp.sum(fp.ray_gen(r(), "here")(fp.grid((2, 3)), k))),
        np.array([12], F32),
    ),
}
