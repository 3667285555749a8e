"""Functions that trace rays in copies of modules."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.backend.sources.copies.queries import with_queries
from fusepy.ir.pipelines.queries import RayPayload, RayQueries


def payload(
    type: str, misses: Sequence[str] = (), hits: Sequence[str] = (), moves: bool = True, **more: Sequence[str]
) -> RayPayload:
    none = ("",) * len(hits)
    rows = (tuple(more.get(name, none)) for name in ("anys", "shapes", "attributes"))
    return RayPayload(type, tuple(misses), tuple(hits), *rows, moves)


def test_functions_that_trace_rays_have_a_copy_for_each_depth() -> None:
    source = (
        "void ray(inout P p) { TraceRay(s, 0, 255, 0, 0, 0, r, p); }\nvoid hit(inout P p, A a) { if (a.b) ::ray(p); p.ray = 1; }"
    )
    text = with_queries(source, RayQueries((payload("P", (), ("hit",)),), recursion=2))
    assert "void fz_1_hit(inout P p, A a) { if (a.b) ::fz_1_ray(p); p.ray = 1; }" in text  # a member stays
    assert "void fz_2_ray(inout P p) { fz_TraceRay_2(s, 0, 255, 0, 0, 0, r, p); }" in text
    assert text.count("fz_is_too_deep = true") == 1
    assert "fz_3_" not in text


def test_any_hit_functions_decide_in_variables() -> None:
    source = (
        "void cut(inout P p, A a) { if (a.b) IgnoreHit(); AcceptHitAndEndSearch ( ) ; }\nvoid ball() { ReportHit<B>(1, 2, b); }"
    )
    given = {"anys": ("cut", ""), "shapes": ("", "ball"), "attributes": ("", "B+")}
    for moves, head in ((True, "const P p"), (False, "inout P p")):
        text = with_queries(source, RayQueries((payload("P", (), ("", ""), moves, **given),)))
        assert (
            f"void fz_any_cut({head}, A a)\n{{ if (a.b) {{ fz_ignored = true; return; }} {{ fz_ended = true; return; }} }}"
            in text
        )
        assert "void ball() { fz_ReportHit(1, 2, b); }" in text
        assert "case 1: ball(); break;" in text
