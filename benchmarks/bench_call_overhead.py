"""What a call costs the host on 1,024 elements: Python, submission, and the wait for a run of calls at its end.

Twice: by the clock, and as CPU time of the calling thread, which neither the software driver's threads nor other processes blur.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from benchmarks import peers as p
from benchmarks.calls import bench_call, bench_call_cpu
from benchmarks.programs import SOURCE

CASE = "call_overhead"
PEERS = [
    "fusepy declared",
    "fusepy undeclared",
    "fusepy fused",
    "fusepy allocating",
    "fusepy declared allocating",
    "fusepy changed argument",
    "fusepy changed global",
    "fusepy undeferred",
    "fusepy undeferred allocating",
    "slangpy",
    "slangpy unvalidated",
    "slangpy allocating",
    "slangpy unvalidated allocating",
    "sgl",
]
CHANGING = """
uniform float factor;
float scale(float x, float k) { return x * k; }
float scale_global(float x) { return x * factor; }
"""
BLOCKS = 15
N = 1024
CALLS = 1000


@pytest.fixture(scope="module")
def runners(kind: str) -> Iterator[dict[str, Callable[[], None]]]:
    random = np.random.default_rng(1)
    a, b = random.random((2, N), np.float32)
    made: dict[str, Callable[[], None]] = {}

    def loop(call: Callable[..., Any], x: Any, y: Any, result: Any, wait: Callable[[], None]) -> Callable[[], None]:
        def given() -> None:
            for _ in repeat(None, CALLS):
                call(x, y, _result=result)
            wait()

        def allocating() -> None:
            for _ in repeat(None, CALLS):
                call(x, y)
            wait()

        return allocating if result is None else given

    def add_fusepy(device: Any, names: dict[str, tuple[Callable[[Any], Any], bool]]) -> None:
        module = fp.Module.load_from_source(device, "bench", SOURCE)
        x, y = fp.Tensor.from_numpy(device, a), fp.Tensor.from_numpy(device, b)
        for name, (function, given) in names.items():
            result = fp.Tensor.empty(device, N) if given else None
            call = function(module)
            out = call(x, y) if result is None else call(x, y, _result=result)
            np.testing.assert_array_equal((out if result is None else result).to_numpy(), a + b)
            made[name] = loop(call, x, y, result, device.wait)

    def add_changing(device: Any) -> None:
        """A number that every call has anew: as an argument, and as a global."""
        module = fp.Module.load_from_source(device, "bench_changing", CHANGING)
        x, result = fp.Tensor.from_numpy(device, a), fp.Tensor.empty(device, N)
        numbers = [i * 0.5 for i in range(CALLS)]

        def argument() -> None:
            for number in numbers:
                module.scale(x, number, _result=result)
            device.wait()

        def global_() -> None:
            for number in numbers:
                module.scale_global.set(factor=number)(x, _result=result)
            device.wait()

        for name, run in (("fusepy changed argument", argument), ("fusepy changed global", global_)):
            run()
            np.testing.assert_array_equal(result.to_numpy(), a * np.float32(numbers[-1]))
            made[name] = run

    declared = lambda m: m.add.declare(fp.vmapping(0), fp.vmapping(0))  # noqa: E731
    fused = lambda m: fp.fuse(lambda x, y: m.add(x, y))  # noqa: E731
    deferred, undeferred = p.fusepy_device(kind), p.fusepy_device(kind, deferred=False)
    add_fusepy(
        deferred,
        {
            "fusepy declared": (declared, True),
            "fusepy undeclared": (lambda m: m.add, True),
            "fusepy fused": (fused, True),
            "fusepy allocating": (lambda m: m.add, False),
            "fusepy declared allocating": (declared, False),
        },
    )
    add_changing(deferred)
    add_fusepy(undeferred, {"fusepy undeferred": (declared, True), "fusepy undeferred allocating": (lambda m: m.add, False)})

    for name, validation in (("slangpy", True), ("slangpy unvalidated", False)):
        device = p.slangpy_device(kind, validation=validation)
        module = p.spy.Module.load_from_source(device, "bench", SOURCE)
        x, y, r = (p.slangpy_tensor(device, v, module.float) for v in (a, b, np.zeros_like(a)))
        module.add(x, y, _result=r)
        np.testing.assert_array_equal(r.to_numpy(), a + b)
        np.testing.assert_array_equal(module.add(x, y).to_numpy(), a + b)
        made[name] = loop(module.add, x, y, r, device.wait)
        made[f"{name} allocating"] = loop(module.add, x, y, None, device.wait)

    device = p.slangpy_device(kind, validation=False)
    threads, per_group, body = p.elements(64, 1, "p.r[i] = p.a[i] + p.b[i];")
    source = p.raw_source(device, "float* a; float* b; float* r; uint count;", threads, per_group, body)
    kernel = p.Raw(device, device.create_slang_session(), "sgl_add", source, per_group, "<QQQI")
    buffers = [p.raw_buffer(device, a), p.raw_buffer(device, b), p.raw_buffer(device, nbytes=4 * N)]
    values = (*(buffer.device_address for buffer in buffers), N)

    def sgl() -> None:
        for _ in repeat(None, CALLS):
            kernel(values, N)
        device.wait()

    sgl()
    np.testing.assert_array_equal(buffers[2].to_numpy().view(np.float32), a + b)
    made["sgl"] = sgl
    yield made
    deferred.close()
    undeferred.close()


__all__ = ["bench_call", "bench_call_cpu", "runners"]
