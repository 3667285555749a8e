"""Thread shapes: what was measured to be best stays chosen (decisions 002 and 011)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusepy.backend.emit.fold.scans.tuning import scan_lanes, scan_shape
from fusepy.backend.emit.fold.tuning import (  # fmt: skip
    COLUMN,
    DEAR,
    HEAVY,
    LEAN,
    LIGHT,
    copies_of,
    fold_shape,
    lanes_for,
    shape_along_rows,
)
from fusepy.backend.emit.fold.variant import FoldShape
from fusepy.backend.emit.tuning import Shape, choose, weight_of
from fusepy.backend.emit.variant import Variant
from fusepy.backend.execute.folds.sorts import digit_stages, merge_stages, sort_stages
from fusepy.backend.execute.folds.stages import MakeStages, Work, all_variants, fold_stages, scan_stages
from fusepy.ir.parse import parse_graph


@pytest.mark.parametrize(
    ("largest", "moved", "per_thread"), [(4, 12, 32), (4, 16, 32), (1, 3, 32), (4, 44, 16), (12, 24, 16), (64, 192, 16)]
)
def test_software(largest: int, moved: int, per_thread: int) -> None:
    assert choose("software", largest, True, moved) == Shape(512, per_thread, False)


def test_strided_kernels_and_gpus_look_at_the_largest_element_only() -> None:
    for moved in (0, 12, 96):
        assert choose("software", 4, False, moved).per_group == 4096
        assert choose("vulkan", 4, True, moved).batched
        assert choose("vulkan", 12, True, moved).per_group == 256
        assert choose("cuda", 12, True, moved).per_thread == 2


# ---- folds: decision 011 --------------------------------------------------------------------------------------------

LANE = FoldShape(False, True, 8, 16, 16, turns=True)


@pytest.mark.parametrize(
    ("outputs", "reduced", "inner", "shape", "chunks"),
    [
        (1, 1 << 24, True, LANE, 512),  # lanes have 32 k elements each
        (1, 1000, True, LANE, 1),  # one lane, one kernel
        (4096, 4096, True, LANE, 1),  # a row for each lane
        (64, 100_000, True, LANE, 8),
        (4096, 4096, False, FoldShape(False, False, 8, 8, 16, 32), 4),
        (511, 4096, False, FoldShape(False, False, 8, 8, 16, 32), 8),
        (16, 1 << 20, False, FoldShape(False, False, 8, 8, 16, 32), 8),  # 256 rows as one of 4096
        (3, 1 << 20, False, FoldShape(False, False, 8, 8, 16, 32), 6),
        (3, 1000, False, COLUMN, 1),
    ],
)
def test_folds_in_software(outputs: int, reduced: int, inner: bool, shape: FoldShape, chunks: int) -> None:
    assert fold_shape("software", outputs, reduced, inner) == (shape, chunks)


ROWS = FoldShape(True, True, 256, 8, 16, shared=True, waits=True)


@pytest.mark.parametrize("kind", ["vulkan", "cuda"])
@pytest.mark.parametrize(
    ("outputs", "reduced", "inner", "shape", "chunks"),
    [
        (1, 1 << 26, True, ROWS, 1056),  # 8 groups on each of 132 multiprocessors
        (8192, 8192, True, ROWS, 1),
        (1 << 20, 64, True, ROWS, 1),  # 32 rows a group
        (1 << 20, 9, True, ROWS, 1),
        (1 << 23, 8, True, FoldShape(False, True, 128, 8, 16, 4, short=True), 1),  # a thread has four rows
        (8192, 8192, False, FoldShape(True, False, 256, 8, 16, shared=True), 4),  # 32 columns a group
        (2, 1 << 25, False, FoldShape(True, False, 256, 8, 16, shared=True), 1056),
        (1 << 20, 3, False, FoldShape(False, False, 128, 8, 16, 4, short=True), 1),  # a thread has four columns
        (1 << 18, 64, False, FoldShape(False, False, 128, 8, 16, 4, short=True), 1),
        (1 << 17, 64, False, FoldShape(True, False, 256, 8, 16, shared=True), 1),  # too few to leave each to one thread
    ],
)
def test_folds_on_gpus(kind: str, outputs: int, reduced: int, inner: bool, shape: FoldShape, chunks: int) -> None:
    assert fold_shape(kind, outputs, reduced, inner) == (shape, chunks)
    for nbytes in (8, 40):  # in one turn where CUDA's compiler is told so, or whichever number of groups runs at a time
        several = fold_shape(kind, outputs, reduced, inner, copies=LIGHT, nbytes=nbytes)[1]
        assert several == (660 if kind == "cuda" and nbytes == 8 else 3168) or reduced <= 8192


def test_threads_that_share_a_row() -> None:
    """Of many rows a wave at most, with 16 to 32 elements a thread; fewer rows are divided among more threads."""
    rows = {33: 4, 129: 8, 512: 32, 1024: 32, 2048: 64, 8192: 256}
    assert {n: lanes_for(1 << 16, n, True, 256, partials=False) for n in rows} == rows
    assert lanes_for(4095, 1024, True, 256, partials=False) == 128
    assert [lanes_for(4096, n, True, 256, partials=False) for n in (129, 1024)] == [16, 64]  # these fill a device
    assert [scan_lanes(*size, 128) for size in ((1, 5000), (2048, 5000), (4096, 5000), (1 << 20, 5000), (1 << 20, 33))] == [
        128, 128, 64, 32, 4,
    ]  # fmt: skip


def test_threads_that_share_partials() -> None:
    """Few load a result's partials one after the other."""
    assert [lanes_for(64, 1584, False, 256, partials=p) for p in (False, True)] == [8, 64]
    assert lanes_for(64, 16, False, 256, partials=True) == 2
    assert lanes_for(1, 3168, True, 256, partials=True) == 256


