"""Later calls of a program of several kernels: what they skip, and that the first one does the same, whoever shares memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from fusepy.backend.device.block import size_class
from fusepy.backend.execute.executable import Executable
from fusepy.backend.execute.little import SMALL
from tests.support.examples import examples
from tests.support.python_calls import python_calls

SOURCE = """
import fusepy;
float next(int p, Tensor<float,1> t) { return t[(p + 1) % int(t.shape[0])]; }
float row(int2 p, Tensor<float,1> t) { return t[p.x]; }
StructuredBuffer<float> table;
uniform float by;
float next_raised(int p, Tensor<float,1> t) { return next(p, t) + by; }
float looked_up(int p, Tensor<float,1> t) { return t[p] + table[p]; }
"""
N = 12
G, ROWS = fp.grid((N,)), fp.grid((2, N))


@pytest.fixture(scope="module")
def lib(device: Any) -> Any:
    return fp.Module.load_from_source(device, "replays", SOURCE)


def ladder(lib: Any, steps: int, grid: Any = G) -> Any:
    @fp.fuse
    def climb(x: Any) -> Any:
        for _ in range(steps):
            x = lib.next(grid, x)
        return x

    return climb


def branches(lib: Any) -> Any:
    """Two kernels that read the argument and do not wait for each other, one of them a sum, between others."""

    @fp.fuse
    def both(x: Any) -> Any:
        a = lib.next(G, x * 2.0)
        return a + x, lib.next(G, a), fp.sum(lib.row(ROWS, x * 3.0), axis=0)

    return both


def branched(x: Any) -> tuple[Any, Any, Any]:
    a = np.roll(x * 2, -1)
    return a + x, np.roll(a, -1), x * 6


def executable_of(function: Any) -> Executable:
    (program,) = function.programs.values()
    return program.executable  # type: ignore[no-any-return]


def barriers_of(function: Any) -> list[bool]:
    """For each launch of the one tape that a function has, whether it waits for what was launched before."""
    (tape,) = executable_of(function).tapes.values()
    return [launch.barrier for launch in tape.tape.launches]


def overlaps_of(device: Any, monkeypatch: pytest.MonkeyPatch, call: Any) -> list[bool]:
    """Which of the dispatches of a call may run beside the one before."""
    if device.queue.direct is not None:
        pytest.skip("CUDA runs launches one after another")
    seen: list[bool] = []
    queue, plain = device.queue, device.queue.dispatch
    with monkeypatch.context() as patch:
        patch.setattr(queue, "dispatch", lambda *args: (seen.append(args[3]), plain(*args)))
        call()
    return seen


def test_a_given_result_costs_a_later_call_nothing(lib: Any, device: Any) -> None:
    climb = ladder(lib, 8)
    x, out = fp.Tensor.from_numpy(device, np.arange(N, dtype=np.float32)), fp.Tensor.empty(device, N)

    def effort(call: Any) -> int:
        """The least of some calls: to wake the queue's thread, and to submit what is full, is no part of a step."""
        return min(python_calls(call) for _ in range(5))

    given, made = effort(lambda: climb(x, _result=out)), effort(lambda: climb(x))
    assert given <= made + 3, (given, made)
    np.testing.assert_array_equal(out.to_numpy(), np.roll(np.arange(N), -8))
    short = ladder(lib, 2)
    per_kernel = (made - effort(lambda: short(x))) / 6
    assert per_kernel <= (12 if device.target.kind == "cuda" else 7), per_kernel  # 6, and on CUDA its context and the driver


