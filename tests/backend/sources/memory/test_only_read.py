"""Functions that only read what they could write, by their text."""

from __future__ import annotations

import pytest

from fusepy.backend.sources.memory.only_read import only_reads


@pytest.mark.parametrize(
    "source",
    [
        "float f(float* t, int i) { return t[i]; }",
        "float f(float* t, int i) { float s = 0; for (int k = 0; k < 3; k++) s += t[k]; return s; }",
        "float f(float* t, int i) { float a = 1, b = 2; while (a < 9) { a *= t[i]; ++b; } return a * b; }",
        "float f(float* t, int i) { int a[2] = {1, 2}; if (i <= 2 && i != 3) return t[a[0]]; return 0; }",
        "float f(float* t, int i) { float3 v; v.x = t[i]; v[1] = 2; return v.x; }",
        "float f(RWStructuredBuffer<float> t, int i) { return t[i]; }",
        "float f(float* t, int i) { float s; switch (i) { case 1: s = t[i]; break; default: s = 2; } return s; }",
        "float f(float* t, int i) { float a; if (i > 2) a = t[i]; else a = 3; do a += 1; while (a < 3); return a; }",
        "float g(float* t) { return *t; } float f(Ptr<float> t) { return g(t); }",
    ],
)
def test_functions_that_only_read(source: str) -> None:
    assert only_reads("f", [source])


@pytest.mark.parametrize(
    "source",
    [
        "void f(float* t, int i) { t[i] = 1; }",
        "void f(float* t, int i) { *t += 1; }",
        "void f(float* t, int i) { t[i]++; }",
        "void f(float* t, int i) { --t[i]; }",
        "void f(S* t, int i) { t[i].x = 1; }",
        "void f(S* t, int i) { t->x = 1; }",
        "void f(float* t, int i) { float* p = t + 1; p[0] = 2; }",
        "void f(float* t, int i) { var p = t; p[0] = 1; }",
        "void f(float* t, int i) { (t + i)[0] = 1; }",
        "void f(float* t, int i) { t[a[b[i]]] = 1; }",
        "void g(inout float x) { x = 2; } void f(RWStructuredBuffer<float> t, int i) { g(t[i]); }",
        "void g(float* t) { t[0] = 1; } void f(float* t) { g(t); }",
        "void f(RWByteAddressBuffer t, int i) { t.Store(i, 2); }",
        "void f(RWStructuredBuffer<int> t, int i) { InterlockedAdd(t[i], 1); }",
        "float f(float* t, int i) { return t[i] += 1; }",
        "float f(float* t, int i) { return t[i]++; }",
        "float f(float* t, int i) { return ++t[i]; }",
        "void f(float* t, int i) { int a; if (i > 2) a = 1; else t[i] = 2; }",
        "void f(float* t, int i) { do t[i] += 1; while (t[i] < 3); }",
        "void f(float* t, int i) { switch (i) { case 1: t[i] = 1; break; default: t[0] = 2; } }",
        "float g(int a, float b) { return b; } void f(float* t, int i) { g(i, t[i]); t[i] = 1; }",
        "struct S { float* d; }; void f(float* t, int i) { S s; s.d = t; s.d[i] = 2; }",
        "struct S { RWStructuredBuffer<float> d; }; void f(S a, float* t, int i) { S s = a; s.d[i] = 2; }",
        "#define SET t[0] = 1\nvoid f(float* t) { SET; }",
        "struct S { float* d; }; void f(S s, int i, float* u) { s.d[i] = 2; }",
        "#define SET(t) t[0] = 1\nvoid f(float* t) { SET(t); }",
        "float f(StructuredBuffer<float> t, int i) { return t[i]; }",  # it could write nothing
    ],
)
def test_functions_that_may_write(source: str) -> None:
    assert not only_reads("f", [source])
