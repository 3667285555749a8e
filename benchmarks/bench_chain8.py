"""Eight calls on 8 M float3 pixels: fused; by hand in several thread shapes; through slangpy, fused by hand and step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from benchmarks import peers as p
from benchmarks.programs import CHAIN, SOURCE, chain_calls, numpy_chain

CASE = "chain8"
PEERS = ["fusepy", "sgl", "sgl second", "sgl third", "slangpy hand-fused", "slangpy", "numpy"]
BLOCKS = 15
CALL = "chain({}, p.red, p.blue, p.stops, p.amount, p.g)"
NUMBERS = "uint count; float red; float blue; float stops; float amount; float g;"

# the hand-written kernels: name -> element type of the pointers, threads, elements per group, body
EACH = f"p.r[i] = {CALL.format('p.a[i]')};"
SHAPES: dict[str, tuple[str, tuple[int, int, str]]] = {
    **{f"one per thread, {g}": ("float3", p.elements(g, 1, EACH)) for g in (64, 256, 1024)},
    **{f"stride {k}x{g}": ("float3", p.elements(g, k, EACH)) for g in (256, 512, 1024) for k in (4, 8, 16, 32)},
    **{f"stride {k}x{g}, leaving": ("float3", p.elements(g, k, EACH, leave=True)) for g in (512, 1024) for k in (4, 8, 16, 32)},
    **{f"quad {k}x{g}": ("float4", p.quads(g, k, CALL, True)) for g, k in [(64, 1), (256, 1), (256, 4)]},
    **{f"quad {k}x{g} loop": ("float4", p.quads(g, k, CALL, False)) for g in (64, 256, 512, 1024) for k in (4, 8)},
}
SEARCHED = list(SHAPES)
RANKS = {"sgl": 0, "sgl second": 1, "sgl third": 2}
_search: dict[str, list[float]] = {}


@pytest.fixture(scope="module")
def image(quick: bool) -> Any:
    return np.random.default_rng(1).random((1 << 17 if quick else 1 << 23, 3), np.float32)


@pytest.fixture(scope="module")
def wanted(image: Any) -> Any:
    return numpy_chain(image, *CHAIN)


def check(result: Any, wanted: Any) -> None:
    np.testing.assert_allclose(result.reshape(wanted.shape), wanted, rtol=5e-4, atol=5e-5)


@pytest.fixture(scope="module")
def raw(kind: str, image: Any, wanted: Any) -> dict[str, Callable[[], None]]:
    device = p.slangpy_device(kind, validation=False)
    session = device.create_slang_session()
    a, r = p.raw_buffer(device, image), p.raw_buffer(device, nbytes=image.nbytes)
    made: dict[str, Callable[[], None]] = {}
    for number, (name, (type, (threads, per_group, body))) in enumerate(SHAPES.items()):
        source = p.raw_source(device, f"{type}* a; {type}* r; {NUMBERS}", threads, per_group, body)
        kernel = p.Raw(device, session, f"chain_{number}", source, per_group, "<QQIfffff")

        def run(kernel: p.Raw = kernel) -> None:
            kernel((a.device_address, r.device_address, len(image), *CHAIN), len(image))
            device.wait()

        r.copy_from_numpy(np.zeros_like(image))
        run()
        check(r.to_numpy().view(np.float32), wanted)
        made[name] = run
    return made


@pytest.fixture(scope="module")
def runners(kind: str, image: Any, wanted: Any) -> dict[str, Callable[[], Any]]:
    device = p.fusepy_device(kind)
    module = fp.Module.load_from_source(device, "bench", SOURCE)
    chain = fp.fuse(chain_calls(module))
    a, r = fp.Tensor.from_numpy(device, image, "float3"), fp.Tensor.empty(device, len(image), "float3")
    assert chain.explain(a, *CHAIN).kernels == 1

    def fusepy() -> None:
        chain(a, *CHAIN, _result=r)
        device.wait()

    fusepy()
    check(r.to_numpy(), wanted)

    other = p.slangpy_device(kind, validation=False)
    theirs = p.spy.Module.load_from_source(other, "bench", SOURCE)
    b, s, t = (p.slangpy_tensor(other, v, theirs.float3) for v in (image, np.zeros_like(image), np.zeros_like(image)))
    red, blue, stops, amount, g = CHAIN

    def hand_fused() -> None:
        theirs.chain(b, *CHAIN, _result=s)
        other.wait()

    def one_by_one() -> None:  # results given, ping and pong: slangpy is spared the allocations
        theirs.decode(b, _result=s)
        theirs.balance(s, red, blue, _result=t)
        theirs.expose(t, stops, _result=s)
        theirs.filmic(s, _result=t)
        theirs.colour(t, amount, _result=s)
        theirs.gain(s, g, _result=t)
        theirs.limit(t, _result=s)
        theirs.encode(s, _result=t)
        other.wait()

    hand_fused()
    check(s.to_numpy(), wanted)
    one_by_one()
    check(t.to_numpy(), wanted)
    made = {"fusepy": fusepy, "slangpy hand-fused": hand_fused, "slangpy": one_by_one}
    return {**made, "numpy": lambda: numpy_chain(image, *CHAIN)}


def bench_search(measure: Any, raw: Any, image: Any, block: int, peer: str) -> None:
    measure.case = f"{CASE} search"
    measure(peer, block, raw[peer], rounds=1, warmup=0, bytes=2 * image.nbytes)
    _search.setdefault(peer, []).append(measure.median)


def bench_chain(measure: Any, raw: Any, runners: Any, image: Any, block: int, peer: str) -> None:
    note, target = "", runners.get(peer)
    if peer in RANKS:
        name = p.ranked(_search)[RANKS[peer]]
        note, target = f"{name}, of {len(_search)} tried", raw[name]
    slow = peer in ("numpy", "slangpy")
    measure(peer, block, target, rounds=1 if slow else 2, warmup=0 if slow else 1, bytes=2 * image.nbytes, note=note)
