"""Findings made small, and written as tests."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.fuzz.inputs import CALLS, meant
from tests.fuzz.meaning import evaluate
from tests.fuzz.program import Program
from tests.fuzz.run import MODES, Finding, Runner
from tests.fuzz.slopes import checked_slopes
from tests.fuzz.text import function_text
from tests.fuzz.values import Refused

Fails = Callable[[Program], bool]
DERIVATIVES = ("vjp", "jvp")


def means(program: Program) -> bool:
    """Whether the program has a meaning."""
    try:
        for call in range(CALLS):
            evaluate(program, meant(program, call))
    except (Refused, ValueError, IndexError, KeyError):
        return False
    return True


def shrink(program: Program, fails: Fails, tries: int = 400) -> Program:
    """The smallest program found that still fails: the first simpler one that does is taken, until none does."""
    while tries > 0:
        for simpler in candidates(program):
            if not means(simpler):
                continue
            tries -= 1
            if fails(simpler):
                program = simpler
                break
            if tries <= 0:
                break
        else:
            break
    return program


def candidates(program: Program) -> Iterator[Program]:
    """Simpler programs, the boldest first."""
    if len(program.results) > 1:
        for i in range(len(program.results)):
            yield _with(program, results=program.results[:i] + program.results[i + 1 :])
    if program.structure not in ("single", "tuple"):
        yield _with(program, structure="tuple")
    needed = cleaned(program)
    if (len(needed.steps), len(needed.args)) != (len(program.steps), len(program.args)):
        yield needed
    for i in reversed(range(len(program.steps))):
        yield from without_step(program, i)
    for places in program.places()[:-1]:
        for p in places:
            if program.results != [p]:
                yield _with(program, results=[p])
    for i, place in enumerate(program.results):  # return what a step has read in place of what it gave
        step = next((s for s, p in zip(program.steps, program.places()) if place in p), None)
        for p in step.operands if step is not None else []:
            if isinstance(p, int):
                yield _with(program, results=[*program.results[:i], p, *program.results[i + 1 :]])
    for i, arg in enumerate(program.args):
        for change in (
            {"layout": "C"}, {"passed": "tensor"}, {"data": "small"}, {"seed": 0}, {"dims": arg.dims[1:]}, {"dims": ()},
            {"scalar": "float"}, {"comp": ()},
        ):  # fmt: skip
            if all(getattr(arg, k) == v for k, v in change.items()):
                continue
            if change.get("passed") == "tensor" and arg.passed == "number" and not arg.dims:
                continue
            yield _with_arg(program, i, change)
    if program.sizes[0] != program.sizes[1]:
        yield _with(program, sizes=[program.sizes[0], program.sizes[0]])
        yield _with(program, sizes=[program.sizes[1], program.sizes[1]])
    for letter in sorted(program.sizes[0]):
        for n in (1, 2, 3):
            if max(t[letter] for t in program.sizes) > n:
                yield _with(program, sizes=[{**t, letter: min(n, t[letter])} for t in program.sizes])


def _with(program: Program, **changes: Any) -> Program:
    made = copy.deepcopy(program)
    for key, value in changes.items():
        setattr(made, key, value)
    if made.structure == "single" and len(made.results) != 1:
        made.structure = "tuple"
    return made


def _with_arg(program: Program, i: int, changes: dict[str, Any]) -> Program:
    made = copy.deepcopy(program)
    for key, value in changes.items():
        setattr(made.args[i], key, value)
    return made


def cleaned(program: Program) -> Program:
    """Without arguments and steps that nothing needs."""
    needed = set(program.results)
    for step, places in reversed(list(zip(program.steps, program.places()))):
        if needed & set(places):
            needed |= {p for p in step.operands if isinstance(p, int)}
    args = [i for i in range(len(program.args)) if i in needed] or [0]
    steps = [i for i, places in enumerate(program.places()) if needed & set(places)]
    return _kept(program, args, steps)


def _kept(program: Program, args: list[int], steps: list[int]) -> Program:
    places = program.places()
    order = args + [p for i in steps for p in places[i]]
    renamed = {old: new for new, old in enumerate(order)}
    made = copy.deepcopy(program)
    made.args = [made.args[i] for i in args]
    made.steps = [made.steps[i] for i in steps]
    for step in made.steps:
        step.operands = [renamed[p] if isinstance(p, int) else p for p in step.operands]
    made.results = [renamed[p] for p in program.results]
    return made


def without_step(program: Program, i: int) -> Iterator[Program]:
    """Each way to leave a step away: whoever reads it reads one of its operands."""
    places = program.places()[i]
    for operand in dict.fromkeys(p for p in program.steps[i].operands if isinstance(p, int)):
        made = copy.deepcopy(program)
        for step in made.steps[i + 1 :]:
            step.operands = [operand if p in places else p for p in step.operands]
        made.results = [operand if p in places else p for p in made.results]
        steps = [k for k in range(len(made.steps)) if k != i]
        yield _kept(made, list(range(len(made.args))), steps)


# ---- how it fails ---------------------------------------------------------------------------------------------------


def checked_apart(program: Program, seconds: float = 60) -> list[Finding]:
    """The findings of a program that is run in a process of its own."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
        file.write(program.dumps())
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "tests.fuzz", "--text", file.name],
            capture_output=True, text=True, timeout=seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return [Finding("hang", "", "")]
    finally:
        os.unlink(file.name)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    found = next((line for line in lines if "done" in line), None)
    if found is None:
        return [Finding("crash", "", f"exit {done.returncode}\n{done.stderr[-2000:]}")]
    return [Finding(**f) for f in found["findings"]]


