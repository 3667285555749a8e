"""Rays in NumPy, as a reference; and the devices on which they are tested."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

Array = np.ndarray[Any, np.dtype[Any]]
FAR = np.float32(1e30)
BOXES = """
int boxes(RaytracingAccelerationStructure scene, float3 from)
{
    RayQuery<RAY_FLAG_NONE> query;
    query.TraceRayInline(scene, RAY_FLAG_NONE, 255, ray_from(from, float3(0, 0, -1)));
    int found = 0;
    while (query.Proceed())
        found |= query.CandidateType() == CANDIDATE_PROCEDURAL_PRIMITIVE ? 1 << query.CandidatePrimitiveIndex() : 0;
    return found;
}
"""  # a bit for each box that a ray meets


def need_rays(device: Any) -> None:
    """Skips a test on a device without rays; `tests/scenes/test_scene.py` tests what such a device says."""
    if "ray_query" not in device.features:
        pytest.skip("the device has no ray tracing")


def nearest(triangles: Array, origins: Array, direction: Array) -> tuple[Array, Array]:
    """Returns the distance to the nearest of ``(m, 3, 3)`` triangles for each origin, `FAR` for none, and its number or -1."""
    a, b, c = (triangles[:, i].astype(np.float64) for i in range(3))
    p = np.cross(direction, c - a)
    determinant = np.einsum("mi,mi->m", b - a, p)
    with np.errstate(divide="ignore", invalid="ignore"):
        from_a = origins[:, None] - a
        u = np.einsum("nmi,mi->nm", from_a, p) / determinant
        q = np.cross(from_a, b - a)
        v = np.einsum("nmi,i->nm", q, direction) / determinant
        t = np.einsum("nmi,mi->nm", q, c - a) / determinant
        t = np.where((u >= 0) & (v >= 0) & (u + v <= 1) & (t >= 0), t, np.inf)
    found = np.isfinite(t).any(axis=1)
    return np.where(found, t.min(axis=1), FAR), np.where(found, t.argmin(axis=1), -1)


def moved(triangles: Array, transform: Array) -> Array:
    """Returns triangles under a ``(3, 4)`` transform."""
    return triangles @ transform[:, :3].T + transform[:, 3]
