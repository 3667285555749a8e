"""Random programs of calls, operators, functions and reductions: fusion changes when they run, never what they compute.

A program is drawn step by step and run call by call meanwhile: the eager call is the meaning. The same steps must give the same
values, shapes, types and containers in a fused function, under `fp.lazy()` and as a graph. A step that is refused ends its
program, which every other mode must refuse then.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import fusepy as fp

SOURCE = """
float luma(float3 c) { return dot(c, float3(0.25, 0.5, 0.125)); }
float two(float2 c) { return c.x - 2 * c.y; }
float four(float4 c) { return c.x - c.y + 2 * c.z - 2 * c.w; }
float3 scale(float3 c, float k) { return c * k; }
float2 swap(float2 c) { return c.yx; }
float3 widen(float2 c) { return float3(c, 1); }
float3 fill(float k) { return float3(k, 1, -k); }
float3 blend(float3 a, float3 b) { return a + 2 * b; }
float add(float a, float b) { return a + b; }
float halve(float a) { return a / 2; }
int count(float a) { return int(floor(a)); }
float det(float2x2 m) { return m[0][0] * m[1][1] - m[0][1] * m[1][0]; }
float2x2 turn(float2x2 m) { return transpose(m); }
float three(float a[3]) { return a[0] - 2 * a[1] + a[2]; }
float size(float x) { return abs(x); }
float size(float3 v) { return abs(v.x) + abs(v.y) + abs(v.z); }
T twice<T : IArithmetic>(T x) { return x + x; }
void split(float x, out float whole, out float rest) { whole = floor(x); rest = x - whole; }
"""
CALLS = {
    "luma": 1, "two": 1, "four": 1, "scale": 2, "swap": 1, "widen": 1, "fill": 1, "blend": 2, "add": 2, "halve": 1, "count": 1,
    "det": 1, "turn": 1, "three": 1, "size": 1, "twice": 1, "split": 1,
}  # fmt: skip
OPERATORS = [operator.add, operator.sub, operator.mul]
TESTS = [operator.lt, operator.ge, operator.eq]
MATH: list[tuple[Any, int]] = [
    (fp.abs, 1),
    (fp.floor, 1),
    (fp.minimum, 2),
    (fp.maximum, 2),
    (fp.sign, 1),
    (fp.where, 3),
    (fp.clip, 3),
]
FOLDS = [fp.sum, fp.max, fp.min, fp.mean, fp.any, fp.argmax]
ROUNDS = {"mean"}  # what rounds; no step that could amplify that follows
LARGEST = 4096.0
REASONS = (fp.FusepyError, ValueError, TypeError)  # NumPy refuses with its own


@dataclass
class Step:
    """A function of values of the program, by their places."""

    function: Callable[..., Any]
    places: tuple[int, ...]
    text: str


@dataclass
class Program:
    """Arguments, steps, and the places of the results; `refused` if its last step is."""

    args: list[Any]
    steps: list[Step] = field(default_factory=list)
    results: tuple[int, ...] = ()
    refused: str = ""

    def run(self, *args: Any) -> tuple[Any, ...]:
        values = [*args]
        for step in self.steps:
            values.append(step.function(*(values[p] for p in step.places)))
        return tuple(values[p] for p in self.results)

    def __str__(self) -> str:
        names = [f"v{i} = {shown(a)}" for i, a in enumerate(self.args)]
        for i, step in enumerate(self.steps, len(self.args)):
            names.append(f"v{i} = {step.text}({', '.join(f'v{p}' for p in step.places)})")
        return "\n".join([*names, f"return {self.results}", self.refused])


def shown(value: Any) -> str:
    kind = type(value).__name__
    return f"{kind} {getattr(value, 'dtype', '')} {getattr(value, 'shape', value)}"


def plain(value: Any) -> Any:
    return value.to_numpy() if isinstance(value, fp.Tensor) else np.asarray(value)


class Drawing:
    """Draws one program, and runs it call by call."""

    def __init__(self, m: Any, seed: int, container: str):
        self.m, self.rng, self.container = m, np.random.default_rng(seed), container
        self.program = Program([self.argument() for _ in range(self.rng.integers(1, 4))])
        self.values = [*self.program.args]
        self.rounded = [False] * len(self.values)

    def pick(self, of: Sequence[Any]) -> Any:
        return of[int(self.rng.integers(len(of)))]

    def argument(self) -> Any:
        rank = int(self.rng.integers(0 if self.container == "tensor" else 1, 4))
        shape = [self.pick([1, 2, 3, 5, 6]) for _ in range(rank)]
        if rank and self.rng.random() < 0.8:
            shape[-1] = self.pick([2, 3, 3, 3, 4])
        kind = self.pick(["float"] * 5 + ["float2", "float3", "int", "half"]) if self.container == "tensor" else "float"
        if kind in ("float2", "float3"):
            shape = [*shape[:-1], int(kind[-1])]
        numbers = self.rng.integers(-8, 9, shape) / (1 if kind == "int" else 4)
        array = numbers.astype({"int": np.int32, "half": np.float16}.get(kind, np.float32))
        if self.container == "numpy":
            return array
        return fp.Tensor.from_numpy(self.m.device, array, dtype=kind)

    def step(self) -> Step:
        """A step on values that are there."""
        way = self.rng.random()
        if way < 0.4:
            name = self.pick(list(CALLS))
            function: Callable[..., Any] = lambda *a: getattr(self.m, name)(*a)  # noqa: E731
            if name == "split":
                return Step(lambda x: self.m.split(x)[1], self.places(1), "split[1]")
            return Step(function, self.places(CALLS[name]), name)
        if way < 0.6:
            op, number = self.pick(OPERATORS), float(self.pick([-2, 0.5, 1, 2]))
            if self.rng.random() < 0.4:
                return Step(lambda a: op(a, number), self.places(1), f"{op.__name__} {number}")
            return Step(op, self.places(2), op.__name__)
        if way < 0.65:
            op = self.pick(TESTS)
            return Step(op, self.places(2), op.__name__)
        if way < 0.8:
            function, arity = self.pick(MATH)
            return Step(function, self.places(arity), function.__name__)
        if way < 0.84:
            return Step(operator.matmul, self.places(2), "matmul")
        if way < 0.88:
            return self.index()
        fold, places = self.pick(FOLDS), self.places(1)
        rank = plain(self.values[places[0]]).ndim
        axis = None if not rank or self.rng.random() < 0.2 else int(self.rng.integers(-1, rank))
        kept = bool(self.rng.random() < 0.3)
        return Step(lambda x: fold(x, axis=axis, keepdims=kept), places, f"{fold.__name__}[axis={axis}, keepdims={kept}]")

    def index(self) -> Step:
        """An index of axes, of a single vector, or of the components of a vcast."""
        places = self.places(1)
        shape, type = plain(self.values[places[0]]).shape, str(getattr(self.values[places[0]], "dtype", ""))
        at = int(self.rng.integers(-shape[0], shape[0])) if shape and shape[0] else 0
        items: list[Any] = [at, at, at, slice(at, None), None, ..., [0, at], (..., at), (at, None), (slice(None), at)]
        if "float2" in type or "float3" in type:
            return Step(lambda x: fp.vcast(x, type)[-1], places, f"vcast({type})[-1]")
        item = items[int(self.rng.integers(len(items)))]
        return Step(lambda x: x[item], places, f"[{item}]")

    def places(self, count: int) -> tuple[int, ...]:
        last = len(self.values) - 1
        return tuple(last if self.rng.random() < 0.5 else int(self.rng.integers(last + 1)) for _ in range(count))

    def draw(self) -> Program:
        program = self.program
        for _ in range(40):
            if len(program.steps) >= 5:
                break
            step = self.step()
            given = [self.values[p] for p in step.places]
            if not self.wanted(step, given):
                continue
            try:
                made = step.function(*given)
            except REASONS as error:
                if isinstance(error, fp.FusepyError) and program.steps and self.rng.random() < 0.1:
                    program.steps.append(step)
                    program.refused = f"refused: {type(error).__name__}: {str(error).splitlines()[0]}"
                    program.results = (len(self.values),)
                    return program
                continue
            if not self.kept(made):
                continue
            program.steps.append(step)
            self.values.append(made)
            self.rounded.append(step.text.split("[")[0] in ROUNDS or any(self.rounded[p] for p in step.places))
        first, last = len(program.args), len(self.values) - 1
        more = [int(self.rng.integers(first, last + 1)) for _ in range(int(self.rng.integers(0, 2)))] if last >= first else []
        program.results = (last, *more)
        return program

    def wanted(self, step: Step, given: Sequence[Any]) -> bool:
        """Leaves out what is NumPy's own, and what turns a rounding into another number."""
        amplifies = step.text.split("[")[0] in ("floor", "sign", "count", "split", "argmax", "any", "lt", "ge", "eq", "where")
        if amplifies and any(self.rounded[p] for p in step.places):
            return False
        own = isinstance(step.function, type(operator.add)) or " " in step.text
        if self.container == "numpy" and own:  # NumPy's operators, with NumPy's promotion of types
            return all(isinstance(g, np.ndarray) and g.ndim and g.dtype == np.float32 for g in given)
        return True

    def kept(self, made: Any) -> bool:
        array = plain(made)
        if isinstance(made, np.generic) or not array.size or array.size > 4000:
            return False
        return array.dtype == np.bool_ or (bool(np.isfinite(array).all()) and bool(np.abs(array).max() <= LARGEST))


