"""Views under NumPy's names: at once, in fused functions, lazy and in graphs; of arguments and of computed values."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily, seldom
from tests.support.slang_functions import F32, ramp

X = ramp(4, 6, start=1)
View = Callable[[Any, Any], Any]
VIEWS: dict[str, View] = {
    "slices": lambda m, x: x[1:, ::-2],
    "an integer and a new axis": lambda m, x: x[..., None, 2],
    "all reversed": lambda m, x: m.flip(x),
    "rows reversed": lambda m, x: m.flip(x, axis=-1)[:0:-1],
    "transposed": lambda m, x: m.transpose(x),
    "axes in order": lambda m, x: m.transpose(x[None], (2, 0, 1)),
    "exchanged": lambda m, x: m.swapaxes(x, 0, -1).T,
    "moved": lambda m, x: m.moveaxis(x[None], -1, 0),
    "reshaped": lambda m, x: m.reshape(x, (3, -1)),
    "ravelled": lambda m, x: m.ravel(x.T),
    "expanded": lambda m, x: m.expand_dims(x, (0, -1)),
    "squeezed": lambda m, x: m.squeeze(x[:1, None]),
    "broadcast": lambda m, x: m.broadcast_to(x[:, None], (2, 4, 3, 6)),
    "no elements": lambda m, x: x[3:1, 2:],
    "a third": lambda m, x: m.split(x, 3, axis=1)[1],
    "between indices": lambda m, x: m.split(x, (1, 3))[1],
}


@pytest.mark.parametrize("name", seldom(VIEWS, "rows reversed", "axes in order", "exchanged", "moved", "ravelled", "a third"))
def test_views_are_those_of_numpy(device: Any, name: str) -> None:
    view = VIEWS[name]
    want = view(np, X)
    fused = fp.fuse(lambda x: view(fp, x))
    computed = fp.fuse(lambda x, y: view(fp, x * y + 1))
    tensor = fp.Tensor.from_numpy(device, X)
    graph = fp.Graph(inputs=["x"])
    graph.set_outputs(fused.node()(graph.get_inputs()[0]))
    with fp.lazy():
        late = view(fp, tensor + 0)
    row = X[:1]
    found = {
        "array": view(fp, X),
        "tensor": view(fp, tensor),
        "fused": fused(X),
        "fused, a tensor": fused(tensor),
        "a strided tensor": fused(fp.Tensor.from_numpy(device, np.array(X.T)).T),
        "computed": (np.asarray(computed(X, tensor)) - 1) / np.asarray(view(np, X)),
        "lazy": late,
        "graph": graph(tensor),
    }
    for way, got in found.items():
        assert np.shape(got) == want.shape, way
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-6, err_msg=way)
    np.testing.assert_allclose(np.asarray(computed(X, row)), view(np, X * row + 1), rtol=1e-6)  # one of them is broadcast
    assert computed.explain(X, row).kernels == 1


@pytest.mark.parametrize("dtype", daily([np.float16, np.float64, np.int32, np.uint8, np.bool_], "float64", "uint8"))
def test_elements_of_any_type(device: Any, dtype: Any) -> None:
    array = (np.arange(12).reshape(3, 4) % 5).astype(dtype)
    got = fp.fuse(lambda x: fp.flip(x.T[1:], 0))(fp.Tensor.from_numpy(device, array))
    assert got.to_numpy().dtype == dtype
    assert got.to_numpy().tolist() == np.flip(array.T[1:], 0).tolist()


def test_vectors_and_structs(device: Any) -> None:
    m = fp.Module.load_from_source(
        device, "moved_structs", "struct Ray { float3 at; float t; }; float reach(Ray r) { return r.at.y * r.t; }"
        "float3 doubled(float3 c) { return 2 * c; }",
    )  # fmt: skip
    image = ramp(4, 5, 3)
    look = fp.fuse(lambda c: m.doubled(c[1:, ::-1]))
    assert np.asarray(look(image)).tolist() == (2 * image[1:, ::-1]).tolist()
    for given, want in ((image, (2 * image[1:, ::-1]).T), (fp.Tensor(image), (2 * image[1:, ::-1]).swapaxes(0, 1))):
        assert np.asarray(fp.fuse(lambda c: m.doubled(c)[1:, ::-1].T)(given)).tolist() == want.tolist()  # as call by call
        assert np.asarray(m.doubled(given)[1:, ::-1].T).tolist() == want.tolist()
    assert fp.fuse(lambda c: m.doubled(c)[..., 1] * m.doubled(c).shape[-1])(image).tolist() == (6 * image[..., 1]).tolist()
    assert np.asarray(fp.fuse(lambda c: c[..., ::-1])(image)).tolist() == image[..., ::-1].tolist()
    rays = np.zeros(6, m.Ray.dtype)
    rays["at"], rays["t"] = ramp(6, 3), 2
    tensor = fp.Tensor.from_numpy(device, rays, m.Ray)
    assert np.asarray(fp.fuse(lambda r: m.reach(r[::-2]))(tensor)).tolist() == (2 * rays["at"][::-2, 1]).tolist()


def test_views_cost_no_kernel_and_no_copy(device: Any) -> None:
    tensor = fp.Tensor.from_numpy(device, X)
    assert fp.flip(tensor).spans == tensor.spans
    step = fp.fuse(lambda x: x[1:-1, 2:] + x[1:-1, :-2] + x[2:, 1:-1] + x[:-2, 1:-1])
    told = step.explain(tensor)
    assert told.kernels == 1
    assert "memory: 0 bytes" not in str(told)
    want = X[1:-1, 2:] + X[1:-1, :-2] + X[2:, 1:-1] + X[:-2, 1:-1]
    assert np.asarray(step(tensor)).tolist() == want.tolist()


def test_extents_are_integers_and_kernels_do_not_depend_on_them(device: Any) -> None:
    halves = fp.fuse(lambda x: x[: len(x) // 2] + x[x.shape[0] // 2 :].reshape(-1, fp.shape(x)[1]))
    for rows in (4, 6, 4, 10):
        array = ramp(rows, 3)
        assert np.asarray(halves(array)).tolist() == (array[: rows // 2] + array[rows // 2 :]).tolist()
    built = fp.stats().kernels_compiled if hasattr(fp.stats(), "kernels_compiled") else None
    assert np.asarray(halves(ramp(12, 3))).shape == (6, 3)
    assert built is None or fp.stats().kernels_compiled == built
    told = fp.fuse(lambda x: (fp.ndim(x) + fp.size(x)) * x + x.ndim * x.size)
    assert np.asarray(told(X)).tolist() == (26 * X + 48).tolist()
    assert (fp.shape(X), fp.ndim([1.0]), fp.size(fp.Tensor.from_numpy(device, X))) == ((4, 6), 1, 24)


def test_methods_of_traced_values() -> None:
    assert fp.reshape(np.arange(6), 2, -1).tolist() == fp.fuse(lambda x: fp.reshape(x, 2, 3))(np.arange(6)).tolist()
    cases: list[Callable[[Any], Any]] = [
        lambda x: x.T + 0,
        lambda x: x.reshape(2, 12) * 1,
        lambda x: (x * 1).reshape((2, 3, -1)),
        lambda x: x.transpose(1, 0) + 0,
        lambda x: x.ravel() + 0,
        lambda x: (x * 1).flatten(),
        lambda x: x[:1].squeeze() + 0,
        lambda x: x.swapaxes(0, 1) + 0,
    ]
    for case in cases:
        assert np.asarray(fp.fuse(case)(X)).tolist() == case(X).tolist()


def test_a_view_in_a_loop_and_of_a_captured_array(device: Any) -> None:
    tensor = fp.Tensor.from_numpy(device, X)
    assert np.asarray(fp.fuse(lambda y: tensor[1:] + y[::-1][1:])(X)).tolist() == (X[1:] + X[::-1][1:]).tolist()
    looped = fp.fuse(lambda x, y: fp.fori_loop(0, 3, lambda i, s: s + x[:, 1], y))
    np.testing.assert_allclose(np.asarray(looped(X, F32([1, 2, 3, 4]))), F32([1, 2, 3, 4]) + 3 * X[:, 1])


@pytest.mark.parametrize(
    "look", [lambda x: fp.flip(x), lambda x: fp.reshape(x.T, -1), lambda x: fp.roll(x, 1, 0)[1:]], ids=["view", "copy", "taken"]
)
def test_what_is_written_between_and_behind_calls(device: Any, look: Callable[[Any], Any]) -> None:
    """Every call reads captured arrays, also those of NumPy, and a call that waits reads what was there when it was made."""
    held, tensor, whole = X.copy(), fp.Tensor.from_numpy(device, X), look(fp.Tensor.from_numpy(device, X)).to_numpy()
    fused = fp.fuse(lambda y: look(held) * y + look(tensor))
    for number in (1, 2):
        held[...] = number * X
        tensor.copy_from_numpy(X / number)
        np.testing.assert_allclose(np.asarray(fused(3.0)), whole * (3 * number + 1 / number), rtol=1e-6)
    with fp.lazy():
        late = fp.sqrt(look(held)), fp.sqrt(look(tensor)), fp.fuse(look)(held)
    held[...] = 7
    tensor.copy_from_numpy(0 * X)
    for got, expected in zip(late, (np.sqrt(2 * whole), np.sqrt(whole / 2), 2 * whole)):
        np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-6)


def test_a_result_is_written_where_a_view_reads(device: Any) -> None:
    tensor, want = fp.Tensor.from_numpy(device, X), X.copy()
    fp.fuse(lambda x: (x[1:-1] + x[:-2] + x[2:]) / 3)(tensor, _result=tensor[1:-1])
    want[1:-1] = (X[1:-1] + X[:-2] + X[2:]) / 3
    np.testing.assert_allclose(tensor.to_numpy(), want, rtol=1e-6)


@pytest.mark.parametrize(
    ("of", "container"), [(lambda a: a, list), pytest.param(fp.Tensor, tuple, marks=pytest.mark.rest)], ids=["arrays", "tensors"]
)
def test_a_loop_over_arrays_of_one_shape_and_over_rows(of: Callable[[Any], Any], container: Callable[[Any], Any]) -> None:
    """Weights in a list are those of a network, whether their shapes are equal, and a stack, or not."""

    def layers(weights: Any, x: Any) -> Any:
        for k, (w, b) in enumerate(zip(weights["w"], weights["b"])):
            x = x @ w * len(weights["w"]) + b[k]
        return x

    for widths in ((3, 3, 3), (3, 2, 3)):
        w = [ramp(n, m, start=k) for k, (n, m) in enumerate(itertools.pairwise(widths))]
        b = [ramp(3, start=-k) for k in range(2)]
        weights = {"w": container(map(of, w)), "b": container(map(of, b))}
        want = layers({"w": w, "b": b}, ramp(5, 3))
        np.testing.assert_allclose(np.asarray(fp.fuse(layers)(weights, ramp(5, 3))), want, rtol=1e-5)
        slopes = fp.grad(lambda weights, x: fp.sum(layers(weights, x)))(weights, ramp(5, 3))
        np.testing.assert_allclose(np.asarray(slopes["b"][1]), [0, 15, 0], rtol=1e-5)
        np.testing.assert_allclose(np.asarray(slopes["w"][1]), 2 * _hidden(w, b).sum(axis=0)[:, None] + 0 * w[1], rtol=1e-5)
    first, *others = fp.fuse(lambda x: [row * 2 for row in x])(X)
    assert np.asarray([first, *others]).tolist() == (2 * X).tolist()


def _hidden(w: Any, b: Any) -> Any:
    return ramp(5, 3) @ w[0] * 2 + b[0][0]


@pytest.mark.parametrize(
    "name", daily(["all reversed", "transposed", "reshaped", "a third", "broadcast"], "a third", "broadcast")
)
def test_views_of_torchs_tensors_are_torchs_and_have_gradients(device: Any, name: str) -> None:
    torch = pytest.importorskip("torch")
    view = VIEWS[name]
    for way in (lambda x: view(fp, x), fp.fuse(lambda x: view(fp, x))):
        x = torch.from_numpy(X.copy()).requires_grad_()
        got = way(x)
        assert isinstance(got, torch.Tensor)
        assert isinstance(way(x.detach()), torch.Tensor)
        np.testing.assert_array_equal(got.detach().numpy(), view(np, X))
        got.sum().backward()
        places = np.bincount(view(np, np.arange(X.size).reshape(X.shape)).ravel(), minlength=X.size)
        np.testing.assert_array_equal(x.grad.numpy().ravel(), places)
