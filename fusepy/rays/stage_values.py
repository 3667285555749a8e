"""Values of the ray and of the hit that stages in Python take, by the names of parameters."""

from __future__ import annotations

from typing import ClassVar, NoReturn

from fusepy.errors import UnknownNameError
from fusepy.location import user_line
from fusepy.trace.traced import Traced

_ALWAYS = {"dispatch_rays_index": ("DispatchRaysIndex", "uint3"), "dispatch_rays_dimensions": ("DispatchRaysDimensions", "uint3")}
_OF_RAYS = {
    "world_ray_origin": ("WorldRayOrigin", "float3"),
    "world_ray_direction": ("WorldRayDirection", "float3"),
    "ray_t_min": ("RayTMin", "float"),
    "ray_t_current": ("RayTCurrent", "float"),
}
_OF_HITS = {
    "object_ray_origin": ("ObjectRayOrigin", "float3"),
    "object_ray_direction": ("ObjectRayDirection", "float3"),
    "instance_index": ("InstanceIndex", "uint"),
    "instance_id": ("InstanceID", "uint"),
    "primitive_index": ("PrimitiveIndex", "uint"),
    "hit_kind": ("HitKind", "uint"),
}
VALUES = {
    "miss": {**_ALWAYS, **_OF_RAYS},
    "closesthit": {**_ALWAYS, **_OF_RAYS, **_OF_HITS},
    "anyhit": {**_ALWAYS, **_OF_RAYS, **_OF_HITS},
    "callable": _ALWAYS,
}


class TriangleHit:
    """A hit of a triangle, as a stage in Python gets it.

    Attributes:
        barycentrics: the weights of the second and the third vertex.
    """

    _instead: ClassVar[str] = "take its member barycentrics, or name a parameter so"

    def __init__(self, barycentrics: Traced):
        self.barycentrics = barycentrics

    def __repr__(self) -> str:
        return "<a hit of a triangle: barycentrics>"

    def __getattr__(self, name: str) -> NoReturn:
        raise UnknownNameError(
            f"a hit of a triangle has no {name!r}",
            place=user_line(),
            expected="barycentrics",
            hint=f"for values of the ray, name a parameter so: {', '.join((*_OF_RAYS, *_OF_HITS))}",
        )
