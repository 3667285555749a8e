"""Tensors with gradients as ``DifferentialPair`` arguments: read as pairs, in structs, and written back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from tests.support.examples import examples
from tests.support.slang_functions import F32, ramp, same

GOLDEN = Path(__file__).parent / "golden" / "pair_strided.slang"
SOURCE = """
struct Leaf : IDifferentiable { float a; float3 b; int kind; };
struct Branch : IDifferentiable { Leaf leaf; float w; };
float both(DifferentialPair<float> x, float k) { return x.p * k + x.d; }
float3 both3(DifferentialPair<float3> x) { return x.p * 10 + x.d; }
float4x4 both44(DifferentialPair<float4x4> x) { return x.p - x.d; }
double both_double(DifferentialPair<double> x) { return x.p + x.d; }
float leaf(DifferentialPair<Leaf> x) { return x.p.a + 10 * x.d.b.x + 100 * x.p.kind; }
float branch(DifferentialPair<Branch> x) { return x.p.leaf.a + 10 * x.d.leaf.b.y + 100 * x.d.w; }
float plain(float x) { return 2 * x; }
void collect(inout DifferentialPair<float> x, float g) { x = diffPair(x.p, x.d + g * x.p); }
DifferentialPair<float> pair(float p, float d) { return diffPair(p, d); }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "pairs", SOURCE)


def with_grads(device: Any, p: Any, d: Any, dtype: Any = None) -> Any:
    t = fp.Tensor.from_numpy(device, p, dtype).with_grads()
    t.grad.copy_from_numpy(d)
    return t


