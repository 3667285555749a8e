"""Faults planted in fusepy are found by the fuzzer: a net that lets them through would let others through, too."""

from __future__ import annotations

import time
from typing import Any

import pytest

import fusepy as fp
from fusepy.backend.cache.disk import DiskCache
from tests.fuzz.faults import FAULTS, PROGRAMS, Fault
from tests.fuzz.run import Runner
from tests.fuzz.shrink import means


@pytest.fixture(scope="module")
def runner(device: Any) -> Any:
    made = Runner(device)
    kept, device.cache = device.cache, DiskCache(None)  # kernels of a planted fault must not stay
    yield made
    device.cache = kept
    fp.clear_cache()


def findings(runner: Runner, fault: Fault) -> list[Any]:
    """What the programs of a fault show; none of them has a reason to be refused."""
    found: list[Any] = []
    for name in fault.programs:
        report = runner.check(PROGRAMS[name], fault.modes, watch=fault.watch)
        found += [*report.findings, *report.refusals.values()]
        if found and fault.modes != ("eager",):
            break
    return found


def fresh(runner: Runner, device: Any) -> None:
    """Nothing compiled before is left."""
    runner.steps.clear()
    fp.clear_cache(device=device)


def test_the_programs_pass_without_a_fault(runner: Runner, device: Any) -> None:
    fresh(runner, device)
    for name, program in PROGRAMS.items():
        assert means(program), name
        modes = {m for f in FAULTS if name in f.programs for m in f.modes}
        assert modes, f"{name} shows no fault"
    for fault in FAULTS:
        assert findings(runner, fault) == [], fault.name


def test_planted_faults_are_found(runner: Runner, device: Any) -> None:
    assert len(FAULTS) >= 30
    assert len({f.name for f in FAULTS}) == len(FAULTS)
    alive: list[str] = []
    started = time.monotonic()
    for fault in FAULTS:
        fresh(runner, device)
        with fault.plant():
            if not findings(runner, fault):
                alive.append(fault.name)
    fresh(runner, device)
    print(f"{len(FAULTS)} faults in {time.monotonic() - started:.1f} s; alive: {alive}")
    assert len(alive) <= 0.04 * len(FAULTS), alive
