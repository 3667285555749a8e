"""float32 ``a + b`` on 2^27 elements of a GPU: bandwidth beside torch, a hand-written kernel and slangpy."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from benchmarks import peers as p
from benchmarks.programs import SOURCE

CASE = "add_gpu"
PEERS = ["fusepy", "torch", "jax.jit", "sgl", "sgl second", "sgl third", "slangpy"]
BLOCKS = 7
CALLS = 20
ADD = "p.r[i] = p.a[i] + p.b[i];"
SHAPES: dict[str, tuple[str, tuple[int, int, str]]] = {
    "one per thread, 256": ("float", p.elements(256, 1, ADD)),
    "stride 2x256": ("float", p.elements(256, 2, ADD, unroll=True)),
    "stride 4x256": ("float", p.elements(256, 4, ADD, unroll=True)),
    "float4, 256": ("float4", p.elements(256, 1, ADD)),
    "float4, 512": ("float4", p.elements(512, 1, ADD)),
}
SEARCHED = list(SHAPES)
RANKS = {"sgl": 0, "sgl second": 1, "sgl third": 2}
_search: dict[str, list[float]] = {}


@pytest.fixture(scope="module")
def data(kind: str, quick: bool) -> Any:
    if not p.is_hardware(p.slangpy_device(kind)):
        pytest.skip("needs a GPU")
    return np.random.default_rng(1).random((2, 1 << 20 if quick else 1 << 27), np.float32)


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
            for _ in repeat(None, CALLS):
                kernel((a.device_address, b.device_address, r.device_address, count), count)
            device.wait()

        r.copy_from_numpy(np.zeros_like(data[0]))
        run()
        np.testing.assert_array_equal(r.to_numpy().view(np.float32), data[0] + data[1])
        made[name] = run
    return made


@pytest.fixture(scope="module")
def runners(kind: str, data: Any) -> dict[str, Callable[[], Any]]:
    made: dict[str, Callable[[], Any]] = {}
    device = p.fusepy_device(kind)
    add = fp.Module.load_from_source(device, "bench", SOURCE).add
    a, b, r = fp.Tensor.from_numpy(device, data[0]), fp.Tensor.from_numpy(device, data[1]), fp.Tensor.empty(device, data.shape[1])

    def fusepy() -> None:
        for _ in repeat(None, CALLS):
            add(a, b, _result=r)
        device.wait()

    fusepy()
    np.testing.assert_array_equal(r.to_numpy(), data[0] + data[1])
    made["fusepy"] = fusepy

    other = p.slangpy_device(kind, validation=False)
    theirs = p.spy.Module.load_from_source(other, "bench", SOURCE)
    x, y, z = (p.slangpy_tensor(other, v, theirs.float) for v in (*data, np.zeros_like(data[0])))

    def slangpy() -> None:
        for _ in repeat(None, CALLS):
            theirs.add(x, y, _result=z)
        other.wait()

    slangpy()
    np.testing.assert_array_equal(z.to_numpy(), data[0] + data[1])
    made["slangpy"] = slangpy

    torch = p.optional("torch", CASE, "torch")
    if torch is not None:
        ta, tb = torch.from_numpy(data[0]).cuda(), torch.from_numpy(data[1]).cuda()
        tr = torch.empty_like(ta)

        def torch_add() -> None:
            for _ in repeat(None, CALLS):
                torch.add(ta, tb, out=tr)
            torch.cuda.synchronize()

        torch_add()
        np.testing.assert_array_equal(tr.cpu().numpy(), data[0] + data[1])
        made["torch"] = torch_add

    jax = p.optional("jax", CASE, "jax.jit")
    if jax is not None:
        ja, jb = jax.numpy.asarray(data[0]), jax.numpy.asarray(data[1])
        jitted = jax.jit(lambda u, v: u + v)

        def jax_add() -> None:
            result = None
            for _ in repeat(None, CALLS):
                result = jitted(ja, jb)
            result.block_until_ready()

        jax_add()
        np.testing.assert_array_equal(np.asarray(jitted(ja, jb)), data[0] + data[1])
        made["jax.jit"] = jax_add
    return made


def bench_search(measure: Any, raw: Any, data: Any, block: int, peer: str) -> None:
    measure.case = f"{CASE} search"
    measure(peer, block, raw[peer], rounds=3, calls=CALLS, bytes=3 * data[0].nbytes)
    _search.setdefault(peer, []).append(measure.median)


def bench_add(measure: Any, raw: Any, runners: Any, data: Any, block: int, peer: str) -> None:
    note, target = "", runners.get(peer)
    if peer in RANKS:
        name = p.ranked(_search)[RANKS[peer]]
        note, target = f"{name}, of {len(_search)} tried", raw[name]
    if target is None:
        pytest.skip("not installed")
    measure(peer, block, target, rounds=5, warmup=2, calls=CALLS, bytes=3 * data[0].nbytes, note=note)
