"""Lazy mode: what is recorded, what runs when somebody needs it, and that nobody can tell the difference otherwise."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.memory.pending import PENDING
from fusepy.deferred.record import CALLS
from tests.support.selection import seldom
from tests.support.slang_functions import F32, same

SOURCE = """
import fusepy;
struct Ray { float3 position; float3 direction; };
uniform float exposure;
float add(float a, float b) { return a + b; }
float twice(float x) { return 2 * x; }
int halve(int x) { return x / 2; }
float exposed(float x) { return x * exposure; }
float first(float3 v) { return v.x; }
float3 scale(float3 v, float k) { return v * k; }
void split(float v, out float whole, out float rest) { whole = floor(v); rest = v - whole; }
float bump(inout float v, float by) { float old = v; v += by; return old; }
void store(float* to, int i, float v) { to[i] = v; }
float3 at(Ray r, float t) { return r.position + t * r.direction; }
float neighbour(Tensor<float, 1> t, int i) { return t[max(i - 1, 0)] + t[i]; }
uint8_t small(uint8_t x) { return x; }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> fp.Module:
    return fp.Module.load_from_source(device, "lazy_calls", SOURCE)


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """What a test has recorded goes with its values."""
    yield
    if PENDING:  # in a cycle, as errors and their frames are; late in a run of all tests, a collection takes seconds
        gc.collect()
    assert not PENDING


def ramp(n: int, start: int = 0) -> Any:
    return np.arange(start, start + n, dtype=F32)


def tensor(n: int = 8, start: int = 0) -> fp.Tensor:
    return fp.Tensor.from_numpy(fp.default_device(), ramp(n, start=start))


class Counted:
    """Counts dispatches, kernels and programs of a block."""

    def __enter__(self) -> Counted:
        self._before = fp.stats()
        return self

    def __exit__(self, *_: object) -> None:
        after = fp.stats()
        self.dispatches = after.dispatches - self._before.dispatches
        self.compiled = after.kernels_compiled - self._before.kernels_compiled
        self.missed = after.plan_misses - self._before.plan_misses


# ---- what runs, and when ------------------------------------------------------------------------------------------------


def test_calls_are_recorded_and_run_as_one_kernel_when_one_is_read(m: fp.Module) -> None:
    x = tensor()
    scaled = fp.fuse(lambda v, k: m.twice(v) * k)
    with Counted() as recording, fp.lazy():
        total = fp.sqrt(m.add(scaled(x, 3.0), 4))
    assert recording.dispatches == 0
    with Counted() as reading:
        found = total.to_numpy()
    assert reading.dispatches == 1
    np.testing.assert_allclose(found, np.sqrt(ramp(8) * 6 + 4), rtol=1e-6)
    with Counted() as again:
        same(total.to_numpy(), found)
    assert again.dispatches == 0


def test_the_second_round_compiles_nothing_and_misses_nothing(m: fp.Module) -> None:
    def round(k: float, n: int) -> Any:
        with fp.lazy():
            a = m.add(tensor(n), k)
            return fp.sum(fp.sin(m.twice(a)))

    round(1.0, 8).to_numpy()
    with Counted() as second:
        found = round(7.0, 9).to_numpy()  # other numbers and sizes are no new program
    assert (second.compiled, second.missed) == (0, 0)
    np.testing.assert_allclose(found, np.sin(2 * (ramp(9) + 7)).sum(), rtol=1e-4)


def test_a_lazy_tensor_knows_its_type_and_extents(m: fp.Module) -> None:
    with Counted() as counted:
        with fp.lazy():
            t = m.add(tensor(6).reshape(2, 3), tensor(3))
            v = m.scale(np.ones((4, 3), F32), 2.0)
            s = fp.max(t, axis=1, keepdims=True)
            w = m.scale(tensor(12).reshape(4, 3), 2.0)
        assert isinstance(t, fp.Tensor)
        assert (t.shape, t.size, t.ndim, len(t), str(t.dtype)) == ((2, 3), 6, 2, 2, "float")
        assert (v.shape, str(v.dtype), s.shape) == ((4, 3), "float", (2, 1))  # as of an eager call on a NumPy array
        assert (w.shape, str(w.dtype)) == ((4,), "float3")
        assert t.device is fp.default_device()
        assert t.grads is None
        with pytest.raises(AttributeError, match="no attribute 'colour'"):
            t.colour  # type: ignore[attr-defined]  # noqa: B018
    assert counted.dispatches == 0
    assert type(t.compute()) is fp.Tensor
    assert t.strides == (3, 1)


