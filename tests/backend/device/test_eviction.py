"""Memory of kernels is bounded: old ones are given up and come back when called, and sessions rotate."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import fusepy as fp
from fusepy.backend.device import device as runtime
from fusepy.backend.slang import session
from tests.support.slang_functions import ramp, same


def functions(count: int, start: int) -> list[Any]:
    """Fused functions that are all different programs."""

    def make(k: int) -> Any:
        return fp.fuse(lambda x: x * (k + 0.5) + k)

    return [make(start + i) for i in range(count)]


def kernels_of(program: Any) -> int:
    """How many kernels a program holds."""
    return sum(len(plan.kernels) for plan in program.executable.plans)


def expected(k: int) -> Any:
    return ramp(9) * (k + 0.5) + k


def test_kernels_are_evicted_and_come_back(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fp.clear_cache(device=device)
    monkeypatch.setattr(runtime, "MAX_LIVE_PLANS", 8)
    fused = functions(12, 1000)
    for k, function in enumerate(fused, 1000):
        same(function(ramp(9)), expected(k).astype("f4"))
    live = [sum(kernels_of(p) for p in f.programs.values()) for f in fused]
    assert sum(live) <= 8
    assert live[-1] == 1
    assert live[0] == 0
    device.cache.flush()  # entries are written by a thread
    compiled = fp.stats(device).kernels_compiled
    for k, function in enumerate(fused, 1000):
        same(function(ramp(9)), expected(k).astype("f4"))
    assert fp.stats(device).kernels_compiled == compiled, "they come back from the disk cache"
    assert sum(kernels_of(p) for f in fused for p in f.programs.values()) <= 8


@pytest.mark.rest
def test_live_kernels_stay_bounded(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "MAX_LIVE_PLANS", 8)
    fp.clear_cache(device=device)
    for k, function in enumerate(functions(14, 2000), 2000):
        same(function(ramp(9)), expected(k).astype("f4"))
    gc.collect()
    assert len(device.kernels) <= 8 + 1


def test_clear_cache_keeps_functions_working(lib: Any, device: Any) -> None:
    fused = fp.fuse(lambda x: lib.add(x, 3))
    same(fused(ramp(5)), ramp(5) + 3)
    fp.clear_cache(device=device)
    same(fused(ramp(5)), ramp(5) + 3)
    same(lib.add(ramp(5), 1), ramp(5) + 1)


def test_functions_that_are_dropped_free_their_kernels(device: Any) -> None:
    fp.clear_cache(device=device)
    gc.collect()
    before = len(device.kernels)
    for k, function in enumerate(functions(6, 3000), 3000):
        same(function(ramp(9)), expected(k).astype("f4"))
    del function
    gc.collect()
    assert len(device.kernels) <= before + 1


def test_sessions_rotate(lib: Any, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "KERNELS_PER_SESSION", 4)
    made: list[Any] = []
    real = session.Session

    class Counting(real):  # type: ignore[misc, valid-type]
        def __init__(self, *args: Any, **kwargs: Any):
            super().__init__(*args, **kwargs)
            made.append(self)

    monkeypatch.setattr(session, "Session", Counting)
    for k in range(9):
        fused = fp.fuse(_with_call(lib, 4000 + k))
        same(fused(ramp(9)), (ramp(9) + 0.5) * (4000 + k))
    assert len(made) >= 2
    assert all(s.kernels <= 5 for s in made)
    same(lib.add(ramp(3), 1), ramp(3) + 1)


def _with_call(lib: Any, n: int) -> Any:
    return lambda x: lib.add(x, 0.5) * n
