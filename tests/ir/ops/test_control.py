# the textual IR has one line per graph header
"""``cond``, ``fori_loop`` and ``while_loop`` in the IR: text, rules, NumPy meaning."""

from __future__ import annotations

import numpy as np
import pytest

from fusepy.errors import ShapeError, VerifyError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.arrivals import TENSOR
from fusepy.ir.builder import Builder
from fusepy.ir.graph import Graph
from fusepy.ir.interpret import interpret
from fusepy.ir.ops import OPS
from fusepy.ir.parse import parse_graph
from fusepy.ir.types import Type
from fusepy.ir.verify import verify
from fusepy.passes.pipeline import run_pipeline, until
from tests.support.fake_oracle import FUNCTIONS
from tests.support.reference import ORACLE

LOOP = """import @m = "0123"
graph @g(%x: Tensor<float>[?], %y: Tensor<float>[?,1], %n: Tensor<int>[?]) -> (Tensor<float>[?,?], Tensor<float>[?,?]) {
  %0 = const() {type = "int", value = 1} : weak int
  %1, %2 = fori_loop(%0, %n, %x, %y, %x) : Tensor<float>[?,?], Tensor<float>[?,?]
  body @body(%i: int, %a: float, %b: float, %x: float) -> (float, float) {
    %0 = slang.call @m.plus(%a, %x) : float
    %1 = mul(%0, %i) : float
    return %b, %1
  }
  return %1, %2
}"""
WHILE = """graph @g(%x: Tensor<float>[?], %most: weak float) -> (Tensor<float>[?]) {
  %0 = while_loop(%x, %most) {max_steps = 4} : Tensor<float>[?]
  body @test(%c: float, %most: weak float) -> (bool) {
    %0 = lt(%c, %most) : bool
    return %0
  }
  body @body(%c: float, %most: weak float) -> (float) {
    %0 = add(%c, %c) : float
    return %0
  }
  return %0
}"""
COND = """graph @g(%p: Tensor<bool>[?], %c: Tensor<float>[?,3], %k: weak float) -> (Tensor<float3>[?], Tensor<float>[?]) {
  %0, %1 = cond(%p, %c vcast(float3), %k) : Tensor<float3>[?], Tensor<float>[?]
  body @if_true(%c: float3, %k: weak float) -> (float3, float) {
    %0 = mul(%c, %k) : float3
    %1 = member(%c) {name = "y"} : float
    return %0, %1
  }
  body @if_false(%c: float3, %k: weak float) -> (float3, float) {
    %0 = cast(%k) {type = "float"} : float
    return %c, %0
  }
  return %0, %1
}"""


@pytest.mark.parametrize("text", [LOOP, WHILE, COND])
def test_reads_back_and_is_valid_at_every_stage(text: str) -> None:
    graph = parse_graph(text, ORACLE)
    assert str(graph) == text
    for last in ("resolve_maps", "dce", "fuse_chains"):
        done = run_pipeline(graph, ORACLE, until(last))
        assert parse_graph(str(done)) == done


def meaning(text: str, *args: object) -> list[np.ndarray]:
    graph = parse_graph(text)
    found = interpret(run_pipeline(graph, ORACLE, until("dce")), args, FUNCTIONS)
    for a, b in zip(found, interpret(run_pipeline(graph, ORACLE), args, FUNCTIONS)):
        np.testing.assert_array_equal(a, b)
    return found


def test_meaning_of_a_loop() -> None:
    x, y, n = np.array([1, 2, 3], np.float32), np.array([[5], [7]], np.float32), np.array([1, 2, 4])
    a, b = meaning(LOOP, x, y, n)
    for row in range(2):
        for col in range(3):
            c = (x[col], y[row, 0])
            for i in range(1, n[col]):
                c = (c[1], (c[0] + x[col]) * i)
            assert (a[row, col], b[row, col]) == c


def test_meaning_of_a_while_loop_and_a_branch() -> None:
    (found,) = meaning(WHILE, np.array([1, 3, 50, 0.1], np.float32), 10.0)
    np.testing.assert_array_equal(found, np.array([16, 12, 50, 1.6], np.float32))
    a, b = meaning(COND, np.array([True, False]), np.arange(6).reshape(2, 3), 2.0)
    np.testing.assert_array_equal(a, [[0, 2, 4], [3, 4, 5]])
    np.testing.assert_array_equal(b, [1, 2])


BREAKS = [
    (LOOP, {"body @body": "body @other"}, "fori_loop has the bodies body"),
    (LOOP, {"%i: int,": "%i: float,"}, "the index is no integer"),
    (LOOP, {"%i: int,": "%i: uint,"}, "the bounds are not of the type of the index"),
    (LOOP, {", %y, %x)": ", %y, %n)"}, "input %x is not what is loaded for it"),
    (LOOP, {"%n, %x, %y, %x)": "%n, %x, %y)"}, "4 operands for body @body with 4 inputs"),
    (LOOP, {"%b: float, %x: float)": "%b: float, %x: Tensor<float>[?])"}, "every value is a single element"),
    (LOOP, {"%a, %x) : float": "%a vmap(d0), %x) : float"}, "operand 0: 1 dimensions for a value of rank 0"),
    (WHILE, {"%0 = lt(%c, %most) : bool": "%0 = add(%c, %most) : float", "(bool)": "(float)"}, "body @test gives no bool"),
    (
        WHILE,
        {"add(%c, %c) : float": "lt(%c, %c) : bool", "(float) {\n    %0 = lt(%c, %c)": "(bool) {\n    %0 = lt(%c, %c)"},
        "gives back another type",
    ),
    (COND, {"cond(%p": "cond(%k"}, "the first operand is no bool"),
    (
        COND,
        {"return %c, %0": "return %0, %0", "(float3, float) {\n    %0 = cast": "(float, float) {\n    %0 = cast"},
        "give other types",
    ),
    (COND, {"%c vcast(float3)": "%c"}, "is not what is loaded for it"),
]


@pytest.mark.parametrize(("text", "changes", "rule"), BREAKS, ids=[rule for *_, rule in BREAKS])
def test_rules(text: str, changes: dict[str, str], rule: str) -> None:
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    with pytest.raises(VerifyError) as caught:
        verify(parse_graph(text), "traced", ORACLE)
    assert rule in caught.value.what


def test_no_other_operation_has_a_body() -> None:
    graph = parse_graph(WHILE.replace("while_loop(%x, %most) {max_steps = 4}", "add(%x, %most)"))
    with pytest.raises(VerifyError, match="only regions, loops and branches have bodies"):
        verify(graph, "traced", ORACLE)


def test_a_loop_that_skips_a_dimension_is_refused() -> None:
    b = Builder("g")
    float_, int_ = Type.parse("float"), Type.parse("int")
    x = b.input("x", float_, (None,), arrival=TENSOR)
    (n,) = b.add(OPS["const"], [], attrs={"type": "int", "value": 3})
    inner = Builder("body")
    inner.input("i", int_)
    c = inner.input("c", float_)
    with pytest.raises(ShapeError, match="no operand runs along grid dimension d0"):
        b.add(OPS["fori_loop"], [n, n, x], [ArgMap(()), ArgMap(()), ArgMap((1,))], bodies=[inner.finish([c])])


def test_equality_up_to_names_and_places() -> None:
    one, other = parse_graph(WHILE), parse_graph(WHILE.replace("%c", "%d"))
    assert one != other
    assert one.canonical(places=False) == other.canonical(places=False)
    assert isinstance(one, Graph)
    assert one.canonical(places=False) != parse_graph(WHILE.replace("4}", "5}")).canonical(places=False)
