"""Scalar parameters beside vectors in functions that Slang differentiates: their gradients are not lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.sources.copies.scalars import with_scalars
from tests.support.selection import daily

EXPRESSIONS = [
    "a * v", "a + v", "a - v", "a / v", "v * a", "v + a", "v - a", "v / a", "(v - a) * a + 1.0 / a * v", "inner(a * 2, v)",
    "Box(v).grown(a)", "ns::shifted(v, a)", "of<float3>(v, a)", "a * Box(v)",
    "aliased(a, v)", "defined(a, v)", "any<float>(a, v)", "turned(a, v)", "a * held(v, 2)",
    "behind(a, v) + marked(a, v)", "written_one(a, v) * written_two(a, v)", "a.beside(v) + a.changed(v)", "LIMITED(v.x, a) * v",
]  # fmt: skip
LOOP = "float s = 1, t = 0.5; int i = 0; [MaxIters(4)] while (i < 3) { s = s * a + t; i++; if (i > 1) t *= a; else t = s; }"
STATEMENTS = [
    LOOP + "return v * s + t * v;",
    LOOP + "v *= s; return v / t;",
    LOOP + "float3x3 m = float3x3(v, v * v, v); return (m * s)[1];",
    "float3 r = v * a; float s = 0; { float t = 1; for (int i = 0; i < 2; ++i) t *= a; s = t + 1; }"
    "{ float3 t = v * a; r += v * t; } return r * float3(s);",
    "float k = a; for (int i = 0; i < 2; ++i) k += 1; float q = a * k++ + --k * a; return v * float3(q);",
    LOOP + "let q = s; float3 w = v * q; float p = t; return w / (p) + (s) * v;",
    "float k = a; for (int i = 0; i < 2; ++i) ++k; return v * k;",
    "float k = a; for (int i = 0; i < 2; ++i) raise(k, a); return v * k;",
    'static_assert(3 > 2, "clamp(a} must"); return a * v;',
    "float3 r = v; raised(r, a); return r;",
    "float3 r = v; r += a; r *= a; return r;",
    "float x[2] = {a, a}; a *= 2; return x[1] * v - a;",
]
SOURCE = """
[Differentiable] float3 inner(float a, float3 v) { return a * v; } // a } in a comment
[Differentiable] void raise(inout float k, float a) { k *= a; }
[Differentiable] void raised(inout float3 v, inout float k) { for (int i = 0; i < 2; ++i) k *= 1.5; v *= k; }
[Differentiable] float3 held(float3 v, no_diff float k) { for (int i = 0; i < 2; ++i) k *= 1.5; return v * k; }
struct Box : IDifferentiable
{
    float3 v;
    [Differentiable] __init(float3 w) { v = w; }
    [Differentiable] float3 grown(const float by = 2) { if (by > 100) { return v; } return v - by; }
}
namespace ns { [Differentiable] float3 shifted(float3 v, in float a) { return a + v; } }
interface IPlus : IDifferentiable { [Differentiable] This plus(float a); }
extension float3 : IPlus { [Differentiable] float3 plus(float a) { return this + a; } }
[Differentiable] T of<T : IPlus>(T v, float a) { return v.plus(a); }
[Differentiable] float3 operator*(float a, Box b) { return a * b.v; }
typedef float Real; typealias Scalar = Real;
[Differentiable] float3 aliased(Scalar a, float3 v) { return a * v; }
#define REAL float
[Differentiable] float3 defined(REAL a, float3 v) { return a + v; }
[Differentiable] vector<T, 3> any<T : __BuiltinFloatingPointType>(T a, vector<T, 3> v) { return a - v; }
#define SQUARE(x) ((x) * (x))
[Differentiable] float3 behind(float a, float3 v) { return SQUARE(a) * v; }
#define GRADED [Differentiable]
GRADED float3 marked(float a, float3 v) { return a * v; }
#define WRITES(N) [Differentiable] float3 N##_one(float a, float3 v) { return a * v; } \\
    [Differentiable] float3 N##_two( \\
        float a, float3 v) { return a + v; }
