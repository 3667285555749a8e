"""The queue: what is recorded, in which order, with which barriers, and when it is submitted."""

from __future__ import annotations

import operator
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from fusepy.backend.device import queue as queue_module
from fusepy.backend.device.queue import LIMIT, Queue
from tests.support.slang_functions import F32, ramp, same


@pytest.fixture(autouse=True)
def passes_of_any_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The queue begins passes by sgl's own function, which takes no fake."""
    monkeypatch.setattr(queue_module, "begin_pass", operator.methodcaller("begin_compute_pass"))


class FakePass:
    def __init__(self, log: list[Any]):
        self.log = log

    def bind_pipeline(self, pipeline: Any, root: Any) -> None:
        self.bound = pipeline

    def dispatch_compute(self, groups: Any) -> None:
        self.log.append(("dispatch", self.bound, tuple(groups)))

    def end(self) -> None:
        self.log.append("end")


class FakeEncoder:
    def __init__(self, log: list[Any]):
        self.log = log

    def begin_compute_pass(self) -> FakePass:
        self.log.append("begin")
        return FakePass(self.log)

    def global_barrier(self) -> None:
        self.log.append("barrier")

    def finish(self) -> list[Any]:
        return self.log


class FakeDevice:
    """Records what it is told; `submitted` holds one log per command buffer."""

    def __init__(self, kind: Any = spy.DeviceType.vulkan):
        self.info = type("Info", (), {"type": kind})()
        self.submitted: list[list[Any]] = []
        self.encoders = 0
        self.current = 0

    def create_command_encoder(self) -> FakeEncoder:
        self.encoders += 1
        return FakeEncoder([])

    def submit_command_buffer(self, buffer: list[Any]) -> int:
        self.submitted.append(buffer)
        return len(self.submitted)

    def set_cuda_context_current(self) -> None:
        self.current += 1


def make(deferred: bool = True, kind: Any = spy.DeviceType.vulkan, monkeypatch: Any = None) -> tuple[FakeDevice, Queue]:
    if monkeypatch is not None:
        monkeypatch.setattr(queue_module, "DELAY_S", 3600.0)  # nothing is submitted behind the test's back
    device = FakeDevice(kind)
    return device, Queue(device, threading.RLock(), deferred=deferred)  # type: ignore[arg-type]


def dispatched(log: list[Any]) -> list[Any]:
    return [entry[1] for entry in log if isinstance(entry, tuple)]


def test_a_barrier_stands_before_every_dispatch_but_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    device, queue = make(monkeypatch=monkeypatch)
    for i in range(5):
        queue.dispatch(i, None, [i, 1, 1])  # type: ignore[arg-type]
    assert device.submitted == []
    queue.flush()
    (log,) = device.submitted
    kinds = [entry if isinstance(entry, str) else entry[0] for entry in log]
    assert kinds == ["begin", "dispatch", "end", *(["barrier", "begin", "dispatch", "end"] * 4)]
    assert dispatched(log) == [0, 1, 2, 3, 4]
    assert [entry[2] for entry in log if isinstance(entry, tuple)] == [(i, 1, 1) for i in range(5)]


def test_cuda_records_one_pass_and_makes_its_context_current(monkeypatch: pytest.MonkeyPatch) -> None:
    device, queue = make(kind=spy.DeviceType.cuda, monkeypatch=monkeypatch)
    for i in range(2):
        queue.dispatch(i, None, [1, 1, 1])  # type: ignore[arg-type]
    before = device.current
    assert before  # somebody else may have made another context current since the device was opened
    for i in range(2, 4):  # two threads that may well have the same identifier
        other = threading.Thread(target=lambda i=i: queue.dispatch(i, None, [1, 1, 1]))  # type: ignore[arg-type,misc]
        other.start()
        other.join()
        assert device.current == before + i - 1
    queue.flush()
    assert device.current > before + 2  # and again in the first one
    (log,) = device.submitted
    assert dispatched(log) == [0, 1, 2, 3]
    assert log.count("begin") == log.count("end") == 1
    assert log[-1] == "end"


def test_a_new_encoder_after_each_submission(monkeypatch: pytest.MonkeyPatch) -> None:
    device, queue = make(monkeypatch=monkeypatch)
    for i in range(4):
        queue.dispatch(i, None, [1, 1, 1])  # type: ignore[arg-type]
        if i == 1:
            assert queue.flush() == 1
    assert queue.flush() == 2
    assert [dispatched(log) for log in device.submitted] == [[0, 1], [2, 3]]
    assert [log.count("barrier") for log in device.submitted] == [1, 1]
    assert device.encoders == 2


def test_long_work_starts_at_once_on_an_idle_device_and_is_gathered_on_a_busy_one(monkeypatch: pytest.MonkeyPatch) -> None:
    device, queue = make(monkeypatch=monkeypatch)
    queue.start()
    assert device.submitted == []
    for i, busy in enumerate([False, True, True, False]):
        monkeypatch.setattr(device, "is_submit_finished", lambda last, busy=busy: not busy, raising=False)
        queue.dispatch(i, None, [1, 1, 1])  # type: ignore[arg-type]
        queue.start()
    assert [dispatched(log) for log in device.submitted] == [[0], [1, 2, 3]]


