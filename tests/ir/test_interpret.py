"""Interpretation of whole graphs: how maps place axes, what calls get, what regions mean."""

# ruff: noqa: E501  (a node of textual IR is one line)

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from fusepy.errors import ShapeError, VerifyError
from fusepy.ir.interpret import interpret
from fusepy.ir.parse import parse_graph
from tests.support.fake_oracle import FUNCTIONS, RAY
from tests.support.random_graphs import Program, programs
from tests.support.reference import ORACLE, meaning, settle

V = np.arange(12.0).reshape(4, 3)


def evaluate(text: str, *args: Any) -> list[Any]:
    """The results of a graph, whose ``slang.call @m.…`` are the fake functions."""
    return interpret(parse_graph(f'import @m = "k"\n{text}', ORACLE), [np.asarray(a) for a in args], FUNCTIONS)


@pytest.mark.req("V3", "C5")
def test_maps_place_axes_on_the_grid() -> None:
    text = """graph @f(%x: Tensor<float>[?], %y: Tensor<float>[?,?]) -> (Tensor<float>[?,?], Tensor<float>[?,?], Tensor<float>[?,?,?]) {
      %0 = sub(%x vmap(d0), %x vmap(d1)) : Tensor<float>[?,?]
      %1 = sub(%y vmap(d1,d0), %x) : Tensor<float>[?,?]
      %2 = sub(%y vmap(d2,d0), %x vmap(d1)) : Tensor<float>[?,?,?]
      return %0, %1, %2
    }"""
    x, y = np.arange(3.0), np.arange(12.0).reshape(3, 4)
    outer, turned, cube = evaluate(text, x, y)
    np.testing.assert_array_equal(outer, x[:, None] - x)
    np.testing.assert_array_equal(turned, y.T - x)
    np.testing.assert_array_equal(cube, y.T[:, None, :] - x[:, None])


@pytest.mark.req("V4", "V5")
def test_casts_load_trailing_axes_and_convert() -> None:
    text = """graph @f(%v: Tensor<float>[?,?], %k: weak int, %n: Tensor<int>[?]) -> (Tensor<float>[?], Tensor<float3>[?], Tensor<half>[?], float) {
      %0 = slang.call @m.luma(%v vmap(d0) vcast(float3)) : Tensor<float>[?]
      %1 = slang.call @m.exposure(%k vmap() vcast(float3), %n vmap(d0) vcast(float)) : Tensor<float3>[?]
      %2 = cast(%n vmap(d0) vcast(half)) {type = "half"} : Tensor<half>[?]
      %3 = slang.call @m.luma(%n vmap() vcast(float3)) : float
      return %0, %1, %2, %3
    }"""
    n = np.array([1, -2, 4])
    luma, exposed, half, whole = evaluate(text, V, 2, n)
    np.testing.assert_array_equal(luma, V.sum(axis=1))
    np.testing.assert_array_equal(exposed, np.stack([2 * n] * 3, axis=-1))
    assert half.dtype == np.float16
    assert whole == 3


def test_every_result_is_spread_over_the_whole_grid() -> None:
    text = """graph @f(%x: Tensor<float>[?,?], %y: Tensor<float>[?,?]) -> (Tensor<float>[?,?], Tensor<float>[?,?]) {
      %0 = slang.call @m.same(%x) : Tensor<float>[?,?]
      %1 = slang.call @m.pick(%0, %y, %x) : Tensor<float>[?,?]
      return %0, %1
    }"""
    first_of = {**FUNCTIONS, "pick": lambda a, b, c: a}
    graph = parse_graph(f'import @m = "k"\n{text}')
    same, picked = interpret(graph, [np.ones((1, 3)), np.ones((2, 1))], first_of)
    assert (same.shape, picked.shape) == ((1, 3), (2, 3))


