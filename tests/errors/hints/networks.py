"""Programs after hints about networks and encodings."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from typing import Any

import numpy as np

import fusepy as fp
from tests.errors.hints.support import Program, load
from tests.support.slang_functions import F32

FILE = f"{tempfile.gettempdir()}/fusepy_network_hints_{os.getpid()}.safetensors"
POINTS, ZEROS = np.zeros((2, 3), F32), np.zeros((2, 1), F32)
NET = fp.nn.MLP(3, 4, 1)
SUMS = """struct Many : IDifferentiable { float v[150]; };
[Differentiable] float one(no_diff float x, Many m) { float s = 0; for (int i = 0; i < 150; ++i) s += m.v[i]; return s * x; }
[Differentiable] float read(no_diff float x, Tensor<float, 1> v)
{
    float s = 0;
    for (int i = 0; i < 150; ++i) s += v[i];
    return s * x;
}"""


def zero(net: Any, x: Any = POINTS) -> Any:
    """What a network without biases makes of zeros."""
    return net(net.parameters(), x)


def grid(**given: Any) -> Any:
    return fp.nn.HashGrid(levels=2, features=1, log2_size=4, base=2, dimensions=3, **given)


def encoded(made: Any, params: Any = None) -> Any:
    return np.abs(made(made.parameters() if params is None else params, POINTS)) < 1e-3


def step(rate: str) -> Any:
    made = fp.training_step(lambda p, x: fp.mean((p["a"] - x) ** 2), {"SGD": fp.nn.SGD, "Adam": fp.nn.Adam}[rate](lr=0.5))
    made(fp.nn.parameters({"a": 0.0}), ZEROS)
    return made


def loaded(optimiser: str) -> Any:
    """A parameter that was saved with the state of Adam."""
    saved, params = step("Adam"), fp.nn.parameters({"a": 3.0})
    saved(params, ZEROS)
    kept = params["a"].to_numpy().copy()
    fp.nn.save(FILE, params, saved)
    return fp.nn.load(FILE, fp.nn.parameters({"a": 0.0}), step(optimiser))["a"].to_numpy() - kept


def shared(name: str, arrays: Any = None) -> Any:
    m = load("hint_shared", "import fusepy;\n" + SUMS)
    arrays = np.zeros((), m.Many.dtype) if arrays is None else arrays
    return fp.grad(lambda v: fp.sum(m.find_function(name)(np.ones(1, F32), v)))(arrays)


WIDE = np.ones(150, F32)
TRUE = np.ones((2, 2), bool)
PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    "a network without outputs": (
        lambda m: fp.nn.MLP(3),
        "fp.nn.MLP(32, 64, 8) has 32 inputs, 64 hidden numbers and 8 outputs",
        lambda m: zero(fp.nn.MLP(3, 4, 1)),
        ZEROS,
    ),
    "a dtype that a network has not": (
        lambda m: fp.nn.MLP(3, 1, dtype="int"),
        "pass one of these",
        lambda m: zero(fp.nn.MLP(3, 1, dtype="float")),
        ZEROS,
    ),
    "a network without its parameters": (
        lambda m: NET(POINTS, POINTS),
        "params = net.parameters(), and net(params, x)",
        lambda m: NET(NET.parameters(), POINTS),
        ZEROS,
    ),
    "inputs of another width": (
        lambda m: zero(NET, np.zeros((2, 5), F32)),
        "the widths of this network are (3, 4, 1)",
        lambda m: zero(NET),
        ZEROS,
    ),
    "a network without its input": (
        lambda m: NET(NET.parameters(), None),
        "and the parameters before it: net(params, x)",
        lambda m: zero(NET),
        ZEROS,
    ),
    "a seed that is no number": (
        lambda m: fp.nn.MLP(3, 1, seed=None),  # type: ignore[arg-type]
        "write seed=0",
        lambda m: zero(fp.nn.MLP(3, 1, seed=0)),
        ZEROS,
    ),
    "an encoding of many dimensions": (
        lambda m: fp.nn.FrequencyEncoding(1, dimensions=7),
        "pass dimensions=2, for example",
        lambda m: fp.nn.FrequencyEncoding(1, dimensions=2)(np.zeros((1, 2), F32)),
        F32([[0, 0, 1, 1]]),
    ),
    "points of other dimensions": (
        lambda m: fp.nn.FrequencyEncoding(1, dimensions=2)(POINTS),
        "pass dimensions=3 to the encoding, or other points",
        lambda m: fp.nn.FrequencyEncoding(1, dimensions=3)(POINTS),
        F32([[0, 0, 0, 1, 1, 1]] * 2),
    ),
    "no octaves": (
        lambda m: fp.nn.FrequencyEncoding(0),
        "pass octaves=8, for example",
        lambda m: fp.nn.FrequencyEncoding(8).width,
        32,
    ),
    "a hash grid without its table": (
        lambda m: grid()({"tables": 1.0}, POINTS),
        "params = grid.parameters(), and grid(params, x)",
        lambda m: encoded(grid()),
        TRUE,
    ),
    "a table of another hash grid": (
        lambda m: grid()(fp.nn.HashGrid(levels=3, dimensions=3).parameters(), POINTS),
        "make the grid with the settings with which its parameters were made",
        lambda m: encoded(grid(), grid(seed=1).parameters()),
        TRUE,
    ),
    "the state of another optimiser": (
        lambda m: loaded("SGD"),
        "pass the structure that was saved, and a step with the same optimiser; without a step only parameters are read",
        lambda m: loaded("Adam"),
        np.zeros((), F32),
    ),
    "an optimiser whose rate is set": (
        lambda m: setattr(step("SGD").optimiser, "lr", 0.25),
        "write step.lr = 1e-4 for the steps that follow, or lr=lambda n: 1e-3 * 0.99**n when you make the optimiser",
        lambda m: [setattr(made, "lr", 1e-4) or made.lr for made in [step("SGD")]],
        [1e-4],
    ),
    "an optimiser whose decay is set": (
        lambda m: setattr(step("SGD").optimiser, "weight_decay", 0.25),
        "write step.optimiser = dataclasses.replace(step.optimiser, weight_decay=…)",
        lambda m: dataclasses.replace(step("SGD").optimiser, weight_decay=0.1).weight_decay,
        0.1,
    ),
    "an optimiser of another kind between steps": (
        lambda m: setattr(step("SGD"), "optimiser", fp.nn.Adam()),
        "make another step: fp.training_step(loss, optimiser)",
        lambda m: fp.training_step(lambda p: p, fp.nn.Adam(lr=0.5)).lr,
        0.5,
    ),
    "more options than have a place": (
        lambda m: fp.nn.SGD(0.1, 0.9, 0.0, True),
        "write the others by name: maximize=…, clip_value=…, clip_norm=…, dampening=…, nesterov=…",
        lambda m: fp.nn.SGD(0.1, 0.9, 0.0, nesterov=True).momentum,
        0.9,
    ),
    "a large struct that all points share": (
        lambda m: shared("one"),
        "pass its members in a dict, or its numbers as a Tensor that Slang reads",
        lambda m: shared("read", WIDE),
        WIDE,
    ),
    "a large struct that all points share, as members": (
        lambda m: shared("one"),
        "pass its members in a dict",
        lambda m: shared("one", {"v": WIDE})["v"],
        WIDE,
    ),
}