@pytest.mark.req("T17")
@examples(50)
@given(data=st.data())
def test_a_tensor_with_gradients_is_read_as_pairs(device: Any, m: Any, data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    p, d = ramp(*shape), ramp(*shape, start=100, step=1)
    t = with_grads(device, p, d)
    index = tuple(data.draw(st.sampled_from([slice(None), slice(None, None, -1), slice(None, None, 2)])) for _ in shape)
    k = data.draw(st.sampled_from([2.0, ramp(shape[-1])[index[-1]]]))
    same(m.both(t[index], k).to_numpy(), p[index] * np.asarray(k, F32) + d[index])
    same(m.both(t[index].T, 1.0).to_numpy(), (p[index] + d[index]).T)
    wide = t[index][None].broadcast_to(2, *t[index].shape)
    same(m.both(wide, 1.0).to_numpy(), np.stack([p[index] + d[index]] * 2))


@pytest.mark.req("T17")
def test_an_nddifferentiablebuffer_binds_to_pairs(device: Any, m: Any) -> None:
    b = fp.NDDifferentiableBuffer(device, shape=(2, 3))
    b.from_numpy(ramp(6))
    b.grad.copy_from_numpy(ramp(2, 3, start=7))
    same(m.both(b, 2.0).to_numpy(), ramp(2, 3) * 2 + ramp(2, 3, start=7))
    same(m.both3(b).to_numpy(), ramp(2, 3) * 10 + ramp(2, 3, start=7))
    same(m.plain(b).to_numpy(), 2 * ramp(2, 3))
    v = fp.NDDifferentiableBuffer(device, dtype=m.float3, shape=4)
    v.from_numpy(ramp(12))
    v.grad.copy_from_numpy(ramp(4, 3, start=3))
    same(m.both3(v).to_numpy(), ramp(4, 3) * 10 + ramp(4, 3, start=3))


@pytest.mark.rest
@pytest.mark.req("T17")
def test_matrices_doubles_and_separate_gradients(device: Any, m: Any) -> None:
    p, d = ramp(3, 4, 4), ramp(3, 4, 4, start=50)
    same(m.both44(with_grads(device, p, d)).to_numpy(), p - d)
    same(m.both44(with_grads(device, p, d, m.float4x4)[::-1]).to_numpy(), (p - d)[::-1])
    wide = np.arange(4.0)
    same(m.both_double(with_grads(device, wide, wide / 3)).to_numpy(), wide + wide / 3)
    base = fp.Tensor.from_numpy(device, ramp(4, 6))
    strided = base[:, ::2].with_grads(fp.Tensor.from_numpy(device, ramp(3, 4, start=9)).T)
    same(m.both(strided, 1.0).to_numpy(), ramp(4, 6)[:, ::2] + ramp(3, 4, start=9).T)


@pytest.mark.req("T17")
def test_nested_structs_are_pairs_of_their_differentials(device: Any, m: Any) -> None:
    leaves = np.zeros(4, m.Leaf.dtype)
    leaves["a"], leaves["kind"] = range(4), 2
    t = fp.Tensor.from_numpy(device, leaves, m.Leaf).with_grads()
    assert "kind" not in t.grad.element.dtype.names  # an int has no derivative
    g = t.grad.to_numpy()
    g["b"][:, 0] = range(4)
    t.grad.copy_from_numpy(g)
    same(m.leaf(t).to_numpy(), (np.arange(4) * 11 + 200).astype(F32))
    same(m.leaf(t[::-2]).to_numpy(), (np.arange(4) * 11 + 200).astype(F32)[::-2])
    branches = np.zeros((2, 2), m.Branch.dtype)
    branches["leaf"]["a"] = 5
    b = fp.NDDifferentiableBuffer(device, dtype=m.Branch, shape=(2, 2))
    b.from_numpy(branches)
    g = b.grad.to_numpy()
    g["leaf"]["b"][..., 1], g["w"] = 1, 2
    b.grad.copy_from_numpy(g)
    same(m.branch(b).to_numpy(), np.full((2, 2), 215, F32))


@pytest.mark.req("T17")
def test_pairs_are_given_by_halves_and_returned_as_structs(device: Any, m: Any) -> None:
    same(m.both({"p": ramp(3), "d": ramp(3, start=1)}, 2.0), ramp(3) * 2 + ramp(3, start=1))
    assert m.both({"p": 2.0, "d": 0.5}, 3.0) == 6.5
    made = m.pair(ramp(3), ramp(3, start=4))
    same(made["p"], ramp(3))
    same(made["d"], ramp(3, start=4))

    @fp.fuse
    def squared(x: Any) -> Any:
        return m.both(x, 2.0) + m.plain(x)

    x = with_grads(device, ramp(2, 3), ramp(2, 3, start=1))
    same(squared(x).to_numpy(), ramp(2, 3) * 4 + ramp(2, 3, start=1))


@pytest.mark.req("T17")
def test_inout_pairs_are_written_back_to_both_halves(device: Any, m: Any) -> None:
    x = with_grads(device, ramp(2, 3), ramp(2, 3, start=1))
    assert m.collect(x, 2.0) is None
    same(x.grad.to_numpy(), ramp(2, 3, start=1) + 2 * ramp(2, 3))
    same(x.to_numpy(), ramp(2, 3))
    m.collect(x[:, ::2], np.array([[1], [10]], F32))
    expected = ramp(2, 3, start=1) + 2 * ramp(2, 3)
    expected[:, ::2] += ramp(2, 3)[:, ::2] * np.array([[1], [10]], F32)
    same(x.grad.to_numpy(), expected)


@pytest.mark.req("T17")
def test_without_gradients_a_pair_is_refused(device: Any, m: Any) -> None:
    with pytest.raises(fp.ResolveError, match="'x'"):
        m.both(fp.Tensor.from_numpy(device, ramp(3)), 1.0)
    with pytest.raises(fp.ResolveError, match="'x'"):
        m.both_double(with_grads(device, ramp(3), ramp(3)))  # pairs of floats are no pairs of doubles
    same(m.both(with_grads(device, ramp(3), ramp(3)), 0.0).to_numpy(), ramp(3))


def test_the_kernel_of_a_pair(device: Any, m: Any) -> None:
    if device.target.kind != "software":
        pytest.skip("the golden text is for a software device")
    x = with_grads(device, ramp(2, 3), ramp(2, 3))
    text = "".join(f"{line}\n" for line in m.both.source(x.T, 2.0).splitlines() if not line.startswith("#line"))
    if os.environ.get("FUSEPY_UPDATE_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")