def test_calls_get_the_grid_in_front_and_give_results_in_order() -> None:
    text = """graph @f(%x: Tensor<float>[?], %k: weak float) -> (Tensor<float>[?], Tensor<float>[?], Tensor<float>[?], float) {
      %0, %1 = slang.call @m.split(%x vmap(d0)) {dirs = ["in", "out", "out"], returns = false} : Tensor<float>[?], Tensor<float>[?]
      %2, %3 = slang.call @m.bump(%x vmap(d0), %k vmap()) {dirs = ["inout", "in"], returns = true} : Tensor<float>[?], Tensor<float>[?]
      slang.call @m.note(%x vmap(d0)) {dirs = ["in"], returns = false}
      %4 = slang.call @m.scale(%k vmap()) : float
      return %0, %1, %3, %4
    }"""
    x = np.array([1.5, -0.25])
    whole, rest, bumped, scaled = evaluate(text, x, 0.5)
    np.testing.assert_array_equal(whole, np.floor(x))
    np.testing.assert_array_equal(rest, x - np.floor(x))
    np.testing.assert_array_equal(bumped, x + 0.5)
    assert scaled == 1


def test_structs_and_whole_arrays() -> None:
    text = """graph @f(%r: Tensor<Ray>[?], %p: Tensor<float>[?,?], %i: Tensor<int>[?]) -> (Tensor<float3>[?], Tensor<float>[?], Tensor<float>[?]) {
      %0 = slang.call @m.at(%r vmap(d0), %i vmap(d0) vcast(float)) : Tensor<float3>[?]
      %1 = slang.call @m.fetch(%p vmap() vcast(Ptr<float>), %i vmap(d0)) : Tensor<float>[?]
      %2 = slang.call @m.sum4(%p vmap(d0) vcast(float[4])) : Tensor<float>[?]
      return %0, %1, %2
    }"""
    rays = np.zeros(2, RAY)
    rays["origin"], rays["dir"] = [[1, 2, 3], [4, 5, 6]], [[1, 0, 0], [0, 1, 0]]
    p = np.arange(8.0).reshape(2, 4)
    at, fetched, summed = evaluate(text, rays, p, [5, 2])
    np.testing.assert_array_equal(at, [[6, 2, 3], [4, 7, 6]])
    np.testing.assert_array_equal(fetched, [5, 2])
    np.testing.assert_array_equal(summed, p.sum(axis=1))


def test_inputs_can_be_returned() -> None:
    (x,) = evaluate("graph @f(%x: Tensor<int>[?]) -> (Tensor<int>[?]) {\n  return %x\n}", [1.0, 2.0])
    assert x.dtype == np.int32


# ---- regions --------------------------------------------------------------------------------------------------------


def test_a_region_reads_and_writes_through_its_maps() -> None:
    text = """graph @f(%x: Tensor<float>[?,?], %y: Tensor<float>[?]) -> (Tensor<float>[?,?], Tensor<float>[?,?], Tensor<float>[?]) {
      %0, %1, %2 = region(%x vmap(d1,d0), %y vmap(d0)) : Tensor<float>[?,?] vmap(d0,d1), Tensor<float>[?,?] vmap(d1,d0), Tensor<float>[?] vmap(d0)
      body @f(%a: float, %b: float) -> (float, float, float) {
        %0 = sub(%a, %b) : float
        %1 = neg(%b) : float
        return %0, %0, %1
      }
      return %0, %1, %2
    }"""
    x, y = np.arange(12.0).reshape(3, 4), np.array([1.0, 10.0, 100.0, 1000.0])
    first, turned, third = evaluate(text, x, y)
    np.testing.assert_array_equal(first, x.T - y[:, None])
    np.testing.assert_array_equal(turned, first.T)
    np.testing.assert_array_equal(third, -y)


def test_a_region_turns_three_axes() -> None:
    text = """graph @f(%x: Tensor<float>[?,?,?]) -> (Tensor<float>[?,?,?]) {
      %0 = region(%x vmap(d0,d1,d2)) : Tensor<float>[?,?,?] vmap(d2,d0,d1)
      body @f(%a: float) -> (float) {
        return %a
      }
      return %0
    }"""
    x = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(evaluate(text, x)[0], x.transpose(2, 0, 1))


