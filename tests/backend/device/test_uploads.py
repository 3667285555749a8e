"""Arrays and lists are written to memory that nothing uses any more, so a call with them never waits for earlier calls."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.device import pool, transfer
from fusepy.backend.device.transfer import PIECE_BYTES, Transfer
from tests.support.python_calls import python_calls
from tests.support.slang_functions import F32

SOURCE = """
float slow(float x, int rounds)
{
    for (int i = 0; i < rounds; i++) x = x * 0.999f + 1; // stays below 1000, however it is rounded
    return x;
}
float add(float x, float y) { return x + y; }
"""


@pytest.fixture(scope="module")
def own() -> Iterator[Any]:
    """A device whose memory nobody else has seen."""
    device = fp.init_device()
    yield fp.Module.load_from_source(device, "uploads", SOURCE)
    device.close()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    found: list[int] = []
    wait = transfer.wait_for_submission

    def counted(device: Any, submission: int, *others: Any, **options: Any) -> None:
        if not device.is_submit_finished(submission):
            found.append(submission)
        wait(device, submission, *others, **options)

    monkeypatch.setattr(transfer, "wait_for_submission", counted)
    return found


def busy(m: Any, seconds: float = 0.3) -> Any:
    """What a kernel fills that runs for about that long."""
    x, out = fp.Tensor.zeros(m.device, 4096), fp.Tensor.zeros(m.device, 4096)
    m.slow(x, 1000, _result=out)
    m.device.wait()
    rounds = 1000
    while True:
        start = time.perf_counter()
        m.slow(x, rounds, _result=out)
        m.device.wait()
        took = time.perf_counter() - start
        if took > 0.05:
            break
        rounds *= 4
    m.slow(x, int(rounds * seconds / took), _result=out)
    m.device.queue.flush()
    return out


@pytest.mark.rest
def test_a_call_with_a_list_or_an_array_does_not_wait_for_earlier_calls(own: Any, waits: list[int]) -> None:
    given = [[1.0] * 5, np.ones(5, F32), np.ones(300_000, F32), np.ones((3, 100_000), F32).T[:, 0]]
    tensors = [fp.Tensor.zeros(own.device, np.shape(g)) for g in given]
    for t, g in zip(tensors, given):  # compiles
        own.add(t, g, _result=t)
    for seconds in (0.3, 1.2, 5.0):  # the longer, if the kernel ended before the calls did, as on a machine with much else to do
        wanted = [t.to_numpy() + 10 for t in tensors]
        out = busy(own, seconds)
        waits.clear()
        for _ in range(10):
            for t, g in zip(tensors, given):
                own.add(t, g, _result=t)
                fp.Tensor.zeros(own.device, 7), fp.Tensor.full(own.device, 7, 1.0)
        assert not waits
        still_runs = not own.device.queue.finished(own.device.queue.now())
        for t, w in zip(tensors, wanted):
            np.testing.assert_array_equal(t.to_numpy(), w)
        if still_runs or not own.device.transfer.host_addressable:
            break
    else:
        pytest.fail("no kernel outlasted the calls")
    assert np.isfinite(out.to_numpy()).all()


def test_what_is_written_while_kernels_run_is_not_what_they_read(own: Any) -> None:
    """Blocks of one size are dropped and taken by turns, while kernels that are behind still read them."""
    zeros = fp.Tensor.zeros(own.device, 64)
    for size in (64, 5000):
        busy(own, 0.1)
        results = []
        for i in range(100):
            given = np.full(size, i, F32)
            results.append(own.add(fp.Tensor.from_numpy(own.device, given), 0.5))
            if i % 10 == 0:
                results.append(own.add(zeros, [i] * 64))
        found = [r.to_numpy() for r in results]
        at = 0
        for i in range(100):
            np.testing.assert_array_equal(found[at], np.full(size, i + 0.5, F32))
            at += 1
            if i % 10 == 0:
                np.testing.assert_array_equal(found[at], np.full(64, i, F32))
                at += 1


def test_what_is_taken_while_kernels_run_is_bounded(own: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "SPARE_BYTES", 1 << 20)
    given = np.ones(50_000, F32)
    t = fp.Tensor.zeros(own.device, 50_000)
    own.device.wait()
    before = own.device.pool.reserved_bytes
    busy(own, 0.1)
    for _ in range(400):
        own.add(t, given, _result=t)
    assert (t.to_numpy() == 400).all()
    assert own.device.pool.reserved_bytes <= before + (64 << 20) + 256  # one more slab


@pytest.mark.rest
def test_staged_uploads_do_not_wait_for_earlier_work(own: Any, waits: list[int]) -> None:
    """As GPUs with memory of their own upload, by a ring of small buffers."""
    staged = Transfer(own.device.raw, flush=own.device.queue.flush, host_addressable=False)
    t = fp.Tensor.zeros(own.device, 2 * PIECE_BYTES)
    rows = np.arange(2 * PIECE_BYTES, dtype=F32)
    out = busy(own)
    waits.clear()
    for i in range(20):
        staged.upload(t.block.buffer, t.byte_offset + 64 * i, rows[16 * i : 16 * i + 16])
    staged.upload(t.block.buffer, t.byte_offset + 64 * 20, rows[16 * 20 :])
    assert not waits
    assert len(staged._small) <= 20
    assert len(staged._uploads) <= 8
    own.device.raw.wait()  # the device's own transfers know of no other submissions
    np.testing.assert_array_equal(t.to_numpy(), rows)
    assert np.isfinite(out.to_numpy()).all()
    for _ in range(20):  # the device keeps up: no more buffers
        staged.upload(t.block.buffer, t.byte_offset, rows)
        own.device.raw.wait()
    assert len(staged._uploads) <= 8


def test_memory_that_others_use_is_written_after_all_work(own: Any, waits: list[int]) -> None:
    own.device.queue.expect_others()
    assert own.device.pool.allocate_idle(100) is None
    t = fp.Tensor.zeros(own.device, 5)
    own.add(t, [1.0] * 5, _result=t)
    assert (t.to_numpy() == 1).all()


@pytest.mark.req("V9")
def test_an_array_that_goes_in_and_out_runs_little_python(device: Any) -> None:
    """The least of some calls: to wake the queue's thread is no part of one."""
    if not device.transfer.host_addressable:
        pytest.skip("a staged copy runs more, by how far the device is behind")
    m = fp.Module.load_from_source(device, "uploads", SOURCE)
    given = np.arange(12, dtype=F32)
    held = fp.Tensor.from_numpy(device, given)
    by_array = min(python_calls(lambda: m.add(given, 1.0)) for _ in range(5))
    by_tensor = min(python_calls(lambda: m.add(held, 1.0)) for _ in range(5))
    assert by_array - by_tensor <= 126, (by_array, by_tensor)