def test_later_calls_pack_and_dispatch_alone(lib: Any, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    climb = ladder(lib, 3)
    a, b, out, other = (fp.Tensor.full(device, N, float(i)) for i in range(4))
    climb(a, _result=out)
    monkeypatch.setattr(Executable, "_lowered", None)
    climb(b, _result=other)
    assert other.to_numpy().tolist() == [1.0] * N
    assert out.to_numpy().tolist() == [0.0] * N
    climb(other, _result=a)
    assert a.to_numpy().tolist() == [1.0] * N


def test_a_kernel_that_runs_twice_keeps_both_blocks(lib: Any, device: Any) -> None:
    """Each of its runs has a root of its own, with the globals of the call that is running."""

    @fp.fuse
    def raised(x: Any) -> Any:
        for _ in range(4):
            x = lib.next_raised(G, x)
        return x

    x, out = fp.Tensor.from_numpy(device, np.arange(N, dtype=np.float32)), fp.Tensor.empty(device, N)
    wanted = np.roll(np.arange(N, dtype=np.float32), -4)
    for by in (1.0, 2.0, 2.0, 3.0, 1.0):
        raised.set(by=by)(x, _result=out)
        np.testing.assert_array_equal(out.to_numpy(), wanted + 4 * by)
    (tape,) = executable_of(raised).tapes.values()
    kernels = [row.kernel for row in tape.rows]
    assert len({*kernels}) == len(kernels) == 4
    assert len({kernel.pipeline for kernel in kernels}) < len(kernels)
    packed = [kernel._packed for kernel in kernels]
    raised.set(by=1.0)(x, _result=out)
    if device.target.kind != "software":
        return  # on a GPU the memory between the kernels may be other memory in each call
    assert all(kernel._packed is before for kernel, before in zip(kernels, packed))  # nothing was written anew


@pytest.mark.parametrize("n", [N, SMALL // 4 + 64])
def test_memory_goes_from_step_to_step(lib: Any, device: Any, monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    """What a chain stores alternates between two blocks, which are taken from the pool once a call; as one if they are little."""
    climb = ladder(lib, 9, fp.grid((n,)))
    x, out = fp.Tensor.full(device, n, 1.0), fp.Tensor.empty(device, n)
    climb(x, _result=out)
    taken: list[int] = []
    plain = device.pool.allocate
    monkeypatch.setattr(device.pool, "allocate", lambda nbytes: (taken.append(nbytes), plain(nbytes))[1])
    climb(x, _result=out)
    assert taken == ([2 * size_class(4 * n)] if n == N else [4 * n] * 2)
    assert out.to_numpy().tolist() == [1.0] * n


def test_a_result_over_the_argument_step_by_step(lib: Any, device: Any) -> None:
    climb = ladder(lib, 2)
    x = fp.Tensor.from_numpy(device, np.arange(N, dtype=np.float32))
    for _ in range(5):
        assert climb(x, _result=x) is x
    np.testing.assert_array_equal(x.to_numpy(), np.roll(np.arange(N), -10))


def test_barriers_where_a_result_lies_in_an_argument(lib: Any, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    both = branches(lib)
    a = np.arange(N, dtype=np.float32)
    x = fp.Tensor.from_numpy(device, a)
    own = [fp.Tensor.empty(device, N) for _ in range(3)]
    both(x)
    placed = [not barrier for barrier in barriers_of(both)]
    assert any(placed)
    for _ in range(2):
        assert overlaps_of(device, monkeypatch, lambda: both(x, _result=tuple(own))) == placed
    for _ in range(2):
        x.copy_from_numpy(a)
        assert not any(overlaps_of(device, monkeypatch, lambda: both(x, _result=(own[0], own[1], x))))
        for found, wanted in zip((own[0], own[1], x), branched(a)):
            np.testing.assert_array_equal(found.to_numpy(), wanted)


def test_barriers_where_a_global_may_lie_in_a_result(lib: Any, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    @fp.fuse
    def f(x: Any) -> Any:
        return lib.looked_up(G, x * 2.0), fp.sum(lib.row(ROWS, x * 3.0), axis=0)

    x, table = fp.Tensor.full(device, N, 1.0), fp.Tensor.full(device, N, 5.0)
    own = fp.Tensor.empty(device, N)
    g = f.set(table=table)
    g(x)
    assert not all(barriers_of(f))
    for _ in range(2):
        assert not any(overlaps_of(device, monkeypatch, lambda: g(x, _result=(own, table))))
        assert table.to_numpy().tolist() == [6.0] * N
        table.copy_from_numpy(np.full(N, 5, np.float32))
    assert any(overlaps_of(device, monkeypatch, lambda: g(x)))


def test_one_value_in_two_shapes_is_written_to_both(lib: Any, device: Any) -> None:
    @fp.fuse
    def sums(x: Any) -> Any:
        stored = lib.next(G, x * 1.0)
        return fp.sum(stored, axis=0), fp.sum(stored, axis=0, keepdims=True), stored

    x = fp.Tensor.full(device, N, 1.0)
    for _ in range(2):
        outs = tuple(fp.Tensor.full(device, shape, -1.0) for shape in [(), (1,), (N,)])
        assert sums(x, _result=outs) == outs
        assert [out.to_numpy().tolist() for out in outs] == [N, [N], [1] * N]


VIEWS = {
    "ends": lambda t: t[N:],
    "same": lambda t: t[:N],
    "later": lambda t: t[1 : N + 1],
    "half": lambda t: t[N // 2 : N // 2 + N],
    "back": lambda t: t[N - 1 :: -1],
    "even": lambda t: t[::2],
    "odd": lambda t: t[1::2],
}


X = st.tuples(st.just(0), st.sampled_from(["same", "even"]))
FIRST = st.tuples(st.sampled_from([0, 1, 1]), st.sampled_from(sorted(VIEWS)))
LAST = st.tuples(st.sampled_from([0, 1, 2, 2]), st.sampled_from(sorted(VIEWS)))


@examples(60)
@given(st.lists(st.tuples(X, FIRST, LAST), min_size=1, max_size=6))
def test_later_calls_do_what_first_ones_do(calls: list[tuple[tuple[int, str], ...]]) -> None:
    """Arguments and results anywhere in one memory: each call gives what NumPy does, or is refused and changes nothing."""
    device = fp.default_device()
    lib = fp.Module.load_from_source(device, "replays", SOURCE)
    both = branches(lib)
    values = np.arange(2 * N, dtype=np.float32)
    for call in [*calls, *calls]:
        memories = [fp.Tensor.from_numpy(device, values) for _ in range(3)]
        x, first, last = (VIEWS[name](memories[n]) for n, name in call)
        second = fp.Tensor.empty(device, N)
        wanted = branched(x.to_numpy())
        refused = ""
        try:
            both(x, _result=(first, second, last))
        except fp.ShapeError as error:
            refused = str(error)
        if refused:
            assert "overlaps" in refused or "shares memory" in refused
            assert all((t.to_numpy() == values).all() for t in memories)
            continue
        for found, expected in zip((first, second, last), wanted):
            np.testing.assert_array_equal(found.to_numpy(), expected)


def test_subclasses_of_tensors_are_replayed_too(device: Any) -> None:
    plus_sum = fp.fuse(lambda x: x + fp.sum(x))
    given, out = fp.NDBuffer(device, shape=(8,)), fp.NDBuffer(device, shape=(8,))
    given.copy_from_numpy(np.arange(8, dtype=np.float32))
    for _ in range(3):
        np.testing.assert_array_equal(plus_sum(given).to_numpy(), np.arange(8) + 28)
        plus_sum(given, _result=out)
        np.testing.assert_array_equal(out.to_numpy(), np.arange(8) + 28)
        out.clear()


def test_a_destination_that_others_still_read_is_refused(lib: Any, device: Any) -> None:
    """An argument of one element is read by all threads; the one that writes over it must not be among them."""
    one, many = fp.Tensor.zeros(device, (1,)), fp.Tensor.zeros(device, (1 << 12,))
    both = fp.fuse(lambda a, b: (a + 1, a + b))
    out = fp.Tensor.zeros(device, (1 << 12,))
    with pytest.raises(fp.ShapeError, match="other threads still read"):
        both(one, many, _result=(one, out))
    both(one, one, _result=(one, out[:1]))
    assert one.to_numpy().tolist() == [1]