@pytest.mark.parametrize("kind", ["vulkan", "cuda"])
@pytest.mark.parametrize(
    ("outputs", "reduced", "inner", "shape", "chunks"),
    [
        (1, 1 << 26, True, FoldShape(True, True, 128, 16, ordered=True, shared=True), 1056),  # neighbours read neighbours
        (1, 1056, True, FoldShape(True, True, 128, 16, ordered=True, shared=True), 1),
        (8192, 8192, True, FoldShape(True, True, 128, 16, ordered=True, shared=True), 1),
        (300, 1 << 20, True, FoldShape(True, True, 128, 16, ordered=True, shared=True), 1),  # another chunk is another read
        (8192, 256, True, FoldShape(True, True, 128, 16, ordered=True, shared=True), 1),
        (1 << 20, 32, True, FoldShape(True, True, 128, 16, ordered=True, shared=True), 1),
        (8192, 8192, False, FoldShape(False, False, 256), 32),
    ],
)
def test_scans_on_gpus(kind: str, outputs: int, reduced: int, inner: bool, shape: FoldShape, chunks: int) -> None:
    assert scan_shape(kind, outputs, reduced, inner) == (shape, chunks)
    assert scan_shape("software", outputs, reduced, inner)[0] == FoldShape(False, inner, 8)


@pytest.mark.parametrize(("nbytes", "threads"), [(64, 256), (68, 128), (256, 64), (4096, 32)])
@pytest.mark.parametrize("inner", [True, False])
def test_groups_share_no_more_memory_than_devices_have(nbytes: int, threads: int, inner: bool) -> None:
    shape = fold_shape("vulkan", 1, 1 << 20, inner, nbytes=nbytes)[0]
    assert (shape.group, shape.threads) == (True, threads)


@pytest.mark.parametrize("copies", [LEAN, LIGHT, HEAVY])
def test_long_bodies_are_spelled_out_for_fewer_rows(copies: int) -> None:
    shape = fold_shape("software", 4096, 4096, False, copies=copies)[0]
    assert (shape.columns, shape.columns * shape.unroll) == (32, copies)