def differs(found: Any, want: Any, late: bool = False) -> str:
    """How a result differs from the eager one; `late` results are tensors of whatever container."""
    if not late and type(found) is not type(want):
        return f"a {type(found).__name__}, not a {type(want).__name__}"
    if isinstance(want, fp.Tensor) and (str(found.dtype), found.shape) != (str(want.dtype), want.shape):
        return f"{found.dtype}{list(found.shape)}, not {want.dtype}{list(want.shape)}"
    a, b = plain(found), plain(want)
    if a.shape != b.shape or a.dtype.kind != b.dtype.kind or (not isinstance(want, (int, float)) and a.dtype != b.dtype):
        return f"{a.dtype}{list(a.shape)}, not {b.dtype}{list(b.shape)}"
    return "" if np.allclose(a, b, rtol=1e-3 if a.dtype == np.float16 else 1e-5, atol=1e-5) else f"{a}, not {b}"


def modes(program: Program) -> dict[str, Callable[[], Any]]:
    """The ways to run a program that is not call by call."""

    def late() -> Any:
        with fp.lazy():
            return program.run(*program.args)

    def graph() -> Any:
        made = fp.Graph(inputs=[f"v{i}" for i in range(len(program.args))])
        values = [*made.get_inputs()]
        for step in program.steps:
            values.append(fp.fuse(step.function).node()(*(values[p] for p in step.places)))
        made.set_outputs(*(values[p] for p in program.results))
        return made(*program.args)

    found = {"fused": lambda: fp.fuse(program.run)(*program.args), "graph": graph}
    return {**found, "lazy": late} if isinstance(program.args[0], fp.Tensor) else found  # lazy results of arrays are tensors


