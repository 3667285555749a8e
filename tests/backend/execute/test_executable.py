"""Where a program waits, and when its memory is free: read from the tape, since lavapipe never shows a missing barrier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from fusepy.backend.execute.launch import place_barriers
from fusepy.backend.execute.tape import Tape


@dataclass(frozen=True)
class Touch:
    """What a launch reads and fills, which is all that its order depends on."""

    reads: tuple[int, ...]
    touched: tuple[int, ...]
    acts: bool = False


def placed(*launches: Touch, kept: tuple[int, ...] = ()) -> list[bool]:
    return [barrier for barrier, _ in place_barriers(launches, frozenset(kept))]


def test_a_chain_waits_at_every_step() -> None:
    assert placed(Touch((0,), (1,)), Touch((1,), (2,)), Touch((2,), (3,)), kept=(0, 3)) == [True, True, True]


def test_launches_that_read_arguments_alone_do_not_wait_for_each_other() -> None:
    assert placed(Touch((0,), (2,)), Touch((1,), (3,)), Touch((2, 3), (4,)), kept=(0, 1, 4)) == [True, False, True]


def test_what_one_barrier_has_settled_needs_no_other() -> None:
    launches = [Touch((0,), (1,)), Touch((0,), (2,)), Touch((1,), (3,)), Touch((2,), (4,)), Touch((3, 4), (5,))]
    assert placed(*launches, kept=(0, 5)) == [True, False, True, False, True]


def test_what_writes_memory_waits_and_is_waited_for() -> None:
    assert placed(Touch((0,), (2,)), Touch((1,), (), acts=True), Touch((0,), (3,)), kept=(0, 1, 2, 3)) == [True, True, True]


def test_stages_that_fill_one_array_wait_for_each_other() -> None:
    """Slot 4 are accumulators: the second stage replaces them; what comes beside it may overlap with that stage."""
    launches = [Touch((0,), (1, 4)), Touch((0,), (1, 4)), Touch((0,), (2,)), Touch((0,), (3,))]
    found = place_barriers(launches, frozenset({0, 1, 2, 3}))
    assert [barrier for barrier, _ in found] == [True, True, False, False]
    assert [release for _, release in found] == [(), (), (), ()]


def test_memory_is_given_back_behind_a_barrier() -> None:
    launches = [Touch((0,), (1,)), Touch((1,), (2,)), Touch((0,), (3,)), Touch((2, 3), (4,))]
    found = place_barriers(launches, frozenset({0, 4}))
    assert [barrier for barrier, _ in found] == [True, True, False, True]
    # slot 1 is dead after the second launch, but the third may still run beside that
    assert [release for _, release in found] == [(), (), (), (1,)]


@given(st.data())
def test_no_launch_overlaps_what_it_depends_on(data: st.DataObject) -> None:
    """For random programs: between a launch and the last barrier before it, nobody fills, frees or writes what it touches."""
    launches: list[Touch] = []
    slots = [0, 1]
    for _ in range(data.draw(st.integers(1, 8))):
        reads = tuple(data.draw(st.lists(st.sampled_from(slots), min_size=1, max_size=3)))
        made = tuple(range(len(slots), len(slots) + data.draw(st.integers(1, 2))))
        launches.append(Touch(reads, made, acts=data.draw(st.integers(0, 5)) == 0))
        slots += made
    kept = {0, 1, *data.draw(st.lists(st.sampled_from(slots)))}
    found = place_barriers(launches, frozenset(kept))
    released: dict[int, int] = {}
    for i, (one, (barrier, release)) in enumerate(zip(launches, found)):
        released.update(dict.fromkeys(release, i))
        since = next(j for j in reversed(range(i + 1)) if found[j][0])
        beside = launches[since:i]
        assert not {p for s in beside for p in s.touched} & {*one.reads, *one.touched}
        assert not any(s.acts for s in beside)
        assert not (one.acts and beside)
        # what is freed may be handed out from here on, so whoever touched it has run
        for slot in release:
            users = [j for j, s in enumerate(launches) if slot in s.reads or slot in s.touched]
            assert max(users) < since if not barrier else max(users) < i
    assert not kept & set(released)
    for slot, i in released.items():
        assert all(slot not in s.reads for s in launches[i:])


# ---- on a device ----------------------------------------------------------------------------------------------------

SOURCE = """
import fusepy;
float next(int p, Tensor<float,1> t) { return t[(p + 1) % int(t.shape[0])]; }
"""
COUNT = 1 << 16


@pytest.fixture(scope="module")
def lib(device: Any) -> Any:
    return fp.Module.load_from_source(device, "schedules", SOURCE)


def tape_of(function: Any, *args: Any) -> Tape:
    function(*args)
    (program,) = function.programs.values()
    (linked,) = program.executable.tapes.values()
    return linked.tape  # type: ignore[no-any-return]


def ladder(lib: Any, steps: int) -> Any:
    """A program of so many kernels, each reading what the one before it has stored."""

    @fp.fuse
    def climb(x: Any) -> Any:
        for _ in range(steps):
            x = lib.next(G, x * 1.0)
        return x + 0.5

    return climb


G = fp.grid((COUNT,))


def test_the_peak_counts_what_lies_between_the_stages_of_a_sort(device: Any) -> None:
    order = fp.fuse(lambda x: fp.sort(x))
    x = fp.Tensor.from_numpy(device, np.arange(1 << 16, dtype=np.float32))
    order(x)
    before = device.pool.live_bytes
    device.pool.reset_peak()
    result = order(x)
    told = order.explain(x).peak_bytes
    assert told <= device.pool.peak_bytes - before <= 1.25 * told  # the pool rounds up to size classes
    assert result.shape == x.shape


def test_a_ladder_of_whole_reads_runs_in_the_memory_of_two_steps(lib: Any, device: Any) -> None:
    x = fp.Tensor.from_numpy(device, np.arange(COUNT, dtype=np.float32))
    climb = ladder(lib, 6)
    tape = tape_of(climb, x)
    assert [launch.barrier for launch in tape.launches] == [True] * 7
    assert tape.peak_bytes == 2 * 4 * COUNT
    before = device.pool.live_bytes
    device.pool.reset_peak()
    result = climb(x)
    assert device.pool.peak_bytes - before == 2 * 4 * COUNT
    np.testing.assert_array_equal(result.to_numpy(), np.roll(np.arange(COUNT, dtype=np.float32), -6) + 0.5)


def test_peak_bytes_are_what_the_pool_hands_out(lib: Any, device: Any) -> None:
    """A diamond: two branches that are both needed at the end."""

    @fp.fuse
    def diamond(x: Any) -> Any:
        a, b = x * 2.0, x * 3.0
        left, right = lib.next(G, a), lib.next(G, b)
        return lib.next(G, left * right), lib.next(G, left - right)

    x = fp.Tensor.from_numpy(device, np.linspace(0, 1, COUNT, dtype=np.float32))
    tape = tape_of(diamond, x)
    before = device.pool.live_bytes
    device.pool.reset_peak()
    results = diamond(x)
    assert device.pool.peak_bytes - before == tape.peak_bytes
    a = x.to_numpy()
    left, right = np.roll(a * np.float32(2), -1), np.roll(a * np.float32(3), -1)
    np.testing.assert_allclose(results[0].to_numpy(), np.roll(left * right, -1), rtol=1e-6)
    np.testing.assert_allclose(results[1].to_numpy(), np.roll(left - right, -1), rtol=1e-6)


def test_a_result_may_overwrite_the_argument_that_later_steps_read(lib: Any, device: Any) -> None:
    """The kernel that makes it runs before others have read the argument, so it is put there at the end."""

    @fp.fuse
    def f(x: Any) -> Any:
        doubled = x * 2.0
        return doubled, lib.next(G, doubled) + x

    a = np.arange(COUNT, dtype=np.float32)
    x = fp.Tensor.from_numpy(device, a)
    other = fp.Tensor.empty_like(x)
    f(x, _result=(x, other))
    np.testing.assert_array_equal(x.to_numpy(), 2 * a)
    np.testing.assert_array_equal(other.to_numpy(), np.roll(2 * a, -1) + a)


def test_a_program_is_one_command_buffer(lib: Any, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its dispatches stand in one encoder, with a barrier before each that needs one."""
    if device.queue.direct is not None:
        pytest.skip("CUDA has no encoders")
    x = fp.Tensor.from_numpy(device, np.arange(COUNT, dtype=np.float32))

    @fp.fuse
    def f(x: Any) -> Any:
        return lib.next(G, x * 2.0), lib.next(G, x * 3.0)

    tape = tape_of(f, x)
    seen: list[bool] = []
    queue = device.queue
    plain = queue.dispatch
    monkeypatch.setattr(queue, "dispatch", lambda *args: (seen.append(args[3]), plain(*args)))
    device.wait()
    f(x)
    assert seen == [not launch.barrier for launch in tape.launches]


