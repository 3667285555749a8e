"""Random programs of several kernels: reductions, scans and whole reads over a DAG of calls, held to NumPy.

All numbers are small integers, so that nothing is rounded and every result has to be NumPy's to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from tests.support.examples import examples
from tests.support.slang_functions import F32, fused

SOURCE = """
import fusepy;
float twice(float x) { return 2 * x; }
float less(float a, float b) { return a - b; }
void parts(float x, out float low, out float high) { low = min(x, 0); high = max(x, 0); }
float total1(float x, Tensor<float, 1> t) { for (int i = 0; i < int(t.shape[0]); ++i) x += t[i]; return x; }
float total2(float x, Tensor<float, 2> t)
{
    for (int i = 0; i < int(t.shape[0]); ++i)
        for (int j = 0; j < int(t.shape[1]); ++j)
            x += t[i, j];
    return x;
}
float next(int2 p, Tensor<float, 2> t) { return t[min(p.y + 1, int(t.shape[0]) - 1), p.x]; }
"""
SHAPES = [(3, 4), (3, 4), (4,), (3, 1), (1, 4), (3,), (), (5, 2)]  # results of the last one share a grid with no other
LIMIT = 1 << 16
FOLDS = ("sum", "max", "min")


class Step(NamedTuple):
    """What is done to which of the values so far, and with which axis: ``None`` is all of them."""

    what: str
    operands: tuple[int, ...]
    axis: int | None = None
    keepdims: bool = False


class Program(NamedTuple):
    inputs: list[Any]
    kinds: list[str]
    steps: list[Step]
    results: list[int]


Meaning = Callable[..., Any]


def in_numpy(step: Step, *v: Any) -> Any:
    """What a step gives; a tuple for a call with several results."""
    what = step.what
    if what in FOLDS:
        return getattr(np, what)(v[0], axis=step.axis, keepdims=step.keepdims)
    if what == "argmax":
        return v[1] + np.argmax(v[0], axis=step.axis, keepdims=step.keepdims).astype(F32)
    known: dict[str, Meaning] = {
        "twice": lambda x: 2 * x,
        "cast": lambda x: x,
        "less": lambda a, b: a - b,
        "add": lambda a, b: a + b,
        "where": lambda a, b: np.where(a > b, a, F32(1)),
        "parts": lambda x: (np.minimum(x, 0), np.maximum(x, 0)),
        "scan": lambda x: np.cumsum(x, axis=step.axis, dtype=F32),
        "whole": lambda x, t: x + t.sum(),
        "next": lambda t: t[np.minimum(np.arange(t.shape[0]) + 1, t.shape[0] - 1)],
    }
    return known[what](*v)


def in_fusepy(m: Any, step: Step, *v: Any) -> Any:
    """The same in a trace."""
    what = step.what
    if what in FOLDS:
        return getattr(fp, what)(v[0], axis=step.axis, keepdims=step.keepdims)
    if what == "argmax":
        return v[1] + fp.argmax(v[0], axis=step.axis, keepdims=step.keepdims)
    known: dict[str, Meaning] = {
        "twice": m.twice,
        "cast": lambda x: fp.vcast(fp.vcast(x, "double"), "float"),
        "less": m.less,
        "add": lambda a, b: a + b,
        "where": lambda a, b: fp.where(a > b, a, 1.0),
        "parts": m.parts,
        "scan": lambda x: fp.scan("sum", x, axis=step.axis),
        "whole": lambda x, t: (m.total1 if t.rank == 1 else m.total2)(x, t),
        "next": lambda t: m.next(fp.grid(t), t),
    }
    return known[what](*v)


WAYS = ["twice", "cast", "less", "add", "where", "parts", "scan", "argmax", *FOLDS, *FOLDS, "whole", "whole", "next"]


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Steps that NumPy refuses, or whose numbers grow large, are left away as they are drawn."""
    shapes = draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=3))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    values = [random.integers(-3, 4, shape).astype(F32) for shape in shapes]
    inputs, steps = list(values), list[Step]()
    for _ in range(draw(st.integers(1, 9))):
        step = draw(steps_on(values))
        if step is None:
            continue
        try:
            found = in_numpy(step, *(values[i] for i in step.operands))
        except ValueError:
            continue
        made = [np.asarray(f, F32) for f in (found if isinstance(found, tuple) else (found,))]
        if all(np.abs(f).max(initial=0) < LIMIT for f in made):
            values += made
            steps.append(step)
    kinds = [draw(st.sampled_from(["array", "tensor"])) if v.ndim else "number" for v in inputs]
    results = draw(st.lists(st.integers(0, len(values) - 1), min_size=1, max_size=3))
    return Program(inputs, kinds, steps, [*results, len(values) - 1])


@st.composite
def steps_on(draw: st.DrawFn, values: Sequence[Any]) -> Step | None:
    """A step on these values; ``None`` where they have too few axes for it."""
    what = draw(st.sampled_from(WAYS))
    later = st.integers(0, len(values) - 1).map(lambda i: len(values) - 1 - i)  # what was made last is likely
    operands = tuple(draw(later) for _ in range(2 if what in ("less", "add", "where", "argmax", "whole") else 1))
    rank = values[operands[0]].ndim
    if what in ("argmax", "scan", *FOLDS):
        if not rank:
            return None
        one = draw(st.integers(0, rank - 1))
        axis = one if what == "scan" or (what == "argmax" and rank > 1) or draw(st.booleans()) else None
        return Step(what, operands, axis, what != "scan" and draw(st.booleans()))
    if what == "whole" and values[operands[1]].ndim not in (1, 2):
        return None
    return None if what == "next" and rank != 2 else Step(what, operands)


def evaluate(program: Program, inputs: Sequence[Any], run: Meaning) -> list[Any]:
    values = list(inputs)
    for step in program.steps:
        found = run(step, *(values[i] for i in step.operands))
        values += found if isinstance(found, tuple) else (found,)
    return [values[i] for i in program.results]


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "programs_random", SOURCE)


@examples(16)
@given(program=programs())
def test_random_programs_of_several_kernels(m: Any, program: Program) -> None:
    function = fused(len(program.inputs), lambda *inputs: evaluate(program, inputs, lambda step, *v: in_fusepy(m, step, *v)))
    for factor in (1, -1):  # the first call, and one that replays it
        arrays = [factor * x for x in program.inputs]
        given_as = {"array": lambda a: a, "tensor": lambda a: fp.Tensor.from_numpy(m.device, a), "number": float}
        found = function(*(given_as[kind](a) for kind, a in zip(program.kinds, arrays)))
        for result, wanted in zip(found, evaluate(program, arrays, in_numpy), strict=True):
            result = np.asarray(result)
            assert result.shape == np.shape(wanted), program
            np.testing.assert_array_equal(result, wanted, err_msg=str(program))
