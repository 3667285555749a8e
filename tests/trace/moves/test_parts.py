"""NumPy's functions that move elements of tensors of vectors and matrices: the components are trailing axes in every mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily
from tests.support.slang_functions import ramp

SOURCE = "float3 same(float3 x) { return x; } float2x2 same(float2x2 x) { return x; }"
ARRAYS = {"float3": ramp(2, 3), "float2x2": ramp(3, 2, 2)}
MOVES: dict[str, Callable[[Any], Any]] = {
    "flip": np.flip,
    "flip of the last axis": lambda t: np.flip(t, -1),
    "flip of two axes": lambda t: np.flip(t, (0, -1)),
    "roll": lambda t: np.roll(t, 1),
    "roll along the last axis": lambda t: np.roll(t, 1, -1),
    "roll along two axes": lambda t: np.roll(t, (1, 1), axis=(0, 1)),
    "tile": lambda t: np.tile(t, 2),
    "repeat": lambda t: np.repeat(t, 2, axis=-1),
    "split": lambda t: np.split(t, [1], axis=-1)[1],
    "pad": lambda t: np.pad(t, 1, mode="wrap"),
}
FORMS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "an argument": lambda m: lambda t: t,
    "of a call": lambda m: lambda t: m.same.node()(t) if isinstance(t, fp.GraphValue) else m.same(t),
    "of an operator": lambda m: lambda t: t * 1,
}
CASES = [f"{element} {form}" for element in ARRAYS for form in FORMS]


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "moved_components", SOURCE)


def moved(t: Any) -> list[Any]:
    return [move(t) for move in MOVES.values()]


def lazily(of: Callable[[Any], Any], t: Any) -> list[Any]:
    with fp.lazy():
        return moved(of(t))


def in_graph(of: Callable[[Any], Any], t: Any) -> Any:
    g = fp.Graph(inputs=["x"])
    g.set_outputs(*moved(of(*g.get_inputs())))
    return g(t)


@pytest.mark.parametrize("case", daily(CASES, "float3 of an operator", "float2x2 of a call"))
def test_components_move_as_trailing_axes(m: Any, case: str) -> None:
    """In every mode. In fused functions and graphs they stayed in their places, without a word."""
    element, _, form = case.partition(" ")
    array, of = ARRAYS[element], FORMS[form](m)
    t = fp.Tensor.from_numpy(m.device, array, element)
    modes = {"eager": moved(of(t)), "lazy": lazily(of, t), "fused": fp.fuse(lambda x: moved(of(x)))(t), "graph": in_graph(of, t)}
    for mode, results in modes.items():
        for name, found, wanted in zip(MOVES, results, moved(array), strict=True):
            np.testing.assert_array_equal(np.asarray(found), wanted, err_msg=f"{mode} {name}")


def test_components_of_one_vector_and_of_a_cast_move(m: Any) -> None:
    array = ARRAYS["float3"]
    one = fp.Tensor.from_numpy(m.device, array[0], "float3")
    assert one.shape == ()
    np.testing.assert_array_equal(np.asarray(fp.fuse(lambda t: np.roll(t, 1))(one)), np.roll(array[0], 1))
    np.testing.assert_array_equal(np.asarray(fp.fuse(lambda t: np.roll(m.same(t), 1))(one)), np.roll(array[0], 1))
    cast = fp.fuse(lambda a: np.flip(m.same(fp.vcast(a, "float3")), -1))
    np.testing.assert_array_equal(np.asarray(cast(fp.Tensor.from_numpy(m.device, array))), np.flip(array, -1))


def test_gradients_of_moved_components(m: Any) -> None:
    weights = np.float32([1, 10, 100])
    found = fp.grad(lambda t: fp.sum(np.roll(t * 2, 1, -1) * weights))(fp.Tensor.from_numpy(m.device, ARRAYS["float3"], "float3"))
    np.testing.assert_array_equal(np.asarray(found), np.tile(2 * np.roll(weights, -1), (2, 1)))
