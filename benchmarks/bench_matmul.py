"""Products of matrices: those of a small network, 32-64-64-8 over 65,536 samples, and its training step, beside torch's.

``forward`` is 65536 x 32 times 32 x 64, ``weights`` the gradient of its weights, 32 x 65536 times 65536 x 64, ``input`` that of a
second layer's input, 65536 x 64 times 64 x 64. ``step`` is loss, gradients and Adam of the whole network. ``sgl forward`` is a
kernel written by hand for exactly these sizes, on the CPU. Square products, long sums for few results and a batch are measured on
GPUs only. ``slangpy layer`` is a call of slangpy's ``.bwds``, of the last layer,
which is less than its step: that needs calls for all layers and updates. Compiling a larger layer's takes many minutes.
"""

from __future__ import annotations

import functools
import importlib
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from benchmarks import peers as p

CASE = "matmul"
BLOCKS = 7
LARGE = {  # the shapes of both matrices, on GPUs
    **{f"square {n}": ((n, n), (n, n)) for n in (256, 512, 1024, 2048, 4096)},
    "batch": ((64, 256, 256), (64, 256, 256)),
    "long": ((64, 65536), (65536, 64)),
    "long narrow": ((64, 65536), (65536, 8)),
}
OWN = ("forward", "weights", "input", "step", *LARGE)
PEERS = [*OWN, *(f"torch {name}" for name in OWN), "sgl forward", "slangpy layer"]
SIZES = (32, 64, 64, 8)
ROWS = 256  # of a group of the kernel written by hand
BY_HAND = """
    int row = int(group) * 256;
    float b[32][8];
    [unroll] for (int k = 0; k < 32; ++k)
        [unroll] for (int j = 0; j < 8; ++j)
            b[k][j] = p.b[k * 64 + int(lane) + j * 8];
    for (int m = row; m < row + 256; m += 2)
    {
        float sum[2][8];
        [unroll] for (int i = 0; i < 2; ++i)
            [unroll] for (int j = 0; j < 8; ++j)
                sum[i][j] = 0;
        [unroll] for (int s = 0; s < 4; ++s)
        {
            float a[2];
            [unroll] for (int i = 0; i < 2; ++i)
                a[i] = p.a[(m + i) * 32 + s * 8 + int(lane)];
            [unroll] for (int u = 0; u < 8; ++u)
                [unroll] for (int i = 0; i < 2; ++i)
                {
                    float x = WaveReadLaneAt(a[i], u);
                    [unroll] for (int j = 0; j < 8; ++j)
                        sum[i][j] = mad(x, b[s * 8 + u][j], sum[i][j]);
                }
        }
        [unroll] for (int i = 0; i < 2; ++i)
            [unroll] for (int j = 0; j < 8; ++j)
                p.r[(m + i) * 64 + int(lane) + j * 8] = sum[i][j];
    }
"""
LAYER = """
import slangpy;
[Differentiable]
float[8] layer(DiffTensor<float, 2> w, DiffTensor<float, 1> b, float[64] x)
{
    float[8] y;
    [MaxIters(8)]
    for (int o = 0; o < 8; ++o)
    {
        float sum = b.load(o);
        [MaxIters(64)]
        for (int i = 0; i < 64; ++i)
            sum += w.load(i, o) * x[i];
        y[o] = sum;
    }
    return y;
}
"""


def _arrays(samples: int) -> dict[str, Any]:
    random = np.random.default_rng(0)
    made = {f"w{i}": random.normal(0, m**-0.5, (m, n)) for i, (m, n) in enumerate(itertools.pairwise(SIZES))}
    made |= {f"b{i}": np.zeros(n) for i, n in enumerate(SIZES[1:])}
    made |= {"x": random.normal(size=(samples, SIZES[0])), "y": random.normal(size=(samples, SIZES[-1]))}
    made["g"] = random.normal(size=(samples, 64))
    return {name: np.asarray(value, np.float32) for name, value in made.items()}


def _large(quick: bool) -> dict[str, tuple[Any, Any]]:
    """Returns the matrices of `LARGE`; `quick` leaves out those that take long."""
    random = np.random.default_rng(1)
    names = [name for name, (shape, _) in LARGE.items() if not quick or max(shape) <= 512]
    return {name: tuple(random.standard_normal(shape, np.float32) for shape in LARGE[name]) for name in names}  # type: ignore[misc]


def _loss(q: Any, x: Any, y: Any) -> Any:
    for i in range(3):
        x = x @ q[f"w{i}"] + q[f"b{i}"]
        x = fp.nn.relu(x) if i < 2 else x
    return fp.mean((x - y) ** 2)


@pytest.fixture(scope="module")
def data(quick: bool) -> dict[str, Any]:
    return _arrays(4096 if quick else 65536)