def finding(program: Program, mode: str, run: Callable[[], Any]) -> str:
    """What a mode does otherwise than the calls one by one; empty if nothing."""
    try:
        found = run()
        found = found if isinstance(found, tuple) else (found,)
    except REASONS as error:
        if program.refused and isinstance(error, fp.FusepyError):
            return ""
        return f"{mode} raises {type(error).__name__}: {error}"
    if program.refused:
        return f"{mode} runs"
    words = [differs(f, w, mode == "lazy") for f, w in zip(found, program.run(*program.args))]
    return next((f"{mode}: {w}" for w in words if w), "")


def campaign(m: Any, seeds: Iterable[int], container: str) -> list[str]:
    """The findings of the programs of some seeds."""
    found: list[str] = []
    for seed in seeds:
        program = Drawing(m, seed, container).draw()
        if not program.steps:
            continue
        words = [w for mode, run in modes(program).items() if (w := finding(program, mode, run))]
        if words:
            found.append(f"seed {seed}, {container}\n{program}\n" + "\n".join(words))
    return found


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "modes", SOURCE)


@pytest.mark.req("V1")
@pytest.mark.parametrize("container", ["tensor", "numpy"])
def test_fusion_changes_when_never_what(m: Any, container: str) -> None:
    assert not (found := campaign(m, range(3), container)), "\n\n".join(found)


@pytest.mark.long
@pytest.mark.random
@pytest.mark.parametrize("container", ["tensor", "numpy"])
def test_fusion_changes_when_never_what_at_length(m: Any, container: str) -> None:
    assert not (found := campaign(m, [*range(3, 12), *range(1000, 2500)], container)), "\n\n".join(found)
