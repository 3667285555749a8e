"""Passes: golden pairs of texts, what must not change, and meaning kept under the NumPy interpretation.

A case is ``<pass>/<name>.ir``: the graph before, a line ``=====``, the graph after.
``FUSEPY_UPDATE_GOLDEN=1`` writes the second half.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusepy.errors import ShapeError, VerifyError
from fusepy.inspect.reasons import label, neighbours
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.interpret import interpret
from fusepy.ir.oracle import Oracle
from fusepy.ir.parse import parse_graph
from fusepy.ir.verify import verify
from fusepy.passes.base import Pass
from fusepy.passes.effects import is_pure
from fusepy.passes.pipeline import PIPELINE, SEPARATED, VERIFY, Verify, run_pipeline, until
from fusepy.passes.rewrite import substitute
from fusepy.passes.split import split_region
from tests.support.examples import QUICK, examples
from tests.support.fake_oracle import FUNCTIONS
from tests.support.random_graphs import ORACLE, Program, programs
from tests.support.reference import meaning

HERE = Path(__file__).parent
PASSES = {p.name: p for p in PIPELINE}
CASES = sorted(HERE.glob("*/*.ir"))
RULE = "\n=====\n"


def test_every_pass_has_cases() -> None:
    assert {c.parent.name for c in CASES} == set(PASSES)


@pytest.mark.parametrize("path", CASES, ids=[f"{c.parent.name}/{c.stem}" for c in CASES])
def test_golden(path: Path) -> None:
    step = PASSES[path.parent.name]
    before, after = path.read_text().split(RULE)
    graph = parse_graph(before)
    verify(graph, step.requires, ORACLE)
    result = step(graph, ORACLE)
    verify(result, step.ensures, ORACLE)
    if os.environ.get("FUSEPY_UPDATE_GOLDEN"):
        path.write_text(f"{graph}{RULE}{result}\n")
        return
    assert str(graph) == before, "the first half is not written as the printer writes it"
    assert str(result) == after.rstrip("\n")
    assert parse_graph(after) == result
    if path.stem.startswith("stays"):
        assert result is graph
    else:
        assert before != after.rstrip("\n"), "a case that changes nothing is called stays_…"


@pytest.mark.parametrize("path", CASES, ids=[f"{c.parent.name}/{c.stem}" for c in CASES])
def test_a_pass_is_pure_and_settles(path: Path) -> None:
    """Running it leaves its argument alone; what it has made it leaves alone as well."""
    step = PASSES[path.parent.name]
    graph = parse_graph(path.read_text().split(RULE)[0])
    text = str(graph)
    result = step(graph, ORACLE)
    assert str(graph) == text
    if step.ensures == "resolved":
        assert step(result, ORACLE) is result


def _same(found: list[Any], expected: list[Any], program: Program) -> None:
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        assert a.shape == b.shape, str(program.graph)
        assert a.dtype == b.dtype, str(program.graph)
        np.testing.assert_array_equal(a, b, err_msg=str(program.graph))


@pytest.mark.parametrize("step", PIPELINE, ids=lambda p: p.name)
@examples(56 if QUICK else 120)
@given(program=programs())
def test_each_pass_preserves_meaning(step: Pass, program: Program) -> None:
    graph, args, functions = program
    expected = meaning(graph, args, functions, ORACLE)
    if step.requires != "traced":
        graph = PASSES["resolve_maps"](graph, ORACLE)
        _same(interpret(graph, args, functions), expected, program)
    if step.requires == "fused":
        graph = PASSES["fuse_chains"](graph, ORACLE)
    result = step(graph, ORACLE)
    verify(result, step.ensures, ORACLE)
    _same(interpret(result, args, functions), expected, program)


@examples(100 if QUICK else 200)
@given(program=programs())
def test_the_pipeline_preserves_meaning(program: Program) -> None:
    graph, args, functions = program
    expected = meaning(graph, args, functions, ORACLE)
    text = str(graph)
    for last in PIPELINE:
        result = run_pipeline(graph, ORACLE, until(last.name))
        _same(interpret(result, args, functions), expected, program)
    assert str(graph) == text
    assert all(n.op.name == "region" or n.op.views for n in result.nodes)


@examples(80)
@given(program=programs())
def test_a_region_has_a_part_for_each_result(program: Program) -> None:
    fused = run_pipeline(program.graph, ORACLE)
    assert sum(len(part.results) for node in fused.nodes for part in split_region(node)) == sum(
        len(n.results) for n in fused.nodes
    )


@examples(150 if QUICK else 300)
@given(program=st.one_of(programs(), programs(12, folds=True), programs(12, folds=True, grids=3)), separate=st.booleans())
def test_programs_of_several_regions_mean_the_same_whole_and_split(program: Program, separate: bool) -> None:
    """Results of any ranks, kept axes among them, are in one region, or have one each."""
    graph, args, functions = program
    fused = run_pipeline(graph, ORACLE, SEPARATED if separate else until("fuse_chains"))
    assert all(n.op.name == "region" or n.op.views for n in fused.nodes)
    expected = meaning(graph, args, functions, ORACLE)
    _same(_stepwise(fused, args, functions), expected, program)
    regions = [split_region(node) if node.op.name == "region" else [node] for node in fused.nodes]
    made = {
        v: w for node, own in zip(fused.nodes, regions) for v, w in zip(node.results, [w for part in own for w in part.results])
    }
    nodes = [substitute(r, made) for own in regions for r in own]
    split = fused.replace(nodes=nodes, outputs=[made.get(v, v) for v in fused.outputs])
    verify(split, "fused", ORACLE)
    _same(interpret(split, args, functions), expected, program)


@examples(200)
@given(program=programs(12, folds=True))
def test_joined_rows_mean_the_same_where_they_share_a_grid(program: Program) -> None:
    """A joined region whose parts differ in extents is refused: a call then runs the parts."""
    graph, args, functions = program
    try:
        found = interpret(run_pipeline(graph, ORACLE), args, functions)
    except ShapeError:
        return
    _same(found, meaning(graph, args, functions, ORACLE), program)


@examples(100)
@given(program=programs(12, folds=True))
def test_reasons_tell_of_writes_only_where_something_may_write(program: Program) -> None:
    """Of the random functions only those that take a pointer may write, and none writes an array."""
    resolved = run_pipeline(program.graph, ORACLE, until("dce"))
    acting = {label(n) for n in resolved.nodes if not is_pure(n)}
    for pair in neighbours(resolved, ORACLE):
        assert ("writ" in pair.why) <= (pair.first in acting), pair


def test_a_fold_keeps_its_own_extents_beside_a_larger_result() -> None:
    text = """import @m = "0123abcd"
