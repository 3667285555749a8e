"""`Tensor` as a container: making, views, copies, gradients, single elements; `NDBuffer` and cursors."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import fusepy as fp
from tests.support.examples import examples
from tests.support.slang_functions import F32, ramp, same

SOURCE = """
struct Pixel { float r; float g; float b; };
struct Ray { float3 position; float3 direction; int hits; };
struct Path { Ray ray; float weights[2]; bool done; };
float add(float a, float b) { return a + b; }
float3 tint(Pixel p, float3 c) { return float3(p.r, p.g, p.b) * c; }
int hits(Ray r) { return r.hits; }
"""
DTYPES = [np.bool_, np.float16, np.float32, np.float64, *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64))]


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "tensor_tests", SOURCE)


def arrays(dtypes: Any = DTYPES, max_dims: int = 4) -> st.SearchStrategy[Any]:
    return st.sampled_from(dtypes).flatmap(
        lambda d: hnp.arrays(d, hnp.array_shapes(min_dims=0, max_dims=max_dims, max_side=5, min_side=0), fill=st.nothing())
    )


# ---- views --------------------------------------------------------------------------------------------------------


@pytest.mark.req("T18")
@examples(80)
@given(data=st.data())
def test_any_index_sees_what_numpy_sees(device: Any, data: st.DataObject) -> None:
    array = data.draw(arrays())
    index = data.draw(hnp.basic_indices(array.shape, allow_newaxis=True, max_dims=6))
    t = fp.Tensor.from_numpy(device, array)
    same(t[index].to_numpy(), array[index])
    assert t[index].shape == array[index].shape


@pytest.mark.req("T18")
@examples(60)
@given(data=st.data())
def test_views_of_views_read_and_write_as_numpy_does(device: Any, data: st.DataObject) -> None:
    array = np.arange(120, dtype=data.draw(st.sampled_from([np.float16, np.float32, np.float64, np.uint8]))).reshape(2, 3, 4, 5)
    t, view = fp.Tensor.from_numpy(device, array), array.copy()
    kept = view
    for _ in range(data.draw(st.integers(1, 3))):
        step = data.draw(st.sampled_from(["index", "transpose"]))
        if step == "index":
            index = data.draw(hnp.basic_indices(view.shape, min_dims=1))
            seen, view = t[index], view[index]
        else:
            axes = data.draw(st.permutations(range(view.ndim)))
            seen, view = t.transpose(*axes) if axes else t.transpose(), view.transpose(axes)
        base, t = t, seen
        del base
    same(t.to_numpy(), view)
    fresh = (np.arange(view.size) + 100).astype(view.dtype).reshape(view.shape)
    view[...] = fresh
    t.copy_from_numpy(fresh)
    same(t.to_numpy(), view)
    assert np.shares_memory(view, kept) or not view.size


@pytest.mark.req("T18")
def test_transpose_broadcast_reshape(device: Any, m: Any) -> None:
    a = ramp(2, 3)
    t = fp.Tensor.from_numpy(device, a)
    same(t.T.to_numpy(), a.T)
    same(t.transpose(1, 0).to_numpy(), a.T)
    same(t.transpose((-1, 0)).to_numpy(), a.T)
    wide = t[:, None].broadcast_to(2, 4, 3)
    assert wide.strides == (3, 0, 1)
    same(wide.to_numpy(), np.broadcast_to(a[:, None], (2, 4, 3)))
    same(m.add(wide, 1).to_numpy(), np.broadcast_to(a[:, None], (2, 4, 3)) + 1)
    same(m.add(t.T, t.T).to_numpy(), a.T * 2)
    same(t.reshape(3, -1).to_numpy(), a.reshape(3, 2))
    same(t.reshape(()).to_numpy() if t.size == 1 else t.reshape(6).to_numpy(), a.reshape(6))
    same(t.T.contiguous().to_numpy(), a.T)
    assert t.T.contiguous().linear
    assert t.contiguous() is t


@pytest.mark.req("T18")
def test_flatten_dtype(device: Any, m: Any) -> None:
    a = ramp(4, 3)
    t = fp.Tensor.from_numpy(device, a, m.float3)
    assert t.flatten_dtype().shape == (4, 3)
    same(t.flatten_dtype().to_numpy(), a)
    same(t[::-2].flatten_dtype().to_numpy(), a[::-2])
    with pytest.raises(fp.UnsupportedArgumentError, match="Ray cannot be flattened"):
        fp.Tensor.zeros(device, 2, m.Ray).flatten_dtype()


@pytest.mark.req("T18")
@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda t: t[5], "axis 0"),
        (lambda t: t[0, 0, 0], "3 indices into 2 axes"),
        (lambda t: t[..., ...], "more than one ellipsis"),
        (lambda t: t[1.5], "cannot index"),
        (lambda t: t["x"], "cannot index"),
        (lambda t: t.transpose(0, 0), "each axis once"),
        (lambda t: t.broadcast_to(4, 4), "cannot broadcast"),
        (lambda t: t.broadcast_to(3), "cannot broadcast"),
        (lambda t: t.reshape(4, 2), "6 elements"),
        (lambda t: t.reshape(-1, -1), "6 elements"),
        (lambda t: t.reshape(-1, 4), "6 elements"),
        (lambda t: t.T.reshape(6), "contiguous"),
        (lambda t: t.item(), "not one number"),
        (lambda t: bool(t), "one number"),
        (lambda t: t.broadcast_to(2, 2, 3).copy_from_numpy(np.zeros((2, 2, 3), F32)), "repeats elements"),
        (lambda t: t.copy_from(t[:1]), "its own shape"),
    ],
)
def test_wrong_views_say_so(device: Any, wrong: Callable[[Any], Any], text: str) -> None:
    t = fp.Tensor.from_numpy(device, ramp(2, 3))
    with pytest.raises(ValueError, match=text) as caught:
        wrong(t)
    assert isinstance(caught.value, fp.ShapeError)
    assert caught.value.hint
    same(t.to_numpy(), ramp(2, 3))


# ---- contents -----------------------------------------------------------------------------------------------------


@pytest.mark.req("T18")
@examples(60)
@given(array=arrays())
def test_copies_of_any_view_are_contiguous_and_their_own(device: Any, array: Any) -> None:
    t = fp.Tensor.from_numpy(device, array)
    turned = t.T.copy()
    same(turned.to_numpy(), array.T)
    assert turned.linear
    t.clear()
    same(turned.to_numpy(), array.T)
    same(t.to_numpy(), np.zeros_like(array))


def test_making(device: Any, m: Any) -> None:
    same(fp.Tensor.zeros(device, (2, 2)).to_numpy(), np.zeros((2, 2), F32))
    same(fp.Tensor.full(device, 3, 7, "int").to_numpy(), np.full(3, 7, np.int32))
    same(fp.Tensor.full(device, 2, [1, 2, 3], m.float3).to_numpy(), np.array([[1, 2, 3]] * 2, F32))
    same(fp.Tensor.arange(device, 4).to_numpy(), np.arange(4, dtype=np.int32))
    assert fp.Tensor.empty(device, 0).to_numpy().shape == (0,)
    with pytest.raises(OverflowError):
        fp.Tensor.full(device, 1, 300, "uint8_t")


@pytest.mark.req("T23")
def test_making_without_a_device_is_on_the_default_device(device: Any) -> None:
    made: list[Any] = [
        fp.Tensor.zeros((2, 2)),  # pyright: ignore[reportCallIssue]
        fp.Tensor.full([2, 2], 3.0),  # pyright: ignore[reportCallIssue]
        fp.Tensor.from_numpy(np.ones((2, 2), F32), device=device),
        fp.Tensor.zeros(shape=(2, 2)),  # pyright: ignore[reportCallIssue]
    ]
    assert all(t.device is fp.default_device() or t.device is device for t in made)
    for tensor, number in zip(made, (0, 3, 1, 0)):
        same(tensor.to_numpy(), np.full((2, 2), number, F32))
    assert fp.Tensor.empty(3).shape == (3,)  # pyright: ignore[reportCallIssue]
    assert fp.Tensor.arange(3).tolist() == [0, 1, 2]  # pyright: ignore[reportCallIssue]
    with pytest.raises(fp.ArgumentError, match="not a device"):
        fp.Tensor.zeros("cpu", (2,))


def test_tensors_of_numbers_arrays_and_shapes(device: Any, m: Any) -> None:
    rows = [[1, 2, 3], [4, 5, 6]]
    array = np.arange(4, dtype=np.int64)
    made = [
        (fp.Tensor([1, 2, 3]), "float", [1, 2, 3]),
        (fp.Tensor(rows), "float", rows),
        (fp.Tensor(*rows), "float", rows),
        (fp.Tensor(*rows, dtype="float3", device=device), "float3", rows),
        (fp.Tensor(rows, dtype=int), "int", rows),
        (fp.Tensor([0.5, 1]), "float", [0.5, 1]),
        (fp.Tensor([True, False]), "bool", [True, False]),
        (fp.Tensor([1, 2, 3, 4], shape=(2, 2)), "float", [[1, 2], [3, 4]]),
        (fp.Tensor(array), "int64_t", array.tolist()),
        (fp.Tensor((2, 3)), "float", [[0] * 3] * 2),
        (fp.Tensor(shape=2, dtype="int2"), "int2", [[0, 0], [0, 0]]),
        (fp.Tensor(fp.Tensor(rows).shape, dtype="uint"), "uint", [[0] * 3] * 2),
        (fp.Tensor([]), "float", []),
    ]
    for tensor, dtype, numbers in made:
        assert (str(tensor.dtype), tensor.tolist(), tensor.linear) == (dtype, numbers, True)
    gradients = fp.Tensor(*rows, needs_grads=True)
    assert gradients.grad is not None
    assert gradients.grad.tolist() == [[0] * 3] * 2
    assert gradients[1].grad is not None
    shared = fp.Tensor(made[0][0], needs_grads=True)  # the same memory, with gradients
    shared.clear()
    assert made[0][0].tolist() == [0, 0, 0]


@pytest.mark.req("T23")
@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda: fp.Tensor(), fp.ArgumentError),
        (lambda: fp.Tensor(5), fp.ArgumentError),
        (lambda: fp.Tensor("12"), fp.ArgumentError),
        (lambda: fp.Tensor((1.5, 2)), fp.ArgumentError),
        (lambda: fp.Tensor([1, 2], (3, 4)), fp.ArgumentError),
        (lambda: fp.Tensor((2,), shape=(2,)), fp.ArgumentError),
        (lambda: fp.Tensor([1, 2], [3]), fp.ShapeError),
        (lambda: fp.Tensor((-1, 2)), fp.ShapeError),
        (lambda: fp.Tensor([1, 2], dtype="float3"), fp.ShapeError),
        (lambda: fp.Tensor([1.5], dtype=int), fp.ArgumentError),
        (lambda: fp.Tensor([300], dtype="uint8_t"), fp.RangeError),
        (lambda: fp.Tensor(["a"]), fp.UnsupportedArgumentError),
        (lambda: fp.Tensor([1], dtype=int, needs_grads=True), fp.GradientError),
    ],
)
def test_what_is_no_contents_of_a_tensor(wrong: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="hint"):
        wrong()


def test_names_of_elements_are_slangs_where_slang_has_them(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(np.sctypeDict, "int4", np.int8)  # as ml_dtypes does
    for name, shape, dtype in (("int4", (4,), np.int32), ("float", (), F32), ("float32", (), F32), ("int8", (), np.int8)):
        found = fp.Tensor.zeros(device, 2, name).to_numpy()
        assert (found.shape, found.dtype) == ((2, *shape), dtype)


def test_copying_between_tensors_stays_on_the_device(device: Any, m: Any) -> None:
    rays = np.zeros(4, m.Ray.dtype)
    rays["hits"] = range(4)
    source = fp.Tensor.from_numpy(device, rays, m.Ray)
    target = fp.Tensor.zeros(device, 4, m.Ray)
    target[::-1].copy_from(source)
    same(m.hits(target).to_numpy(), np.array([3, 2, 1, 0], np.int32))
    with pytest.raises(ValueError, match="overlaps"):
        source[1:].copy_from(source[:-1])
    halves = fp.Tensor.from_numpy(device, np.arange(7, dtype=np.float16))
    same(halves[1::2].copy().to_numpy(), np.arange(7, dtype=np.float16)[1::2])


def test_single_elements_are_numbers(device: Any, m: Any) -> None:
    t = fp.Tensor.from_numpy(device, ramp(2, 2, start=1))
    assert (float(t[0, 0]), int(t[0, 1]), bool(t[1, 1]), t[1, 0].item()) == (1.0, 1, True, 1.5)
    assert fp.Tensor.full(device, (), [1, 2, 3], m.float3).item() == [1.0, 2.0, 3.0]
    assert t.tolist() == [[1.0, 1.25], [1.5, 1.75]]
    assert [r.tolist() for r in t] == t.tolist()
    assert len(t) == 2
    assert "float[2, 2]" in repr(t)


def test_pickling_is_refused_and_copying_copies(device: Any) -> None:
    t = fp.Tensor.from_numpy(device, ramp(3))
    with pytest.raises(TypeError, match="cannot be pickled") as caught:
        pickle.dumps(t)
    assert isinstance(caught.value, fp.ArgumentError)
    for made in (copy.copy(t), copy.deepcopy(t), copy.deepcopy([t])[0]):
        same(made.to_numpy(), ramp(3))
        assert made.address != t.address


# ---- gradients ----------------------------------------------------------------------------------------------------


@pytest.mark.req("T18")
def test_gradients_lie_beside_a_tensor_and_follow_its_views(device: Any, m: Any) -> None:
    t = fp.Tensor.from_numpy(device, ramp(3, 4))
    assert t.grad is None
    x = t.with_grads()
    assert x.address == t.address
    same(x.grad.to_numpy(), np.zeros((3, 4), F32))
    assert x.grad_in is x.grad_out is x.grad
    x.grad.copy_from_numpy(ramp(3, 4, start=5))
    same(x[1:, ::2].grad.to_numpy(), ramp(3, 4, start=5)[1:, ::2])
    same(x.T.grad.to_numpy(), ramp(3, 4, start=5).T)
    same(x.reshape(12).grad.to_numpy(), ramp(12, start=5))
    seed = fp.Tensor.full(device, (3, 4), 2.0)
    y = t.with_grads(seed)
    assert (y.grad_in, y.grad_out, y.grad) == (seed, None, seed)
    assert y.detach().grad is None
    assert "gradients" in repr(y)
    same(m.add(x, y).to_numpy(), ramp(3, 4) * 2)  # a plain parameter takes the value


@pytest.mark.req("T18")
def test_gradients_must_fit(device: Any, m: Any) -> None:
    t = fp.Tensor.zeros(device, 3)
    with pytest.raises(ValueError, match="grad_in does not fit"):
        t.with_grads(fp.Tensor.zeros(device, 4))
    with pytest.raises(ValueError, match="grad_out does not fit"):
        t.with_grads(grad_out=fp.Tensor.zeros(device, 3, "half"))
    with pytest.raises(fp.GradientError, match="int has no derivative"):
        fp.Tensor.zeros(device, 3, "int").with_grads()
    with pytest.raises(fp.GradientError, match="Ray has no derivative"):
        fp.Tensor.zeros(device, 3, m.Ray).with_grads()


# ---- NDBuffer and cursors -------------------------------------------------------------------------------------------


@pytest.mark.req("T15", "T17")
@pytest.mark.parametrize("kind", [fp.NDBuffer, fp.NDDifferentiableBuffer])
def test_buffers_are_arguments_as_tensors_are(m: Any, device: Any, kind: Any) -> None:
    x = np.arange(1, 4, dtype=F32)
    b, target = kind(device, shape=(3,)), kind(device, shape=(3,))
    b.from_numpy(x)
    same(m.add(b, 1.0).to_numpy(), x + 1)
    same(m.add(fp.vmap(b, (0,)), b[::-1]).to_numpy(), x + x[::-1])
    assert m.add(b, b, _result=target) is target
    same(target.to_numpy(), 2 * x)
    same(fp.fuse(lambda v: m.add(v, fp.sum(v)))(b).to_numpy(), x + 6)
    with fp.lazy():
        later = m.add(m.add(b, 1.0), b)
    same(later.to_numpy(), 2 * x + 1)
    g = fp.Graph(inputs=["v"])
    g.set_outputs(m.add.node()(*g.get_inputs(), 2.0))
    same(g(b).to_numpy(), x + 2)


@pytest.mark.req("T15")
def test_ndbuffer_as_the_proposal_writes_it(device: Any, m: Any) -> None:
    image = fp.NDBuffer(device, dtype=m.Pixel, shape=(4, 4))
    same(image.to_numpy()["r"], np.zeros((4, 4), F32))
    numbers = 0.1 * np.arange(4 * 4 * 3).astype(np.float32)
    image.from_numpy(numbers)
    same(m.tint(image, [1.0, 2.0, 3.0]).to_numpy(), (numbers.reshape(4, 4, 3) * np.array([1, 2, 3], F32)))
    a, b = fp.NDBuffer(device, shape=(16,)), fp.NDBuffer(device, element_count=16)
    a.from_numpy(np.arange(16.0))  # float64, as numpy.random gives it: the buffer says what it holds
    b.from_numpy(np.arange(16))
    result = m.add(a, b)
    same(result.to_numpy(), 2 * np.arange(16, dtype=F32))
    m.add(a, b, _result=b)
    same(b.to_numpy(), 2 * np.arange(16, dtype=F32))
    assert isinstance(a, fp.Tensor)
    assert "float[16]" in repr(a)
    same(m.add.return_type(fp.NDBuffer)(np.ones(2, F32), 1).to_numpy(), np.full(2, 2, F32))


@pytest.mark.req("T15")
@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        (lambda d, m: fp.NDBuffer(d), fp.ArgumentError, "needs a shape"),
        (lambda d, m: fp.NDBuffer(d, shape=(4,)).from_numpy(np.zeros(5)), fp.ShapeError, "does not fill"),
        (lambda d, m: fp.NDBuffer(d, "int", 4).from_numpy(np.zeros(4)), fp.UnsupportedArgumentError, "float64"),
        (lambda d, m: fp.NDBuffer(d, m.Ray, 4).from_numpy(np.zeros(28)), fp.UnsupportedArgumentError, "Ray"),
        (lambda d, m: fp.NDBuffer(np.zeros(3, F32), shape=3), fp.ArgumentError, "shape from the array"),
        (lambda d, m: fp.NDBuffer(d, shape=(-1,)), fp.ShapeError, "negative"),
        (lambda d, m: fp.NDBuffer("cpu", shape=3), fp.ArgumentError, "not a device"),
        (lambda d, m: fp.NDDifferentiableBuffer(d, "int", 3), fp.GradientError, "int"),
    ],
)
def test_ndbuffer_says_what_is_wrong(device: Any, m: Any, wrong: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        wrong(device, m)
    assert caught.value.hint  # type: ignore[attr-defined]


@pytest.mark.req("T15")
def test_a_cursor_reads_and_writes_structs(device: Any, m: Any) -> None:
    buffer = fp.NDBuffer(device, dtype=m.Path, shape=(2, 2))
    cursor = buffer.cursor()
    assert (len(cursor), cursor.element_count, cursor.is_loaded) == (4, 4, False)
    assert cursor.element_size * 4 == cursor.size == buffer.element.nbytes * 4
    cursor[1].ray.position = [1, 2, 3]
    cursor[1].ray.direction[2] = 5
    cursor[1]["done"] = True
    cursor[2].weights[1] = 0.5
    cursor[-1] = {
        "ray": {"position": [7, 8, 9], "direction": (0, 0, 1), "hits": 3},
        "weights": [1, 2],
        "done": False,
    }
    same(buffer.to_numpy()["ray"]["hits"], np.zeros((2, 2), np.int32))  # nothing is written before apply
    cursor.apply()
    seen = buffer.to_numpy()
    same(seen["ray"]["position"][0, 1], np.array([1, 2, 3], F32))
    assert seen["ray"]["direction"][0, 1, 2] == 5
    assert seen["weights"][1, 0, 1] == 0.5
    assert seen["ray"]["hits"][1, 1] == 3
    read = buffer.cursor()[3].read()
    assert read["ray"] == {"position": [7, 8, 9], "direction": [0, 0, 1], "hits": 3}
    assert read["weights"] == [1, 2]
    assert buffer.cursor(1, 1)[0].ray.position.read() == [1, 2, 3]
    assert [bool(e.done.read()) for e in buffer.cursor()] == [False, True, False, False]
    assert cursor[1].has_field("ray")
    assert not cursor[1].has_field("rays")
    assert cursor[1].ray.position.has_element(2)
    assert "position" in dir(cursor[0].ray)
    assert "hits" in repr(cursor[0])
    vectors = fp.Tensor.from_numpy(device, ramp(3, 3), m.float3)[::-1]
    words = vectors.cursor()
    words[0].write([1, 1, 1])
    words[1][2] = 9
    words.apply()
    same(vectors.to_numpy(), np.array([[1, 1, 1], [0.75, 1, 9], [0, 0.25, 0.5]], F32))


@pytest.mark.req("T15")
@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        (lambda c: c[4], fp.ShapeError, r"cursor\[4\]"),
        (lambda c: c[0].rays, fp.UnknownNameError, "no field 'rays'"),
        (lambda c: setattr(c[0].ray, "positon", 1), fp.UnknownNameError, "position"),
        (lambda c: c[0].ray.position[3], fp.ShapeError, r"ray.position\[3\]"),
        (lambda c: setattr(c[0].ray, "position", [1, 2]), fp.ShapeError, "ray.position holds"),
        (lambda c: setattr(c[0].ray, "hits", 1.5), fp.UnsupportedArgumentError, "ray.hits"),
        (lambda c: setattr(c[0].ray, "hits", 1 << 40), fp.RangeError, "ray.hits"),
        (lambda c: setattr(c[0].ray, "hits", "many"), fp.UnsupportedArgumentError, "ray.hits"),
        (lambda c: c[0].write({"ray": {}}), fp.UnsupportedArgumentError, "misses weights"),
        (lambda c: c[0].write({"ray": 1, "weigths": 2}), fp.UnknownNameError, "weights"),
        (lambda c: c[0].write(3), fp.UnsupportedArgumentError, "is a struct"),
    ],
)
def test_a_cursor_names_the_path(device: Any, m: Any, wrong: Any, error: type[Exception], text: str) -> None:
    buffer = fp.NDBuffer(device, dtype=m.Path, shape=4)
    with pytest.raises(error, match=text) as caught:
        wrong(buffer.cursor())
    assert caught.value.hint  # type: ignore[attr-defined]


def test_a_cursor_stays_within(device: Any, m: Any) -> None:
    with pytest.raises(fp.ShapeError, match="exceeds its tensor"):
        fp.NDBuffer(device, shape=4).cursor(3, 2)


def test_a_number_is_formatted_and_rounded_as_python_does(device: Any) -> None:
    t = fp.Tensor.from_numpy(device, np.float32([[0.25, 1, 2], [3, 4, 5]]))
    with fp.lazy():
        later = fp.mean(t)
    assert (f"{fp.mean(t):.2f}", f"{later:+.1f}", f"{fp.argmax(t):d}", round(t[0, 0], 1), round(t[1, 2])) == (
        "2.54",
        "+2.5",
        "5",
        0.2,
        5,
    )
    assert f"{t}" == str(t)
    for wrong in (lambda: f"{t:.2f}", lambda: round(t)):
        with pytest.raises(fp.ShapeError, match="not one number"):
            wrong()
    for index in (2, -3, (0, 3)):
        with pytest.raises(IndexError, match="index"):
            t[index]
