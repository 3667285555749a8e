"""Programs beyond functions in NumPy's words, by fusepy and its peers: all pairs, steps, numbers, calls on torch's tensors."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

import numpy as np

import fusepy as fp
from benchmarks import peers as p
from benchmarks.side_by_side import repeated

CASE = "roofline"
Runs = dict[str, Callable[[], Any]]
STEPS = 100
SOURCE = """
import fusepy;
float3 pull(float4 a, Tensor<float4,1> bodies)
{
    float3 sum = 0;
    int count = int(bodies.shape[0]);
    for (int j = 0; j < count; ++j)
    {
        float4 b = bodies[j];
        float3 d = b.xyz - a.xyz;
        float r = dot(d, d) + 0.01;
        float i = rsqrt(r);
        sum += d * (b.w * i * i * i);
    }
    return sum;
}
float jacobi(int2 at, Tensor<float,2> x, float b)
{
    int h = int(x.shape[0]), w = int(x.shape[1]);
    float rows = x[max(at.y - 1, 0), at.x] + x[min(at.y + 1, h - 1), at.x];
    return 0.25 * (rows + x[at.y, max(at.x - 1, 0)] + x[at.y, min(at.x + 1, w - 1)]) - b;
}
"""
BY_HAND = """
    uint i = first + lane;
    if (i >= p.count) return;
    float4 a = p.bodies[i];
    float3 sum = 0;
    for (uint j = 0; j < p.count; ++j)
    {
        float4 b = p.bodies[j];
        float3 d = b.xyz - a.xyz;
        float r = dot(d, d) + 0.01;
        float i = rsqrt(r);
        sum += d * (b.w * i * i * i);
    }
    p.pulls[3 * i] = sum.x;
    p.pulls[3 * i + 1] = sum.y;
    p.pulls[3 * i + 2] = sum.z;
