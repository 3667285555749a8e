"""What in the text of user code may compare whole matrices."""

from __future__ import annotations

import pytest

from fusepy.backend.sources.matrix_comparisons import by_rows, suspicion

MASK = "bool3x3 below(float3x3 m, float x) {{ {} }} float3x3 twice(float3x3 m) {{ return m * 2; }}"


@pytest.mark.parametrize(
    ("body", "suspect"),
    [
        ("bool3x3 b = m < x; return b;", True),
        ("return m == transpose(m);", True),
        ("return all(mul(m, m) >= x) ? bool3x3(m) : b;", True),
        ("bool3x3 b = bool3x3(m); return b;", True),
        ("var c = !m; return c;", True),
        ("let q = m * 2; return q < x;", True),
        ("return float3x3(x) < 2;", True),
        ("float3x3 n[2] = { m, m }; return n[0] < x;", True),
        ("return m + 1 < x;", True),
        ("return f(q < x, x > q);", True),
        ("int i = 3; while (i > 0 && i + 1 < 9 && !(x == 2)) i--; return f(m);", False),
        ("matrix<float, 3, 3> n = m; for (int i = 0; i < 3; i++) n[i] = m[i] * x; return f(n);", False),
        ("return bool3x3(m[0] < x, m[1] < x, m[2] < x);", False),
        ("vector<float, 3> v = mul(m, float3(x)); return g(v.x < 2);", False),
        ("if (x < 2) { return f(m); } // m < 2\n return g(m._m00 > x);", False),
        ("for (int i = 0; i <= min(3 + 1, int(t.shape[0]) - 1); i++) m[0] = g(abs(max(x, 2)) > x); return f(m);", False),
        ("if (detach(x) == 0 || (int(floor(x) + dot(x, 2)) & 1) != 0) return m; return f(m);", False),
        ("float2 a = f(x, m[0], g(x)), b = a * 2, c; if (min(b.x, c.y) < x) return m; return f(m);", False),
        ("float near = x, t = near > RayTMin() ? near : x; if (WorldRayDirection().y < t) return m; return f(m);", False),
        ("return f(ObjectToWorld3x4() < RayTMin());", True),
        ("return f(o.RayTMin() < m);", True),
        ("float a = x, q = 2; { let q = m * 2; return q < x; }", True),
        ("return f(m < max(x, 2));", True),
        ("return f(detach(m) < x);", True),
        ("return f((m & 1) != 0);", True),
        ("return f(int(m < x));", True),
        ("return f(int(x) < m);", True),
    ],
)
def test_what_looks_like_a_comparison_of_matrices(body: str, suspect: bool) -> None:
    assert (suspicion(MASK.format(body), ["below"]) is not None) is suspect
    assert suspicion(MASK.format(body), ["twice"]) is None


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("return a != b", "bool2x3(a[0] != b[0], a[1] != b[1])"),
        ("bool2x3 c = x >= a", "bool2x3(x >= a[0], x >= a[1])"),
        ("return any(n == n)", "bool3x3(n[0] == n[0], n[1] == n[1], n[2] == n[2])"),
        *((s, "and build") for s in ("return bool2x3(a)", "return all(mul(a, n) < x)", "return a < n", "return o.a < b", "!a")),
    ],
)
def test_the_hint_has_the_names_operator_and_size(statement: str, said: str) -> None:
    assert said in by_rows(statement, "float2x3 a, b; float3x3 n; float x;".replace("a, b", "a; float2x3 b"))


def test_the_hint_has_the_size_of_the_function_that_compares() -> None:
    other = "float3x4 twice(float3x4 m) { return m * 2; }"
    below = "bool2x2 below(float2x2 m, float x)\n{\n    return m <\n        x;\n}"
    for text in (f"{below} {other}", f"{other} {below}"):
        assert by_rows("return m < x", text) == "compare row by row: bool2x2(m[0] < x, m[1] < x)"
    assert "and build" in by_rows("return all(m < x)", "bool f(float2x2 m) { { float3x3 m; } return all(m < x); }")


def test_types_with_parameters_are_no_comparisons() -> None:
    """A trial takes seconds, and code that compares no matrices is not to wait for it."""
    members = (
        "ParameterBlock<Scene> scene; uniform Tensor<float2x3,1> r; struct S { Tensor<P,1> p; public RWTensor<A<B>,2> q[3]; };"
    )
    assert suspicion(members + MASK.format("return f(m);"), ["below"]) is None
    for text in (
        "bool f(M m, float x) { return m < x > m; }",
        "bool3x3 f(M m) { bool3x3 b = m < q; }",
        "LOGIC(<);",
        "B f(M m) { return to<bool3x3>(m); }",
    ):
        assert suspicion(members + text, ["f"]) is not None


@pytest.mark.parametrize(
    "own",
    [
        "float3x3 min(float a, float b) { return 1; }",
        "#define min(a, b) (a * m)",
        "#define min other",
        "float3x3 dot(float a) { return 1; }",
        "float3x3 RayTMin() { return 1; }",
    ],
)
def test_a_smaller_number_may_be_a_matrix_by_the_users_own_function(own: str) -> None:
    compared = MASK.format("return f(min(dot(x), RayTMin()) < x);")
    assert suspicion(f"{own}\n{compared}", ["below"]) is not None
    assert suspicion(f"// a dot product\n{compared}", ["below"], "// the min of them") is None


def test_comparisons_behind_aliases_macros_and_attributes() -> None:
    for text in (
        "typealias M = float3x3; bool3x3 below(M m, float x) { return m < x; }",
        "#define LESS(a, b) ((a) < (b))\nbool3x3 below(float3x3 m, float x) { return LESS(m, x); }",
        "[Outer(1)] bool3x3 below(float3x3 m, float x) { return m < x; }",
    ):
        assert suspicion(text, ["below"]), text
    generic = "bool below<T : IArithmetic>(T m, T x) { return m < x; }"
    assert suspicion(generic, ["below"], "float3x3 v0;")
    assert suspicion(generic, ["below"]) is None
