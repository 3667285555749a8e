"""A Ray from a dict of six arrays, one per component, on 8 M elements; the same by hand in several thread shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from benchmarks import peers as p
from benchmarks.programs import SOURCE

CASE = "nested_rays"
PEERS = ["fusepy", "fusepy fused", "sgl", "sgl second", "sgl third", "slangpy"]
BLOCKS = 15
RANKS = {"sgl": 0, "sgl second": 1, "sgl third": 2}
NAMES = ("px", "py", "pz", "dx", "dy", "dz")
FIELDS = "".join(f"float* {n}; " for n in NAMES) + "float3* r; uint count; float t;"
RAY = "Ray ray; ray.position = float3(p.px[i], p.py[i], p.pz[i]); ray.direction = float3(p.dx[i], p.dy[i], p.dz[i]);"
EACH = f"{RAY} p.r[i] = at(ray, p.t);"
SHAPES: dict[str, tuple[int, int, str]] = {
    **{f"one per thread, {g}": p.elements(g, 1, EACH) for g in (64, 256, 1024)},
    **{f"stride {k}x{g}": p.elements(g, k, EACH) for g in (256, 512, 1024) for k in (4, 8, 16, 32)},
    **{f"stride {k}x{g}, leaving": p.elements(g, k, EACH, leave=True) for g in (256, 512, 1024) for k in (4, 8, 16, 32)},
    **{f"stride {k}x{g} unrolled": p.elements(g, k, EACH, unroll=True) for g in (256, 1024) for k in (2, 4)},
}
SEARCHED = list(SHAPES)
_search: dict[str, list[float]] = {}


@pytest.fixture(scope="module")
def leaves(quick: bool) -> Any:
    return np.random.default_rng(1).random((6, 1 << 17 if quick else 1 << 23), np.float32)


@pytest.fixture(scope="module")
def wanted(leaves: Any) -> Any:
    return np.ascontiguousarray((leaves[:3] + np.float32(0.5) * leaves[3:]).T)


def tree(leaves: Any) -> dict[str, dict[str, Any]]:
    return {"position": dict(zip("xyz", leaves[:3])), "direction": dict(zip("xyz", leaves[3:]))}


def check(result: Any, wanted: Any) -> None:
    np.testing.assert_allclose(result.reshape(wanted.shape), wanted, rtol=1e-6)


@pytest.fixture(scope="module")
def raw(kind: str, leaves: Any, wanted: Any) -> dict[str, Callable[[], None]]:
    device = p.slangpy_device(kind, validation=False)
    session = device.create_slang_session()
    given, r = [p.raw_buffer(device, leaf) for leaf in leaves], p.raw_buffer(device, nbytes=wanted.nbytes)
    made: dict[str, Callable[[], None]] = {}
    for number, (name, (threads, per_group, body)) in enumerate(SHAPES.items()):
        source = p.raw_source(device, FIELDS, threads, per_group, body)
        kernel = p.Raw(device, session, f"rays_{number}", source, per_group, "<7QIf")

        def run(kernel: p.Raw = kernel) -> None:
            kernel((*(b.device_address for b in given), r.device_address, len(wanted), 0.5), len(wanted))
            device.wait()

        r.copy_from_numpy(np.zeros_like(wanted))
        run()
        check(r.to_numpy().view(np.float32), wanted)
        made[name] = run
    return made


@pytest.fixture(scope="module")
def runners(kind: str, leaves: Any, wanted: Any) -> dict[str, Callable[[], None]]:
    device = p.fusepy_device(kind)
    module = fp.Module.load_from_source(device, "bench", SOURCE)
    ray = tree([fp.Tensor.from_numpy(device, leaf) for leaf in leaves])
    r = fp.Tensor.empty(device, len(wanted), "float3")
    made: dict[str, Callable[[], None]] = {}
    for name, call in (("fusepy", module.at), ("fusepy fused", fp.fuse(lambda ray, t: module.at(ray, t)))):

        def run(call: Any = call) -> None:
            call(ray, 0.5, _result=r)
            device.wait()

        run()
        check(r.to_numpy(), wanted)
        made[name] = run

    other = p.slangpy_device(kind, validation=False)
    theirs = p.spy.Module.load_from_source(other, "bench", SOURCE)
    their_ray = tree([p.slangpy_tensor(other, leaf, theirs.float) for leaf in leaves])
    s = p.slangpy_tensor(other, np.zeros_like(wanted), theirs.float3)

    def slangpy() -> None:
        theirs.at(their_ray, 0.5, _result=s)
        other.wait()

    slangpy()
    check(s.to_numpy(), wanted)
    return {**made, "slangpy": slangpy}


def bench_search(measure: Any, raw: Any, wanted: Any, block: int, peer: str) -> None:
    measure.case = f"{CASE} search"
    measure(peer, block, raw[peer], rounds=1, warmup=0, bytes=3 * wanted.nbytes)
    _search.setdefault(peer, []).append(measure.median)


def bench_rays(measure: Any, raw: Any, runners: Any, wanted: Any, block: int, peer: str) -> None:
    note, target = "", runners.get(peer)
    if peer in RANKS:
        name = p.ranked(_search)[RANKS[peer]]
        note, target = f"{name}, of {len(_search)} tried", raw[name]
    measure(peer, block, target, rounds=2, bytes=3 * wanted.nbytes, note=note)