"""


def _torch(what: str, calls: int) -> Any:
    return p.optional("torch", CASE, f"torch {what}") if calls > 1 else None


def _jax(what: str, calls: int) -> Any:
    return p.optional("jax", CASE, f"jax {what}") if calls > 1 else None


def _close(got: Any, want: Any, part: float = 1e-3) -> None:
    np.testing.assert_allclose(np.asarray(got), want, rtol=part, atol=part * float(np.abs(want).max()))


def all_pairs(kind: str, device: Any, calls: int, small: bool) -> Runs:
    """The pull of each body by all others: a loop over `Tensor<float4,1>`."""
    count = 256 if small else 16384
    bodies = np.random.default_rng(1).random((count, 4), np.float32)
    module = fp.Module.load_from_source(device, "bench_programs", SOURCE)
    mine = fp.Tensor.from_numpy(device, bodies, dtype=module.float4)
    few, all_ = bodies[:64].astype(np.float64), bodies.astype(np.float64)
    d = all_[None, :, :3] - few[:, None, :3]
    wanted = np.sum(d * (all_[None, :, 3] * (np.sum(d * d, -1) + 0.01) ** -1.5)[..., None], 1)
    _close(module.pull(mine, mine).to_numpy()[:64], wanted)
    made: Runs = {"fusepy": repeated(lambda: module.pull(mine, mine), device.wait, calls)}

    other = p.slangpy_device(kind, validation=False)
    given, pulls = p.raw_buffer(other, bodies), p.raw_buffer(other, nbytes=12 * count)
    for threads in (64, 128, 256):
        source = p.raw_source(other, "float4* bodies; float* pulls; uint count;", threads, threads, BY_HAND)
        kernel = p.Raw(other, other.slang_session, f"pairs_{threads}", source, threads, "QQI")

        def run(kernel: p.Raw = kernel) -> None:
            kernel((given.device_address, pulls.device_address, count), count)

        made[f"sgl {threads}"] = repeated(run, other.wait, calls)
        _close(pulls.to_numpy().view(np.float32).reshape(-1, 3)[:64], wanted)
    if (jax := _jax("all pairs", calls)) is not None:
        n, last = jax.numpy, []

        def pull(all_: Any) -> Any:
            d = all_[None, :, :3] - all_[:, None, :3]
            i = jax.lax.rsqrt(n.sum(d * d, -1) + 0.01)
            return n.sum(d * (all_[None, :, 3] * i * i * i)[..., None], 1)

        jitted, moved = jax.jit(pull), jax.device_put(bodies)
        _close(jitted(moved)[:64], wanted)

        def jitted_run() -> None:
            last[:] = [jitted(moved)]

        made["jax"] = repeated(jitted_run, lambda: last[0].block_until_ready(), calls)
    return made


def steps(kind: str, device: Any, calls: int, small: bool) -> Runs:
    """A hundred steps of Jacobi: each element becomes the mean of its four neighbours, the border repeated."""
    n = 64 if small else 2048
    start = np.random.default_rng(1).random((n, n), np.float32)
    wanted = start.astype(np.float64)
    for _ in range(STEPS):
        q = np.pad(wanted, 1, mode="edge")
        wanted = 0.25 * (q[:-2, 1:-1] + q[2:, 1:-1] + q[1:-1, :-2] + q[1:-1, 2:]) - 0.001
    module = fp.Module.load_from_source(device, "bench_programs", SOURCE)
    x = fp.Tensor.from_numpy(device, start)
    solve = fp.fuse(lambda x: fp.fori_loop(0, STEPS, lambda i, y: module.jacobi(fp.grid(y.shape), y, 0.001), x))
    _close(solve(x).to_numpy(), wanted)

    def by_calls() -> Any:
        y = x
        for _ in repeat(None, STEPS):
            y = module.jacobi(fp.grid(y.shape), y, 0.001)
        return y

    made: Runs = {
        "fusepy": repeated(lambda: solve(x), device.wait, 1),
        "fusepy-calls": repeated(by_calls, device.wait, 1),
    }
    if (torch := _torch("steps", calls)) is not None:

        def step(x: Any) -> Any:
            q = torch.nn.functional.pad(x[None, None], (1, 1, 1, 1), mode="replicate")[0, 0]
            return 0.25 * (q[:-2, 1:-1] + q[2:, 1:-1] + q[1:-1, :-2] + q[1:-1, 2:]) - 0.001

        given = torch.from_numpy(start).cuda()

        def all_of(step: Callable[[Any], Any]) -> Any:
            y = given
            for _ in repeat(None, STEPS):
                y = step(y)
            return y

        for who, one in (("torch", step), ("torch.compile", torch.compile(step))):
            _close(all_of(one).cpu(), wanted)
            made[who] = repeated(lambda one=one: all_of(one), torch.cuda.synchronize, 1)
    if (jax := _jax("steps", calls)) is not None:

        def jitted(i: Any, x: Any) -> Any:
            q = jax.numpy.pad(x, 1, mode="edge")
            return 0.25 * (q[:-2, 1:-1] + q[2:, 1:-1] + q[1:-1, :-2] + q[1:-1, 2:]) - 0.001

        loop, moved = jax.jit(lambda x: jax.lax.fori_loop(0, STEPS, jitted, x)), jax.device_put(start)
        _close(loop(moved), wanted)
        made["jax"] = repeated(lambda: loop(moved).block_until_ready(), lambda: None, 1)
    return made


def number(size: int) -> Callable[[str, Any, int, bool], Runs]:
    """A mean that is read as a Python number by every call."""

    def made(kind: str, device: Any, calls: int, small: bool) -> Runs:
        numbers = np.random.default_rng(1).random(size, np.float32)
        x, mean = fp.Tensor.from_numpy(device, numbers), fp.fuse(lambda x: fp.mean(x))
        _close(float(mean(x)), numbers.mean(dtype=np.float64), 1e-5)
        found: Runs = {"fusepy": repeated(lambda: float(mean(x)), device.wait, 50)}
        if (torch := _torch("number", calls)) is not None:
            given = torch.from_numpy(numbers).cuda()
            found["torch"] = repeated(lambda: float(torch.mean(given)), torch.cuda.synchronize, 50)
        if (jax := _jax("number", calls)) is not None:
            jitted, moved = jax.jit(jax.numpy.mean), jax.device_put(numbers)
            found["jax"] = repeated(lambda: float(jitted(moved)), lambda: None, 50)
        return found

    return made


def of_torch(given: bool) -> Callable[[str, Any, int, bool], Runs]:
    """A fused call on torch's CUDA tensors, one after the other; the result is allocated, or given."""

    def made(kind: str, device: Any, calls: int, small: bool) -> Runs:
        torch = _torch("call", calls) if kind == "cuda" else None
        if torch is None:
            return {}
        x, y, r = (torch.rand(1 << 20, device="cuda") for _ in range(3))
        scaled, added = fp.fuse(lambda x: x * 2 + 1), fp.fuse(lambda x, y: x + y)
        compiled = torch.compile(lambda x: x * 2 + 1)
        torch.testing.assert_close(scaled(x), x * 2 + 1)
        jobs: Runs = {
            "fusepy": lambda: added(x, y, _result=r) if given else scaled(x),
            "torch": lambda: torch.add(x, y, out=r) if given else x * 2 + 1,
        }
        if not given:
            jobs["torch.compile"] = lambda: compiled(x)
        return {who: repeated(job, torch.cuda.synchronize, 100) for who, job in jobs.items()}

    return made


MAKE: dict[str, Callable[[str, Any, int, bool], Runs]] = {
    "all pairs": all_pairs,
    "steps": steps,
    "number": number(1 << 20),
    "number of few": number(1 << 10),
    "call": of_torch(given=False),
    "call with a result": of_torch(given=True),
}
CALLS = {"steps": 1, "number": 50, "number of few": 50, "call": 100, "call with a result": 100}
PEERS: dict[str, tuple[str, ...]] = {
    "all pairs": ("fusepy", "jax", "sgl 64", "sgl 128", "sgl 256"),
    "steps": ("fusepy", "fusepy-calls", "torch", "torch.compile", "jax"),
    "number": ("fusepy", "torch", "jax"),
    "number of few": ("fusepy", "torch", "jax"),
    "call": ("fusepy", "torch", "torch.compile"),
    "call with a result": ("fusepy", "torch"),
}
