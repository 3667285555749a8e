"""Values computed from NumPy's default dtypes, as floats where a Slang function wants them: as an eager call has them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.errors import NoMatchError, PrecisionWarning

SOURCE = """
[Differentiable] float f(float a, float b) { return a * 2 + b; }
[Differentiable] float luma(float3 c) { return dot(c, float3(0.25, 0.5, 0.25)); }
half small(half a) { return a; }
int whole(int a) { return a; }
float either(float a) { return a; }
int either(int a) { return a + 1; }
double wide(double a) { return a * 2; }
float wide(float a) { return a * 3; }
"""
X, N = np.linspace(0, 1, 12).reshape(4, 3), np.arange(1, 13).reshape(4, 3)
PROGRAMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "an operator": lambda m, x, i: m.f(x * 2, 1.0),
    "a function, and an array as it is": lambda m, x, i: m.f(fp.sqrt(x), i),
    "integers": lambda m, x, i: m.f(fp.round(i), i + 1),
    "vectors": lambda m, x, i: m.luma(x * 0.5),
    "results of calls": lambda m, x, i: m.f(m.f(x, i) * x, fp.sum(x, 0)),
    "moved": lambda m, x, i: m.f((x + 1).T, 2.0)[1:],
    "a single value": lambda m, x, i: m.f(fp.sum(x), x[0, 1] * 2),
    "halfs": lambda m, x, i: m.small(x * 2),
    "in a loop": lambda m, x, i: fp.fori_loop(0, 3, lambda k, s: s + m.f(x * 2, 1.0), fp.zeros_like(x)),
}


@pytest.fixture(scope="module")
def m(device: Any) -> fp.Module:
    return fp.Module.load_from_source(device, "softened", SOURCE)


@pytest.mark.req("F2")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_fused_function_takes_what_eager_calls_take(m: fp.Module, name: str) -> None:
    with pytest.warns(PrecisionWarning):
        found = fp.fuse(lambda x, i: PROGRAMS[name](m, x, i))(X, N)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)
        wanted = np.asarray(PROGRAMS[name](m, X, N))
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_gradients_come_back_in_the_type_of_the_array(m: fp.Module) -> None:
    with pytest.warns(PrecisionWarning):
        slope = fp.grad(lambda x: fp.sum(m.f(x * x, 1.0)))(X)
    np.testing.assert_allclose(slope, 4 * X, rtol=1e-6)


def test_what_a_function_takes_as_it_is_stays(m: fp.Module) -> None:
    found = fp.fuse(lambda x: m.wide(x * 2))(X)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, X * 4)


def test_what_is_refused(m: fp.Module, device: Any) -> None:
    """Values of tensors, integers where a function takes integers, a type that the user says, and strict functions."""
    tensor = fp.Tensor.from_numpy(device, X)
    for function, args in (
        (lambda x: m.f(x * 2, 1.0), (tensor,)),
        (lambda x, y: m.f(x * y, 1.0), (X, tensor)),
        (lambda i: m.whole(i * 2), (N,)),
        (lambda i: m.either(i * 2), (N,)),
        (lambda x: m.f(fp.vcast(x * 2, "double"), 1.0), (X,)),
    ):
        with pytest.raises(NoMatchError):
            fp.fuse(function)(*args)
    with pytest.raises(NoMatchError):
        fp.fuse(lambda x: m.f(x * 2, 1.0)).strict()(X)