def test_a_region_loads_vectors_and_pointers() -> None:
    text = """graph @f(%x: Tensor<float>[?,?], %i: Tensor<int>[?]) -> (Tensor<float3>[?], Tensor<float>[?]) {
      %0, %1 = region(%x vmap(d0) vcast(float3), %x vmap() vcast(Ptr<float>), %i vmap(d0)) : Tensor<float3>[?] vmap(d0), Tensor<float>[?] vmap(d0)
      body @f(%v: float3, %p: Ptr<float>, %i: int) -> (float3, float) {
        %0 = add(%v, %v) : float3
        %1 = slang.call @m.fetch(%p, %i) : float
        return %0, %1
      }
      return %0, %1
    }"""
    doubled, fetched = evaluate(text, V, [3, 2, 1, 0])
    np.testing.assert_array_equal(doubled, 2 * V)
    np.testing.assert_array_equal(fetched, [3, 2, 1, 0])


def test_constants_in_a_region_are_not_mistaken_for_axes() -> None:
    text = """graph @f(%x: Tensor<float3>[?,?]) -> (Tensor<float3>[?,?], float3) {
      %0, %1 = region(%x vmap(d0,d1)) : Tensor<float3>[?,?] vmap(d0,d1), float3 vmap()
      body @f(%a: float3) -> (float3, float3) {
        %0 = const() {type = "float", value = 2.0} : weak float
        %1 = construct(%0, %0, %0) {type = "float3"} : weak float3
        %2 = slang.call @m.exposure(%1, %0) : float3
        %3 = mul(%a, %2) : float3
        return %3, %2
      }
      return %0, %1
    }"""
    x = np.ones((4, 5, 3))
    scaled, constant = evaluate(text, x)
    np.testing.assert_array_equal(scaled, 4 * x)
    np.testing.assert_array_equal(constant, [4, 4, 4])


# ---- what cannot be evaluated ---------------------------------------------------------------------------------------


@pytest.mark.req("C4", "T3")
def test_shapes_that_do_not_broadcast() -> None:
    text = "graph @f(%x: Tensor<float>[?], %y: Tensor<float>[?]) -> (Tensor<float>[?]) {\n"
    text += "  %0 = add(%x, %y) : Tensor<float>[?]  // look.py:5\n  return %0\n}"
    with pytest.raises(ShapeError, match=r"look.py:5: extents do not broadcast: \(3,\), \(4,\)"):
        evaluate(text, np.zeros(3), np.zeros(4))


def test_trailing_extents_are_checked() -> None:
    text = "graph @f(%x: Tensor<float>[?,?]) -> (Tensor<float>[?]) {\n"
    text += "  %0 = slang.call @m.luma(%x vmap(d0) vcast(float3)) : Tensor<float>[?]\n  return %0\n}"
    with pytest.raises(ShapeError, match=r"\(2,\) is no float3"):
        evaluate(text, np.zeros((5, 2)))


def test_a_missing_argument_is_noticed() -> None:
    with pytest.raises(ValueError, match="shorter"):
        evaluate("graph @f(%x: float) -> (float) {\n  return %x\n}")


def test_calls_and_regions_have_no_meaning_of_their_own() -> None:
    graph = parse_graph(
        'import @m = "k"\ngraph @f(%x: float) -> (float) {\n  %0 = slang.call @m.same(%x) : float\n  return %0\n}'
    )
    with pytest.raises(VerifyError, match="no meaning of its own"):
        graph.nodes[0].op.evaluate(graph.nodes[0], [])


@given(programs())
def test_a_graph_means_what_its_nodes_mean_one_by_one(program: Program) -> None:
    alone = meaning(program.graph, program.args, program.functions)
    whole = interpret(settle(program.graph), program.args, program.functions)
    for a, b in zip(alone, whole, strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
