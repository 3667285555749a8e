"""Gradients of random programs against differences."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.fuzz.generate import program
from tests.fuzz.program import Arg, Program, Step
from tests.fuzz.run import Runner
from tests.fuzz.slopes import REFUSED, check, checked_slopes
from tests.fuzz.text import function_text


@pytest.fixture(scope="module")
def runner(device: object) -> Runner:
    return Runner(device)


def held_to_differences(runner: Runner, seeds: range, forward: bool = False) -> Counter[str]:
    """Checks the programs of these seeds."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        made = program(seed)
        outcome, finding = check(runner, made, forward)
        assert finding is None, f"seed {seed}: {finding.words}\n{function_text(made)}"
        if outcome.startswith("refused"):
            assert any(words in outcome for words in REFUSED), f"seed {seed}: {outcome}\n{function_text(made)}"
            outcome = "refused"
        counts[outcome] += 1
    return counts


def test_a_slice_of_gradients(runner: Runner) -> None:
    assert held_to_differences(runner, range(12))["checked"] >= 4


def test_a_slice_of_tangents(runner: Runner) -> None:
    assert held_to_differences(runner, range(6000, 6012), forward=True)["checked"] >= 2


@pytest.mark.long
@pytest.mark.parametrize(("first", "count"), [(12, 468), *((first, 600) for first in range(480, 5280, 600))])
def test_a_longer_slice_of_gradients(runner: Runner, first: int, count: int) -> None:
    assert held_to_differences(runner, range(first, first + count))["checked"] >= count * 230 // 600


@pytest.mark.long
@pytest.mark.parametrize(("first", "count"), [(6012, 548), *((first, 500) for first in range(6560, 8060, 500))])
def test_a_longer_slice_of_tangents(runner: Runner, first: int, count: int) -> None:
    assert held_to_differences(runner, range(first, first + count), forward=True)["checked"] >= 100


def test_a_computed_image_keeps_its_gradient(runner: Runner) -> None:
    """The function is traced twice there; vectors that the first trace has made are no constants of the second."""
    program = Program(
        [Arg("float", (), ("a", 3), "numpy", data="rough", seed=3)],
        [Step("add", [0, [1]]), Step("image", [1], {"name": "luma"})],
        [2],
        [{"a": 5}, {"a": 5}],
        seed=2,
    )
    assert checked_slopes(runner, program, "vjp").findings == []
