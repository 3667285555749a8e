"""Optimisers: what each option computes, in a step that stays one kernel, and misuse."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusepy as fp

C = np.float32([1.0, -2.0, 3.0])
START = np.float32([0.5, -1.0, 2.0])


def slope(p: np.ndarray) -> np.ndarray:
    return 2 * C * (C * p - 1)


def reference(o: Any, steps: int) -> np.ndarray:
    """The same steps in float64, as torch.optim's documentation has them."""
    p = START.astype(float)
    mean = square = largest = velocity = np.zeros(3)
    for n in range(1, steps + 1):
        g = slope(p)
        g = g if o.clip_value is None else np.clip(g, -o.clip_value, o.clip_value)
        g = g if o.clip_norm is None else g * min(1.0, o.clip_norm / (np.sqrt(np.sum(g * g)) + 1e-6))
        g = -g if o.maximize else g
        apart = isinstance(o, fp.nn.AdamW)
        pulled = g + (0 if apart else o.weight_decay) * p
        if isinstance(o, fp.nn.SGD):
            velocity = o.momentum * velocity + (1 - o.dampening if n > 1 else 1) * pulled
            p = p - o.rate(n) * (pulled + o.momentum * velocity if o.nesterov else velocity)
            continue
        b1, b2 = o.betas
        mean, square = b1 * mean + (1 - b1) * pulled, b2 * square + (1 - b2) * pulled**2
        largest = np.maximum(largest, square) if o.amsgrad else square
        way = mean / (1 - b1**n) / (np.sqrt(largest / (1 - b2**n)) + o.eps)
        p = p - o.rate(n) * (way + (o.weight_decay * p if apart else 0))
    return p


CASES = {
    "nesterov": fp.nn.SGD(0.01, 0.9, nesterov=True, weight_decay=0.1),
    "dampening": fp.nn.SGD(0.01, 0.9, dampening=0.3),
    "maximize": fp.nn.SGD(0.01, 0.9, maximize=True, weight_decay=0.1),
    "adam with decay": fp.nn.Adam(0.05, weight_decay=0.5),
    "amsgrad": fp.nn.AdamW(0.2, betas=(0.5, 0.6), eps=1e-4, amsgrad=True, maximize=True),
    "by value": fp.nn.SGD(0.05, clip_value=1.5),
    "by norm": fp.nn.Adam(0.05, clip_norm=0.5, clip_value=2.0),
}


@pytest.mark.parametrize("optimiser", CASES.values(), ids=CASES)
def test_options_mean_what_they_mean_in_torch(optimiser: fp.nn.Optimiser) -> None:
    def loss(p: Any) -> Any:
        return fp.sum((C * p - 1) ** 2)

    p, step = fp.nn.parameters(START), fp.training_step(loss, optimiser)
    for _ in range(4):
        step(p)
    np.testing.assert_allclose(p.to_numpy(), reference(optimiser, 4), rtol=2e-5)
    assert step.explain(p).kernels == 1


def test_a_norm_is_of_all_parameters_together(device: fp.Device) -> None:
    make = fp.Tensor.zeros
    p = {"v": make(device, 2, "float3"), "h": make(device, (2, 3), "half"), "d": make(device, (), "double")}

    def loss(p: Any) -> Any:
        away = p["v"] - 1.0
        return fp.mean(fp.dot(away, away)) + fp.mean((p["h"] - 2.0) ** 2) + fp.vcast((p["d"] - 3.0) ** 2, "float")

    fp.training_step(loss, fp.nn.SGD(lr=1.0, clip_norm=0.5))(p)
    slopes = np.concatenate([np.full(6, 1.0), np.full(6, 4 / 6), [6.0]])
    moved = slopes * 0.5 / np.linalg.norm(slopes)
    found = np.concatenate([np.ravel(x.to_numpy()) for x in p.values()])
    np.testing.assert_allclose(found, moved, rtol=1e-3)


def test_the_rate_may_follow_the_loss_without_a_new_program(device: fp.Device) -> None:
    """As ReduceLROnPlateau has it: a function reads what the loop has decided."""
    now = {"lr": 0.25}
    p, step = fp.nn.parameters(0.0), fp.training_step(lambda p: (p - 1.0) ** 2, fp.nn.SGD(lr=lambda n: now["lr"]))
    step(p)
    made = len(device.kernels)
    now["lr"] = 0.0
    step(p)
    assert (float(p), len(device.kernels)) == (0.5, made)


def test_numbers_may_be_set_between_steps_without_a_new_program(device: fp.Device) -> None:
    p, step = fp.nn.parameters(4.0), fp.training_step(lambda p: p * p, fp.nn.SGD(lr=0.25))
    step(p)
    made = len(device.kernels)
    step.lr = 0.125
    step(p)
    assert (step.lr, float(p)) == (0.125, 1.5)
    step.optimiser = replace(step.optimiser, weight_decay=1.0)
    step(p)
    assert (float(p), len(device.kernels)) == (1.5 - 0.125 * 4.5, made)
    with pytest.raises(fp.ArgumentError, match="another optimiser needs another one"):
        step.optimiser = fp.nn.SGD(momentum=0.5)


