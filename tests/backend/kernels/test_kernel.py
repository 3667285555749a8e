"""Which launches of a kernel go through the CUDA driver, and which are recorded. A fake stands for the driver."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.device.sink import Sink
from fusepy.backend.kernels.kernel import LONG


class Mixed(Sink):
    """Records what it is asked for; its launcher may be one whose launches must go out at once."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.immediate = False
        self.keeps = False

    @property
    def direct(self) -> Any:
        return self

    def launch(self, function: Any, groups: Sequence[int]) -> None:
        self.log.append("launched")

    def dispatch(self, *given: Any) -> None:
        self.log.append("recorded")

    def start(self) -> None:
        self.log.append("started")


@pytest.mark.req("P3")
def test_a_kernel_is_recorded_while_its_parameters_stay_and_nobody_else_waits(device: Any) -> None:
    m = fp.Module.load_from_source(device, "unchanged", "float once_more(float x) { return x + 1; }")
    x, out = (fp.Tensor.from_numpy(device, np.ones(8, np.float32)) for _ in range(2))
    m.once_more(x, _result=out)
    kernel = next(k for k in device.kernels.values() if "once_more" in k.names[0]).twin(device)
    block = SimpleNamespace(raw=b"")
    kernel.direct, kernel._function = True, cast("Any", SimpleNamespace(block=block))
    sink = Mixed()

    def launched(x: int, immediate: bool = False) -> str:
        sink.immediate = immediate
        kernel.launch(sink, None, [x, out.address, 8], 8)
        return sink.log.pop()

    a, b = x.address, x.address + 16
    assert [launched(at) for at in (a, a, a, b, a, a)] == [
        "launched", "recorded", "recorded", "launched", "launched", "recorded"
    ]  # fmt: skip
    assert block.raw == kernel.packer.pack(a, out.address, 8)
    assert launched(a, immediate=True) == "launched"
    assert not sink.log
    assert not kernel.eager
    assert float(fp.fuse(lambda x: fp.sum(m.once_more(x)))(x)) == 16.0
    assert any(k.eager for k in device.kernels.values())  # the host reads what they write


def test_kernels_of_many_elements_start_at_once(device: Any) -> None:
    m = fp.Module.load_from_source(device, "started", "float next_of(float x) { return x + 1; }")
    x = fp.Tensor.from_numpy(device, np.ones(8, np.float32))
    m.next_of(x)
    kernel = next(k for k in device.kernels.values() if "next_of" in k.names[0]).twin(device)
    kernel.direct, sink = False, Mixed()
    for count in (LONG - 1, LONG):
        kernel.launch(sink, None, [x.address, x.address, 8], count)
    assert sink.log == ["recorded", "recorded", "started"]