graph @look(%x: Tensor<float>[2], %y: Tensor<uint>[1,1]) -> (Tensor<uint>[?], Tensor<uint>[?,?], Tensor<float>[?,?]) {
  %0 = reduce(%y) {axes = ["d0"], kind = "sum"} : Tensor<uint>[?]
  %1 = scan(%y) {axis = "d0", exclusive = false, kind = "sum"} : Tensor<uint>[?,?]
  %2, %3 = slang.call @m.bump(%y vmap(d0,d1) vcast(float), %x) : Tensor<float>[?,?], Tensor<float>[?,?]
  return %0, %1, %2
}"""
    graph = parse_graph(text)
    args = [np.array([1.5, 0.5], np.float32), np.array([[4]], np.uint32)]
    expected = meaning(graph, args, FUNCTIONS, ORACLE)
    assert [a.shape for a in expected] == [(1,), (1, 1), (1, 2)]
    _same(_stepwise(run_pipeline(graph, ORACLE), args, FUNCTIONS), expected, Program(graph, args, FUNCTIONS))


def _stepwise(fused: Graph, args: list[Any], functions: Any) -> list[Any]:
    """A fused graph as it is run: a region whose results have no grid in common is split."""
    arrays = dict(zip(fused.inputs, args))
    for node in fused.nodes:
        try:
            found = _run_alone(node, arrays, functions)
        except ShapeError:
            assert len(node.results) > 1, str(fused)
            found = [array for own in split_region(node) for array in _run_alone(own, arrays, functions)]
        arrays.update(zip(node.results, found))
    return [arrays[v] for v in fused.outputs]


def _run_alone(node: Node, arrays: dict[Value, Any], functions: Any) -> list[Any]:
    inputs = tuple(dict.fromkeys(node.operands))
    return interpret(Graph("one", inputs, [node], node.results), [arrays[v] for v in inputs], functions)


@examples(80)
@given(program=programs())
def test_passes_settle(program: Program) -> None:
    """A second round of the rewriting passes finds nothing to do, and says so with the same object."""
    done = run_pipeline(program.graph, ORACLE, until("dce"))
    for name in ("fold", "cse", "dce"):
        assert PASSES[name](done, ORACLE) is done


def test_the_pipeline_verifies_what_it_is_given() -> None:
    broken = parse_graph("graph @g(%x: Tensor<float>[?]) -> (Tensor<int>[?]) {\n  %0 = neg(%x) : Tensor<int>[?]\n  return %0\n}")
    with pytest.raises(VerifyError, match="inference gives"):
        run_pipeline(broken, ORACLE)


@dataclass(frozen=True)
class Returns(Pass):
    """Returns one graph whatever it is given."""

    graph: Graph
    name = "returns"

    def __call__(self, graph: Graph, oracle: Oracle) -> Graph:
        return self.graph


def test_the_pipeline_verifies_each_pass_or_the_ends() -> None:
    graph = parse_graph(
        "graph @g(%x: Tensor<float>[?]) -> (Tensor<float>[?]) {\n  %0 = neg(%x) : Tensor<float>[?]\n  return %0\n}"
    )
    good = run_pipeline(graph, ORACLE, until("dce"))
    bad = good.replace(nodes=())
    for passes in ((PIPELINE[0], Returns(bad)), (PIPELINE[0], Returns(bad), Returns(good))):
        with pytest.raises(VerifyError, match="not defined"):
            run_pipeline(graph, ORACLE, passes, Verify.EACH)
    with pytest.raises(VerifyError, match="not defined"):
        run_pipeline(graph, ORACLE, (PIPELINE[0], Returns(bad)), Verify.ENDS)
    assert run_pipeline(graph, ORACLE, (PIPELINE[0], Returns(bad), Returns(good)), Verify.ENDS) is good
    assert VERIFY is Verify.EACH, "tests verify what each pass makes; see conftest"


def test_a_pass_gets_a_graph_of_the_stage_that_it_requires() -> None:
    graph = parse_graph("graph @g(%x: Tensor<float>[?]) -> (Tensor<float>[?]) {\n  return %x\n}")
    with pytest.raises(AssertionError, match="cse takes a resolved graph, and gets a traced one"):
        run_pipeline(graph, ORACLE, (PASSES["cse"],))