def test_groups_of_parameters_have_options_of_their_own_as_in_torch(device: fp.Device, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    start = {"layers": [{"weight": rng.random(4), "bias": 0.5}, {"weight": rng.random(4), "bias": -1.0}], "gain": rng.random(3)}

    def loss(p: Any, root: Any = fp.sqrt) -> Any:
        first, second = p["layers"]
        line = first["weight"] * second["weight"] + first["bias"] * second["bias"]
        return root((line**2).sum() + 1) + 0.1 * (p["gain"] ** 4).sum()

    base = fp.nn.AdamW(lr=0.05, weight_decay=0.1, clip_norm=0.5)
    other = fp.nn.SGD(lr=lambda n: 0.2 / n, momentum=0.9, clip_norm=0.5)
    biases = replace(base, lr=0.3, weight_decay=0.0)
    params = fp.nn.parameters(start)
    step = fp.training_step(lambda p: loss(p), base, {"gain": other, "*.bias": biases, "layers.0.*": replace(base, lr=0.0)})
    wanted = {name: torch.tensor(np.asarray(leaf, np.float64), requires_grad=True) for name, leaf in fp.nn.named(start).items()}
    layers = [{"weight": wanted[f"layers.{i}.weight"], "bias": wanted[f"layers.{i}.bias"]} for i in range(2)]
    grouped = [
        {"params": [wanted["layers.0.bias"], wanted["layers.1.bias"]], "lr": 0.3, "weight_decay": 0.0},
        {"params": [wanted["layers.0.weight"]], "lr": 0.0},
        {"params": [wanted["layers.1.weight"]]},
    ]
    adam, sgd = torch.optim.AdamW(grouped, lr=0.05, weight_decay=0.1), torch.optim.SGD([wanted["gain"]], lr=0.2, momentum=0.9)
    for n in range(1, 6):
        if n == 4:
            step.groups |= {"*.bias": replace(step.groups["*.bias"], lr=0.1)}
            adam.param_groups[0]["lr"] = step.lr = adam.param_groups[2]["lr"] = 0.1
        sgd.param_groups[0]["lr"] = 0.2 / n
        for each in (adam, sgd):
            each.zero_grad()
        loss({"layers": layers, "gain": wanted["gain"]}, torch.sqrt).backward()
        torch.nn.utils.clip_grad_norm_(list(wanted.values()), 0.5)
        adam.step()
        sgd.step()
        step(params)
    for name, found in fp.nn.named(params).items():
        np.testing.assert_allclose(found.to_numpy(), wanted[name].detach().numpy(), rtol=2e-5, err_msg=name)
    fp.nn.save(tmp_path / "p.safetensors", params, step)
    again = fp.training_step(lambda p: loss(p), step.optimiser, step.groups)
    loaded = fp.nn.load(tmp_path / "p.safetensors", fp.nn.parameters(start), again)
    step(params)
    again(loaded)
    assert [v.tolist() for v in fp.nn.named(loaded).values()] == [v.tolist() for v in fp.nn.named(params).values()]


PAIR = {"a": 0.0, "b": 1.0}


def grouped(groups: Any, optimiser: Any = None) -> Any:
    step = fp.training_step(lambda p: p["a"] * p["b"], optimiser or fp.nn.Adam(), groups)
    step(fp.nn.parameters(PAIR))
    return step


MISUSE = [
    (lambda: grouped({"a": 0.1}), fp.ArgumentError, "groups are optimisers by patterns"),
    (lambda: grouped([{"params": ["a"], "lr": 0.1}]), fp.ArgumentError, "groups are optimisers by patterns"),
    (lambda: grouped({"aa": fp.nn.Adam()}), fp.ArgumentError, "no parameter is left for the group 'aa'(.|\n)*did you mean 'a'"),
    (lambda: grouped({"*": fp.nn.SGD(), "a": fp.nn.SGD()}), fp.ArgumentError, "no parameter is left for the group 'a'"),
    (lambda: grouped({"a": fp.nn.Adam()}, fp.nn.Adam(clip_norm=1.0)), fp.ArgumentError, "limits gradients in another way"),
    (lambda: setattr(grouped({"a": fp.nn.Adam()}), "groups", {"b": fp.nn.Adam()}), fp.ArgumentError, "keeps its groups"),
    (lambda: setattr(grouped({"a": fp.nn.Adam()}), "groups", {"a": fp.nn.SGD()}), fp.ArgumentError, "another optimiser needs"),
    (lambda: grouped({})(fp.nn.parameters({"b": 1.0, "a": 0.0})), fp.ArgumentError, "other parameters than in the first"),
    (lambda: setattr(fp.nn.Adam(), "lr", 0.1), fp.ArgumentError, "lr cannot be changed"),
    (lambda: setattr(fp.nn.Adam(), "eps", 0.1), fp.ArgumentError, "eps cannot be changed"),
    (lambda: fp.nn.SGD(0.1, 0.9, 0.0, True), fp.ArgumentError, "takes 3 options by position"),
    (lambda: fp.nn.Adam(fp.nn.parameters({"a": 0.0})), fp.ArgumentError, "takes no parameters"),
    (lambda: fp.nn.Adam([], lr=1e-3), fp.ArgumentError, "takes no parameters"),
    (lambda: fp.nn.Adam(foreach=True), fp.ArgumentError, "has no option 'foreach'"),
    (lambda: fp.nn.Adam(weigth_decay=0.1), fp.ArgumentError, "did you mean 'weight_decay'"),
    (lambda: fp.nn.SGD(nesterov=True), fp.ArgumentError, "nesterov needs a momentum"),
    (lambda: fp.nn.SGD(momentum=0.9, dampening=0.1, nesterov=True), fp.ArgumentError, "no dampening"),
    (lambda: fp.nn.Adam(weight_decay=-1), fp.RangeError, "weight_decay is a number from 0"),
    (lambda: fp.nn.SGD(clip_norm="1"), fp.RangeError, "clip_norm is a number from 0"),
]


@pytest.mark.parametrize(("call", "error", "words"), MISUSE)
def test_misuse_is_named(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()
