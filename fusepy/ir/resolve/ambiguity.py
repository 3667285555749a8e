"""The error for a call that Slang can bind in several ways. Its hint has a Python call for each of them."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.errors import AmbiguousCallError
from fusepy.ir.oracle import OUT
from fusepy.ir.resolve.offers import Offer
from fusepy.ir.resolve.questions import Binding, Question
from fusepy.ir.resolve.spelling import python_name, python_type, show
from fusepy.ir.types import Kind
from fusepy.ir.value import Dims
from fusepy.ir.whole import spelled

_LINES = "\n            "
MOST_SHOWN = 8


def ambiguous(question: Question, names: Sequence[str], found: Sequence[Binding], place: str | None) -> AmbiguousCallError:
    """Returns the error for several bindings of a call whose parameters have these names."""
    function = question.function
    shown = [f"{show(function, a.params, a.result)}" for _, a in found]
    differ = " and ".join(repr(names[i]) for i in differing([c for c, _ in found]))
    return AmbiguousCallError(
        f"{function}: the arguments bind in {len(found)} ways",
        place=place,
        saw=_LINES.join(shown[:MOST_SHOWN]),
        expected="one",
        hint=f"choose for {differ}:{_LINES}" + _LINES.join(suggestions(question, names, found)[:MOST_SHOWN]),
    )


def differing(choices: Sequence[Sequence[Offer]]) -> list[int]:
    """Returns the operands whose offers differ between bindings."""
    return [i for i, offers in enumerate(zip(*choices)) if len({(o.type, o.consumed) for o in offers}) > 1]


def suggestions(question: Question, names: Sequence[str], found: Sequence[Binding]) -> list[str]:
    """Returns for each binding a call that selects it: with `vcast`, and with `vmap` if there are axes to map."""
    operands, maps = question.operands, question.maps
    differ = differing([c for c, _ in found])
    lines: list[str] = []
    takes = [[o.consumed for o in choice] for choice, _ in found]
    for choice, answer in found:
        inputs = [p for p in answer.params if p.direction != OUT]
        batch = [v.rank - o.consumed for v, o in zip(operands, choice)]
        if not any(m.dims for m in maps) and not _broadcast([v.dims[:n] for v, n in zip(operands, batch)]):
            continue  # Slang would take it, but the shapes do not broadcast
        grid = max([m.min_grid_rank for m in maps] + batch)
        typed, mapped = list(names[: len(operands)]), list(names[: len(operands)])
        for i in differ:
            offered, want = choice[i].type, inputs[i].type
            type = offered if want is None or offered.kind is Kind.NAMED else want  # for an interface, the struct itself
            typed[i] = f"fp.vcast({names[i]}, {python_type(spelled(type))})"
            mapped[i] = f"fp.vmap({names[i]}, {tuple(range(grid - batch[i], grid))})"
        calls = [f"{python_name(question.function)}({', '.join(args)})" for args in (typed, mapped)]
        unmapped = all(operands[i].rank and maps[i].dims is None for i in differ)
        alone = takes.count([o.consumed for o in choice]) == 1  # else the mapping does not select the binding
        lines.append(" or ".join(calls if unmapped and alone else calls[:1]))
    return lines


def _broadcast(shapes: Sequence[Dims]) -> bool:
    """True if batch shapes broadcast, as far as their extents are known."""
    for axis in range(1, 1 + max(map(len, shapes), default=0)):
        if len({s[-axis] for s in shapes if len(s) >= axis} - {None, 1}) > 1:
            return False
    return True
