# ruff: noqa: E501  # the textual IR has one line per region
"""Kernels of regions that fold: golden texts, and regions written by hand that run as the interpreter says.

``FUSEPY_UPDATE_GOLDEN=1`` writes what is emitted; read the difference before you commit it.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.device.target import Target
from fusepy.backend.emit.fold.accumulators import Accumulator
from fusepy.backend.emit.fold.kernel import emit_fold
from fusepy.backend.emit.fold.structs import accumulator_text
from fusepy.backend.emit.fold.tile import GroupTile
from fusepy.backend.emit.fold.variant import FoldShape, FoldVariant
from fusepy.backend.emit.text import Emission
from fusepy.backend.emit.variant import Variant
from fusepy.backend.execute.executable import Executable
from fusepy.backend.execute.folds.plan import ReducePlan
from fusepy.backend.execute.layouts import Layout
from fusepy.backend.execute.numbers import ShownNumbers
from fusepy.backend.execute.plan import PlanContext
from fusepy.backend.execute.rows.choice import make_plan
from fusepy.backend.execute.step import Step
from fusepy.backend.kernels.build import build_kernel
from fusepy.backend.marshals.registry import ACCESSES
from fusepy.backend.memory.element import Element
from fusepy.backend.sources.libraries import FOLDER
from fusepy.ir.graph import Node
from fusepy.ir.interpret import interpret
from fusepy.ir.ops import OPS
from fusepy.ir.ops.folds import FOLDS, SCANS, Fold
from fusepy.ir.ops.math import Spelled
from fusepy.ir.parse import parse_graph
from fusepy.ir.types import Type
from fusepy.ir.verify import verify
from fusepy.passes.split import split_region
from tests.support.reference import ORACLE

GOLDEN = Path(__file__).parent / "golden"

ROWS = """import @m = "0123"
graph @rows(%x: Tensor<float>[?,?], %k: Tensor<float>[?]) -> (Tensor<float>[?,?], Tensor<float>[?], Tensor<int>[?]) {
  %0, %1, %2 = region(%x vmap(d0,d1), %k vmap(d0)) fold(sum, argmax) over(d1) : Tensor<float>[?,?] vmap(d0,d1), Tensor<float>[?] vmap(d0), Tensor<int>[?] vmap(d0)
  body @rows(%x: float) -> (float, float, float) {
    %0 = slang.call @m.norm(%x) : float  // look.py:3
    return %0, %0, %x
  }
  body @rows(%s: float, %at: int, %k: float) -> (float, int) {
    %0 = mul(%s, %k) : float  // look.py:4
    return %0, %at
  }
  return %0, %1, %2
}"""
COLUMNS = """graph @columns(%x: Tensor<float3>[?,?]) -> (Tensor<float3>[?], Tensor<bool3>[?]) {
  %0, %1 = region(%x vmap(d0,d1)) fold(max, any) over(d0) : Tensor<float3>[?] vmap(d1), Tensor<bool3>[?] vmap(d1)
  body @columns(%x: float3) -> (float3, float3) {
    return %x, %x
  }
  return %0, %1
}"""
CALL = """import @m = "0123"
graph @call(%x: Tensor<float>[?]) -> (float, double) {
  %0, %1 = region(%x vmap(d0)) fold(call @m.plus from 0.0, mean) over(d0) : float vmap(), double vmap()
  body @call(%x: float) -> (float, double) {
    %0 = cast(%x) {type = "double"} : double
    return %x, %0
  }
  return %0, %1
}"""
SCAN = """graph @scan(%x: Tensor<float>[?,?]) -> (Tensor<float>[?,?], Tensor<float>[?,?]) {
  %0, %1 = region(%x vmap(d0,d1)) scan(sum exclusive) over(d1) : Tensor<float>[?,?] vmap(d0,d1), Tensor<float>[?,?] vmap(d0,d1)
  body @scan(%x: float) -> (float, float) {
    %0 = neg(%x) : float
    return %0, %x
  }
  return %0, %1
}"""

GROUP, COLUMN, THREAD = FoldShape(True, True, 8, 4, 16), FoldShape(False, False, 8, 1, 16, 4), FoldShape(False, True, 256)
TILES = FoldShape(True, True, 128, 16, ordered=True, shared=True)
SHORT = FoldShape(False, False, 128, 8, 16, 4, short=True)
ROWS_AS_ONE = FoldShape(False, False, 8, 2, 16, 4)
STRIDED, LINEAR, WIDE = Variant(False, 2), Variant(True, 2), Variant(True, 2, wide=True)


def variant(base: Variant, shape: FoldShape, **stage: Any) -> FoldVariant:
    return FoldVariant(base.linear, base.rank, base.wide, shape=shape, **stage)


LANE = FoldShape(False, True, 8, 16, 16, turns=True)
LEVEL = variant(LINEAR, THREAD, reads="partials", writes="partials", scans=True)
# name, text, stage, kind of device
CASES: list[tuple[str, str, FoldVariant, str]] = [
    ("rows_whole", ROWS, variant(LINEAR, GROUP), "software"),
    ("rows_first", ROWS, variant(STRIDED, GROUP, writes="partials"), "software"),
    ("rows_along", ROWS, variant(STRIDED, replace(GROUP, unroll=8, rows=True), writes="partials"), "software"),
    ("rows_either", ROWS, variant(LINEAR, GROUP, reads="either", writes="either"), "cuda"),
    ("rows_in_turns", ROWS, variant(LINEAR, LANE, reads="either", writes="either"), "software"),
    ("rows_shared", ROWS, variant(LINEAR, FoldShape(True, True, 256, 8, 16, shared=True, waits=True, resident=5)), "cuda"),
    ("columns_shared", COLUMNS, variant(LINEAR, FoldShape(True, False, 256, 8, 16, shared=True), writes="partials"), "vulkan"),
    ("columns_whole", COLUMNS, variant(LINEAR, COLUMN), "software"),
    ("columns_either", COLUMNS, variant(LINEAR, ROWS_AS_ONE, writes="either"), "software"),
    ("columns_short", COLUMNS, variant(LINEAR, replace(SHORT, unroll=4, columns=2)), "vulkan"),
    ("columns_short_64", COLUMNS, variant(Variant(False, 2, wide=True), SHORT), "cuda"),
    ("columns_strided_64", COLUMNS, variant(Variant(False, 2, wide=True), FoldShape(False, False, 256, 4, 4), writes="partials"), "vulkan"),
    ("call_first", CALL, variant(Variant(True, 1), GROUP, writes="partials"), "vulkan"),
    ("scan_level", SCAN, variant(LINEAR, THREAD, reads="partials", writes="partials", scans=True), "vulkan"),
    ("scan_tiles", SCAN, variant(LINEAR, TILES, scans=True), "vulkan"),
    ("scan_tiles_level", SCAN, variant(LINEAR, TILES, reads="partials", writes="partials", scans=True), "cuda"),
    ("scan_short", SCAN, variant(LINEAR, replace(TILES, short=True), scans=True), "cuda"),
    ("scan_elements", SCAN, variant(STRIDED, THREAD, scans=True), "cuda"),
    ("scan_either", SCAN, variant(STRIDED, THREAD, scans=True, others=(LEVEL,)), "software"),
]  # fmt: skip


EXTREMES = """graph @extremes(%x: Tensor<float>[?,?], %y: Tensor<double2>[?,?]) -> (Tensor<float>[?], Tensor<double2>[?], Tensor<int>[?], Tensor<bool>[?]) {
  %0, %1, %2, %3 = region(%x vmap(d0,d1), %y vmap(d0,d1)) fold(max, min, argmin, any) over(d1) : Tensor<float>[?] vmap(d0), Tensor<double2>[?] vmap(d0), Tensor<int>[?] vmap(d0), Tensor<bool>[?] vmap(d0)
  body @extremes(%x: float, %y: double2) -> (float, double2, float, float) {
    %0 = maximum(%x, %x) : float
    return %0, %y, %x, %x
  }
  return %0, %1, %2, %3
}"""
CASES.append(("extremes", EXTREMES, variant(LINEAR, GROUP), "vulkan"))

SPREAD = """graph @spread(%x: Tensor<float2>[?,?], %y: Tensor<double2>[?,?]) -> (Tensor<float2>[?], Tensor<double2>[?]) {
  %0, %1 = region(%x vmap(d0,d1), %y vmap(d0,d1)) fold(var, spread) over(d0) : Tensor<float2>[?] vmap(d1), Tensor<double2>[?] vmap(d1)
  body @spread(%x: float2, %y: double2) -> (float2, double2) {
    return %x, %y
  }
  return %0, %1
}"""
CASES.append(
    ("spread", SPREAD, variant(LINEAR, FoldShape(True, False, 256, 8, 16, shared=True), reads="either", writes="either"), "cuda")
)

SORT = """graph @order(%x: Tensor<float>[?,?]) -> (Tensor<float>[?,?], Tensor<int>[?,?]) {
  %0, %1 = region(%x vmap(d0,d1)) scan(argsort_descending) over(d1) : Tensor<float>[?,?] vmap(d0,d1), Tensor<int>[?,?] vmap(d0,d1)
  body @order(%x: float) -> (float, float) {
    %0 = abs(%x) : float
    return %0, %0
  }
  body @order(%order: int) -> (int) {
    %0 = neg(%order) : int
    return %0
  }
  return %0, %1
}"""
DIGITS = FoldShape(True, True, 128, 12)


def by_digits(base: Variant, shape: FoldShape, reads: str, writes: str) -> FoldVariant:
    return variant(base, shape, sorts=True, digits=True, reads=reads, writes=writes)


CASES += [
    ("sort_blocks", SORT, variant(LINEAR, FoldShape(True, True, 256, 4, shared=True), sorts=True, writes="either"), "vulkan"),
    ("sort_columns", SORT, variant(STRIDED, FoldShape(True, False, 8, 4, shared=True), sorts=True, writes="either"), "software"),
    ("sort_merges", SORT, variant(LINEAR, FoldShape(True, True, 256, 4, shared=True), sorts=True, reads="partials", writes="either"), "cuda"),
    ("sort_digit_keys", SORT, by_digits(LINEAR, DIGITS, "elements", "partials"), "cuda"),
    ("sort_digit_counts", SORT, by_digits(STRIDED, DIGITS, "partials", "counts"), "vulkan"),
    ("sort_digit_sums", SORT, by_digits(LINEAR, DIGITS, "counts", "counts"), "cuda"),
    ("sort_digit_moves", SORT, by_digits(LINEAR, DIGITS, "partials", "either"), "vulkan"),
    ("sort_digit_moves_of_doubles", SORT.replace("float", "double"), by_digits(LINEAR, DIGITS, "partials", "either"), "cuda"),
    ("sort_digit_moves_by_threads", SORT, by_digits(STRIDED, FoldShape(False, True, 8), "partials", "either"), "software"),
    ("sort_merges_by_threads", SORT, variant(STRIDED, FoldShape(False, True, 8), sorts=True, reads="partials", writes="either"), "software"),
]  # fmt: skip

PRODUCT = """graph @layer(%a: Tensor<float>[?,?], %b: Tensor<half>[?,?], %c: Tensor<float>[?], %e: Tensor<float>[?,?]) -> (Tensor<float>[?,?]) {
  %0 = region(%a vmap(d0,d2), %b vmap(d2,d1), %c vmap(d1), %e vmap(d0,d1)) fold(dot) over(d2) : Tensor<float>[?,?] vmap(d0,d1)
  body @layer(%a: float, %b: float) -> (float) {
    %0 = mul(%a, %b) : float
    return %0
  }
  body @layer(%s: float, %c: float, %e: float) -> (float) {
    %0 = add(%s, %c) : float
    %1 = mul(%0, %e) : float
    return %1
  }
  return %0
}"""
FOURS = GroupTile(0, 1, 64, 32, (4, 4), 16, True, False, 2, 1, (True, True), True, (3,))
SINGLES = GroupTile(0, 1, 16, 64, (4, 4), 16, False, True, 0, 2)
for tile, stage in ((FOURS, {"dense": True}), (SINGLES, {"writes": "partials"})):
    product = FoldVariant(False, 3, shape=FoldShape(False, False, tile.threads, tile=tile), **stage)  # type: ignore[arg-type]
    CASES.extend((f"product_{'fours' if tile.ends else 'singles'}_{kind}", PRODUCT, product, kind) for kind in ("cuda", "vulkan"))


@pytest.mark.parametrize(("name", "text", "stage", "kind"), CASES, ids=[c[0] for c in CASES])
def test_golden(name: str, text: str, stage: FoldVariant, kind: str) -> None:
    graph = parse_graph(text)
    verify(graph, "fused", ORACLE)
    source = emit_fold(graph.nodes[0], stage, Emission(Target(kind), ACCESSES, {"m": ["look"]}))
    shown = source.text + "".join(f"\n// module {n}\n{t}" for n, t in source.shims)
    path = GOLDEN / f"{name}.slang"
    if os.environ.get("FUSEPY_UPDATE_GOLDEN"):
        path.write_text(shown)
    assert shown == path.read_text()
    assert len({f.name for f in source.fields}) == len(source.fields)


FLOATS = ("half", "float", "double", "float3", "half3", "double2", "float2x3", "double2x2")


@pytest.mark.parametrize("kind", [k for k in FOLDS if k != "call"])
def test_no_fold_leaves_nan_to_the_driver(kind: str) -> None:
    """Neither to what it makes of isnan, nor to a comparison of floats: the largest are looked for among whole numbers."""
    for scans in (False, True):
        if scans and kind not in SCANS:
            continue
        for name in FLOATS if not kind.startswith("arg") else FLOATS[:3]:
            found = Accumulator(0, Fold(kind, scans=scans), Type.parse(name))
            held = [t.scalar.name for m, t in found.members() if t.scalar and not m.endswith("_at")]
            whole = "uint64_t" if name.startswith("double") and kind not in ("any", "all") else "uint"
            added = kind in ("sum", "dot", "mean", "var", "spread", "prod")
            assert set(held) == ({"double" if "double" in name else "float"} if added else {whole})
            text = "\n".join(accumulator_text([found]))
            assert not re.search(r"isnan|\b(min|max|clamp|saturate)\(", text)
            compared = {"max": "a >= b", "min": "a <= b", "argmax": "x > best", "argmin": "x < best"}.get(kind)
            assert compared is None or compared in text
            if "uint" in held[0]:
                taken = text[text.index("void fz_take") :]
                function = "fz_truth_0(" if kind in ("any", "all") else "fz_order_0("
                assert taken.count(function) == len(held), "each element by its bits"


def test_no_operation_leaves_nan_to_the_driver() -> None:
    """User code that calls Slang's functions has what they do; operations with NumPy's meaning and our modules tell by bits."""
    for op in OPS.values():
        if isinstance(op, Spelled):
            assert not re.search(r"\b(isnan|min|max|clamp|saturate)\(", op.spelling), op.name
    for file in ("fusepy_nan", "fusepy_powers", "fusepy_math64"):
        code = re.sub(r"//.*", "", (FOLDER / f"{file}.slang").read_text(encoding="utf-8"))
        assert not re.search(r"\b(isnan|min|max|clamp)\(", code), file


# ---- regions that run -----------------------------------------------------------------------------------------------


def executable_of(region: Node, positions: list[int]) -> Executable:
    device = fp.default_device()

    def build(region: Node, stage: Variant) -> Any:
        assert isinstance(stage, FoldVariant)
        return build_kernel(device, emit_fold(region, stage, Emission(device.target, ACCESSES, {})), [])

    elements = [Element.of(v.type) for v in region.results]
    plan = make_plan(PlanContext(device, build), region, positions, elements, ["a result"] * len(elements))
    assert isinstance(plan, ReducePlan)
    count = max(positions) + 1
    results = tuple(range(count, count + len(elements)))
    outputs = [(slot, ()) for slot in results]
    return Executable(device, count, [Step(plan, results)], outputs, ShownNumbers({}, plan.given), lambda plan: [plan])


def run(text: str, *args: Any, outs: list[Any] | None = None) -> tuple[list[Any], list[Any]]:
    """What the region of a text gives on the device, and what the interpreter says."""
    graph = parse_graph(text)
    verify(graph, "fused")
    region = graph.nodes[0]
    executable = executable_of(region, [graph.inputs.index(v) for v in region.operands])
    device = fp.default_device()
    placed = [fp.Tensor.from_numpy(device, a) if isinstance(a, np.ndarray) else a for a in args]
    found = [r.to_numpy() for r in executable.run(placed, outs, device.queue, None)]
    return found, interpret(graph, [a.to_numpy() if isinstance(a, fp.Tensor) else a for a in args])


PLAIN = ROWS.replace('import @m = "0123"\n', "").replace("slang.call @m.norm(%x)", "abs(%x)")
X = np.random.default_rng(0).normal(size=(40, 60)).astype(np.float32)
K = np.arange(40, dtype=np.float32)


@pytest.mark.parametrize("k", [K, K[:1]], ids=["along", "stretched"])
@pytest.mark.parametrize("x", [X, X[:, :1], X[:1]], ids=["whole", "one column", "one row"])
def test_an_epilogue_reads_operands_of_its_own(x: Any, k: Any) -> None:
    if len(x) == 1 and len(k) > 1:
        pytest.skip("the result would be larger than what is folded")
    (values, sums, places), (v, s, p) = run(PLAIN, x, k)
    np.testing.assert_array_equal(values, v)
    np.testing.assert_allclose(sums, s, rtol=1e-6)
    np.testing.assert_array_equal(places, p)


def test_results_that_are_given_may_have_strides() -> None:
    device = fp.default_device()
    sums = fp.Tensor.zeros(device, (80,))[::2]
    found, expected = run(PLAIN, X, K, outs=[None, sums, None])
    np.testing.assert_allclose(sums.to_numpy(), expected[1], rtol=1e-6)
    np.testing.assert_array_equal(found[2], expected[2])
    with pytest.raises(fp.ShapeError, match="does not fit the result"):
        run(PLAIN, X, K, outs=[None, fp.Tensor.zeros(device, (41,)), None])


def test_what_is_folded_must_not_be_seen_more_often_than_it_is_there() -> None:
    text = """graph @g(%x: Tensor<int>[?,?], %y: Tensor<int>[?,?]) -> (Tensor<int>[?,?], Tensor<int>[?]) {
      %0, %1 = region(%x vmap(d0,d1), %y vmap(d0,d1)) fold(sum) over(d0) : Tensor<int>[?,?] vmap(d0,d1), Tensor<int>[?] vmap(d1)
      body @g(%x: int, %y: int) -> (int, int) {
        return %y, %x
      }
      return %0, %1
    }"""
    one, several = np.ones((1, 5), np.int32), np.ones((4, 5), np.int32)
    (_, sums), _ = run(text, several, several)
    assert sums.tolist() == [4] * 5
    with pytest.raises(fp.ShapeError, match="longer for another result"):
        run(text, one, several)
    assert len(split_region(parse_graph(text).nodes[0])) == 2


def test_transposed_results_and_middle_dimensions() -> None:
    text = """graph @g(%x: Tensor<int>[?,?,?]) -> (Tensor<int>[?,?]) {
      %0 = region(%x vmap(d0,d1,d2)) fold(sum) over(d1) : Tensor<int>[?,?] vmap(d2,d0)
      body @g(%x: int) -> (int) {
        return %x
      }
      return %0
    }"""
    (found,), (expected,) = run(text, np.arange(4 * 50 * 6, dtype=np.int32).reshape(4, 50, 6))
    np.testing.assert_array_equal(found, expected)


SIDE_BY_SIDE = """graph @g(%x: Tensor<float>[?,?]) -> (Tensor<float>[?,?], Tensor<float>[?]) {
  %0, %1 = region(%x vmap(d0,d1)) fold(sum) over(d0) : Tensor<float>[?,?] vmap(d0,d1), Tensor<float>[?] vmap(d1)
  body @g(%x: float) -> (float, float) {
    %0 = add(%x, %x) : float
    return %0, %x
  }
  return %0, %1
}"""


@pytest.mark.parametrize("columns", [64, 65, 100, 127])
@pytest.mark.parametrize("unroll", [1, 4, 16])
def test_the_last_group_reaches_back(monkeypatch: pytest.MonkeyPatch, columns: int, unroll: int) -> None:
    """Two groups see the same columns, and only one stores them: results over the operand would be doubled twice."""
    shape = FoldShape(False, False, 8, unroll, 16, 8)
    monkeypatch.setattr(
        "fusepy.backend.execute.folds.stages.fold_shape",
        lambda kind, outputs, *_, **more: (shape if outputs >= 64 else replace(shape, columns=1), 3),
    )
    x = np.random.default_rng(1).normal(size=(50, columns)).astype(np.float32)
    held = fp.Tensor.from_numpy(fp.default_device(), x)
    found, _ = run(SIDE_BY_SIDE, held, outs=[held, None])
    np.testing.assert_array_equal(found[0], x + x)
    np.testing.assert_allclose(found[1], x.sum(0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("columns", [2, 3, 8])
@pytest.mark.parametrize("way", ["contiguous", "every other", "reversed", "transposed"])
def test_few_columns(columns: int, way: str) -> None:
    """Each thread has all of them, where they lie as in memory."""
    rows = (1 << 17) // columns + 5
    x = np.random.default_rng(2).integers(-9, 9, (rows, columns)).astype(np.float32)
    held = fp.Tensor.from_numpy(fp.default_device(), x if way == "contiguous" else np.repeat(x, 2, 1))
    held = {"every other": held[:, ::2], "reversed": held[::-1, ::2], "transposed": held[:, ::2].transpose()}.get(way, held)
    x = held.to_numpy()
    axis = int(x.shape[0] == columns)
    found = fp.fuse(lambda x: (fp.sum(x, axis), fp.argmax(x, axis), x + x))(held)
    np.testing.assert_array_equal(found[0].to_numpy(), x.sum(axis))
    np.testing.assert_array_equal(found[1].to_numpy(), x.argmax(axis))
    np.testing.assert_array_equal(found[2].to_numpy(), x + x)


def test_threads_follow_strides() -> None:
    """Neighbouring threads read neighbouring memory, whichever axis it lies along."""
    graph = parse_graph(COLUMNS)
    (plan,) = executable_of(graph.nodes[0], [0]).plans
    for strides, inner in (((500, 1), False), ((1, 500), True), ((0, 7), False), ((7, 0), True), ((0, 0), False)):
        recipe = plan.recipe([Layout((400, 500), strides)])
        assert [stage.variant.shape.inner for stage in recipe.strided] == [inner] * len(recipe.strided)


def test_a_scan_beside_an_element(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fusepy.backend.execute.folds.stages.TOP", 2)
    monkeypatch.setattr(
        "fusepy.backend.execute.folds.stages.scan_shape", lambda kind, outputs, reduced, *_, **__: (THREAD, -(-reduced // 4))
    )
    for x in (X, fp.Tensor.from_numpy(fp.default_device(), X).transpose()):
        found, expected = run(SCAN, x)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-5, atol=1e-5)


def test_barriers_stand_between_the_stages_of_one_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stage reads what the one before it has written."""
    device = fp.default_device()
    if device.queue.direct is not None:
        pytest.skip("CUDA runs launches one after another")
    seen: list[bool] = []
    dispatch = type(device.queue).dispatch
    monkeypatch.setattr(
        "fusepy.backend.execute.folds.stages.fold_shape",
        lambda *_, partials=False, **more: (replace(GROUP, unroll=1, run=1), 1 if partials else 4),
    )
    graph = parse_graph(PLAIN)
    executable = executable_of(graph.nodes[0], [0, 1])
    args = [fp.Tensor.from_numpy(device, X), fp.Tensor.from_numpy(device, K)]
    monkeypatch.setattr(type(device.queue), "dispatch", lambda self, *a: (seen.append(a[3]), dispatch(self, *a))[1])
    executable.run(args, None, device.queue, None)
    assert seen == [False, False]
