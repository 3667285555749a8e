"""The functions that trace rays in copies of modules: a query, and the call of the hit or miss function that it leads to.

The names of these functions and of their variables begin with ``fz``, so that they are none of the user's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fusepy.backend.sources.copies.candidates import PARAMS, runs, switch
from fusepy.ir.pipelines.queries import RayPayload

TRACE = "fz_TraceRay"
_SKIP_CLOSEST_HIT = 0x8  # RAY_FLAG_SKIP_CLOSEST_HIT_SHADER


def at_depth(name: str, depth: int) -> str:
    """Returns the name of a function for rays that are traced from within `depth` others.

    Example:
        >>> at_depth("fz_TraceRay", 2), at_depth("fz_TraceRay", 0)
        ('fz_TraceRay_2', 'fz_TraceRay')
    """
    return f"{name}_{depth}" if depth else name


@dataclass(frozen=True)
class PayloadFunctions:
    """The functions of one type of payload.

    Attributes:
        number: of the payload, in the names of its functions.
        forward: the functions of its rays have forward derivatives.
        types: of the attributes of all hits, see `candidates.attribute_types`.
    """

    payload: RayPayload
    number: int
    forward: bool
    types: Sequence[str]

    def functions(self, depth: int, called: Callable[[str], str]) -> list[str]:
        """Returns the function that traces a ray from within `depth` others, and what it calls.

        Args:
            called: the function that runs for a hit or miss function; one that traces rays has a copy for each depth.
        """
        type, moves, shade = self.payload.type, self.payload.differentiable, at_depth(f"fz_shade_{self.number}", depth)
        ways = [f"[BackwardDerivative({shade}_back)]", *[f"[ForwardDerivative({shade}_forward)]"] * self.forward] if moves else []
        given = "".join(f", no_diff {type} fz_a{k}" for k, type in enumerate(self.types)) if runs(self.payload) else ""
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
        if runs(self.payload):
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
            f"void {at_depth(TRACE, depth)}({PARAMS}, inout {type} fz_p)",
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
            *switch("fz_miss", misses, 2),
            "    }",
            f"    else if ((fz_m.flags & {_SKIP_CLOSEST_HIT}) == 0)",
            "    {",
            *switch("fz_row", hits, 2),
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


def callables(called: Sequence[tuple[str, str]]) -> list[str]:
    """Returns the functions that stand for ``CallShader``, one for each type; `called` are function and type by index."""
    lines: list[str] = []
    for type in dict.fromkeys(type for _, type in called):
        cases = [f"    if (index == {i}) {name}(data);" for i, (name, taken) in enumerate(called) if taken == type]
        lines += ["[Differentiable]", f"void fz_CallShader(uint index, inout {type} data)", "{", *cases, "}"]
    return lines


def other_payloads(depth: int, line: str = "") -> list[str]:
    """Returns the functions that trace a ray from within `depth` others whose payload has no functions: only `line` runs.

    Beyond the last depth there are functions of no payload.
    """
    lines: list[str] = []
    for bound in (" : IDifferentiable", ""):
        lines.append("[Differentiable] [__unsafeForceInlineEarly]")
        lines.append(f"void {at_depth(TRACE, depth)}<T{bound}>({PARAMS}, inout T payload)")
        lines += ["{", f"    {line}", "}"]
    return lines
