"""Computed arrays of numbers reach parameters that take vectors: what a call takes eagerly, it takes in fused functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily
from tests.support.slang_functions import F32

SOURCE = """
struct Ray { float3 p; float t; }
struct Far : IDifferentiable { float3 p; float t; }
[Differentiable] float far(Far r) { return dot(r.p, r.p) * r.t; }
[Differentiable] float curve(float w[3]) { return w[0] * w[1] + w[2] * w[2]; }
[Differentiable] float luma(float3 c) { return dot(c, float3(0.25, 0.5, 0.125)); }
float two(float2 c) { return c.x - 2 * c.y; }
[Differentiable] float3 scale(float3 c, float k) { return c * k; }
[Differentiable] float3 square(float3 c) { return c * c; }
[Differentiable] float add(float a, float b) { return a + b; }
int digits(int3 c) { return c.x + 10 * c.y + 100 * c.z; }
uint udigits(uint2 c) { return c.x + 10 * c.y; }
bool both(bool3 b) { return b.x && !b.y; }
half halves(half3 c) { return c.x + 2 * c.y + 4 * c.z; }
double doubles(double4 c) { return c.x + 2 * c.y + 4 * c.z + 8 * c.w; }
float det(float3x3 m) { return determinant(m) + m[0][2]; }
float corner(float2x3 m) { return m[0][2] - 3 * m[1][0]; }
float three(float a[3]) { return a[0] - 2 * a[1] + a[2]; }
float six(float a[6]) { return a[0] - 2 * a[5] + a[2]; }
float vectors(float3 a[2]) { return a[0].x - 2 * a[1].y + a[1].z; }
float at(Ray r) { return r.p.x + 2 * r.p.y + r.t; }
float blend(float a, float3 c) { return a * c.z; }
void split(float x, out float whole, out float rest) { whole = floor(x); rest = x - whole; }
float size(float x) { return abs(x); }
float size(float3 v) { return length(v); }
"""
RNG = np.random.default_rng(7)


def numbers(*shape: int, dtype: Any = np.float32) -> Any:
    """Numbers of few bits, so that sums are exact in any order."""
    whole = RNG.integers(1, 9, shape)
    return (whole / 4).astype(dtype) if np.dtype(dtype).kind == "f" else whole.astype(dtype)


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "grouping", SOURCE)


IMAGE, ROW, MATRIX = numbers(2, 5, 3), numbers(3), numbers(3, 3)
# a program of a module and arrays; its arguments; how many kernels it takes
PROGRAMS: dict[str, tuple[Callable[..., Any], list[Any], int]] = {
    "a math function": (lambda m, i: m.luma(fp.sqrt(i)), [IMAGE], 1),
    "operators": (lambda m, i, r: m.luma(i * 2 + r), [IMAGE, ROW], 1),
    "functions of three": (lambda m, i: m.luma(fp.clip(i, 0.5, 1)), [IMAGE], 1),
    "a selection": (lambda m, i, r: m.luma(fp.where(r > 1, i, -i)), [IMAGE, ROW], 1),
    "a power": (lambda m, i: m.luma(i**2.5), [IMAGE], 1),
    "comparisons": (lambda m, i: m.both(i > 1), [IMAGE], 1),
    "a call of numbers": (lambda m, i, r: m.luma(m.add(i, r)), [IMAGE, ROW], 1),
    "an output of a call": (lambda m, i: m.luma(m.split(i)[1]), [IMAGE], 1),
    "calls of vectors between": (lambda m, i: m.luma(fp.sqrt(m.scale(fp.abs(i), 4.0) + 1)), [fp.vcast(IMAGE, "float3")], 1),
    "components at once and alone": (lambda m, a, c: m.blend(fp.abs(a), fp.abs(c)), [numbers(5), IMAGE], 1),
    "several operands": (lambda m, a, b: m.luma(a * 2) + m.luma(b * 2), [IMAGE, numbers(5, 3)], 1),
    "numbers and vectors of one value": (lambda m, i: (m.luma(i * 2), i * 2), [IMAGE], 2),
    "an axis that is broadcast": (lambda m, i, a: m.luma(i * a), [IMAGE, numbers(2, 5, 1)], 1),
    "axes that are broadcast": (lambda m, i, a: m.luma(fp.sqrt(i * a)), [numbers(2, 1, 3), numbers(5, 1)], 1),
    "a product of matrices": (lambda m, i, w: m.luma(i @ w), [IMAGE, MATRIX], 2),
    "a mean of components": (lambda m, i: m.luma(i - fp.mean(i, axis=-1, keepdims=True)), [IMAGE], 2),
    "a sum over rows": (lambda m, i: m.luma(fp.sum(i, axis=0)), [numbers(4, 5, 3)], 1),
    "a sum behind the components": (lambda m, i: m.luma(fp.sum(i, axis=-1)), [numbers(2, 3, 6)], 2),
    "a sum of all but the first axis": (lambda m, i: m.luma(fp.sum(i, axis=(1, 2))), [numbers(3, 5, 6)], 2),
    "a minimum that keeps its axis": (lambda m, i: m.luma(i - fp.min(i, axis=0, keepdims=True)), [numbers(4, 5, 3)], 2),
    "a scan": (lambda m, i: m.luma(fp.scan("sum", i, axis=0)), [numbers(4, 3)], 2),
    "a scan of the components": (lambda m, i: m.luma(fp.scan("sum", i, axis=1)), [numbers(4, 3)], 2),
    "an argmax": (lambda m, i: m.digits(fp.argmax(i, axis=0)), [numbers(4, 5, 3)], 2),
    "whether any": (lambda m, i: m.both(fp.any(i > 1, axis=0)), [IMAGE], 2),
    "integers": (lambda m, i: m.digits(i * 2 + 1), [numbers(2, 5, 3, dtype=np.int32)], 1),
    "unsigned integers": (lambda m, i: m.udigits(i // 2), [numbers(5, 2, dtype=np.uint32)], 1),
    "halfs": (lambda m, i: m.halves(fp.abs(i)), [numbers(5, 3, dtype=np.float16)], 1),
    "doubles": (lambda m, i: m.doubles(fp.floor(i)), [numbers(5, 4, dtype=np.float64)], 1),
    "two components": (lambda m, i: m.two(i + 1), [numbers(7, 2)], 1),
    "matrices": (lambda m, i: m.det(i * 2), [numbers(5, 3, 3)], 1),
    "matrices and rows": (lambda m, i, r: m.det(i * r), [numbers(5, 3, 3), ROW], 1),
    "matrices of two extents": (lambda m, i: m.corner(fp.abs(i)), [numbers(5, 2, 3)], 1),
    "matrices of calls": (lambda m, i: m.det(m.add(i, 1.0)), [numbers(5, 3, 3)], 1),
    "products as matrices": (lambda m, a, b: m.det(a @ b), [numbers(5, 3, 3), numbers(5, 3, 3)], 2),
    "a fixed array": (lambda m, i: m.three(i * 2), [numbers(5, 3)], 1),
    "a longer fixed array": (lambda m, i: m.six(i * 2), [numbers(5, 6)], 1),
    "a fixed array of vectors": (lambda m, i: m.vectors(i * 2), [numbers(5, 2, 3)], 1),
    "a member": (lambda m, i, t: m.at({"p": i * 2, "t": t + 1}), [numbers(5, 3), numbers(5)], 1),
    "a constructor": (lambda m, i, t: m.at(m.Ray(i * 2, t * 2)), [numbers(5, 3), numbers(5)], 1),
    "a vcast": (lambda m, i: m.luma(fp.vcast(i * 2, m.float3)), [IMAGE], 1),
    "a vcast to another scalar": (lambda m, i: m.halves(fp.vcast(i * 2, m.half3)), [IMAGE], 1),
    "a vmap": (lambda m, i: m.luma(fp.vmap(i * 2, (1, 0))), [IMAGE], 1),
    "a mapped argument": (lambda m, i: m.luma(fp.sqrt(fp.vmap(i, (1, 0, 2)))), [IMAGE], 1),
}


def leaves(result: Any) -> list[Any]:
    return [r.to_numpy() if isinstance(r, fp.Tensor) else r for r in (result if isinstance(result, tuple) else (result,))]


DAILY = (
    *("a math function", "a call of numbers", "an output of a call", "calls of vectors between", "several operands"),
    *("numbers and vectors of one value", "a product of matrices", "a mean of components"),
    *("a scan", "whether any", "integers", "matrices of two extents", "a fixed array of vectors"),
    *("a member", "a constructor", "a vcast to another scalar", "a vmap"),
)


@pytest.mark.req("V1")
@pytest.mark.parametrize("name", daily(PROGRAMS, *DAILY))
def test_what_a_call_takes_eagerly_it_takes_fused(m: Any, name: str) -> None:
    program, given, kernels = PROGRAMS[name]
    tensors = [fp.Tensor.from_numpy(m.device, a) if isinstance(a, np.ndarray) else a for a in given]
    for args in (given, tensors):
        fused = fp.fuse(lambda *args: program(m, *args))
        eager, found = program(m, *args), fused(*args)
        assert [type(r) for r in leaves(found)] == [type(r) for r in leaves(eager)]
        for want, got in zip(leaves(eager), leaves(found)):
            assert (got.shape, got.dtype) == (want.shape, want.dtype)
            np.testing.assert_allclose(
                got, want, rtol=1e-6, atol=2e-6
            )  # pow of a vector, and the mean of a row in one kernel, may round otherwise
        assert fused.explain(*args).kernels <= kernels


def test_extents_choose_among_programs_and_compile_no_kernel(m: Any) -> None:
    """Extents are in no key, but a sum may leave an axis of three."""
    look = fp.fuse(lambda i: m.luma(fp.sum(i, axis=-1)))
    for shape in ((2, 3, 6), (7, 3, 8), (2, 3, 6)):
        image = numbers(*shape)
        np.testing.assert_array_equal(look(image), image.sum(-1) @ np.array([0.25, 0.5, 0.125], F32))
    with pytest.raises(fp.NoMatchError):
        look(numbers(2, 5, 6))
    compiled = fp.stats().kernels_compiled
    look(numbers(9, 3, 10))
    assert fp.stats().kernels_compiled == compiled


@pytest.mark.parametrize("program", daily(["sqrt", "add", "matmul", "mean", "sum"], "sum"))
def test_gradients_go_through_vectors(m: Any, program: str) -> None:
    ways: dict[str, Callable[[Any, Any], Any]] = {
        "sqrt": lambda i, w: fp.sum(m.luma(fp.sqrt(i) * w)),
        "add": lambda i, w: fp.sum(m.luma(m.add(i, w)) ** 2),
        "matmul": lambda i, w: fp.sum(m.luma(i @ (w * w)) ** 2),
        "mean": lambda i, w: fp.sum(m.luma(i * w - fp.mean(i, axis=-1, keepdims=True)) ** 2),
        "sum": lambda i, w: fp.sum(m.luma(fp.sum(i, axis=0) * w) ** 2),
    }
    weights = numbers(3, 3) if program == "matmul" else numbers(3)
    fp.check_grads(ways[program], numbers(2, 4, 3), weights)


# what a function computes before it differentiates by it, and the function of this
MADE: dict[str, Callable[..., Any]] = {
    "operators": lambda m, x: x * 2 + 1,
    "a call of numbers": lambda m, x: m.add(x, 0.5),
    "a call of vectors": lambda m, x: m.scale(x, 0.5) * 2,
    "a mean of rows": lambda m, x: fp.mean(x, axis=0),
    "a sum of components": lambda m, x: x / fp.sum(x, axis=-1, keepdims=True),
    "a view": lambda m, x: fp.sqrt(x)[::-1],
}
OF_MADE: dict[str, Callable[..., Any]] = {
    "vectors": lambda m, p: m.luma(p) ** 2,
    "vectors of numbers": lambda m, p: m.luma(p * p + 1) ** 2,
    "vectors and numbers": lambda m, p: m.luma(p) * p[..., 0] + fp.sum(p * p, axis=-1),
    "a struct": lambda m, p: m.far({"p": p, "t": p[..., 1]}),
    "a fixed array": lambda m, p: m.curve(p),
}
PAIRS = dict.fromkeys([("operators", of) for of in OF_MADE] + [(made, "vectors and numbers") for made in MADE])
# derivatives of a function f by what `first` computes of x, and by the array y that this is; d and e are as y and f(y)
WAYS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "grad": (lambda f, first, x, d, e: slope(f, first(x)), lambda f, y, d, e: slope(f, y)),
    "vjp": (lambda f, first, x, d, e: fp.vjp(f, first(x))[1](e)[0], lambda f, y, d, e: fp.vjp(f, y)[1](e)[0]),
    "jvp": (lambda f, first, x, d, e: fp.jvp(f, (first(x),), (d * 2,)).d, lambda f, y, d, e: 2 * fp.jvp(f, (y,), (d,)).d),
    "twice": (
        lambda f, first, x, d, e: fp.grad(lambda s: fp.sum(d * slope(f, first(x) * s)))(1.0),
        lambda f, y, d, e: fp.sum(d * fp.jvp(fp.grad(lambda p: fp.sum(f(p))), (y,), (y,)).d),
    ),
}


def slope(f: Any, p: Any) -> Any:
    return fp.grad(lambda p: fp.sum(f(p)))(p)


@pytest.mark.req("V1")
@pytest.mark.parametrize(
    "case",
    daily(
        [f"{way}, {made}, {of}" for way in WAYS for made, of in PAIRS],
        *("grad, operators, vectors and numbers", "vjp, a call of vectors, vectors and numbers"),
    ),
)
def test_derivatives_by_what_a_function_computes(m: Any, case: str) -> None:
    """What is computed before is an argument of the function that is differentiated, so vectors of it have its gradient."""
    way, made, of = case.split(", ")
    fused, eager = WAYS[way]
    x, first, f = numbers(2, 5, 3), fp.fuse(lambda x: MADE[made](m, x)), lambda p: OF_MADE[of](m, p)
    y = first(x)
    d, e = numbers(*y.shape), numbers(*y.shape[:-1])
    found = fp.fuse(lambda x, d, e: fused(f, first, x, d, e))(x, d, e)
    np.testing.assert_allclose(found, eager(f, y, d, e), rtol=1e-4, atol=1e-5)


def test_gradients_by_several_of_what_a_function_computes(m: Any) -> None:
    """An argument that is computed from another one is an argument by itself."""
    x, loss = numbers(2, 5, 3), lambda p, q: fp.sum(m.luma(p) * m.luma(q) ** 2)
    both = fp.fuse(lambda x: fp.grad(loss, (0, 1))(x + 1, (x + 1) * 2))(x)
    for slope, want in zip(both, fp.grad(loss, (0, 1))(x + 1, (x + 1) * 2)):
        np.testing.assert_allclose(slope, want, rtol=1e-5)


# derivatives of functions of vectors, with gradients and tangents that are computed; what NumPy makes of the same
SEEDS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "numbers for vectors": (lambda m, x: fp.vjp(lambda p: m.square(p), x)[1](x * 2)[0], lambda x: 4 * x * x),
    "numbers for computed vectors": (lambda m, x: fp.vjp(m.square, m.scale(x, 2.0))[1](x + 1)[0], lambda x: 4 * x * (x + 1)),
    "vectors for numbers": (lambda m, x: fp.vjp(lambda p: p * p, x)[1](m.scale(x, 2.0))[0], lambda x: 4 * x * x),
    "tangents of numbers": (lambda m, x: fp.jvp(m.square, (x,), (x * 2,)).d, lambda x: 4 * x * x),
    "tangents of numbers for vectors": (lambda m, x: fp.jvp(m.square, (m.scale(x, 2.0),), (x * 2,)).d, lambda x: 8 * x * x),
    "tangents of vectors": (lambda m, x: fp.jvp(lambda p: p * p, (x,), (m.scale(x, 2.0),)).d, lambda x: 4 * x * x),
    "tangents for fixed arrays": (
        lambda m, x: fp.jvp(m.curve, (x,), (x * 2,)).d,
        lambda x: 4 * (x[..., 0] * x[..., 1] + x[..., 2] ** 2),
    ),
    "an argument that is the result": (lambda m, x: used(m, x, lambda y: fp.vjp(lambda p: p, y)[1](x)[0]), lambda x: x),
    "the same forwards": (lambda m, x: used(m, x, lambda y: fp.jvp(lambda p: p, (y,), (x,)).d), lambda x: x),
}


def used(m: Any, x: Any, of: Callable[[Any], Any]) -> Any:
    """Of a value that is taken as vectors before."""
    y = x + 1
    return of(y) + 0 * m.luma(y)[..., None]


@pytest.mark.req("V1")
@pytest.mark.parametrize("name", daily(SEEDS, "numbers for vectors", "tangents of numbers", "an argument that is the result"))
def test_computed_gradients_and_tangents_are_vectors_where_values_are(m: Any, name: str) -> None:
    program, want = SEEDS[name]
    x = numbers(2, 5, 3)
    for given in (x, fp.Tensor.from_numpy(m.device, x)):
        found = np.asarray(fp.fuse(lambda x: program(m, x))(given))
        np.testing.assert_allclose(found, want(x), rtol=1e-5)
