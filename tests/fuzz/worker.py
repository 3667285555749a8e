"""A process that runs programs one by one, and says which before it does: if it dies, it was that one."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.fuzz.generate import program
from tests.fuzz.program import Program
from tests.fuzz.run import MODES, Report, Runner
from tests.fuzz.slopes import checked_slopes


def say(**what: Any) -> None:
    """One line to the parent."""
    sys.__stdout__.write(json.dumps(what) + "\n")  # type: ignore[union-attr]
    sys.__stdout__.flush()  # type: ignore[union-attr]


EVERY = ("fused", "replay", "again")  # the ways in which every program runs
MORE = {0: "eager", 2: "lazy", 3: "frozen", 4: "graph", 6: "given", 8: "given"}  # and one more, by the last digit of its number


SLOPES = {1: "vjp", 5: "vjp", 7: "jvp"}  # whose derivatives are held to differences, by the last digit as well


def checked(runner: Runner, made: Program, seed: int) -> Report:
    """Runs a program in the ways that its number says."""
    report = runner.check(made, modes_of(seed))
    if seed % 10 in SLOPES and "fused" not in report.refusals:
        report.add(checked_slopes(runner, made, SLOPES[seed % 10]))
    return report


def modes_of(seed: int) -> Sequence[str]:
    """In which ways a program runs: the dear ones for a tenth or a fifth of the programs, and all for one in a hundred."""
    if seed % 100 == 50:
        return MODES
    return (*EVERY, MORE[seed % 10]) if seed % 10 in MORE else EVERY


def serve(seeds: Sequence[int], torch: bool) -> None:
    """Runs these programs."""
    faulthandler.enable()
    np.seterr(all="ignore")
    runner = Runner()
    for seed in seeds:
        say(start=seed)
        try:
            made = program(seed, torch)
            report = checked(runner, made, seed)
        except Exception:  # noqa: BLE001  # what fusepy raises is in the report: this is a fault of the fuzzer
            say(broken=seed, words=traceback.format_exc())
            return
        say(
            done=seed,
            calls=report.calls,
            refusals=report.refusals,
            findings=[vars(f) for f in report.findings],
            program=made.dumps() if report.findings else "",
        )


def serve_text(path: str) -> None:
    """Runs the program in a file; says the findings."""
    with open(path) as file:
        made = Program.loads(file.read())
    say(start=made.seed)
    report = Runner().check(made)
    say(done=made.seed, calls=report.calls, refusals=report.refusals, findings=[vars(f) for f in report.findings], program="")


def main(first: int, count: int, torch: bool, text: str | None = None) -> None:
    """Runs the programs of `count` seeds, or the one in a file; what Slang prints on the way goes to stderr."""
    kept = os.dup(1)
    os.dup2(2, 1)  # drivers write to the C stream
    sys.__stdout__ = os.fdopen(kept, "w")  # type: ignore[misc]
    with contextlib.suppress(BrokenPipeError):
        serve_text(text) if text else serve(range(first, first + count), torch)
