"""`check_grads` on what Slang (2026.12) differentiates wrongly, and on the ways around it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.language import gradients
from fusepy.language.check_grads import CheckedGradient
from tests.support.selection import daily

SOURCE = """
#define AT(i) x[i]
[Differentiable] float reads(float a, float b, int k, int l) { float x[4] = {a, b, a * b, a + b}; return AT(k) * AT(l); }
[Differentiable] float get(float x[4], int i) { return x[i]; }
[Differentiable] float reads_right(float a, float b, int k, int l)
{ float x[4] = {a, b, a * b, a + b}; return get(x, k) * get(x, l); }

[Differentiable] float3 component(float3 v, float b) { float3 w = float3(1); if (b > 1) { w = v; v.y = v.x * b; } return v * w; }
[Differentiable] float3 component_right(float3 v, float b)
{ float3 w = float3(1); if (b > 1) { w = v; v = float3(v.x, v.x * b, v.z); } return v * w; }

[Differentiable] float nested(float a)
{
    float s = a; int i = 0;
    [MaxIters(4)] while (i < 3)
    { int j = 0; [MaxIters(4)] while (++j < 4) { s = s * a + 0.1; if (s > 1) break; } ++i; }
    return s;
}
[Differentiable] float inside(float s, float a)
{
    bool on = true;
    [MaxIters(3)] for (int j = 0; j < 3; ++j) { s = on ? s * a + 0.1 : s; on = on && !(s > 1); }
    return s;
}
[Differentiable] float nested_right(float a) { float s = a; [MaxIters(3)] for (int i = 0; i < 3; ++i) s = inside(s, a);
  return s; }

struct Plain { float u; float v; };
struct Derived : IDifferentiable { float u; float v; };
[Differentiable] float listed(float a, float b) { Plain p = {a * b, b}; return p.u * p.v + a; }
[Differentiable] float listed_right(float a, float b) { Derived p = {a * b, b}; return p.u * p.v + a; }

[TreatAsDifferentiable] float flat(float x) { return x * x; }
[Differentiable] float treated(float x) { return flat(x) + x; }
[Differentiable] float treated_right(float x) { return x * x + x; }

[Differentiable] float past(float x, int n) { float s = x; [MaxIters(2)] for (int i = 0; i < n; ++i) s = s * x + sin(s);
  return s; }
[Differentiable] float past_right(float x, int n)
{ float s = x; [MaxIters(20)] for (int i = 0; i < n; ++i) s = s * x * 0.1 + sin(s); return s; }