@pytest.mark.parametrize(
    "read",
    [
        lambda t: t.to_numpy().sum(),
        lambda t: float(np.asarray(t).sum()),
        lambda t: float(fp.sum(t)),
        lambda t: t[:2].to_numpy().sum() + t[2:].to_numpy().sum(),
        lambda t: sum(t.tolist()),
        lambda t: t.T.copy().to_numpy().sum(),
        lambda t: t.cursor().element_count and t.to_numpy().sum(),
        lambda t: repr(t) and t.to_numpy().sum(),
        lambda t: t.with_grads().detach().to_numpy().sum(),
    ],
)
def test_whatever_needs_the_numbers_gets_them(m: fp.Module, read: Any) -> None:
    with fp.lazy():
        t = m.twice(tensor(5))
    assert float(read(t)) == 20.0


def test_calls_outside_take_lazy_tensors(m: fp.Module) -> None:
    with fp.lazy():
        t = m.twice(tensor(3))
        s = fp.sum(t)
    same(m.add(t, 1.0).to_numpy(), F32([1, 3, 5]))
    assert float(s) == 6
    with fp.lazy():
        u = m.twice(tensor(3))
    target = fp.Tensor.empty(fp.default_device(), 3)
    m.add(fp.vmap(u, (0,)), 1.0, _result=target)
    same(target.to_numpy(), F32([1, 3, 5]))
    with fp.lazy():
        v = m.twice(tensor(3))
    assert m.add(2.0, 1.0, _result=v[0:1].reshape(())) is not None
    m.add(tensor(3), 1.0, _result=v)
    same(v.to_numpy(), F32([1, 2, 3]))


def test_what_shares_work_and_is_still_wanted_runs_together(m: fp.Module) -> None:
    x = tensor()
    with fp.lazy():
        a = m.twice(x)
        b, c = m.add(a, 1), m.add(a, 2)
        apart = m.twice(tensor(3))
    with Counted() as first:
        same(b.to_numpy(), ramp(8) * 2 + 1)
    with Counted() as others:
        same(a.to_numpy(), ramp(8) * 2)
        same(c.to_numpy(), ramp(8) * 2 + 2)
    assert (first.dispatches, others.dispatches) == (1, 0)
    with Counted() as last:
        same(apart.to_numpy(), F32([0, 2, 4]))
    assert last.dispatches == 1


def test_what_nobody_wants_any_more_never_runs(m: fp.Module) -> None:
    with Counted() as counted:
        with fp.lazy():
            for i in range(5):
                m.add(tensor(), i)
            gone = m.twice(m.add(tensor(), 1))
        del gone
    assert counted.dispatches == 0
    assert not PENDING


def test_intermediate_values_are_not_stored(m: fp.Module) -> None:
    x = tensor(1 << 16)
    with fp.lazy():
        t = x
        for _ in range(10):
            t = m.add(t, 1.0)
    before = fp.stats().pool_live_bytes
    t.compute()
    assert fp.stats().pool_live_bytes - before == 4 << 16
    del t
    assert fp.stats().pool_live_bytes == before


def test_arguments_are_freed_with_the_results_or_the_force(m: fp.Module) -> None:
    x = tensor(1 << 16)
    seen = weakref.ref(x)
    with fp.lazy():
        t = m.twice(x)
        u = m.twice(x)
    del x
    assert seen() is not None
    t.compute()
    del u
    assert seen() is None


def test_long_chains_run_in_pieces(m: fp.Module) -> None:
    def steps(count: int) -> Any:
        with fp.lazy():
            t = tensor(4)
            for _ in range(count):
                t = m.add(t, 1.0)
        return t

    same(steps(3 * CALLS).to_numpy(), ramp(4) + 3 * CALLS)
    with Counted() as counted:
        t = steps(3 * CALLS)
        assert len(PENDING) <= CALLS
        t.compute()
    assert counted.dispatches == 3
    assert (counted.compiled, counted.missed) == (0, 0)


