"""The verifier: each rule is broken once, and every valid graph passes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from fusepy.errors import VerifyError
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.arrivals import LIST, PLAIN, TENSOR, Arrival
from fusepy.ir.builder import Builder
from fusepy.ir.graph import Attr, Graph, Node, Value
from fusepy.ir.ops import OPS, Op
from fusepy.ir.ops.region import RegionSpec, ResultSpec, with_spec
from fusepy.ir.parse import parse_graph
from fusepy.ir.types import Type
from fusepy.ir.verify import verify
from tests.support.random_graphs import graphs
from tests.support.reference import ORACLE, settle

FLOAT = Type.parse("float")


def f(type: str = "float", rank: int = 0, name: str | None = None, arrival: Arrival = PLAIN, weak: bool = False) -> Value:
    return Value(Type.parse(type), (None,) * rank, name=name, arrival=arrival, weak=weak)


def one(op: str, inputs: list[Value], results: list[Value], maps: list[ArgMap] | None = None, **attrs: Attr) -> Graph:
    """A graph of one node on all inputs."""
    node = Node(OPS[op], inputs, maps if maps is not None else [UNSAID] * len(inputs), results, attrs, "look.py:3")
    return Graph("g", dict.fromkeys(inputs), [node], results, [("m", "key")])


def fails(graph: Graph, stage: str, rule: str, oracle: object = ORACLE) -> VerifyError:
    with pytest.raises(VerifyError) as caught:
        verify(graph, stage, oracle)  # type: ignore[arg-type]
    assert rule in caught.value.what
    assert f"graph @{graph.name}, stage" in caught.value.what
    assert caught.value.hint
    return caught.value


@given(graphs())
def test_what_a_builder_records_is_valid(graph: Graph) -> None:
    verify(graph, "traced", ORACLE)
    verify(graph, "traced")


@given(graphs().map(settle))
def test_a_graph_whose_maps_are_settled_is_resolved(graph: Graph) -> None:
    verify(graph, "resolved", ORACLE)
    verify(graph, "resolved")


# ---- traced ---------------------------------------------------------------------------------------------------------


def test_the_message_names_graph_node_place_and_rule() -> None:
    x = f(name="x")
    error = fails(one("add", [x, x], [f("int")]), "traced", "inference gives float")
    assert str(error) == (
        "look.py:3: graph @g, stage 'traced': inference gives float\n"
        "  saw:      %0 = add(%x, %x) : int  // look.py:3\n"
        "  hint:     a pass, or a text written by hand, broke a rule of ir.rules; print the graph to see it whole"
    )


class _Foreign(Op):
    name = "add"


# graph, rule
TRACED: list[tuple[str, Graph, str]] = []


def broken(label: str, graph: Graph, rule: str) -> None:
    TRACED.append((label, graph, rule))


_x, _y = f(name="x"), f(name="y")
broken("nameless input", Graph("g", [f()], [], []), "an input has no name")
broken("same name", Graph("g", [f(name="x"), f(name="x")], [], []), "two inputs are named 'x'")
broken("same input", Graph("g", [_x, _x], [], []), "two inputs are named 'x'")
broken("container", Graph("g", [f(name="x", arrival=Arrival("Heap"))], [], []), "no container 'Heap'")
broken("axes of a number", Graph("g", [f(name="x", rank=1)], [], []), "an input with axes needs a container")
broken("strong list", Graph("g", [f(name="x", rank=1, arrival=LIST)], [], []), "in a list is weak")
broken("alias", Graph("g", [], [], [], [("m", "a"), ("m", "b")]), "two modules have one alias")
broken("output", Graph("g", [], [], [f()]), "an output is not defined")
broken("operation", Graph("g", [_x], [Node(_Foreign(), [_x, _x], [UNSAID] * 2, [f()])], []), "no operation 'add'")
broken("undefined", Graph("g", [], [Node(OPS["neg"], [f()], [UNSAID], [f()])], []), "operand 0 is used before it is defined")
broken("own result", Graph("g", [], [Node(OPS["neg"], [_y], [UNSAID], [_y])], []), "operand 0 is used before it is defined")
broken("redefined", Graph("g", [_x], [Node(OPS["neg"], [_x], [UNSAID], [_x])], []), "a result is defined twice")
broken("named result", one("neg", [_x], [f(name="y")]), "a computed value has neither name")
broken("sized result", one("neg", [_x], [Value(FLOAT, (3,))]), "a computed value has neither name")
broken("container result", one("neg", [_x], [f(arrival=TENSOR)]), "a computed value has neither name")
broken("too few maps", one("add", [_x, _x], [f()], [UNSAID]), "2 operands with 1 maps")
broken("doubled dim", one("neg", [_x], [f(rank=1)], [ArgMap((0, 0))]), "operand 0: dimension 0 is named twice")
broken("surplus dims", one("neg", [_x], [f(rank=1)], [ArgMap((0,))]), "operand 0: 1 dimensions for a value of rank 0")
broken("numpy attribute", one("const", [], [f(weak=True)], type="float", value=np.float64(1)), "attribute 'value' is a float64")
broken("mixed tuple", one("neg", [_x], [f()], tag=("a", 1)), "attribute 'tag' is a tuple")  # type: ignore[arg-type]
broken("location", Graph("g", [_x], [Node(OPS["neg"], [_x], [UNSAID], [f()], None, "a\nb")], []), "a location is one line")
broken(
    "body",
    Graph("g", [_x], [Node(OPS["neg"], [_x], [UNSAID], [f()], None, None, [Graph("b", [], [], [])])], []),
    "only regions, loops and branches have bodies",
)
broken("module", one("slang.call", [_x], [f()], module="other", function="scale"), "module @other is not imported")
broken("callee", one("slang.call", [_x], [f()], module="m"), "slang.call needs the attribute 'function', a str")
broken("arity", one("add", [_x], [f()]), "add takes 2 operands, not 1")
broken("const without value", one("const", [], [f()], type="float"), "const needs the attribute 'value', a int or float")
broken("member without name", one("member", [_x], [f()]), "member needs the attribute 'name', a str")
broken("type", one("neg", [_x], [f("half")]), "inference gives float")
broken("rank", one("neg", [_x], [f(rank=1)]), "inference gives float")
broken("count", one("neg", [_x], [f(), f()]), "inference gives float")
broken("swizzle", one("member", [_x], [f()], name="w"), "inference rejects it: float has no member 'w'")
broken("cast to no type", one("cast", [_x], [f()], type="3"), "inference rejects it: '3' is not a Slang type name")
broken("call type", one("slang.call", [_x], [f("int")], module="m", function="scale"), "inference gives float")
broken("call refused", one("slang.call", [_x], [f()], module="m", function="luma"), "inference rejects it: luma: argument 'c'")
broken("dirs", one("slang.call", [_x], [f()], module="m", function="scale", dirs=("out",)), "1 operands for directions out")
broken(
    "dirs count",
    one("slang.call", [_x], [f()], module="m", function="scale", dirs=("inout",), returns=True),
    "1 results, 2 expected",
)
broken(
    "dirs text", one("slang.call", [_x], [f()], module="m", function="scale", dirs="in"), "dirs is a tuple of in, out and inout"
)


@pytest.mark.parametrize(("graph", "rule"), [t[1:] for t in TRACED], ids=[t[0] for t in TRACED])
@pytest.mark.parametrize("stage", ["traced", "resolved", "fused"])
def test_broken_at_every_stage(stage: str, graph: Graph, rule: str) -> None:
    fails(graph, stage, rule)


@pytest.mark.parametrize("stage", ["traced", "resolved"])
def test_no_weak_value_is_computed_from_a_strong_one(stage: str) -> None:
    fails(one("neg", [_x], [f(weak=True)]), stage, "inference gives float")


def test_without_an_oracle_calls_are_taken_at_their_word() -> None:
    graph = one("slang.call", [_x], [f("int")], module="m", function="scale")
    verify(graph, "traced")
    fails(one("slang.call", [_x], [f(), f(rank=1)], module="m", function="scale"), "traced", "differ in rank", None)


# ---- resolved and fused, as text ------------------------------------------------------------------------------------

RESOLVED = """
import @m = "k"
graph @g(%x: Tensor<float>[?,?], %a: Tensor<float3>[?], %k: weak float, %d: Tensor<Disc>[?]) -> (Tensor<float>[?]) {
  %0 = slang.call @m.luma(%x vmap(d0) vcast(float3)) : Tensor<float>[?]
  %1 = add(%0 vmap(d0), %k vmap()) : Tensor<float>[?]
  %2, %3 = slang.call @m.split(%1 vmap(d0)) {dirs = ["in", "out", "out"], returns = false} : Tensor<float>[?], Tensor<float>[?]
  %4 = cast(%0 vmap(d0) vcast(int)) {type = "int"} : Tensor<int>[?]
  %5 = slang.call @m.fetch3(%x vmap() vcast(Ptr<float3>), %4 vmap(d0)) : Tensor<float3>[?]
  %6 = slang.call @m.sum4(%x vmap(d0) vcast(float[4])) : Tensor<float>[?]
  %7 = slang.call @m.area_of(%d vmap(d0)) : Tensor<float>[?]
  %8 = slang.call @m.bump(%k vmap(), %6 vmap(d0)) {dirs = ["inout", "in"], returns = true} : Tensor<float>[?], Tensor<float>[?]
  return %2
}
"""
RESOLVED = RESOLVED.replace("%8 =", "%8, %9 =")

FUSED = """
import @m = "k"
graph @g(%x: Tensor<float>[?,?], %k: weak float) -> (Tensor<float>[?,?], Tensor<float>[?]) {
  %0, %1 = region(%x vmap(d1,d0), %k vmap()) : Tensor<float>[?,?] vmap(d0,d1), Tensor<float>[?] vmap(d1)
  body @g(%x: float, %k: weak float) -> (float, float) {
    %0 = mul(%x vmap(), %k) : float
    %1 = slang.call @m.scale(%0 vmap()) : float
    return %0, %1
  }
  return %0, %1
}
"""

# stage, what to replace by what, rule
BREAKS = [
    ("resolved", "Tensor<float>[?,?]", "Tensor<float>[?,3]", "sizes are no part of a resolved program"),
    ("resolved", "%k vmap()) : Tensor<float>[?]\n", "%k) : Tensor<float>[?]\n", "operand 1 has no resolved map"),
    ("resolved", "%0 vmap(d0), %k", "%0 vmap(d0) vcast(float), %k", "operand 0: the vcast changes nothing"),
    ("resolved", "%0 vmap(d0), %k", "%0 vmap(d0) vcast(half), %k", "inference gives Tensor<half>[?]"),
    ("resolved", "add(%0 vmap(d0), %k", "add(%x vmap(d0) vcast(float3), %k", "inference gives Tensor<float3>[?]"),
    ("resolved", "%0 vmap(d0), %k", "%x vmap(d0), %k", "operand 0: 1 axes neither run along the grid nor fill a float"),
    ("resolved", "%x vmap(d0) vcast(float3)", "%x vmap(d0)", "inference rejects it: luma: argument 'c' does not fit"),
    ("resolved", "%x vmap() vcast(Ptr<float3>)", "%x vmap() vcast(float3)", "inference rejects it: fetch3: argument 'p'"),
    ("resolved", "%0 vmap(d0), %k", "%0 vmap(d1), %k", "inference rejects it: add: no operand runs along grid dimension d0"),
    ("resolved", ' {dirs = ["in", "out", "out"], returns = false}', "", "a resolved call with several results needs dirs"),
    ("resolved", '["inout", "in"], returns = true', '["in", "inout"], returns = true', "dirs are inout in"),
    ("resolved", '["inout", "in"], returns = true', '["inout", "out"], returns = true', "2 operands for directions inout out"),
    (
        "fused",
        "  return %0, %1\n}\n",
        "  %2 = neg(%0 vmap(d0,d1)) : Tensor<float>[?,?]\n  return %0, %1\n}\n",
        "outside a region",
    ),
    ("fused", "%k) : float", "%k vcast(half)) : float", "inside a region, operands have no maps"),
    ("fused", "%x vmap(), %k", "%x vmap(d0), %k", "operand 0: 1 dimensions for a value of rank 0"),
    ("fused", "%x: float,", "%x: Tensor<float>[?],", "a value inside a region has batch axes"),
    ("fused", "%x: float,", "%x: Tensor<float>[],", "inside a body, every value is a single element"),
    ("fused", "%x vmap(d1,d0), %k vmap()", "%x vmap(d1,d0)", "1 operands for bodies with 2 inputs"),
    ("fused", "float>[?] vmap(d1)\n", "float>[?] vmap()\n", "inference gives Tensor<float>[?,?], float"),
    ("fused", "scale(%0 vmap()) : float", "luma(%0 vmap()) : float", "inference rejects it: luma"),
    ("fused", "@m.scale", "@n.scale", "module @n is not imported"),
]


@pytest.mark.parametrize(("stage", "old", "new", "rule"), BREAKS, ids=[b[3][:40] for b in BREAKS])
def test_broken_at_one_stage(stage: str, old: str, new: str, rule: str) -> None:
    text = {"resolved": RESOLVED, "fused": FUSED}[stage]
    assert old in text
    fails(parse_graph(text.replace(old, new, 1)), stage, rule)


def test_a_resolved_graph_passes() -> None:
    graph = parse_graph(RESOLVED)
    for oracle in (ORACLE, None):
        verify(graph, "traced", oracle)
        verify(graph, "resolved", oracle)
    fails(graph, "fused", "outside a region")


def test_a_fused_graph_passes() -> None:
    graph = parse_graph(FUSED)
    for stage in ("traced", "resolved", "fused"):
        verify(graph, stage, ORACLE)
        verify(graph, stage)


def test_a_graph_that_returns_its_inputs_needs_no_region() -> None:
    verify(parse_graph("graph @f(%x: Tensor<float>[?]) -> (Tensor<float>[?]) {\n  return %x\n}"), "fused", ORACLE)


def test_regions_do_not_nest() -> None:
    inner = parse_graph(FUSED)
    region = inner.nodes[0]
    assert region.body is not None
    x, two = f(name="x"), RegionSpec((ResultSpec(()),) * 2)
    nested = Node(OPS["region"], [x, x], [ArgMap(())] * 2, [f(), f()], {"spec": two}, None, region.bodies)
    body = Graph("body", [x], [nested], nested.results)
    outer = Node(OPS["region"], [_x], [ArgMap(())], [f(), f()], {"spec": two}, None, [body])
    fails(Graph("g", [_x], [outer], outer.results, inner.modules), "fused", "a region inside a body")
    fails(one("region", [_x], [f()], [ArgMap(())], spec=RegionSpec((ResultSpec(()),))), "fused", "no body")


def test_a_region_says_how_each_result_lies() -> None:
    graph = parse_graph(FUSED)
    region = with_spec(graph.nodes[0], RegionSpec((ResultSpec((0, 1)),)))
    fails(graph.replace(nodes=[region]), "fused", "1 results for bodies with 2")
    fails(
        graph.replace(nodes=[Node(region.op, region.operands, region.maps, region.results, {}, None, region.bodies)]),
        "fused",
        "region needs the attribute 'spec', a RegionSpec",
    )


def test_a_folded_constant_may_be_strong() -> None:
    verify(one("const", [], [f()], type="float", value=1.0), "resolved", ORACLE)


def test_inference_is_checked_where_it_is_recorded() -> None:
    builder = Builder("f", ORACLE)
    x = builder.input("x", FLOAT, (None,), arrival=TENSOR)
    builder.add(OPS["neg"], [x])
    verify(builder.finish([x]), "traced", ORACLE)