[Differentiable] float triple(float a, float b)
{
    float x[3] = {a, b, a * b};
    for (int i = 0; i < 2; ++i) for (int j = 0; j < 1; ++j) for (int k = 0; k < 1; ++k) x[i] = x[i + 1] * b + a;
    return x[0] * x[1];
}
"""
A, B = np.float32([0.7, 1.2]), np.float32([1.4, 0.6])
V = np.float32([[0.5, 1.5, 0.7], [1, 2, 0.3]])
CASES: dict[str, tuple[Any, ...]] = {
    "reads": (A, B, 2, 3),
    "component": (V, B),
    "nested": (A,),
    "listed": (A, B),
    "treated": (A,),
    "past": (A, 20),
}


@pytest.fixture(scope="module")
def m(device: fp.Device) -> fp.Module:
    return fp.Module.load_from_source(device, "differentiated_wrongly", SOURCE)


@pytest.mark.req("B4")
@pytest.mark.parametrize("name", daily(CASES, "reads", "component"))
def test_what_slang_gets_wrong_is_found_and_has_a_way_around(m: fp.Module, name: str) -> None:
    with pytest.raises(fp.GradientError, match=f"the (gradient|forward mode) of {name} by argument [01] is wrong") as raised:
        fp.check_grads(m[name], *CASES[name])
    assert "gradient " in str(raised.value)
    fp.check_grads(m[f"{name}_right"], *CASES[name])


@pytest.mark.req("B4")
def test_functions_of_an_imported_module_that_share_a_call(device: fp.Device, tmp_path: Path) -> None:
    (tmp_path / "shared_calls.slang").write_text("""module shared_calls;
    [Differentiable] public float square(float x) { return x * x; }
    public float plain(float x) { return square(x) + 1; }""")
    (tmp_path / "importing.slang").write_text("""import shared_calls;
    [Differentiable] float late(float x) { float r = plain(x); if (r > 100) return 0; return square(x); }
    [Differentiable] float early(float x) { float y = square(x); if (plain(x) > 100) return 0; return y; }""")
    m = fp.Module.load_from_file(device, str(tmp_path / "importing.slang"))
    with pytest.raises(fp.GradientError, match="Slang loses the derivative of square, which is called in plain"):
        fp.check_grads(m.late, 1.5)
    fp.check_grads(m.early, 1.5)


def test_programs_that_are_right_pass(m: fp.Module, device: fp.Device) -> None:
    fp.check_grads(m.triple, A, B)
    fp.check_grads(
        lambda p, x, n: fp.sum(fp.sin(p["w"] * x) * n) + p["b"], {"w": 0.5, "b": 1.0}, np.float64([1, 2]), np.int32([1, 2])
    )
    tensor = fp.Tensor.from_numpy(device, V, dtype="float3")
    fp.check_grads(lambda v, k: (fp.length(v) * k, fp.argmax(fp.length(v))), tensor, np.float16([1, 2]))


def test_arguments_that_are_cut_off_on_purpose(device: fp.Device) -> None:
    source = "[Differentiable] float cut(no_diff float a, float x) { return a * x; }"
    cut = fp.Module.load_from_source(device, "cut_off", source).cut
    for function in (cut, lambda a, x: fp.stop_gradient(a) * x):
        with pytest.raises(
            fp.GradientError, match=r"(?s)by argument 0 is wrong.*gradient 0.*no_diff or stop_gradient cuts it off"
        ):
            fp.check_grads(function, 2.0, A)
        for chosen in (1, "x", (-1,), ["x"]):
            fp.check_grads(function, 2.0, A, argnums=chosen)
    for wrong in (2, "y", (-3,), True, 0.5, (1.0,)):
        with pytest.raises(fp.ArgumentError, match=r"check_grads\(\): there is no parameter"):
            fp.check_grads(cut, 2.0, A, argnums=wrong)
    for empty in ((), "n"):
        with pytest.raises(fp.ArgumentError, match="there is no float to check"):
            fp.check_grads(lambda a, n: a * n, A, 2, argnums=empty)


def test_a_function_whose_forward_mode_slang_cannot_compile(device: fp.Device) -> None:
    source = """
    [Differentiable] float2 pair(no_diff float p) { return float2(p, 1); }
    [Differentiable] float scaled(no_diff float p, float a) { return pair(p).x * a; }
    """
    scaled = fp.Module.load_from_source(device, "no_forward_mode", source).scaled
    fp.check_grads(lambda a: scaled(0.5, a), A)
    with pytest.raises(fp.CompileError, match="forward mode fails"):
        fp.jvp(lambda a: scaled(0.5, a), (A,), (A,))


def test_each_plan_is_checked_once_in_the_debug_mode(m: fp.Module, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Any, ...]] = []
    monkeypatch.setattr(gradients, "gradient_class", CheckedGradient)
    with pytest.raises(fp.GradientError, match="the gradient of treated by argument 0 is wrong"):
        fp.grad(m.treated)(A)
    checked = fp.value_and_grad(lambda x, k=2.0: fp.sum(x * x) * k)
    monkeypatch.setattr("fusepy.language.check_grads.check_grads", lambda f, *args, points: seen.append(args))
    for x in (A, 2 * A, np.float64([1, 2])):
        checked(x)
    assert [(x.dtype, k) for x, k in seen] == [(np.float32, 2.0), (np.float64, 2.0)]


def test_a_wrong_derivative_of_ones_own_is_named(m: fp.Module, device: fp.Device) -> None:
    source = """
    [ForwardDerivative(ahead)] [BackwardDerivative(back)] float square(float x, float y) { return x * y; }
    DifferentialPair<float> ahead(DifferentialPair<float> x, DifferentialPair<float> y)
    { return diffPair(x.p * y.p, x.d * y.p + x.p * y.d); }
    void back(inout DifferentialPair<float> x, inout DifferentialPair<float> y, float d)
    { x = diffPair(x.p, d * y.p); y = diffPair(y.p, 2 * d * x.p); }
    """
    with pytest.raises(fp.GradientError, match="the gradient of square by argument 1 is wrong"):
        fp.check_grads(fp.Module.load_from_source(device, "own_derivative", source).square, A, B)
    with pytest.raises(fp.GradientError, match="gives no float"):
        fp.check_grads(lambda n: n * 2, np.int32(1))


def test_functions_of_any_number_of_arguments(m: fp.Module) -> None:
    fp.check_grads(fp.fuse(lambda *x: x[0] * x[1]), A, B)
    fp.check_grads(lambda a, *rest: a * rest[0], A, B)
