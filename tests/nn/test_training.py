"""Training steps: what the optimisers compute, in how many kernels, and misuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusepy as fp

X = np.linspace(-1, 1, 64, dtype=np.float32)
Y = 3 * X + 1


def loss(p: Any, x: Any, y: Any) -> Any:
    return fp.mean((p["a"] * x + p["b"][0] - y) ** 2)


def fresh() -> Any:
    return fp.nn.parameters({"a": np.float32(0.5), "b": [np.float32(0.0)]})


def reference(optimiser: fp.nn.Optimiser, steps: int) -> tuple[float, float]:
    """The same steps in float64."""
    p, mean, square, velocity = np.array([0.5, 0.0]), np.zeros(2), np.zeros(2), np.zeros(2)
    for n in range(1, steps + 1):
        r = p[0] * X.astype(float) + p[1] - Y
        g = np.array([np.mean(2 * r * X), np.mean(2 * r)])
        rate = optimiser.rate(n)
        if isinstance(optimiser, fp.nn.Adam):
            b1, b2 = optimiser.betas
            mean, square = b1 * mean + (1 - b1) * g, b2 * square + (1 - b2) * g * g
            decay = optimiser.weight_decay if isinstance(optimiser, fp.nn.AdamW) else 0.0
            p = p - rate * (mean / (1 - b1**n) / (np.sqrt(square / (1 - b2**n)) + optimiser.eps) + decay * p)
        else:
            assert isinstance(optimiser, fp.nn.SGD)
            velocity = optimiser.momentum * velocity + g + optimiser.weight_decay * p
            p = p - rate * velocity
    return float(p[0]), float(p[1])


OPTIMISERS = [
    fp.nn.SGD(lr=0.3),
    fp.nn.SGD(lr=0.1, momentum=0.9, weight_decay=0.01),
    fp.nn.Adam(lr=0.1),
    fp.nn.AdamW(lr=lambda n: 0.1 / n, weight_decay=0.1),
]


@pytest.mark.req("S5")
@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=["sgd", "momentum", "adam", "adamw with a schedule"])
def test_a_step_is_one_kernel_and_changes_parameters_in_place(optimiser: fp.nn.Optimiser) -> None:
    params, step = fresh(), fp.training_step(loss, optimiser)
    a = params["a"]
    first = float(step(params, X, Y))
    for _ in range(9):
        last = step(params, X, Y)
    assert first == pytest.approx(float(np.mean((0.5 * X - Y) ** 2)), rel=1e-5)
    assert float(last) < first
    assert params["a"] is a
    np.testing.assert_allclose((float(a), float(params["b"][0])), reference(optimiser, 10), rtol=2e-5)
    assert step.explain(params, X, Y).kernels == 1
    assert step.count == 10
    told = str(step.explain(params, X, Y))
    assert all(word in told for word in ("step_of_loss", "p_a", "p_b_0", "rate", "x, y: float over 1 axes"))
    assert len(told.splitlines()) < 12
    assert "not needed" not in told


@pytest.mark.rest  # one step of such parameters is daily in test_optimisers
def test_vectors_halfs_and_doubles_are_trained_in_their_types(device: fp.Device) -> None:
    target = np.float32([[1, 2, 3], [4, 5, 6]])
    params = {
        "v": fp.Tensor.zeros(device, 2, "float3"),
        "h": fp.Tensor.zeros(device, (2, 3), "half"),
        "d": fp.Tensor.zeros(device, (2, 3), "double"),
    }

    def distance(p: Any, t: Any) -> Any:
        v = p["v"] - fp.vcast(t, "float3")
        return fp.mean(fp.dot(v, v)) + fp.mean((p["h"] - t) ** 2.0) + fp.vcast(fp.mean((p["d"] - t) ** 2), "float")

    step = fp.training_step(distance, fp.nn.Adam(lr=0.5))
    for _ in range(100):
        value = step(params, target)
    assert float(value) < 0.05
    for name, found in params.items():
        np.testing.assert_allclose(found.to_numpy(), target, atol=0.3, err_msg=name)


def test_halfs_are_updated_as_floats() -> None:
    params = fp.nn.parameters({"used": np.float16(1), "small": np.float16(1), "unused": np.ones(3, np.float16)})
    step = fp.training_step(lambda p: p["used"] + 1e-4 * p["small"], fp.nn.Adam(lr=0.25))
    step(params)
    found = {name: tensor.to_numpy().tolist() for name, tensor in params.items()}
    assert found == {"used": 0.75, "small": 0.75, "unused": [1.0, 1.0, 1.0]}


def test_each_step_has_a_loss_of_its_own_and_asks_for_the_rate_once() -> None:
    asked: list[int] = []
    params, step = fresh(), fp.training_step(loss, fp.nn.SGD(lr=lambda n: asked.append(n) or 0.3))
    losses = [step(params, X, Y) for _ in range(3)]
    assert asked == [1, 2, 3]
    assert float(losses[0]) > float(losses[1]) > float(losses[2])
    with pytest.raises(fp.ShapeError):
        step(params, X, Y[:3])
    assert step.count == 3


def test_parts_of_other_sizes_are_trained_together(device: fp.Device) -> None:
    """Their sums have grids of their own, but share an argument; vectors and numbers of a parameter are read by one kernel."""
    source = "[Differentiable] float mixed(float2 a, float2 at, float lamp) { return sin(a.x + at.x * a.y) * lamp; }"
    m = fp.Module.load_from_source(device, "parts_of_other_sizes", source)
    rng, lamps = np.random.default_rng(0), np.float32([1, 2, 3])
    sizes = {"large": 4, "small": 2}
    at = {name: rng.random((2, n, 2, n, 2), np.float32) for name, n in sizes.items()}
    start = {name: rng.random((n, n, 2), np.float32) for name, n in sizes.items()}

    def loss(p: Any, at: Any, lamps: Any) -> Any:
        whole = (0, 1, 2, 3)
        parts = [m.mixed(fp.vmap(p[k], (1, 3)), fp.vmap(at[k], whole), fp.vmap(lamps, (4,))) for k in p]
        return sum(fp.mean(part * part) for part in parts)

    params = fp.nn.parameters(start)
    found, wanted = float(fp.training_step(loss, fp.nn.SGD(lr=0.5))(params, at, lamps)), 0.0
    for k in sizes:
        a, x = start[k][:, None, :], at[k].astype(float)
        angle, squares = a[..., 0] + x[..., 0] * a[..., 1], float(np.mean(lamps**2))
        wanted += np.mean(np.sin(angle) ** 2) * squares
        slope = np.sin(2 * angle) * squares / angle.size
        slopes = np.stack([slope, slope * x[..., 0]], -1).sum((0, 2))
        np.testing.assert_allclose(params[k].to_numpy(), start[k] - 0.5 * slopes, rtol=1e-5)
    assert found == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("optimiser", [fp.nn.Adam(lr=0.1), fp.nn.SGD(lr=0.1)], ids=["adam", "sgd"])
def test_a_step_goes_on_where_it_was_saved(tmp_path: Path, optimiser: fp.nn.Optimiser) -> None:
    params, step, file = fresh(), fp.training_step(loss, optimiser), tmp_path / "p.safetensors"
    for _ in range(3):
        step(params, X, Y)
    fp.nn.save(file, params, step)
    step(params, X, Y)
    again = fp.training_step(loss, optimiser)
    loaded = fp.nn.load(file, fresh(), again)
    assert again.count == 3
    again(loaded, X, Y)
    assert (float(loaded["a"]), float(loaded["b"][0])) == (float(params["a"]), float(params["b"][0]))
    assert float(fp.nn.load(file, fresh())["a"]) != float(params["a"])  # parameters alone, those of the third step
    with pytest.raises(fp.ArgumentError, match="a step with the same optimiser"):
        fp.nn.load(file, fresh(), fp.training_step(loss, fp.nn.SGD(lr=0.1, momentum=0.9)))


def test_a_list_of_numbers_is_one_parameter() -> None:
    made = fp.nn.parameters({"gain": [1, 2.0, 3], "m": [[1, 2], [3, 4]], "ragged": [[1], [2, 3.0]], "mixed": [0.5, X]})
    assert (made["gain"].tolist(), made["m"].shape, [x.tolist() for x in made["ragged"]]) == ([1, 2, 3], (2, 2), [[1], [2, 3]])
    assert [x.shape for x in made["mixed"]] == [(), X.shape]
    step = fp.training_step(lambda p: fp.sum(p["gain"] ** 2), fp.nn.SGD(lr=0.25))
    step(made)
    assert made["gain"].tolist() == [0.5, 1, 1.5]


def test_parameters_are_saved_and_loaded_by_name(tmp_path: Path) -> None:
    params = fp.nn.parameters({"layers": [{"weight": X}, {"weight": Y}], "bias": 2.0})
    assert list(fp.nn.named(params)) == ["layers.0.weight", "layers.1.weight", "bias"]
    fp.nn.save(tmp_path / "p.safetensors", params)
    found = fp.nn.parameters({"layers": [{"weight": 0 * X}, {"weight": 0 * X}], "bias": 0.0})
    assert fp.nn.load(tmp_path / "p.safetensors", found)["bias"] is found["bias"]
    np.testing.assert_array_equal(found["layers"][1]["weight"].to_numpy(), Y)
    with pytest.raises(fp.ArgumentError, match="other parameters"):
        fp.nn.load(tmp_path / "p.safetensors", {"bias": 0.0})
    with pytest.raises(fp.ArgumentError, match="another shape"):
        fp.nn.load(tmp_path / "p.safetensors", {"layers": [{"weight": X}, {"weight": X[:3]}], "bias": 0.0})


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: fp.training_step(loss, 0.1), fp.ArgumentError, "a loss and an optimiser"),  # type: ignore[arg-type]
        (lambda: fp.nn.Adam(lr=-1.0), fp.ArgumentError, "no learning rate"),
        (lambda: fp.nn.Adam(lr=float("inf")), fp.ArgumentError, "no learning rate"),
        (lambda: fp.nn.Adam(lr=float("nan")), fp.ArgumentError, "no learning rate"),
        (lambda: fp.nn.Adam(betas=(0.9, 1.0)), fp.RangeError, "below 1"),
        (lambda: fp.nn.Adam(betas=0.9), fp.ArgumentError, r"^test_training.py:\d+: Adam: betas are two numbers"),  # type: ignore[arg-type]
        (lambda: fp.training_step(1.0, fp.nn.SGD()), fp.ArgumentError, "saw:      float and SGD"),  # type: ignore[arg-type]
        (lambda: fp.training_step(loss, fp.nn.SGD())(fresh(), X), fp.ArgumentError, "missing a required argument"),
        (lambda: fp.training_step(loss, fp.nn.SGD())(), fp.ArgumentError, "without parameters"),
        (lambda: fp.training_step(loss, fp.nn.SGD())(fresh(), x=X, z=Y), fp.ArgumentError, r"loss\(\) has no parameter 'z'"),
        (lambda: fp.nn.load("missing.safetensors", fresh()), fp.ArgumentError, "missing.safetensors cannot be read"),
        (lambda: fp.nn.parameters({"n": np.arange(3)}), fp.ArgumentError, r"parameters\['n'\] cannot be trained"),
        (lambda: fp.training_step(loss, fp.nn.SGD())({"a": 0.5, "b": [0.0]}, X, Y), fp.ArgumentError, "no tensors"),
        (
            lambda: fp.nn.parameters({"a": [fp.Tensor([1, 2], dtype="int")]}),
            fp.ArgumentError,
            r"parameters\['a'\]\[0\] cannot be",
        ),
        (lambda: fp.nn.parameters({"on": True}), fp.ArgumentError, r"parameters\['on'\] cannot be trained"),
        (lambda: fp.training_step(loss, fp.nn.SGD())({}, X, Y), fp.ArgumentError, "without parameters"),
        (lambda: changed(fresh()), fp.ArgumentError, "other parameters"),
        (lambda: fp.training_step(lambda p, x: p["a"] * x, fp.nn.SGD())(fresh(), X), fp.GradientError, "one number"),
    ],
)
def test_misuse_is_named(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def changed(params: Any) -> None:
    step = fp.training_step(loss, fp.nn.Adam())
    step(params, X, Y)
    step({**params, "c": fp.nn.parameters(0.0)}, X, Y)


class Model:
    """A loss of an object whose values change between steps."""

    def __init__(self) -> None:
        self.wanted, self.scale = np.float32([1.0, 1.0]), 2.0

    def loss(self, p: Any, x: Any) -> Any:
        return fp.mean((p["a"] * x * self.scale - self.wanted) ** 2)

    fused = fp.fuse(loss)


def test_arguments_of_a_step_may_be_named() -> None:
    step = fp.training_step(lambda p, x, by=2.0, less=0.0: fp.mean((p * x * by - less) ** 2), fp.nn.SGD(lr=0.25))
    found = []
    for given in ({"less": 3.0}, {"x": 1.0, "by": 2.0, "less": 3.0}):
        p = fp.nn.parameters(0.5)
        assert float(step(p, **({"x": 1.0} | given))) == 4
        found.append(float(p))
    assert found == [2.5, 2.5]
    assert step.explain(fp.nn.parameters(0.5), x=1.0, less=3.0).kernels == 1


@pytest.mark.parametrize("of", ["loss", "fused"])
def test_the_loss_of_a_method_takes_the_values_that_the_object_has(of: str) -> None:
    model, parameters, x = Model(), fp.nn.parameters({"a": 1.0}), np.float32([1.0, 2.0])
    step, a = fp.training_step(getattr(model, of), fp.nn.SGD(lr=0.125)), 1.0
    for scale, wanted in ((2.0, 1.0), (0.5, 1.0), (0.5, 3.0)):
        model.scale, model.wanted = scale, np.float32([wanted, wanted])
        assert float(step(parameters, x)) == pytest.approx(np.mean((a * x * scale - wanted) ** 2), rel=1e-5)
        a -= 0.125 * np.mean(2 * (a * x * scale - wanted) * x * scale)
        assert float(parameters["a"]) == pytest.approx(a, rel=1e-5)
    assert step.explain(parameters, x).kernels == 1
