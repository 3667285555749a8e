"""The cause of a cache miss: the difference between the arguments and those of the nearest compiled program."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.inspect.reasons import work_of
from fusepy.ir.graph import Graph
from fusepy.ir.printer import value_type
from fusepy.trace.recording import Recording


def nearest(given: Graph, classes: Sequence[str], known: Sequence[Recording]) -> str:
    """Describes the difference between the arguments of a call and those of the nearest known one of the same functions.

    Args:
        given: the call as it is traced.
        classes: the Python classes of its arguments, nested ones as their leaves.
        known: the calls that have programs.
    """
    if not known:
        return "no program is there yet; the first call compiles one"
    wanted = arguments_of(given, classes)
    work = [*map(work_of, given.nodes)]
    alike = [r for r in known if work == [*map(work_of, r.graph.nodes)]] or known
    best = min((_differences(wanted, arguments_of(r.graph, r.classes)) for r in alike), key=len)
    if not best:
        return "a program for such arguments is there, but not for how this call is mapped or what it returns"
    return "a new program: " + "; ".join(best)


def arguments_of(graph: Graph, classes: Sequence[str]) -> dict[str, str]:
    """Returns the Python class and the traced type of each argument, by name."""
    found = {v.name or "": value_type(v) for v in graph.inputs}
    return {name: f"{cls} {type}" for (name, type), cls in zip(found.items(), (*classes, *[""] * len(found)))}


def _differences(wanted: dict[str, str], other: dict[str, str]) -> list[str]:
    changed = [f"argument {n!r} is {t}, and was {other[n]}" for n, t in wanted.items() if n in other and other[n] != t]
    more = [f"argument {n!r} is new" for n in wanted if n not in other]
    return changed + more + [f"argument {n!r} is not there" for n in other if n not in wanted]
