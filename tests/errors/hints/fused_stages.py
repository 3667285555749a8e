"""Programs after hints about Python functions as stages of rays."""

from __future__ import annotations

from typing import Any

import numpy as np

import fusepy as fp
from tests.errors.hints.rays import ABOVE, SEEN, made, r, world
from tests.errors.hints.support import Program


def far(payload: Any) -> Any:
    return {"t": 9.0}


def near(payload: Any, ray_t_current: Any) -> Any:
    return {"t": ray_t_current}


def fused(miss: Any = far, closesthit: Any = near, **given: Any) -> Any:
    return fp.ray_gen(r(), "look", miss=miss, closesthit=closesthit, **given).set(scene=world())(ABOVE)


def called(payload: Any) -> Any:
    found = made(miss="missed", closesthit="met").set(scene=world(), far=9)
    return {"t": found(fp.float3(payload.t, 0, 1))}


PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    "a fused intersection": (
        lambda m: made(intersection=lambda: 1),
        "write it in Slang, and call ReportHit there",
        lambda m: fused(),
        SEEN,
    ),
    "a value from outside": (
        lambda m: fused(closesthit=lambda payload: {"t": payload.t + fp.Tensor([1.0])}),
        "read an array from a global in a Slang function, and give it by set(); or hand the value on in the payload",
        lambda m: fused(closesthit=lambda payload, ray_t_current: {"t": payload.t + ray_t_current}),
        SEEN,
    ),
    "all of a hit": (
        lambda m: fused(closesthit=lambda payload, at: at),
        "take its member barycentrics, or name a parameter so",
        lambda m: fused(closesthit=lambda payload, at, ray_t_current: {"t": ray_t_current + 0 * at.barycentrics.x}),
        SEEN,
    ),
    "another member of a hit": (
        lambda m: fused(closesthit=lambda payload, at: {"t": at.ray_t_current}),
        "for values of the ray, name a parameter so: world_ray_origin",
        lambda m: fused(closesthit=lambda payload, at, ray_t_current: {"t": ray_t_current}),
        SEEN,
    ),
    "a pipeline in a stage": (
        lambda m: fused(closesthit=called),
        "call the Slang function that traces the ray; then its ray goes through this pipeline",
        lambda m: fused(closesthit=lambda p: {"t": r().look(fp.float3(9, 9, 9)) - 8}),
        SEEN,
    ),
    "another member": (
        lambda m: fused(closesthit=lambda payload: {"tt": payload.t}),
        "did you mean 't'?",
        lambda m: fused(),
        SEEN,
    ),
    "the payload as a number": (
        lambda m: fused(closesthit=lambda payload: 3.0),
        "return a dict of the payload's members that change, each of its own type",
        lambda m: fused(),
        SEEN,
    ),
    "a candidate without an answer": (
        lambda m: fused(anyhit=lambda payload: payload.t),
        "return True to keep the hit, or (members, True)",
        lambda m: fused(anyhit=lambda payload: payload.t >= 0),
        SEEN,
    ),
    "an unknown parameter": (
        lambda m: fused(closesthit=lambda p, at, zzz: {"t": 1.0}),
        "known names: barycentrics, dispatch_rays_dimensions",
        lambda m: fused(closesthit=lambda p, at: {"t": 1.0}),
        SEEN,
    ),
    "a payload of no known type": (
        lambda m: fp.ray_gen(r(), "look", callable=lambda data: {"t": 1.0}),
        'annotate its parameter with the name of the struct: def <lambda>(payload: "Name", …)',
        lambda m: fused(),
        SEEN,
    ),
    "a ray generation without rays": (
        lambda m: fp.ray_gen(m, lambda x: x),
        "give ray_gen the module whose function calls TraceRay, and call that function in the fused one",
        lambda m: fp.ray_gen(r(), lambda x: r().look(x), miss=far, closesthit=near).set(scene=world())(ABOVE),
        np.array(SEEN),
    ),
}
