"""Writes of elements of arrays: which go through a call. `test_indexed` has their gradients."""

from __future__ import annotations

import pytest

from fusepy.backend.sources.copies.scalars import Words, with_scalars

HEAD = "struct W : IDifferentiable { float2 x; float s; } [Differentiable] float f(float2 a, int k) { "


@pytest.mark.req("B1")
@pytest.mark.parametrize(
    ("body", "made"),
    [
        ("W d[2]; d[0].s = 1; d[1] = d[0];", "W d[2]; d[0].s = 1; fz_put(d, 1, d[0]);"),
        ("float2 v[2]; v[0].x *= 2; if (k) v[1] *= a;", "float2 v[2]; v[0].x *= 2; if (k) fz_put(v, 1, v[1] * (a));"),
        ("float y[2][2]; y[0][1] = 1; y[k] += y[0];", "float y[2][2]; y[0][1] = 1; fz_put(y, k, fz_item(y, k) + (y[0]));"),
        ("float x[2]; x[k] -= x[0];", "float x[2]; x[k] = fz_item(x, k) - (x[0]);"),
        ("W s; s.x[k] /= s.s;", "W s; s.x[k] = fz_item(s.x, k) / (s.s);"),
        ("while (k < 3 && a.x < 1) ++k;", "for (;k < 3 && a.x < 1;) ++k;"),
    ],
)
def test_writes_and_tests_are_spelled_so_that_slang_differentiates_them(body: str, made: str) -> None:
    assert with_scalars(f"{HEAD}{body} }}", Words.of([HEAD])) == f"{HEAD}{made} }}"


@pytest.mark.parametrize(
    "body",
    [
        "float2 v[2]; v[0] = a; v[1] = v[0]; v[0] += a;",  # whole elements alone
        "W d[2]; d[0].s = 1; for (; k < 2; d[1] = d[0]) { } d[k++] += d[0];",  # no statement, and an index that counts
        "float2x2 m; m[0].x = 1; m[1] = a; Unknown u[2]; u[0].x = 1; u[1] = u[0];",
        "do { ++k; } while (k < 9 && a.x < 1); while (k > 0) --k;",
    ],
)
def test_the_rest_stays_as_it_is(body: str) -> None:
    assert with_scalars(f"{HEAD}{body} }}", Words.of([HEAD])) == f"{HEAD}{body} }}"
