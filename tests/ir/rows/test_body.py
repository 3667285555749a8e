"""The stages of a region that goes along rows: what each loads, holds and combines."""

from __future__ import annotations

from fusepy.ir.graph import Node, Value
from fusepy.ir.parse import parse_graph
from fusepy.ir.rows.body import RowBody

SOFTMAX = """graph @softmax(%x: Tensor<float>[?,?]) -> (Tensor<float>[?,?], Tensor<float>[?]) {
  %0, %1 = region(%x vmap(d0,d1)) rows(d1) : Tensor<float>[?,?] vmap(d0,d1), Tensor<float>[?] vmap(d0)
  body @softmax(%x: float) -> (float, float) {
    %0 = row_fold(%x vmap()) {kind = "max"} : float
    %1 = sub(%x vmap(), %0 vmap()) : float
    %2 = exp(%1 vmap()) : float
    %3 = row_fold(%2 vmap()) {kind = "sum"} : float
    %4 = div(%2 vmap(), %3 vmap()) : float
    %5 = log(%3 vmap()) : float
    return %4, %5
  }
  return %0, %1
}"""
NORM = """graph @norm(%x: Tensor<float>[?,?], %g: Tensor<float>[?], %s: Tensor<float>[?]) -> (Tensor<float>[?,?]) {
  %0 = region(%x vmap(d0,d1), %g vmap(d1), %s vmap(d0)) rows(d1) : Tensor<float>[?,?] vmap(d0,d1)
  body @norm(%x: float, %g: float, %s: float) -> (float) {
    %0 = mul(%x vmap(), %s vmap()) : float
    %1 = row_fold(%0 vmap()) {kind = "mean"} : float
    %2 = sub(%0 vmap(), %1 vmap()) : float
    %3 = mul(%2 vmap(), %2 vmap()) : float
    %4 = row_fold(%3 vmap()) {kind = "mean"} : float
    %5 = add(%2 vmap(), %0 vmap()) : float
    %6 = mul(%5 vmap(), %g vmap()) : float
    %7 = div(%6 vmap(), %4 vmap()) : float
    return %7
  }
  return %0
}"""


def body_of(text: str) -> tuple[RowBody, dict[str, Value]]:
    (region,) = parse_graph(text).nodes
    body = RowBody(region)
    names = {f"%{i}": v for i, v in enumerate(v for n in body.body.nodes for v in n.results)}
    return body, names | {v.name or "": v for v in body.body.inputs}


def ops(nodes: tuple[Node, ...]) -> list[str]:
    return [n.op.name for n in nodes]


def test_what_is_computed_is_held_in_place_of_what_was_loaded() -> None:
    body, at = body_of(SOFTMAX)
    first, second, last = body.stages(held=True)
    assert [s.loads for s in (first, second, last)] == [(at["x"],), (), ()]
    assert [s.kept for s in (first, second, last)] == [(at["x"],), (at["%2"],), ()]
    assert [s.taken for s in (first, second, last)] == [(at["x"],), (at["%2"],), ()]
    assert [ops(s.elements.nodes) for s in (first, second, last)] == [[], ["sub", "exp"], ["div"]]
    assert (last.results, body.of_row, body.words()) == ((0,), [1], 1)
    assert ops(second.row.nodes) == ["log"]
    assert ops(body.row(-1).nodes) == []


def test_without_registers_each_stage_loads_and_computes_all_that_it_needs() -> None:
    body, at = body_of(SOFTMAX)
    stages = body.stages(held=False)
    assert [s.loads for s in stages] == [(at["x"],)] * 3
    assert [ops(s.elements.nodes) for s in stages] == [[], ["sub", "exp"], ["sub", "exp", "div"]]
    assert not any(s.kept for s in stages)


def test_of_two_values_the_cheap_one_is_computed_again() -> None:
    """The last stage needs the scaled element and its distance from the mean, which is one subtraction away."""
    body, at = body_of(NORM)
    first, second, last = body.stages(held=True)
    assert [s.kept for s in (first, second, last)] == [(at["%0"],), (), ()], "held once, from the first stage on"
    assert [s.loads for s in (first, second, last)] == [(at["x"],), (), (at["g"],)]
    assert ops(last.elements.nodes) == ["sub", "add", "mul", "div"]
    assert body.words() == 1
    assert at["s"] in body.whole
    assert at["g"] not in body.whole


def test_vectors_and_doubles_take_more_registers() -> None:
    for type, words in (("double", 2), ("float3", 3), ("half", 1)):
        assert body_of(SOFTMAX.replace("max", "sum").replace("float", type))[0].words() == words
