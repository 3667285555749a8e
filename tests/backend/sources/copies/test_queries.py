"""Copies of modules in which rays are queries."""

from __future__ import annotations

import pytest

from fusepy.backend.sources.copies.queries import VALUES, with_queries, with_values
from fusepy.backend.sources.libraries import FOLDER
from fusepy.ir.pipelines.queries import RayQueries
from tests.backend.sources.copies.test_traced import payload

RAYS = 'void f(inout P p) { TraceRay(s, 0, 255, 0, 0, 1, ray, p); }  // TraceRay(\n[shader("miss")] void gone(inout P p) {}\n'


def test_rays_call_the_functions_of_their_payload() -> None:
    payloads = payload("P", ("", "gone"), ("hit", "", "ns::other")), payload("Q", moves=False)
    text = with_queries(RAYS, RayQueries(payloads))
    first, *_ = text.splitlines()
    assert first.rstrip() == "void f(inout P p) { fz_TraceRay(s, 0, 255, 0, 0, 1, ray, p); }"
    assert "[shader" not in text
    for call in ("gone(fz_p)", "hit(fz_p, fz_at)", "ns::other(fz_p, fz_at)"):
        name, _, arguments = call.partition("(")
        for spelled in (call, f"bwd_diff({name})({arguments}", f"fwd_diff({name})({arguments}"):
            assert text.count(f": {spelled}; break;") == 1, spelled
    assert "case 2: ns::other(fz_p, fz_at); break;" in text
    assert "case 1: gone(fz_p); break;" in text
    assert text.count("void fz_TraceRay(") == 2
    assert "no_diff fz_shade_1(fz_m" in text  # a payload without a derivative
    assert "fz_shade_1_back" not in text
    assert "fz_search" not in text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("float t() { return RayTCurrent(); }", "float t() { return fz_RayTCurrent(); }"),
        ("float t() { return query.RayTMin() + a::RayTMin(); }", None),
        ("float t() { return RayTCurrent; } // InstanceID()", None),
        ("uint InstanceID() { return 3; } uint t() { return InstanceID(); }", None),  # the user's own
        ("int MyInstanceID() { return 0; }", None),
    ],
)
def test_values_of_hits_have_other_names(text: str, wanted: str | None) -> None:
    assert with_values(text).strip() == (wanted or with_values(text).strip())
    if wanted is None:
        assert "fz_" not in with_values(text)


def test_the_library_has_every_value() -> None:
    library = (FOLDER / "fusepy_queries.slang").read_text()
    assert not [name for name in VALUES if f" fz_{name}()" not in library]


def test_queries_are_texts_in_programs() -> None:
    given = {"anys": ("", "c", ""), "shapes": ("", "", "d"), "attributes": ("", "", "Ball<int, 2>+")}
    payloads = payload("Payload", ("a", ""), ("", "b", "ns::c"), **given), payload("float2", moves=False)
    bodies = ("[Differentiable] void f(inout Payload fz_p)\n{\n}",)
    for queries in (
        RayQueries(payloads, 3, (("g", "Data"), ("h", "Pair<int, float>")), bodies, ("sin", "float2")),
        RayQueries(payloads),
    ):
        assert RayQueries.parse(queries.lines()) == queries