ONE = """import @m = "0123"
graph @g(%x: Tensor<float>[?]) -> (float) {
  %0 = region(%x vmap(d0)) fold(sum) over(d0) : float vmap()
  body @g(%x: float) -> (float) {
    %0 = neg(%x) : float
    return %0
  }
  return %0
}"""
POWERS = """graph @g(%x: Tensor<float>[?], %n: weak int) -> (Tensor<float>[?]) {
  %0 = const() {type = "int", value = 0} : weak int
  %1 = fori_loop(%0 vmap(), %n vmap(), %x vmap(d0)) : Tensor<float>[?]
  body @body(%i: int, %c: float) -> (float) {
    %0 = pow(%c vmap(), %c vmap()) : float
    return %0
  }
  return %1
}"""
TWO = """graph @g(%x: Tensor<float>[?]) -> (Tensor<float>[?], float) {
  %0, %1 = region(%x vmap(d0)) fold(sum) over(d0) : Tensor<float>[?] vmap(d0), float vmap()
  body @g(%x: float) -> (float, float) {
    return %x, %x
  }
  return %0, %1
}"""


@pytest.mark.parametrize(
    ("text", "copies"),
    [
        (ONE, LEAN),
        (ONE.replace("float", "double"), LIGHT),
        (ONE.replace("float", "float3"), LIGHT),
        (ONE.replace("sum", "argmax").replace("float vmap()\n", "int vmap()\n", 1).replace("-> (float)", "-> (int)", 1), LIGHT),
        (TWO, LIGHT),
        (ONE.replace("neg(%x)", "slang.call @m.f(%x)"), HEAVY),
    ],
    ids=["lean", "double", "vector", "argmax", "stored", "call"],
)
def test_how_often_bodies_are_spelled_out(text: str, copies: int) -> None:
    for kind in ("software", "cuda", "vulkan"):
        assert copies_of(parse_graph(text).nodes[0], kind) == copies


def test_variances_of_columns_are_spelled_out_less_often_on_a_cpu() -> None:
    """For 8 elements of each column they take lavapipe twice as long to compile."""
    region = parse_graph(ONE.replace("sum", "var")).nodes[0]
    copies = [copies_of(region, kind) for kind in ("software", "cuda", "vulkan")]
    assert copies == [LIGHT, LEAN, LEAN]
    shapes = [fold_shape("software", 4096, 4096, inner, copies=LIGHT)[0] for inner in (False, True)]
    assert [(s.columns, s.unroll) for s in shapes] == [(32, 4), (1, 16)]


SPELLED_OUT = 16 * 384  # operations of a kernel that lavapipe compiles in a few seconds


@pytest.mark.parametrize("operation", ["neg float", "exp float", "sin float", "exp double", "sin double"])
@pytest.mark.parametrize("count", [1, 2, 3, 8, 12, 40])
def test_what_compiles_long_is_spelled_out_less_often(operation: str, count: int) -> None:
    """Twelve sines in a column's sum took lavapipe more than 30 s, and one sine of doubles as long."""
    function, type = operation.split()
    chain = [f"%{i} = {function}(%{i - 1 if i else 'x'}) : {type}" for i in range(count)]
    text = ONE.replace("float", type).replace(f"%0 = neg(%x) : {type}", "\n    ".join(chain))
    region = parse_graph(text.replace("return %0\n  }\n", f"return %{count - 1}\n  }}\n", 1)).nodes[0]
    assert region.body is not None
    weight, copies = weight_of(region.body.nodes), copies_of(region, "software")
    assert len(region.body.nodes) == count
    for inner in (True, False):
        shape = fold_shape("software", 4096, 4096, inner, copies=copies)[0]
        assert shape.columns * shape.unroll * weight <= SPELLED_OUT or copies == DEAR
        assert copies != DEAR or shape.columns * shape.unroll == 1
    assert shape_along_rows(4096, 64, copies)[0].unroll * weight <= SPELLED_OUT or copies == DEAR


