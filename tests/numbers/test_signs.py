"""Signed integers beside unsigned ones: comparisons, choices, quotients and shifts have NumPy's answers, wrapped to C's type."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.ir.types import SCALARS, Type
from tests.ir.ops.test_meanings import run

PAIRS = [("int8_t", "uint16_t"), ("int16_t", "uint8_t"), ("int", "uint"), ("int8_t", "uint64_t"), ("int64_t", "uint64_t")]
DAILY = [("int", "uint"), ("int8_t", "uint64_t")]


def remainder(a: int, b: int) -> int:
    return (abs(a) % abs(b)) * (-1 if a < 0 else 1)


# what operations mean for Python's integers; of a division by 0 the answer is 0
TWO: dict[str, Callable[[int, int], Any]] = {
    "less": operator.lt, "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge, "equal": operator.eq,
    "not_equal": operator.ne, "maximum": max, "minimum": min, "floor_divide": lambda a, b: a // b if b else 0,
    "mod": lambda a, b: a % b if b else 0, "fmod": lambda a, b: remainder(a, b) if b else 0,
    "right_shift": lambda a, b: a >> (b if b >= 0 else 64),
}  # fmt: skip
OPS = {
    "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge", "equal": "eq", "not_equal": "ne",
    "floor_divide": "floordiv", "right_shift": "shr",
}  # fmt: skip


def edges(name: str) -> Any:
    info = np.iinfo(SCALARS[name])
    signed = [-1, -2, -5, info.min, info.min + 1] if info.min else [info.max // 2 + 1, info.max - 4]
    return np.array([0, 1, 2, 5, 7, info.bits - 1, info.max - 1, info.max, *signed], info.dtype)


def wrapped(f: Callable[..., Any], *operands: Any, like: Any) -> Any:
    """What `f` gives for Python's integers, in the type of a result."""
    exact = np.frompyfunc(f, len(operands), 1)(*(x.astype(object) for x in operands))
    if like.dtype == bool:
        return exact.astype(bool)
    info = np.iinfo(like.dtype)
    return ((exact - info.min) % (1 << info.bits) + info.min).astype(like.dtype)


def between(x: int, low: int, high: int) -> int:
    return min(max(x, low), high)


@pytest.mark.req("C5")
@pytest.mark.parametrize(
    ("pair", "shapes"),
    [
        *(pytest.param(pair, ((), ()), marks=[pytest.mark.rest] * (pair not in DAILY)) for pair in PAIRS),
        (("int8_t", "uint64_t"), ((3,), ())),
        pytest.param(("int", "uint"), ((), (2, 2)), marks=pytest.mark.rest),
    ],
    ids=str,
)
def test_operations_on_both_signs(pair: tuple[str, str], shapes: Any) -> None:
    """C takes -5 beside an unsigned 1 as 4294967291; where the type of the result holds what NumPy says, it is that."""
    types = [Type.parse(n) for n in pair]
    elements = [Type.matrix(t, *s) if len(s) == 2 else Type.vector(t, *s) if s else t for t, s in zip(types, shapes)]
    a, b = (x.ravel() for x in np.meshgrid(*map(edges, pair)))
    count = a.size // (4 if any(shapes) else 1)
    a, b = (np.resize(x, (count, *s)) for x, s in zip((a, b), shapes))

    @fp.fuse
    def program(a: Any, b: Any) -> Any:
        a, b = fp.vcast(a, elements[0]), fp.vcast(b, elements[1])
        found = [f(x, y) for f in [getattr(fp, name) for name in TWO] for x, y in ((a, b), (b, a))]
        return (*found, fp.clip(a, b, a), fp.clip(a, a, b), fp.clip(b, a, b))

    depth = max(a.ndim, b.ndim)
    x, y = np.broadcast_arrays(*(v.reshape(v.shape + (1,) * (depth - v.ndim)) for v in (a, b)))
    *found, first, second, third = program(a, b)
    for i, result in enumerate(found):
        name, ends = list(TWO)[i // 2], (x, y) if i % 2 == 0 else (y, x)
        np.testing.assert_array_equal(result, wrapped(TWO[name], *ends, like=result), f"{name} {i % 2}")
    for result, ends in ((first, (x, y, x)), (second, (x, x, y)), (third, (y, x, y))):
        np.testing.assert_array_equal(result, wrapped(between, *ends, like=result))


@pytest.mark.req("C5")
@pytest.mark.parametrize("name", TWO)
def test_the_reference_evaluator(name: str) -> None:
    for pair in PAIRS:
        for one, other in (pair, pair[::-1]):
            a, b = (x.ravel() for x in np.meshgrid(edges(one), edges(other)))
            found, _ = run(OPS.get(name, name), (one, a), (other, b))
            np.testing.assert_array_equal(found, wrapped(TWO[name], a, b, like=found), f"{name} {one} {other}")
    a, b = (x.ravel() for x in np.meshgrid(edges("int64_t"), edges("uint64_t")))
    found, _ = run("clip", ("int64_t", a), ("uint64_t", b), ("int64_t", a))
    np.testing.assert_array_equal(found, wrapped(between, a, b, a, like=found))


SIGNED, UNSIGNED = np.array([-5, -1, 3, 7], np.int32), np.array([1, 4294967295, 3, 2], np.uint32)


@pytest.mark.req("C5", "G1", "G4")
def test_modes_and_words() -> None:
    """Call by call, fused, lazy and in a graph; in bodies, conditions and words that compare; numbers of 64 bits."""

    def words(i: Any, u: Any) -> Any:
        return (
            fp.where(fp.less(i, u), i, -i),
            fp.searchsorted(fp.asarray([0, 3, 5], dtype=np.uint32), i),
            fp.maximum(i, u) % 4,
            fp.any(fp.equal(i, u)),
            fp.average(u[2:], weights=i[2:] - 6),
        )

    wanted = [[-5, -1, -3, -7], [0, 0, 1, 3], [1, 3, 3, 3], True, 3.5]
    with fp.lazy():
        lazily = words(SIGNED, UNSIGNED)
    graph = fp.Graph(inputs=["i", "u"])
    graph.set_outputs(*words(*graph.get_inputs()))
    for found in (words(SIGNED, UNSIGNED), fp.fuse(words)(SIGNED, UNSIGNED), graph(SIGNED, UNSIGNED), lazily):
        assert [np.asarray(x).tolist() for x in found] == wanted

    steps = fp.fuse(lambda x: fp.fori_loop(-3, 3, lambda k, c: c + fp.where(x > k, 1, 0) + fp.maximum(k, 0), x))
    assert steps(np.array([0, 2], np.uint32)).tolist() == [6, 10]
    branch = fp.fuse(lambda i, u: fp.cond(i < u, lambda: 1, lambda: 0))
    assert branch(SIGNED, UNSIGNED).tolist() == [1, 1, 0, 0]
    assert -1 not in fp.Tensor.from_numpy(UNSIGNED)
    for number in (-1, -(2**63), 2**63 + 5, 2**64 - 1):  # beside arrays of 64 bits of the other sign
        for array in (np.array([0, 2**63 + 5, 2**64 - 1], np.uint64), np.array([-1, 2**63 - 1], np.int64)):
            want = [[x < number for x in array.tolist()], [number == x for x in array.tolist()]]
            assert [x.tolist() for x in fp.fuse(lambda a, n: (a < n, n == a))(array, number)] == want, (number, array)
            if number == -1:
                assert [fp.less(array, -1).tolist(), fp.equal(-1, array).tolist()] == want
