"""Reads and writes of arrays, vectors and matrices by index, and loops whose tests branch: no gradient is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.sources.copies.scalars import Words, with_scalars

TYPES = """
#define N 4
#define SQUARE(x) ((x) * (x))
#define DOUBLE(x) { x = x + x; }
typealias Vec = float3; typedef vector<float, 3> Other;
struct Plain { float w; int n; }
struct W : IDifferentiable
{
    float w[4];
    [Differentiable] float bare(int k, int l) { return w[k] * this.w[l]; }
    [Differentiable] float[4] whole() { return w; }
    [Differentiable] [mutating] void grow(float by) { w[0] = w[0] * by; }
}
extension W { [Differentiable] float beside(int k, int l) { return w[k] * w[l]; } }
extension float3 { [Differentiable] float both(int k, int l) { return this[k] * this[l]; } }
struct Box<T : IDifferentiable> : IDifferentiable { T w[4]; [Differentiable] T get(int k) { return w[k]; } }
namespace ns
{
    struct Deep : IDifferentiable { float2 v[2]; W of; }
}
[Differentiable] float listed(const float x[N], int k, int l) { return x[k] * x[l]; }
[Differentiable] float before(float[4] x, int k, int l) { return x[k] * x[l]; }
[Differentiable] func turned(x : float[4], k : int, l : int) -> float { return x[k] * x[l]; }
[Differentiable] T gen<T : __BuiltinFloatingPointType, let M : int>(T x[M], int k, int l) { T y[M] = x; return y[k] * x[l]; }
[Differentiable] float changed(inout float x[4], int k, int l) { x[k] = x[l] * x[k]; return x[k] + x[l]; }
[Differentiable] void raised(inout float x, float by) { x = x * by + 1; }
[Differentiable] void squared(float x, out float y) { y = x * x; }
[Differentiable] float[4] made(float a, float b) { return {a, b, a * b, a + b}; }
"""
ARRAY = "float x[4] = {a, b, a * b, a + b}; "
VECTOR = "float3 v = float3(a, b, a * b); int i = k % 3, j = l % 3; "
MATRIX = "float2x2 m = float2x2(a, b, a * b, a + b); int i = k / 2, j = l / 2; "
STRUCT = "W s; s.w = made(a, b); "
BODIES = {  # each loses gradients where Slang differentiates the text as it is
    "arrays": ARRAY + "float y[4] = x; var z = made(b, a); return x[k] * x[l] + y[k] * x[l] * x[0] + z[k] * z[l]"
    " + made(a, b)[k] * made(a, b)[l];",
    "parameters": ARRAY + "return listed(x, k, l) + before(x, l, k) * turned(x, k, l) + gen(x, k, l) + gen<float, 4>(x, l, k);",
    "nested": "float x[2][2] = {{a, b}, {a * b, a + b}}; return x[k / 2][k % 2] * x[l / 2][l % 2];",
    "vectors": VECTOR + "Vec u = v; Other w = v; return v[i] * v[j] + u[i] * u[j] * v.x + w[i] * w[j] + v.both(i, j);",
    "matrices": MATRIX + "return m[i][k % 2] * m[j][l % 2] + dot(m[i], m[j]) + m._m00 * m[j][l % 2];",
    "members": STRUCT + "return s.w[k] * s.w[l] + s.bare(k, l) * s.beside(k, l) + s.whole()[k] * s.whole()[l];",
    "structs": "ns::Deep d[2]; d[0].v[0] = a; d[0].v[1] = b; d[0].of.w = made(a, b); d[1].v[0] = b;"
    "d[1].v[1] = a; d[1].of.w = made(b, a); int i = k % 2, j = l % 2;"
    "return d[i].v[i].x * d[j].v[j].y + d[i].of.w[k] * d[j].of.w[l];",
    "generics": "Box<float2> q; q.w[0] = a; q.w[1] = b; q.w[2] = a * b; q.w[3] = 1;"
    "return q.w[k].x * q.w[l].y + dot(q.get(k), q.get(l));",
    "loops": ARRAY + "float s = 1; for (int i = 0; i < 5; ++i) s = s * 0.5 + x[i * k % 4] * x[i * l % 4]; return s;",
    "unrolled": ARRAY + "float s = 1; [ForceUnroll] for (int i = 0; i < 4; ++i) s *= x[i * k % 4]; return s;",
    "writes": ARRAY + "x[k] += x[l]; x[l] *= x[k]; raised(x[k], 0.1 * x[l]); squared((x[l] * 0.1), x[k]); ++x[k]; DOUBLE(x[k]);"
    "float r = changed(x, k, l); return r * 0.1 + x[0] * x[1] + x[2] * x[3] + SQUARE(x[l] * x[k]);",
    "compounds": ARRAY + MATRIX + STRUCT + "x[k] = x[1]; x[l] *= x[0]; x[l] *= x[1]; m[i][0] += m[0][0]; m[j] *= m[1];"
    "s.w[k] = s.w[1]; s.w[l] -= s.w[0] * b; return x[0] * x[1] + x[2] * x[3] + dot(m[0], m[1]) + s.w[0] * s.w[1];",
    "elements": "W s[2]; s[0].w = made(a, b); s[0].w[k] = b; s[1] = s[0]; s[1].w[l] *= a; float y[2][2] = {{a, b}, {1, a}};"
    "y[0][1] = a * b; y[1] = y[0]; float2 v[2] = {float2(a, 1), float2(1, b)}; v[0].y = a * b; v[1] = float2(a, b * b);"
    "if (a > 1) v[0] += v[1] * a; return v[0].y * v[1].x * a + y[1][1] * y[0][0] + s[1].w[0] * s[0].w[1] + s[1].w[2];",
    "tests": "float y = a, z = b; int n = 0; [MaxIters(9)] while (y < 3.0 && n < k + 3) { y = y * 1.3 + a * 0.1; n++; }"
    "[MaxIters(9)] while (!(z > 3.0 || n > 9)) { z = z * b + 0.5; ++n; }"
    "[MaxIters(9)] while (n < 9 ? y < 9.0 : false) { y *= b + 0.5; n++; } return y + z;",
    "values": ARRAY + "float3 v[2] = {float3(a, b, 1), float3(b, a, a)}; "
    "v[k / 2].xy += v[l / 2].yz; Plain p[2]; p[0] = {1, 2}; p[1] = {2, 1};"
    "W s[2]; s[0].w = x; s[1].w = made(b, b); s[k / 2].grow(a); int t[4] = {1, 2, 3, 0}; float y[2] = {x[k], x[l]};"
    "return dot(v[k / 2], v[l / 2]) * p[k / 2].n + s[k / 2].w[l] * s[l / 2].w[k] + x[t[k]] * x[t[l]]"
    " + y[0] * y[1] + (k > l ?x[k] :x[l]) * x[l];",
}  # fmt: skip


DAILY = ("arrays", "members", "loops", "tests")


@pytest.mark.req("B1")
@pytest.mark.parametrize(
    "names", [DAILY, pytest.param(BODIES.keys() - {*DAILY}, marks=pytest.mark.rest)], ids=["daily", "others"]
)
def test_reads_with_equal_indices_keep_their_gradients(device: Any, names: Any) -> None:
    bodies = {name: body for name, body in BODIES.items() if name in names}
    heads = [f"[Differentiable] float {n}(float a, float b, int k, int l) {{ {body} }}" for n, body in bodies.items()]
    text = "\n".join([TYPES, *heads]).replace("float", "double")  # differences of doubles are exact enough
    module = fp.Module.load_from_source(device, "indexed", text)
    first, second = (x.ravel().astype(np.int32) for x in np.meshgrid(np.arange(4), np.arange(4)))

    @fp.fuse
    def values(a: Any, b: Any) -> Any:
        return [module[name](a[i], b[i], first, second) for i, name in enumerate(bodies)]

    def total(a: Any, b: Any) -> Any:
        return sum(fp.sum(value) for value in values(a, b))

    def at(da: float, db: float) -> Any:
        return np.array(values(list(a + da), list(b + db)))

    a, b = (np.tile(x, (len(bodies), 1)) for x in (np.linspace(0.7, 1.3, 16), np.linspace(1.4, 0.6, 16)))
    h = 1e-4
    expected = (at(h, 0) - at(-h, 0)) / (2 * h), (at(0, h) - at(0, -h)) / (2 * h)
    for found, by in zip(fp.grad(total, (0, 1))(list(a), list(b)), expected):
        for name, one, other in zip(bodies, found, by):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5, err_msg=name)


@pytest.mark.parametrize(
    "body",
    [
        "float x[2]; x[k] = a; x[0] += a; x[k++] += a; x[k]++; --x[k]; return x[0] * x[1];",  # writes
        "float x[2]; both(x[k], a); one<float, 2>((x[k])); MACRO(x[k], 1); sincos(a, x[k], x[1]); return x[0] * x[1];",  # perhaps
        "W s[2]; s[k].grow(a); s[k].w.grow(a); int t[2]; return b[k] * t[k] + p[k] + g[k] + tex[k].x * x[1];",
        "Unknown x[2]; { float y[2]; } { int y; } auto z = b; return x[k] * y[k] * z[k];",  # what is not known
        "float x[2]; return no_diff x[k] + f(&x[k]);",
    ],
)
def test_writes_and_what_is_not_known_stay_as_they_are(body: str) -> None:
    rest = "void both(inout float x, float y); void one<T, let N : int>(out T x); struct W { [mutating] void grow(float x) { } }"
    text = (
        f"{rest}\n#define MACRO(x, y) x = y\n[Differentiable] float f(StructuredBuffer<float> b, float* p, Grid g) {{ {body} }}"
    )
    assert with_scalars(text, Words.of([text])) is text
