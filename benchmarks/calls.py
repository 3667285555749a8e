"""What a call costs, for cases whose runners make `CALLS` calls: by the clock, and as CPU time of the calling thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

Runners = dict[str, Callable[[], None]]


def bench_call(measure: Any, runners: Runners, block: int, peer: str, request: pytest.FixtureRequest) -> None:
    measure(peer, block, runners[peer], rounds=3, calls=request.module.CALLS)


@pytest.mark.benchmark(timer=time.thread_time)
def bench_call_cpu(measure: Any, runners: Runners, block: int, peer: str, request: pytest.FixtureRequest) -> None:
    measure.case = f"{measure.case} cpu"
    measure(peer, block, runners[peer], rounds=3, calls=request.module.CALLS)
