"""A slice of the fuzzer with a fixed seed, what it has found before, and the fuzzer itself."""

from __future__ import annotations

import json
import queue
from pathlib import Path

import numpy as np
import pytest

from fusepy.backend.execute.folds import pairs, products
from tests.fuzz import campaign, worker
from tests.fuzz.chance import philox
from tests.fuzz.generate import program
from tests.fuzz.limits import USUAL, limits_of
from tests.fuzz.meaning import run_step
from tests.fuzz.program import Program, Step
from tests.fuzz.run import MODES, Runner
from tests.fuzz.shrink import cleaned, means, shrink
from tests.fuzz.slopes import checked_slopes
from tests.fuzz.text import function_text
from tests.fuzz.values import Refused, Val, number
from tests.fuzz.worker import modes_of
from tests.support.selection import daily

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.json"))
FOUND = [(path.name, text) for path in CORPUS for text in json.loads(path.read_text())]
PARTS = 6  # of what was found, of which `make test` runs one


@pytest.fixture(scope="module")
def runner(device: object) -> Runner:
    return Runner(device)


@pytest.mark.parametrize("all_modes", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize("part", daily(range(PARTS), 0))
def test_what_was_found_before_stays_mended(runner: Runner, monkeypatch: pytest.MonkeyPatch, part: int, all_modes: bool) -> None:
    """With spirv-opt on every device, since some of it was spirv-opt's."""
    monkeypatch.setattr(runner.device.compiler._sessions, "_optimises", True)
    assert len(FOUND) > PARTS
    for i, (file, text) in list(enumerate(FOUND))[part::PARTS]:
        made = Program.loads(json.dumps(text["program"]))
        modes = MODES if all_modes else modes_of(i)
        report = checked_slopes(runner, made, text["mode"]) if "mode" in text else runner.check(made, modes)
        assert (report.findings, report.refusals) == ([], {}), f"{file}: {text['name']}"


def test_a_slice_of_programs(runner: Runner) -> None:
    for seed in range(8):
        made = program(seed)
        found = runner.check(made, modes_of(seed)).findings
        assert found == [], f"python -m tests.fuzz --repeat {seed}\n{function_text(made)}"


@pytest.mark.long
def test_a_longer_slice_of_programs(runner: Runner) -> None:
    for seed in range(8, 700):
        made = program(seed)
        found = runner.check(made, modes_of(seed)).findings
        assert found == [], f"python -m tests.fuzz --repeat {seed}\n{function_text(made)}"


def test_programs_are_data() -> None:
    for seed in range(60):
        made = program(seed)
        assert program(seed) == made
        assert Program.loads(made.dumps()) == made
        assert means(made)
        compile(function_text(made), "program", "exec")


def test_findings_shrink() -> None:
    """To the step that matters, here any product, with the arguments that it needs and nothing else."""

    def multiplies(p: Program) -> bool:
        return any(s.op == "mul" for s in cleaned(p).steps)

    found = next(p for p in map(program, range(500)) if len(p.steps) > 4 and multiplies(p))
    small = shrink(found, multiplies)
    assert [s.op for s in small.steps] == ["mul"]
    assert len(small.args) <= 2
    assert all(a.layout == "C" for a in small.args)


def test_all_modes_are_run() -> None:
    assert {m for seed in range(10) for m in modes_of(seed)} == set(MODES)


def test_half_of_the_programs_use_kernels_for_large_arrays() -> None:
    limits = lambda: (products.SMALL, pairs.MANY, pairs.LEAST)  # noqa: E731
    seen: list[tuple[int, int, int]] = []
    for seed in range(8):
        with limits_of(seed):
            seen.append(limits())
        assert limits() == USUAL
    assert seen.count(USUAL) == seen.count((1, 1, 2)) == 4


def test_a_fault_of_the_fuzzer_ends_the_campaign(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no finding, and no program to skip."""

    def broken(seed: int, torch: bool) -> Program:
        raise KeyError("Ray")

    said: list[dict[str, object]] = []
    monkeypatch.setattr(worker, "program", broken)
    monkeypatch.setattr(worker, "say", lambda **what: said.append(what))
    worker.serve([3, 4], False)
    assert [list(line) for line in said] == [["start"], ["broken", "words"]]
    assert "KeyError: 'Ray'" in str(said[1]["words"])

    def answers(process: object, lines: queue.Queue[str | None]) -> None:
        for line in [*map(json.dumps, said), None]:
            lines.put(line)

    monkeypatch.setattr(campaign, "_read", answers)
    with pytest.raises(campaign.Broken, match="program 3: "):
        campaign.Campaign(60, 1, 2).run()


def test_random_numbers_are_those_of_the_paper() -> None:
    """Known answers of Philox-4x32-10, from the authors' test vectors."""
    known = {
        (0, 0): ("6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"),
        (0xFFFFFFFF, 0xFFFFFFFF): ("408f276d", "41c83b0e", "a20bc7c6", "6d5451fd"),
    }
    for (counter, key), words in known.items():
        assert [f"{int(w):08x}" for w in philox((counter,) * 4, (key, key))] == [*words]


def test_structs_are_no_parts() -> None:
    made = Val("Ray", (4,), np.zeros((2, 4)), np.zeros((2, 4)))
    for scalar, part in (("float", made), ("Ray", number(1.0))):
        with pytest.raises(Refused):
            run_step(Step("construct", [0, 0], {"scalar": scalar, "comp": [2]}), [part])
