"""``x[…]`` of traced values: where the axes of indices go, which indices are out of range, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.trace.trace import current_trace
from tests.support.selection import daily
from tests.support.slang_functions import ramp

X = ramp(4, 5, 6, start=1)
AT, ROWS = np.array([0, 2, 2, -1], np.int32), np.array([[1], [-2], [0]], np.int32)
INDICES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "along the first axis": lambda x, i, j: x[i],
    "along the last axis": lambda x, i, j: x[..., i],
    "two, broadcast": lambda x, i, j: x[i, j],
    "two with a slice between": lambda x, i, j: x[i, 1:4, j],
    "two behind a slice": lambda x, i, j: x[::-1, i, j],
    "with an integer": lambda x, i, j: x[2, :, i],
    "with a new axis": lambda x, i, j: x[:, None, j, -1],
    "a list": lambda x, i, j: x[[3, 0], 1:],
    "a cast array of the host": lambda x, i, j: x[:, cast_to_int(np.array([1.0, 2.5])), None],
    "an array of the host": lambda x, i, j: x[:, np.array([1, 2])],
    "of a view": lambda x, i, j: x.T[1:, i],
}


def cast_to_int(a: Any) -> Any:
    return fp.vcast(a, "int") if current_trace() is not None else a.astype(int)


DAILY = ("along the last axis", "two with a slice between", "a list", "of a view")


@pytest.mark.parametrize("name", daily(INDICES, *DAILY))
def test_elements_at_indices_are_where_numpy_puts_them(device: Any, name: str) -> None:
    index = INDICES[name]
    want = index(X, AT, ROWS)
    assert np.asarray(fp.fuse(index)(X, AT, ROWS)).tolist() == want.tolist()
    computed = fp.fuse(lambda x, i, j: index(x * 2, i + 0, j))
    assert np.asarray(computed(fp.Tensor.from_numpy(device, X), AT, ROWS)).tolist() == (2 * want).tolist()
    slopes = fp.grad(lambda x: fp.sum(fp.sin(index(x, AT, ROWS))))(X / 8)
    counts = np.bincount(index(np.arange(X.size).reshape(X.shape), AT, ROWS).ravel(), minlength=X.size)
    np.testing.assert_allclose(slopes, counts.reshape(X.shape) * np.cos(X / 8), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("names", [DAILY[:2], pytest.param(tuple(INDICES), marks=pytest.mark.rest)], ids=["two", "all"])
def test_tangents_of_elements_at_indices(names: tuple[str, ...]) -> None:
    """In forward mode, several of them in one function."""
    indices = {name: INDICES[name] for name in names}
    found = fp.jvp(lambda x: {name: index(x, AT, ROWS) for name, index in indices.items()}, (X,), (np.cos(X),)).d
    for name, index in indices.items():
        np.testing.assert_allclose(found[name], index(np.cos(X), AT, ROWS), rtol=1e-6, err_msg=name)


def test_an_index_out_of_range_takes_the_nearest_element() -> None:
    far = np.array([4, 100, -4, -100], np.int32)
    assert np.asarray(fp.fuse(lambda x, i: x[i])(X[:, 0, 0], far)).tolist() == X[[3, 3, 0, 0], 0, 0].tolist()
    assert np.asarray(fp.fuse(lambda x: x[[0, -1, 0]])(X[:1])).tolist() == X[[0, 0, 0]].tolist()  # of a single row


def test_one_index_of_a_vector_is_a_component() -> None:
    image = ramp(4, 5, 3)
    looked = fp.fuse(lambda c: fp.vcast(c, "float3")[1])
    assert np.asarray(looked(image)).tolist() == image[..., 1].tolist()
    rows = fp.fuse(lambda c: fp.vcast(c, "float3")[1, ...])
    assert np.asarray(rows(image)).tolist() == image[1].tolist()


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (lambda x: x[x > 2], "fusepy.where"),
        (lambda x: x[np.ones(4, bool)], "fusepy.where"),
        (lambda x: x[x], "vcast"),
        (lambda x: x[0, 0, 0, 0], "index each axis once"),
        (lambda x: x[:, 9], "check the extents"),
        (lambda x: x[1.5], "round first"),
        (lambda x: x[: fp.sum(x)], "fp.take"),
        (lambda x: x[fp.vmap(AT, (1,))], "under vmap"),
        (lambda x: x[fp.vmap(AT, (1,)) + 0], "under vmap"),
    ],
)
def test_what_is_refused(index: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(fp.FusepyError, match=words):
        fp.fuse(index)(X)


OF_INDICES = {
    "elements": lambda x, i: x[i] + 0,
    "a sum": lambda x, i: fp.sum(fp.sqrt(x)[i]),
    "a scan": lambda x, i: fp.cumsum(x[i]),
}


@pytest.mark.parametrize("name", daily(OF_INDICES, "a sum"))
def test_an_empty_array_has_no_elements_at_indices_in_any_mode(device: Any, name: str) -> None:
    of: Callable[[Any, Any], Any] = OF_INDICES[name]
    graph = fp.Graph(inputs=["x", "i"])
    graph.set_outputs(fp.fuse(of).node()(*graph.get_inputs()))

    def waits(x: Any, i: Any) -> Any:
        with fp.lazy():
            made = fp.fuse(of)(x, i)
        return np.asarray(made)

    def on_the_device(x: Any, i: Any) -> Any:
        return of(*(fp.Tensor.from_numpy(device, a) for a in (x, i)))

    x, i = X[0, 0], np.array([1, 0], np.int32)
    want = np.asarray(fp.fuse(of)(x, i))
    for mode in (fp.fuse(of), waits, graph, on_the_device, fp.grad(lambda x, i: fp.sum(of(x, i)))):
        made = np.asarray(mode(x, i))
        assert mode not in (waits, graph, on_the_device) or made.tolist() == want.tolist()
        with pytest.raises(fp.ShapeError, match="of an array that has none"):
            mode(x[:0], i)
        assert not np.asarray(mode(x[:0], i[:0])).any()


def test_slices_of_lists_without_elements_keep_their_axes() -> None:
    rows = np.ones((4, 1, 3, 2)).tolist()
    assert fp.fuse(lambda x: fp.sum(x[:, 1:] / 2, axis=1))(rows) == np.zeros((4, 3, 2)).tolist()
    assert fp.fuse(lambda x: (x / 2)[:, 1:].shape)(rows) == (4, 0, 3, 2)


def test_an_element_has_the_type_of_its_array() -> None:
    for dtype in (np.float64, np.float32, np.int64, np.uint8):
        found = fp.fuse(lambda x: x[2] * 2)(np.array([1, 2, 3], dtype))
        assert (found.dtype, found.item()) == (dtype, 6)
    assert fp.fuse(lambda x: x[1] ** 3)(np.array([0.1, 1.1])) == pytest.approx(1.1**3, rel=1e-14)


def test_a_new_axis_of_what_is_reduced_is_a_view() -> None:
    """Kernels that go along rows know views of extent 1; coordinates along that axis would make another kernel."""
    x = ramp(4, 5)
    f = fp.fuse(lambda x: x - fp.sqrt(fp.sum(x, 1) + 1)[:, None])
    np.testing.assert_allclose(np.asarray(f(x)), x - np.sqrt(x.sum(1) + 1)[:, None], rtol=1e-6)
    assert " along(" not in f.ir(x)
    plain = fp.fuse(lambda x: (x + 1)[:, None])
    assert np.asarray(plain(x)).tolist() == (x + 1)[:, None].tolist()
    columns = fp.fuse(lambda x: (fp.max(x, 0) * 2)[None, :, None])
    assert np.asarray(columns(x)).tolist() == (x.max(0) * 2)[None, :, None].tolist()


def test_indices_may_be_cast_in_each_mode(device: Any) -> None:
    """A vcast of an array is what a message about floats says; an index of a tensor may be one, as one of a traced value."""
    t, at = fp.Tensor.from_numpy(device, X), np.array([0.0, 2.5, 3.0], np.float32)
    for i in (at, fp.Tensor.from_numpy(device, at)):
        assert t[fp.vcast(i, "int")].tolist() == X[[0, 2, 3]].tolist()
        assert t[1, :, fp.vcast(fp.floor(i), "int")].tolist() == X[1][:, [0, 2, 3]].T.tolist()
    with fp.lazy():
        moved = (t + 1)[fp.vcast(at, "int")]
    assert moved.tolist() == (X + 1)[[0, 2, 3]].tolist()
    with pytest.raises(fp.TraceError, match="under vmap"):
        t[fp.vmap(AT, (1,))]
