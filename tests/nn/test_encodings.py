"""`fp.nn.FrequencyEncoding` and `fp.nn.HashGrid`: beside NumPy, their gradients, training behind them, misuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.nn.test_slang_networks import grid_in_numpy
from tests.support.selection import daily

RNG = np.random.default_rng(11)
X = RNG.random((60, 2)).astype(np.float32)


@pytest.mark.req("S4")
@pytest.mark.parametrize("dimensions", daily([1, 2, 3, 4], 2))
def test_frequencies(dimensions: int) -> None:
    x = RNG.normal(size=(4, 5, dimensions)).astype(np.float32)
    encode = fp.nn.FrequencyEncoding(3, dimensions)
    want = np.concatenate([f(2**k * np.pi * x) for k in range(3) for f in (np.sin, np.cos)], axis=-1)
    assert encode.width == want.shape[-1]
    np.testing.assert_allclose(encode(x), want, atol=2e-5)
    fp.check_grads(lambda x: fp.mean(encode(x) ** 2 * 3 + encode(x)), x)


@pytest.mark.req("S4")
@pytest.mark.parametrize("dimensions", daily([1, 2, 3], 3))
def test_hash_grids(dimensions: int) -> None:
    x = ((RNG.integers(0, 12, (20, dimensions)) + RNG.uniform(0.2, 0.8, (20, dimensions))) / 12).astype(
        np.float32
    )  # inside of cells
    grid = fp.nn.HashGrid(3, 2, log2_size=3, base=1, growth=2, dimensions=dimensions)
    params = grid.parameters()
    table = params["table"].to_numpy()
    assert table.shape == (24, 2)
    assert 0 < np.abs(table).max() <= 1e-4
    want = np.concatenate([grid_in_numpy(table, k, 2**k, 8, x) for k in range(3)], axis=1)
    np.testing.assert_allclose(grid(params, x), want, atol=1e-9)
    wide = {"table": RNG.normal(size=(24, 2)).astype(np.float32)}
    fp.check_grads(lambda p, x: fp.mean(grid(p, x) ** 2), wide, x)


@pytest.mark.parametrize("points", [X, X.tolist()], ids=["array", "list"])
def test_points_from_outside_of_a_fused_function(points: Any) -> None:
    grid = fp.nn.HashGrid(2, 1, log2_size=3, base=2, growth=2)
    both = fp.value_and_grad(lambda p, x: fp.sum(grid(p, x) ** 2))
    value, slope = fp.value_and_grad(lambda p: fp.sum(grid(p, points) ** 2))(grid.parameters())
    want, wanted = both(grid.parameters(), X)
    np.testing.assert_allclose(float(value), float(want), rtol=1e-5)
    np.testing.assert_allclose(slope["table"].to_numpy(), wanted["table"].to_numpy(), rtol=1e-4, atol=1e-9)


@pytest.mark.rest  # test_mlp trains a network daily
@pytest.mark.req("S4")
@pytest.mark.req("S5")
@pytest.mark.parametrize("kind", ["frequencies", "hash grid"])
def test_an_encoding_lets_a_network_learn_a_fine_pattern(kind: str) -> None:
    y = np.sin(20 * X[:, :1]) * np.cos(17 * X[:, 1:])
    waves, grid = fp.nn.FrequencyEncoding(4), fp.nn.HashGrid(4, 2, log2_size=8, base=4, growth=2)
    net = fp.nn.MLP(waves.width if kind == "frequencies" else grid.width, 16, 1, seed=2)
    params = {"net": net.parameters()} | ({} if kind == "frequencies" else {"grid": grid.parameters()})

    def loss(p: Any, x: Any, y: Any) -> Any:
        seen = waves(x) if kind == "frequencies" else grid(p["grid"], x)
        return fp.mean((net(p["net"], seen) - y) ** 2)

    step = fp.training_step(loss, fp.nn.Adam(lr=0.02))
    losses = [float(step(params, X, y)) for _ in range(120)]
    assert losses[-1] < 0.1 * losses[0]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: fp.nn.FrequencyEncoding(3)(np.zeros((4, 3))), fp.ShapeError, "another number of dimensions"),
        (lambda: fp.nn.FrequencyEncoding(3)(1.0), fp.ShapeError, "another number of dimensions"),
        (lambda: fp.nn.FrequencyEncoding(0), fp.RangeError, "octaves is positive"),
        (lambda: fp.nn.FrequencyEncoding(3, dimensions=5), fp.RangeError, "1 to 4 dimensions"),
        (lambda: fp.nn.HashGrid(levels=0), fp.RangeError, "levels is positive"),
        (lambda: fp.nn.HashGrid(2, 2, 4)({"table": np.zeros((3, 2))}, X), fp.ShapeError, "another shape"),
        (lambda: fp.nn.HashGrid(2, 2, 4)({"weight_0": np.zeros((3, 2))}, X), fp.ArgumentError, "parameters of a hash grid"),
    ],
)
def test_misuse(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()
