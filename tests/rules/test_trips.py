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
    if device.transfer.host_addressable:
        counts["NumPy"] = trips(same(lambda: m.add(array, 1.0)), 4, device.wait, 400)
    counts["a new key"] = trips(new_keys(m, x), 3)
    print(json.dumps(counts))


def test_calls_stay_within_their_budgets(device: Any) -> None:
    """In a process of its own: what other tests have left in memory pools is looked through as well."""
    done = child.run("from tests.rules.test_trips import measure; measure()")
    assert done.returncode == 0, done.stderr
    budgets = {"tensors": 14, "a field": 34, "a fold": 30, "NumPy": 60, "a new key": 3500}
    assert {name: n for name, n in json.loads(done.stdout.splitlines()[-1]).items() if n > budgets[name]} == {}


def recurse(depth: int) -> int:
    return recurse(depth - 1) if depth else 0


def test_a_budget_can_be_exceeded() -> None:
    with pytest.raises(AssertionError):
        assert trips(same(lambda: [recurse(3)]), 0) <= 3
