"""The Slang module `fusepy_nn`: networks and encodings in user functions, beside NumPy; their gradients, beside differences."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily

SOURCE = """
import mlp;
import fusepy;

[Differentiable] float[4] compute(MLP<8,4> mlp, float input[8]) { return mlp.run(input); }

[Differentiable] float first(MLP<32,8> mlp, float input[32]) { return mlp.run(input)[0]; }

[Differentiable] float square(float a, float b) { return (a - b) * (a - b); }

[Differentiable] float loss(MLP<8,4> mlp, float input[8], float target[4])
{
    float result = 0.0;
    let output = compute(mlp, input);
    for (int i = 0; i < 4; i++) result += square(output[i], target[i]);
    return result;
}

void updateWeights(inout float param, float grad, float step) { param -= grad * step; }

[Differentiable] float[3] small(MLP<2,3> mlp, float x[2]) { return mlp.run(x); }
[Differentiable] half[2] compute_half(HalfMLP<3,2> mlp, half input[3]) { return mlp.run(input); }
[Differentiable] float[3] deep(DeepMLP<2,4,2,3,Tanh,Sigmoid> net, float x[2]) { return net.run(x); }
[Differentiable] float[3] single(DeepMLP<2,4,1,3> net, float x[2]) { return net.run(x); }
[Differentiable] half[3] deep_half(HalfDeepMLP<2,4,2,3,Tanh,Sigmoid> net, half x[2]) { return net.run(x); }
[Differentiable] float[3] shared(Tensor<float,1> p, float x[2]) { return Network<2,4,2,3,Tanh,Sigmoid>.run(p, x); }
[Differentiable] half[3] shared_half(Tensor<half,1> p, half x[2]) { return HalfNetwork<2,4,2,3,Tanh,Sigmoid>.run(p, x); }
[Differentiable] float[3] layer(Tensor<float,2> w, Tensor<float,1> b, float x[2]) { return linear<2,3>(w, b, x); }
[Differentiable] half[3] layer_half(Tensor<half,2> w, Tensor<half,1> b, half x[2]) { return linear<2,3>(w, b, x); }
[Differentiable] float[8] waves(float x[2]) { return frequencies<2,2>(x); }
[Differentiable] float[6] cells(Tensor<float,2> table, HashGrid grid, float x[2]) { return hash_grid<2,3,2>(table, grid, x); }
[Differentiable] float cell3(Tensor<float,2> table, HashGrid grid, float x[3]) { return hash_feature<3>(table, grid, 1, 0, x); }