def test_flush_without_work_submits_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    device, queue = make(monkeypatch=monkeypatch)
    assert queue.flush() is None
    queue.dispatch(0, None, [1, 1, 1])  # type: ignore[arg-type]
    assert queue.flush() == queue.flush() == 1
    assert len(device.submitted) == 1


def test_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    device, queue = make(monkeypatch=monkeypatch)
    for i in range(2 * LIMIT + 3):
        queue.dispatch(i, None, [1, 1, 1])  # type: ignore[arg-type]
    assert [len(dispatched(log)) for log in device.submitted] == [LIMIT, LIMIT]
    queue.flush()
    assert [entry for log in device.submitted for entry in dispatched(log)] == list(range(2 * LIMIT + 3))


def test_without_deferral_and_after_share_every_dispatch_is_submitted(monkeypatch: pytest.MonkeyPatch) -> None:
    device, queue = make(deferred=False)
    for i in range(3):
        queue.dispatch(i, None, [1, 1, 1])  # type: ignore[arg-type]
    assert [dispatched(log) for log in device.submitted] == [[0], [1], [2]]
    device, queue = make(monkeypatch=monkeypatch)
    queue.dispatch(0, None, [1, 1, 1])  # type: ignore[arg-type]
    assert not device.submitted
    queue.share()
    assert len(device.submitted) == 1
    queue.dispatch(1, None, [1, 1, 1])  # type: ignore[arg-type]
    assert [dispatched(log) for log in device.submitted] == [[0], [1]]


def test_a_program_is_one_command_buffer_without_deferral() -> None:
    device, queue = make(deferred=False)
    queue.dispatch(0, None, [1, 1, 1])  # type: ignore[arg-type]
    for i in (1, 2, 3):
        queue.dispatch(i, None, [1, 1, 1], more=i < 3)  # type: ignore[arg-type]
        assert [dispatched(log) for log in device.submitted][: i + 1] == [[0], [1, 2, 3]][: 1 + (i == 3)]
    queue.dispatch(4, None, [1, 1, 1])  # type: ignore[arg-type]
    assert [dispatched(log) for log in device.submitted] == [[0], [1, 2, 3], [4]]


def test_what_nobody_submits_is_submitted_by_time() -> None:
    device, queue = make()
    for round in range(3):
        queue.dispatch(round, None, [1, 1, 1])  # type: ignore[arg-type]
        deadline = time.monotonic() + 5
        while len(device.submitted) <= round and time.monotonic() < deadline:
            time.sleep(0.001)
        assert len(device.submitted) == round + 1
        time.sleep(0.005)  # the thread sleeps, and has to be woken again
    queue.close()


def test_close_submits_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    device, queue = make(monkeypatch=monkeypatch)
    queue.dispatch(0, None, [1, 1, 1])  # type: ignore[arg-type]
    queue.close()
    assert len(device.submitted) == 1


