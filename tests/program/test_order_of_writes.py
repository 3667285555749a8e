"""Programs whose parts are easily confused: what is read before and behind writes, views read whole, empty grids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from tests.support.slang_functions import F32

SOURCE = """
import fusepy;
void put(int2 p, float v, RWTensor<float,2> t) { t[p] = v; }
void count(int bin, AtomicTensor<int,1> bins) { bins.add(bin, 1); }
int bin(float x) { return int(x * 4); }
int below(int bin, Tensor<int,1> sums) { return sums[bin]; }
float first(Tensor<float,2> t) { return t[0, 0]; }
float add(float a, float b) { return a + b; }
float total1(float x, Tensor<float,1> t) { float s = x; for (int i = 0; i < int(t.shape[0]); ++i) s += t[i]; return s; }
float total2(float x, Tensor<float,2> t)
{
    float s = x;
    for (int i = 0; i < int(t.shape[0]); ++i)
        for (int j = 0; j < int(t.shape[1]); ++j)
            s += t[i, j];
    return s;
}
"""
G = fp.grid((4, 6))
A = np.random.default_rng(7).random((4, 6), np.float32)
V = np.random.default_rng(8).random(6, np.float32)
EMPTY = np.zeros((0, 6), np.float32)
SUMS = A.sum(1, keepdims=True)


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "programs_order", SOURCE)


def holds(function: Callable[..., Any], args: Callable[[], tuple[Any, ...]], *expected: Any) -> None:
    """The first call, and one that replays it, give what is expected."""
    fused = fp.fuse(function)
    for _ in range(2):
        found = fused(*args())
        results = found if isinstance(found, tuple) else (found,)
        assert len(results) == len(expected)
        for result, want in zip(results, expected):
            array = result.to_numpy() if isinstance(result, fp.Tensor) else np.asarray(result)
            np.testing.assert_allclose(array, np.broadcast_to(F32(want), array.shape), rtol=1e-5)


def tensor(device: Any) -> Callable[[], tuple[Any, ...]]:
    return lambda: (fp.Tensor.from_numpy(device, A),)


def test_one_expression_on_both_sides_of_a_write(m: Any, device: Any) -> None:
    def f(x: Any) -> Any:
        old = x * 2
        m.put(G, 5.0, x)
        return old, x * 2

    holds(f, tensor(device), 2 * A, 10)


def test_an_argument_that_is_returned_behind_a_write(m: Any, device: Any) -> None:
    def f(x: Any) -> Any:
        m.put(G, 5.0, x)
        return x, fp.sum(x), x * 1

    holds(f, tensor(device), 5, 120, 5)


def test_an_array_is_overwritten_with_what_is_computed_from_it(m: Any, device: Any) -> None:
    def f(x: Any) -> Any:
        y = x * 2
        m.put(G, y, x)
        return y, x + 1

    holds(f, tensor(device), 2 * A, 2 * A + 1)


def test_values_between_two_writes_take_what_was_stored_before_them(m: Any, device: Any) -> None:
    def f(x: Any) -> Any:
        first = x + 3.0
        m.put(G, first, x)
        second = x + first
        m.put(G, 1.0, x)
        return x + second

    holds(f, tensor(device), 1 + 2 * (A + 3))


def test_what_was_read_whole_before_a_write_is_not_read_again(m: Any, device: Any) -> None:
    def f(x: Any) -> Any:
        old = m.first(x)
        m.put(G, 5.0, x)
        return x + old

    def g(x: Any) -> Any:
        old = m.add(m.first(x), 1.0)
        m.put(G, 5.0, x)
        return x + m.add(old, old)

    holds(f, tensor(device), 5 + A[0, 0])
    holds(g, tensor(device), 7 + 2 * A[0, 0])


def test_a_copy_for_the_call_is_not_what_is_written(m: Any, device: Any) -> None:
    """What NumPy holds shares no memory with an array that is written, so it may be read again; a tensor might."""

    def rank_of_each(x: Any, bins: Any) -> Any:
        bin = m.bin(x)
        m.count(bin, bins)
        return m.below(bin, fp.scan("sum", bins))

    bins = (A * 4).astype(int)
    want = np.bincount(bins.ravel(), minlength=4).cumsum()[bins]
    for x, kernels in ((A, 3), (A.tolist(), 3), (fp.Tensor.from_numpy(device, A), 4)):
        assert fp.fuse(rank_of_each).explain(x, fp.Tensor.zeros(device, 4, "int")).kernels == kernels
        holds(rank_of_each, lambda x=x: (x, fp.Tensor.zeros(device, 4, "int")), want)


def test_tensors_that_share_memory_are_read_in_order(m: Any, device: Any) -> None:
    def f(x: Any, y: Any) -> Any:
        old = m.add(x, 1.0)
        m.put(G, 5.0, y)
        return old, x * 1, m.add(old, x)

    def shared() -> tuple[Any, ...]:
        x = fp.Tensor.from_numpy(device, A)
        return x, x[:]

    holds(f, shared, A + 1, 5, A + 6)
    holds(f, lambda: (A, fp.Tensor.from_numpy(device, A)), A + 1, A, 2 * A + 1)


def test_results_of_smaller_rank_beside_an_empty_one(m: Any, device: Any) -> None:
    for count in (1, 6, 64):  # memory that nobody would write shows
        fp.Tensor.full(device, count, 7.0)
    holds(lambda x, k: (x * 2, k + 1), lambda: (EMPTY, 3.0), EMPTY, 4)
    holds(lambda x, v: (x + v, v + 1), lambda: (EMPTY, V), EMPTY, V + 1)
    holds(lambda x: (fp.sum(x) * 3 + 1, m.total2(fp.sum(x) + 1, x * 2), x * 2), lambda: (EMPTY,), 1, 1, EMPTY)


def test_kept_dimensions_are_read_whole_and_element_by_element(m: Any) -> None:
    def f(x: Any) -> Any:
        s = fp.sum(x, axis=1, keepdims=True)
        return x - s + m.total2(x, s), x - s, m.total2(1.0, s)

    def g(x: Any) -> Any:
        s = fp.mean(x, keepdims=True)
        return m.total2(s, s)

    holds(f, lambda: (A,), A - SUMS + A + SUMS.sum(), A - SUMS, 1 + SUMS.sum())
    holds(g, lambda: (A,), 2 * A.mean())


def test_an_argument_of_smaller_rank_is_returned_and_read_whole(m: Any) -> None:
    holds(lambda x, v: (v, m.total1(x, v)), lambda: (A, V), V, A + V.sum())
    holds(lambda x, v: (x + v, v, m.total1(x, v)), lambda: (A, V), A + V, V, A + V.sum())


def test_a_reusable_scan_keeps_its_settings(m: Any) -> None:
    assert fp.scan(m.add, 0.0, exclusive=True)([1.0, 1.0, 1.0]) == [0, 1, 2]
    assert fp.scan(m.add, 0.0, axis=1)([[1.0, 1.0], [1.0, 1.0]]) == [[1, 2], [1, 2]]


def test_parts_on_other_grids_read_an_argument_before_it_is_overwritten(device: Any) -> None:
    """Results that share no grid get a kernel each, and one of them writes over what the others read."""
    x, y = fp.Tensor.from_numpy(device, A), fp.Tensor.from_numpy(device, V[:5])
    made = fp.fuse(lambda x, y: (x * 2, y + 1, x + 1))(x, y, _result=(x, y, fp.Tensor.zeros(device, A.shape, "float")))
    for found, want in zip(made, (2 * A, V[:5] + 1, A + 1)):
        np.testing.assert_array_equal(found.to_numpy(), want)


@pytest.mark.parametrize("split", [True, False], ids=["parts", "steps"])
def test_a_texture_is_not_overwritten_while_later_kernels_read_it(device: Any, split: bool) -> None:
    usage = spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access
    make = lambda: device.sgl.create_texture(format=spy.Format.r32_float, width=6, height=4, usage=usage, data=A)  # noqa: E731
    f = fp.fuse((lambda t, y: (t * 2, y + 1, t + 1)) if split else (lambda t, y: (t * 2, y + 1, t + fp.cumsum(t * 2, 0))))
    given, out = make(), fp.Tensor.zeros(device, A.shape, "float")
    with pytest.raises(fp.ShapeError, match="one texture, which later kernels of the program read"):
        f(given, V[:5], _result=(given, fp.Tensor.zeros(device, 5, "float"), out))
    f(given, V[:5], _result=(make(), fp.Tensor.zeros(device, 5, "float"), out))
    np.testing.assert_allclose(out.to_numpy(), A + 1 if split else A + np.cumsum(2 * A, 0), rtol=1e-6)
