"""User code that imports slangpy's own Slang module: its array types are filled from fusepy's tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from tests.support.examples import examples
from tests.support.slang_functions import F32, ramp, same
from tests.support.whole_arrays import everywhere, numbers, positions, views

SOURCE = """
import slangpy;
struct Odd { float3 at; int id; float w[3]; };
float get(int2 p, Tensor<float,2> t) { return t[p]; }
float3 get3(int2 p, Tensor<float3,2> t) { return t[p]; }
float generic<A : ITensor<float,2>>(int2 p, A t) { return t[p] + t[p.y, p.x]; }
float existential(int2 p, ITensor<float,2> t) { return t[p]; }
float any_rank<let N : int>(int i, Tensor<float,N> t) { return N * 100 + int(t.shape[N - 1]); }
float3 swap3(int2 p, float3 v, RWTensor<float3,2> t) { float3 old = t[p]; t[p] = v; return old; }
void write(int2 p, float v, WTensor<float,2> t) { t[p] = v; }
void count(uint bin, AtomicTensor<uint,1> t) { int at[1] = { int(bin) }; t.add(at, 1); }
float differentiable(int2 p, IDiffTensor<float,2> t) { return t[p]; }
float with_gradient(int2 p, DiffTensor<float,2> t) { return t[p]; }
[Differentiable] float square(DiffTensor<float,2> t, int2 p) { return t[p] * t[p.y, p.x]; }
void backwards(int2 p, DiffTensor<float,2> t, float g) { bwd_diff(square)(t, p, g); }
int odd(int i, Tensor<Odd,1> t) { return t[i].id + int(t[i].w[2]); }
void both(int2 p, RWTensor<float3,2> a, Tensor<float3,2> b) { a[p] = b[p]; }
"""


@pytest.fixture(scope="module")
def lib(device: Any) -> Any:
    return fp.Module.load_from_source(device, "slangpy_arrays", SOURCE)


def test_only_reflection_tells_whose_tensor_it_is(lib: Any, device: Any) -> None:
    mine = "struct Tensor<T, let D : int> { T x; };\nfloat get(Tensor<float,2> t) { return t.x; }"
    own = fp.Module.load_from_source(device, "own_tensor", mine)
    ours = fp.Module.load_from_source(device, "fusepys", "import fusepy;\nfloat get(int2 p, Tensor<float,2> t) { return t[p]; }")
    t, g = fp.Tensor.from_numpy(device, ramp(2, 5)), fp.grid((2, 5))
    assert "slangpy::Tensor<float,2>" in str(fp.resolve(lib.get, g, t))
    assert "fusepy::Tensor<float,2>" in str(fp.resolve(ours.get, g, t))
    assert own.get({"x": 3.0}) == 3
    # a fused function may call into both
    both = fp.fuse(lambda p, t: lib.get(p, t) * 2 + ours.get(p, t))
    same(both(g, t).to_numpy(), 3 * ramp(2, 5))


@pytest.mark.rest
@pytest.mark.req("T20", "C8")
@examples(40)
@given(data=st.data())
def test_reading_scalars(lib: Any, device: Any, data: Any) -> None:
    tensor, array = data.draw(views(device, "float", rank=2))
    at, places = positions(np.random.default_rng(1), tensor.shape)
    same(lib.get(at, tensor, _result="numpy"), array[places])
    same(lib.existential(at, tensor, _result="numpy"), array[places])
    same(lib.generic(at, array[::-1], _result="numpy"), 2 * array[::-1][places])


@pytest.mark.rest
@examples(40)
@given(data=st.data())
def test_vectors_wherever_they_lie(lib: Any, device: Any, data: Any) -> None:
    """Blocks start at multiples of 256 bytes, of which 12 is no divisor."""
    keep = [fp.Tensor.zeros(device, 1) for _ in range(data.draw(st.integers(0, 3)))]
    tensor, array = data.draw(views(device, "float3", rank=2, repeats=False))
    random = np.random.default_rng(2)
    at, places = everywhere(random, tensor.shape)
    same(lib.get3(at, tensor, _result="numpy"), array[places])
    values = numbers(random, (len(places[0]), 3), F32)
    expected = array.copy()
    expected[places] = values
    same(lib.swap3(at, values, tensor, _result="numpy"), array[places])
    same(tensor.to_numpy(), expected)
    flat = fp.Tensor.from_numpy(device, array)  # as floats with an axis more
    same(lib.get3(at, flat, _result="numpy"), array[places])
    host = array.copy()
    lib.swap3(at, values, host)
    same(host, expected)
    assert keep is not None


@pytest.mark.rest
def test_writing_counting_and_generic_ranks(lib: Any, device: Any) -> None:
    t = fp.Tensor.zeros(device, (4, 6))
    lib.write(fp.grid((2, 6)), 3.0, t[::2, ::-1])
    expected = np.zeros((4, 6), F32)
    expected[::2] = 3
    same(t.to_numpy(), expected)
    bins = np.random.default_rng(1).integers(0, 5, 1000).astype(np.uint32)
    histogram = fp.Tensor.zeros(device, 5, "uint")
    lib.count(bins, histogram)
    same(histogram.to_numpy(), np.bincount(bins, minlength=5).astype(np.uint32))
    assert lib.any_rank(0, ramp(2, 6)) == 206


def test_structs_of_odd_size(lib: Any, device: Any) -> None:
    array = np.zeros(7, lib.Odd.dtype)
    array["id"], array["w"] = np.arange(7), np.arange(21).reshape(7, 3)
    kept = [fp.Tensor.from_numpy(device, array, dtype=lib.Odd) for _ in range(3)]
    for t in (*kept, array):
        same(lib.odd(np.arange(7, dtype=np.int32), t, _result="numpy"), np.arange(7, dtype=np.int32) * 4 + 2)


@pytest.mark.rest
@pytest.mark.req("T17")
def test_differentiable_forms(lib: Any, device: Any) -> None:
    t = fp.Tensor.from_numpy(device, ramp(3, 5))
    same(lib.differentiable(fp.grid((3, 5)), t, _result="numpy"), ramp(3, 5))
    with pytest.raises(fp.ShapeError, match="no grad_out"):
        lib.with_gradient(fp.grid((3, 5)), t)
    with_grads = t.with_grads()
    same(lib.with_gradient(fp.grid((3, 5)), with_grads, _result="numpy"), ramp(3, 5))
    lib.backwards(fp.grid((3, 5)), with_grads, 3.0)
    assert with_grads.grad_out is not None
    same(with_grads.grad_out.to_numpy(), 6 * ramp(3, 5))


def test_an_array_is_not_written_while_it_is_read(lib: Any, device: Any) -> None:
    kept = [fp.Tensor.from_numpy(device, ramp(4, 5, 3)) for _ in range(3)]
    for t in kept:
        for other in (t, t[::-1]):
            with pytest.raises(fp.ShapeError, match=r"both: argument 'a' is written"):
                lib.both(fp.grid((4, 5)), t, other)
        same(t.to_numpy(), ramp(4, 5, 3))
