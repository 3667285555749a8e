"""`fp.nn.MLP` and the activations: what they compute beside NumPy, their gradients, training, misuse."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.nn.test_slang_networks import ACTIVATIONS
from tests.support.selection import daily

RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 3)).astype(np.float32)
NAMES = {
    "relu": "ReLU",
    "leaky_relu": "LeakyReLU",
    "gelu": "GELU",
    "silu": "SiLU",
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
    "softplus": "Softplus",
    "exp": "Exp",
    "sine": "Sine",
}


def expected(net: fp.nn.MLP, params: Any, x: np.ndarray, inner: str, last: str) -> np.ndarray:
    layers = len(net.widths) - 1
    for i in range(layers):
        x = x @ params[f"weight_{i}"].to_numpy().astype(float).T + params[f"bias_{i}"].to_numpy()
        x = ACTIVATIONS[last if i == layers - 1 else inner](x)
    return x


@pytest.mark.req("S4")
@pytest.mark.parametrize("name", daily(NAMES, "relu", "gelu", "softplus"))
def test_activations_of_arrays(name: str) -> None:
    x = np.float32([-90, -3, -1.3, -0.2, 0.4, 1.1, 2.7, 80])
    function = getattr(fp.nn, name)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(function(x), ACTIVATIONS[NAMES[name]](x.astype(float)), rtol=2e-5, atol=2e-6)
    fp.check_grads(function, x[1:-1])
    assert np.isfinite(fp.grad(lambda x: fp.sum(function(x)))(x[:-1])).all()


@pytest.mark.parametrize("shape", daily([(40, 3), (4, 10, 3), (3,)], 4, 3, one=True))
def test_a_network_of_arrays_of_any_rank(shape: tuple[int, ...]) -> None:
    net = fp.nn.MLP(3, 8, 5, 2, activation="silu", output="sigmoid", seed=1)
    params, x = net.parameters(), X.ravel()[: np.prod(shape)].reshape(shape)
    got = fp.fuse(lambda p, x: net(p, x))(params, x)
    np.testing.assert_allclose(got, expected(net, params, x, "SiLU", "Sigmoid"), atol=1e-5)
    np.testing.assert_array_equal(net(params, x), got)


@pytest.mark.req("S4")
@pytest.mark.parametrize("what", daily(["training", "gradients"], "training"))
def test_gradients_and_training(what: str) -> None:
    net = fp.nn.MLP(3, 8, 1, activation="tanh")
    params, y = net.parameters(), np.sin(X.sum(1, keepdims=True))

    def loss(p: Any, x: Any, y: Any) -> Any:
        return fp.mean((net(p, x) - y) ** 2)

    if what == "gradients":
        fp.check_grads(loss, params, X, y)
        return
    step = fp.training_step(loss, fp.nn.Adam(lr=0.03))
    losses = [float(step(params, X, y)) for _ in range(150)]
    assert losses[-1] < 0.02 * losses[0]


def test_a_step_stores_what_relu_gives_and_no_mask_beside_it() -> None:
    net = fp.nn.MLP(3, 16, 16, 1, activation="relu")
    step = fp.training_step(lambda p, x: fp.mean(net(p, x) ** 2), fp.nn.SGD())
    text = str(step.explain(net.parameters(), X))
    assert sorted(re.findall("stored: (gate|relu|le|select) by", text)) == ["gate", "gate", "relu", "relu"]


@pytest.mark.parametrize(("dtype", "near"), daily([("half", 5e-3), ("double", 1e-12)], "half"))
def test_dtypes(dtype: str, near: float) -> None:
    net = fp.nn.MLP(3, 8, 2, activation="sigmoid", dtype=dtype)
    params, x = net.parameters(), X.astype(np.float16 if dtype == "half" else np.float64)
    got = net(params, x)
    assert str(got.dtype) == dtype
    np.testing.assert_allclose(got, expected(net, params, x, "Sigmoid", "Identity"), atol=near)
    slopes = fp.grad(lambda p: fp.mean(net(p, x)))(params)
    assert all(g.dtype is params[name].dtype for name, g in slopes.items())


def test_first_parameters() -> None:
    net = fp.nn.MLP(400, 300, 200, activation="relu")
    params, again, other = net.parameters(), net.parameters(), fp.nn.MLP(400, 300, 200, seed=1).parameters()
    assert list(params) == net.names == ["weight_0", "bias_0", "weight_1", "bias_1"]
    assert params["weight_0"].shape == (300, 400)
    assert params["bias_1"].to_numpy().any() == np.False_
    assert params["weight_0"].to_numpy().std() == pytest.approx(np.sqrt(2 / 400), rel=0.02)
    assert params["weight_1"].to_numpy().std() == pytest.approx(np.sqrt(2 / 500), rel=0.02)
    np.testing.assert_array_equal(params["weight_0"], again["weight_0"])
    assert not np.array_equal(params["weight_0"], other["weight_0"])


def test_a_function_as_activation() -> None:
    net = fp.nn.MLP(3, 4, 1, activation=lambda x: x * x)
    params = net.parameters()
    hidden = X @ params["weight_0"].to_numpy().T
    np.testing.assert_allclose(net(params, X), hidden**2 @ params["weight_1"].to_numpy().T, atol=1e-5)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda net, p: net(p, X[:, :2]), fp.ShapeError, "x of this network has another width"),
        (lambda net, p: net({**p, "bias_0": np.zeros(7, np.float32)}, X), fp.ShapeError, "bias_0 of this network"),
        (lambda net, p: net({"weight_0": p["weight_0"]}, X), fp.ArgumentError, "not the parameters of this network"),
        (lambda net, p: fp.nn.MLP(3, 4, activation="rellu"), fp.ArgumentError, "did you mean 'relu'"),
        (lambda net, p: fp.nn.MLP(3), fp.RangeError, "at least two widths"),
        (lambda net, p: fp.nn.MLP(3, 0), fp.RangeError, "positive"),
        (lambda net, p: fp.nn.MLP(3, 2, dtype="int"), fp.ArgumentError, "dtype"),
        (lambda net, p: fp.fuse(lambda p, x: net(p, x))(p, X[:, :2]), fp.ShapeError, "x"),
        (lambda net, p: fp.fuse(lambda p, x: net(p, x))(p, X[:, :1]), fp.ShapeError, "x"),
    ],
)
def test_misuse(call: Any, error: type[Exception], words: str) -> None:
    net = fp.nn.MLP(3, 4, 2)
    with pytest.raises(error, match=words):
        call(net, net.parameters())
