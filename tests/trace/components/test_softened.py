"""Values computed from NumPy's default dtypes, in smaller types where a Slang function wants them: as an eager call has them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.errors import NoMatchError, PrecisionWarning
from tests.support.selection import daily

SOURCE = """
import fusepy;
struct Ray { float3 position; int t; }
float reach(Ray r) { return r.position.x + r.t; }
uint natural(uint a) { return a; }
int8_t tiny(int8_t a) { return a; }
int3 doubled(int3 a) { return a * 2; }
int third(int a[3]) { return a[2]; }
int at(Tensor<int, 1> a, int i) { return a[i]; }
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
    "whole numbers": lambda m, x, i: m.whole(i * 2),
    "natural numbers": lambda m, x, i: m.natural(fp.round(i)),
    "small numbers": lambda m, x, i: m.tiny(fp.round(i)),
    "vectors of integers": lambda m, x, i: m.doubled(i + 1),
    "fixed arrays of integers": lambda m, x, i: m.third(i + 1),
    "the overload of integers": lambda m, x, i: m.either(i * 2),
    "a single integer": lambda m, x, i: m.whole(fp.sum(i)),
    "counted bools": lambda m, x, i: m.f((x > 0.5) * 2, (x > 0.2) * 3 - 1),
    "both": lambda m, x, i: m.f(m.whole(i * 2) * x, i * 2),
    "members": lambda m, x, i: m.reach({"position": fp.sqrt(x), "t": fp.sum(i, 1)}),
    "a whole array": lambda m, x, i: m.at(fp.sum(i, 1), np.array([2, 0], np.int32)),
    "integers in a loop": lambda m, x, i: fp.fori_loop(0, 3, lambda k, s: s + m.whole(i * 2), fp.zeros_like(m.whole(i))),
    "in a branch": lambda m, x, i: fp.cond(x > 0.5, lambda: m.whole(i * 2), lambda: m.whole(i)),
    "in a loop": lambda m, x, i: fp.fori_loop(0, 3, lambda k, s: s + m.f(x * 2, 1.0), fp.zeros_like(x)),
}


@pytest.fixture(scope="module")
def m(device: Any) -> fp.Module:
    return fp.Module.load_from_source(device, "softened", SOURCE)


DAILY = (
    *("a function, and an array as it is", "vectors", "moved", "natural numbers", "fixed arrays of integers"),
    *("a single integer", "counted bools", "both", "in a branch", "in a loop"),
)


@pytest.mark.req("F2")
@pytest.mark.parametrize("name", daily(PROGRAMS, *DAILY))
def test_all_ways_take_what_eager_calls_take(m: fp.Module, name: str) -> None:
    with pytest.warns(PrecisionWarning):
        found = fp.fuse(lambda x, i: PROGRAMS[name](m, x, i))(X, N)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)
        wanted = np.asarray(PROGRAMS[name](m, X, N))
        with fp.lazy():
            late = PROGRAMS[name](m, X, N)
        graph = fp.Graph(inputs=["x", "i"])
        graph.set_outputs(fp.fuse(lambda x, i: PROGRAMS[name](m, x, i)).node()(*graph.get_inputs()))
        drawn = graph(X, N)
    for made in (found, np.asarray(late), drawn):
        assert (made.dtype, made.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(made, wanted, rtol=1e-6)


def test_integers_that_do_not_fit_lose_their_high_bits_and_the_warning_says_so(m: fp.Module) -> None:
    large = np.array([2**40 + 7, -3])
    with pytest.warns(PrecisionWarning, match=r"converted to int, .*\.astype\(np\.int32\).*lose their high bits"):
        assert fp.fuse(lambda i: m.whole(i + 1))(large).tolist() == [8, -2]
    with pytest.warns(PrecisionWarning) as caught:
        fp.fuse(lambda x: m.f(x * 2, 1.0))(X)
    assert "bits" not in str(caught[0].message)
    with pytest.raises(fp.RangeError):
        m.whole(large + 1)


def test_results_of_lazy_stay_arrays_of_the_host(m: fp.Module, device: Any) -> None:
    """Also views of them, once they are computed, and after the block; those of tensors are never converted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)
        with fp.lazy():
            roots = fp.sqrt(X)
            seen = m.luma(roots[::2] * 1)
            captured = fp.fuse(lambda a: m.f(a, roots))(1.0)
            in_a_loop = fp.fuse(lambda x: fp.fori_loop(0, 2, lambda k, s: s + m.f(x, 1.0), 0.0))(roots)
            of_a_tensor = fp.sqrt(fp.Tensor.from_numpy(device, X))
        np.testing.assert_allclose(seen, m.luma(np.sqrt(X)[::2]), rtol=1e-6)
        np.testing.assert_allclose(captured, m.f(1.0, np.sqrt(X)), rtol=1e-6)
        np.testing.assert_allclose(in_a_loop, 2 * m.f(np.sqrt(X), 1.0), rtol=1e-6)
        np.testing.assert_allclose(m.f(roots.compute(), 1.0).numpy(), m.f(np.sqrt(X), 1.0), rtol=1e-6)
        with fp.lazy(), pytest.raises(NoMatchError):
            m.f(of_a_tensor, 1.0)
    with pytest.raises(NoMatchError):
        m.f.strict()(roots, 1.0)


def test_gradients_come_back_in_the_type_of_the_array(m: fp.Module) -> None:
    with pytest.warns(PrecisionWarning):
        slope = fp.grad(lambda x: fp.sum(m.f(x * x, 1.0)))(X)
    np.testing.assert_allclose(slope, 4 * X, rtol=1e-6)


def test_what_a_function_takes_as_it_is_stays(m: fp.Module) -> None:
    found = fp.fuse(lambda x: m.wide(x * 2))(X)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, X * 4)


def test_what_is_refused(m: fp.Module, device: Any) -> None:
    """Values of tensors, a type that the user says, strict functions, and integers where one overload takes int, one uint."""
    tensor = fp.Tensor.from_numpy(device, X)
    for function, args in (
        (lambda x: m.f(x * 2, 1.0), (tensor,)),
        (lambda x, y: m.f(x * y, 1.0), (X, tensor)),
        (lambda i: m.whole(i * 2), (fp.Tensor.from_numpy(device, N),)),
        (lambda i: m.whole(fp.vcast(i * 2, "int64_t")), (N,)),
        (lambda x: m.f(fp.vcast(x * 2, "double"), 1.0), (X,)),
    ):
        with pytest.raises(NoMatchError):
            fp.fuse(function)(*args)
    with pytest.raises(NoMatchError):
        fp.fuse(lambda x: m.f(x * 2, 1.0)).strict()(X)


def test_copies_and_gradients_of_lazy_results(device: Any) -> None:
    """A copy stands for an array as its original does; what has gradients is a tensor, and shares no program with it."""
    source = "float add(float a, float b) { return a + b; } int next(int a) { return a + 1; }"
    m = fp.Module.load_from_source(device, "lazy_copies", source)
    with fp.lazy():
        whole, real = fp.add(np.arange(4), 1), fp.add(np.arange(4.0), 1)
        with pytest.warns(fp.PrecisionWarning):
            made = m.next(whole.copy()), m.next(whole[::2].contiguous())
    assert [one.tolist() for one in made] == [[2, 3, 4, 5], [2, 4]]
    for given in (real.with_grads(), fp.Tensor.from_numpy(device, np.arange(4.0)).with_grads()):
        with pytest.raises(fp.NoMatchError):
            m.add(given, 1)
