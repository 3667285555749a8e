"""``reduce``, ``scan``, ``expand`` and regions that fold: types, text, rules, and their meaning in NumPy."""

# ruff: noqa: E501  (a node of textual IR is one line)

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fusepy.errors import FusepyError, NoMatchError, ShapeError, TraceError, VerifyError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.arrivals import LIST, TENSOR
from fusepy.ir.builder import Builder
from fusepy.ir.graph import Attr, Value
from fusepy.ir.interpret import interpret
from fusepy.ir.ops import OPS
from fusepy.ir.ops.folds import Fold
from fusepy.ir.ops.region import RegionSpec, ResultSpec
from fusepy.ir.parse import parse_graph
from fusepy.ir.printer import print_graph
from fusepy.ir.types import Type
from fusepy.ir.verify import verify
from tests.support.fake_oracle import FUNCTIONS
from tests.support.reference import ORACLE

X = np.array([[1.5, -2.0, 0.25], [3.0, -0.5, 8.0]], np.float32)


def record(op: str, type: str, rank: int, weak: bool = False, **attrs: Attr) -> Value:
    builder = Builder("f", ORACLE)
    builder.module("m", "k")
    x = builder.input("x", Type.parse(type), (None,) * rank, arrival=LIST if weak else TENSOR)
    (result,) = builder.add(OPS[op], [x], None, attrs, "look.py:4")
    verify(builder.finish([result]), "traced", ORACLE)
    return result


def run(text: str, *args: Any, stage: str = "resolved") -> list[Any]:
    graph = parse_graph(f'import @m = "k"\n{text}')
    verify(graph, stage, ORACLE)
    assert parse_graph(print_graph(graph)) == graph
    return interpret(graph, list(args), FUNCTIONS)


@pytest.mark.parametrize(
    ("kind", "type", "expected"),
    [
        *(("sum", "float", "float"), ("sum", "bool", "int"), ("sum", "int8_t", "int"), ("prod", "uint16_t", "uint")),
        *(("sum", "int64_t", "int64_t"), ("sum", "half3", "half3"), ("sum", "bool2", "int2"), ("prod", "float2x2", "float2x2")),
        *(("mean", "int", "float"), ("mean", "int3", "float3"), ("mean", "double", "double"), ("max", "bool", "bool")),
        *(("any", "float3", "bool3"), ("all", "int", "bool"), ("argmax", "double", "int"), ("min", "uint8_t", "uint8_t")),
    ],
)
def test_types_follow_numpy(kind: str, type: str, expected: str) -> None:
    result = record("reduce", type, 3, kind=kind, axes=("d0", "d2"))
    assert (result.type.name, result.rank, result.weak) == (expected, 1, False)


def test_what_comes_from_a_list_stays_weak() -> None:
    assert record("reduce", "float", 1, weak=True, kind="sum", axes=("d0",)).weak
    assert record("reduce", "float", 1, weak=True, kind="any", axes=("d0",)).weak
    assert record("scan", "float", 1, weak=True, kind="max", axis="d0", exclusive=False).weak


@pytest.mark.parametrize(
    ("kind", "type", "words"),
    [
        ("sum", "Ray", "sum() of Ray values"),
        ("argmax", "float3", "argmax() of float3 values, which have no order"),
        ("mean", "float[2]", "mean() of float[2] values"),
    ],
)
def test_elements_that_do_not_combine_are_refused(kind: str, type: str, words: str) -> None:
    with pytest.raises(TraceError) as caught:
        record("reduce", type, 1, kind=kind, axes=("d0",))
    assert words in caught.value.what
    assert caught.value.place == "look.py:4"
    assert caught.value.hint


def test_a_call_must_combine_two_elements_into_one_of_their_type() -> None:
    call: dict[str, Attr] = {"kind": "call", "module": "m", "identity": 0.0, "axes": ("d0",)}
    assert record("reduce", "float", 2, **call, function="plus").type.name == "float"
    assert record("reduce", "int", 1, **call, function="plus").type.name == "int"
    assert record("reduce", "int", 1, weak=True, **{**call, "function": "scale"}).type.name == "float"
    for type, function in (("float3", "exposure"), ("float", "norm"), ("half", "plus"), ("float", "split")):
        with pytest.raises(FusepyError) as caught:
            record("reduce", type, 1, **call, function=function)
        assert caught.value.place == "look.py:4"
    with pytest.raises(NoMatchError, match="does not combine two elements"):
        record("reduce", "float", 1, weak=True, **{**call, "function": "bump"})


