"""Options, and how peers are interleaved: a case runs all its peers once per block, in another order each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from benchmarks import peers as p
from benchmarks.side_by_side import Jobs


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--device-kind", default="vulkan", help="device type: vulkan or cuda")
    parser.addoption("--quick", action="store_true", help="small sizes and few rounds: does it run, not how fast")
    parser.addoption("--state", default="cold", help="label of a first_result sample: cold or warm")
    parser.addoption("--block", type=int, default=0, help="number of a first_result sample")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "peer" in metafunc.fixturenames and "block" in metafunc.fixturenames:
        quick = metafunc.config.getoption("--quick")
        search = "search" in metafunc.function.__name__
        names = metafunc.module.SEARCHED if search else metafunc.module.PEERS
        blocks = range(2 if quick else 3 if search else metafunc.module.BLOCKS)
        pairs = [(b, names[(i + b) % len(names)]) for b in blocks for i in range(len(names))]
        metafunc.parametrize(("block", "peer"), pairs)


@pytest.fixture(scope="session")
def kind(request: pytest.FixtureRequest) -> str:
    return request.config.getoption("--device-kind")


@pytest.fixture(scope="session")
def quick(request: pytest.FixtureRequest) -> bool:
    return request.config.getoption("--quick")


@pytest.fixture(scope="module")
def device(kind: str) -> Any:
    return p.fusepy_device(kind)


@pytest.fixture(scope="module")
def calls(device: Any, request: pytest.FixtureRequest) -> int:
    """How many calls are made before they are waited for: on a GPU several, or the host would be measured."""
    return getattr(request.module, "CALLS_ON_GPU", 20) if p.is_hardware(device.sgl) else 1


@pytest.fixture(scope="module")
def jobs(request: pytest.FixtureRequest, device: Any, calls: int, quick: bool) -> Jobs:
    """The jobs of a case that compares functions in NumPy's words."""
    return Jobs(request.module.CASE, request.module.WORK, device, calls, quick)


class Measure:
    """Times one peer of a case and labels the record."""

    def __init__(self, benchmark: Any, case: str):
        self.benchmark = benchmark
        self.case = case

    def __call__(
        self, peer: str, block: int, target: Callable[[], Any], *, rounds: int = 3, warmup: int = 1, calls: int = 1, **info: Any
    ) -> Any:
        """`target` makes `calls` calls and waits for them."""
        self.benchmark.extra_info.update(case=self.case, peer=peer, block=block, calls=calls, **info)
        return self.benchmark.pedantic(target, rounds=rounds, warmup_rounds=warmup)

    @property
    def median(self) -> float:
        return self.benchmark.stats.stats.median


@pytest.fixture
def measure(benchmark: Any, request: pytest.FixtureRequest) -> Measure:
    return Measure(benchmark, request.module.CASE)
