"""A plugin of pytest that says where the suite's time goes: ``pytest -p tests.support.cpu_times``.

It counts seconds of CPU time, of all threads and finished child processes, since they are the same on a busy machine; and kernels
that were compiled. ``FUSEPY_CPU_TIMES=<file>`` gets a line for each test; the summary at the end adds folders up.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Iterator

import pytest

from tests.support import child

MOST = 30  # tests in the summary
_costs: dict[str, tuple[float, int]] = {}


def spent() -> tuple[float, int]:
    """CPU seconds and compiled kernels so far."""
    fusepy = sys.modules.get("fusepy")
    return sum(os.times()[:4]) + sum(child.cpu_seconds), fusepy.stats().kernels_compiled if fusepy and hasattr(
        fusepy, "stats"
    ) else 0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """A test with what its fixtures cost."""
    seconds, kernels = spent()
    try:
        return (yield)
    finally:
        after = spent()
        _costs[item.nodeid] = cost = (after[0] - seconds, after[1] - kernels)
        if (path := os.environ.get("FUSEPY_CPU_TIMES")) is not None:
            with open(path, "a", encoding="utf-8") as file:
                file.write(f"{cost[0]:.3f}\t{cost[1]}\t{item.nodeid}\n")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    say = terminalreporter.write_line
    for of in (lambda test: test.rpartition("/")[0], lambda test: test.partition("[")[0]):
        sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0, 0])
        for test, (seconds, kernels) in _costs.items():
            for place, n in enumerate((seconds, kernels, 1)):
                sums[of(test)][place] += n
        terminalreporter.section("seconds of CPU time, kernels, tests")
        for name, (seconds, kernels, tests) in sorted(sums.items(), key=lambda entry: -entry[1][0])[:MOST]:
            say(f"{seconds:8.1f} {kernels:6.0f} {tests:6.0f}  {name}")
