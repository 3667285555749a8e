"""A device with torch's tensors and launches by a driver, without CUDA: launches are dispatches of the queue."""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from fusepy.backend.kernels.kernel import Kernel
from tests.support.torch_device import TorchDevice, torch_device

SOURCE = """
float twice(float x) { return x * 2 + 1; }
float add(float a, float b) { return a + b; }
float3 tint(float3 c, float k) { return c * k; }
int shift(int x, int by) { return x << by; }
float twist(float x, int n) { return x + n; }
bool flip(bool x) { return !x; }
void split(float x, out float whole, out float rest) { whole = floor(x); rest = x - whole; }
"""


class Function:
    """Stands for a `CudaKernel`: a launch is a dispatch with the bytes of the block."""

    def __init__(self, kernel: Any, device: Any):
        self.kernel, self.device = kernel.twin(device), device
        self.block = ctypes.create_string_buffer(kernel.packer.size)

    def copy(self) -> Function:
        made = copy.copy(self)
        made.block = ctypes.create_string_buffer(len(self.block))
        return made

    def launch(self, groups: Sequence[int], stream: int) -> int:
        self.kernel._cursor.set_data(np.frombuffer(self.block, np.uint8).copy())
        self.device.queue.dispatch(self.kernel.pipeline, self.kernel.root, list(groups))
        self.device.queue._submit()
        self.device.raw.wait()
        return 0

    def launcher(self, groups: Sequence[int], stream: int) -> Callable[[], int]:
        return lambda: self.launch(groups, stream)


class Driver:
    def has_global(self, module: int, name: str) -> bool:
        return False

    def check(self) -> None:
        """No kernel breaks its context."""

    def wait(self, stream: int) -> None:
        """Nothing runs on it."""


@pytest.fixture
def d(monkeypatch: pytest.MonkeyPatch) -> Iterator[TorchDevice]:
    def loaded(kernel: Any) -> Any:
        kernel._function = Function(kernel, kernel._device)
        return kernel._function

    monkeypatch.setattr(Kernel, "_loaded", loaded)
    with torch_device(monkeypatch, SOURCE, Driver()) as made:
        yield made
