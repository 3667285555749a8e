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
from tests.fuzz.run import MODES, Runner


def say(**what: Any) -> None:
    """One line to the parent."""
    sys.__stdout__.write(json.dumps(what) + "\n")  # type: ignore[union-attr]
    sys.__stdout__.flush()  # type: ignore[union-attr]


def modes_of(seed: int) -> Sequence[str]:
    """In which ways a program runs: the dear ones in turns."""
    if seed % 50 == 0:
        return MODES
    return ("fused", "replay", "again", ("graph", "lazy", "given", "lazy", "eager", "given", "graph")[seed % 7])


def serve(seeds: Sequence[int], torch: bool) -> None:
    """Runs these programs."""
    faulthandler.enable()
    np.seterr(all="ignore")
    runner = Runner()
    for seed in seeds:
        say(start=seed)
        try:
            made = program(seed, torch)
            report = runner.check(made, modes_of(seed))
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