# op, attributes, rule
BROKEN: list[tuple[str, dict[str, Attr], str]] = [
    ("reduce", {"kind": "sum", "axes": ()}, "names no dimensions"),
    ("reduce", {"kind": "sum", "axes": ("d1", "d0")}, "not in order"),
    ("reduce", {"kind": "sum", "axes": ("d2",)}, "of a grid of 2"),
    ("reduce", {"kind": "sum", "axes": "x"}, "dimensions such as d0"),
    ("reduce", {"kind": "median", "axes": ("d0",)}, "there is no fold 'median'"),
    ("reduce", {"axes": ("d0",)}, "needs the attribute 'kind'"),
    ("reduce", {"kind": "call", "module": "m", "function": "plus", "axes": ("d0",)}, "an identity"),
    (
        "reduce",
        {"kind": "call", "module": "n", "function": "plus", "identity": 0.0, "axes": ("d0",)},
        "module @n is not imported",
    ),
    ("scan", {"kind": "mean", "axis": "d0", "exclusive": False}, "there is no scan 'mean'"),
    ("scan", {"kind": "sum", "axis": "d0"}, "needs the attribute 'exclusive'"),
    ("expand", {"axes": ("d0", "d3")}, "does not say along which dimensions"),
]


@pytest.mark.parametrize(("op", "attrs", "rule"), BROKEN, ids=[rule for _, _, rule in BROKEN])
def test_the_verifier_knows_their_rules(op: str, attrs: dict[str, Attr], rule: str) -> None:
    spelled = ", ".join(f"{k} = {list(v)}" if isinstance(v, tuple) else f"{k} = {v!r}" for k, v in attrs.items())
    spelled = spelled.replace("'", '"').replace("False", "false")
    rank = {"reduce": "[?]", "scan": "[?,?]", "expand": "[?,?,?,?]"}[op]
    text = f"""import @m = "k"
graph @f(%x: Tensor<float>[?,?]) -> (Tensor<float>{rank}) {{
  %0 = {op}(%x) {{{spelled}}} : Tensor<float>{rank}
  return %0
}}"""
    with pytest.raises(VerifyError) as caught:
        verify(parse_graph(text), "traced", ORACLE)
    assert rule in caught.value.what


