"""The structs and functions that a kernel combines elements with, for all folds that it computes at a time."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.backend.emit.fold.accumulators import Accumulator
from fusepy.ir.value import declare


def accumulator_text(accumulators: Sequence[Accumulator], stage: int | None = None) -> list[str]:
    """Returns the structs that hold all folds of a kernel, and the functions on them.

    For one stage of several it leaves `fold_functions` out, and names end in the number of the stage.
    """
    end, shared = ("", fold_functions(accumulators)) if stage is None else (str(stage), [])
    return [*_structs(accumulators, end), *shared, *_uses(accumulators, end)]


def fold_functions(accumulators: Sequence[Accumulator]) -> list[str]:
    """Returns the functions that the others call, each once."""
    texts = dict.fromkeys(tuple(a.functions()) for a in accumulators)
    return [line for text in texts if text for line in (*text, "")]


def _structs(accumulators: Sequence[Accumulator], end: str) -> list[str]:
    acc = [m for a in accumulators for m in a.members()]
    run = [m for a in accumulators for m in a.members(run=True)]
    lines: list[str] = []
    for name, members in ((f"FzAcc{end}", acc), (f"FzRun{end}", run)):
        lines += [f"struct {name}", "{", *(f"    {declare(type, member)};" for member, type in members), "};", ""]
    return lines


def _uses(accumulators: Sequence[Accumulator], end: str) -> list[str]:
    """Returns the functions that start, feed and merge."""
    acc, run, lines = f"FzAcc{end}", f"FzRun{end}", list[str]()
    for name, struct, first in ((f"fz_none{end}", acc, False), (f"fz_start{end}", run, True)):
        names = [m for a in accumulators for m, _ in a.members(first)]
        values = [v for a in accumulators for v in a.start(first)]
        lines += [f"{struct} {name}()", "{", f"    {struct} made;"]
        lines += [*(f"    made.{n} = {v};" for n, v in zip(names, values)), "    return made;", "}", ""]
    given = "".join(f"{declare(a.have, f'x{a.j}')}, " for a in accumulators)
    taken = [s for a in accumulators for s in a.take("run", f"x{a.j}", "place")]
    gathered = [s for a in accumulators for s in a.gather("acc", "run")]
    merged = [s for a in accumulators for s in a.merge("acc", "other")]
    lines += _function(f"fz_take{end}(inout {run} run, {given}int place)", taken)
    lines += _function(f"fz_gather{end}(inout {acc} acc, {run} run, uint zero)", gathered)
    return lines + _function(f"fz_merge{end}(inout {acc} acc, {acc} other, uint zero)", merged)


def _function(head: str, body: Sequence[str]) -> list[str]:
    return [f"void {head}", "{", *(f"    {line}" for line in body), "}", ""]
