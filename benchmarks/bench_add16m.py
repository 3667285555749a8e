"""Contiguous float32 ``a + b`` on 16 M elements; the hand-written kernel is tried in several thread shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from benchmarks import peers as p
from benchmarks.programs import SOURCE

CASE = "add16m"
PEERS = ["fusepy", "sgl", "sgl second", "sgl third", "slangpy", "numpy"]
BLOCKS = 15
ADD = "float x = p.a[i]; float y = p.b[i]; p.r[i] = x + y;"
ADD4 = ADD.replace("float ", "float4 ")
SHAPES: dict[str, tuple[str, tuple[int, int, str]]] = {
    **{f"one per thread, {g}": ("float", p.elements(g, 1, ADD)) for g in (64, 256, 1024)},
    **{f"stride {k}x{g}": ("float", p.elements(g, k, ADD)) for g in (256, 512, 1024) for k in (4, 8, 16, 32, 64)},
    **{f"stride {k}x{g}, leaving": ("float", p.elements(g, k, ADD, leave=True)) for g in (256, 512, 1024) for k in (8, 32, 64)},
    **{f"float4 stride {k}x{g}, leaving": ("float4", p.elements(g, k, ADD4, leave=True)) for g in (256, 512) for k in (4, 8, 16)},
    **{f"float4 stride {k}x{g}": ("float4", p.elements(g, k, ADD4)) for g in (64, 256, 512) for k in (1, 4, 8, 16)},
}  # fmt: skip
SEARCHED = list(SHAPES)
RANKS = {"sgl": 0, "sgl second": 1, "sgl third": 2}
_search: dict[str, list[float]] = {}


@pytest.fixture(scope="module")
def data(quick: bool) -> Any:
    return np.random.default_rng(1).random((2, 1 << 18 if quick else 1 << 24), np.float32)


@pytest.fixture(scope="module")
def raw(kind: str, data: Any) -> dict[str, Callable[[], None]]:
    device = p.slangpy_device(kind, validation=False)
    session = device.create_slang_session()
    a, b, r = p.raw_buffer(device, data[0]), p.raw_buffer(device, data[1]), p.raw_buffer(device, nbytes=data[0].nbytes)
    made: dict[str, Callable[[], None]] = {}
    for number, (name, (type, (threads, per_group, body))) in enumerate(SHAPES.items()):
        source = p.raw_source(device, f"{type}* a; {type}* b; {type}* r; uint count;", threads, per_group, body)
        kernel = p.Raw(device, session, f"add_{number}", source, per_group, "<QQQI")
        count = data.shape[1] // (4 if type == "float4" else 1)

        def run(kernel: p.Raw = kernel, count: int = count) -> None:
            kernel((a.device_address, b.device_address, r.device_address, count), count)
            device.wait()

        r.copy_from_numpy(np.zeros_like(data[0]))
        run()
        np.testing.assert_array_equal(r.to_numpy().view(np.float32), data[0] + data[1])
        made[name] = run
    return made


@pytest.fixture(scope="module")
def runners(kind: str, data: Any) -> dict[str, Callable[[], Any]]:
    device = p.fusepy_device(kind)
    add = fp.Module.load_from_source(device, "bench", SOURCE).add
    a, b, r = fp.Tensor.from_numpy(device, data[0]), fp.Tensor.from_numpy(device, data[1]), fp.Tensor.empty(device, data.shape[1])

    def fusepy() -> None:
        add(a, b, _result=r)
        device.wait()

    fusepy()
    np.testing.assert_array_equal(r.to_numpy(), data[0] + data[1])

    other = p.slangpy_device(kind, validation=False)
    theirs = p.spy.Module.load_from_source(other, "bench", SOURCE)
    x, y, z = (p.slangpy_tensor(other, v, theirs.float) for v in (*data, np.zeros_like(data[0])))

    def slangpy() -> None:
        theirs.add(x, y, _result=z)
        other.wait()

    slangpy()
    np.testing.assert_array_equal(z.to_numpy(), data[0] + data[1])
    out = np.empty_like(data[0])
    return {"fusepy": fusepy, "slangpy": slangpy, "numpy": lambda: np.add(data[0], data[1], out=out)}


def bench_search(measure: Any, raw: Any, data: Any, block: int, peer: str) -> None:
    measure.case = f"{CASE} search"
    measure(peer, block, raw[peer], rounds=3, bytes=3 * data[0].nbytes)
    _search.setdefault(peer, []).append(measure.median)


def bench_add(measure: Any, raw: Any, runners: Any, data: Any, block: int, peer: str) -> None:
    note, target = "", runners.get(peer)
    if peer in RANKS:
        name = p.ranked(_search)[RANKS[peer]]
        note, target = f"{name}, of {len(_search)} tried", raw[name]
    measure(peer, block, target, rounds=3, warmup=1, bytes=3 * data[0].nbytes, note=note)