KINDS: dict[str, Any] = {
    "sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "min": np.min, "any": np.any, "all": np.all,
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_reduce_means_what_numpy_says(kind: str) -> None:
    out = "bool" if kind in ("any", "all") else "float"
    text = f"""graph @f(%x: Tensor<float>[?,?]) -> (Tensor<{out}>[?], Tensor<{out}>[?], {out}, Tensor<{out}>[?]) {{
      %0 = reduce(%x vmap(d0,d1)) {{axes = ["d0"], kind = "{kind}"}} : Tensor<{out}>[?]
      %1 = reduce(%x vmap(d0,d1)) {{axes = ["d1"], kind = "{kind}"}} : Tensor<{out}>[?]
      %2 = reduce(%x vmap(d0,d1)) {{axes = ["d0", "d1"], kind = "{kind}"}} : {out}
      %3 = reduce(%x vmap(d1,d0)) {{axes = ["d0"], kind = "{kind}"}} : Tensor<{out}>[?]
      return %0, %1, %2, %3
    }}"""
    columns, rows, total, turned = run(text, X)
    for found, expected in ((columns, KINDS[kind](X, 0)), (rows, KINDS[kind](X, 1)), (total, KINDS[kind](X)), (turned, rows)):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_arg_reductions_tell_the_place_in_c_order() -> None:
    x = np.array([[[1.0, 5.0], [5.0, np.nan]], [[0.0, -1.0], [7.0, 7.0]]], np.float32)
    text = """graph @f(%x: Tensor<float>[?,?,?]) -> (int, Tensor<int>[?], Tensor<int>[?]) {
      %0 = reduce(%x vmap(d0,d1,d2)) {axes = ["d0", "d1", "d2"], kind = "argmax"} : int
      %1 = reduce(%x vmap(d0,d1,d2)) {axes = ["d0", "d2"], kind = "argmax"} : Tensor<int>[?]
      %2 = reduce(%x vmap(d0,d1,d2)) {axes = ["d1", "d2"], kind = "argmin"} : Tensor<int>[?]
      return %0, %1, %2
    }"""
    first, by_column, by_row = run(text, x)
    assert first == 3  # the first NaN wins
    assert by_column.tolist() == [1, 1]
    assert by_row.tolist() == [3, 1]


def test_of_nothing() -> None:
    nothing = np.zeros((0, 2), np.float32)
    wanted = {"sum": 0.0, "prod": 1.0, "any": False, "all": True, "mean": np.nan}
    for kind in KINDS:
        out = "bool" if kind in ("any", "all") else "float"
        text = f"""graph @f(%x: Tensor<float>[?,?]) -> (Tensor<{out}>[?]) {{
          %0 = reduce(%x vmap(d0,d1)) {{axes = ["d0"], kind = "{kind}"}} : Tensor<{out}>[?]
          return %0
        }}"""
        if kind in wanted:
            np.testing.assert_array_equal(run(text, nothing)[0], [wanted[kind]] * 2)
        else:
            with pytest.raises(ShapeError, match="of no elements"):
                run(text, nothing)
            assert run(text, np.zeros((3, 0), np.float32))[0].shape == (0,)


def test_scans_and_calls() -> None:
    text = """graph @f(%x: Tensor<float>[?,?]) -> (Tensor<float>[?,?], Tensor<float>[?,?], Tensor<float>[?,?], Tensor<float>[?]) {
      %0 = scan(%x vmap(d0,d1)) {axis = "d1", exclusive = false, kind = "sum"} : Tensor<float>[?,?]
      %1 = scan(%x vmap(d0,d1)) {axis = "d0", exclusive = true, kind = "max"} : Tensor<float>[?,?]
      %2 = scan(%x vmap(d0,d1)) {axis = "d1", exclusive = true, function = "plus", identity = 10.0, kind = "call", module = "m"} : Tensor<float>[?,?]
      %3 = reduce(%x vmap(d0,d1)) {axes = ["d1"], function = "plus", identity = 10.0, kind = "call", module = "m"} : Tensor<float>[?]
      return %0, %1, %2, %3
    }"""
    sums, largest, called, total = run(text, X)
    np.testing.assert_array_equal(sums, np.cumsum(X, axis=1))
    np.testing.assert_array_equal(largest, [[-np.inf] * 3, X[0]])
    np.testing.assert_array_equal(called, np.cumsum(np.c_[[10.0, 10.0], X], axis=1)[:, :-1])
    np.testing.assert_array_equal(total, X.sum(axis=1) + 10)


def test_expand_inserts_axes() -> None:
    text = """graph @f(%x: Tensor<float>[?,?]) -> (Tensor<float>[?,?,?,?], Tensor<float>[?,?]) {
      %0 = expand(%x vmap(d1,d3)) {axes = ["d0", "d2"]} : Tensor<float>[?,?,?,?]
      %1 = reduce(%x vmap(d0,d1)) {axes = ["d1"], kind = "sum"} : Tensor<float>[?]
      %2 = expand(%1 vmap(d0)) {axes = ["d1"]} : Tensor<float>[?,?]
      %3 = sub(%x vmap(d0,d1), %2 vmap(d0,d1)) : Tensor<float>[?,?]
      return %0, %3
    }"""
    expanded, less = run(text, X)
    np.testing.assert_array_equal(expanded, X[None, :, None, :])
    np.testing.assert_array_equal(less, X - X.sum(1, keepdims=True))


# ---- regions that fold ----------------------------------------------------------------------------------------------

FOLDING = """graph @f(%x: Tensor<float>[?,?], %k: float) -> (Tensor<float>[?,?], Tensor<float>[?], Tensor<int>[?]) {
  %0, %1, %2 = region(%x vmap(d0,d1), %k vmap()) fold(sum, argmax) over(d1) : Tensor<float>[?,?] vmap(d0,d1), Tensor<float>[?] vmap(d0), Tensor<int>[?] vmap(d0)
  body @f(%x: float) -> (float, float, float) {
    %0 = mul(%x vmap(), %x vmap()) : float
    return %0, %x, %0
  }
  body @f(%s: float, %at: int, %k: float) -> (float, int) {
    %0 = mul(%s vmap(), %k vmap()) : float
    return %0, %at
  }
  return %0, %1, %2
}"""


def test_a_region_folds_and_goes_on_in_its_epilogue() -> None:
    squares, sums, places = run(FOLDING, X, np.float32(2), stage="fused")
    np.testing.assert_array_equal(squares, X * X)
    np.testing.assert_array_equal(sums, X.sum(1) * 2)
    np.testing.assert_array_equal(places, (X * X).argmax(1))


def test_a_region_folds_over_a_grid_of_the_folded_values_own_extents() -> None:
    """What stretches over a larger grid would be combined more than once: such results go into regions of their own."""
    text = """graph @f(%x: Tensor<float>[?,?], %y: Tensor<float>[?]) -> (Tensor<float>[?,?], Tensor<float>[?], Tensor<float>[?]) {
      %0, %1, %2 = region(%x vmap(d0,d1), %y vmap(d1)) fold(sum, mean) over(d0) : Tensor<float>[?,?] vmap(d1,d0), Tensor<float>[?] vmap(d1), Tensor<float>[?] vmap(d1)
      body @f(%x: float, %y: float) -> (float, float, float) {
        %0 = add(%x vmap(), %y vmap()) : float
        return %0, %0, %0
      }
      return %0, %1, %2
    }"""
    y = np.array([1.0, 2.0, 3.0], np.float32)
    turned, sums, means = run(text, X, y, stage="fused")
    np.testing.assert_array_equal(turned, (X + y).T)
    np.testing.assert_array_equal(sums, (X + y).sum(0))
    np.testing.assert_array_equal(means, (X + y).mean(0))
    with pytest.raises(ShapeError, match="smaller than the grid"):
        run(text.replace("return %0, %0, %0\n      }", "return %0, %y, %0\n      }"), X, y, stage="fused")


def test_a_region_scans() -> None:
    text = """graph @f(%x: Tensor<float>[?,?]) -> (Tensor<float>[?,?], Tensor<float>[?,?]) {
      %0, %1 = region(%x vmap(d0,d1)) scan(sum exclusive) over(d1) : Tensor<float>[?,?] vmap(d0,d1), Tensor<float>[?,?] vmap(d0,d1)
      body @f(%x: float) -> (float, float) {
        %0 = neg(%x vmap()) : float
        return %0, %0
      }
      return %0, %1
    }"""
    negated, sums = run(text, X, stage="fused")
    np.testing.assert_array_equal(negated, -X)
    np.testing.assert_array_equal(sums, np.c_[np.zeros(2), np.cumsum(-X, 1)[:, :-1]])


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("fold(sum, argmax)", "fold(sum, max)", "the epilogue takes [float, int], where [float, float] were folded"),
        ("fold(sum, argmax)", "fold(sum, max, max, max)", "4 folds of a body with 3 outputs"),
        ("fold(sum, argmax)", "scan(sum, max)", "the epilogue takes [float, int], where [float, float] were folded"),
        ("Tensor<float>[?] vmap(d0)", "Tensor<float>[?] vmap(d1)", "result 1 runs along a dimension that is folded"),
        ("%k vmap()", "%x vmap(d1)", "an operand of the epilogue runs along"),
        (", %k vmap())", ")", "1 operands for bodies with 2 inputs"),
    ],
)
def test_rules_of_regions_that_fold(old: str, new: str, rule: str) -> None:
    assert old in FOLDING
    with pytest.raises(VerifyError) as caught:
        verify(parse_graph(FOLDING.replace(old, new, 1)), "fused", ORACLE)
    assert rule in caught.value.what


