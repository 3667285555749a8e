"""Networks of halfs beside NumPy in float64: parameters at any address, gradients, larger programs.

Cooperative vectors compute them on devices that have these. Elsewhere the same code runs with loops in place of the instruction,
which give NaN for addresses that it does not take, and mark their results in layers of 5 outputs.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.kernels import build
from fusepy.backend.slang.cooperative import COOPERATIVE, macros_of
from fusepy.backend.sources.libraries import FOLDER
from tests.nn.test_slang_networks import network, sigmoid
from tests.support.rasters import need_raster

Shape = tuple[int, int, int, int]  # In, Hidden, Layers, Out
EMULATED = """
enum CoopVecComponentType { Float16 }
enum CoopVecMatrixLayout { RowMajor }
struct CoopVec<T, let N : int>
{
    half values[N];
    __subscript(int i) -> half { get { return values[i]; } [mutating] set { values[i] = newValue; } }
}
CoopVec<half, M> coopVecMatMulAdd<T, let M : int, let K : int>(
    CoopVec<half, K> x, CoopVecComponentType a, void* place, CoopVecComponentType b, void* bias, CoopVecComponentType c,
    CoopVecMatrixLayout layout, bool transposed, uint stride)
{
    CoopVec<half, M> y;
    bool taken = uint64_t(place) % 64 == 0 && uint64_t(bias) % 16 == 0 && stride % 16 == 0;
    for (int i = 0; i < M; ++i)
    {
        float sum = ((half*)bias)[i] + (M == 5 ? 64.0f : 0.0f);  // a mark
        for (int j = 0; j < K; ++j)
            sum += float(((half*)place)[i * stride / 2 + j]) * float(x[j]);
        y[i] = half(taken ? sum : 0.0f / 0.0f);
    }
    return y;
}
"""
SMALL: list[Shape] = [(3, 8, 1, 3), (3, 8, 2, 3), (8, 16, 1, 1)]
WIDE: list[Shape] = [(32, 64, 2, 3), (2, 32, 2, 3), (40, 24, 1, 3), (16, 64, 3, 3), (32, 64, 1, 16), (8, 32, 1, 1)]
NETS = [*SMALL, *(pytest.param(shape, marks=pytest.mark.rest) for shape in WIDE)]
SOURCE = """
import fusepy;
import NAME;
[Differentiable] half[5] layer(Tensor<half,2> w, Tensor<half,1> b, half x[8]) { return linear<8,5>(w, b, x); }
[Differentiable] float score(half y[3]) { return float(y[0]) + 2.0 * float(y[1]) + float(y[2]) * float(y[2]); }
[Differentiable] float score_wide(float y[3]) { return y[0] + 2.0 * y[1] + y[2] * y[2]; }
"""
DRAW = """
struct Corner { float4 position : SV_Position; float3 at; };
[shader("vertex")] Corner vs(float4 position : POSITION) { return { position, position.xyz }; }
[shader("fragment")] float4 fs(Corner c, Tensor<half,1> p)
{
    half x[3] = { half(c.at.x), half(c.at.y), half(c.at.z) };
    let y = net_3_8_1_3(p, x);
    return float4(y[0], y[1], y[2], 1);
}
"""
NET = """
[Differentiable] half[{3}] {name}(Tensor<half,1> p, half x[{0}])
{{
    return HalfNetwork<{0},{1},{2},{3},Tanh,Sigmoid>.run(p, x);
}}
[Differentiable] float[{3}] {name}_wide(Tensor<float,1> p, float x[{0}])
{{
    return Network<{0},{1},{2},{3},Tanh,Sigmoid>.run(p, x);
}}
"""
RNG = np.random.default_rng(5)


def name_of(shape: Shape) -> str:
    return "net_" + "_".join(map(str, shape))


@pytest.fixture(scope="module")
def m(device: fp.Device, tmp_path_factory: pytest.TempPathFactory) -> Iterator[fp.Module]:
    source = SOURCE + "".join(NET.format(*shape, name=name_of(shape)) for shape in [*SMALL, *WIDE]) + DRAW
    if macros_of(device.raw):
        yield fp.Module.load_from_source(device, "cooperative", source.replace("NAME", "fusepy_nn"))
        return
    folder = tmp_path_factory.mktemp("emulated")
    for file in FOLDER.glob("fusepy_nn*"):
        text = file.read_text().replace("module fusepy_nn;", "module emulated;")
        (folder / file.name).write_text(text.replace("implementing fusepy_nn;", "implementing emulated;"))
    shutil.move(folder / "fusepy_nn.slang", folder / "emulated.slang")
    with (folder / "fusepy_nn_cooperative.slang").open("a") as file:
        file.write(EMULATED)
    (folder / "uses.slang").write_text(source.replace("NAME", "emulated"))
    with pytest.MonkeyPatch.context() as patch:  # as for fusepy_nn itself, kernels are not tried in a process of their own
        patch.setattr(build, "check_comparisons", lambda *_: None)
        yield fp.Module.load_from_file(device, str(folder / "uses.slang"), defines={COOPERATIVE: "1"})


def halfs(*shape: int, scale: float = 1.0) -> np.ndarray:
    return RNG.normal(0, scale, shape).astype(np.float16)


def parameters(shape: Shape) -> np.ndarray:
    i, h, n, o = shape
    sizes = [(h, i), *[(h, h)] * (n - 1), (o, h)]
    return np.concatenate([part for k, j in sizes for part in (halfs(k * j, scale=j**-0.5), halfs(k, scale=0.3))])


def expected(shape: Shape, p: np.ndarray, x: np.ndarray) -> np.ndarray:
    i, h, n, o = shape
    return network(p.astype(float), x.astype(float), [i, *[h] * n, o], np.tanh, sigmoid)


def need_speed(m: fp.Module, shape: Shape) -> None:
    """Skips wide networks where each layer is loops, which lavapipe unrolls for a minute."""
    if shape in WIDE and not macros_of(m.device.raw):
        pytest.skip("the device has no cooperative vectors")


@pytest.mark.req("S4")
@pytest.mark.parametrize("shape", NETS, ids=name_of)
def test_networks(m: fp.Module, shape: Shape) -> None:
    need_speed(m, shape)
    p, x = parameters(shape), halfs(50, shape[0])
    np.testing.assert_allclose(m[name_of(shape)](p, x), expected(shape, p, x), atol=4e-3)


def test_parameters_at_any_address(m: fp.Module) -> None:
    shape = SMALL[0]
    p, x = parameters(shape), halfs(20, shape[0])
    for start, step in ((0, 1), (32, 1), (1, 1), (8, 1), (0, 2), (-1, -1)):
        held = fp.Tensor(np.zeros(3 * p.size, np.float16))[start::step][: p.size]
        held[:] = p
        np.testing.assert_allclose(m[name_of(shape)](held, x), expected(shape, p, x), atol=4e-3, err_msg=f"{start}::{step}")


WEIGHTS: dict[str, Any] = {
    "whole": (lambda w: w[:5], True),
    "64 bytes further on": (lambda w: w[4:9], True),
    "16 bytes further on": (lambda w: w[1:6], False),
    "every second row": (lambda w: w[:10:2], False),
    "columns": (lambda w: w[:8].transpose(1, 0)[:5], False),
    "in wider rows": (lambda w: w.reshape(5, 16)[:5, :8], False),
}
BIASES: dict[str, Any] = {
    "16 bytes further on": (lambda b: b[8:13], True),
    "2 bytes further on": (lambda b: b[1:6], False),
    "every second one": (lambda b: b[:10:2], False),
}


def test_a_layer_of_views(m: fp.Module) -> None:
    """The instruction reads rows that follow each other from an address of 64 bytes on, and biases from one of 16."""
    w, b, x = fp.Tensor(halfs(10, 8)), fp.Tensor(halfs(16)), halfs(20, 8)
    mark = 0 if macros_of(m.device.raw) else 64
    cases = [(v, BIASES["16 bytes further on"], n) for n, v in WEIGHTS.items()]
    for (weights, packed), (biases, near), name in [*cases, *((WEIGHTS["whole"], v, n) for n, v in BIASES.items())]:
        weight, bias = weights(w), biases(b)
        want = x.astype(float) @ weight.to_numpy().astype(float).T + bias.to_numpy() + mark * (packed and near)
        np.testing.assert_allclose(m.layer(weight, bias, x), want, atol=0.05, err_msg=name)


@pytest.mark.rest  # test_slang_networks has gradients of halfs daily
@pytest.mark.req("S4")
@pytest.mark.parametrize("shape", [*SMALL[:1], *WIDE[:4]], ids=name_of)
def test_a_loss_and_its_gradients(m: fp.Module, shape: Shape) -> None:
    """A network between other work and a reduction: the loss beside NumPy, its gradients beside those of floats."""
    need_speed(m, shape)
    p, x = parameters(shape), halfs(40, shape[0])
    made: list[Any] = []
    for suffix, dtype in (("", np.float16), ("_wide", np.float32)):
        net, score = m[f"{name_of(shape)}{suffix}"], m[f"score{suffix}"]
        loss = fp.value_and_grad(lambda p, x: fp.mean(score(net(p, x * 0.5)) ** 2), (0, 1))  # noqa: B023
        value, slopes = loss(p.astype(dtype), x.astype(dtype))
        made.append((float(value), *map(np.asarray, slopes)))
    y = expected(shape, p, x * 0.5)
    assert made[0][0] == pytest.approx(np.mean((y[:, 0] + 2 * y[:, 1] + y[:, 2] ** 2) ** 2), rel=5e-3)
    for narrow, wide in zip(made[0][1:], made[1][1:]):
        np.testing.assert_allclose(narrow, wide, atol=2e-2 * np.abs(wide).max())


@pytest.mark.rest  # test_cooperative has the code of one
def test_a_network_in_a_fragment_shader(m: fp.Module) -> None:
    need_raster(m.device)
    p, corners = parameters(SMALL[0]), np.float32([[-1, -1, 0.5, 1], [3, -1, 0.5, 1], [-1, 3, 0.5, 1]])
    image = fp.raster(m, vertex="vs", fragment="fs")({"position": corners}, p=p, targets=(4, 8))
    y, x = (np.mgrid[:4, :8] + 0.5) / [[[2]], [[4]]] - 1
    want = expected(SMALL[0], p, np.stack([x, -y, np.full((4, 8), 0.5)], -1).reshape(32, 3))
    np.testing.assert_allclose(image[..., :3].reshape(32, 3), want, atol=4e-3)
