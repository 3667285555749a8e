"""torch tensors in memory of the device, without CUDA.

On lavapipe a device address is a host pointer, so a tensor of torch's CPU memory stands for one of CUDA: its class says so,
torch's current stream is a number, and a queue that moves to it has run its work.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import fusepy as fp
from fusepy.backend.device.queue import Queue
from fusepy.backend.marshals import torch as marshal

torch: Any = pytest.importorskip("torch")


class OnDevice(torch.Tensor):
    is_cuda, is_cpu = True, False
    __torch_function__ = torch._C._disabled_torch_function_impl


class TorchDevice:
    """A device that takes torch's memory, with the streams that its queue followed."""

    def __init__(self, source: str, driver: Any = None) -> None:
        self.device = fp.init_device("vulkan")
        self.device.queue.driver = driver
        self.device.cuda = -1  # `get_device` of a tensor on the CPU
        self.module = fp.Module.load_from_source(self.device, "on_device", source)
        self.stream = 5
        self.kept: list[Any] = []  # results: torch frees memory of the CPU at once, also what a launch has yet to write
        self.followed: list[tuple[int, int]] = []  # with the dispatches recorded so far

    def tensor(self, value: Any) -> Any:
        return torch.as_tensor(value).as_subclass(OnDevice)

    def same(self, result: Any, expected: Any) -> bool:
        self.device.wait()
        plain = result.as_subclass(torch.Tensor)
        return plain.dtype == expected.dtype and plain.shape == expected.shape and bool(torch.equal(plain, expected))


@contextmanager
def torch_device(monkeypatch: pytest.MonkeyPatch, source: str, driver: Any = None) -> Iterator[TorchDevice]:
    """Yields such a device with a module; `driver` stands for the CUDA driver."""
    made = TorchDevice(source, driver)
    if not made.device.transfer.host_addressable:
        made.device.close()
        pytest.skip("the device cannot read the memory of torch on the CPU, which stands for its own here")

    def move(queue: Queue, stream: int) -> None:
        made.followed.append((stream, made.device.counters.dispatches))
        queue._submit()  # pyright: ignore[reportPrivateUsage]
        made.device.raw.wait()
        queue.stream = stream

    def kept(*args: Any, **kwargs: Any) -> Any:
        made.kept.append(empty(*args, **kwargs))
        return made.kept[-1]

    empty = torch.empty_strided
    monkeypatch.setattr(torch, "empty_strided", kept)
    monkeypatch.setattr(marshal, "stream_reader", lambda index: lambda: made.stream)
    monkeypatch.setattr(Queue, "_move", move)
    yield made
    made.device.close()
