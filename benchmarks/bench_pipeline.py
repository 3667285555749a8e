"""Local tone mapping of an image, and the mean of the result: fused, by hand with the same split, slangpy call by call.

Two regions are the fewest. The blur reads the luminance of other pixels, so all of that must be stored before the first pixel
is blurred: that is the first kernel. The detail, the tone map and the picture want one pixel each of what lies there then, and
the mean adds the picture up while it is computed: the second. As dispatches it is three, since the groups of the second leave
their sums to be added by a last one. The hand-written kernels are these three, in one submission with barriers between.

slangpy has no reductions: a call adds up each column, another one these sums. Its results are given, fusepy's are allocated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from benchmarks import peers as p
from benchmarks.programs import ARRAYS, LOCAL, LOCALLY, SOURCE, local_calls, numpy_local

CASE = "pipeline"
BLOCKS = 15
RANKS = {"sgl": 0, "sgl second": 1, "sgl third": 2}
PEERS = ["fusepy", *RANKS, "slangpy", "slangpy hand-fused"]
CALLED = f"""
{(ARRAYS + LOCAL).replace("LIGHT", "Tensor<float,2>")}
float3 finish(float3 c, int2 pixel, float own, Tensor<float,2> light, float edge, float amount)
{{
    return filmic(enhance(c, detail(own, base(pixel, light, edge)), amount));
}}
float3 sum_column(int x, Tensor<float3,2> picture)
{{
    float3 sum = 0;
    for (int y = 0; y < int(picture.shape[0]); ++y)
        sum += picture[int2(x, y)];
    return sum;
}}
float3 mean_of(Tensor<float3,1> sums, float count)
{{
    float3 sum = 0;
    for (int i = 0; i < int(sums.shape[0]); ++i)
        sum += sums[i];
    return sum / count;
}}
{SOURCE}"""

# ---- by hand --------------------------------------------------------------------------------------------------------

STRUCT = """
struct Light { float* values; int2 size; };
int2 size(Light light) { return light.size; }
float at(Light light, int2 p) { return light.values[p.y * light.size.x + p.x]; }
"""
FIELDS = (
    "float3* a; float* light; float3* r; float3* sums; uint count; int width; int height; uint groups; float edge; float amount;"
)
LAYOUT = "<QQQQIiiIff"
PIXEL = """
            float own = p.light[i];
            float3 c = filmic(enhance(p.a[i], detail(own, base(int2(x, y), light, p.edge)), p.amount));
            p.r[i] = c;
            sum += c;"""
LIGHTS = {
    f"light {k}x{g}": p.elements(g, k, "p.light[i] = luminance(p.a[i]);")
    for g, k in [(64, 1), (256, 1), (256, 8), (512, 16), (512, 32), (1024, 8), (1024, 16), (1024, 32)]
}


def added(threads: int, body: str, result: str) -> str:
    """`body`, and then the `sum` of all threads of a group in `result`."""
    return f"""
    Light light = {{ p.light, int2(p.width, p.height) }};
    float3 sum = 0;{body}
    shared[lane] = sum;
    GroupMemoryBarrierWithGroupSync();
    for (uint n = {threads // 2}; n > 0; n >>= 1)
    {{
        if (lane < n)
            shared[lane] += shared[lane + n];
        GroupMemoryBarrierWithGroupSync();
    }}
    if (lane == 0)
        {result};"""


def rows(threads: int, count: int) -> tuple[int, int, str]:
    """A group goes along `count` rows, its threads side by side. Returns threads, rows per group, body."""
    body = f"""
    for (int y = int(group) * {count}; y < min(int(group + 1) * {count}, p.height); ++y)
    {{
        for (int x = int(lane); x < p.width; x += {threads})
        {{
            int i = y * p.width + x;{PIXEL}
        }}
    }}"""
    return threads, count, added(threads, body, "p.sums[group] = shared[0]")


PICTURES = {f"rows {k}x{g}": rows(g, k) for g in (8, 16, 32, 64, 128, 256) for k in (4, 8, 16, 32)}
ADD = """
    for (uint i = lane; i < p.groups; i += 64)
        sum += p.sums[i];"""
LAST = added(64, ADD, "p.sums[p.groups] = shared[0] / p.count")
SEARCHED = [*LIGHTS, *PICTURES]
_search: dict[str, list[float]] = {}


class Hand:
    """The hand-written kernels on buffers of their own."""

    def __init__(self, kind: str, image: Any):
        self.device = p.slangpy_device(kind, validation=False)
        self.session = self.device.create_slang_session()
        self.height, self.width = image.shape[:2]
        pixels = self.height * self.width
        sizes = (pixels * 4, image.nbytes, (self.height + 1) * 12)
        self.buffers = [p.raw_buffer(self.device, image), *(p.raw_buffer(self.device, nbytes=size) for size in sizes)]
        self.kernels = {name: self.kernel(*shape) for name, shape in {**LIGHTS, **PICTURES}.items()}
        self.last = self.kernel(64, 1, LAST)

    def kernel(self, threads: int, per_group: int, body: str) -> p.Raw:
        more = f"{STRUCT}{LOCAL.replace('LIGHT', 'Light')}\ngroupshared float3 shared[{threads}];\n"
        source = p.raw_source(self.device, FIELDS, threads, per_group, body, more)
        return p.Raw(self.device, self.session, f"local_{hash(source) & 0xFFFFFFFF}", source, per_group, LAYOUT)

    def groups(self, name: str) -> int:
        count = self.height * self.width if name in LIGHTS else self.height
        return -(-count // self.kernels[name].per_group)

    def values(self, groups: int) -> tuple[Any, ...]:
        addresses = [buffer.device_address for buffer in self.buffers]
        return (*addresses, self.width * self.height, self.width, self.height, groups, *LOCALLY)

    def one(self, name: str) -> None:
        """One of the kernels by itself."""
        self.kernels[name].dispatch(self.values(0), [self.groups(name), 1, 1])
        self.device.wait()

    def run(self, light: str, picture: str) -> None:
        groups = self.groups(picture)
        values = self.values(groups)
        encoder = self.device.create_command_encoder()
        self.kernels[light].record(encoder, values, [self.groups(light), 1, 1])
        encoder.global_barrier()
        self.kernels[picture].record(encoder, values, [groups, 1, 1])
        encoder.global_barrier()
        self.last.record(encoder, values, [1, 1, 1])
        self.device.submit_command_buffer(encoder.finish())
        self.device.wait()

    def mean(self, picture: str) -> Any:
        """What the last run has left behind the sums of groups."""
        at = 3 * self.groups(picture)
        return self.buffers[3].to_numpy().view(np.float32)[at : at + 3]


# ---- what is measured -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def image(quick: bool) -> Any:
    return np.random.default_rng(1).random((128, 192, 3) if quick else (1024, 1536, 3), np.float32)


@pytest.fixture(scope="module")
def wanted(image: Any) -> Any:
    return numpy_local(image, *LOCALLY)


def check(picture: Any, mean: Any, wanted: Any) -> None:
    np.testing.assert_allclose(picture.reshape(wanted.shape), wanted, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(mean, wanted.mean((0, 1)), rtol=1e-4)


@pytest.fixture(scope="module")
def hand(kind: str, image: Any, wanted: Any) -> Hand:
    made = Hand(kind, image)
    for number, name in enumerate(PICTURES):
        made.buffers[2].copy_from_numpy(np.zeros_like(image))
        made.run(list(LIGHTS)[number % len(LIGHTS)], name)
        check(made.buffers[2].to_numpy().view(np.float32), made.mean(name), wanted)
    return made


@pytest.fixture(scope="module")
def runners(kind: str, image: Any, wanted: Any) -> dict[str, Callable[[], None]]:
    device = p.fusepy_device(kind)
    local = local_calls(fp.Module.load_from_source(device, "bench_local", CALLED.replace("LIBRARY", "fusepy")), fp.call_id)

    @fp.fuse
    def pipeline(image: Any, edge: float, amount: float) -> Any:
        picture = local(image, edge, amount)
        return picture, fp.mean(picture)

    a = fp.Tensor.from_numpy(device, image, "float3")
    assert pipeline.explain(a, *LOCALLY).kernels == 2
    before = fp.stats(device).dispatches
    picture, mean = pipeline(a, *LOCALLY)
    assert fp.stats(device).dispatches - before == (2 if picture.size <= 1 << 17 else 3)  # a small image is one group's sum
    check(picture.to_numpy(), mean.to_numpy(), wanted)

    def fusepy() -> None:
        pipeline(a, *LOCALLY)
        device.wait()

    return {"fusepy": fusepy, **slangpy_runners(kind, image, wanted)}


def slangpy_runners(kind: str, image: Any, wanted: Any) -> dict[str, Callable[[], None]]:
    other = p.slangpy_device(kind, validation=False)
    m = p.spy.Module.load_from_source(other, "bench_local", CALLED.replace("LIBRARY", "slangpy"))
    edge, amount = LOCALLY
    height, width = image.shape[:2]

    def zeros(*shape: int, type: Any) -> Any:
        return p.spy.Tensor.zeros(other, shape, type)

    b, s, t = p.slangpy_tensor(other, image, m.float3), zeros(height, width, type=m.float3), zeros(height, width, type=m.float3)
    light, base, detail = (zeros(height, width, type=m.float) for _ in range(3))
    sums, mean = zeros(width, type=m.float3), zeros(1, type=m.float3)

    def averaged() -> None:
        m.sum_column(p.spy.call_id(), t, _result=sums)
        m.mean_of(sums, float(height * width), _result=mean)
        other.wait()

    def calls() -> None:
        m.luminance(b, _result=light)
        m.base(p.spy.call_id(), light, edge, _result=base)
        m.detail(light, base, _result=detail)
        m.enhance(b, detail, amount, _result=s)
        m.filmic(s, _result=t)
        averaged()

    def hand_fused() -> None:
        m.luminance(b, _result=light)
        m.finish(b, p.spy.call_id(), light, light, edge, amount, _result=t)
        averaged()

    for run in (calls, hand_fused):
        t.clear()
        run()
        check(t.to_numpy(), mean.to_numpy()[0], wanted)
    return {"slangpy": calls, "slangpy hand-fused": hand_fused}


def bench_search(measure: Any, hand: Hand, block: int, peer: str) -> None:
    measure.case = f"{CASE} search"
    measure(peer, block, lambda: hand.one(peer), rounds=1, warmup=0)
    _search.setdefault(peer, []).append(measure.median)


def bench_pipeline(measure: Any, hand: Hand, runners: Any, block: int, peer: str) -> None:
    note, target = "", runners.get(peer)
    if peer in RANKS:
        light, *_ = p.ranked({name: _search[name] for name in LIGHTS})
        picture = p.ranked({name: _search[name] for name in PICTURES})[RANKS[peer]]
        note = f"{light} of {len(LIGHTS)} tried, {picture} of {len(PICTURES)}"
        target = lambda: hand.run(light, picture)  # noqa: E731
    measure(peer, block, target, rounds=2, note=note)
