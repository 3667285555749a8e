"""Arrays made of others under NumPy's names: at once, fused, lazy and in graphs, in one kernel, with gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.differences import differences
from tests.support.selection import daily
from tests.support.slang_functions import ramp

X, Y = ramp(4, 6, start=1), ramp(2, 6, start=-2)
PLACES = np.array([[0, 2], [2, -1]], np.int32)
Make = Callable[[Any, Any, Any], Any]
MADE: dict[str, Make] = {
    "joined": lambda m, x, y: m.concatenate([x, y, x[:0], x[2:3]]),
    "joined, one of them computed": lambda m, x, y: m.concatenate([x[:2] * 2, y], axis=-1),
    "stacked": lambda m, x, y: m.stack([x[:2], y], axis=-1),
    "padded": lambda m, x, y: m.pad(x * 2, ((1, 2), (0, 3))),
    "padded by a number": lambda m, x, y: m.pad(x, 1, constant_values=2.5),
    "padded by the edge": lambda m, x, y: m.pad(x, (2, 1), mode="edge"),
    "padded around": lambda m, x, y: m.pad(y, ((3, 0), (1, 1)), mode="wrap"),
    "padded by a mirror": lambda m, x, y: m.pad(y, ((3, 0), (1, 2)), mode="reflect"),
    "padded by a mirror at the edge": lambda m, x, y: m.pad(y, ((3, 5), (1, 2)), mode="symmetric"),
    "rolled": lambda m, x, y: m.roll(x, -3),
    "rolled along axes": lambda m, x, y: m.roll(x * x, (1, -2), (0, 1)),
    "repeated": lambda m, x, y: m.repeat(x, 3, axis=1),
    "repeated, flat": lambda m, x, y: m.repeat(y, 2),
    "tiled": lambda m, x, y: m.tile(y, (2, 1, 3)),
    "taken": lambda m, x, y: m.take(x, PLACES, axis=1),
    "taken, flat": lambda m, x, y: m.take(x, PLACES),
    "taken along": lambda m, x, y: m.take_along_axis(y, PLACES, axis=1),
    "differences": lambda m, x, y: m.concatenate([x[1:] - x[:-1], m.flip(x * y[0], 1)[-1:]]),
}


DAILY = ("joined, one of them computed", "padded by a mirror", "rolled along axes", "repeated", "taken along")


@pytest.mark.parametrize("name", daily(MADE, *DAILY, "stacked", "padded by a number", "padded around", "tiled", "taken, flat"))
def test_made_arrays_are_those_of_numpy(device: Any, name: str) -> None:
    make = MADE[name]
    want = make(np, X, Y)
    fused = fp.fuse(lambda x, y: make(fp, x, y))
    a, b = fp.Tensor.from_numpy(device, X), fp.Tensor.from_numpy(device, Y)
    graph = fp.Graph(inputs=["x", "y"])
    graph.set_outputs(fused.node()(*graph.get_inputs()))
    with fp.lazy():
        late = make(fp, a + 0, b)
    found = {"at once": make(fp, X, Y), "tensors": make(fp, a, b), "fused": fused(a, Y), "lazy": late, "graph": graph(a, b)}
    for way, got in found.items():
        assert np.shape(got) == want.shape, way
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-6, err_msg=way)
    assert fused.explain(X, Y).kernels == 1


NO_GRADIENTS = ("rolled", "repeated, flat", "taken, flat", "padded around")


@pytest.mark.parametrize("name", daily([n for n in MADE if n not in NO_GRADIENTS], *DAILY))
def test_gradients(name: str) -> None:
    def loss(m: Any, x: Any, y: Any) -> Any:
        return m.sum(m.sin(MADE[name](m, x, y))) + x[0, 0] * y[1, 0]

    found = fp.grad(lambda x, y: loss(fp, x, y), argnums=(0, 1))(X / 4, Y / 4)
    want = differences(lambda x, y: loss(np, x, y), [X.astype(float) / 4, Y.astype(float) / 4], np.float64(1))
    for got, slope in zip(found, want):
        np.testing.assert_allclose(got, slope, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "names", [DAILY[:3], pytest.param((*DAILY, "stacked", "tiled"), marks=pytest.mark.rest)], ids=["three", "all"]
)
def test_tangents(names: tuple[str, ...]) -> None:
    """In forward mode, one of each kind in one function."""
    tangents = np.cos(X), np.sin(Y)
    found = fp.jvp(lambda x, y: {name: MADE[name](fp, x, y) for name in names}, (X, Y), tangents).d
    for name in names:
        ends = [MADE[name](np, X.astype(float) + s * tangents[0], Y.astype(float) + s * tangents[1]) for s in (0.5, -0.5)]
        np.testing.assert_allclose(found[name], ends[0] - ends[1], rtol=1e-5, atol=1e-5, err_msg=name)


def test_lists_vectors_and_other_types(device: Any) -> None:
    assert fp.concatenate([[1, 2], [3]]) == [1, 2, 3]
    assert fp.take([1.5, 2.5], [1, 1, 0]) == [2.5, 2.5, 1.5]
    turned = fp.fuse(lambda x: fp.roll(fp.concatenate([x, x[::-1]]), 1, axis=1))
    for dtype in (np.float16, np.float64, np.int32, np.uint8, np.bool_):
        array = (np.arange(6).reshape(2, 3) % 4).astype(dtype)
        got = np.asarray(turned(array))
        assert got.dtype == dtype
        assert got.tolist() == np.roll(np.concatenate([array, array[::-1]]), 1, axis=1).tolist()
    m = fp.Module.load_from_source(device, "made_vectors", "float3 doubled(float3 c) { return 2 * c; }")
    image = ramp(4, 5, 3)
    rolled = fp.fuse(lambda c: fp.concatenate([fp.roll(m.doubled(c), 2, axis=1), m.doubled(c)[:1]]))
    want = np.concatenate([np.roll(2 * image, 2, axis=1), 2 * image[:1]])
    assert np.asarray(rolled(image)).tolist() == want.tolist()


def test_traced_shifts_and_numbers(device: Any) -> None:
    rolled = fp.fuse(lambda x, n: fp.roll(x, n, axis=1))
    for n in (0, 2, -7):
        assert np.asarray(rolled(X, n)).tolist() == np.roll(X, n, axis=1).tolist()
    padded = fp.fuse(lambda x, v: fp.pad(x, 1, constant_values=v))
    assert np.asarray(padded(X, 0.25)).tolist() == np.pad(X, 1, constant_values=0.25).tolist()


@pytest.mark.long
def test_words_move_what_a_vcast_says(device: Any) -> None:
    """Of an argument, of a traced value, and outside of a trace: numbers are converted before, and components are no axes."""
    array = (np.arange(18).reshape(6, 3) * 7 % 11 + 0.5).astype(np.float32)
    whole = array.astype(np.int32)
    words: list[Callable[[Any, Any], Any]] = [
        lambda m, x: m.concatenate([x, x], axis=0), lambda m, x: m.pad(x, 1), lambda m, x: m.roll(x, 1, axis=0),
        lambda m, x: m.repeat(x, 2, axis=0), lambda m, x: m.take(x, np.array([1, 0]), axis=0), lambda m, x: m.stack([x, x]),
        lambda m, x: m.split(x, 3)[1], lambda m, x: m.sort(x, -1), lambda m, x: m.einsum("ij->j", x), lambda m, x: m.flip(x, 0),
    ]  # fmt: skip
    look = fp.fuse(lambda x: [word(fp, x) for word in words])
    inner = fp.fuse(lambda x: [word(fp, fp.vcast(x, "int")) for word in words])
    cast = fp.vcast(array, "int")
    for results in (look(cast), look.map(x="int")(array), inner(array), [word(fp, cast) for word in words]):
        for word, got in zip(words, results, strict=True):
            assert np.asarray(got).dtype == np.int32
            np.testing.assert_array_equal(np.asarray(got), word(np, whole))
    same = fp.fuse(lambda x: [word(fp, fp.vcast(x, "float")) for word in words])  # which says no more than its type
    for word, got in zip(words, same(array), strict=True):
        np.testing.assert_array_equal(np.asarray(got), word(np, array))
    own = fp.fuse(lambda x: (fp.std(x, axis=0), fp.softmax(x), fp.topk(x, 2)[0], fp.zeros_like(x), fp.asarray(x) + fp.ndim(x)))
    for got, want in zip(fp.fuse(lambda x: own(fp.vcast(x, "float")))(array), own(array)):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
    assert fp.asarray(cast).tolist() == whole.tolist()
    rows = fp.fuse(lambda x: (fp.pad(x, 1), x + fp.ndim(x), fp.roll(x, 1, 0)))
    for given in (array, fp.Tensor.from_numpy(device, array)):
        padded, counted, rolled = map(np.asarray, rows(fp.vcast(given, "float3")))
        np.testing.assert_array_equal(padded, np.pad(array, ((1, 1), (0, 0))))
        np.testing.assert_array_equal(counted, array + 1)
        np.testing.assert_array_equal(rolled, np.roll(array, 1, 0))
        assert fp.shape(fp.vcast(given, "float3")) == (6,)


def test_what_is_computed_of_rows_under_a_vcast_is_moved(device: Any) -> None:
    m = fp.Module.load_from_source(
        device, "moved_rows", "struct Ray { float3 at; float t; }; float reach(Ray r) { return r.at.y * r.t; }"
        "float ends(float[3] x) { return x[0] + 10 * x[2]; } double last(double3 c) { return c.z; }",
    )  # fmt: skip
    rays, rows = ramp(6, 4), ramp(6, 3)
    look = fp.fuse(
        lambda r, x: [fp.roll(v, 1, 0) for v in (m.reach(fp.vcast(r, m.Ray)), m.ends(x), m.last(fp.vcast(x, "double3")))]
    )
    for given in ((rays, rows), (fp.Tensor.from_numpy(device, rays), fp.Tensor.from_numpy(device, rows))):
        for got, want in zip(look(*given), (rays[:, 1] * rays[:, 3], rows[:, 0] + 10 * rows[:, 2], rows[:, 2])):
            np.testing.assert_array_equal(np.asarray(got), np.roll(want, 1))


@pytest.mark.req("T21")
def test_lists_of_traced_values_are_arrays_as_lists_of_numbers_are(device: Any) -> None:
    m = fp.Module.load_from_source(
        device, "of_lists", "float h(float a) { return a + 1; } float h3(float3 a) { return a.x + a.y * 10 + a.z * 100; }"
    )
    calls: list[Callable[[Any], Any]] = [
        lambda k: fp.sum([k, 2.5]),
        lambda k: fp.sqrt([k, 4.0]),
        lambda k: fp.argmax([1.0, k]),
        lambda k: fp.sum([[k, 1.0], [2.0, k]], axis=0),
        lambda k: fp.sum([fp.float3(k, 1, 2), fp.float3(1, 2, 3)]),
        lambda k: m.h([k, 1.0]),
        lambda k: m.h(fp.vmap([k, 1.0], 0)),
        lambda k: m.h3([k, k, 1.0]),  # a vector
    ]
    for call in calls:
        np.testing.assert_allclose(fp.fuse(call)(9.0), call(9.0), rtol=1e-6)
    x = np.float32([1, 2, 3])
    np.testing.assert_allclose(fp.fuse(lambda x: fp.sqrt([x, 4 * x]))(x), np.sqrt([x, 4 * x]), rtol=1e-6)
    np.testing.assert_allclose(fp.fuse(lambda x: m.h3([x, x, 1.0]))(x), x * 11 + 100)
    with pytest.raises(fp.ShapeError):
        fp.fuse(lambda k: fp.sum([k, [2.0, 3.0]]))(9.0)
