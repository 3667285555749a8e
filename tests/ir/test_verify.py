"""The verifier: each rule is broken once, and every valid graph passes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from fusepy.errors import VerifyError
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.graph import Attr, Builder, Graph, Node, Value
from fusepy.ir.ops import OPS, Op
from fusepy.ir.parse import parse_graph
from fusepy.ir.types import Type
from fusepy.ir.verify import verify
from tests.strategies import ORACLE, graphs

FLOAT = Type.parse("float")


def f(type: str = "float", rank: int = 0, name: str | None = None, container: str = "", weak: bool = False) -> Value:
    return Value(Type.parse(type), (None,) * rank, name=name, container=container, weak=weak)


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


# ---- traced ---------------------------------------------------------------------------------------------------------


def test_the_message_names_graph_node_place_and_rule() -> None:
    x = f(name="x")
    error = fails(one("add", [x, x], [f("int")]), "traced", "inference gives float")
    assert str(error) == (
        "look.py:3: graph @g, stage 'traced': inference gives float\n"
        "  saw:      %0 = add(%x, %x) : int  // look.py:3\n"
        "  hint:     a pass, or a text written by hand, broke a rule of ir.verify; print the graph to see it whole"
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
broken("container", Graph("g", [f(name="x", container="Heap")], [], []), "no container 'Heap'")
broken("axes of a number", Graph("g", [f(name="x", rank=1)], [], []), "an input with axes needs a container")
broken("strong list", Graph("g", [f(name="x", rank=1, container="List")], [], []), "in a list is weak")
broken("alias", Graph("g", [], [], [], [("m", "a"), ("m", "b")]), "two modules have one alias")
broken("output", Graph("g", [], [], [f()]), "an output is not defined")
broken("operation", Graph("g", [_x], [Node(_Foreign(), [_x, _x], [UNSAID] * 2, [f()])], []), "no operation 'add'")
broken("undefined", Graph("g", [], [Node(OPS["neg"], [f()], [UNSAID], [f()])], []), "operand 0 is used before it is defined")
broken("own result", Graph("g", [], [Node(OPS["neg"], [_y], [UNSAID], [_y])], []), "operand 0 is used before it is defined")
broken("redefined", Graph("g", [_x], [Node(OPS["neg"], [_x], [UNSAID], [_x])], []), "a result is defined twice")
broken("named result", one("neg", [_x], [f(name="y")]), "a computed value has neither name")
broken("sized result", one("neg", [_x], [Value(FLOAT, (3,))]), "a computed value has neither name")
broken("container result", one("neg", [_x], [f(container="Tensor")]), "a computed value has neither name")
broken("too few maps", one("add", [_x, _x], [f()], [UNSAID]), "2 operands with 1 maps")
broken("doubled dim", one("neg", [_x], [f(rank=1)], [ArgMap((0, 0))]), "operand 0: dimension 0 is named twice")
broken("surplus dims", one("neg", [_x], [f(rank=1)], [ArgMap((0,))]), "operand 0: 1 dimensions for a value of rank 0")
broken("numpy attribute", one("const", [], [f(weak=True)], type="float", value=np.float64(1)), "attribute 'value' is a float64")
broken("mixed tuple", one("neg", [_x], [f()], tag=("a", 1)), "attribute 'tag' is a tuple")  # type: ignore[arg-type]
broken("location", Graph("g", [_x], [Node(OPS["neg"], [_x], [UNSAID], [f()], None, "a\nb")], []), "a location is one line")
broken("body", Graph("g", [_x], [Node(OPS["neg"], [_x], [UNSAID], [f()], None, None, Graph("b", [], [], []))], []), "a region has a body")
broken("module", one("slang.call", [_x], [f()], module="other", function="scale"), "module @other is not imported")
broken("callee", one("slang.call", [_x], [f()], module="m"), "slang.call needs the attribute 'function', a str")
broken("arity", one("add", [_x], [f()]), "add takes 2 operands, not 1")
broken("const without value", one("const", [], [f()], type="float"), "const needs the attribute 'value', a int or float")
broken("member without name", one("member", [_x], [f()]), "member needs the attribute 'name', a str")
broken("type", one("neg", [_x], [f("half")]), "inference gives float")
broken("rank", one("neg", [_x], [f(rank=1)]), "inference gives float")
broken("weak", one("neg", [_x], [f(weak=True)]), "inference gives float")
broken("count", one("neg", [_x], [f(), f()]), "inference gives float")
broken("swizzle", one("member", [_x], [f()], name="w"), "inference rejects it: float has no member 'w'")
broken("cast to no type", one("cast", [_x], [f()], type="3"), "inference rejects it: '3' is not a Slang type name")
broken("call type", one("slang.call", [_x], [f("int")], module="m", function="scale"), "inference gives float")
broken("call refused", one("slang.call", [_x], [f()], module="m", function="luma"), "inference rejects it: luma: argument 'c'")
broken("dirs", one("slang.call", [_x], [f()], module="m", function="scale", dirs=("out",)), "1 operands for directions out")
broken("dirs count", one("slang.call", [_x], [f()], module="m", function="scale", dirs=("inout",)), "1 results, 2 expected")
broken("dirs text", one("slang.call", [_x], [f()], module="m", function="scale", dirs="in"), "dirs is a tuple of in, out and inout")


@pytest.mark.parametrize(("graph", "rule"), [t[1:] for t in TRACED], ids=[t[0] for t in TRACED])
@pytest.mark.parametrize("stage", ["traced", "resolved", "fused"])
def test_broken_at_every_stage(stage: str, graph: Graph, rule: str) -> None:
    fails(graph, stage, rule)


def test_without_an_oracle_calls_are_taken_at_their_word() -> None:
    graph = one("slang.call", [_x], [f("int")], module="m", function="scale")
    verify(graph, "traced")
    fails(one("slang.call", [_x], [f(), f(rank=1)], module="m", function="scale"), "traced", "differ in rank", None)


# ---- resolved and fused, as text ------------------------------------------------------------------------------------

RESOLVED = """
import @m = "k"
graph @g(%x: Tensor<float>[?,?], %a: Tensor<float3>[?], %k: weak float, %r: Tensor<Disc>[?]) -> (Tensor<float>[?]) {
  %0 = slang.call @m.luma(%x vmap(d0) vcast(float3)) : Tensor<float>[?]
  %1 = add(%0 vmap(d0), %k vmap()) : Tensor<float>[?]
  %2, %3 = slang.call @m.split(%1 vmap(d0)) {dirs = ["in", "out", "out"], returns = false} : Tensor<float>[?], Tensor<float>[?]
  %4 = slang.call @m.fetch3(%x vmap() vcast(Ptr<float3>), %k vmap() vcast(int)) : float3
  %5 = cast(%0 vmap(d0) vcast(int)) {type = "int"} : Tensor<int>[?]
  %6 = slang.call @m.sum4(%x vmap(d1) vcast(float[4])) : Tensor<float>[?]
  %7 = slang.call @m.area_of(%r vmap(d0)) : Tensor<float>[?]
  return %2
}
"""
RESOLVED = RESOLVED.replace("%k vmap() vcast(int)", "%0 vmap(d0) vcast(int)").replace(" : float3", " : Tensor<float3>[?]").replace("vmap(d1) vcast(float[4])", "vmap(d0) vcast(float[4])")

BREAK_RESOLVED = [
    ("sizes", "%x: Tensor<float>[?,?]", "%x: Tensor<float>[?,3]", "sizes are no part of a resolved program"),
    ("open map", "add(%0 vmap(d0), %k vmap())", "add(%0 vmap(d0), %k)", "operand 1 has no resolved map"),
    ("idle cast", "%k vmap())", "%k vmap() vcast(float))", "operand 1: the vcast changes nothing"),
    ("cast of an operator", "%k vmap())", "%k vmap() vcast(double))", "operand 1: add takes no vcast"),
    ("axes left", "sum4(%x vmap(d0) vcast(float[4]))", "luma(%a vmap())", "inference rejects it: luma: argument 'c' does not fit"),
    ("hole", "neg", "", ""),
    ("no dirs", ' {dirs = ["in", "out", "out"], returns = false}', "", "a resolved call with several results needs dirs"),
]


def test_a_resolved_graph_passes() -> None:
    graph = parse_graph(RESOLVED)
    verify(graph, "traced", ORACLE)
    verify(graph, "resolved", ORACLE)
    verify(graph, "resolved")
    fails(graph, "fused", "outside a region")