@pytest.fixture(scope="module")
def runners(device: Any, data: dict[str, Any], quick: bool) -> dict[str, Callable[[], Any]]:
    t = {name: fp.Tensor.from_numpy(device, value) for name, value in data.items()}
    parameters = fp.nn.parameters({name: t[name] for name in data if name[0] in "wb"})
    step = fp.training_step(_loss, fp.nn.Adam(lr=1e-3))
    down, back = fp.fuse(lambda x, g: fp.vmap(x, (1, 0)) @ g), fp.fuse(lambda g, w: g @ fp.vmap(w, (1, 0)))
    calls = {
        "forward": lambda: fp.matmul(t["x"], t["w0"]),
        "weights": lambda: down(t["x"], t["g"]),
        "input": lambda: back(t["g"], t["w1"]),
        "step": lambda: step(parameters, t["x"], t["y"]),
    }
    if p.is_hardware(device.sgl):
        product = fp.fuse(lambda a, b: a @ b)
        for name, pair in _large(quick).items():
            given = [fp.Tensor.from_numpy(device, x) for x in pair]
            calls[name] = functools.partial(product, *given, _result=product(*given))
    np.testing.assert_allclose(calls["weights"]().to_numpy(), data["x"].T.astype("f8") @ data["g"], atol=1e-2)

    def waiting(call: Callable[[], Any]) -> Callable[[], None]:
        def run() -> None:
            call()
            device.wait()

        return run

    return {name: waiting(call) for name, call in calls.items()}


@pytest.fixture(scope="module")
def theirs(device: Any, data: dict[str, Any], quick: bool) -> dict[str, Callable[[], Any]]:
    """The same by torch, on the same processor or GPU."""
    gpu = p.is_hardware(device.sgl)
    torch = p.optional("torch", CASE, "torch") if gpu else importlib.import_module("torch")
    if torch is None:
        return {}
    place = "cuda" if gpu else "cpu"
    t = {name: torch.from_numpy(value).to(place) for name, value in data.items()}
    layers = [torch.nn.Linear(m, n, device=place) for m, n in itertools.pairwise(SIZES)]
    with torch.no_grad():
        for i, layer in enumerate(layers):
            layer.weight.copy_(t[f"w{i}"].T)
            layer.bias.zero_()
    model = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2])
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step() -> Any:
        optimiser.zero_grad()
        loss = ((model(t["x"]) - t["y"]) ** 2).mean()
        loss.backward()
        optimiser.step()

    calls = {
        "forward": lambda: torch.mm(t["x"], t["w0"]),
        "weights": lambda: torch.mm(t["x"].T, t["g"]),
        "input": lambda: torch.mm(t["g"], t["w1"].T),
        "step": step,
    }
    if gpu:
        torch.backends.cuda.matmul.allow_tf32 = False
        for name, pair in _large(quick).items():
            x, y = (torch.from_numpy(v).to(place) for v in pair)
            calls[name] = functools.partial(torch.matmul, x, y, out=torch.matmul(x, y))

    def waiting(call: Callable[[], Any]) -> Callable[[], None]:
        def run() -> None:
            call()
            if gpu:
                torch.cuda.synchronize()

        return run

    return {f"torch {name}": waiting(call) for name, call in calls.items()}


@pytest.fixture(scope="module")
def by_hand(kind: str, data: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    device = p.slangpy_device(kind, validation=False)
    if p.is_hardware(device):
        return {}
    a, b = (p.raw_buffer(device, data[name]) for name in ("x", "w0"))
    r = p.raw_buffer(device, nbytes=len(data["x"]) * 64 * 4)
    source = p.raw_source(device, "float* a; float* b; float* r;", 8, 1, BY_HAND)
    kernel = p.Raw(device, device.create_slang_session(), "bench_matmul_by_hand", source, 1, "QQQ")
    values = [a.device_address, b.device_address, r.device_address]

    def run(held: Any = (a, b, r)) -> None:
        kernel(values, len(data["x"]) // ROWS)
        device.wait()

    run()
    found = r.to_numpy().view(np.float32).reshape(-1, 64)
    np.testing.assert_allclose(found, data["x"] @ data["w0"], atol=1e-4)
    return {"sgl forward": run}


@pytest.fixture(scope="module")
def slangpys(kind: str, data: dict[str, Any]) -> Callable[[], None]:
    """One call of slangpy's gradients of the last layer, by its weights, biases and input."""
    device = p.slangpy_device(kind, validation=False)
    module = p.spy.Module.load_from_source(device, "bench_matmul_layer", LAYER)

    def rows(values: Any) -> Any:
        made = p.spy.Tensor.empty(device, (len(values),), module.layout.find_type_by_name(f"float[{values.shape[1]}]"))
        made.copy_from_numpy(values)
        return made.with_grads(zero=True)

    w, b = (p.spy.Tensor.from_numpy(device, data[name]).with_grads(zero=True) for name in ("w2", "b2"))
    x, result = rows(data["g"]), rows(data["y"])
    slope = data["y"] / len(data["y"])
    result.grad.copy_from_numpy(slope)

    def run() -> None:
        for t in (w, b, x):
            t.grad.clear()
        module.layer.bwds(w, b, x, _result=result)
        device.wait()

    run()
    np.testing.assert_allclose(w.grad.to_numpy(), data["g"].T.astype("f8") @ slope, atol=1e-4)
    return run


def bench_matmul(measure: Any, runners: Any, theirs: Any, by_hand: Any, slangpys: Any, block: int, peer: str) -> None:
    target = slangpys if peer == "slangpy layer" else runners.get(peer) or theirs.get(peer) or by_hand.get(peer)
    if target is None:
        pytest.skip("not installed, or no GPU")
    measure(peer, block, target, rounds=3, warmup=1)
