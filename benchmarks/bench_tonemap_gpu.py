"""Exposure, filmic curve, saturation, gamma on 2^25 float3 pixels of a GPU, beside torch.compile, jax.jit and slangpy."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from benchmarks import peers as p
from benchmarks.programs import LUMA, SOURCE, TONEMAP, numpy_tonemap, tonemap_calls

CASE = "tonemap_gpu"
PEERS = ["fusepy", "torch.compile", "jax.jit", "sgl", "sgl second", "sgl third", "slangpy hand-fused", "slangpy"]
BLOCKS = 7
CALLS = 20
CALL = "tonemap({}, p.stops, p.amount, p.g)"
EACH = f"p.r[i] = {CALL.format('p.a[i]')};"
SHAPES: dict[str, tuple[str, tuple[int, int, str]]] = {
    "one per thread, 256": ("float3", p.elements(256, 1, EACH)),
    "stride 2x256": ("float3", p.elements(256, 2, EACH, unroll=True)),
    "stride 4x256": ("float3", p.elements(256, 4, EACH, unroll=True)),
    "quad, 256": ("float4", p.quads(256, 1, CALL, True)),
}
SEARCHED = list(SHAPES)
RANKS = {"sgl": 0, "sgl second": 1, "sgl third": 2}
_search: dict[str, list[float]] = {}


@pytest.fixture(scope="module")
def image(kind: str, quick: bool) -> Any:
    if not p.is_hardware(p.slangpy_device(kind)):
        pytest.skip("needs a GPU")
    return np.random.default_rng(1).random((1 << 18 if quick else 1 << 25, 3), np.float32)


@pytest.fixture(scope="module")
def wanted(image: Any) -> Any:
    return numpy_tonemap(image[: 1 << 20], *TONEMAP)


def check(result: Any, wanted: Any) -> None:
    np.testing.assert_allclose(np.asarray(result).reshape(-1, 3)[: len(wanted)], wanted, rtol=1e-3, atol=1e-4)


@pytest.fixture(scope="module")
def raw(kind: str, image: Any, wanted: Any) -> dict[str, Callable[[], None]]:
    device = p.slangpy_device(kind, validation=False)
    session = device.create_slang_session()
    a, r = p.raw_buffer(device, image), p.raw_buffer(device, nbytes=image.nbytes)
    made: dict[str, Callable[[], None]] = {}
    for number, (name, (type, (threads, per_group, body))) in enumerate(SHAPES.items()):
        fields = f"{type}* a; {type}* r; uint count; float stops; float amount; float g;"
        source = p.raw_source(device, fields, threads, per_group, body)
        kernel = p.Raw(device, session, f"tonemap_{number}", source, per_group, "<QQIfff")

        def run(kernel: p.Raw = kernel) -> None:
            for _ in repeat(None, CALLS):
                kernel((a.device_address, r.device_address, len(image), *TONEMAP), len(image))
            device.wait()

        r.copy_from_numpy(np.zeros_like(image))
        run()
        check(r.to_numpy().view(np.float32), wanted)
        made[name] = run
    return made


@pytest.fixture(scope="module")
def runners(kind: str, image: Any, wanted: Any) -> dict[str, Callable[[], Any]]:
    made: dict[str, Callable[[], Any]] = {}
    device = p.fusepy_device(kind)
    tonemap = fp.fuse(tonemap_calls(fp.Module.load_from_source(device, "bench", SOURCE)))
    a, r = fp.Tensor.from_numpy(device, image, "float3"), fp.Tensor.empty(device, len(image), "float3")

    def fusepy() -> None:
        for _ in repeat(None, CALLS):
            tonemap(a, *TONEMAP, _result=r)
        device.wait()

    fusepy()
    check(r.to_numpy(), wanted)
    made["fusepy"] = fusepy

    other = p.slangpy_device(kind, validation=False)
    theirs = p.spy.Module.load_from_source(other, "bench", SOURCE)
    b, s, t = (p.slangpy_tensor(other, v, theirs.float3) for v in (image, np.zeros_like(image), np.zeros_like(image)))
    stops, amount, g = TONEMAP

    def hand_fused() -> None:
        for _ in repeat(None, CALLS):
            theirs.tonemap(b, *TONEMAP, _result=s)
        other.wait()

    def one_by_one() -> None:
        for _ in repeat(None, CALLS):
            theirs.expose(b, stops, _result=s)
            theirs.filmic(s, _result=t)
            theirs.colour(t, amount, _result=s)
            theirs.power(s, g, _result=t)
        other.wait()

    hand_fused()
    check(s.to_numpy(), wanted)
    one_by_one()
    check(t.to_numpy(), wanted)
    made.update({"slangpy hand-fused": hand_fused, "slangpy": one_by_one})

    torch = p.optional("torch", CASE, "torch.compile")
    if torch is not None:
        made["torch.compile"] = torch_runner(torch, image, wanted)
    jax = p.optional("jax", CASE, "jax.jit")
    if jax is not None:
        made["jax.jit"] = jax_runner(jax, image, wanted)
    return made


def torch_runner(torch: Any, image: Any, wanted: Any) -> Callable[[], None]:
    luma = torch.tensor(LUMA, device="cuda")

    @torch.compile
    def tonemap(c: Any, stops: float, amount: float, g: float) -> Any:
        c = torch.clamp_min(c * 2**stops, 0)
        c = (c * (2.51 * c + 0.03)) / (c * (2.43 * c + 0.59) + 0.14)
        c = torch.lerp((c * luma).sum(-1, keepdim=True), c, amount)
        return torch.clamp_min(c, 0) ** (1 / g)

    a = torch.from_numpy(image).cuda()

    def run() -> None:
        for _ in repeat(None, CALLS):
            tonemap(a, *TONEMAP)
        torch.cuda.synchronize()

    check(tonemap(a, *TONEMAP).cpu().numpy(), wanted)
    run()
    return run


def jax_runner(jax: Any, image: Any, wanted: Any) -> Callable[[], None]:
    jnp = jax.numpy
    luma = jnp.asarray(LUMA)

    @jax.jit
    def tonemap(c: Any, stops: float, amount: float, g: float) -> Any:
        c = jnp.maximum(c * 2**stops, 0)
        c = (c * (2.51 * c + 0.03)) / (c * (2.43 * c + 0.59) + 0.14)
        grey = (c * luma).sum(-1, keepdims=True)
        return jnp.maximum(grey + (c - grey) * amount, 0) ** (1 / g)

    a = jnp.asarray(image)
    numbers = [jnp.float32(v) for v in TONEMAP]  # on the device already, as jit likes them

    def run() -> None:
        result = None
        for _ in repeat(None, CALLS):
            result = tonemap(a, *numbers)
        result.block_until_ready()

    check(tonemap(a, *numbers), wanted)
    run()
    return run


def bench_search(measure: Any, raw: Any, image: Any, block: int, peer: str) -> None:
    measure.case = f"{CASE} search"
    measure(peer, block, raw[peer], rounds=3, calls=CALLS, bytes=2 * image.nbytes)
    _search.setdefault(peer, []).append(measure.median)


def bench_tonemap(measure: Any, raw: Any, runners: Any, image: Any, block: int, peer: str) -> None:
    note, target = "", runners.get(peer)
    if peer in RANKS:
        name = p.ranked(_search)[RANKS[peer]]
        note, target = f"{name}, of {len(_search)} tried", raw[name]
    if target is None:
        pytest.skip("not installed")
    measure(peer, block, target, rounds=5, warmup=2, calls=CALLS, bytes=2 * image.nbytes, note=note)
