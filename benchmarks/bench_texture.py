"""Tone mapping 2048 x 2048 texels, into a texture and into a tensor: fusepy, by hand in several thread shapes, slangpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from benchmarks import peers as p
from benchmarks.programs import SOURCE, TONEMAP, numpy_tonemap

CASE = "texture"
KERNEL = f"""{SOURCE}
float4 tonemap4(float4 c, float stops, float amount, float g) {{ return float4(tonemap(c.rgb, stops, amount, g), c.a); }}
"""
GROUPS = [(8, 8), (16, 16), (32, 32), (64, 4), (256, 1), (1024, 1)]
SHAPES = {f"{into} {x}x{y}": (into, x, y) for into in ("texture", "tensor") for x, y in GROUPS}
SEARCHED = list(SHAPES)
RANKS = {"sgl": 0, "sgl second": 1, "sgl third": 2}
PEERS = ["fusepy", *RANKS, "slangpy", "fusepy tensor", *(f"{name} tensor" for name in RANKS), "slangpy tensor"]
BLOCKS = 15
_search: dict[str, list[float]] = {}


@pytest.fixture(scope="module")
def image(quick: bool) -> Any:
    size = 256 if quick else 2048
    return np.random.default_rng(1).random((size, size, 4), np.float32)


@pytest.fixture(scope="module")
def wanted(image: Any) -> Any:
    return np.concatenate([numpy_tonemap(image[..., :3], *TONEMAP), image[..., 3:]], -1)


def check(result: Any, wanted: Any) -> None:
    np.testing.assert_allclose(result.reshape(wanted.shape), wanted, rtol=5e-4, atol=2e-3)  # a power makes much of nearly nothing


def texture(device: Any, image: Any) -> Any:
    usage = p.spy.TextureUsage.shader_resource | p.spy.TextureUsage.unordered_access
    height, width = image.shape[:2]
    return device.create_texture(format=p.spy.Format.rgba32_float, width=width, height=height, usage=usage, data=image)


@pytest.fixture(scope="module")
def raw(kind: str, image: Any, wanted: Any) -> dict[str, Callable[[], None]]:
    device = p.slangpy_device(kind, validation=False)
    session = device.create_slang_session()
    a, r, memory = texture(device, image), texture(device, np.zeros_like(image)), p.raw_buffer(device, nbytes=image.nbytes)
    height, width = image.shape[:2]
    made: dict[str, Callable[[], None]] = {}
    for name, (into, x, y) in SHAPES.items():
        store = "r[at.xy]" if into == "texture" else "p.r[at.y * p.width + at.x]"
        source = f"""{KERNEL}
struct P {{ float4* r; uint width; uint height; float stops; float amount; float g; }};
uniform P p;
Texture2D<float4> a;
RWTexture2D<float4> r;
[shader("compute")] [numthreads({x}, {y}, 1)]
void run(uint3 at : SV_DispatchThreadID)
{{
    if (at.x >= p.width || at.y >= p.height) return;
    {store} = tonemap4(a[at.xy], p.stops, p.amount, p.g);
}}"""
        kernel = p.Raw(device, session, f"texture_{len(made)}", source, 1, "<QIIfff")
        kernel.bind(a=a, **({"r": r} if into == "texture" else {}))

        def run(kernel: p.Raw = kernel, groups: list[int] = [-(-width // x), -(-height // y), 1]) -> None:  # noqa: B006
            kernel.dispatch((memory.device_address, width, height, *TONEMAP), groups)
            device.wait()

        run()
        check(r.to_numpy() if into == "texture" else memory.to_numpy().view(np.float32), wanted)
        made[name] = run
    return made


@pytest.fixture(scope="module")
def runners(kind: str, image: Any, wanted: Any) -> dict[str, Callable[[], Any]]:
    device = p.fusepy_device(kind)
    module = fp.Module.load_from_source(device, "bench", KERNEL)
    a, r = texture(device.sgl, image), texture(device.sgl, np.zeros_like(image))
    tensor = fp.Tensor.empty(device, image.shape[:2], "float4")

    def into(target: Any) -> Callable[[], None]:
        def run() -> None:
            module.tonemap4(a, *TONEMAP, _result=target)
            device.wait()

        run()
        check(target.to_numpy(), wanted)
        return run

    other = p.slangpy_device(kind, validation=False)
    theirs = p.spy.Module.load_from_source(other, "bench", KERNEL)
    b, s = texture(other, image), texture(other, np.zeros_like(image))
    flat = p.slangpy_tensor(other, np.zeros_like(image), theirs.float4)

    def slangpy(target: Any) -> Callable[[], None]:
        def run() -> None:
            theirs.tonemap4(b, *TONEMAP, _result=target)
            other.wait()

        run()
        check(target.to_numpy(), wanted)
        return run

    return {"fusepy": into(r), "fusepy tensor": into(tensor), "slangpy": slangpy(s), "slangpy tensor": slangpy(flat)}


def bench_search(measure: Any, raw: Any, image: Any, block: int, peer: str) -> None:
    measure.case = f"{CASE} search"
    measure(peer, block, raw[peer], rounds=1, warmup=0, bytes=2 * image.nbytes)
    _search.setdefault(peer, []).append(measure.median)


def bench_texture(measure: Any, raw: Any, runners: Any, image: Any, block: int, peer: str) -> None:
    note, target = "", runners.get(peer)
    rank = RANKS.get(peer.removesuffix(" tensor"))
    if rank is not None:
        kind = "tensor" if peer.endswith(" tensor") else "texture"
        tried = {name: times for name, times in _search.items() if name.startswith(kind)}
        name = p.ranked(tried)[rank]
        note, target = f"{name.split()[1]}, of {len(tried)} tried", raw[name]
    measure(peer, block, target, rounds=2, bytes=2 * image.nbytes, note=note)
