"""Random sequences of writes and reads in one fused function: they mean what NumPy does in the order in which they are written.

All numbers are small integers, so that nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from tests.support.examples import QUICK, examples
from tests.support.slang_functions import F32, fused

SOURCE = """
import fusepy;
float twice(float x) { return 2 * x; }
float less(float a, float b) { return a - b; }
float step(inout float v, float by) { float old = v; v += by; return old; }
void parts(float x, out float low, out float high) { low = min(x, 0); high = max(x, 0); }
void put(int2 p, float v, RWTensor<float,2> t) { t[p] = v; }
float bump(int2 p, RWTensor<float,2> t) { float old = t[p]; t[p] = old + 1; return old; }
float poke(int at, float* t) { float old = t[at]; t[at] = old + 1; return old; }
float stir(int at, RWStructuredBuffer<float> t) { float old = t[at]; t[at] = old + 1; return old; }
void scatter(int2 p, int at, float v, RWTensor<float,2> t) { t[at / 4, at % 4] = v; }
void count(int at, AtomicTensor<float,2> t) { t.add(int2(at % 4, at / 4), 1); }
float get(int2 p, Tensor<float,2> t) { return t[2 - p.y, p.x]; }
float total(float x, Tensor<float,2> t)
{
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 4; ++j)
            x += t[i, j];
    return x;
}
float first(Tensor<float,2> t) { return t[0, 0]; }
"""
SHAPE = (3, 4)
LIMIT = 1 << 18
ORDER = np.random.default_rng(3).permutation(12).reshape(SHAPE).astype(np.int32)  # where `scatter` writes
PLACES = np.arange(12, dtype=np.int32).reshape(SHAPE)
BINS = (ORDER * 7 % 5).astype(np.int32)  # where `count` adds


class Step(NamedTuple):
    """What is done; `array` is written or read as it is then, `value` and `other` count back from what was computed last."""

    what: str
    array: int
    value: int
    other: int


class Program(NamedTuple):
    """Steps on arrays, of which `kinds` says how they are passed; ``"shared"`` is another name for the first one's memory."""

    kinds: list[str]
    steps: list[Step]
    results: list[int]


Call = Callable[[Step, Any, Any, Any], Any]
POINTED = ("poke", "stir")  # of tensors that have one name: NumPy arrays are copied for them
WRITES = ("put", "put", "bump", "scatter", "count", *POINTED)
READS = ("read", "get", "sum", "total", "first", "keep")
PURE = ("twice", "less", "step", "parts", "around", "turned", "wide")


def in_numpy(step: Step, array: Any, value: Any, other: Any) -> Any:
    """Runs a step: writes into `array`, and returns what it computes."""
    if step.what in WRITES:
        old = array.copy()
        if step.what == "put":
            array[...] = value
        elif step.what in ("bump", *POINTED):
            array[...] += 1
            return old
        elif step.what == "scatter":
            array.ravel()[ORDER] = np.broadcast_to(value, SHAPE)
        else:
            np.add.at(array.ravel(), BINS, F32(1))
        return ()
    known: dict[str, Callable[[], Any]] = {
        "read": lambda: array + value,
        "get": lambda: array[::-1].copy(),
        "sum": lambda: array.sum(),
        "total": lambda: value + array.sum(),
        "first": lambda: array[0, 0].copy(),
        "keep": lambda: array.max(axis=1, keepdims=True),
        "twice": lambda: 2 * value,
        "less": lambda: value - other,
        "step": lambda: (value * 1, value + other),
        "parts": lambda: (np.minimum(value, 0), np.maximum(value, 0)),
        "around": lambda: value + np.sum(value),
        "turned": lambda: value[::-1] if np.ndim(value) else value,
        "wide": lambda: np.sum(value + np.ones((2, *SHAPE)), axis=0),
    }
    return known[step.what]()


