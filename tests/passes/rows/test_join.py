"""Groups of regions that go along rows: which belong together, in which order, and what the join knows of their prices."""

from __future__ import annotations

from typing import Any

import pytest

from fusepy.ir.graph import Graph
from fusepy.ir.ops.region import spec_of
from fusepy.ir.parse import parse_graph
from fusepy.passes.partition.cost import CALL_BYTES
from fusepy.passes.pipeline import run_pipeline, until
from fusepy.passes.rows.groups import row_groups
from fusepy.passes.rows.join import JoinRows, kernel_numbers
from tests.support.random_graphs import ORACLE

TWO = """graph @two(%x: Tensor<float>[?,?]) -> (Tensor<float>[?,?], Tensor<float>[?,?]) {
  %0 = reduce(%x vmap(d0,d1)) {axes = ["d1"], kind = "max"} : Tensor<float>[?]
  %1 = sub(%x vmap(d0,d1), %0 vmap(d0)) : Tensor<float>[?,?]
  %2 = reduce(%0 vmap(d0)) {axes = ["d0"], kind = "sum"} : float
  %3 = mul(%x vmap(d0,d1), %2 vmap()) : Tensor<float>[?,?]
  %4 = reduce(%3 vmap(d0,d1)) {axes = ["d1"], kind = "sum"} : Tensor<float>[?]
  %5 = div(%3 vmap(d0,d1), %4 vmap(d0)) : Tensor<float>[?,?]
  return %1, %5
}"""


def fused(text: str) -> Graph:
    return run_pipeline(parse_graph(text), ORACLE, until("fuse_chains"))


def rows(graph: Graph) -> list[tuple[int, ...]]:
    return [spec_of(n).rows for n in graph.nodes]


def test_groups_before_and_behind_another_kernel_stay_apart() -> None:
    graph = fused(TWO)
    assert [len(g.members) for g in row_groups(graph)] == [2, 2]
    joined = JoinRows()(graph, ORACLE)
    assert rows(joined) == [(1,), (), (1,)]
    assert len(joined.nodes) == len(graph.nodes) - 2


@pytest.mark.parametrize("refused", [set[int](), {0}, {1}, {0, 1}])
def test_each_group_can_be_refused(refused: Any) -> None:
    graph = fused(TWO)
    joined = JoinRows(frozenset(refused))(graph, ORACLE)
    kept = [spec_of(n).joined.number for n in joined.nodes if spec_of(n).rows]
    assert sorted(kept) == sorted({0, 1} - refused)
    numbers = kernel_numbers(graph, frozenset(refused))
    assert len(numbers) == len(graph.nodes)
    assert set(numbers) == set(range(len(joined.nodes)))
    assert joined is graph if len(refused) == 2 else joined is not graph


def test_the_join_knows_what_is_computed_again_and_what_was_stored() -> None:
    text = """import @m = "0123abcd"
graph @dear(%x: Tensor<float>[?,?]) -> (Tensor<float>[?,?]) {
  %0 = slang.call @m.scale(%x) : Tensor<float>[?,?]
  %1 = reduce(%0 vmap(d0,d1)) {axes = ["d1"], kind = "max"} : Tensor<float>[?]
  %2 = sub(%0 vmap(d0,d1), %1 vmap(d0)) : Tensor<float>[?,?]
  return %2
}"""
    graph = fused(text)
    (region,) = JoinRows()(graph, ORACLE).nodes
    joined = spec_of(region).joined
    assert [len(spec_of(n).results) for n in graph.nodes] == [2, 1], "a call whose price is not known is stored"
    assert (joined.again, joined.stored) == (CALL_BYTES, 4)
