"""Sharing memory: DLPack both ways, NumPy, and slangpy's own tensors as arguments and results."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
import slangpy as spy
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from tests.support.examples import examples
from tests.support.slang_functions import F32, ramp, same

SOURCE = """
float add(float a, float b) { return a + b; }
float3 tint(float3 c, float k) { return c * k; }
void decay(inout float x) { x *= 0.5; }
void parts(float x, out float whole, out float rest) { whole = floor(x); rest = x - whole; }
float pairs(DifferentialPair<float> x) { return x.p + 10 * x.d; }
struct Ray { float3 position; float3 direction; };
float3 at(Ray r, float t) { return r.position + t * r.direction; }
Ray ray(float3 p, float3 d) { Ray r; r.position = p; r.direction = d; return r; }
"""


@pytest.fixture(scope="module")
def own() -> Any:
    """A device of its own: sharing turns deferred submission off."""
    device = fp.init_device()
    yield device
    device.close()


@pytest.fixture(scope="module")
def m(own: Any) -> Any:
    return fp.Module.load_from_source(own, "sharing", SOURCE)


@pytest.fixture
def shared(own: Any) -> None:
    if not own.transfer.host_addressable:
        pytest.skip("the host does not reach the memory of this device")


# ---- DLPack -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("shared")
@examples(40)
@given(data=st.data())
def test_tensors_are_seen_by_dlpack_where_they_lie(own: Any, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from([np.float16, np.float32, np.float64, np.int8, np.uint16, np.int32, np.uint64]))
    shape = tuple(data.draw(st.lists(st.integers(1, 4), max_size=3)))
    t = fp.Tensor.from_numpy(own, np.arange(np.prod(shape, dtype=int)).astype(dtype).reshape(shape))
    if data.draw(st.booleans()):
        t = t.T
    seen = np.from_dlpack(t)
    same(seen, t.to_numpy())
    t.clear()
    own.wait()
    same(seen, np.zeros(t.shape, dtype))
    assert seen.__array_interface__["data"][0] == t.address


@pytest.mark.usefixtures("shared")
def test_a_capsule_keeps_the_memory(own: Any) -> None:
    t = fp.Tensor.from_numpy(own, ramp(1000))
    address = t.address
    seen, unused = np.from_dlpack(t), t.__dlpack__()
    del t, unused
    gc.collect(1)
    others = [fp.Tensor.full(own, 1000, -1.0) for _ in range(20)]
    assert address not in [o.address for o in others]
    same(seen, ramp(1000))
    del seen
    gc.collect(1)
    assert address in [o.address for o in (*others, *(fp.Tensor.empty(own, 1000) for _ in range(20)))]


@pytest.mark.usefixtures("shared")
def test_vectors_and_what_cannot_be_shared(own: Any, m: Any) -> None:
    v = fp.Tensor.from_numpy(own, ramp(4, 3), m.float3)
    same(np.from_dlpack(v), ramp(4, 3))
    same(np.from_dlpack(v[::-1]), ramp(4, 3)[::-1])
    same(np.asarray(v), ramp(4, 3))
    assert v.__dlpack_device__() == (1, 0)
    for t, text in ((fp.Tensor.zeros(own, 2, m.Ray), "Ray"), (fp.Tensor.zeros(own, 2, "bool"), "bool")):
        with pytest.raises(BufferError, match=text) as caught:
            np.from_dlpack(t)
        assert isinstance(caught.value, fp.ExportError)
    same(np.array(fp.Tensor.zeros(own, 2, "bool")), np.zeros(2, bool))
    copied = np.from_dlpack(v, copy=True) if np.lib.NumpyVersion(np.__version__) >= "2.1.0" else v.to_numpy()
    v.clear()
    same(copied, ramp(4, 3))
    with pytest.raises(BufferError, match="cannot be moved"):
        v.__dlpack__(dl_device=(2, 0))
    with pytest.raises(AttributeError):
        v.__cuda_array_interface__  # noqa: B018
    assert not hasattr(v, "__cuda_array_interface__")


@pytest.mark.usefixtures("shared")
@examples(40)
@given(data=st.data())
def test_memory_of_others_becomes_a_tensor(own: Any, m: Any, data: st.DataObject) -> None:
    array = ramp(*data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)), start=1)
    array = data.draw(st.sampled_from([array, array[::-1], array.T, array[..., ::2]]))
    t = fp.Tensor.from_dlpack(own, array)
    same(t.to_numpy(), array)
    array[...] = 3
    same(m.add(t, 1).to_numpy(), array + 1)
    m.add(t, 4, _result=t)
    own.wait()
    same(array, np.full(array.shape, 7, F32))
    t.copy_from_numpy(np.zeros(array.shape, F32))
    own.wait()
    same(array, np.zeros(array.shape, F32))
    del t


@pytest.mark.usefixtures("shared")
def test_foreign_memory_outlives_the_kernels_that_read_it(own: Any, m: Any) -> None:
    class Owner:
        """An exporter whose memory can be watched."""

        def __init__(self, array: Any):
            self.array = array

        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.array.__dlpack_device__()

    results = []
    for i in range(50):
        results.append(m.add(fp.Tensor.from_dlpack(own, Owner(np.full(100_000, i, F32))), 1))
    for i, r in enumerate(results):
        assert r.to_numpy()[-1] == i + 1
    own.wait()
    assert not own.retired
    same(m.add(Owner(ramp(3)), 1), ramp(3) + 1)  # as an argument, it is an array of the host


@pytest.mark.usefixtures("shared")
def test_shared_memory_has_no_buffer(own: Any) -> None:
    t = fp.Tensor.from_dlpack(own, ramp(3))
    with pytest.raises(fp.ExportError, match="no buffer"):
        t.buffer  # noqa: B018
    assert t.copy().buffer.size > 0
    frozen = ramp(3)
    frozen.flags.writeable = False
    copied = fp.Tensor.from_dlpack(own, frozen)  # what must not be written is copied
    copied.clear()
    same(frozen, ramp(3))
    with pytest.raises(TypeError, match="no __dlpack__"):
        fp.Tensor.from_dlpack(own, [1.0])


@pytest.mark.usefixtures("shared")
def test_shared_memory_as_a_whole_array(own: Any) -> None:
    whole = fp.Module.load_from_source(own, "sharing_whole", "import fusepy; float at(int i, Tensor<float,1> t) { return t[i]; }")
    array = ramp(5)
    same(whole.at(fp.grid((5,)), fp.Tensor.from_dlpack(own, array)).to_numpy(), array)


@pytest.mark.rest  # Slang parses slangpy's library for a device of its own
@pytest.mark.usefixtures("shared")
def test_shared_memory_as_an_array_of_slangpy(own: Any) -> None:
    theirs = fp.Module.load_from_source(
        own, "sharing_theirs", "import slangpy; float at(int i, Tensor<float,1> t) { return t[i]; }"
    )
    t = fp.Tensor.from_dlpack(own, array := ramp(5))
    with pytest.raises(fp.ExportError, match="no buffer"):
        theirs.at(fp.grid((5,)), t)  # slangpy's arrays are bound as buffers
    same(theirs.at(fp.grid((5,)), t.copy()).to_numpy(), array)


@pytest.mark.usefixtures("shared")
def test_shared_memory_as_a_structured_buffer(own: Any) -> None:
    m = fp.Module.load_from_source(
        own, "sharing_buffers", "float at(StructuredBuffer<float> values, int i) { return values[i]; }"
    )
    t = fp.Tensor.from_dlpack(own, ramp(5))
    with pytest.raises(fp.ExportError, match="no buffer"):
        m.at(t, np.arange(5, dtype=np.int32))
    same(m.at(t.copy(), np.arange(5, dtype=np.int32)), ramp(5))


@pytest.mark.req("T16")
@pytest.mark.usefixtures("shared")
def test_an_ndbuffer_over_an_array(own: Any, m: Any) -> None:
    array = ramp(2, 6)
    b = fp.NDBuffer(array, on=own)
    array[0, 0] = 9
    same(b.to_numpy(), array)
    b.from_numpy(np.zeros(12))
    same(array, np.zeros((2, 6), F32))
    v = fp.NDBuffer(array.reshape(2, 2, 3), dtype=m.float3, on=own)
    assert (v.shape, str(v.dtype)) == ((2, 2), "float3")


def test_the_device_stays_right_when_it_no_longer_defers(own: Any, m: Any) -> None:
    t = fp.Tensor.full(own, 64, 1.0)
    for _ in range(100):
        t = m.add(t, 1.0)
    same(t.to_numpy(), np.full(64, 101, F32))


# ---- slangpy's tensors ----------------------------------------------------------------------------------------------


def slangpy(device: Any, array: Any, dtype: str = "float") -> Any:
    made = spy.Tensor.empty(device.sgl, array.shape if dtype == "float" else array.shape[:-1], dtype)
    made.copy_from_numpy(np.ascontiguousarray(array))
    return made


@pytest.mark.req("C13")
@examples(50)
@given(data=st.data())
def test_slangpy_tensors_are_read_where_they_lie(own: Any, m: Any, data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    array = ramp(*shape)
    t, view = slangpy(own, array), array
    if data.draw(st.booleans()):
        t, view = t[0], view[0]
    if data.draw(st.booleans()):
        t, view = t.broadcast_to((2, *view.shape)), np.broadcast_to(view, (2, *view.shape))
    other = data.draw(st.sampled_from([1.0, np.float32(2)]))
    found = m.add(t, other)
    assert isinstance(found, spy.Tensor)
    same(found.to_numpy().reshape(view.shape), np.asarray(view + F32(other)))  # slangpy reads a 0-d tensor as (1,)


@pytest.mark.req("C13", "F14")
def test_slangpy_results_and_destinations(own: Any, m: Any) -> None:
    a = ramp(4, 3)
    t = slangpy(own, a)
    out = slangpy(own, np.zeros_like(a))
    assert m.add(t, t, _result=out) is out
    same(out.to_numpy(), 2 * a)
    found = m.tint(slangpy(own, a, "float3"), 2.0)
    assert (found.dtype.full_name, found.shape.as_tuple()) == ("vector<float,3>", (4,))
    same(found.to_numpy(), 2 * a)
    m.decay(t)
    same(t.to_numpy(), a / 2)
    whole = slangpy(own, np.zeros(4, F32))
    rest = np.zeros(4, F32)
    m.parts(np.array([1.5, 2.5, 0, -1.5], F32), whole, rest)
    same(whole.to_numpy(), np.array([1, 2, 0, -2], F32))
    assert isinstance(m.add.return_type("slangpy")(a, 1), spy.Tensor)
    assert isinstance(m.add(a, 1, _result=spy.Tensor), spy.Tensor)
    assert isinstance(m.add(t, fp.Tensor.from_numpy(own, a)), fp.Tensor)
    same(m.add(t, 1, _result="numpy"), a / 2 + 1)
    fused = fp.fuse(lambda x: m.add(m.add(x, 1), x))
    same(fused(t).to_numpy(), a + 1)


def test_work_of_both_runs_in_the_order_it_was_called(own: Any, m: Any) -> None:
    t = slangpy(own, np.zeros(4096, F32))
    for i in range(20):
        m.add(t, 1.0, _result=t)
        same(t.to_numpy()[:4], np.full(4, 2 * i + 1, F32))
        t.copy_from_numpy(t.to_numpy() + 1)
    mine = m.add(t, 0.0, _result="tensor")
    t.clear()
    same(mine.to_numpy(), np.full(4096, 40, F32))


def test_slangpy_tensors_keep_their_memory(own: Any, m: Any) -> None:
    found = m.add(slangpy(own, ramp(1000)), 1.0)
    kept = m.add(found, 0.0, _result="tensor")
    del found
    gc.collect(1)
    others = [fp.Tensor.full(own, 1000, -1.0) for _ in range(10)]
    same(kept.to_numpy(), ramp(1000) + 1)
    del others


@pytest.mark.req("T17")
def test_slangpy_gradients_make_pairs(own: Any, m: Any) -> None:
    t = slangpy(own, ramp(3)).with_grads()
    t.grad_in.copy_from_numpy(ramp(3, start=1))
    same(m.pairs(t).to_numpy(), ramp(3) + 10 * ramp(3, start=1))
    same(m.add(t, 1).to_numpy(), ramp(3) + 1)


def test_slangpy_structs(own: Any, m: Any) -> None:
    program = spy.Module.load_from_source(own.sgl, "sharing_structs", SOURCE)
    rays = spy.Tensor.empty(own.sgl, (2,), program.Ray)
    cursor = rays.cursor()
    for i in range(2):
        cursor[i].write({"position": [i, 0, 0], "direction": [0, 1, 0]})
    cursor.apply()
    assert str(m.Ray.element.type) == "Ray"
    found = m.at(rays, 2.0)
    same(found.to_numpy(), np.array([[0, 2, 0], [1, 2, 0]], F32))
    made = m.ray(found, found, _result="tensor")
    assert str(made.dtype) == "Ray"


@pytest.mark.rest
def test_slangpy_tensors_of_another_device_are_refused(device: Any, own: Any, m: Any) -> None:
    other = slangpy(device, ramp(3))
    with pytest.raises(ValueError, match="slangpy tensor lies on another device") as caught:
        m.add(other, 1)
    assert isinstance(caught.value, fp.ShapeError)
    with pytest.raises(ValueError, match="another device"):
        m.add(ramp(3), 1, _result=other)
    with pytest.raises(fp.ResolveError, match="'a'"):
        m.add(slangpy(own, ramp(3, 3), "float3"), 1)
    same(m.add(slangpy(own, ramp(3)), 1).to_numpy(), ramp(3) + 1)


def test_slangpy_tensors_passed_whole_without_a_grid(own: Any) -> None:
    """Slangpy has no tensors without axes: such results are numbers, as its own calls return them."""
    whole = fp.Module.load_from_source(
        own,
        "sharing_any_rank",
        "import fusepy; float last<let N : int>(int i, Tensor<float,N> t) { return N * 100 + t.shape[N - 1]; }",
    )
    t = slangpy(own, ramp(5))
    for _ in range(2):
        assert whole.last(0, t) == 105
    both = fp.fuse(lambda t: (whole.last(0, t), whole.last(np.array([1, 0], np.int32), t)))
    number, tensor = both(t)
    assert number == 105
    assert isinstance(tensor, spy.Tensor)
    same(tensor.to_numpy(), np.full(2, 105, F32))
    with pytest.raises(fp.UnsupportedArgumentError, match=r"without elements(?s:.)*_result='tensor'"):
        whole.last(np.zeros(0, np.int32), t)


@pytest.mark.req("C16")
def test_grids_have_the_extents_of_slangpys_tensors(own: Any) -> None:
    m = fp.Module.load_from_source(own, "sharing_extents", "float number(int2 p) { return p.x + 10 * p.y; }")
    theirs = slangpy(own, np.zeros((2, 5), F32))
    for value in (fp.Shape(theirs), fp.grid(theirs)):
        same(np.asarray(m.number(value)), np.arange(5, dtype=F32) + 10 * np.arange(2, dtype=F32)[:, None])
