"""Methods of tensors, lazy tensors, traced and graph values; fields of tensors of structs; NumPy's own functions of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.methods import METHODS
from tests.support.selection import daily

X = np.float32([[1, 2.25, 3], [4, 5, 6.75]])
CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    **dict.fromkeys(("sum", "mean", "prod", "max", "min", "argmax", "argmin", "std", "var"), ((), {"axis": 1})),
    **dict.fromkeys(("any", "all"), ((0,), {"keepdims": True})),
    **dict.fromkeys(("cumsum", "cumprod"), ((1,), {})),
    "astype": ((np.int32,), {}),
    "clip": ((2, 5), {}),
    **dict.fromkeys(("argsort", "flatten", "ravel", "squeeze"), ((), {})),
    "repeat": ((2,), {"axis": 1}),
    "swapaxes": ((0, 1), {}),
    "take": (([2, 0],), {"axis": 1}),
    "dot": ((np.float32([1, 2, 3]),), {}),
    "round": ((1,), {}),
}
SOURCE = """
struct Ray { float3 position; float sum; float3 dir; bool hit; float reach() { return 2 * sum; } };
struct Two { Ray ray; float mean; };
Ray ray(float3 p, float s) { Ray r; r.position = p; r.sum = s; r.dir = 2 * p; r.hit = s > 1; return r; }
Two two(float x) { Two t; t.ray = ray(float3(x), x); t.mean = x; return t; }
"""


@pytest.fixture(scope="module")
def rays(device: Any) -> tuple[Any, Any]:
    m = fp.Module.load_from_source(device, "rays", SOURCE)
    places = np.arange(12, dtype=np.float32).reshape(4, 3)
    return m, m.ray(places, np.arange(4, dtype=np.float32), _result="tensor")


def called(value: Any, name: str) -> Any:
    args, kwargs = CALLS[name]
    return getattr(value, name)(*args, **kwargs)


def same(found: Any, wanted: Any, name: str) -> None:
    assert isinstance(found, fp.Tensor)
    assert found.numpy().dtype.kind == np.asarray(wanted).dtype.kind, name
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6, err_msg=name)


def test_every_method_on_traced_values(device: Any) -> None:
    assert set(CALLS) == METHODS
    fused = fp.fuse(lambda x: [called(x, n) for n in CALLS])(fp.Tensor(X))
    for name, found in zip(CALLS, fused, strict=True):
        same(found, called(X, name), name)


@pytest.mark.parametrize("name", daily(CALLS, "sum", "std", "any", "cumsum", "astype", "clip", "argsort", "take", "swapaxes"))
def test_every_method_on_tensors_and_lazy_tensors(device: Any, name: str) -> None:
    same(called(fp.Tensor(X), name), called(X, name), name)
    with fp.lazy():
        lazy = called(fp.Tensor(X) * 2, name)
    np.testing.assert_allclose(lazy.numpy(), called(2 * X, name), rtol=1e-6)


def test_methods_of_values_of_a_graph(device: Any) -> None:
    g = fp.Graph(inputs=["x"])
    (x,) = g.get_inputs()
    g.set_outputs((x * 2).sum(axis=0).round(), x.max())
    total, most = g(X)
    np.testing.assert_array_equal(total, np.round((2 * X).sum(0)))
    assert most == X.max()


def test_a_member_of_the_slang_type_goes_first(rays: Any) -> None:
    _, tensor = rays
    found = fp.fuse(lambda r: (r.sum, r.reach(), r.position.sum(axis=0), fp.vcast(r.sum, "half").max()))(tensor)
    assert [f.tolist() for f in found] == [[0, 1, 2, 3], [0, 2, 4, 6], [18, 22, 26], 3]
    with pytest.raises(fp.TraceError, match="max"):
        fp.fuse(lambda r: r.max())(tensor)


def test_fields_are_views(rays: Any) -> None:
    m, tensor = rays
    whole = tensor.numpy()
    assert tensor.position.address == tensor.address
    for name in ("position", "dir"):
        np.testing.assert_array_equal(getattr(tensor, name).numpy(), whole[name])
        np.testing.assert_array_equal(getattr(tensor[1::2], name).y.numpy(), whole[name][1::2, 1])
    np.testing.assert_array_equal(tensor["sum"].numpy(), whole["sum"])
    assert (tensor.hit > 0).tolist() == [False, False, True, True]
    assert (tensor.position + 1).tolist() == (whole["position"] + 1).tolist()
    copy = tensor.copy()
    copy.position[1] = 7
    copy["sum"][...] = 9
    assert copy.numpy()["position"][1].tolist() == [7, 7, 7]
    assert copy.numpy()["sum"].tolist() == [9] * 4
    assert copy.dir.tolist() == tensor.dir.tolist()
    back = m.ray(copy.position, copy["sum"], _result="tensor")
    assert back.position.tolist() == copy.position.tolist()
    with fp.lazy():
        later = m.ray(copy.position, 2.0, _result="tensor")
        assert later.dir.tolist() == (2 * copy.numpy()["position"]).tolist()


def test_fields_that_cannot_be_viewed_or_are_not_there(rays: Any) -> None:
    m, tensor = rays
    pairs = m.two(fp.Tensor([1.0, 2.0]))
    assert pairs["mean"].tolist() == [1, 2]
    with pytest.raises(fp.UnsupportedArgumentError, match="the field ray cannot be viewed") as raised:
        _ = pairs.ray
    assert "fp.fuse(lambda t: t.ray)(t)" in raised.value.hint
    assert fp.fuse(lambda t: t.ray)(pairs).position.tolist() == [[1, 1, 1], [2, 2, 2]]
    with pytest.raises(fp.UnknownNameError, match="Ray has no field 'positio'") as raised:
        _ = tensor.positio
    assert raised.value.hint == "did you mean 'position'?"
    assert not hasattr(fp.Tensor([1.0]), "position")


@pytest.mark.parametrize(
    "write",
    [
        lambda t: np.add.at(t, [0], 1),
        lambda t: np.copyto(t, 0),
        lambda t: np.copyto(dst=t, src=np.zeros((2, 3))),
        lambda t: np.fill_diagonal(t, 9),
        lambda t: np.put(t, [0], 7),
        lambda t: np.place(t, np.ones((2, 3), bool), [1]),
        lambda t: np.putmask(t, np.ones((2, 3), bool), 0),
        lambda t: np.put_along_axis(t, np.zeros((2, 1), int), 9.0, 1),
    ],
)
def test_numpys_functions_that_write_refuse_tensors(device: Any, write: Any) -> None:
    """They wrote to a copy on the host, which was gone then."""
    t = fp.Tensor.from_numpy(device, np.ones((2, 3), np.float32))
    with pytest.raises(fp.ArgumentError, match="cannot write to a tensor"):
        write(t)
    array = np.zeros((2, 3), np.float32)
    np.copyto(array, t)  # reads it
    assert array.all()


def test_numpys_functions_give_tensors(device: Any) -> None:
    t = fp.Tensor(X)
    for found, wanted in (
        (np.sum(t), X.sum()),
        (np.mean(t, axis=1), X.mean(1)),
        (np.std(t, 0, keepdims=True), X.std(0, keepdims=True)),
        (np.where(t > 2, t, 0), np.where(X > 2, X, 0)),
        (np.clip(t, 2, 5), np.clip(X, 2, 5)),
        (np.round(t, 1), np.round(X, 1)),
        (np.add(t, 1), X + 1),
        (np.log1p(t), np.log1p(X)),
        (np.hypot(t, np.float32(3)), np.hypot(X, 3)),
        (np.isfinite(t), np.isfinite(X)),
        (np.cumsum(t, axis=1), X.cumsum(1)),
        (np.linalg.norm(t, axis=1), np.linalg.norm(X, axis=1)),
        (np.tril(t), np.tril(X)),
        (np.median(t), np.median(X)),
    ):
        assert isinstance(found, fp.Tensor)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6)
    program = fp.fuse(lambda x: (np.sum(x, axis=0), np.log1p(x), np.where(x > 2, x, 0), np.clip(x, 2, 5), np.hypot(x, 3)))
    for found, wanted in zip(program(X), (X.sum(0), np.log1p(X), np.where(X > 2, X, 0), X.clip(2, 5), np.hypot(X, 3))):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    np.testing.assert_array_equal(fp.fuse(lambda x: x + np.max(t))(X), X + X.max())


def test_what_fusepy_does_not_have_is_numpys_of_a_copy_and_an_error_in_a_trace(device: Any) -> None:
    t = fp.Tensor(X)
    assert isinstance(np.asarray(t), np.ndarray)
    for found in (np.i0(t), np.sum(t, initial=2.0), np.unwrap(t, axis=1), np.add.reduce(t)):
        assert not isinstance(found, fp.Tensor)
    np.testing.assert_array_equal(np.sort(t, axis=1).numpy(), X)
    np.testing.assert_array_equal(np.vstack([t, X]), np.vstack([X, X]))
    with pytest.raises(fp.ArgumentError, match="cannot write to a tensor"):
        np.sum(X, axis=0, out=fp.Tensor([0.0, 0.0, 0.0]))
    with pytest.raises(fp.TraceError, match=r"numpy\.nancumsum"):
        fp.fuse(lambda x: np.nancumsum(x))(X)
    with pytest.raises(fp.TraceError, match=r"numpy\.sum") as raised:
        fp.fuse(lambda x: np.sum(x, initial=2.0))(X)
    assert raised.value.hint == "use fusepy.sum, and only the arguments that it has"
    with pytest.raises(fp.TraceError, match=r"numpy\.nancumsum"):
        fp.fuse(lambda x: x + np.nancumsum(t))(X)


OF_VECTORS: dict[str, Any] = {
    "sum": np.sum,
    "mean of rows": lambda x: np.mean(x, axis=-1),
    "max of columns": lambda x: np.max(x, axis=0),
    "scan": np.cumsum,
    "scan of columns": lambda x: np.cumsum(x, 0),
    "sorted": lambda x: np.sort(x, axis=1),
    "joined": lambda x: np.stack([x, x], axis=-1),
    "norm": np.linalg.norm,
    "close": lambda x: np.allclose(x, V),
    "extents": np.shape,
    "chosen": lambda x: np.where(x > 2, x, 0),
}
V = np.float32([[1, 5, 2.5], [4, -3, 6], [0, 8, 7], [2, 1, 3]])


@pytest.mark.parametrize("name", OF_VECTORS)
def test_to_numpys_functions_components_are_axes(rays: Any, name: str) -> None:
    """In every mode. Call by call they were, in fused functions and graphs vectors were elements: other numbers, silently."""
    m = rays[0]
    vectors = m.ray(fp.Tensor(V), 1.0).position.copy()
    assert vectors.dtype == m.float3
    function, wanted = OF_VECTORS[name], OF_VECTORS[name](V)
    g = fp.Graph(inputs=["x"])
    (x,) = g.get_inputs()
    g.set_outputs(function(x))
    with fp.lazy():
        late = function(vectors)
    found = {"eager": function(vectors), "fused": fp.fuse(lambda x: function(x))(vectors), "lazy": late, "graph": g(vectors)}
    for way, made in found.items():
        np.testing.assert_allclose(np.asarray(made), wanted, rtol=1e-6, err_msg=way)
        assert type(made) is type(found["eager"]) or way == "lazy"
    assert fp.sum(vectors).tolist() == vectors.sum().tolist() == V.sum(0).tolist()  # to fusepy's they are elements
