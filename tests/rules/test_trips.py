"""How many Python functions a call runs: budgets for the paths that users take most."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.passes import pipeline
from fusepy.passes.pipeline import Verify
from tests.support import child
from tests.support.python_calls import python_calls

SOURCE = "float add(float a, float b) { return a + b; } float mul(float a, float b) { return a * b; }"
SOURCE += " float3 twice(float3 a) { return a + a; } struct Odd { float3 at; float q[2]; };"


BUDGETS = {
    "tensors": 14, "a field": 33, "a fold": 29, "NumPy": 58, "a new key": 3500,
    "three tensors": 14, "three results": 24, "keywords": 19, "a default": 20, "any number": 23, "a dict": 19, "a list": 24,
    "a method": 55, "a gradient": 28, "value and gradient": 35, "a gradient by a dict": 34, "a gradient of rows": 45,
    "a pullback": 50, "a backward pass": 41,
}  # fmt: skip


def trips(calls: Iterator[Callable[[], Any]], warmup: int, idle: Callable[[], Any] = lambda: None, most: int = 40) -> int:
    """The Python functions that one call runs: the least of some, since some wake the queue's thread or submit what is full.

    `most` calls are made: the busier the machine, the fewer take the shortest way. Before each of them `idle` may wait for
    the device: a busy machine leaves uploads in flight, which calls look at.
    """
    for _ in range(warmup):
        next(calls)()
    counts: list[int] = []
    for call in (next(calls) for _ in range(most)):
        idle()
        counts.append(python_calls(call, 0, ("call",)) - 1)  # without the lambda itself
    return min(counts)


def same(call: Callable[[], Any]) -> Iterator[Callable[[], Any]]:
    while True:
        yield call


def new_keys(m: Any, x: Any) -> Iterator[Callable[[], Any]]:
    """Calls of functions of three operations that nobody has called."""
    while True:
        function = fp.fuse(lambda x, k: m.mul(m.add(x, k), 2.0) + x)
        yield lambda function=function: function(x, 3.0)


class Scaled:
    """An object with a fused method, which reads a tensor of it."""

    def __init__(self, by: Any):
        self.by = by

    @fp.fuse
    def apply(self, x: Any, y: Any) -> Any:
        return x * self.by + y


def several_arguments(device: Any) -> list[tuple[str, Callable[[], Any]]]:
    """Calls with three tensors: by any form of a call, in containers, and gradients by all."""
    x, y, z = (fp.Tensor.full(device, (8,), float(i)) for i in range(1, 4))
    plain, variadic = fp.fuse(lambda x, y, z: x * y + z), fp.fuse(lambda *args: args[0] * args[1] + args[2])
    held, listed = fp.fuse(lambda p: p["x"] * p["y"] + p["z"]), fp.fuse(lambda p: p[0] * p[1] + p[2])
    three, default = fp.fuse(lambda x, y, z: (x * y, y * z, x + z)), fp.fuse(lambda x, y, z, k=2.0: x * y + z * k)
    gradient, pair = (fp.grad(lambda x, y, z: x * y * z, (0, 1, 2)), fp.value_and_grad(lambda x, y, z: x * y * z, (0, 1, 2)))
    by_dict = fp.grad(lambda p: p["x"] * p["y"] * p["z"])
    scaled, row = Scaled(x), fp.Tensor.full(device, (4, 8), 2.0)
    long = fp.grad(lambda x, y: fp.sum(fp.mean(x, 1, keepdims=True) * x * y), (0, 1))
    pull, graded = fp.vjp(plain, x, y, z)[1], [t.with_grads() for t in (x, y, z)]
    backward = plain.bwds
    return [
        ("three tensors", lambda: plain(x, y, z)),
        ("three results", lambda: three(x, y, z)),
        ("keywords", lambda: plain(x, z=z, y=y)),
        ("a default", lambda: default(x, y, z)),
        ("any number", lambda: variadic(x, y, z)),
        ("a dict", lambda: held({"x": x, "y": y, "z": z})),
        ("a list", lambda: listed([x, y, z])),
        ("a method", lambda: scaled.apply(x, y)),
        ("a gradient", lambda: gradient(x, y, z)),
        ("value and gradient", lambda: pair(x, y, z)),
        ("a gradient by a dict", lambda: by_dict({"x": x, "y": y, "z": z})),
        ("a gradient of rows", lambda: long(row, x)),
        ("a pullback", lambda: pull(x)),
        ("a backward pass", lambda: backward(*graded)),
    ]


def measure() -> None:
    """Prints the calls that each path takes, as in a user's process."""
    pipeline.VERIFY = Verify.ENDS
    device = fp.default_device()
    m = fp.Module.load_from_source(device, "trips", SOURCE)
    array = np.ones((8, 8), np.float32)
    x, y = (fp.Tensor.from_numpy(device, array) for _ in range(2))
    centred = fp.fuse(lambda x: x - fp.vmap(fp.mean(x, 1), (1,)))  # read along other rows, so a kernel of its own
    assert centred.explain(x).kernels == 2
    counts = {"tensors": trips(same(lambda: m.add(x, y)), 4), "a fold": trips(same(lambda: centred(x)), 4)}
    field = fp.Tensor.zeros(device, (8,), m.Odd).at  # 20 bytes apart, which are no multiple of a float3
    counts["a field"] = trips(same(lambda: m.twice(field)), 4)
    counts |= {name: trips(same(call), 4) for name, call in several_arguments(device)}
    if device.transfer.host_addressable:
        counts["NumPy"] = trips(same(lambda: m.add(array, 1.0)), 4, device.wait, 400)
    counts["a new key"] = trips(new_keys(m, x), 3)
    print(json.dumps(counts))


def test_calls_stay_within_their_budgets(device: Any) -> None:
    """In a process of its own: what other tests have left in memory pools is looked through as well."""
    done = child.run("from tests.rules.test_trips import measure; measure()")
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout.splitlines()[-1])
    assert {name: n for name, n in counts.items() if n > BUDGETS[name]} == {}
    assert counts["a gradient"] <= 1.3 * counts["three results"]


def recurse(depth: int) -> int:
    return recurse(depth - 1) if depth else 0


def test_a_budget_can_be_exceeded() -> None:
    with pytest.raises(AssertionError):
        assert trips(same(lambda: [recurse(3)]), 0) <= 3
