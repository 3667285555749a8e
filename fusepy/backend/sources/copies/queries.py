"""Copies of modules in which the rays of a pipeline are inline queries, for gradients; see `fusepy_queries`.

Slang has no derivative of ``TraceRay``. In the copy it is a function that queries the scene and calls the hit or miss function,
whose derivative is known. What a query finds is a constant.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from fusepy.backend.sources.closure import bare
from fusepy.backend.sources.copies.files import copied
from fusepy.backend.sources.declarations import functions
from fusepy.backend.sources.source import ModuleSource
from fusepy.ir.pipelines.queries import RayPayload

LIBRARY = "fusepy_queries"
# of a hit or miss function; `fusepy_queries` has a function for each
VALUES = (
    *("InstanceID", "InstanceIndex", "PrimitiveIndex", "GeometryIndex", "HitKind", "RayFlags", "RayTMin", "RayTCurrent"),
    *("WorldRayOrigin", "WorldRayDirection", "ObjectRayOrigin", "ObjectRayDirection"),
    *("ObjectToWorld3x4", "ObjectToWorld4x3", "WorldToObject3x4", "WorldToObject4x3"),
)
DISPATCHED = ("DispatchRaysIndex", "DispatchRaysDimensions")  # which there are in a ray generation only
_SKIP_CLOSEST_HIT = 0x8  # RAY_FLAG_SKIP_CLOSEST_HIT_SHADER
_VALUE = re.compile(rf"(?<![.:\w])({'|'.join(VALUES)})(?=\s*\()")
_TRACE = re.compile(r"(?<![.:\w])(TraceRay)(?=\s*[<(])")
_STAGE = re.compile(r"\[\s*shader\s*\([^)]*\)\s*\]")
_IMPORT = f"\n\nimport {LIBRARY};\n"  # the empty line ends a continued one


def with_values(text: str) -> str:
    """Returns a source in which hit and miss functions ask `fusepy_queries` for what they ask the driver for.

    Example:
        >>> with_values("void hit(inout P p, A a) { p.id = InstanceID(); }")
        'void hit(inout P p, A a) { p.id = fz_InstanceID(); }'
    """
    return _renamed(_VALUE, text)


def with_queries(text: str, payloads: Sequence[RayPayload]) -> str:
    """Returns the source of a module whose rays are queries."""
    rays = _STAGE.sub("", _renamed(_TRACE, text))
    lines = [line for i, payload in enumerate(payloads) for line in _traced(payload, i)]
    return "\n".join([rays, _IMPORT, *lines]) + "\n"


def _renamed(pattern: re.Pattern[str], text: str) -> str:
    """Returns a source with other names of Slang's functions; those of the user with such names stay."""
    plain = bare(text, in_place=True)
    if pattern.search(plain) is None:
        return text
    own = {name for name, _ in functions(plain)}
    return pattern.sub(lambda found: found[0] if found[1] in own else f"fz_{found[1]}", plain)


def _traced(payload: RayPayload, number: int) -> list[str]:
    """Returns the functions that trace a ray with one type of payload."""
    shade, type = f"fz_shade_{number}", payload.type
    pair, none = f"DifferentialPair<{type}>", "FzMet met, uint row, uint miss"
    lines = [
        *([f"[BackwardDerivative({shade}_back)]", f"[ForwardDerivative({shade}_forward)]"] if payload.moves else []),
        f"{type} {shade}({none}, {type} given)",
        *_body(payload, f"{type} payload = given;", "{}", "return payload;"),
    ]
    if payload.moves:
        lines += [
            f"void {shade}_back({none}, inout {pair} given, {type}.Differential by)",
            *_body(payload, f"{pair} payload = diffPair(given.p, by);", "bwd_diff({})", "given = payload;"),
            f"{pair} {shade}_forward({none}, {pair} given)",
            *_body(payload, f"{pair} payload = given;", "fwd_diff({})", "return payload;"),
        ]
    # inline, since Slang keeps the arguments of a call on the way back, and cannot keep a scene
    params = (
        "RaytracingAccelerationStructure scene, uint flags, uint mask, uint contribution, uint multiplier, uint miss, RayDesc ray"
    )
    return [
        *lines,
        "[Differentiable] [__unsafeForceInlineEarly]",
        f"void fz_TraceRay({params}, inout {type} payload)",
        "{",
        "    FzMet met = no_diff fz_met(scene, flags, mask, ray);",
        "    uint row = contribution + multiplier * met.geometry + met.row;",
        f"    payload = {'' if payload.moves else 'no_diff '}{shade}(met, row, miss, payload);",
        "}",
    ]


def _body(payload: RayPayload, first: str, way: str, last: str) -> list[str]:
    """Returns the body of a function that calls the function of a ray."""

    def cases(names: Sequence[str], arguments: str) -> list[str]:
        return [f"    case {i}: {way.format(name)}({arguments}); break;" for i, name in enumerate(names) if name]

    return [
        "{",
        f"    {first}",
        "    fz_here = met;",
        "    BuiltInTriangleIntersectionAttributes at;",
        "    at.barycentrics = met.barycentrics;",
        "    if (met.found == 0)",
        "        switch (miss)",
        "        {",
        *(f"    {line}" for line in cases(payload.misses, "payload")),
        "        default: break;",
        "        }",
        f"    else if ((met.flags & {_SKIP_CLOSEST_HIT}) == 0)",
        "        switch (row)",
        "        {",
        *(f"    {line}" for line in cases(payload.hits, "payload, at")),
        "        default: break;",
        "        }",
        f"    {last}",
        "}",
    ]


@functools.lru_cache(maxsize=64)
def queried_source(source: ModuleSource, payloads: tuple[str, ...]) -> ModuleSource:
    """Returns a module with the text of `with_queries`, and with copies of files; `payloads` are texts of `RayPayload`."""
    found = copied(source, with_values, _IMPORT)
    return found.with_text(with_queries(found.text, [RayPayload.parse(line) for line in payloads]))
