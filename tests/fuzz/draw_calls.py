"""Random calls of Slang functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.fuzz import uploads
from tests.fuzz.calls import FUNCTIONS
from tests.fuzz.program import Step
from tests.fuzz.values import Val

if TYPE_CHECKING:
    from tests.fuzz.generate import Draw

METHODS = ("Ray.through", "Ray.reach", "Ray.go")
ACCUMULATED = ("twice", "less", "tone", "luma", "cubed", "mixed")
ACCUMULATORS = ("sum", "mean", "max", "min", "first", "push")


def _numbers(x: Val) -> bool:
    """Whether a call may take the value as an array of floats, as it is or converted."""
    own = (x.scalar, x.comp) == ("float", ()) and x.arrives != uploads.TEXTURE
    return not x.weak and (own or uploads.fits(x, ("float", ())))


def draw_call(d: Draw, a: int) -> Step | None:
    cast = {place for step, places in zip(d.program.steps, d.program.places()) if step.op == "cast" for place in places}
    images = [
        i for i, x in enumerate(d.values[0])
        if _numbers(x) and x.rank > 1 and x.grid[-1] == 3 and i not in cast  # a cast says: numbers
    ]  # fmt: skip
    if images and d.chance(0.5):
        name = d.one(["luma", "tone"])
        operands = [d.one(images)] if name == "luma" else [d.one(images), d.of(("float", ()), passed=True)]
        return Step("image", operands, {"name": name}) if None not in operands else None
    if d.chance(0.15):
        fits = [i for i, x in enumerate(d.values[0]) if (x.scalar, x.comp, x.weak) == ("float", (), False) and 1 <= x.rank <= 3]
        if not fits:
            return None
        place = d.one(fits)
        generator = d.one(["fp.call_id()", "fp.grid({0})", "fp.thread_id()"])
        function = "nth" if "thread" in generator else f"at{d.values[0][place].rank}"
        return Step("placed", [place], {"generator": generator, "function": function})
    if d.chance(0.1):
        fits = [i for i, x in enumerate(d.values[0]) if _numbers(x) and x.rank == 2]
        return Step("next", [d.one(fits)]) if fits else None
    if d.chance(0.12):
        return draw_pick(d)
    kind = d.one(ACCUMULATORS) if d.chance(0.12) else None
    name = d.one(FUNCTIONS if kind is None else ACCUMULATED)
    textures = [x for x in d.values[0] if x.arrives == uploads.TEXTURE]
    if textures and kind is None and d.chance(0.5):
        rank = d.one(textures).rank
        name = d.one(["texel2", "texel_int", "texel_one"]) if rank == 2 else f"texel{rank}"
    operands: list[Any] = []
    for p in FUNCTIONS[name][0]:
        if isinstance(p, str):
            how, scalar, rank = p.split()
            fits = [
                i for i, x in enumerate(d.values[0])
                if (x.rank, x.weak, how == "texels") == (int(rank), False, x.arrives == uploads.TEXTURE)
                and ((x.scalar == scalar and (not x.comp or x.arrives)) or uploads.fits(x, (scalar, ())))
            ]  # fmt: skip
            found = d.one(fits) if fits else None
        else:
            like = d.values[0][a]
            found = a if p is None and not operands else d.of(p or (like.scalar, like.comp), passed=p is not None)
        if found is None and p == ("int", ()) and name.startswith("texel"):
            found = [d.one([0, 1, 5])]
        if found is None:
            return None
        operands.append(found)
    if all(isinstance(o, list) for o in operands):
        return None
    gives = {"parts": 2, "bump": 2, "exchange": 2, "split": 2}.get(name, 1)
    if name == "exchange" and operands[0] == operands[1]:
        return None
    if kind is not None:
        return Step("accumulate", operands, {"name": name, "kind": kind})
    return Step("call", operands, {"name": name}, gives)


def draw_pick(d: Draw) -> Step | None:
    """Reads of an array at indices of which some are equal: an integer that is there, or one number for all calls."""
    rank = d.one([1, 1, 2])
    fits = [i for i, x in enumerate(d.values[0]) if _numbers(x) and x.rank == rank]
    at = d.of(("int", ()), passed=True)
    if not fits:
        return None
    at = [d.one([0, 1, 5])] if at is None else at
    first = [d.of(("float", ()), passed=True)] if rank == 1 else []
    return Step("call", [*first, at, d.one(fits)], {"name": f"pick{rank}"})


def draw_struct(d: Draw) -> Step | None:
    a, b, test = d.of(("Ray", (4,))), d.of(("Ray", (4,))), d.of(("bool", ()))
    if a is None or b is None:
        return None
    kind = d.one(["field", "along", "moved", "choose", "drift", "split", "follow", "any_curve", *METHODS, *METHODS])
    if kind == "field":
        return Step("field", [a], {"name": d.one(["at", "t"])})
    if kind == "choose":
        return Step("choose", [test, a, b]) if test is not None else None
    if kind == "split":
        return Step("call", [a], {"name": kind}, 2)
    k = d.of(("float", ()))
    return Step("call", [a, k], {"name": kind})


def draw_outer(d: Draw) -> Step | None:
    a, b = d.of(("float", ()), passed=True), d.of(("float", ()), passed=True)
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