def test_a_loop_that_reads(m: fp.Module) -> None:
    steps = 0
    with Counted() as counted, fp.lazy():
        x = tensor(4, start=1)
        while float(fp.max(x)) < 1000:
            x = m.twice(x)
            steps += 1
    same(x.to_numpy(), ramp(4, start=1) * 2**steps)
    assert steps == 8
    assert counted.dispatches == steps + 1  # each time the step and its maximum are one kernel


# ---- kinds of calls -------------------------------------------------------------------------------------------------


def test_results_keep_their_structure(m: fp.Module) -> None:
    both = fp.fuse(lambda x: {"a": m.twice(x), "b": [m.add(x, 1), fp.sum(x)]})
    with Counted() as counted:
        with fp.lazy():
            whole, rest = m.split(np.array([1.25, 2.5], F32))
            d = both(rest)
        same(d["b"][0].to_numpy(), F32([1.25, 1.5]))
        same(d["a"].to_numpy(), F32([0.5, 1.0]))
        assert (whole.tolist(), float(d["b"][1])) == ([1.0, 2.0], 0.75)
    assert counted.dispatches <= 3


def test_numbers_and_lists_stay_what_they_are_and_arrays_become_tensors(m: fp.Module) -> None:
    with fp.lazy():
        results = [
            m.add(1.0, 2),
            m.add([1.0, 2.0], 1),
            m.add([1.0], ramp(1)),
            fp.sqrt(4),
            fp.sum([[1.0, 2.0]], axis=1),
            m.halve(9),
        ]
        waiting = m.add(ramp(2), 1), m.add([1.0, 2.0], fp.Tensor([1.0, 1.0]))
    assert [r for r in results if not isinstance(r, fp.Tensor)] == [3.0, [2.0, 3.0], 2.0, [3.0], 4]
    assert [w.tolist() for w in (results[2], *waiting)] == [[1.0], [1.0, 2.0], [2.0, 3.0]]


def test_a_number_that_was_computed_is_no_python_number(m: fp.Module) -> None:
    """A float result is a float from then on, as the tensor is that an eager call returns."""
    with fp.lazy():
        x = fp.sqrt(fp.asarray(16.0))
        with pytest.raises(fp.NoMatchError):
            m.small(x)
    with pytest.raises(fp.NoMatchError):
        m.small(fp.Tensor.from_numpy(fp.default_device(), np.array(4, F32)))


def test_vectors_from_trailing_axes(m: fp.Module) -> None:
    with Counted() as counted:
        with fp.lazy():
            colors = m.add(tensor(12).reshape(4, 3), 1.0)  # float (4, 3): its last axis becomes a float3 below
            first = m.first(colors)
            cast = fp.vcast(m.twice(tensor(12).reshape(4, 3)), "float3")
            scaled = m.scale(cast, 2.0)
        assert (first.shape, scaled.shape, str(scaled.dtype)) == ((4,), (4,), "float3")
        same(first.to_numpy(), F32([1, 4, 7, 10]))
        same(scaled.to_numpy(), ramp(12).reshape(4, 3) * 4)
    assert counted.dispatches == 4


WORDS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda m, c: fp.sum(c) + fp.sum(c, axis=-1),
    "operators": lambda m, c: c * np.float32([1, 2, 3]) + c.T[0],
    "views": lambda m, c: c.reshape(2, 6)[:, 1:] + c[1:3, :1],
    "products": lambda m, c: c @ np.ones((3, 2), F32),
    "numbers": lambda m, c: m.add(c, 1.0),
    "vectors": lambda m, c: m.scale(c, 2.0),
    "vectors of words": lambda m, c: m.first(fp.sqrt(c)),
    "one index": lambda m, c: c[1] + c[-1, 2] + len(c) + sum(c),
    "a list": lambda m, c: fp.concatenate([c, np.ones((2, 3), F32)]),
}


