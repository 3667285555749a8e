"""Effects: the order of calls that write memory, and of what reads it before and behind them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp

SOURCE = """
import fusepy;
float whole(Tensor<float, 1> t, int i) { return t[i] * 2; }
float pointed(float* t, int i) { return t[i] * 2; }
float buffered(StructuredBuffer<float> t, int i) { return t[i] * 2; }
void put(RWTensor<float, 1> t, int i, float v) { t[i] = v; }
void put_buffer(RWStructuredBuffer<float> t, int i, float v) { t[i] = v; }
void put_pointer(float* t, int i, float v) { t[i] = v; }
"""
AT = np.arange(3, dtype=np.int32)
READS: dict[str, Any] = {
    "element": lambda m, t: t[::-1] * 2.0,
    "call": lambda m, t: m.whole(t, AT[::-1].copy()),
    "pointer": lambda m, t: m.pointed(t, AT[::-1].copy()),
    "buffer": lambda m, t: m.buffered(t, AT[::-1].copy()),
}


@pytest.fixture(scope="module")
def m(device: fp.Device) -> fp.Module:
    return fp.Module.load_from_source(device, "write_order", SOURCE)


@pytest.mark.parametrize("put", ["put", "put_buffer", "put_pointer"])
@pytest.mark.parametrize("read", READS)
def test_reads_before_and_behind_a_write(device: fp.Device, m: fp.Module, read: str, put: str) -> None:
    @fp.fuse
    def around(t: Any) -> Any:
        before = READS[read](m, t)
        m[put](t, AT, 10.0)
        return before, before + fp.sum(READS[read](m, t)), before[1:]

    t = fp.Tensor.from_numpy(device, np.float32([1, 2, 3]))
    before, later, part = around(t)
    assert before.tolist() == [6, 4, 2]
    assert later.tolist() == [66, 64, 62]
    assert part.tolist() == [4, 2]


def test_calls_that_only_read_by_pointers_share_a_kernel(device: fp.Device, m: fp.Module) -> None:
    twice = fp.fuse(lambda t: m.pointed(t, AT) + m.pointed(t, AT[::-1].copy()))
    t = fp.Tensor.from_numpy(device, np.float32([1, 2, 3]))
    assert twice(t).tolist() == [8, 8, 8]
    assert twice.explain(t).kernels == 1