def in_fusepy(m: Any, step: Step, array: Any, value: Any, other: Any) -> Any:
    grid = fp.grid(SHAPE)
    known: dict[str, Callable[[], Any]] = {
        "put": lambda: m.put(grid, value, array) or (),
        "bump": lambda: m.bump(grid, array),
        "poke": lambda: m.poke(PLACES, array),
        "stir": lambda: m.stir(PLACES, array),
        "scatter": lambda: m.scatter(grid, ORDER, value, array) or (),
        "count": lambda: m.count(BINS, array) or (),
        "read": lambda: array + value,
        "get": lambda: m.get(grid, array),
        "sum": lambda: fp.sum(array),
        "total": lambda: m.total(value, array),
        "first": lambda: m.first(array),
        "keep": lambda: fp.max(array, axis=1, keepdims=True),
        "twice": lambda: m.twice(value),
        "less": lambda: m.less(value, other),
        "step": lambda: m.step(value, other),
        "parts": lambda: m.parts(value),
        "around": lambda: value + fp.sum(value),
        "turned": lambda: value[::-1] if getattr(value, "shape", ()) else value,
        "wide": lambda: fp.sum(value + np.ones((2, *SHAPE), F32), axis=0),
    }
    return known[step.what]()


def evaluate(program: Program, arrays: Sequence[Any], run: Call) -> list[Any]:
    """What the steps give, and at the end the arrays that are returned."""
    values: list[Any] = [2.0, 3.0]
    for step in program.steps:
        found = run(step, arrays[step.array], values[-1 - step.value % len(values)], values[-1 - step.other % len(values)])
        values += found if isinstance(found, tuple) else (found,)
    known = [*arrays, *values]
    return [known[-1 - i % len(known)] for i in program.results]


def contents(program: Program) -> list[Any]:
    """New arrays; those that share memory are one."""
    arrays = [np.random.default_rng(i).integers(-3, 4, SHAPE).astype(F32) for i, _ in enumerate(program.kinds)]
    return [arrays[0] if kind == "shared" else a for kind, a in zip(program.kinds, arrays)]


@st.composite
def programs(draw: st.DrawFn) -> Program:
    kinds = [
        draw(st.sampled_from(["tensor", "array"])),
        *draw(st.lists(st.sampled_from(["tensor", "array", "shared"]), max_size=2)),
    ]
    if "shared" in kinds:
        kinds[0] = "tensor"
    number = st.integers(0, 4)
    array = st.sampled_from([0, 0, *range(len(kinds))])
    read, write, pure = (st.builds(Step, st.sampled_from(ways), array, number, number) for ways in (READS, WRITES, PURE))
    some = st.lists(read | pure | write, max_size=3)
    steps = [*draw(some), draw(read), *draw(some), draw(write), *draw(some), draw(read), *draw(some)]
    plain = "shared" not in kinds
    steps = [
        step if step.what not in POINTED or (plain and kinds[step.array] == "tensor") else step._replace(what="bump")
        for step in steps
    ]
    return Program(kinds, steps, [0, 1, *draw(st.lists(st.integers(0, 20), max_size=2))])


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "writes_random", SOURCE)


@examples(72 if QUICK else 160)
@given(program=programs())
def test_writes_and_reads_are_in_order(m: Any, program: Program) -> None:
    arrays = contents(program)
    wanted = evaluate(program, arrays, in_numpy)
    function = fused(len(arrays), lambda *given: evaluate(program, given, lambda *step: in_fusepy(m, *step)))
    for _ in range(2):  # the first call, and one that replays it
        given_arrays: list[Any] = contents(program)
        for i, kind in enumerate(program.kinds):
            if kind != "array":
                given_arrays[i] = given_arrays[0][:] if kind == "shared" else fp.Tensor.from_numpy(m.device, given_arrays[i])
        try:
            found = function(*given_arrays)
        except fp.ShapeError as error:  # one kernel would read what it writes under another name
            if "shared" not in program.kinds or "overlaps" not in error.what:
                raise
            return
        pairs = [*zip(found, wanted, strict=True), *zip(given_arrays, arrays)]
        for result, want in pairs:
            result = result.to_numpy() if isinstance(result, fp.Tensor) else np.asarray(result)
            np.testing.assert_array_equal(result, np.broadcast_to(want, result.shape), err_msg=str(program))
