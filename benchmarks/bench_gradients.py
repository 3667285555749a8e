"""Gradients: of a number that is broadcast; of ten stages with twenty parameters; loss and gradient beside the loss alone.

On a GPU they are larger, beside torch.compile's and JAX's, and many calls are made before one is waited for.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from benchmarks import peers as p
from benchmarks import stages_by_hand

CASE = "gradients"
PEERS = [
    *("number", "number forward", "read", "slangpy number"),
    *("stages", "stages forward", "torch stages", "torch.compile stages", "jax stages"),
    *("atomics stages", "waves stages", "slangtorch stages"),
]
BLOCKS = 7
STAGES = 10
SOURCE = "[Differentiable] float scaled(float a, float x) { return a * x * x; }"


@pytest.fixture(scope="module")
def numbers(quick: bool, calls: int) -> Any:
    return np.random.default_rng(1).random(1 << (16 if quick else 24 if calls == 1 else 26), np.float32)


@pytest.fixture(scope="module")
def pixels(quick: bool) -> Any:
    return np.random.default_rng(2).random((1 << (12 if quick else 20), 3), np.float32)


def staged(c: Any, gains: Any, shifts: Any, tanh: Callable[[Any], Any], mean: Callable[[Any], Any]) -> Any:
    """The loss of ten stages."""
    for gain, shift in zip(gains, shifts):
        c = c + 0.1 * tanh(c * gain + shift)
    return mean(c * c)


GAINS, SHIFTS = np.linspace(0.5, 2.0, STAGES, dtype=np.float32), np.linspace(-0.3, 0.3, STAGES, dtype=np.float32)


def differences(pixels: Any) -> Any:
    """The gradients by the gains, in float64."""
    c, h = pixels.astype(np.float64), 1e-5
    found: list[float] = []
    for k in range(STAGES):
        ends = [staged(c, GAINS.astype(float) + s * h * (np.arange(STAGES) == k), SHIFTS, np.tanh, np.mean) for s in (1, -1)]
        found.append((ends[0] - ends[1]) / (2 * h))
    return np.array(found)


@pytest.fixture(scope="module")
def runners(device: Any, numbers: Any, pixels: Any, calls: int) -> dict[str, Callable[[], Any]]:
    m = fp.Module.load_from_source(device, "bench_gradients", SOURCE)
    x, image = fp.Tensor.from_numpy(device, numbers), fp.Tensor.from_numpy(device, pixels)
    slope, read = fp.grad(m.scaled), fp.fuse(lambda x: fp.sum(x))
    gains, shifts = ({f"v{k}": float(v) for k, v in enumerate(values)} for values in (GAINS, SHIFTS))
    tree = {"gains": gains, "shifts": shifts}

    def loss(p: Any, c: Any) -> Any:
        return staged(c, p["gains"].values(), p["shifts"].values(), fp.tanh, fp.mean)

    forward, both = fp.fuse(loss), fp.value_and_grad(loss)
    assert both.explain(tree, image).kernels == 1
    few = both(tree, pixels[:4096])[1]["gains"]
    np.testing.assert_allclose([float(v) for v in few.values()], differences(pixels[:4096]), rtol=2e-4)
    np.testing.assert_allclose(float(slope(2.0, x)), np.sum(numbers.astype(np.float64) ** 2), rtol=1e-5)
    jobs: dict[str, Callable[[], Any]] = {
        "number": lambda: slope(2.0, x),
        "read": lambda: read(x),
        "stages": lambda: both(tree, image),
        "stages forward": lambda: forward(tree, image),
    }
    result = fp.Tensor.empty(device, x.shape, "float")
    jobs["number forward"] = lambda: m.scaled(2.0, x, _result=result)

    def repeated(job: Callable[[], Any]) -> Callable[[], None]:
        def run() -> None:
            for _ in repeat(None, calls):
                job()
            device.wait()

        run()
        return run

    return {name: repeated(job) for name, job in jobs.items()}


@pytest.fixture(scope="module")
def theirs(kind: str, numbers: Any, pixels: Any, calls: int) -> dict[str, Callable[[], Any]]:
    other = p.slangpy_device(kind, validation=False)
    module = p.spy.Module.load_from_source(other, "bench_gradients", SOURCE)
    a = p.spy.Tensor.from_numpy(other, np.float32([2.0])).with_grads(zero=True)
    x = p.spy.Tensor.from_numpy(other, numbers)
    result = p.spy.Tensor.from_numpy(other, np.ones_like(numbers)).with_grads()
    result.grad.copy_from_numpy(np.ones_like(numbers))

    def slangpy() -> None:
        for _ in repeat(None, calls):
            module.scaled.bwds(a, x, _result=result)
        other.wait()

    slangpy()
    # it adds floats one by one, so that many of them lose digits
    np.testing.assert_allclose(a.grad.to_numpy().item(), calls * np.sum(numbers.astype(np.float64) ** 2), rtol=0.2)
    made: dict[str, Callable[[], Any]] = {"slangpy number": slangpy}
    for way, run in stages_by_hand.runners(kind, pixels, np.concatenate([GAINS, SHIFTS]), calls).items():
        np.testing.assert_allclose(run()[:STAGES], differences(pixels), rtol=1e-2)
        made[f"{way} stages"] = run
    torch = p.optional("torch", CASE, "torch stages") if calls > 1 else _torch()
    if torch is not None:
        made |= torch_runners(torch, pixels, calls)
    jax = p.optional("jax", CASE, "jax stages") if calls > 1 else None
    if jax is not None:
        made["jax stages"] = jax_runner(jax, pixels, calls)
    return made


def _torch() -> Any:
    """torch on the CPU, which is what lavapipe runs on as well."""
    try:
        import torch
    except ImportError:
        return None
    return torch


def torch_runners(torch: Any, pixels: Any, calls: int) -> dict[str, Callable[[], Any]]:
    place = "cuda" if calls > 1 else "cpu"
    c = torch.from_numpy(pixels).to(place)
    gains, shifts = (torch.from_numpy(v.copy()).to(place).requires_grad_() for v in (GAINS, SHIFTS))

    def loss(c: Any, gains: Any, shifts: Any) -> Any:
        return staged(c, gains.unbind(), shifts.unbind(), torch.tanh, torch.mean)

    made: dict[str, Callable[[], Any]] = {}
    for name, function in (("torch stages", loss), ("torch.compile stages", torch.compile(loss))):
        if calls == 1 and name != "torch stages":
            continue  # torch.compile needs a C++ compiler on the CPU

        def run(function: Callable[..., Any] = function) -> None:
            for _ in repeat(None, calls):
                torch.autograd.grad(function(c, gains, shifts), (gains, shifts))
            if calls > 1:
                torch.cuda.synchronize()

        run()
        made[name] = run
    return made


def jax_runner(jax: Any, pixels: Any, calls: int) -> Callable[[], None]:
    c, gains, shifts = (jax.device_put(v) for v in (pixels, GAINS, SHIFTS))
    both = jax.jit(
        jax.value_and_grad(lambda g, s, c: staged(c, list(g), list(s), jax.numpy.tanh, jax.numpy.mean), argnums=(0, 1))
    )

    def run() -> None:
        for _ in repeat(None, calls):
            found = both(gains, shifts, c)
        jax.block_until_ready(found)

    run()
    return run


def bench_gradients(measure: Any, runners: Any, theirs: Any, numbers: Any, pixels: Any, block: int, peer: str) -> None:
    moved = {
        "number": numbers.nbytes,
        "read": numbers.nbytes,
        "slangpy number": numbers.nbytes,
        "number forward": 2 * numbers.nbytes,
    }
    slow = peer in ("slangpy number", "torch stages")
    target = runners.get(peer) or theirs.get(peer)
    if target is None:
        pytest.skip(f"{peer} is not there")
    measure(peer, block, target, rounds=1 if slow else 2, warmup=0 if slow else 1, bytes=moved.get(peer, pixels.nbytes))
