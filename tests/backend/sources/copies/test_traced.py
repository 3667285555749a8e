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
    assert "void fz_1_hit(inout P p, A a)\n{ if (a.b) ::fz_1_ray(p); p.ray = 1; }" in text  # a member stays
    assert "void fz_2_ray(inout P p)\n{ fz_TraceRay_2(s, 0, 255, 0, 0, 0, r, p); }" in text
    assert text.count("fz_is_too_deep = true") == 1
    assert "fz_3_" not in text