def test_the_bodies_of_loops_have_weight() -> None:
    nodes = parse_graph(POWERS).nodes
    assert weight_of(nodes) == len(nodes) + weight_of(nodes[1].bodies[0].nodes) > 16


@given(
    st.sampled_from(["software", "cuda", "vulkan"]),
    st.integers(1, 1 << 20),
    st.integers(1, 1 << 24),
    st.booleans(),
    st.sampled_from([DEAR, HEAVY, LIGHT, LEAN]),
    st.booleans(),
)
def test_stages_cover_all_elements(kind: str, outputs: int, reduced: int, inner: bool, copies: int, linear: bool) -> None:
    stages = fold_stages(kind, Work(outputs, reduced, inner, copies), Variant(linear, 2))
    first, *rest = stages
    chunk, chunks, rows = (first.sizes.get(k, 1) for k in ("chunk", "chunks", "rows"))
    virtual, short = first.sizes["reduced"], first.variant.shape.short
    assert (chunks - 1) * chunk < virtual <= chunks * chunk  # and no chunk is empty
    assert (virtual - 1) * rows < reduced <= virtual * rows
    assert first.sizes["outputs"] == outputs * rows
    assert short or [first.sizes[k] for k in ("full_rows", "elements")] == [reduced // rows, outputs * reduced]
    parts = chunks * rows
    assert first.partials == (outputs * parts if parts > 1 else 0)
    for before, stage in zip(stages, rest):  # each merges what the one before leaves for a result
        assert before.partials == outputs * stage.sizes["reduced"]
        assert (stage.reads, before.writes) == (stages.index(before),) * 2
    if first.variant.shape.waits:  # the last group of a result merges; then each group has one chunk
        assert not rest
        assert parts == 1 or (first.sizes["lanes"] == first.variant.shape.threads and first.writes == 0)
    else:
        assert [s.sizes["reduced"] for s in rest[:1]] == ([parts] if parts > 1 else [])
        assert stages[-1].sizes["chunks"] * (rows if stages[-1] is first else 1) == 1
    assert chunks == 1 or chunk % first.variant.shape.run == 0
    for stage in stages:
        shape = stage.variant.shape
        assert shape.run % shape.unroll == 0
        if shape.columns > 1 and not shape.short:
            assert shape.threads * shape.columns <= stage.sizes["outputs"]  # the last group may start earlier
        x, y, _ = stage.groups()
        lanes = stage.sizes["lanes"] if shape.shared else shape.threads
        assert shape.threads % lanes == 0
        beside = shape.threads // lanes if shape.group else shape.threads * (stage.sizes["turns"] if shape.turns else 1)
        assert [s.variant.shape.inner for s in stages] == [shape.inner] * len(stages)  # partials lie as both see them
        assert x * y * beside * shape.columns >= stage.sizes["outputs"] * stage.sizes["chunks"]


@given(st.sampled_from(["software", "cuda", "vulkan"]), st.integers(1, 1 << 12), st.integers(1, 1 << 24), st.booleans())
def test_scans_cover_all_elements(kind: str, outputs: int, reduced: int, inner: bool) -> None:
    """Each level has as many elements as the one before has chunks, and no chunk is empty."""
    stages = scan_stages(kind, Work(outputs, reduced, inner, LEAN), Variant(True, 2))
    ups = [s for s in stages if s.partials]
    downs = [s for s in stages if not s.partials]
    counts = [s.partials for s in ups]
    assert (len(downs), len(ups)) == (len(counts) + 1, len(counts))
    elements = reduced
    for level, down in enumerate(reversed(downs)):
        sizes, shape = down.sizes, down.variant.shape
        assert sizes["reduced"] == elements
        assert (sizes["chunks"] - 1) * sizes["chunk"] < elements <= sizes["chunks"] * sizes["chunk"]
        assert level == len(counts) or counts[level] == outputs * sizes["chunks"]
        assert level == len(counts) or ups[level].sizes | {"totals": 0} == sizes
        x, y, _ = down.groups()
        beside = shape.threads // sizes["lanes"] if shape.shared else shape.threads
        assert x * y * beside >= outputs * sizes["chunks"]
        elements = sizes["chunks"]


@pytest.mark.req("V11")
@pytest.mark.parametrize("kind", ["software", "vulkan", "cuda"])
@pytest.mark.parametrize("make", [fold_stages, scan_stages, merge_stages, digit_stages])
@pytest.mark.parametrize("inner", [True, False])
def test_any_sizes_have_one_kernel(kind: str, make: MakeStages, inner: bool) -> None:
    """For each layout, body and accumulator, whatever the sizes; two by length on GPUs, and for columns by number on a CPU.

    Scans have two by length on GPUs along rows that lie side by side.

    A sort has one for blocks and one that merges. By digits it has one for each of three steps, and one for keys.
    """
    folds = make is fold_stages
    rng = np.random.default_rng(5)
    for linear, copies, nbytes in [(True, LEAN, 4), (True, HEAVY, 600), (False, LIGHT, 16), (False, LEAN, 4)]:
        work, variant = Work(1, 1, inner, copies, nbytes), Variant(linear, 2)
        known = all_variants(make, kind, work, variant)
        short = make is scan_stages and kind != "software" and inner and linear and nbytes < 600
        few = make is merge_stages or (folds and (kind != "software" or (not inner and linear)))
        assert len(known) == (4 if make is digit_stages else 1 + (few or short))
        for _ in range(60):
            outputs, reduced = (int(2 ** rng.uniform(0, 15)) for _ in "ab")
            for count, length in ((outputs, reduced), (1, reduced**2), (0, reduced), (outputs, 0)):
                asked = replace(work, outputs=count, reduced=length)
                assert {s.variant for s in make(kind, asked, variant)} <= known


@pytest.mark.parametrize("kind", ["software", "vulkan", "cuda"])
def test_a_row_is_sorted_by_digits_from_some_length_on(kind: str) -> None:
    """The more bytes a key has, the longer is the row. Chunks are whole tiles, and counts lie behind the pairs of each array."""
    first = list[int]()
    for digits in (1, 2, 4, 8):
        work = Work(3, 1, True, LEAN, 12 if digits == 8 else 8, staged=digits)
        ways = [sort_stages(kind, replace(work, reduced=1 << n), Variant(True, 2))[0].variant.digits for n in range(26)]
        assert ways == sorted(ways)
        first.append(ways.index(True))
        stages = sort_stages(kind, replace(work, reduced=(1 << 25) + 1), Variant(True, 2))
        assert len(stages) == 3 * digits
        shape, sizes = stages[-1].variant.shape, stages[-1].sizes
        assert sizes["chunk"] % (shape.threads * shape.unroll) == 0 or kind == "software"
        assert (sizes["chunks"] - 1) * sizes["chunk"] < sizes["reduced"] <= sizes["chunks"] * sizes["chunk"]
        assert [s.partials for s in stages if s.partials] == [3 * ((1 << 25) + 1 + 256 * (sizes["chunks"] + 1))] * min(digits, 2)
        assert [s.sizes["shift"] for s in stages[2::3]] == [8 * n for n in range(digits)]
        assert [s.writes for s in stages[2::3]] == [*((1 - n % 2) for n in range(digits - 1)), -1]
    assert first == sorted(first)
    far = digit_stages(kind, Work(1 << 15, (1 << 16) - 64, True, LEAN, staged=1), Variant(True, 2))
    assert all(stage.variant.wide for stage in far), "numbers of counts have more than 31 bits"
