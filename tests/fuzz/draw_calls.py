"""Random calls of Slang functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.fuzz.calls import FUNCTIONS
from tests.fuzz.program import Step

if TYPE_CHECKING:
    from tests.fuzz.generate import Draw


def draw_call(d: Draw, a: int) -> Step | None:
    if d.chance(0.15):
        fits = [i for i, x in enumerate(d.values[0]) if (x.scalar, x.comp, x.weak) == ("float", (), False) and 1 <= x.rank <= 3]
        if not fits:
            return None
        place = d.one(fits)
        generator = d.one(["fp.call_id()", "fp.grid({0})", "fp.thread_id()"])
        function = "nth" if "thread" in generator else f"at{d.values[0][place].rank}"
        return Step("placed", [place], {"generator": generator, "function": function})
    if d.chance(0.1):
        fits = [i for i, x in enumerate(d.values[0]) if (x.scalar, x.comp, x.rank, x.weak) == ("float", (), 2, False)]
        return Step("next", [d.one(fits)]) if fits else None
    name = d.one(FUNCTIONS)
    operands: list[Any] = []
    for p in FUNCTIONS[name][0]:
        if isinstance(p, str):
            _, scalar, rank = p.split()
            fits = [
                i for i, x in enumerate(d.values[0])
                if (x.scalar, x.comp, x.rank, x.weak) == (scalar, (), int(rank), False)
            ]  # fmt: skip
            found = d.one(fits) if fits else None
        else:
            found = a if p is None else d.of(p)
        if found is None:
            return None
        operands.append(found)
    if all(isinstance(o, list) for o in operands):
        return None
    gives = {"parts": 2, "bump": 2, "exchange": 2}.get(name, 1)
    if name == "exchange" and operands[0] == operands[1]:
        return None
    return Step("call", operands, {"name": name}, gives)


def draw_struct(d: Draw) -> Step | None:
    a, b, test = d.of(("Ray", (4,))), d.of(("Ray", (4,))), d.of(("bool", ()))
    if a is None or b is None:
        return None
    kind = d.one(["field", "along", "moved", "choose"])
    if kind == "field":
        return Step("field", [a], {"name": d.one(["at", "t"])})
    if kind == "choose":
        return Step("choose", [test, a, b]) if test is not None else None
    k = d.of(("float", ()))
    return Step("call", [a, k], {"name": kind})


def draw_outer(d: Draw) -> Step | None:
    a, b = d.of(("float", ())), d.of(("float", ()))
    if not isinstance(a, int) or not isinstance(b, int):
        return None
    ranks = d.values[0][a].rank, d.values[0][b].rank
    if not sum(ranks) or sum(ranks) > 4 or a == b:
        return None
    shared = d.one(range(min(ranks) + 1))
    rank = sum(ranks) - shared
    dims = list(range(rank))
    d.random.shuffle(dims)
    first, second = dims[: ranks[0]], dims[rank - ranks[1] :]
    return Step("outer", [a, b], {"a": first, "b": second})
