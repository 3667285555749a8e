"""From an open device to the first result: module load, first call, reading. One process per sample; see `runs` in __main__."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from benchmarks import peers as p
from benchmarks.bench_gradients import GAINS, SHIFTS, staged
from benchmarks.programs import CHAIN, NEIGHBOURS, SOURCE, chain_calls, numpy_blur, numpy_chain

CASE = "first_result"
LIBRARIES = ("fusepy", "slangpy", "slangpy hand-fused", "fusepy on slangpy's module")
N = 1024
LINE = "[Differentiable] float apart(float a, float b, float x) { float e = a * x + b - x * x; return e * e; }"


def fusepy_chain(device: Any, image: Any) -> Any:
    module = fp.Module.load_from_source(device, "bench", SOURCE)
    return fp.fuse(chain_calls(module))(image, *CHAIN)


def fusepy_add(device: Any, image: Any) -> Any:
    module = fp.Module.load_from_source(device, "bench", SOURCE)
    return module.add(np.ascontiguousarray(image[:, 0]), np.ascontiguousarray(image[:, 1]))


def slangpy_chain(device: Any, image: Any) -> Any:
    module = p.spy.Module.load_from_source(device, "bench", SOURCE)
    return chain_calls(module)(p.slangpy_tensor(device, image, module.float3), *CHAIN).to_numpy()


def slangpy_fused_chain(device: Any, image: Any) -> Any:
    module = p.spy.Module.load_from_source(device, "bench", SOURCE)
    return module.chain(image, *CHAIN, _result="numpy")


def slangpy_add(device: Any, image: Any) -> Any:
    module = p.spy.Module.load_from_source(device, "bench", SOURCE)
    return module.add(np.ascontiguousarray(image[:, 0]), np.ascontiguousarray(image[:, 1]), _result="numpy")


def fusepy_blur(device: Any, image: Any, library: str = "fusepy") -> Any:
    module = fp.Module.load_from_source(device, "bench", NEIGHBOURS.replace("LIBRARY", library))
    return module.blur(fp.grid(image.shape), image, _result="numpy")


def slangpys_module_blur(device: Any, image: Any) -> Any:
    return fusepy_blur(device, image, "slangpy")


def slangpy_blur(device: Any, image: Any) -> Any:
    module = p.spy.Module.load_from_source(device, "bench", NEIGHBOURS.replace("LIBRARY", "slangpy"))
    return module.blur(p.spy.grid(image.shape), p.slangpy_tensor(device, image, module.float), _result="numpy")


def fusepy_gradient(device: Any, image: Any) -> Any:
    module = fp.Module.load_from_source(device, "bench_line", LINE)
    return [float(v) for v in fp.grad(module.apart, (0, 1))(2.0, 1.0, np.ascontiguousarray(image[:, 0]))]


def slangpy_gradient(device: Any, image: Any) -> Any:
    module = p.spy.Module.load_from_source(device, "bench_line", LINE)
    ones = np.ones(N, np.float32)
    a, b = (p.spy.Tensor.from_numpy(device, np.float32([v])).with_grads(zero=True) for v in (2.0, 1.0))
    result = p.spy.Tensor.from_numpy(device, ones).with_grads()
    result.grad.copy_from_numpy(ones)
    module.apart.bwds(a, b, p.spy.Tensor.from_numpy(device, np.ascontiguousarray(image[:, 0])), _result=result)
    return [v.grad_out.to_numpy().item() for v in (a, b)]


def numpy_gradient(image: Any) -> list[float]:
    x = image[:, 0].astype(np.float64)
    e = 2 * x + 1 - x * x
    return [float(np.sum(2 * e * x)), float(np.sum(2 * e))]


def jax_add(device: Any, image: Any) -> Any:
    return np.asarray(device.jit(lambda a, b: a + b)(image[:, 0], image[:, 1]))


def jax_gradient(device: Any, image: Any) -> Any:
    def line(a: Any, b: Any, x: Any) -> Any:
        e = a * x + b - x * x
        return device.numpy.sum(e * e)

    return [float(v) for v in device.jit(device.grad(line, (0, 1)))(2.0, 1.0, image[:, 0])]


def fusepy_step(device: Any, image: Any) -> Any:
    """The first step of training of ten stages with twenty parameters; returns the loss."""
    values = fp.nn.parameters({"gains": list(GAINS.astype(float)), "shifts": list(SHIFTS.astype(float))}, device)
    step = fp.training_step(lambda t, c: staged(c, t["gains"], t["shifts"], fp.tanh, fp.mean), fp.nn.Adam())
    return float(step(values, image))


RUNS: dict[tuple[str, str], Callable[[Any, Any], Any]] = {
    ("chain", "fusepy"): fusepy_chain,
    ("chain", "slangpy"): slangpy_chain,
    ("chain", "slangpy hand-fused"): slangpy_fused_chain,
    ("add", "fusepy"): fusepy_add,
    ("add", "slangpy"): slangpy_add,
    ("gradient", "fusepy"): fusepy_gradient,
    ("gradient", "slangpy"): slangpy_gradient,
    ("step", "fusepy"): fusepy_step,
    ("blur", "fusepy"): fusepy_blur,
    ("blur", "slangpy"): slangpy_blur,
    ("blur", "fusepy on slangpy's module"): slangpys_module_blur,
    ("add", "jax"): jax_add,
    ("gradient", "jax"): jax_gradient,
}


def opened(kind: str, library: str) -> Any:
    """Returns an open device; JAX itself, once it has one."""
    if library == "jax":
        jax = p.optional("jax", CASE, "jax")
        if jax is None:
            pytest.skip("not installed, or sees no GPU")
        jax.device_put(np.zeros(1, np.float32)).block_until_ready()
        return jax
    return p.fusepy_device(kind) if library.startswith("fusepy") else p.slangpy_device(kind)


@pytest.mark.parametrize(("program", "library"), list(RUNS))
def bench_first(measure: Any, request: pytest.FixtureRequest, kind: str, program: str, library: str) -> None:
    image = np.random.default_rng(1).random((N, 3), np.float32)
    device = opened(kind, library)
    run = RUNS[program, library]
    state, block = request.config.getoption("--state"), request.config.getoption("--block")
    result = measure(f"{library} {state} {program}", block, lambda: run(device, image), rounds=1, warmup=0)
    wanted = {
        "chain": lambda: numpy_chain(image, *CHAIN),
        "add": lambda: image[:, 0] + image[:, 1],
        "blur": lambda: numpy_blur(image),
        "gradient": lambda: numpy_gradient(image),
        "step": lambda: staged(image.astype(np.float64), GAINS, SHIFTS, np.tanh, np.mean),
    }[program]()
    np.testing.assert_allclose(result, wanted, rtol=2e-4, atol=2e-5)