@pytest.mark.parametrize("name", seldom(WORDS, "operators", "products", "a list", "views", "vectors of words"))
def test_vectors_of_arrays_are_the_numbers_of_an_eager_call(m: fp.Module, name: str) -> None:
    image = ramp(12).reshape(4, 3)
    square = image[:3] if name == "operators" else image

    def look(x: Any) -> Any:
        return WORDS[name](m, m.scale(x, 2.0))

    want = np.asarray(look(square))
    with fp.lazy():
        numbers, vectors = look(square), m.scale(square, 2.0)
        later = WORDS[name](m, vectors.compute())
    assert numbers.shape == later.shape == want.shape
    np.testing.assert_allclose(numbers.to_numpy(), want, rtol=1e-6)
    np.testing.assert_allclose(fp.fuse(look)(square), want, rtol=1e-6)
    np.testing.assert_allclose(later.to_numpy(), want, rtol=1e-6)


def test_generators_inside_of_a_fused_function_do_not_decide_about_its_container(m: fp.Module) -> None:
    rows = ramp(12).reshape(4, 3)
    for inside in (lambda: fp.grid((4,)) * 1.0, lambda: fp.linspace(0.0, 3.0, 4)):
        f = fp.fuse(lambda x, inside=inside: m.scale(x, inside()))
        want = f(rows)
        with fp.lazy():
            numbers, vectors = f(rows), f(fp.Tensor.from_numpy(m.device, rows))
            argument = m.scale(rows, inside())
        assert (numbers.shape, str(vectors.dtype), str(argument.dtype)) == (want.shape, "float3", "float3")
        same(numbers.to_numpy(), want)


def test_a_chain_of_vectors_of_arrays_is_one_kernel(m: fp.Module) -> None:
    with Counted() as counted:
        with fp.lazy():
            chained = m.first(m.scale(m.scale(ramp(12).reshape(4, 3), 2.0), 3.0))
        same(chained.to_numpy(), 6 * ramp(12)[::3])
    assert counted.dispatches == 1


def test_mappings(m: fp.Module) -> None:
    outer = fp.fuse(lambda a, b: m.add(a, b)).declare(fp.vmapping(0), fp.vmapping(1))
    with fp.lazy():
        x, y = m.twice(tensor(2)), m.twice(tensor(3))
        table = m.add(fp.vmap(x, (1,)), fp.vmap(y, (0,)))
        other = m.add.map((1,), (0,))(x, y)
        fused = outer(x, y)
        total = fp.sum(table, axis=0)
    want = ramp(3)[:, None] * 2 + ramp(2) * 2
    same(table.to_numpy(), want)
    same(other.to_numpy(), want)
    same(fused.to_numpy(), want.T.copy())
    same(total.to_numpy(), want.sum(0))


def test_nested_arguments(m: fp.Module) -> None:
    with fp.lazy():
        position = m.scale(np.ones((4, 3), F32), 2.0)
        ray = {"position": position, "direction": [1.0, 0.0, 0.0]}
        moved = m.at(ray, 3.0)
        ray["direction"] = [0.0, 0.0, 0.0]  # afterwards: the call has been written down
    same(moved.to_numpy(), np.full((4, 3), 2, F32) + F32([3, 0, 0]))


def test_whole_arrays_of_lazy_tensors(m: fp.Module) -> None:
    with fp.lazy():
        t = m.twice(tensor(4))
        blurred = m.neighbour(t, fp.Tensor.arange(fp.default_device(), 4))
    same(blurred.to_numpy(), F32([0, 2, 6, 10]))


def test_loops_and_branches() -> None:
    with fp.lazy():
        x = fp.sqrt(np.array([1, 4, 9], F32))
        power = fp.fori_loop(0, 3, lambda i, c: c * x, fp.asarray(1.0))
        capped = fp.fuse(lambda p: fp.cond(p > 10, lambda: 10.0, lambda: p))(power)
    same(power.to_numpy(), F32([1, 8, 27]))
    same(capped.to_numpy(), F32([1, 8, 10]))