[Differentiable] float score<let N : int>(float a[N])
{
    float s = 0;
    [MaxIters(N)] for (int i = 0; i < N; ++i) s += a[i] * (i + 1) + square(a[i], 0.3);
    return s;
}
[Differentiable] float score3(float a[3]) { return score<3>(a); }
[Differentiable] float score6(float a[6]) { return score<6>(a); }
[Differentiable] float score8(float a[8]) { return score<8>(a); }
[Differentiable] float score_wide(float a[3]) { return a[0] + 2.0 * a[1] + a[2] * a[2]; }
[Differentiable] float score_half(half a[3]) { return float(a[0]) + 2.0 * float(a[1]) + float(a[2]) * float(a[2]); }
"""
RNG = np.random.default_rng(7)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


@pytest.fixture(scope="module")
def m(device: fp.Device) -> fp.Module:
    return fp.Module.load_from_source(device, "networks", SOURCE)


def slopes_of(f: Any, score: Any) -> Any:
    return fp.grad(lambda params, x: fp.mean(score(f(*params.values(), x))), (0, 1))


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def network(p: np.ndarray, x: np.ndarray, widths: list[int], inner: Callable[..., Any], last: Callable[..., Any]) -> np.ndarray:
    """The same network in NumPy, from the flat list of its parameters."""
    for i, (n, k) in enumerate(pairwise(widths)):
        weight, bias, p = p[: n * k].reshape(k, n), p[n * k : n * k + k], p[n * k + k :]
        x = (last if i == len(widths) - 2 else inner)(x @ weight.T + bias)
    assert not p.size
    return x


@pytest.mark.req("S4")
def test_the_program_of_the_seed(m: fp.Module) -> None:
    """A layer inside a user function, and the loop that trains it with `loss.bwds` and `updateWeights`."""
    x, wanted = normal(16, 8), normal(16, 4)
    mlp = {"weight": fp.differentiable(0.1 * normal(4, 8)), "bias": fp.differentiable(np.zeros(4, np.float32))}
    before = m.compute(mlp, x)
    np.testing.assert_allclose(before, x @ mlp["weight"].to_numpy().T, atol=1e-5)
    first = np.mean(m.loss(mlp, x, wanted))
    for _ in range(60):
        for p in mlp.values():
            p.grad.clear()
        m.loss.bwds(mlp, x, wanted)
        for p in mlp.values():
            m.updateWeights(p.detach(), p.grad, 1e-2)
    assert np.mean(m.loss(mlp, x, wanted)) < 0.75 * first
    best = np.linalg.lstsq(np.c_[x, np.ones(16)], wanted, rcond=None)[0]
    assert np.mean(m.loss(mlp, x, wanted)) < 1.2 * np.mean(((np.c_[x, np.ones(16)] @ best - wanted) ** 2).sum(1))


NETWORKS: dict[str, Any] = {
    "small": {"weight": normal(3, 2), "bias": normal(3)},
    "deep": {"parameters": normal(12 + 20 + 15)},
    "single": {"parameters": normal(12 + 15)},
    "shared": normal(12 + 20 + 15),
}


@pytest.mark.req("S4")
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_are_those_of_numpy(m: fp.Module, name: str) -> None:
    x, params = normal(20, 2), NETWORKS[name]
    if name == "small":
        want = x @ params["weight"].T + params["bias"]
    else:
        flat, layers = params["parameters"] if isinstance(params, dict) else params, [4] * (1 if name == "single" else 2)
        inner, last = (lambda z: np.maximum(z, 0), lambda z: z) if name == "single" else (np.tanh, sigmoid)
        want = network(flat, x, [2, *layers, 3], inner, last)
    np.testing.assert_allclose(m[name](params, x), want, atol=2e-5)


@pytest.mark.req("S4")
@pytest.mark.parametrize("name", daily(NETWORKS, "shared"))
def test_gradients_of_networks(m: fp.Module, name: str) -> None:
    fp.check_grads(lambda p, x: fp.mean(m.score3(m[name](p, x))), NETWORKS[name], normal(20, 2))


def test_a_layer_for_each_point(m: fp.Module) -> None:
    layers, x = {"weight": normal(9, 3, 2), "bias": normal(9, 3)}, normal(9, 2)
    np.testing.assert_allclose(m.small(layers, x), np.einsum("nij,nj->ni", layers["weight"], x) + layers["bias"], atol=1e-5)


@pytest.mark.rest
def test_gradients_of_a_layer_for_each_point(m: fp.Module) -> None:
    layers, x = {"weight": normal(9, 3, 2), "bias": normal(9, 3)}, normal(9, 2)
    fp.check_grads(lambda p, x: fp.mean(m.score3(m.small(p, x))), layers, x)


@pytest.mark.rest  # the same function is daily beside one of halfs
def test_a_layer_of_two_tensors(m: fp.Module) -> None:
    w, b, x = normal(3, 2), normal(3), normal(20, 2)
    np.testing.assert_allclose(m.layer(w, b, x), x @ w.T + b, atol=1e-5)
    fp.check_grads(lambda w, b, x: fp.mean(m.score3(m.layer(w, b, x))), w, b, x)


@pytest.mark.req("S4")
@pytest.mark.parametrize(
    ("name", "params"), daily([("deep", [(47,)]), ("shared", [(47,)]), ("layer", [(3, 2), (3,)])], "shared", "layer")
)
def test_halfs_are_near_floats(m: fp.Module, name: str, params: list[tuple[int, ...]]) -> None:
    x, given = normal(16, 2), [0.5 * normal(*shape) for shape in params]
    made: list[Any] = []
    for f, score, dtype in ((m[name], m.score_wide, np.float32), (m[f"{name}_half"], m.score_half, np.float16)):
        points, args = x.astype(dtype), {f"p{i}": p.astype(dtype) for i, p in enumerate(given)}
        if name == "deep":
            args = {"net": {"parameters": args["p0"]}}
        slopes = slopes_of(f, score)(args, points)
        made.append([f(*args.values(), points), *fp.nn.named(slopes).values()])
    for wide, narrow in zip(*made):
        assert narrow.dtype == np.float16
        np.testing.assert_allclose(narrow, wide, atol=1e-2 * max(1, np.abs(wide).max()))


def test_a_layer_of_halfs(m: fp.Module) -> None:
    w, b, x = normal(2, 3), normal(2), normal(9, 3)
    got = m.compute_half({"weight": w.astype(np.float16), "bias": b.astype(np.float16)}, x.astype(np.float16))
    np.testing.assert_allclose(got, x @ w.T + b, atol=2e-2)


ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "Identity": lambda x: x,
    "ReLU": lambda x: np.maximum(x, 0),
    "LeakyReLU": lambda x: np.where(x > 0, x, 0.01 * x),
    "Sigmoid": sigmoid,
    "Tanh": np.tanh,
    "SiLU": lambda x: x * sigmoid(x),
    "GELU": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "Softplus": lambda x: np.logaddexp(x, 0),
    "Exp": np.exp,
    "Sine": np.sin,
}


@pytest.mark.long
@pytest.mark.req("S4")
def test_activations(device: fp.Device) -> None:
    functions = "".join(f"[Differentiable] float f{name}(float x) {{ return {name}.eval(x); }}\n" for name in ACTIVATIONS)
    a = fp.Module.load_from_source(device, "activations", f"import fusepy_nn;\n{functions}")
    x = np.float32([-90, -3, -1.3, -0.2, 0.4, 1.1, 2.7, 80])
    for name, expected in ACTIVATIONS.items():
        with np.errstate(over="ignore"):
            np.testing.assert_allclose(a[f"f{name}"](x), expected(x.astype(float)), rtol=2e-5, atol=2e-6, err_msg=name)
        fp.check_grads(a[f"f{name}"], x[1:-1])
        assert np.isfinite(fp.grad(a[f"f{name}"])(x[:-1])).all(), name


@pytest.mark.req("S4")
def test_an_activation_of_the_user(device: fp.Device) -> None:
    a = fp.Module.load_from_source(
        device,
        "own_activation",
        """
