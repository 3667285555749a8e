"""Any-hit and intersection functions in copies of modules."""

from __future__ import annotations

from fusepy.backend.sources.copies.queries import with_queries
from fusepy.ir.pipelines.queries import RayQueries
from tests.backend.sources.copies.test_traced import payload


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
