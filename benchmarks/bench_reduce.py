"""Sums of 16 M float32, whole and along the axes of 4096 x 4096, beside copies that move as many bytes: half as many elements.

On a GPU they are 64 M and 8192 x 8192, beside torch's, and many calls are made before one is waited for: else the host would be
measured.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from benchmarks import peers as p

CASE = "reduce"
TORCH = ["torch sum", "torch rows", "torch columns"]
PEERS = ["sum", "rows", "columns", "mean and max", "copy", "copy command", "numpy", *TORCH]
BLOCKS = 9
CALLS_ON_GPU = 100


@pytest.fixture(scope="module")
def data(quick: bool, calls: int) -> Any:
    side = 512 if quick else 4096 if calls == 1 else 8192
    return np.random.default_rng(1).random((side, side), np.float32)


@pytest.fixture(scope="module")
def runners(device: Any, data: Any, calls: int) -> dict[str, Callable[[], Any]]:
    same = fp.Module.load_from_source(device, "bench_same", "float same(float x) { return x; }").same
    x = fp.Tensor.from_numpy(device, data)
    half = x[: len(data) // 2]
    copied = fp.Tensor.empty(device, half.shape)
    folds: dict[str, tuple[Callable[[Any], Any], Any]] = {
        "sum": (fp.fuse(lambda x: fp.sum(x)), data.sum(dtype=np.float64)),
        "rows": (fp.fuse(lambda x: fp.sum(x, 1)), data.sum(1, np.float64)),
        "columns": (fp.fuse(lambda x: fp.sum(x, 0)), data.sum(0, np.float64)),
        "mean and max": (fp.fuse(lambda x: fp.mean(x) + fp.max(x)), data.mean(dtype=np.float64) + data.max()),
    }
    made: dict[str, Callable[[], Any]] = {"numpy": lambda: data.sum()}
    for name, (call, expected) in folds.items():
        np.testing.assert_allclose(call(x).to_numpy(), expected, rtol=1e-5)

        def run(call: Callable[[Any], Any] = call) -> None:
            for _ in repeat(None, calls):
                call(x)
            device.wait()

        made[name] = run

    def copy() -> None:
        for _ in repeat(None, calls):
            same(half, _result=copied)
        device.wait()

    def command() -> None:
        for _ in repeat(None, calls):
            with device.lock:
                device.queue.copy(copied.block.buffer, copied.byte_offset, half.block.buffer, half.byte_offset, half.size * 4)
        device.wait()

    for name, run in (("copy", copy), ("copy command", command)):
        copied.clear()
        run()
        np.testing.assert_array_equal(copied.to_numpy(), data[: len(data) // 2])
        made[name] = run
    return made


@pytest.fixture(scope="module")
def theirs(data: Any, calls: int) -> dict[str, Callable[[], Any]]:
    """What torch does on a GPU."""
    torch = p.optional("torch", CASE, "torch") if calls > 1 else None
    if torch is None:
        return {}
    t = torch.from_numpy(data).cuda()
    made: dict[str, Callable[[], Any]] = {}
    for name, axis in zip(TORCH, (None, 1, 0)):

        def run(axis: int | None = axis) -> None:
            for _ in repeat(None, calls):
                torch.sum(t, axis)
            torch.cuda.synchronize()

        made[name] = run
    return made


def bench_reduce(measure: Any, runners: Any, theirs: Any, data: Any, calls: int, block: int, peer: str) -> None:
    target = theirs.get(peer) if peer in TORCH else runners[peer]
    if target is None:
        pytest.skip("not installed, or no GPU")
    measure(peer, block, target, rounds=3, warmup=1, calls=1 if peer == "numpy" else calls, bytes=data.nbytes)
