"""What a call of a planned program of ten kernels costs the host, in a stream of calls and one wait at its end.

Ten steps on 1,024 numbers, each of which reads all of what the one before has stored, so no two can be one kernel. By hand: ten
kernels, each with its block of parameters set anew for every call; one encoder and one submission a call, a barrier between
kernels and none before the first. Its buffers are made once, the result too; ``sgl allocating`` makes a buffer for the result of
each call. fusepy takes all its memory from its pool in every call, the result too, but for ``fusepy result given``. It
submits several calls at once, but for ``fusepy undeferred``, which submits each as the hand-written code does.

Twice: by the clock, and as CPU time of the calling thread.
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

CASE = "program_call"
PEERS = ["fusepy", "fusepy result given", "fusepy undeferred", "sgl", "sgl allocating"]
BLOCKS = 15
N = 1024
CALLS = 50
KERNELS = 10
NEXT = "import fusepy; float next(int i, Tensor<float,1> x) { return x[(i + 1) % int(x.shape[0])] * 1.5; }"


@pytest.fixture(scope="module")
def runners(kind: str) -> Iterator[dict[str, Callable[[], None]]]:
    x = np.random.default_rng(1).random(N, np.float32)
    wanted = np.roll(x, -KERNELS) * np.float32(1.5) ** KERNELS
    made: dict[str, Callable[[], None]] = {}

    def add_fusepy(device: Any, names: dict[str, bool]) -> None:
        module = fp.Module.load_from_source(device, "bench_next", NEXT)
        places = fp.grid((N,))

        @fp.fuse
        def ten(x: Any) -> Any:
            for _ in range(KERNELS):
                x = module.next(places, x)
            return x

        a = fp.Tensor.from_numpy(device, x)
        assert ten.explain(a).kernels == KERNELS
        for name, given in names.items():
            result = fp.Tensor.empty(device, N) if given else None

            def run(result: Any = result) -> None:
                if result is None:
                    for _ in repeat(None, CALLS):
                        ten(a)
                else:
                    for _ in repeat(None, CALLS):
                        ten(a, _result=result)
                device.wait()

            run()
            np.testing.assert_allclose(ten(a, _result=result).to_numpy(), wanted, rtol=1e-5)
            made[name] = run

    deferred, undeferred = p.fusepy_device(kind), p.fusepy_device(kind, deferred=False)
    add_fusepy(deferred, {"fusepy": False, "fusepy result given": True})
    add_fusepy(undeferred, {"fusepy undeferred": False})
    add_by_hand(kind, x, wanted, made)
    yield made
    deferred.close()
    undeferred.close()


def add_by_hand(kind: str, x: Any, wanted: Any, made: dict[str, Callable[[], None]]) -> None:
    device = p.slangpy_device(kind, validation=False)
    session = device.create_slang_session()
    threads, per_group, body = p.elements(64, 1, "p.r[i] = p.a[(i + 1) % p.count] * 1.5;")
    source = p.raw_source(device, "float* a; float* r; uint count;", threads, per_group, body)
    kernels = [p.Raw(device, session, f"sgl_next_{i}", source, per_group, "<QQI") for i in range(KERNELS)]
    buffers = [p.raw_buffer(device, x), *(p.raw_buffer(device, nbytes=4 * N) for _ in kernels)]
    addresses = [buffer.device_address for buffer in buffers]
    groups = [N // per_group, 1, 1]

    def call() -> None:
        encoder = device.create_command_encoder()
        for i, kernel in enumerate(kernels):
            if i:
                encoder.global_barrier()
            kernel.record(encoder, (addresses[i], addresses[i + 1], N), groups)
        device.submit_command_buffer(encoder.finish())

    def sgl() -> None:
        for _ in repeat(None, CALLS):
            call()
        device.wait()

    def allocating() -> None:
        for _ in repeat(None, CALLS):
            buffers[-1] = p.raw_buffer(device, nbytes=4 * N)
            addresses[-1] = buffers[-1].device_address
            call()
        device.wait()

    for name, run in (("sgl", sgl), ("sgl allocating", allocating)):
        run()
        np.testing.assert_allclose(buffers[-1].to_numpy().view(np.float32), wanted, rtol=1e-5)
        made[name] = run


__all__ = ["bench_call", "bench_call_cpu", "runners"]