# ---- later calls ----------------------------------------------------------------------------------------------------


def test_later_calls_take_new_numbers_coordinates_and_memory(lib: Any, device: Any) -> None:
    @fp.fuse
    def f(p: Any, x: Any, gain: Any) -> Any:
        return lib.next(p, x * gain) + gain

    rng = np.random.default_rng(0)
    for i in range(4):
        a = rng.random(64, np.float32)
        gain, offset = float(i + 1), 3 * i
        found = f(fp.grid((8,), offset=(offset,)), fp.Tensor.from_numpy(device, a), gain)
        expected = np.roll(a * np.float32(gain), -1)[offset : offset + 8] + np.float32(gain)
        np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-6)
    program = next(iter(f.programs.values()))
    assert len(program.executable.tapes) == 1


def test_later_calls_of_other_shapes_strides_and_alignment(lib: Any, device: Any) -> None:
    @fp.fuse
    def f(x: Any) -> Any:
        return lib.next(fp.grid((8,)), x * 2.0) + 1.0, fp.sum(x)

    base = np.arange(64, dtype=np.float32)
    t = fp.Tensor.from_numpy(device, base)
    views = [t[:8], t[8:16], t[1:9], t[::2], t[::-1], t[3:35:4], t]
    for _ in range(3):
        for view in views:
            found, total = f(view)
            a = view.to_numpy()
            np.testing.assert_array_equal(found.to_numpy(), np.roll(a * 2, -1)[:8] + 1)
            assert float(total.to_numpy()) == a.sum()


