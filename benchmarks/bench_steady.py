"""100,000 calls over 64 shapes with allocated results: the pool and the kernels stay what they were after warm-up."""

from __future__ import annotations

from typing import Any

import numpy as np

import fusepy as fp
from benchmarks import peers as p
from benchmarks.programs import SOURCE

CASE = "steady"
SHAPES = [(16 * (i + 1),) if i % 2 else (4 + i, 3 * i + 8) for i in range(64)]


def bench_steady(measure: Any, kind: str, quick: bool) -> None:
    device = p.fusepy_device(kind)
    add = fp.Module.load_from_source(device, "bench", SOURCE).add
    random = np.random.default_rng(1)
    arrays = [random.random(shape, np.float32) for shape in SHAPES]
    tensors = [fp.Tensor.from_numpy(device, array) for array in arrays]
    calls = 2_000 if quick else 100_000

    def run(count: int) -> None:
        for i in range(count):
            t = tensors[i % 64]
            add(t, t)
        device.wait()

    for array, tensor in zip(arrays, tensors):
        np.testing.assert_array_equal(add(tensor, tensor).to_numpy(), array + array)
    run(1024)
    before, resident = fp.stats(device), p.resident_bytes()
    measure("fusepy", 0, lambda: run(calls), rounds=1, warmup=0, calls=calls)
    after = fp.stats(device)
    watched = ("pool_reserved_bytes", "pool_peak_bytes", "pool_live_bytes", "kernels_compiled", "plan_misses")
    growth = {name: after[name] - before[name] for name in watched}
    report = {f"growth of {name} over {calls} calls": value for name, value in growth.items()}
    report["growth of resident memory, MB"] = f"{(p.resident_bytes() - resident) / 1e6:.1f}"
    report["kernels in all"] = after.kernels_compiled + after.disk_hits
    measure.benchmark.extra_info["report"] = report