import fusepy_nn;
import fusepy;
public struct Square : IActivation { [Differentiable] public static float eval(float x) { return x * x; } };
[Differentiable] public float[1] net(Tensor<float,1> p, float x[2]) { return Network<2,3,1,1,Square>.run(p, x); }
[Differentiable] public float only(float y[1]) { return y[0]; }
""",
    )
    p, x = normal(9 + 4), normal(11, 2)
    np.testing.assert_allclose(a.net(p, x), network(p, x, [2, 3, 1], np.square, lambda z: z), rtol=1e-4, atol=1e-5)
    fp.check_grads(lambda p, x: fp.mean(a.only(a.net(p, x))), p, x)


@pytest.mark.rest  # test_encodings has the same function daily
def test_frequencies(m: fp.Module) -> None:
    x = normal(12, 2)
    want = np.concatenate([f(2**k * np.pi * x) for k in (0, 1) for f in (np.sin, np.cos)], axis=1)
    np.testing.assert_allclose(m.waves(x), want, atol=1e-5)
    fp.check_grads(lambda x: fp.mean(m.score8(m.waves(x))), x)


def grid_in_numpy(table: np.ndarray, level: int, cells: int, size: int, x: np.ndarray) -> np.ndarray:
    at = np.clip(x.astype(np.float32), 0, 1) * np.float32(cells)
    first = np.minimum(at.astype(int), cells - 1)
    part, total = at - first, np.zeros((len(x), table.shape[1]))
    for k in np.ndindex(*[2] * x.shape[1]):
        corner, weight = first + k, np.prod(np.where(k, part, 1 - part), axis=1)
        if (cells + 1) ** x.shape[1] <= size:
            row = sum(corner[:, d] * (cells + 1) ** d for d in range(x.shape[1]))
        else:
            primes = (1, 2654435761, 805459861)
            row = np.bitwise_xor.reduce([corner[:, d] * primes[d] % 2**32 for d in range(x.shape[1])])
        total += weight[:, None] * table[level * size + row % size]
    return total


GRID = {"log2_size": 5, "base": 3.0, "growth": 2.0}


def test_hash_grids_are_those_of_numpy(m: fp.Module) -> None:
    """Level 0 has a row for each corner; levels 1 and 2 have fewer rows than corners."""
    rng = np.random.default_rng(0)  # not near a side of a cell, where the slope jumps, whichever tests ran before
    x, table, grid = rng.random((30, 2)).astype(np.float32), normal(3 * 32, 2), GRID
    x[0], x[1] = (0, 0), (1, 1)
    want = np.concatenate([grid_in_numpy(table, k, 3 * 2**k, 32, x) for k in range(3)], axis=1)
    np.testing.assert_allclose(m.cells(table, grid, x), want, atol=1e-5)


@pytest.mark.rest  # test_encodings has those of grids in space daily
def test_gradients_of_grids_and_of_one_feature(m: fp.Module) -> None:
    rng, table = np.random.default_rng(0), normal(3 * 32, 2)
    x = rng.random((30, 2)).astype(np.float32)[2:]
    fp.check_grads(lambda t, x: fp.mean(m.score6(m.cells(t, GRID, x))), table, x)
    x = rng.random((30, 3)).astype(np.float32)
    np.testing.assert_allclose(m.cell3(table, GRID, x), grid_in_numpy(table, 1, 6, 32, x)[:, 0], atol=1e-5)
    fp.check_grads(lambda t, x: fp.mean(m.cell3(t, GRID, x) ** 2), table, x)


def test_points_outside_of_the_cube_are_at_its_side(m: fp.Module) -> None:
    table, grid = normal(3 * 32, 2), GRID
    outside, inside = np.float32([[-2, 0.3], [0.4, 7]]), np.float32([[0, 0.3], [0.4, 1]])
    np.testing.assert_array_equal(m.cells(table, grid, outside), m.cells(table, grid, inside))
    slope = fp.grad(lambda x: fp.mean(m.score6(m.cells(table, grid, x))))(outside)
    assert slope[0, 0] == slope[1, 1] == 0
    assert slope[0, 1] != 0


def test_one_value_of_many_numbers(m: fp.Module, device: fp.Device) -> None:
    """A tensor that holds the struct itself has a gradient of one value; the error says how the members have theirs."""
    whole = fp.Tensor.zeros(device, (), m["MLP<32,8>"])
    with pytest.raises(fp.GradientError, match="264 numbers") as caught:
        fp.grad(lambda w, x: fp.mean(m.first(w, x)))(whole, normal(4, 32))
    assert "pass its members in a dict" in str(caught.value)