def test_later_calls_refuse_what_the_first_would(lib: Any, device: Any) -> None:
    module = fp.Module.load_from_source(
        device, "narrow", "import fusepy; float f(int p, Tensor<float,1> t, int k) { return t[p] + k; }"
    )
    program = fp.fuse(lambda x, k: module.f(fp.grid((4,)), x * 1.0, k))
    x = fp.Tensor.zeros(device, 4)
    for k in (1, 2, 3):
        np.testing.assert_array_equal(program(x, k).to_numpy(), np.full(4, k, np.float32))
    for _ in range(2):
        with pytest.raises(fp.RangeError, match="'k'"):
            program(x, 1 << 40)
    np.testing.assert_array_equal(program(x, 7).to_numpy(), np.full(4, 7, np.float32))


def test_given_results_do_not_disturb_later_calls(lib: Any, device: Any) -> None:
    f = ladder(lib, 2)
    x = fp.Tensor.from_numpy(device, np.arange(COUNT, dtype=np.float32))
    expected = f(x).to_numpy()
    for _ in range(2):
        out = fp.Tensor.empty_like(x)
        f(x, _result=out)
        np.testing.assert_array_equal(out.to_numpy(), expected)
        np.testing.assert_array_equal(f(x).to_numpy(), expected)


def test_kernels_that_were_given_up_come_back(lib: Any, device: Any) -> None:
    f = ladder(lib, 2)
    x = fp.Tensor.from_numpy(device, np.arange(COUNT, dtype=np.float32))
    tape = tape_of(f, x)
    expected = f(x).to_numpy()
    (program,) = f.programs.values()
    program.executable.evict()
    assert not any(launch.plan.kernels for launch in tape.launches)
    np.testing.assert_array_equal(f(x).to_numpy(), expected)


def test_a_recorded_program_keeps_its_memory(lib: Any, device: Any) -> None:
    """What is between the kernels must live until somebody submits the encoder."""
    f = ladder(lib, 3)
    x = fp.Tensor.from_numpy(device, np.arange(COUNT, dtype=np.float32))
    expected = f(x).to_numpy()
    for _ in range(2):
        encoder = device.sgl.create_command_encoder()
        out = fp.Tensor.empty_like(x)
        f.append_to(encoder, x, _result=out)
        others = [fp.Tensor.full(device, COUNT, -1.0) for _ in range(8)]
        device.sgl.submit_command_buffer(encoder.finish())
        device.wait()
        np.testing.assert_array_equal(out.to_numpy(), expected)
        assert all((t.to_numpy() == -1).all() for t in others)
