"""Gradients of whole arrays of structs, matrices and arrays of fixed size, against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily

SOURCE = """
import fusepy;
struct Line : IDifferentiable { float a; int id; float3 b; float c[2]; };
struct Mixed : IDifferentiable { double d; float a; half3 h; Line lines[2]; };
struct Gap : IDifferentiable { float a; double d; };
struct Turned : IDifferentiable { float3x3 m; };
struct Rest { float a; };
struct Large : IDifferentiable { float a[40]; };
struct Wide : IDifferentiable { double a[17]; };
[Differentiable] T get<T : IDifferentiable>(Tensor<T, 1> t, int i) { return t[i]; }

[Differentiable] float of_line(Tensor<Line, 1> t, int i) { Line l = t[i]; return l.a * l.b.y * t.load(i).c[1]; }
[Differentiable] float of_generic(Tensor<Line, 1> t, int i) { Line l = get(t, i); return l.a * l.b.z * get(t, 1).c[0]; }
[Differentiable] float of_square(Tensor<Line, 2> t, int i) { return t[i % 2, i / 2].a * t[int2(0, 1)].b.x; }
[Differentiable] float of_mixed(Tensor<Mixed, 1> t, int i)
{
    Mixed x = t[i];
    return float(x.d) * x.a * float(x.h.z) * x.lines[1].b.y;
}
[Differentiable] float of_large(Tensor<Large, 1> t, int i) { return t[i].a[0] * t[i].a[39]; }
[Differentiable] float of_matrix(Tensor<float2x3, 1> t, int i) { return t[i][0][1] * t[i][1][2]; }
[Differentiable] double of_doubles(Tensor<double2x2, 1> t, int i) { return t[i][0][1] * t[i][1][0]; }
[Differentiable] float of_halfs(Tensor<matrix<half, 2, 2>, 1> t, int i) { return float(t[i][0][1]) * float(t[i][1][0]); }
[Differentiable] float of_array(Tensor<float[3], 1> t, int i) { return t[i][0] * t[i][2]; }
[Differentiable] float of_vectors(Tensor<float3[2], 1> t, int i) { return t[i][0].x * t[i][1].z; }
[Differentiable] float of_gap(Tensor<Gap, 1> t, int i) { return t[i].a; }
[Differentiable] float of_turned(Tensor<Turned, 1> t, int i) { return t[i].m[0][0]; }
[Differentiable] float of_rest(Tensor<Rest, 1> t, int i) { return t[i].a; }
[Differentiable] double of_wide(Tensor<Wide, 1> t, int i) { return t[i].a[0]; }
[Differentiable] half of_half(Tensor<half, 1> t, int i) { return t[i]; }
"""
AT = np.int32([0, 3, 3, 1, 3])
ELEMENTS = {
    "of_line": "Line",
    "of_generic": "Line",
    "of_square": "Line",
    "of_mixed": "Mixed",
    "of_large": "Large",
    "of_matrix": "float2x3",
    "of_doubles": "double2x2",
    "of_halfs": "matrix<half,2,2>",
    "of_array": "float[3]",
    "of_vectors": "float3[2]",
}


@pytest.fixture(scope="module")
def m(device: fp.Device) -> fp.Module:
    return fp.Module.load_from_source(device, "gathered_elements", SOURCE)


def leaves(array: Any) -> list[Any]:
    """Views of the arrays of floats inside an array of structs."""
    if array.dtype.names:
        return [leaf for name in array.dtype.names for leaf in leaves(array[name])]
    return [array] if array.dtype.kind == "f" else []


def table(m: fp.Module, element: str, shape: tuple[int, ...] = (4,)) -> fp.Tensor:
    made = fp.Tensor.zeros(m.device, shape, m[element] if element in ("Line", "Mixed", "Large") else element)
    host = made.to_numpy()
    rng = np.random.default_rng(1)
    for leaf in leaves(host):
        leaf[...] = rng.integers(2, 9, leaf.shape) / 4  # exact in half
    made.copy_from_numpy(host)
    return made


@pytest.mark.req("B16")
@pytest.mark.parametrize("name", daily(ELEMENTS, "of_line", "of_array"))
def test_threads_add_to_gradients_of_any_element(m: fp.Module, name: str) -> None:
    given = table(m, ELEMENTS[name], (2, 2) if name == "of_square" else (4,))
    function = getattr(m, name)
    host = given.to_numpy()
    slopes = fp.grad(lambda t: fp.sum(function(t, AT)))(given).to_numpy()
    value = fp.FusedFunction(lambda t: fp.sum(function(t, AT)))
    for leaf, slope in zip(leaves(host), leaves(slopes), strict=True):
        for at in np.ndindex(leaf.shape):
            ends: list[float] = []
            before = leaf[at]
            for side in (0.25, -0.25):  # the functions are of second order in an element: no step is too large
                leaf[at] = before + side
                moved = given.copy()
                moved.copy_from_numpy(host)
                ends.append(float(value(moved)))
            leaf[at] = before
            assert float(slope[at]) == pytest.approx((ends[0] - ends[1]) / 0.5, rel=2e-3, abs=1e-3), at


@pytest.mark.parametrize(
    ("name", "element", "words"),
    [
        ("of_gap", "Gap", "a gap before a double"),
        ("of_turned", "Turned", "a member float3x3"),
        ("of_rest", "Rest", "declare struct Rest : IDifferentiable"),
        ("of_wide", "Wide", "more than 128 bytes"),
    ],
)
def test_structs_to_which_threads_cannot_add_are_refused(m: fp.Module, name: str, element: str, words: str) -> None:
    given = fp.Tensor.zeros(m.device, (4,), m[element])
    with pytest.raises(fp.GradientError, match=words):
        fp.grad(lambda t: fp.sum(getattr(m, name)(t, AT)))(given)


def test_many_gradients_of_a_half_are_added_as_floats(m: fp.Module) -> None:
    slope = fp.grad(lambda t: fp.sum(m.of_half(t, np.zeros(5000, np.int32))))(np.ones(2, np.float16))
    assert slope.tolist() == [5000, 0]  # a sum of halfs would end at 2048


def test_structs_in_loops_in_lazy_calls_in_graphs_and_by_bwds(m: fp.Module) -> None:
    given = table(m, "Line")
    want = fp.grad(lambda t: fp.sum(m.of_line(t, AT)))(given).to_numpy()["a"]
    gradient = fp.grad(lambda t: fp.fori_loop(0, 4, lambda k, c: c + m.of_line(t, k), 0.0))
    each = fp.grad(lambda t: fp.sum(m.of_line(t, np.arange(4, dtype=np.int32))))(given).to_numpy()["a"]
    np.testing.assert_allclose(gradient(given).to_numpy()["a"], each)
    with fp.lazy():
        found = fp.grad(lambda t: fp.sum(m.of_line(t, AT)))(given)
    np.testing.assert_allclose(found.to_numpy()["a"], want)
    graph = fp.Graph(inputs=["t", "i"])
    t, i = graph.get_inputs()
    graph.set_outputs(m.of_line.node()(t, i))
    for backwards in (m.of_line.bwds, graph.backwards):
        own = fp.differentiable(given.copy())
        backwards(own, AT)
        np.testing.assert_allclose(own.grad.to_numpy()["a"], want)
