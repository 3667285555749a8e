"""1,000 distinct fused functions in one process, each called and kept: what resident memory does."""

from __future__ import annotations

from typing import Any

import numpy as np

import fusepy as fp
from benchmarks import peers as p
from benchmarks.programs import SOURCE

CASE = "many_functions"


def bench_many(measure: Any, kind: str, quick: bool) -> None:
    device = p.fusepy_device(kind)
    module = fp.Module.load_from_source(device, "bench", SOURCE)
    count = 40 if quick else 1000
    x = np.linspace(0, 1, 1024, dtype=np.float32)
    tensor = fp.Tensor.from_numpy(device, x)
    kept: list[Any] = []
    curve = [p.resident_bytes()]

    def make(number: int) -> Any:
        return fp.fuse(lambda v: module.add(v, v) * (number + 0.5))

    def run() -> None:
        for number in range(count):
            function = make(number)
            result = function(tensor)
            kept.append(function)
            if number % (count // 20) == 0:
                np.testing.assert_allclose(result.to_numpy(), 2 * x * (number + 0.5), rtol=1e-6)
            if (number + 1) % (count // 20) == 0:
                device.wait()
                curve.append(p.resident_bytes())

    measure("fusepy", 0, run, rounds=1, warmup=0, calls=count)
    np.testing.assert_allclose(kept[0](tensor).to_numpy(), x, rtol=1e-6)  # evicted, and still works
    half = curve[len(curve) // 2]
    measure.benchmark.extra_info["report"] = {
        "kernels compiled": fp.stats(device).kernels_compiled,
        "resident memory before, MB": f"{curve[0] / 1e6:.0f}",
        "greatest, MB": f"{max(curve) / 1e6:.0f}",
        "growth in the second half, MB": f"{(curve[-1] - half) / 1e6:.0f}",
        f"every {count // 20} functions, MB": " ".join(f"{v / 1e6:.0f}" for v in curve),
    }
