"""From the trace of a random graph of calls, operators and means to a plan for its kernels; no driver, and no Slang compiler.

Times are per node, so that the ratio of two sizes is 1 where compiling is linear, and garbage is collected as it is elsewhere.
Half of the operations are calls of Slang functions, the rest operators, intrinsics, and three means in a hundred, of the last 20
values made.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable
from statistics import median
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from benchmarks import peers as p
from fusepy.functions.call import compile_call

CASE = "compile_dag"
SIZES = {"200 nodes": 200, "2,000 nodes": 2000}
PEERS = list(SIZES)
BLOCKS = 7
TARGET_MS = 150  # for 200 nodes
SOURCE = "float halve(float a) { return a / 2; } float mix(float a, float b) { return a + (b - a) * 0.3; }"
ARGUMENTS = (np.ones((64, 64), np.float32), np.linspace(0, 1, 64, dtype=np.float32), 2.0)
NUMPY = SimpleNamespace(
    halve=lambda a: a / 2, mix=lambda a, b: a + (b - a) * 0.3, sin=np.sin, maximum=np.maximum, mean=np.mean
)  # fmt: skip
_times: dict[tuple[str, str], list[float]] = {}


def graph(m: Any, count: int, seed: int) -> Callable[..., Any]:
    """A function of `count` random operations."""

    def dag(x: Any, y: Any, k: float) -> Any:
        chance = random.Random(seed)
        values = [x, y]
        for _ in range(count):
            drawn, a, b = chance.random(), chance.choice(values[-20:]), chance.choice(values[-20:])
            if drawn < 0.25:
                made = m.halve(a)
            elif drawn < 0.5:
                made = m.mix(a, b)
            elif drawn < 0.7:
                made = a + b
            elif drawn < 0.85:
                made = m.sin(a) * k
            elif drawn < 0.97:
                made = m.maximum(a, b)
            else:
                made = a - m.mean(b)
            values.append(made)
        return values[-1], values[-2], values[-5]

    return dag


@pytest.fixture(scope="module")
def compile_graph(kind: str) -> Callable[[int, int], None]:
    device = p.fusepy_device(kind)
    module = fp.Module.load_from_source(device, "bench_dag", SOURCE)
    traced = SimpleNamespace(halve=module.halve, mix=module.mix, sin=fp.sin, maximum=fp.maximum, mean=fp.mean)
    for mine, theirs in zip(fp.fuse(graph(traced, 40, 7))(*ARGUMENTS), graph(NUMPY, 40, 7)(*ARGUMENTS)):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)
    compiled = fp.stats(device).kernels_compiled

    def run(count: int, seed: int) -> None:
        gc.enable()  # which the runner has disabled
        program = compile_call(fp.fuse(graph(traced, count, seed)), ARGUMENTS, {}, None)
        assert program.executable is not None
        assert fp.stats(device).kernels_compiled == compiled

    return run


def bench_compile(measure: Any, compile_graph: Callable[[int, int], None], block: int, peer: str, quick: bool) -> None:
    count = SIZES[peer] // (10 if quick else 1)
    measure(peer, block, lambda: compile_graph(count, block), rounds=3 if count < 1000 else 1, calls=count)
    report(measure, peer, block)


def report(measure: Any, peer: str, block: int) -> None:
    times = _times.setdefault((measure.case, peer), [])
    times.append(measure.median * 1e3)
    if block == BLOCKS - 1:
        target = f" (target <= {TARGET_MS})" if peer == PEERS[0] else ""
        measure.benchmark.extra_info["report"] = {f"{peer}, ms{target}": f"{median(times):.0f}"}


@pytest.mark.benchmark(timer=time.thread_time)
def bench_compile_cpu(measure: Any, compile_graph: Callable[[int, int], None], block: int, peer: str, quick: bool) -> None:
    count = SIZES[peer] // (10 if quick else 1)
    measure.case = f"{CASE} cpu"
    measure(peer, block, lambda: compile_graph(count, block), rounds=1, calls=count)
    report(measure, peer, block)