ALONG = (ResultSpec((0, 1)),)
SUM, RUNNING = Fold("sum"), Fold("sum", scans=True)


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        ((ALONG, (SUM,)), "over says along which dimensions"),
        ((ALONG, (), (1,)), "over says along which dimensions"),
        ((ALONG, (SUM,), (0, 0)), "over names a dimension twice"),
        ((ALONG, (SUM,), (1, 0)), "out of order"),
        ((ALONG, (Fold("sums"),), (0,)), "there is no fold 'sums'"),
        ((ALONG, (Fold("call"),), (0,)), "a fold by a call needs a module"),
        ((ALONG, (Fold("sum", "m", "f", 0.0),), (0,)), "only a fold by a call has a function"),
        ((ALONG, (Fold("sum", exclusive=True),), (0,)), "only a scan is exclusive"),
        ((ALONG, (RUNNING,), (0, 1)), "a scan runs along one dimension"),
        ((ALONG, (RUNNING, SUM), (0,)), "beside no fold"),
        (((ResultSpec((1, 1)),),), "result 0 names a dimension twice"),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_an_invalid_region_cannot_be_described(spec: tuple[Any, ...], rule: str) -> None:
    with pytest.raises(VerifyError) as caught:
        RegionSpec(*spec)
    assert rule in caught.value.what


def test_a_body_has_no_reductions() -> None:
    text = """graph @f(%x: Tensor<float>[?]) -> (Tensor<float>[?]) {
      %0 = region(%x vmap(d0)) : Tensor<float>[?] vmap(d0)
      body @f(%x: float) -> (float) {
        %0 = expand(%x) {axes = ["d0"]} : float
        return %x
      }
      return %0
    }"""
    with pytest.raises(VerifyError, match="does not say along which"):
        verify(parse_graph(text), "fused", ORACLE)


def test_maps_of_a_reduction_settle_to_its_own_axes() -> None:
    node_maps = OPS["reduce"].settled
    builder = Builder("f", ORACLE)
    x = builder.input("x", Type.parse("float"), (None, None), arrival=TENSOR)
    builder.add(OPS["reduce"], [x], None, {"kind": "sum", "axes": ("d0",)})
    assert node_maps(builder.nodes[0], ORACLE) == [ArgMap((0, 1))]
    assert builder.nodes[0].grid_rank == 2