def test_functions_that_set_globals_or_hooks_run_at_once(m: fp.Module) -> None:
    seen: list[Any] = []
    with Counted() as counted, fp.lazy():
        x = m.twice(tensor(3))
        bright = m.exposed.set(exposure=2.0)(x)
        hooked = m.twice.hook(seen.append)(x)
        same_kind = m.exposed.set(exposure=3.0)(np.ones(2, F32))
    assert counted.dispatches == 4
    assert len(seen) == 1
    same(bright.to_numpy(), F32([0, 4, 8]))
    same(hooked.to_numpy(), F32([0, 4, 8]))
    assert isinstance(same_kind, fp.Tensor)  # as a recorded call would return


def test_a_container_that_is_asked_for_is_filled_at_once(m: fp.Module) -> None:
    with fp.lazy():
        x = m.twice(tensor(3))
        a = m.add(x, 1.0, _result="numpy")
        b = m.add.return_type(list)(x, 1.0)
    assert (a.tolist(), b) == ([1.0, 3.0, 5.0], [1.0, 3.0, 5.0])


def test_generators_run_at_once(m: fp.Module) -> None:
    with fp.lazy():
        index = m.halve(fp.grid((4,)))
        t = m.halve(index)
    assert t.tolist() == [0, 0, 0, 0]
    assert index.tolist() == [0, 0, 1, 1]


def test_inside_of_a_fused_function_it_has_no_effect(m: fp.Module) -> None:
    @fp.fuse
    def f(x: Any) -> Any:
        with fp.lazy():
            return m.twice(x)

    same(f(tensor(3)).to_numpy(), F32([0, 2, 4]))
    with fp.lazy():
        inner = m.twice(tensor(3))
    g = fp.fuse(lambda x: m.add(x, inner))
    with fp.lazy():
        t = g(tensor(3))
    same(t.to_numpy(), F32([0, 3, 6]))


def test_blocks_nest_and_values_outlive_them(m: fp.Module) -> None:
    with Counted() as counted:
        with fp.lazy():
            a = m.twice(tensor(3))
            with fp.lazy():
                b = m.add(a, 1.0)
            c = m.add(b, 1.0)
        with fp.lazy():
            d = m.add(c, 1.0)
    assert counted.dispatches == 0
    same(d.to_numpy(), F32([3, 5, 7]))
    with Counted() as eager:
        m.twice(tensor(3))
    assert eager.dispatches == 1


def test_an_exception_leaves_what_was_recorded(m: fp.Module) -> None:
    kept: list[Any] = []

    def fail() -> None:
        with fp.lazy():
            kept.append(m.twice(tensor(3)))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    same(kept[0].to_numpy(), F32([0, 2, 4]))
    assert isinstance(m.twice(tensor(3)), fp.Tensor)


def test_threads(m: fp.Module) -> None:
    with fp.lazy():
        shared = m.twice(tensor(100))

    def work(k: int) -> None:
        assert type(m.twice(tensor(3))) is fp.Tensor  # the block of another thread is none of its business
        for i in range(20):
            with fp.lazy():
                t = m.add(m.add(shared, k), i)
            same(t.to_numpy(), ramp(100) * 2 + F32(k) + F32(i))

    with fp.lazy(), ThreadPoolExecutor(4) as pool:
        for job in [pool.submit(work, k) for k in range(4)]:
            job.result(timeout=120)


# ---- writing what was recorded ------------------------------------------------------------------------------------------


def write_upload(m: fp.Module, x: fp.Tensor) -> None:
    x.copy_from_numpy(np.full(x.shape, 50, F32))


def write_result(m: fp.Module, x: fp.Tensor) -> None:
    m.add(np.full(x.shape, 49, F32), 1.0, _result=x)


def write_inout(m: fp.Module, x: fp.Tensor) -> None:
    m.bump(x, 50 - x.to_numpy())


def write_pointer(m: fp.Module, x: fp.Tensor) -> None:
    m.store(fp.vmap(x, ()), fp.grid((x.size,)), 50.0)


def write_view(m: fp.Module, x: fp.Tensor) -> None:
    x[::-1][2:].copy_from(fp.Tensor.full(x.device, x.size - 2, 50))
    x[-2:].copy_from(fp.Tensor.full(x.device, 2, 50))


