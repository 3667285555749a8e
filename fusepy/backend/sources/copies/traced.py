"""The functions that trace rays in copies of modules: a query, and the call of the hit or miss function that it leads to.

The names of these functions and of their variables begin with ``fz``, so that they are none of the user's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fusepy.ir.pipelines.queries import RayPayload

TRACE = "fz_TraceRay"
_SKIP_CLOSEST_HIT = 0x8  # RAY_FLAG_SKIP_CLOSEST_HIT_SHADER
_PARAMS = (
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


def at_depth(name: str, depth: int) -> str:
    """Returns the name of a function for rays that are traced from within `depth` others.

    Example:
        >>> at_depth("fz_TraceRay", 2), at_depth("fz_TraceRay", 0)
        ('fz_TraceRay_2', 'fz_TraceRay')
    """
    return f"{name}_{depth}" if depth else name


def attribute_types(payloads: Sequence[RayPayload]) -> list[str]:
    """Returns the types of attributes of hits, apart from those of triangles."""
    return list(dict.fromkeys(a.removesuffix("+") for p in payloads for a in p.attributes if a))


@dataclass(frozen=True)
class PayloadFunctions:
    """The functions of one type of payload.

    Attributes:
        number: of the payload, in the names of its functions.
        forward: the functions of its rays have forward derivatives.
        types: of the attributes of all hits, see `attribute_types`.
    """

    payload: RayPayload
    number: int
    forward: bool
    types: Sequence[str]

    @property
    def runs(self) -> bool:
        """True if functions of the user run while the query looks for hits."""
        return any((*self.payload.anys, *self.payload.shapes))

    def search(self) -> list[str]:
        """Returns the function that looks for the hit of a ray; empty if `fusepy_queries` has it."""
        if not self.runs:
            return []
        shapes = [f"case {i}: {name}(); break;" for i, name in enumerate(self.payload.shapes) if name]
        parts = {
            "@members": [f"    {type} a{k};" for k, type in enumerate(self.types)],
            "@anys": _switch("fz_here.row", self._anys(""), 3),
            "@shapes": _switch("fz_here.row", shapes, 3),
            "@attributes": [f"{' ' * 16}fz_f.a{k} = fz_attribute_{k};" for k in range(len(self.types))],
        }
        text = _SEARCH.replace("@params", _PARAMS.replace("uint miss, ", "")).replace("@type", self.payload.type)
        lines = text.replace("@n", str(self.number)).splitlines()
        return [line for each in lines for line in parts.get(each.strip(), [each])]

    def _anys(self, type: str) -> list[str]:
        """Returns the calls of any-hit functions whose hits have attributes of this type."""
        rows = zip(self.payload.anys, self.payload.attributes)
        called = [(i, any_hit(name)) for i, (name, of) in enumerate(rows) if name and of.removesuffix("+") == type]
        return [f"case {i}: {name}(fz_payload_{self.number}, fz_at); break;" for i, name in called]

    def decides(self, type: str) -> list[str]:
        """Returns the case of this payload where any-hit functions decide about a reported hit; empty without any."""
        lines = _switch("fz_here.row", self._anys(type), 2)
        return [f"    case {self.number}:", *lines, "        break;"] if lines else []

    def functions(self, depth: int, called: Callable[[str], str]) -> list[str]:
        """Returns the function that traces a ray from within `depth` others, and what it calls.

        Args:
            called: the function that runs for a hit or miss function; one that traces rays has a copy for each depth.
        """
        type, moves, shade = self.payload.type, self.payload.differentiable, at_depth(f"fz_shade_{self.number}", depth)
        ways = [f"[BackwardDerivative({shade}_back)]", *[f"[ForwardDerivative({shade}_forward)]"] * self.forward] if moves else []
        given = "".join(f", no_diff {type} fz_a{k}" for k, type in enumerate(self.types)) if self.runs else ""
        pair, none = f"DifferentialPair<{type}>", f"FzMet fz_m{given}, uint fz_row, uint fz_miss"
        plain = none.replace("no_diff ", "")  # in the derivatives
        lines = [*ways, f"{type} {shade}({none}, {type} fz_given)"]
        lines += self._body(f"{type} fz_p = fz_given;", "{}", called, "return fz_p;")
        if moves:
            lines.append(f"void {shade}_back({plain}, inout {pair} fz_given, {type}.Differential fz_by)")
            lines += self._body(f"{pair} fz_p = diffPair(fz_given.p, fz_by);", "bwd_diff({})", called, "fz_given = fz_p;")
        if moves and self.forward:
            lines.append(f"{pair} {shade}_forward({plain}, {pair} fz_given)")
            lines += self._body(f"{pair} fz_p = fz_given;", "fwd_diff({})", called, "return fz_p;")
        return [*lines, *self._trace(depth, shade)]

    def _trace(self, depth: int, shade: str) -> list[str]:
        """Returns the function that stands for ``TraceRay``.

        It is inline, since Slang keeps the arguments of a call on the way back, and cannot keep a scene.
        """
        type, moves = self.payload.type, self.payload.differentiable
        lines = ["    FzMet fz_m = no_diff fz_met(scene, flags, mask, ray);"]
        more = ""
        if self.runs:
            given = "scene, flags, mask, contribution, multiplier, ray"
            lines = [
                f"    {type} fz_seen = {'detach(fz_p)' if moves else 'fz_p'};",
                f"    FzFound_{self.number} fz_f = no_diff fz_search_{self.number}({given}, fz_seen);",
                *["    fz_p = fz_seen;"] * (not moves),  # any-hit functions may have changed it
                "    FzMet fz_m = fz_f.met;",
            ]
            more = "".join(f", fz_f.a{k}" for k in range(len(self.types)))
        row, none = "fz_row(fz_m, contribution, multiplier)", "" if moves else "no_diff "
        return [
            "[Differentiable] [__unsafeForceInlineEarly]",
            f"void {at_depth(TRACE, depth)}({_PARAMS}, inout {type} fz_p)",
            "{",
            *lines,
            f"    fz_p = {none}{shade}(fz_m{more}, no_diff {row}, miss & 0xffff, fz_p);",
            "}",
        ]

    def _body(self, first: str, way: str, called: Callable[[str], str], last: str) -> list[str]:
        """Returns the body of a function that calls the function of a ray."""
        payload = self.payload
        misses = [f"case {i}: {way.format(called(name))}(fz_p); break;" for i, name in enumerate(payload.misses) if name]
        hits = [
            f"case {i}: {self._hit(way, called(name), payload.attributes[i])} break;"
            for i, name in enumerate(payload.hits)
            if name
        ]
        return [
            "{",
            f"    {first}",
            "    FzMet fz_before = fz_here;",
            "    fz_here = fz_m;",
            "    BuiltInTriangleIntersectionAttributes fz_at;",
            "    fz_at.barycentrics = fz_m.barycentrics;",
            "    if (fz_m.found == 0)",
            "    {",
            *_switch("fz_miss", misses, 2),
            "    }",
            f"    else if ((fz_m.flags & {_SKIP_CLOSEST_HIT}) == 0)",
            "    {",
            *_switch("fz_row", hits, 2),
            "    }",
            "    fz_here = fz_before;",  # of the function that has traced this ray
            f"    {last}",
            "}",
        ]

    def _hit(self, way: str, name: str, attributes: str) -> str:
        """Returns the call of a closest-hit function. What a ray has found is a constant."""
        if not attributes:
            return f"{way.format(name)}(fz_p, fz_at);"
        type = attributes.removesuffix("+")
        given = f"fz_a{self.types.index(type)}"
        if attributes == type or way == "{}":
            return f"{way.format(name)}(fz_p, {given});"
        pair = f"DifferentialPair<{type}> fz_pair = diffPair({given}, {type}.dzero());"
        return f"{{ {pair} {way.format(name)}(fz_p, fz_pair); }}"


def any_hit(name: str) -> str:
    """Returns the name of the copy of an any-hit function."""
    return f"fz_any_{name.replace('::', '_')}"


def reports(payloads: Sequence[PayloadFunctions], types: Sequence[str]) -> list[str]:
    """Returns the functions by which intersection functions report hits with attributes of these types."""
    lines = [f"static {p.payload.type} fz_payload_{p.number};" for p in payloads if p.runs]
    for k, type in enumerate(types):
        cases = [line for p in payloads if p.runs for line in p.decides(type)]
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
            "    fz_reported = true;",
            "    return true;",
            "}",
        ]
    return lines


def callables(called: Sequence[tuple[str, str]]) -> list[str]:
    """Returns the functions that stand for ``CallShader``, one for each type; `called` are function and type by index."""
    lines: list[str] = []
    for type in dict.fromkeys(type for _, type in called):
        cases = [f"    if (index == {i}) {name}(data);" for i, (name, taken) in enumerate(called) if taken == type]
        lines += ["[Differentiable]", f"void fz_CallShader(uint index, inout {type} data)", "{", *cases, "}"]
    return lines


def too_deep(depth: int) -> list[str]:
    """Returns the functions for rays that would be traced from within too many others: the payload stays as it is."""
    lines: list[str] = []
    for bound in (" : IDifferentiable", ""):
        lines.append("[Differentiable] [__unsafeForceInlineEarly]")
        lines.append(f"void {at_depth(TRACE, depth)}<T{bound}>({_PARAMS}, inout T payload)")
        lines += ["{", "    no_diff fz_stop();", "}"]
    return lines


def without_functions(depth: int) -> list[str]:
    """Returns the functions for rays whose payload no function of the pipeline has: nothing runs."""
    return [line for line in too_deep(depth) if "fz_stop" not in line]


def _switch(value: str, cases: Sequence[str], indent: int) -> list[str]:
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
