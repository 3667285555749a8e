"""How many Python functions a call runs: budgets for the paths that users take most."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.passes import pipeline
from fusepy.passes.pipeline import Verify

SOURCE = "float add(float a, float b) { return a + b; } float mul(float a, float b) { return a * b; }"


def trips(calls: Iterator[Callable[[], Any]], warmup: int, idle: Callable[[], Any] = lambda: None) -> int:
    """The Python functions that one call runs: the least of some, since some wake the queue's thread or submit what is full.

    Before each of them `idle` may wait for the device: a busy machine leaves uploads in flight, which calls look at.
    """
    for _ in range(warmup):
        next(calls)()
    counts: list[int] = []
    for call in (next(calls) for _ in range(40)):
        count = 0
        idle()

        def counted(_frame: Any, event: str, _argument: Any) -> None:
            nonlocal count
            count += event == "call"

        before = sys.getprofile()
        sys.setprofile(counted)
        try:
            call()
        finally:
            sys.setprofile(before)
        counts.append(count - 1)  # without the lambda itself
    return min(counts)


def same(call: Callable[[], Any]) -> Iterator[Callable[[], Any]]:
    while True:
        yield call


def new_keys(m: Any, x: Any) -> Iterator[Callable[[], Any]]:
    """Calls of functions of three operations that nobody has called."""
    while True:
        function = fp.fuse(lambda x, k: m.mul(m.add(x, k), 2.0) + x)
        yield lambda function=function: function(x, 3.0)


def test_calls_stay_within_their_budgets(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "VERIFY", Verify.ENDS)  # as in a user's process
    m = fp.Module.load_from_source(device, "trips", SOURCE)
    array = np.ones((8, 8), np.float32)
    x, y = (fp.Tensor.from_numpy(device, array) for _ in range(2))
    centred = fp.fuse(lambda x: x - fp.mean(x))
    assert centred.explain(x).kernels == 2
    assert trips(same(lambda: m.add(x, y)), 4) <= 14
    assert trips(same(lambda: centred(x)), 4) <= 30
    if device.transfer.host_addressable:
        assert trips(same(lambda: m.add(array, 1.0)), 4, device.wait) <= 60
    assert trips(new_keys(m, x), 3) <= 3500


def recurse(depth: int) -> int:
    return recurse(depth - 1) if depth else 0


def test_a_budget_can_be_exceeded() -> None:
    with pytest.raises(AssertionError):
        assert trips(same(lambda: [recurse(3)]), 0) <= 3
