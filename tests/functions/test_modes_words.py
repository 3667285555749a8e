"""Programs in NumPy's words: call by call, fused, lazy and as a graph they give what NumPy gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily

X = np.float32([[1.5, -2.0, 3.0], [0.5, 4.0, -1.0]])
SOURCE = """
struct Ray { float3 position; float t; };
float3 at(Ray r, float k) { return r.position * k + r.t; }
float3 scale(float3 c, float k) { return c * k; }
float luma(float3 c) { return c.x + 2 * c.y + 4 * c.z; }
"""
WORDS: dict[str, Callable[..., Any]] = {  # of an array; `fp` is NumPy for the meaning
    "copy": lambda fp, x: x.copy() + 1,
    "dtype": lambda fp, x: x.astype((x > 0).dtype),
    "divmod": lambda fp, x: divmod(x, 2)[1] + divmod(7, x)[0],
    "round": lambda fp, x: fp.round(x * 0.37, 1),
    "new axes of a number": lambda fp, x: fp.sum(x)[..., None][None] + x,
    "list of values": lambda fp, x: fp.asarray([x[0, 0], x[1, 2]]) * fp.stack([x[0, :2], [x[0, 0], 2.0]]),
    "moved lists": lambda fp, x: fp.cumsum([x[0, 0], 2.0]) + fp.flip((x[0, 1], 1.0)) + fp.pad([x[0, 2]], (1, 0)),
    "formulas of lists": lambda fp, x: fp.square([x[0, 1], 3.0]) * fp.logical_and([x[0, 0], 0.0], [1.0, 1.0]),
    "formulas of the host": lambda fp, x: x * fp.logical_not([0.0, 2.0, 0.0]) + fp.array_equal(x, x),
    "indices in lists": lambda fp, x: fp.take(x[0], [fp.argmin(x[0]), 0]),
    "lists of values": lambda fp, x: fp.concatenate([[x[0, 0]], [x[0, 1], 3.0]]) * fp.vstack([x, [x[0, 0], 1.0, 2.0]]),
}
CALLS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {  # with a module, of an array; and what they give
    "index": (lambda m, x: m.scale(x, 2.0)[1, ...], lambda x: 2 * x[1]),
    "components": (lambda m, x: fp.vcast(x, "float3").zy, lambda x: x[:, [2, 1]]),
    "constructors": (lambda m, x: m.luma(fp.float3(x[:, 0], 1.0, 2.0)), lambda x: x[:, 0] + 10),
}
RAYS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {  # with a module, of an array of structs
    "field": (lambda m, r: r["position"][..., 0] + r["t"], lambda p, t: p[:, 0] + t),
    "sum of a field": (lambda m, r: fp.sum(r["position"]), lambda p, t: p.sum()),
    "one": (lambda m, r: m.at(r[1], 2.0), lambda p, t: 2 * p[1] + t[1]),
    "moved": (lambda m, r: m.at(r.reshape(2, 2).copy(), 1.0), lambda p, t: (p + t[:, None]).reshape(2, 2, 3)),
}


class Nodes:
    """The functions of a module as nodes."""

    def __init__(self, module: Any):
        self.module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name).node()


def modes(program: Callable[..., Any], module: Any, x: Any) -> dict[str, Any]:
    """Runs a program of a module and one argument in the four modes."""
    graph = fp.Graph(inputs=["x"])
    graph.set_outputs(program(Nodes(module), *graph.get_inputs()))
    with fp.lazy():
        lazy = program(module, x)
    return {
        "eager": program(module, x),
        "fused": fp.fuse(lambda x: program(module, x))(x),
        "lazy": lazy,
        "graph": graph(x),
    }


def agree(found: dict[str, Any], wanted: Any) -> None:
    for mode, value in found.items():
        np.testing.assert_allclose(np.asarray(value), wanted, rtol=1e-5, err_msg=mode)


@pytest.fixture(scope="module")
def m(device: Any) -> fp.Module:
    return fp.Module.load_from_source(device, "mode_words", SOURCE)


@pytest.mark.req("V3")
@pytest.mark.parametrize("name", daily(WORDS, "dtype", "divmod", "list of values", "formulas of lists", "indices in lists"))
def test_words_mean_what_numpy_means(m: Any, name: str) -> None:
    agree(modes(lambda _, x: WORDS[name](fp, x), m, fp.asarray(X)), WORDS[name](np, X))


@pytest.mark.parametrize("name", CALLS)
def test_calls_and_components_mean_the_same(m: Any, name: str) -> None:
    program, wanted = CALLS[name]
    for x in (X, fp.asarray(X)):
        agree(modes(program, m, x), wanted(X))


@pytest.mark.parametrize("name", RAYS)
def test_arrays_of_structs_mean_the_same(m: Any, name: str) -> None:
    program, wanted = RAYS[name]
    rays = np.zeros(4, m.Ray.dtype)
    rays["position"], rays["t"] = np.arange(12).reshape(4, 3), np.arange(4) + 1
    tensor = fp.Tensor.from_numpy(m.device, rays, m.Ray)  # whose fields are vectors, see tests/arguments/test_field_tensor.py
    for given in (rays,) if "field" in name else (rays, tensor):
        agree(modes(program, m, given), wanted(rays["position"], rays["t"]))


def test_arrays_of_structs_have_extents(m: Any) -> None:
    rays = np.zeros(4, m.Ray.dtype)
    assert fp.fuse(lambda r: r["t"] + len(r) + r.shape[0] + r.ndim + r.size)(rays).tolist() == [13] * 4


def test_lists_of_values_have_extents(device: Any) -> None:
    one = fp.asarray(2.5)  # captured: it is read by each call
    assert fp.fuse(lambda x: fp.size([x[0], x[1]]) + fp.shape([[x[0, 0]]])[1] + fp.ndim([x[0, 0], 1.0]))(X) == 8
    assert fp.fuse(lambda x: fp.flip((one, 2.0)) * x[0, 0])(X).tolist() == [3.0, 3.75]
    one[...] = 3.5
    assert fp.flip((one, 2.0)).tolist() == [2.0, 3.5]


def test_types_compare_with_those_of_numpy(device: Any) -> None:
    def twice(x: Any) -> Any:
        return x * (2 if x.dtype == np.float32 else 3)

    for x in (X, fp.asarray(X)):
        assert np.array_equal(np.asarray(fp.fuse(twice)(x)), 2 * X)
        assert np.array_equal(np.asarray(twice(x)), 2 * X)


def test_components_of_tensors_are_views(m: Any) -> None:
    t = m.scale(fp.asarray(X), 1.0)
    t.y[...] = 7.0
    assert t.numpy()[:, 1].tolist() == [7, 7]
    assert t.xz.numpy().tolist() == X[:, [0, 2]].tolist()
    for value in (fp.asarray(X), t):
        with pytest.raises(AttributeError, match=r"t\[\.\.\., 0\]"):
            _ = value.w


@pytest.mark.parametrize("use", [float, int, len, round, np.asarray, lambda v: 3 in v])
def test_values_of_graphs_have_no_numbers(m: Any, use: Callable[..., Any]) -> None:
    with pytest.raises(fp.GraphError, match="of a value of the graph"):
        use(fp.Graph(inputs=["x"]).get_inputs()[0])
