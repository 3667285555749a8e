"""Random nests of loops and branches: kernels against the NumPy meaning of the same graph, point by point."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from fusepy.ir.interpret import interpret
from fusepy.ir.parse import parse_graph
from tests.support.examples import examples
from tests.support.slang_functions import F32

COUNT = 3  # values that every body has and gives back

# each is exact on the numbers that occur, so that no test can fall to the other side
STEPS: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "half": lambda a, b: fp.clip(a, -64, 64) * 0.5,
    "min": lambda a, b: fp.minimum(a, b),
    "max": lambda a, b: fp.maximum(a, b),
    "floor": lambda a, b: fp.floor(a) + b,
    "where": lambda a, b: fp.where(a < b, a, b * -1),
}

Step = tuple[Any, ...]


def steps(depth: int) -> st.SearchStrategy[list[Step]]:
    place = st.integers(0, COUNT - 1)
    plain = st.tuples(st.sampled_from(sorted(STEPS)), place, place, place)
    if not depth:
        return st.lists(plain, min_size=1, max_size=3)
    inner = steps(depth - 1)
    nested = (
        st.tuples(st.just("fori"), st.integers(0, 3), place, inner)
        | st.tuples(st.just("while"), place, place, inner)
        | st.tuples(st.just("cond"), place, place, inner, inner)
    )
    return st.lists(plain | nested, min_size=1, max_size=4)


def run(program: list[Step], values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The program on traced values, of which each step changes some."""
    for step in program:
        values = take(step, values)
    return values


def take(step: Step, c: tuple[Any, ...]) -> tuple[Any, ...]:
    kind, *rest = step
    if kind == "fori":
        count, place, inner = rest
        return fp.fori_loop(0, count, lambda i, c: run(inner, _with(c, place, c[place] + i)), c)
    if kind == "while":
        a, b, inner = rest
        return fp.while_loop(lambda c: c[a] < c[b], lambda c: run(inner, _with(c, a, c[a] + 1)), c, max_steps=3)
    if kind == "cond":
        a, b, yes, no = rest
        return fp.cond(c[a] < c[b], lambda: run(yes, c), lambda: run(no, c))
    to, a, b = rest
    return _with(c, to, STEPS[kind](c[a], c[b]))


def _with(values: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    return tuple(value if i == place else v for i, v in enumerate(values))


@pytest.mark.parametrize("shapes", [((7,), (7,), (7,)), ((2, 3), (3,), (2, 1))], ids=str)
@examples(25)
@given(program=steps(2), seed=st.integers(0, 99))
def test_kernels_do_what_the_graph_means(shapes: Any, program: list[Step], seed: int) -> None:
    random = np.random.default_rng(seed)
    arrays = [(random.integers(-12, 13, shape) / 4).astype(F32) for shape in shapes]
    f = fp.fuse(lambda a, b, c: run(program, (a, b, c)))
    expected = interpret(parse_graph(f.ir(*arrays, after="dce")), arrays)
    for found, wanted in zip(f(*arrays), expected, strict=True):
        np.testing.assert_array_equal(found, wanted, err_msg=str(program))
