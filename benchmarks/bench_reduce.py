"""Sums of 16 M float32, whole and along the axes of 4096 x 4096, beside copies that move as many bytes: half as many elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from benchmarks import peers as p

CASE = "reduce"
PEERS = ["sum", "rows", "columns", "mean and max", "copy", "copy command", "numpy"]
BLOCKS = 9


@pytest.fixture(scope="module")
def data(quick: bool) -> Any:
    side = 512 if quick else 4096
    return np.random.default_rng(1).random((side, side), np.float32)


@pytest.fixture(scope="module")
def runners(kind: str, data: Any) -> dict[str, Callable[[], Any]]:
    device = p.fusepy_device(kind)
    same = fp.Module.load_from_source(device, "bench_same", "float same(float x) { return x; }").same
    x = fp.Tensor.from_numpy(device, data)
    half = x[: len(data) // 2]
    copied = fp.Tensor.empty(device, half.shape)
    calls: dict[str, tuple[Callable[[Any], Any], Any]] = {
        "sum": (fp.fuse(lambda x: fp.sum(x)), data.sum(dtype=np.float64)),
        "rows": (fp.fuse(lambda x: fp.sum(x, 1)), data.sum(1, np.float64)),
        "columns": (fp.fuse(lambda x: fp.sum(x, 0)), data.sum(0, np.float64)),
        "mean and max": (fp.fuse(lambda x: fp.mean(x) + fp.max(x)), data.mean(dtype=np.float64) + data.max()),
    }
    made: dict[str, Callable[[], Any]] = {"numpy": lambda: data.sum()}
    for name, (call, expected) in calls.items():
        np.testing.assert_allclose(call(x).to_numpy(), expected, rtol=1e-5)

        def run(call: Callable[[Any], Any] = call) -> None:
            call(x)
            device.wait()

        made[name] = run

    def copy() -> None:
        same(half, _result=copied)
        device.wait()

    def command() -> None:
        with device.lock:
            device.queue.copy(copied.block.buffer, copied.position, half.block.buffer, half.position, half.size * 4)
        device.wait()

    for name, run in (("copy", copy), ("copy command", command)):
        copied.clear()
        run()
        np.testing.assert_array_equal(copied.to_numpy(), data[: len(data) // 2])
        made[name] = run
    return made


def bench_reduce(measure: Any, runners: Any, data: Any, block: int, peer: str) -> None:
    measure(peer, block, runners[peer], rounds=3, warmup=1, bytes=data.nbytes)