WRITES = [write_upload, write_result, write_inout, write_pointer, write_view]


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("write", WRITES, ids=lambda w: w.__name__)
def test_a_recorded_call_sees_its_arguments_as_they_were(m: fp.Module, write: Any, inside: bool) -> None:
    x = tensor(8)
    with fp.lazy():
        before = m.twice(x)
        if inside:
            write(m, x)
            after = m.twice(x)
    if not inside:
        write(m, x)
        after = m.twice(x)
    same(before.to_numpy(), ramp(8) * 2)
    same(after.to_numpy(), np.full(8, 100, F32))


def test_clearing_and_raw_dispatch(device: Any) -> None:
    raw = fp.Module.load_from_source(device, "lazy_raw", "void fill(uint tid, float* to) { to[tid] = 50; }")
    for write in (lambda x: x.clear(), lambda x: raw.fill.dispatch(x.size, to=x), lambda x: x.clear()):
        x = tensor(4, start=1)
        with fp.lazy():
            t = fp.abs(x)
        write(x)
        same(t.to_numpy(), ramp(4, start=1))
        assert float(x.to_numpy()[0]) in (0.0, 50.0)


def test_arrays_and_lists_are_copied_when_they_are_recorded(m: fp.Module) -> None:
    array, numbers = ramp(4), [[1.0, 2.0], [3.0, 4.0]]
    with fp.lazy():
        a, b = m.twice(array), m.add(numbers, fp.asarray(0.0))
    array[:] = -1
    numbers[0][1] = numbers[1][0] = 0.0
    same(a.to_numpy(), ramp(4) * 2)
    assert b.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_writing_runs_only_what_reads_that_memory(m: fp.Module) -> None:
    x, y = tensor(4), tensor(4)
    with Counted() as counted:
        with fp.lazy():
            a, b = m.twice(x), m.twice(y)
        y.copy_from_numpy(np.zeros(4, F32))
    assert counted.dispatches == 1
    assert (type(a), type(b)) != (type(b), type(a))
    same(a.to_numpy(), ramp(4) * 2)
    same(b.to_numpy(), ramp(4) * 2)


def test_results_have_memory_of_their_own(m: fp.Module) -> None:
    with fp.lazy():
        x = tensor(3)
        b, c = m.twice(x), m.twice(x)  # which one kernel computes once
        s, kept = fp.sum(b), fp.sum(b, keepdims=True)
    c.copy_from_numpy(np.zeros(3, F32))
    kept.copy_from_numpy(np.zeros(1, F32))
    same(b.to_numpy(), F32([0, 2, 4]))
    assert float(s) == 6


def test_calls_that_share_no_grid_run_one_by_one(m: fp.Module) -> None:
    x, b = tensor(4).reshape(4, 1), tensor(5)
    for _ in range(2):
        with fp.lazy():
            y = m.twice(x)
            both = m.add(fp.sum(y), fp.sum(m.add(y, b)))  # one kernel would fold (4, 1) and (4, 5) at once
        assert float(both) == 12 + 100
        same(y.to_numpy(), ramp(4)[:, None] * 2)


def test_foreign_memory_is_read_at_once(m: fp.Module, device: Any) -> None:
    array = ramp(4)
    if not device.transfer.host_addressable:
        pytest.skip("the host does not reach this device's memory")
    own = fp.init_device(None)  # sharing memory ends deferral on a device
    try:
        n = fp.Module.load_from_source(own, "lazy_foreign", "float twice(float x) { return 2 * x; }")
        with fp.lazy():
            t = n.twice(fp.Tensor.from_dlpack(own, array))
        own.wait()
        array[:] = 0
        same(t.to_numpy(), ramp(4) * 2)
        u = fp.Tensor.from_numpy(own, ramp(4))
        with fp.lazy():
            v = n.twice(u)
        u.__array__(copy=False)[:] = 9  # handing the memory out runs what reads it
        same(v.to_numpy(), ramp(4) * 2)
    finally:
        own.close()


