"""Random programs: every step is tried on NumPy as it is drawn, and left away where it means nothing there."""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np

from tests.fuzz import numbers, uploads, vocabulary
from tests.fuzz.arguments import LETTERS, argument
from tests.fuzz.chance import draw_chance
from tests.fuzz.draw_calls import draw_call, draw_outer, draw_struct
from tests.fuzz.elementwise import OPERATORS, SEVERAL, UNARY
from tests.fuzz.inputs import CALLS, meant
from tests.fuzz.known import known
from tests.fuzz.meaning import run_step
from tests.fuzz.movement import draw_move
from tests.fuzz.program import Program, Step
from tests.fuzz.values import SCALARS, Refused, Val, is_float, written
from tests.fuzz.words import draw_word

EXTENTS = [1, 2, 3, 4, 5, 7, 8, 17]
KINDS = ("sum", "mean", "prod", "max", "min", "any", "all", "argmax", "argmin")
MOST = 1 << 14
THEMES = ["float", "float", "int", "any", "any", "vector", "vector", "double", "half", "struct", "texture", "default"]
THEMES += ["numbers", "signs"]
THEMES = os.environ.get("FUSEPY_FUZZ_THEMES", ",".join(THEMES)).split(",")  # other ones make other programs of the same seeds


class Draw:
    """The making of one program from a seed."""

    def __init__(self, seed: int, torch: bool = False):
        self.random = random.Random(seed)
        self.seed = seed
        self.torch, self.theme = torch, ""
        self.values: list[list[Val]] = [[] for _ in range(CALLS)]
        self.program = Program([], [], [], [], seed=seed)

    def one(self, items: Any) -> Any:
        return self.random.choice(list(items))

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    def make(self) -> Program:
        p = self.program
        rank = self.one([0, 1, 1, 2, 2, 3, 4])
        p.sizes = [{c: self.one(EXTENTS if rank < 4 else EXTENTS[:5]) for c in LETTERS}]
        p.sizes += [{c: self.another(n) for c, n in p.sizes[0].items()} for _ in range(CALLS - 1)]
        if self.chance(0.04):
            p.sizes[self.one(range(CALLS))][self.one(LETTERS)] = 0
        if self.chance(0.05):
            p.sizes[0][LETTERS[0]] = self.one([300, 1025, 4097]) if rank == 1 else 33
        self.theme = theme = self.one(THEMES)
        for i in range(self.one([1, 1, 2, 2, 2, 3]) + (theme == "numbers")):
            p.args.append(numbers.draw_number(self, not i) if theme == "numbers" else argument(self, rank, theme))
        self.values = [meant(p, c) for c in range(CALLS)]
        wanted, tries = self.one([1, 1, 2, 2, 3, 3, 4, 5, 7]), 0
        # a result inherits the dimensions of vmap in a fused function only, so nothing follows that would be another call by call
        while len(p.steps) < wanted and tries < 40 and not any(s.op == "outer" for s in p.steps):
            tries += 1
            step = self.step()
            if step is not None:
                self.take(step)
        if not p.steps:
            _ = (
                self.take(Step("mul", [0, [2]]))
                or self.take(Step("field", [0], {"name": "t"}))
                or self.take(Step("eq", [0, 0]))
                or self.take(Step("reduce", [0], {"kind": "all", "axis": None}))
            )
        self.choose_results()
        return p

    def another(self, extent: int) -> int:
        """An extent of the next call: mostly one that the same programs take, and stays so where it may be that of a vector."""
        return self.one(EXTENTS if self.chance(0.15) else [extent] if 1 < extent < 5 else [1, 5, 7, 8, 5, 7, 8, 17])

    def choose_results(self) -> None:
        p = self.program
        made = [v for places in p.places() for v in places]
        good = [v for v in made if self.telling(v)] or made
        count = self.one([1, 1, 2, 3])
        p.results = [good[-1]] if good else []
        while len(p.results) < min(count, len(good)):
            p.results.append(self.one(good))
        if not p.results:
            p.results = [0]
        p.structure = "single" if len(p.results) == 1 and self.chance(0.5) else self.one(["tuple", "tuple", "list", "dict"])

    def telling(self, place: int) -> bool:
        """Whether most of what is at a place is known."""
        return all(x.e.size == 0 or np.isfinite(x.e).mean() > 0.5 for x in (v[place] for v in self.values))

    # ---- steps ------------------------------------------------------------------------------------------------------

    def place(self) -> int:
        """A value, more likely one that was made last."""
        count = len(self.values[0])
        return count - 1 - min(int(self.random.expovariate(0.5)), count - 1) if self.chance(0.6) else self.random.randrange(count)

    def like(self, place: int) -> Any:
        """An operand that goes with another one: of its components, or a number."""
        if self.chance(0.2):
            first = self.values[0][place]
            cast = [self.one([*SCALARS, "int", "float"])] if self.chance(0.2) else []
            if is_float(first.scalar):
                return [self.one([2, 0.5, -1.5, 3.0, 1, 0, -2]), *cast]
            return [self.one([1, 2, 3, 5]), *cast]
        comp = self.values[0][place].comp
        for _ in range(6):
            other = self.place()
            if self.values[0][other].comp in (comp, ()) or not comp:
                return other
        return place

    def of(self, want: Any, passed: bool = False) -> Any:
        """A value of a type, if there is one; with `passed` also one that the upload for a call converts."""
        fits = [i for i, x in enumerate(self.values[0]) if (x.scalar, x.comp) == want and not (x.weak and x.rank)]
        fits += [i for i, x in enumerate(self.values[0]) if passed and uploads.fits(x, want)]
        if fits and self.chance(0.9):
            return self.one(fits[-4:] if self.chance(0.7) else fits)
        if want == ("float", ()):
            return [self.one([2.0, -0.5, 1.25])]
        return None

    def step(self) -> Step | None:
        r = self.random.random()
        a = self.place()
        x = self.values[0][a]
        if any(v.scalar == "Ray" for v in self.values[0]) and self.chance(0.5):
            return draw_struct(self)
        if any(v.weak and not v.rank for v in self.values[0]) and self.chance(0.4):
            return numbers.draw(self)
        if self.theme == "signs" and self.chance(0.6):
            return numbers.draw_signs(self)
        if any(v.arrives for v in self.values[0]) and self.chance(0.3):
            return draw_call(self, a) if self.chance(0.8) else uploads.draw_channels(self)
        if 0.33 <= r < 0.36 or 0.44 <= r < 0.48 or 0.77 <= r < 0.79:
            return vocabulary.draw(self, a, x)
        if r < 0.24:
            op = self.one(OPERATORS)
            if op in ("neg", "invert"):
                return Step(op, [a])
            b = self.like(a)
            if op in ("shl", "shr") and self.chance(0.7):
                b = [self.one([0, 1, 2, 3])]
            if self.chance(0.2) and not isinstance(b, list):
                a, b = b, a
            elif isinstance(b, list) and self.chance(0.4):
                return Step(op, [b, a])
            return Step(op, [a, b])
        if r < 0.36:
            return Step(self.one(UNARY), [a])
        if r < 0.48:
            op = self.one([*SEVERAL, "where", "where"])
            count = SEVERAL[op][0]
            if op == "where":
                test = self.of(("bool", x.comp)) if self.chance(0.6) else self.of(("bool", ()))
                test = test if isinstance(test, int) else self.like(a)
                return Step(op, [test, a, self.like(a)]) if isinstance(test, int) else None
            if op in ("clip", "smoothstep"):
                low = self.one([-1, 0, 0.5, 1]) if is_float(x.scalar) else self.one([0, 1])
                return Step(op, [a, [low], [low + 2]] if op == "clip" else [[low], [low + 2], a])
            return Step(op, [a, *(self.like(a) for _ in range(count - 1))])
        if r < 0.62:
            return self.components(a, x)
        if r < 0.76:
            return self.fold(a, x)
        if r < 0.80:
            return draw_chance(self, a, x) if self.chance(0.25) else draw_move(self, a, x)
        if r < 0.85:
            return draw_word(self, a)
        if r < 0.92:
            return draw_call(self, a)
        if r < 0.95:
            return draw_outer(self)
        from tests.fuzz.control import draw

        return draw(self)

    def components(self, a: int, x: Val) -> Step | None:
        vectors = [i for i, v in enumerate(self.values[0]) if v.comp and v.scalar != "Ray"]
        if vectors and self.chance(0.6):
            a = self.one(vectors)
            x = self.values[0][a]
        kinds = ["cast", "member", "index", "vector", "vector"] if x.comp else ["cast", "construct", "construct"]
        choice = self.one([*kinds, "construct"])
        if choice == "cast":
            scalar = self.one(list(SCALARS) if self.chance(0.5) else ["float", "int", "double", "half", "bool"])
            if x.weak and self.chance(0.5):
                scalar = x.scalar
            return Step("cast", [a], {"scalar": scalar, "comp": list(x.comp)})
        if choice == "member" and len(x.comp) <= 1:
            letters = "xyzw"[: x.comp[0] if x.comp else 1]
            if not x.comp:
                return None
            return Step("member", [a], {"name": "".join(self.one(letters) for _ in range(self.one([1, 1, 2, 3, 4])))})
        if choice == "index" and x.comp:
            if self.chance(0.3):
                at = self.of(("int", ())) or self.of(("uint", ()))
                if isinstance(at, int):
                    return Step("index", [a, at])
            return Step("index", [a], {"at": self.one(range(-x.comp[0], x.comp[0]))})
        if choice == "construct":
            scalar = self.one(
                ["float", "float", "int", "double", "half", "bool", "uint", x.scalar if x.scalar in SCALARS else "int"]
            )
            comp = self.one([(2,), (3,), (4,), (3,), (2, 2), (2, 3)])
            if len(comp) == 2 and scalar in ("bool", "uint", "int8_t", "uint8_t", "int16_t", "uint16_t", "int64_t", "uint64_t"):
                return None
            parts: list[Any] = []
            left = comp[0] * (comp[1] if len(comp) == 2 else 1)
            while left:
                b = self.place()
                size = int(np.prod(self.values[0][b].comp)) if len(self.values[0][b].comp) < 2 else 99
                if size > left or (len(comp) == 2 and size != 1):
                    b, size = [self.one([0, 1, 2])], 1
                parts.append(b)
                left -= size
            if all(isinstance(b, list) for b in parts):
                return None
            return Step("construct", parts, {"scalar": scalar, "comp": list(comp)})
        if choice == "vector" and x.comp:
            op = self.one(["dot", "cross", "length", "normalize", "reflect", "matmul", "matmul"])
            return Step(op, [a] if op in ("length", "normalize") else [a, self.like(a)])
        return None

    def fold(self, a: int, x: Val) -> Step | None:
        if not x.rank and self.chance(0.9):
            return None
        axis: Any = None
        if x.rank and self.chance(0.7):
            axis = self.one(range(-x.rank, x.rank))
            if x.rank > 1 and self.chance(0.25):
                axis = self.random.sample(range(x.rank), self.one(range(1, x.rank + 1)))
        r = self.random.random()
        if r < 0.65:
            attrs = {"kind": self.one(KINDS), "axis": axis, "keepdims": self.chance(0.3)}
            return Step("reduce", [a], attrs if x.rank or not x.comp else {**attrs, "vectors": True})
        if not x.rank:
            return None
        along = self.one(range(-x.rank, x.rank))
        if r < 0.85:
            kind = self.one(["sum", "prod", "max", "min"])
            return Step("scan", [a], {"kind": kind, "axis": along, "exclusive": kind in ("sum", "prod") and self.chance(0.3)})
        if (x.scalar, x.comp) == ("float", (2,)):
            return Step("fold", [a], {"function": "chain", "axis": along, "scan": True, "exclusive": self.chance(0.3)})
        scan = self.chance(0.4)
        function = self.one(["add", "big"])
        attrs = {"function": function, "axis": along if scan else axis, "scan": scan}
        return Step("fold", [a], {**attrs, "exclusive": self.chance(0.3)} if scan else {**attrs, "keepdims": self.chance(0.3)})

    def take(self, step: Step) -> bool:
        """Adds a step, if it means something in both calls."""
        found = []
        try:
            for values in self.values:
                results = run_step(step, values)
                if any(r.comp for r in results) and any(v.arrives == uploads.NARROWS for v in values):
                    return False  # vectors on NumPy arrays are numbers, so their programs run on tensors, which nothing converts
                if any(
                    r.v.size > MOST or (is_float(r.scalar) and np.abs(r.v[np.isfinite(r.v)]).max(initial=0) > 1e6)
                    for r in results
                ):
                    return False
                found.append(results)
                operands = [written(*p) if isinstance(p, list) else values[p] for p in step.operands]
                if known(step, operands, results):
                    return False
        except (Refused, ValueError):
            return False
        if any(r.e.size and not np.isfinite(r.e).any() for results in found for r in results):
            return False
        for values, results in zip(self.values, found):
            values += results
        self.program.steps.append(step)
        return True


def program(seed: int, torch: bool = False) -> Program:
    """The program of a seed."""
    return Draw(seed, torch).make()
