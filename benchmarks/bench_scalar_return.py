"""A call that returns a Python number: `add(1.0, 2.0)`, one after the other, each waiting for the device.

"by hand" is the floor: one dispatch of a hand-written kernel, its submission, a wait for the device, and one read by pointer,
where the host reaches device memory.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import pytest

import fusepy as fp
from benchmarks import peers as p
from benchmarks.programs import SOURCE

CASE = "scalar_return"
PEERS = ["fusepy", "fusepy fused", "slangpy", "slangpy unvalidated", "by hand"]
BLOCKS = 15
CALLS = 500


@pytest.fixture(scope="module")
def runners(kind: str) -> Iterator[dict[str, Callable[[], None]]]:
    made: dict[str, Callable[[], None]] = {}

    def loop(call: Callable[..., Any]) -> Callable[[], None]:
        def run() -> None:
            for _ in repeat(None, CALLS):
                call(1.0, 2.0)

        found = call(1.0, 2.0)
        assert found == 3.0
        assert found.__class__ is float
        return run

    device = p.fusepy_device(kind)
    module = fp.Module.load_from_source(device, "bench", SOURCE)
    made["fusepy"] = loop(module.add)
    made["fusepy fused"] = loop(fp.fuse(lambda x, y: module.add(x, y)))
    for name, validation in (("slangpy", True), ("slangpy unvalidated", False)):
        made[name] = loop(p.spy.Module.load_from_source(p.slangpy_device(kind, validation=validation), "bench", SOURCE).add)
    if device.transfer.host_addressable:
        made["by hand"] = loop(by_hand(kind))
    yield made
    device.close()


def by_hand(kind: str) -> Callable[[float, float], float]:
    """The same with sgl alone."""
    device = p.slangpy_device(kind, validation=False)
    body = "    if (first + lane < p.count) p.r[0] = p.x + p.y;"
    source = p.raw_source(device, "float* r; uint count; float x; float y;", 32, 32, body)
    kernel = p.Raw(device, device.create_slang_session(), "sgl_scalar", source, 32, "<QIff")
    buffer = p.raw_buffer(device, nbytes=4)
    unpack = struct.Struct("<f").unpack

    def call(x: float, y: float) -> float:
        kernel((buffer.device_address, 1, x, y), 1)
        device.wait()
        return unpack(ctypes.string_at(buffer.device_address, 4))[0]

    return call


def bench_scalar(measure: Any, runners: dict[str, Callable[[], None]], block: int, peer: str) -> None:
    if peer not in runners:
        pytest.skip("the host does not reach the memory of this device")
    measure(peer, block, runners[peer], rounds=3, calls=CALLS)
