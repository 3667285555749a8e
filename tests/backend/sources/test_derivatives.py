"""What Slang differentiates wrongly and the text tells: a no_diff that it ignores, derivatives in one direction only."""

from __future__ import annotations

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.sources.derivatives import ignored_no_diff, lacking_forward

SOURCE = """
import fusepy;
[Differentiable] float inner(float x) { return x * x; }
float plain(float x) { return x * x; }
struct S : IDifferentiable { float k; [Differentiable] float g(float x) { return k * x; } };
[Differentiable] float call(float x) { return x + no_diff inner(x); }
[Differentiable] float built_in(float x) { return x + no_diff (sin(x)); }
[Differentiable] float method(float x) { S s; s.k = 2; return x + no_diff s.g(x); }
[Differentiable] float through(float x) { return 2 * call(x); }
[Differentiable] float read(Tensor<float, 1> t, int i) { return t[i] * no_diff t[i]; }
[Differentiable] float detached(float x) { return x + detach(inner(x)); }
[Differentiable] float constant(float x) { return x + no_diff plain(x) + (no_diff trunc(x)); } // no_diff inner(x)
[BackwardDerivative(back)] float cube(float x) { return x * x * x; }
float square(float x) { return x * x; }
[BackwardDerivativeOf(square)]
void back_of(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 2 * x.p * d); }
void back(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 3 * x.p * x.p * d); }
[Differentiable] float around(float x) { return cube(x) + square(x); }
[ForwardDerivative(ahead)] [BackwardDerivative(back)] float both(float x) { return x * x * x; }
DifferentialPair<float> ahead(DifferentialPair<float> x) { return diffPair(x.p * x.p * x.p, 3 * x.p * x.p * x.d); }
"""
X = np.float32([1, 2])


@pytest.fixture(scope="module")
def m(device: fp.Device) -> fp.Module:
    return fp.Module.load_from_source(device, "derivatives_in_text", SOURCE)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("call", r"detach\(inner\(…\)\) in call"),
        ("built_in", r"detach\(sin\(…\)\) in built_in"),
        ("method", r"detach\(g\(…\)\) in method"),
        ("through", r"detach\(inner\(…\)\) in call"),
        ("read", r"detach\(t\[…\]\) in read"),
    ],
)
def test_a_no_diff_that_slang_ignores_is_refused(m: fp.Module, name: str, hint: str) -> None:
    args = (X, np.int32([0, 1])) if name == "read" else (X,)
    with pytest.raises(fp.GradientError, match=hint):
        fp.grad(m[name])(*args)
    if name != "read":
        with pytest.raises(fp.GradientError, match=hint):
            fp.jvp(m[name], (X,), (X,))


def test_a_constant_that_slang_keeps_is_taken(m: fp.Module) -> None:
    assert ignored_no_diff("constant", [SOURCE]) is None
    for name in ("detached", "constant"):
        assert fp.grad(m[name])(X).tolist() == [1, 1]
        assert fp.jvp(m[name], (X,), (np.ones_like(X),)).d.tolist() == [1, 1]


@pytest.mark.parametrize("name", ["cube", "square", "around"])
def test_forward_mode_needs_a_forward_derivative(m: fp.Module, name: str) -> None:
    with pytest.raises(fp.GradientError, match=r"derivative of its own backwards, and none forwards[^~]*ForwardDerivative"):
        fp.jvp(m[name], (X,), (np.ones_like(X),))
    fp.check_grads(m[name], X)  # against differences alone


def test_derivatives_both_ways_are_taken(m: fp.Module) -> None:
    assert lacking_forward("both", [SOURCE]) is None
    assert fp.jvp(m.both, (X,), (np.ones_like(X),)).d.tolist() == [3, 12]