# ---- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (lambda m: m.add(tensor(3)), fp.ArgumentError),
        (lambda m: m.add(tensor(3), 1.0, 2.0), fp.FusepyError),
        (lambda m: m.add(tensor(3), z=1.0), fp.ArgumentError),
        (lambda m: m.add(tensor(3), tensor(4)), fp.ShapeError),
        (lambda m: m.add.strict_broadcasting()(tensor(3), tensor(3).reshape(1, 3)), fp.ShapeError),
        (lambda m: m.small(300), fp.RangeError),
        (lambda m: m.add(tensor(3), "x"), fp.UnsupportedArgumentError),
        (lambda m: fp.sum(tensor(3), axis=1), fp.ShapeError),
        (lambda m: fp.max(np.zeros(0, F32)), fp.ShapeError),
        (lambda m: m.add(m.twice(tensor(3)), m.twice(tensor(4))), fp.ShapeError),
        (lambda m: m.nothing(tensor(3)), fp.UnknownNameError),
    ],
)
def test_a_bad_call_raises_where_it_is_written(m: fp.Module, bad: Any, error: Any) -> None:
    for _ in range(2):  # the second time from what is remembered
        with fp.lazy():
            good = m.twice(tensor(3))
            with pytest.raises(error) as caught:
                bad(m)
            after = m.add(good, 1.0)
        if caught.value.place is not None:
            assert caught.value.place.startswith("test_record.py:")
        same(after.to_numpy(), F32([1, 3, 5]))


def test_an_error_of_the_force_names_the_recorded_line(monkeypatch: pytest.MonkeyPatch, m: fp.Module) -> None:
    from fusepy.deferred import join as joint

    def full(*_: Any) -> Any:
        raise fp.OutOfDeviceMemory("no memory", hint="free some")

    with fp.lazy():
        t = m.twice(tensor(3))  # the line
    text = Path(__file__).read_text(encoding="utf-8").splitlines()
    line = 1 + next(i for i, written in enumerate(text) if written.endswith("# the line"))
    monkeypatch.setattr(joint, "_program", full)
    with pytest.raises(fp.OutOfDeviceMemory) as caught:
        t.to_numpy()
    assert caught.value.place == f"test_record.py:{line}"
    monkeypatch.undo()
    same(t.to_numpy(), F32([0, 2, 4]))  # it can be asked for again


@pytest.fixture(scope="module")
def broken(device: Any) -> Any:
    """A function that Slang compiles and the check of its code refuses: what a call can only know when it runs."""
    if not device.target.spirv:
        pytest.skip("only SPIR-V cannot read a double as a bool")
    source = "bool yes(double x) { if (x) return true; return false; } float broken(float x) { return yes(double(x)) ? 1 : 0; }"
    return fp.Module.load_from_source(device, "broken", source).broken


def test_a_call_that_cannot_run_stops_no_other(m: fp.Module, broken: Any) -> None:
    """Neither calls beside it, nor what its own arguments are, nor writes to these, nor calls until there is room."""
    x, plain = tensor(3), ramp(3)
    with fp.lazy():
        a = m.add(x, 1.0)
        bad = broken(a)  # the broken line
        worse = m.add(m.twice(bad), a)
        b = m.add(a, 2.0)
    x.copy_from_numpy(F32([7, 7, 7]))
    same(b.numpy(), plain + 3)
    same(a.numpy(), plain + 1)
    text = Path(__file__).read_text(encoding="utf-8").splitlines()
    line = 1 + next(i for i, written in enumerate(text) if written.endswith("# the broken line"))
    uses: list[Any] = [bad.numpy, bad.numpy, worse.numpy, lambda: fp.explain(worse), lambda: m.add(bad, 1.0), bad.numpy]
    for use in uses:
        with pytest.raises(fp.CompileError, match=f"test_record.py:{line}: .*double as a bool") as caught:
            use()
    assert str(caught.value).startswith(f"test_record.py:{line}: lazy takes")  # nothing of the other uses has stuck to it
    with fp.lazy():
        with pytest.raises(fp.CompileError, match="double as a bool"):
            m.add(bad, 1.0)
        bad = broken(x)
        results = [m.add(x, float(k)) for k in range(CALLS + 3)]
    same(results[-1].numpy(), F32([7, 7, 7]) + CALLS + 2)
    with pytest.raises(fp.CompileError, match="double as a bool"):
        bad.numpy()