def test_calls_that_wait_do_not_wake_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each submits what it has recorded, so the thread finds nothing; it sleeps when nothing was submitted either."""
    _, queue = make(monkeypatch=monkeypatch)
    for _ in range(3 * queue_module.IDLE_LOOKS):
        queue.dispatch(0, None, [1, 1, 1])  # type: ignore[arg-type]
        queue.flush()
        assert queue.look()
    assert [queue.look() for _ in range(queue_module.IDLE_LOOKS)] == [True] * (queue_module.IDLE_LOOKS - 1) + [False]
    queue.close()


# ---- on the device --------------------------------------------------------------------------------------------------


def test_reading_submits(lib: Any, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_module, "DELAY_S", 3600.0)
    t = fp.Tensor.from_numpy(device, ramp(100))
    lib.add(t, 1.0)
    device.wait()
    results = [lib.add(t, float(i)) for i in range(5)]
    same(results[4].to_numpy(), ramp(100) + 4)
    same(results[0].to_numpy(), ramp(100))
    t.copy_from_numpy(ramp(100, start=9))  # an upload comes after the calls that were made before it
    later = lib.add(t, 0.0)
    same(results[2].to_numpy(), ramp(100) + 2)
    same(later.to_numpy(), ramp(100, start=9))


def test_dependent_dispatches_in_one_command_buffer(lib: Any, device: Any) -> None:
    """A chain over more elements than run at once, so that a missing barrier shows on a GPU."""
    n = 1 << 18
    double = fp.fuse(lambda x: x + x)
    for _ in range(5):
        t = fp.Tensor.from_numpy(device, np.ones(n, F32))
        for _ in range(12):
            t = double(t[::-1])
        same(t.to_numpy(), np.full(n, 4096, F32))


def test_memory_is_reused_in_queue_order(lib: Any, device: Any) -> None:
    """Results that nobody keeps give their memory to the next call while earlier ones still read it."""
    source = fp.Tensor.from_numpy(device, ramp(50_000))
    kept = []
    for i in range(100):
        temporary = lib.add(source, float(i))
        kept.append(lib.minus(temporary, source))
        del temporary
    for i, t in enumerate(kept):
        assert np.abs(t.to_numpy() - i).max() < 0.01


@pytest.mark.rest
def test_four_threads(lib: Any, device: Any) -> None:
    fused = fp.fuse(lambda x, k: lib.add(x, k) * 2)
    shared = fp.Tensor.from_numpy(device, ramp(1000))

    def work(seed: int) -> None:
        random = np.random.default_rng(seed)
        own = fp.fuse(lambda x: lib.minus(x, seed))  # compiled in this thread
        for i in range(60):
            k = float(random.integers(100))
            n = int(random.integers(1, 2000))
            same(fused(shared, k).to_numpy(), (ramp(1000) + F32(k)) * 2)
            same(lib.add(ramp(n), k), ramp(n) + F32(k))
            t = lib.add(shared, k)
            for _ in range(3):
                t = lib.add(t, 1.0)
            same(t.to_numpy(), ramp(1000) + F32(k) + 1 + 1 + 1)
            if i % 10 == 0:
                same(own(ramp(n)), ramp(n) - seed)

    with ThreadPoolExecutor(4) as pool:
        for job in [pool.submit(work, seed) for seed in range(4)]:
            job.result(timeout=120)


def test_raw_access_turns_deferral_off() -> None:
    device = fp.init_device(None)
    try:
        m = fp.Module.load_from_source(device, "raw", "float twice(float x) { return 2 * x; }")
        t = m.twice(fp.Tensor.from_numpy(device, ramp(16)))
        raw = t.buffer.to_numpy().view(F32)
        same(raw[t.byte_offset // 4 : t.byte_offset // 4 + 16], ramp(16) * 2)
        u = m.twice(t)
        device.raw.wait()  # submitted without anybody asking
        same(u.buffer.to_numpy().view(F32)[u.byte_offset // 4 : u.byte_offset // 4 + 16], ramp(16) * 4)
    finally:
        device.close()


class Submissions:
    """Counts what a device submits, in a block, with no background thread."""

    def __init__(self, device: Any, monkeypatch: pytest.MonkeyPatch):
        self.count = 0
        self._raw = device.queue._device
        monkeypatch.setattr(device.queue, "_device", self)

    def submit_command_buffer(self, buffer: Any) -> Any:
        self.count += 1
        return self._raw.submit_command_buffer(buffer)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)


def need_submissions() -> None:
    """Skips a test of command buffers where launches go to the driver one by one."""
    if fp.default_device().target.kind == "cuda":
        pytest.skip("launches on CUDA make no command buffers")


def outside_encoder(m: Any, device: Any, t: Any) -> None:
    device.sgl.create_command_encoder()


def appended(m: Any, device: Any, t: Any) -> None:
    encoder = device.sgl.create_command_encoder()
    found = m.twice.append_to(encoder, t)
    device.sgl.submit_command_buffer(encoder.finish())
    # it runs behind the calls that were made before it; read beside fusepy's queue, which would submit a copy
    at = found.byte_offset // 4
    same(found.buffer.to_numpy().view(F32)[at : at + 16], ramp(16) * 16)


@pytest.mark.parametrize(
    "needs",
    [
        lambda m, device, t: t.to_numpy(),
        lambda m, device, t: device.wait(),
        lambda m, device, t: repr(t),
        outside_encoder,
        appended,
    ],
    ids=["read", "wait", "print", "outside encoder", "append_to"],
)
def test_what_needs_the_results_submits_them_together(needs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    need_submissions()
    monkeypatch.setattr(queue_module, "DELAY_S", 3600.0)
    device = fp.init_device()
    try:
        m = fp.Module.load_from_source(device, "deferral", "float twice(float x) { return 2 * x; }")
        m.twice(fp.Tensor.from_numpy(device, ramp(16)))
        device.wait()
        t = fp.Tensor.from_numpy(device, ramp(16))
        submissions = Submissions(device, monkeypatch)
        for _ in range(3):
            t = m.twice(t)
        assert submissions.count == 0
        needs(m, device, t)
        assert submissions.count == 1
        same(t.to_numpy(), ramp(16) * 8)
    finally:
        monkeypatch.undo()
        device.close()


def test_one_option_turns_deferral_off(monkeypatch: pytest.MonkeyPatch) -> None:
    need_submissions()
    device = fp.init_device(deferred=False)
    try:
        m = fp.Module.load_from_source(device, "deferral", "float twice(float x) { return 2 * x; }")
        t = fp.Tensor.from_numpy(device, ramp(16))
        device.wait()
        submissions = Submissions(device, monkeypatch)
        for count in range(1, 4):
            t = m.twice(t)
            assert submissions.count == count
        same(t.to_numpy(), ramp(16) * 8)
    finally:
        monkeypatch.undo()
        device.close()
