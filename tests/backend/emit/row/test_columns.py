"""Kernels that go along columns: texts on each kind of device, and every shape on one, held to separate kernels and to NumPy.

``FUSEPY_UPDATE_GOLDEN=1`` writes what is emitted; read the difference before you commit it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.device.target import Target
from fusepy.backend.emit.row import tuning
from fusepy.backend.emit.row.kernel import emit_rows
from fusepy.backend.emit.row.variant import RowShape, RowVariant
from fusepy.backend.emit.text import Emission
from fusepy.backend.execute.rows import plan as row_plan
from fusepy.backend.marshals.registry import ACCESSES
from fusepy.ir.parse import parse_graph
from tests.backend.emit.row.test_kernel import Shape, Ways, alike, numbers
from tests.support.selection import daily
from tests.support.slang_functions import ramp

GOLDEN = Path(__file__).parent / "golden"
SOFTMAX = """graph @softmax(%x: Tensor<float>[?,?,?]) -> (Tensor<float>[?,?,?], Tensor<float>[?,?]) {
  %0, %1 = region(%x vmap(d0,d1,d2)) rows(d1) : Tensor<float>[?,?,?] vmap(d0,d1,d2), Tensor<float>[?,?] vmap(d0,d2)
  body @softmax(%x: float) -> (float, float) {
    %0 = row_fold(%x vmap()) {kind = "max"} : float
    %1 = sub(%x vmap(), %0 vmap()) : float
    %2 = exp(%1 vmap()) : float
    %3 = row_fold(%2 vmap()) {kind = "sum"} : float
    %4 = div(%2 vmap(), %3 vmap()) : float
    return %4, %3
  }
  return %0, %1
}"""
HELD_ROW = RowShape(128, 32, 16, sure=31, lanes=32)
TEXTS: list[tuple[str, str, RowShape, bool]] = [
    ("row_of_neighbours", "cuda", HELD_ROW, False),
    ("row_of_lanes", "software", RowShape(8, 0, 8, "wave", exact=True, turns=True), False),
    ("column_of_a_lane", "software", RowShape(8, 0, 4, "thread", exact=True, columns=True, turns=True), False),
    ("column_held_by_a_lane", "software", RowShape(8, 32, 16, "thread", columns=True, turns=True), False),
    ("column_of_a_thread", "vulkan", RowShape(128, 16, 16, "thread", exact=True, columns=True), False),
    ("column_shared", "vulkan", RowShape(256, 32, 16, columns=True), False),
    ("column_shared_64", "cuda", RowShape(512, 64, 16, exact=True, columns=True), True),
]


@pytest.mark.parametrize(("name", "kind", "shape", "wide"), TEXTS, ids=[t[0] for t in TEXTS])
def test_texts(name: str, kind: str, shape: RowShape, wide: bool) -> None:
    (region,) = parse_graph(SOFTMAX).nodes
    near = 2 if shape.lanes else None
    if near:
        (region,) = parse_graph(SOFTMAX.replace("rows(d1)", "rows(d2)").replace("vmap(d0,d2)", "vmap(d0,d1)")).nodes
    text = emit_rows(region, RowVariant(False, 3, wide, near=near, shape=shape), Emission(Target(kind, 8), ACCESSES, {})).text
    path = GOLDEN / f"{name}.slang"
    if os.environ.get("FUSEPY_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def test_a_lane_counts_its_elements_by_its_own_place() -> None:
    """From a count that all lanes share, lavapipe took minutes for a fold of constants and loops that start from it.

    Lanes beyond the last row have the count of a row too: of no elements, an argmax is 2^31 - 1, and loops went as far.
    """
    (region,) = parse_graph(SOFTMAX).nodes
    for kind, own in [("software", True), ("vulkan", False)]:
        variant = RowVariant(False, 3, False, shape=RowShape(8, 32, 16, "thread", columns=True))
        (line,) = [
            x for x in emit_rows(region, variant, Emission(Target(kind, 8), ACCESSES, {})).text.splitlines() if "fz_count =" in x
        ]
        assert (line.endswith("+ fz_lane * fz_p_zero;"), "fz_own" in line) == (own, False)


@pytest.mark.parametrize(("function", "calls"), [("exp", 2), ("sin", 1)])
def test_what_compiles_for_a_second_stands_in_a_stage_once(function: str, calls: int) -> None:
    """The body of a sine of doubles stood in each stage many times: lavapipe took 7 s."""
    (region,) = parse_graph(SOFTMAX.replace("float", "double").replace("exp", function)).nodes
    for columns, reach in [(True, "thread"), (False, "thread"), (False, "wave")]:
        variant = RowVariant(False, 3, False, shape=RowShape(8, 0, 1, reach, exact=True, columns=columns))
        text = emit_rows(region, variant, Emission(Target("software", 8), ACCESSES, {})).text
        assert [text.count(f" fz_stage{k}_of_softmax(") - 1 for k in (1, 2)] == [calls, calls]


def of_gpu(kind: str, lanes: int, work: tuning.RowWork) -> tuple[RowShape, int]:
    return tuning.row_shape("gpu", lanes, work)


def of_many(kind: str, lanes: int, work: tuning.RowWork) -> tuple[RowShape, int]:
    """The shape that many such columns have on a GPU."""
    return tuning.row_shape("gpu", lanes, replace(work, rows=1 << 20))


def read_again(kind: str, lanes: int, work: tuning.RowWork) -> tuple[RowShape, int]:
    return RowShape(64, 0, 2, columns=True), 4


SHAPES: dict[str, Shape] = {"chosen": tuning.row_shape, "few": of_gpu, "many": of_many, "read again": read_again}


@pytest.fixture
def ways(device: Any, monkeypatch: pytest.MonkeyPatch) -> Ways:
    return Ways(monkeypatch)


def softmax(axis: Any) -> Callable[[Any], Any]:
    def of(x: Any) -> Any:
        e = fp.exp(x - fp.max(x, axis, True))
        return e / fp.sum(e, axis, True)

    return of


def exact(x: Any, axis: Any) -> Any:
    e = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    return (e / e.sum(axis, keepdims=True)).astype(x.dtype)


@pytest.mark.parametrize("length", daily([1, 2, 33, 64, 65, 1000], 1, 65))
@pytest.mark.req("V9")
def test_columns_of_any_length(ways: Ways, length: int) -> None:
    x = numbers(length, 5)
    for shape in (SHAPES["chosen"], SHAPES["few"]):
        alike(ways.joined(softmax(0), shape, x), [exact(x, 0)], 1e-6)


def test_columns_that_more_threads_share_than_a_wave_has(device: Any, ways: Ways) -> None:
    x = numbers(600, 40)
    (first,) = found = ways.joined(softmax(0), SHAPES["many"], x)
    alike(found, [exact(x, 0)], 1e-6)
    t = fp.Tensor.from_numpy(device, x)
    fp.fuse(softmax(0))(t, _result=t)
    np.testing.assert_array_equal(t.to_numpy(), first)


@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((3, 20, 7), 1),
        ((2, 3, 4, 5), (1, 2)),
        ((1, 9, 1, 2), 1),
        *daily([((4, 5, 6), (0, 1)), ((9, 1, 4), 1), ((40, 1), 0)]),
    ],
)
def test_columns_of_any_axes(ways: Ways, shape: tuple[int, ...], axis: Any) -> None:
    x = numbers(*shape)
    for form in (SHAPES["few"], *([SHAPES["read again"]] if axis in (1, (0, 1)) and 1 not in shape else ())):
        alike(ways.joined(softmax(axis), form, x), [exact(x, axis)], 1e-6)


def several(x: Any) -> Any:
    high, low = fp.max(x, 0, True), fp.min(x, 0, True)
    return (x - high) / (high - low + 1), fp.sum((x - high) * (x - low), 0), high, fp.argmax(x, 0), fp.any(x > high - 1, 0)


def follows(x: Any, w: Any) -> Any:
    """A result of the columns alone, with an operand across them."""
    high = fp.max(x, 1, True)
    return x / high, fp.sum(x / high, 1) * fp.max(x, 1) * w


def standardised(x: Any, gain: Any, shift: Any) -> Any:
    d = x - fp.mean(x, 0)
    return d / fp.sqrt(fp.mean(d * d, 0) + 1e-5) * gain + shift


PROGRAMS: dict[str, tuple[Any, tuple[Any, ...], float]] = {
    "several": (several, (numbers(21, 12),), 1e-6),
    "integers": (several, (numbers(21, 12, kind=np.int32),), 1e-6),
    "bytes": (several, (numbers(21, 12, kind=np.int8),), 1e-6),
    "half": (softmax(0), (numbers(33, 7, kind=np.float16),), 2e-3),
    "double": (softmax(0), (numbers(33, 7, kind=np.float64),), 1e-6),
    "strides": (softmax(0), (numbers(66, 14)[::2, ::2],), 1e-6),
    "turned": (softmax(0), (numbers(7, 33).T,), 1e-6),
    "standardised": (standardised, (numbers(300, 9), numbers(9), numbers(300, 1)), 1e-5),
    "follows": (follows, (abs(numbers(4, 10, 6)), numbers(6)), 1e-5),
    "no numbers": (softmax(0), (np.where(numbers(40, 9) > 1.5, np.nan, numbers(40, 9)),), 1e-6),
    "places": (lambda x: x - fp.sum(x * fp.grid(x)[..., 0], 0, True), (numbers(5, 8),), 1e-5),
    "gradient": (fp.grad(lambda x: fp.sum(softmax(0)(x) * x)), (numbers(40, 9),), 1e-5),
    "rows and columns": (lambda x: x - fp.mean(x, 0, True) - fp.mean(x, 1, True), (numbers(6, 20),), 1e-5),
}


@pytest.mark.parametrize("name", daily(PROGRAMS, "follows", "no numbers"))
def test_one_kernel_means_what_several_mean(ways: Ways, name: str) -> None:
    program, args, tolerance = PROGRAMS[name]
    expected = ways.apart(program, *args)
    one = name not in ("places", "gradient", "rows and columns")
    for shape in [SHAPES["chosen"], SHAPES["few"]] if name in ("several", "gradient") else [SHAPES["few"]]:
        alike(ways.joined(program, shape, *args, one=one), expected, tolerance)


@pytest.mark.rest
def test_the_same_bits_every_time_and_in_place(device: Any, ways: Ways) -> None:
    x = numbers(50, 40)
    for shape in (SHAPES["chosen"], SHAPES["few"], SHAPES["read again"]):
        (first,) = ways.joined(softmax(0), shape, x)
        t = fp.Tensor.from_numpy(device, x)
        fp.fuse(softmax(0))(t, _result=t)
        np.testing.assert_array_equal(t.to_numpy(), first)


def test_other_lengths_use_the_same_kernel(ways: Ways) -> None:
    ways.set(row_plan, "cost", lambda *_: (0.0, 1.0))
    ways.set(row_plan, "row_shape", SHAPES["few"])
    made = fp.fuse(softmax(0))
    kinds = {made.explain(ramp(length, 6)).variants[0].partition(", since")[0] for length in (70, 90, 100)}
    assert kinds == {"strided2, columns by groups of 128, 16 elements a thread in registers"}
