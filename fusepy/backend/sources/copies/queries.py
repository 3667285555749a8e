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
from fusepy.backend.sources.derivatives import lacking_forward
from fusepy.backend.sources.source import ModuleSource
from fusepy.ir.pipelines.queries import RayPayload

LIBRARY = "fusepy_queries"
# of a hit or miss function; `fusepy_queries` has a function for each
VALUES = (
    *("InstanceID", "InstanceIndex", "PrimitiveIndex", "GeometryIndex", "HitKind", "RayFlags", "RayTMin", "RayTCurrent"),
    *("WorldRayOrigin", "WorldRayDirection", "ObjectRayOrigin", "ObjectRayDirection"),
    *("ObjectToWorld3x4", "ObjectToWorld4x3", "WorldToObject3x4", "WorldToObject4x3"),
)
DISPATCHED = ("DispatchRaysIndex", "DispatchRaysDimensions")  # only ray generations have these
_SKIP_CLOSEST_HIT = 0x8  # RAY_FLAG_SKIP_CLOSEST_HIT_SHADER
_VALUE = re.compile(rf"(?<![.:\w])({'|'.join(VALUES)})(?=\s*\()")
_TRACE = re.compile(
    r"(?<![.:\w])(TraceRay)(?:\s*<[^();]*>)?(?=\s*\()"
)  # without the type of the payload, which finds its function
_STATIC = re.compile(r"\bstatic\s+(?!const\b)(?:\w+\s*(?:<[^;(){}]*>)?\s+)+?(\w+)\s*(?:\[[^\]]*\]\s*)*[=;]")
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

    def forward(payload: RayPayload) -> bool:
        return not any(name and lacking_forward(name, [text]) for name in (*payload.misses, *payload.hits))

    lines = [line for i, payload in enumerate(payloads) for line in _traced(payload, i, forward(payload))]
    return "\n".join([rays, _IMPORT, *lines]) + "\n"


def _renamed(pattern: re.Pattern[str], text: str) -> str:
    """Returns a source with other names of Slang's functions; those of the user with such names stay."""
    plain = bare(text, in_place=True)
    if pattern.search(plain) is None:
        return text
    own = {name for name, _ in functions(plain)}
    return pattern.sub(lambda found: found[0] if found[1] in own else f"fz_{found[1]}", plain)


def statics(texts: Sequence[str]) -> list[str]:
    """Returns the variables of modules that keep their values between functions.

    Example:
        >>> statics(["static uint seed = 1; static const float k = 2; groupshared float s[4]; float f() { return 1; }"])
        ['seed']
    """
    return [name for text in texts for name in _STATIC.findall(bare(text))]


def _traced(payload: RayPayload, number: int, forward: bool) -> list[str]:
    """Returns the functions that trace a ray with one type of payload. Their names and locals are none of the user's."""
    shade, type = f"fz_shade_{number}", payload.type
    pair, none = f"DifferentialPair<{type}>", "FzMet fz_m, uint fz_row, uint fz_miss"
    moves = payload.differentiable
    attributes = [f"[BackwardDerivative({shade}_back)]", *[f"[ForwardDerivative({shade}_forward)]"] * forward] if moves else []
    lines = [*attributes, f"{type} {shade}({none}, {type} fz_given)"]
    lines += _body(payload, f"{type} fz_p = fz_given;", "{}", "return fz_p;")
    if moves:
        lines.append(f"void {shade}_back({none}, inout {pair} fz_given, {type}.Differential fz_by)")
        lines += _body(payload, f"{pair} fz_p = diffPair(fz_given.p, fz_by);", "bwd_diff({})", "fz_given = fz_p;")
    if moves and forward:
        lines.append(f"{pair} {shade}_forward({none}, {pair} fz_given)")
        lines += _body(payload, f"{pair} fz_p = fz_given;", "fwd_diff({})", "return fz_p;")
    # inline, since Slang keeps the arguments of a call on the way back, and cannot keep a scene
    params = (
        "RaytracingAccelerationStructure scene, uint flags, uint mask, uint contribution, uint multiplier, uint miss, RayDesc ray"
    )
    return [
        *lines,
        "[Differentiable] [__unsafeForceInlineEarly]",
        f"void fz_TraceRay({params}, inout {type} fz_p)",
        "{",
        "    FzMet fz_m = no_diff fz_met(scene, flags, mask, ray);",
        "    uint fz_row = (contribution & 15) + (multiplier & 15) * fz_m.geometry + fz_m.row;",  # the bits that devices use
        f"    fz_p = {'' if moves else 'no_diff '}{shade}(fz_m, fz_row, miss & 0xffff, fz_p);",
        "}",
    ]


def _body(payload: RayPayload, first: str, way: str, last: str) -> list[str]:
    """Returns the body of a function that calls the function of a ray."""

    def cases(names: Sequence[str], arguments: str) -> list[str]:
        return [f"    case {i}: {way.format(name)}({arguments}); break;" for i, name in enumerate(names) if name]

    return [
        "{",
        f"    {first}",
        "    fz_here = fz_m;",
        "    BuiltInTriangleIntersectionAttributes fz_at;",
        "    fz_at.barycentrics = fz_m.barycentrics;",
        "    if (fz_m.found == 0)",
        "        switch (fz_miss)",
        "        {",
        *(f"    {line}" for line in cases(payload.misses, "fz_p")),
        "        default: break;",
        "        }",
        f"    else if ((fz_m.flags & {_SKIP_CLOSEST_HIT}) == 0)",
        "        switch (fz_row)",
        "        {",
        *(f"    {line}" for line in cases(payload.hits, "fz_p, fz_at")),
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
