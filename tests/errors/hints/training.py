"""Programs after hints about training."""

from __future__ import annotations

import importlib
import sys
import tempfile
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest

import fusepy as fp
from tests.errors.hints.support import Program
from tests.support.slang_functions import F32

FILE = f"{tempfile.gettempdir()}/fusepy_hints.safetensors"
A = np.array([1.0, 2.0, 3.0], F32)


def loss(p: Any, x: Any) -> Any:
    return fp.mean((p["a"] * x - x) ** 2)


def trained(optimiser: Any = None, of: Any = loss, params: Any = None) -> Any:
    """The parameter after one step."""
    params = {"a": 0.0} if params is None else params
    params = fp.nn.parameters(params) if not isinstance(params, fp.Tensor) else params
    fp.training_step(of, optimiser or fp.nn.SGD(lr=0.5))(params, A)
    return params["a"].to_numpy()


def tilted(of: Any) -> Any:
    """The parameter after a step whose last argument is given by name."""
    params = fp.nn.parameters({"a": 0.0})
    fp.training_step(of, fp.nn.SGD(lr=0.5))(params, A, y=1.0)
    return params["a"].to_numpy()


def grouped(groups: Any, later: Any = None) -> Any:
    """The parameter after one step of groups."""
    params, step = fp.nn.parameters({"a": 0.0}), fp.training_step(loss, fp.nn.SGD(lr=0.25), groups)
    if later is not None:
        step.groups = later
    step(params, A)
    return params["a"].to_numpy()


ONE = np.array(np.mean(A * A), F32)


def tied(named: Any, of: Any) -> Any:
    params = named(fp.nn.parameters(0.0))
    fp.training_step(of, fp.nn.SGD(lr=0.5))(params, A)
    return params["a"].to_numpy()


def without_package(call: Any) -> Any:
    with mock.patch.dict(sys.modules, {"safetensors": None, "safetensors.numpy": None}):
        return call()


def two_sets(again: bool) -> Any:
    step, first, second = fp.training_step(loss, fp.nn.Adam(lr=0.5)), fp.nn.parameters({"a": 0.0}), {"a": 0.0, "b": 1.0}
    step(first, A)
    step = fp.training_step(lambda p, x: loss(p, x) + 0 * p["b"], fp.nn.Adam(lr=0.5)) if again else step
    second = fp.nn.parameters(second)
    step(second, A)
    return second["a"].to_numpy()


def saved() -> str:
    fp.nn.save(FILE, {"a": A})
    return FILE


def loaded(path: str, saved: Any, into: Any) -> Any:
    fp.nn.save(path, fp.nn.parameters(saved))
    return fp.nn.load(path, fp.nn.parameters(into))["a"].to_numpy()


PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    "a schedule that returns nothing": (
        lambda m: trained(fp.nn.SGD(lr=lambda n: None)),  # type: ignore[arg-type]
        "write lr=lambda n: 1e-3 * 0.99**n, a number for each step, from step 1 on",
        lambda m: trained(fp.nn.SGD(lr=lambda n: 0.5 * 0.99 ** (n - 1))),
        ONE,
    ),
    "a file of nothing": (
        lambda m: fp.nn.save(FILE, None),
        "write fp.nn.save(path, params), with arrays in any structure",
        lambda m: fp.nn.save(FILE, {"a": A}) or fp.nn.load(FILE, {"a": 0 * A})["a"],
        A,
    ),
    "a file without a path": (
        lambda m: fp.nn.load({"a": A}, FILE),  # type: ignore[arg-type]
        "write fp.nn.load(path, params)",
        lambda m: fp.nn.save(FILE, {"a": A}) or fp.nn.load(FILE, {"a": 0 * A})["a"],
        A,
    ),
    "a rate for an optimiser": (
        lambda m: fp.training_step(loss, 0.5),  # type: ignore[arg-type]
        "write fp.training_step(loss, fp.nn.Adam(lr=1e-3))",
        lambda m: trained(fp.nn.Adam(lr=1e-3)),
        np.array(1e-3, F32),
    ),
    "a rate that is none": (
        lambda m: fp.nn.SGD(lr="fast"),  # type: ignore[arg-type]
        "pass a number such as 1e-3, or a function of the number of the step",
        lambda m: trained(fp.nn.SGD(lr=lambda n: 0.5 / n)),
        ONE,
    ),
    "a mean that forgets nothing": (
        lambda m: fp.nn.Adam(betas=(1.0, 0.5)),
        "(0.9, 0.999) is usual",
        lambda m: trained(fp.nn.Adam(lr=0.25, betas=(0.9, 0.999))),
        np.array(0.25, F32),
    ),
    "parameters for an optimiser": (
        lambda m: fp.nn.Adam(fp.nn.parameters({"a": 0.0}), lr=1e-3),  # type: ignore[misc]
        "step = fp.training_step(loss, fp.nn.Adam(lr=1e-3)); step(parameters)",
        lambda m: trained(fp.nn.Adam(lr=1e-3)),
        np.array(1e-3, F32),
    ),
    "an option of torch that has no use": (
        lambda m: fp.nn.SGD(lr=0.5, foreach=True),  # type: ignore[call-arg]
        "leave it out: a step is one planned program anyway",
        lambda m: trained(fp.nn.SGD(lr=0.5)),
        ONE,
    ),
    "a limit by torch's name": (
        lambda m: fp.nn.SGD(lr=0.5, max_norm=1.0),  # type: ignore[call-arg]
        "write clip_norm=1.0",
        lambda m: trained(fp.nn.SGD(lr=0.5, clip_norm=1.0)),
        np.array(0.5, F32),
    ),
    "an option that is misspelled": (
        lambda m: fp.nn.Adam(weigth_decay=0.1),  # type: ignore[call-arg]
        "did you mean 'weight_decay'?",
        lambda m: trained(fp.nn.AdamW(lr=0.25, weight_decay=0.1)),
        np.array(0.25, F32),
    ),
    "looking ahead without momentum": (
        lambda m: fp.nn.SGD(lr=0.5, nesterov=True),
        "write fp.nn.SGD(lr=0.01, momentum=0.9, nesterov=True)",
        lambda m: trained(fp.nn.SGD(lr=0.01, momentum=0.9, nesterov=True)),
        np.array(0.02 * 1.9 * np.mean(A * A), F32),
    ),
    "a decay below zero": (
        lambda m: fp.nn.Adam(weight_decay=-0.1),
        "write weight_decay=0.1, or leave it out",
        lambda m: trained(fp.nn.Adam(lr=0.25, weight_decay=0.1)),
        np.array(0.25, F32),
    ),
    "one mean for both": (
        lambda m: fp.nn.Adam(betas=0.9),  # type: ignore[arg-type]
        "write betas=(0.9, 0.999)",
        lambda m: trained(fp.nn.Adam(lr=0.25, betas=(0.9, 0.999))),
        np.array(0.25, F32),
    ),
    "a folder that is not there": (
        lambda m: fp.nn.save(f"{FILE}.missing/look.safetensors", {"a": A}),
        "give a path in a folder that exists and can be written to",
        lambda m: loaded(FILE, {"a": 1.0}, {"a": 0.0}),
        np.array(1.0, F32),
    ),
    "a file that is not there": (
        lambda m: fp.nn.load(f"{FILE}.missing", {"a": 0.0}),
        "give the path of a file that fp.nn.save has written",
        lambda m: loaded(FILE, {"a": 1.0}, {"a": 0.0}),
        np.array(1.0, F32),
    ),
    "parameters of integers": (
        lambda m: fp.nn.parameters(np.arange(3)),
        "use array.astype('float32')",
        lambda m: fp.nn.parameters(np.arange(3).astype("float32")).to_numpy(),
        np.arange(3, dtype=F32),
    ),
    "a tensor of integers": (
        lambda m: fp.nn.parameters({"n": fp.Tensor.from_numpy(m.device, np.arange(3, dtype=np.int32))}),
        "make it of array.astype('float32'), or pass it beside the parameters",
        lambda m: fp.nn.parameters({"n": np.arange(3).astype("float32")})["n"].to_numpy(),
        np.arange(3, dtype=F32),
    ),
    "parameters of torch": (
        lambda m: fp.training_step(lambda p: fp.sum(p["a"] ** 2), fp.nn.SGD())({"a": pytest.importorskip("torch").tensor(A)}),
        "params = fp.nn.parameters(params) copies them, or train them by an optimiser of torch (docs/guide/torch.md)",
        lambda m: fp.nn.parameters({"a": pytest.importorskip("torch").tensor(A)})["a"].to_numpy(),
        A,
    ),
    "parameters that are no tensors": (
        lambda m: fp.training_step(loss, fp.nn.SGD(lr=0.5))({"a": 0.0}, A),
        "params = fp.nn.parameters(params)",
        lambda m: trained(params=fp.nn.parameters({"a": 0.0})),
        ONE,
    ),
    "no parameters": (
        lambda m: fp.training_step(lambda p, x: fp.mean(x), fp.nn.SGD())({}, A),
        "pass the parameters as the first argument",
        lambda m: trained(),
        ONE,
    ),
    "an argument by name only": (
        lambda m: tilted(lambda p, x, *, y: loss(p, x) + 0 * y),
        "remove the * before it among its parameters",
        lambda m: tilted(lambda p, x, y: loss(p, x) + 0 * y),
        ONE,
    ),
    "other parameters": (
        lambda m: two_sets(False),
        "make another training step for other parameters",
        lambda m: two_sets(True),
        np.array(0.5, F32),
    ),
    "a loss of several numbers": (
        lambda m: trained(of=lambda p, x: (p["a"] * x - x) ** 2),
        "return fp.mean(…) of numbers; vectors become numbers by fp.dot(v, v)",
        lambda m: trained(of=lambda p, x: fp.mean((p["a"] * x - x) ** 2)),
        ONE,
    ),
    "one tensor under two names": (
        lambda m: tied(lambda t: {"a": t, "b": t}, lambda p, x: loss(p, x) + 0 * p["b"]),
        "give it one name, and use that wherever the loss needs it",
        lambda m: tied(lambda t: {"a": t}, lambda p, x: loss(p, x) + 0 * p["a"]),
        ONE,
    ),
    "a file of other parameters": (
        lambda m: loaded(FILE, {"b": 1.0}, {"a": 0.0}),
        "pass the structure that was saved",
        lambda m: loaded(FILE, {"a": 1.0}, {"a": 0.0}),
        np.array(1.0, F32),
    ),
    "a file of other shapes": (
        lambda m: loaded(FILE, {"a": A}, {"a": 0.0}),
        "make the parameters as they were made before they were saved",
        lambda m: loaded(FILE, {"a": A}, {"a": 0 * A}),
        A,
    ),
    "without safetensors": (
        lambda m: without_package(lambda: fp.nn.save(FILE, {"a": A})),
        "pip install safetensors",
        lambda m: importlib.import_module("safetensors.numpy").load_file(saved())["a"],
        A,
    ),
    "groups that are a list": (
        lambda m: grouped([0.5]),
        "write groups={pattern: dataclasses.replace(optimiser, lr=1e-3)}",
        lambda m: grouped({"a": replace(fp.nn.SGD(lr=0.25), lr=1e-3)}),
        np.array(1e-3 * 2 * np.mean(A * A), F32),
    ),
    "groups of other names in a step": (
        lambda m: grouped({"a": fp.nn.SGD(lr=0.5)}, {"b": fp.nn.SGD(lr=0.5)}),
        "make another step: fp.training_step(loss, optimiser, groups)",
        lambda m: grouped({"*": fp.nn.SGD(lr=0.5)}),
        ONE,
    ),
}
