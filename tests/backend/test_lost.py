"""Devices that a kernel has broken: how it is noticed, and what is left of them."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from fusepy.backend import lost
from fusepy.backend.device import device as device_module
from fusepy.backend.device import waiting
from fusepy.backend.lost import Losses

LOST = "m_rhi_graphics_queue->submit failed\nresult: -4 (VK_ERROR_DEVICE_LOST)"


class Native:
    """A native device that refuses what Vulkan refuses once it is lost; everything else is the real one's."""

    info = type("Info", (), {"type": spy.DeviceType.vulkan})()

    def __init__(self, sgl: Any):
        self._sgl = sgl

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sgl, name)

    def is_submit_finished(self, submission: int) -> bool:
        return False

    def submit_command_buffer(self, *_: Any) -> int:
        raise RuntimeError(LOST)

    def wait(self) -> None:
        """Ends without an error, as sgl's does."""


@pytest.fixture
def own() -> Iterator[Any]:
    opened = fp.init_device("vulkan")
    yield opened
    opened.close()


def submits(own: Any, x: Any) -> None:
    fp.fuse(lambda a: a * 2)(x)
    own.queue._device = Native(own.raw)
    own.queue.flush()


def copies(own: Any, x: Any) -> None:
    own.transfer._device, own.transfer.host_addressable = Native(own.raw), False
    own.transfer.upload(x.block.buffer, 0, np.zeros(1, np.uint8))


def reads(own: Any, x: Any) -> None:
    own.transfer._device = Native(own.raw)
    x.to_numpy()


def waits(own: Any, x: Any) -> None:
    own._sgl = Native(own.raw)
    own.wait()


@pytest.mark.parametrize("notice", [submits, copies, reads, waits])
def test_a_lost_device_says_so_and_others_work(notice: Any, own: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A read of its results never ended, since the count of finished submissions stands still."""
    monkeypatch.setattr(waiting, "ASKED_S", 0.01)
    x = fp.Tensor.from_numpy(own, np.ones(8, np.float32))
    y = fp.fuse(lambda a: a + 1)(x)
    own.queue.flush()
    with pytest.raises(fp.DeviceLostError, match=r"a kernel has broken it \(VK_ERROR_DEVICE_LOST\)"):
        notice(own, x)
    assert not own.is_open
    for use in (y.to_numpy, lambda: fp.fuse(lambda a: a + 1)(x), own.wait):
        with pytest.raises(fp.DeviceLostError, match="a kernel has broken it"):
            use()
    other = fp.init_device("vulkan")
    assert fp.fuse(lambda a: a + 1)(fp.Tensor.from_numpy(other, np.ones(2, np.float32))).to_numpy().tolist() == [2, 2]
    other.close()


def test_other_errors_of_a_submission_are_no_loss(own: Any) -> None:
    class Refusing(Native):
        def submit_command_buffer(self, *_: Any) -> int:
            raise RuntimeError("out of memory")

    native: Any = Refusing(own.raw)
    with pytest.raises(RuntimeError, match="out of memory"):
        Losses(own).submit(native, own.raw.create_command_encoder())
    Losses(own).ask(own.raw)
    assert own.is_open
    assert lost.ASKED_S > 0.1


def test_what_belongs_to_a_broken_cuda_context_is_never_touched(own: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """slang-rhi ends the process where it asks a broken context about anything, or releases something of it."""
    kept: list[Any] = []
    closed: list[str] = []
    monkeypatch.setattr(device_module, "keep_for_good", lambda *things: kept.extend(things))
    fused, x = fp.fuse(lambda a: a + 1), fp.Tensor.from_numpy(own, np.ones(2, np.float32))
    assert fused(x).to_numpy().tolist() == [2, 2]
    kernels, sgl, pool = list(own.kernels.values()), own.raw, own.pool
    assert kernels
    own.pool.close = closed.append
    own.queue.driver = object()
    Losses(own).report("a kernel has broken CUDA in this process")
    assert not own.is_open
    assert not closed
    for thing in (*kernels, sgl, pool):
        assert any(one is thing for one in kept), thing


def test_a_lost_device_is_not_opened_again() -> None:
    """It lay among the idle ones, and the next device with its options was this one."""
    device = fp.init_device("vulkan")
    sgl = device.raw
    device.losses.report("a kernel has broken it")
    device.close()
    del device
    gc.collect()
    other = fp.init_device("vulkan")
    assert other.raw is not sgl
    assert other.is_open
    other.close()


def test_a_loss_that_close_notices_is_the_end_of_it(own: Any) -> None:
    fp.fuse(lambda a: a + 1)(fp.Tensor.from_numpy(own, np.ones(8, np.float32)))
    own._sgl = Native(own.raw)
    own.close()
    assert not own.is_open
    with pytest.raises(fp.DeviceLostError, match="a kernel has broken it"):
        own.wait()


def test_a_loss_waits_for_no_lock(own: Any) -> None:
    """Threads that noticed it at the same time waited for each other."""
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with own.lock:
            held.set()
            done.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    own.losses.report("a kernel has broken it")
    assert not own.is_open
    assert thread.is_alive()
    done.set()
    thread.join()