def shrunk(program: Program, kind: str, mode: str, runner: Runner | None = None) -> Program:
    """The program of a finding made small; one that kills the process or hangs is tried in others."""
    mode = mode.split(",")[0]
    if kind in ("crash", "hang"):
        return shrink(program, lambda p: any(f.kind == kind for f in checked_apart(p)), tries=60)
    runner = runner or Runner()
    modes = MODES if kind == "refused in one mode" else ("fused",) if mode == "fused" else ("fused", mode)

    def fails(p: Program) -> bool:
        report = checked_slopes(runner, p, mode) if mode in DERIVATIVES else runner.check(p, modes)
        return any(f.kind == kind for f in report.findings)

    if not fails(program):
        return program
    small = shrink(program, fails)
    # what nothing needs is part of some findings: another use of a number
    return cleaned(small) if fails(cleaned(small)) else small


def shrink_file(path: Path) -> None:
    """Makes the program of a finding small, and writes it back with a test."""
    finding = json.loads(path.read_text())
    program = Program.loads(json.dumps(finding["program"]))
    small = shrunk(program, finding["kind"], finding["mode"])
    finding["program"] = json.loads(small.dumps())
    path.write_text(json.dumps(finding, indent=1))
    path.with_suffix(".py").write_text(as_test(small, finding))
    print(path.with_suffix(".py").read_text())


def as_test(program: Program, finding: dict[str, Any]) -> str:
    """A test to paste; the program alone may also go into ``tests/fuzz/corpus``."""
    words = "\n".join(f"# {line}" for line in str(finding["words"]).splitlines()[:12])
    args = "\n".join(f"# x{i}: {a.type} over {a.dims} as {a.passed}, {a.layout}, {a.data}" for i, a in enumerate(program.args))
    mode = finding["mode"]
    report = f"checked_slopes(Runner(), program, {mode!r})" if mode in DERIVATIVES else "Runner().check(program)"
    imports = "from tests.fuzz.slopes import checked_slopes\n" if mode in DERIVATIVES else ""
    return f"""# {finding["kind"]} ({finding["mode"]}), seed {finding["seed"]}
{words}
# extents {program.sizes}
{args}
#
{"".join(f"# {line}{chr(10)}" for line in function_text(program).splitlines())}from tests.fuzz.program import Program
from tests.fuzz.run import Runner
{imports}

def test_finding_{finding["seed"]}() -> None:
    program = Program.loads({program.dumps()!r})
    assert {report}.findings == []
"""


def repeat(what: str, torch: bool) -> int:
    """Runs one program again: by its number, or from the file of a finding."""
    from tests.fuzz.generate import program as drawn

    if what.isdecimal():
        program = drawn(int(what), torch)
    else:
        text = json.loads(Path(what).read_text())
        program = Program.loads(json.dumps(text.get("program", text)))
    print(program.sizes)
    for i, a in enumerate(program.args):
        print(f"x{i}: {a.type} over {a.dims} as {a.passed}, {a.layout}, {a.data}")
    print(function_text(program))
    runner = Runner()
    report = runner.check(program)
    for mode in DERIVATIVES:
        report.add(checked_slopes(runner, program, mode))
    for mode, words in report.refusals.items():
        print(f"refused ({mode}): {words}")
    for f in report.findings:
        print(f"{f.kind} ({f.mode}): {f.words}")
    return 1 if report.findings else 0
