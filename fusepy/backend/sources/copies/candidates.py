"""The functions that look for the hit of a ray in copies of modules, where any-hit and intersection functions decide about it.

The names of these functions and of their variables begin with ``fz``, so that they are none of the user's.
"""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.ir.pipelines.queries import RayPayload

PARAMS = (
    "RaytracingAccelerationStructure scene, uint flags, uint mask, uint contribution, uint multiplier, uint miss, RayDesc ray"
)
_SEARCH = """\
struct FzFound_@n
{
    FzMet met;
    @members
};
FzFound_@n fz_search_@n(@params, inout @type fz_p)
{
    FzFound_@n fz_f;
    FzMet fz_before = fz_here;
    uint fz_kind = 0;
    fz_payload = @n;
    fz_payload_@n = fz_p;
    RayQuery<RAY_FLAG_NONE> fz_query;
    fz_query.TraceRayInline(scene, flags, mask, ray);
    while (fz_query.Proceed())
    {
        fz_here = fz_candidate(fz_query, flags, ray);
        fz_here.row = fz_row(fz_here, contribution, multiplier);
        fz_ignored = fz_ended = fz_reported = false;
        if (fz_query.CandidateType() == CANDIDATE_NON_OPAQUE_TRIANGLE)
        {
            BuiltInTriangleIntersectionAttributes fz_at;
            fz_at.barycentrics = fz_here.barycentrics;
            @anys
            if (!fz_ignored)
                fz_query.CommitNonOpaqueTriangleHit();
        }
        else
        {
            fz_is_opaque = !fz_query.CandidateProceduralPrimitiveNonOpaque();
            @shapes
            if (fz_reported)
            {
                fz_query.CommitProceduralPrimitiveHit(fz_here.t);
                fz_kind = fz_here.kind;
                @attributes
            }
        }
        if (fz_ended)
            fz_query.Abort();
    }
    fz_here = fz_before;
    fz_p = fz_payload_@n;
    fz_f.met = fz_committed(fz_query, flags, ray, fz_kind);
    return fz_f;
}
"""


def attribute_types(payloads: Sequence[RayPayload]) -> list[str]:
    """Returns the types of attributes of hits, apart from those of triangles."""
    return list(dict.fromkeys(a.removesuffix("+") for p in payloads for a in p.attributes if a))


def runs(payload: RayPayload) -> bool:
    """True if functions of the user run while a query looks for the hits of rays with this payload."""
    return any((*payload.anys, *payload.shapes))


def search(payload: RayPayload, number: int, types: Sequence[str]) -> list[str]:
    """Returns the function that looks for the hit of a ray; empty if `fusepy_queries` has it.

    Args:
        number: of the payload, in the names of its functions.
        types: of the attributes of all hits, see `attribute_types`.
    """
    if not runs(payload):
        return []
    shapes = [f"case {i}: {name}(); break;" for i, name in enumerate(payload.shapes) if name]
    parts = {
        "@members": [f"    {type} a{k};" for k, type in enumerate(types)],
        "@anys": switch("fz_here.row", _anys(payload, number, ""), 3),
        "@shapes": switch("fz_here.row", shapes, 3),
        "@attributes": [f"{' ' * 16}fz_f.a{k} = fz_attribute_{k};" for k in range(len(types))],
    }
    text = _SEARCH.replace("@params", PARAMS.replace("uint miss, ", "")).replace("@type", payload.type)
    lines = text.replace("@n", str(number)).splitlines()
    return [line for each in lines for line in parts.get(each.strip(), [each])]


def _anys(payload: RayPayload, number: int, type: str) -> list[str]:
    """Returns the calls of any-hit functions whose hits have attributes of this type."""
    rows = zip(payload.anys, payload.attributes)
    called = [(i, any_hit(name)) for i, (name, of) in enumerate(rows) if name and of.removesuffix("+") == type]
    return [f"case {i}: {name}(fz_payload_{number}, fz_at); break;" for i, name in called]


def any_hit(name: str) -> str:
    """Returns the name of the copy of an any-hit function."""
    return f"fz_any_{name.replace('::', '_')}"


def _decision(payload: RayPayload, number: int, type: str) -> list[str]:
    """Returns the case of a payload where any-hit functions decide about a reported hit; empty without any."""
    lines = switch("fz_here.row", _anys(payload, number, type), 2)
    return [f"    case {number}:", *lines, "        break;"] if lines else []


def reports(payloads: Sequence[RayPayload], types: Sequence[str]) -> list[str]:
    """Returns the functions by which intersection functions report hits with attributes of these types."""
    lines = [f"static {payload.type} fz_payload_{n};" for n, payload in enumerate(payloads) if runs(payload)]
    for k, type in enumerate(types):
        cases = [line for n, payload in enumerate(payloads) for line in _decision(payload, n, type)]
        asked = (
            ["    if (!fz_is_opaque)", "    switch (fz_payload)", "    {", *cases, "    default: break;", "    }"]
            if cases
            else []
        )
        lines += [
            f"static {type} fz_attribute_{k};",
            f"bool fz_ReportHit(float t, uint kind, {type} fz_at)",
            "{",
            "    if (!fz_is_nearer(t))",
            "        return false;",
            "    FzMet fz_before = fz_here;",
            "    fz_here.t = t;",
            "    fz_here.kind = kind;",
            "    fz_ignored = false;",
            *asked,
            "    if (fz_ignored)",
            "    {",
            "        fz_here = fz_before;",
            "        return false;",
            "    }",
            f"    fz_attribute_{k} = fz_at;",
            "    return fz_accept();",
            "}",
        ]
    return lines


def switch(value: str, cases: Sequence[str], indent: int) -> list[str]:
    """Returns a switch; nothing if it has no cases."""
    if not cases:
        return []
    space = "    " * indent
    return [
        f"{space}switch ({value})",
        f"{space}{{",
        *(f"{space}{case}" for case in cases),
        f"{space}default: break;",
        f"{space}}}",
    ]