WRITES(written)
#define LIMITED(x, a) clamp(x, a, 4.0)
extension float
{
    [Differentiable] float3 beside(float3 v) { return this * v; }
    [Differentiable] [mutating] float3 changed(float3 v) { float3 r = v * this; this *= 2; this = this + 1; return r / this; }
}
[Differentiable] func turned(a : float, v : float3) -> float3 { return a / v; }
"""


@pytest.fixture(scope="module")
def module(device: Any) -> Any:
    bodies = [f"return {e};" for e in EXPRESSIONS] + STATEMENTS
    text = "\n".join(f"[Differentiable] float3 f{i}(float3 v, float a) {{ {body} }}" for i, body in enumerate(bodies))
    return fp.Module.load_from_source(device, "beside", SOURCE + text)


# an operator, methods, a loop, an assignment
DAILY = (0, 21, 23, 33)


@pytest.mark.req("B1")
@pytest.mark.parametrize("i", daily(range(len(EXPRESSIONS) + len(STATEMENTS)), *DAILY))
def test_a_scalar_beside_a_vector_has_its_gradient(module: Any, i: int) -> None:
    def loss(v: Any, a: Any) -> Any:
        made = getattr(module, f"f{i}")(fp.vcast(v, "float3"), a)
        return fp.sum(made.x + 2 * made.y - made.z * made.z)

    fp.check_grads(loss, np.float32([[0.5, 1.5, 0.7], [1, 2, 0.3]]), np.float32([0.8, 1.3]))


MEANINGS = [  # names that mean a scalar in one place only
    "[Differentiable] T g<T : __BuiltinFloatingPointType>(T x) { return x * x; } struct Tag { int i; };"
    "[Differentiable] float h<T>(T x, float y) { return y * y; }"
    "[Differentiable] float3 f(float3 v, float a) { Tag tag = {1}; return v * g(a) * h(tag, a); }",
    "interface IOne { associatedtype V : IDifferentiable; [Differentiable] V of(V x, float a); }"
    "struct A : IOne { typealias V = float; [Differentiable] V of(V x, float a) { return x * a; } };"
    "struct B : IOne { typealias V = float3; [Differentiable] V of(V x, float a) { return a * x; } };"
    "[Differentiable] float3 f(float3 v, float a) { A p; B q; return q.of(v, a) * p.of(a, a); }",
    "namespace n1 { typealias C = float; }"
    "namespace n2 { typealias C = float3; [Differentiable] C g(C v, float a) { return v * a; } }"
    "[Differentiable] float3 f(float3 v, float a) { return n2::g(v, a); }",
    "#if 1\ntypedef float3 Colour;\n#else\ntypedef float Colour;\n#endif\n"
    "[Differentiable] float3 f(Colour v, float a) { return a * v; }",
    "#if 1\n#define Colour float3\n#else\n#define Colour float\n#endif\n"
    "[Differentiable] float3 f(Colour v, float a) { return a * v; }",
    "struct S<T : __BuiltinFloatingPointType> { [Differentiable] static vector<T, 3> g(vector<T, 3> v, T a) { return a * v; } };"
    "[Differentiable] float3 f(float3 v, float a) { return S<float>.g(v, a); }",
]


@pytest.mark.parametrize("i", daily(range(len(MEANINGS)), 1))
def test_names_mean_what_they_mean_in_their_place(device: Any, i: int) -> None:
    module = fp.Module.load_from_source(device, f"meaning{i}", MEANINGS[i])

    def loss(v: Any, a: Any) -> Any:
        made = module.f(fp.vcast(v, "float3"), a)
        return fp.sum(made.x + 2 * made.y - made.z * made.z)

    fp.check_grads(loss, np.float32([[0.5, 1.5, 0.7]]), np.float32([0.8]))


def test_halfs_and_a_function_that_is_called_alone(device: Any) -> None:
    module = fp.Module.load_from_source(device, "halfs", "[Differentiable] half2 f(half a, half2 v) { return a * v + a; }")
    a, v = (fp.Tensor.from_numpy(device, np.float16(x)) for x in ([2.0, 3.0], [[1, 2], [3, 4]]))
    (found,) = fp.fuse(fp.grad(lambda a, v: fp.sum(module.f(a, fp.vcast(v, "half2")).x), argnums=(0,)))(a, v)
    assert found.to_numpy().tolist() == [2, 4]


@pytest.mark.parametrize(
    "text",
    [
        "float3 f(float a, float3 v) { return a * v; }",
        "[Differentiable] float3 f(no_diff float a, int n, float3 v) { return a * v; }",
        "[Differentiable] float f(float2 a) { return a.x; } float g(float a) { return a; }",
    ],
)
def test_other_functions_stay_as_they_are(text: str) -> None:
    assert with_scalars(text) is text


def test_fmod_by_infinity(device: Any) -> None:
    module = fp.Module.load_from_source(device, "rest", "[Differentiable] float f(float x, float y) { return fmod(x, y); }")
    x, y = np.float32([2.5, 2.5, -7]), np.float32([np.inf, 2, 3])
    by_x, by_y = fp.grad(lambda x, y: fp.sum(module.f(x, y)), argnums=(0, 1))(x, y)
    assert by_x.tolist() == [1, 1, 1]
    assert by_y.tolist() == [0, -1, 2]
