"""Textual IR: what is printed reads back to an equal graph, and what cannot be read is pointed at."""

# ruff: noqa: E501  (a node of textual IR is one line)

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fusepy.errors import IRSyntaxError, VerifyError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.arrivals import PLAIN, TENSOR
from fusepy.ir.builder import Builder
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops import OPS
from fusepy.ir.parse import parse_graph
from fusepy.ir.printer import print_graph
from fusepy.ir.types import Type
from tests.support.random_graphs import Program, graphs, programs
from tests.support.reference import ORACLE, meaning, settle

TRACED = """
import @look = "9f0a"
graph @look(%img: Tensor<float>[?,3], %gain: weak float) -> (Tensor<float3>[?], weak float) {
  %0 = slang.call @look.exposure(%img vmap(d0) vcast(float3), %gain) : Tensor<float3>[?]  // look.py:12
  %1 = const() {type = "float", value = 0.5} : weak float
  %2 = mul(%gain, %1) : weak float  // my look.py:13
  %3, %4 = slang.call @look.split(%2) {dirs = ["in", "out", "out"], returns = false} : float, float
  return %0, %2
}
"""

FUSED = """
import @look = "9f0a"
import @"my-look" = "11"
graph @"two words"(%a: Tensor<float3>[?,?], %ray.x: List<int>[?], %at: Grid<int2>[?,?], %p: Tensor<float>[], %s: Ray) -> (Tensor<float3>[?,?]) {
  %0, %1 = region(%a vmap(d1,d0), %ray.x vmap() vcast(Ptr<int>)) : Tensor<float3>[?,?] vmap(d0,d1), float vmap()
  body @fused(%a: float3, %ray.x: Ptr<int>) -> (float3, float) {
    %0 = slang.call @"my-look"."gf<float>"(%a vmap()) : float3  // look.py:3
    %1 = member(%0 vmap()) {name = "x"} : float
    return %0, %1
  }
  %2 = region(%0 vmap(d0,d1)) : Tensor<float3>[?,?] vmap(d0,d1)
  body @fused(%x: float3) -> (float3) {
    return %x
  }
  return %2
}
"""

FOLDING = """
import @m = "k"
graph @f(%x: Tensor<float>[?,?], %at: Grid<int2>[?,?], %img: Texture2D<float4>[?,?]) -> (float3) {
  %0, %1, %2 = region(%x vmap(d0,d1), %at vmap(d0,d1) near(x0,x2), %img vmap(d0,d1), %at vmap(d0,d1) near()) fold(call @m."joined<float>" from ["0", "1.5", "0"], argmax) over(d0,d1) : Tensor<float4>[?,?] vmap(d1,d0) into(RWTexture2D<float4>, x2), float3 vmap(), int vmap()
  body @f(%x: float3, %at: int2, %img: float4, %at_2: int2) -> (float4, float3, float4) {
    return %img, %x, %img
  }
  %3 = region(%x vmap(d0,d1)) scan(sum exclusive, call @m.plus from 0.0) over(d1) : Tensor<float>[?,?] vmap(d0,d1), Tensor<float>[?,?] vmap(d0,d1) into(RWTexture2D<float>)
  body @f(%x: float) -> (float, float) {
    return %x, %x
  }
  return %1
}
""".replace("%3 = ", "%3, %4 = ")

# texts that print as they stand
GOLDEN = {
    "traced": TRACED,
    "fused": FUSED,
    "folding": FOLDING,
    "empty": "\ngraph @f() -> () {\n  return\n}\n",
    "misleading types": """
graph @f(%weak: "weak", %a: weak "Tensor<float>[4]", %b: "Tensor<float,2>[3]", %c: Tensor<Tensor<float>[4]>[?], %d: Grid<int2>) -> ("weak") {
  return %weak
}
""",
}


@pytest.mark.parametrize("text", GOLDEN.values(), ids=GOLDEN.keys())
def test_golden_texts_print_as_they_stand(text: str) -> None:
    assert print_graph(parse_graph(text)) == text.strip()


def test_what_a_text_says() -> None:
    graph = parse_graph(TRACED, None)
    image, gain = graph.inputs
    assert (image.arrival, image.dims, image.type.name, image.weak) == (TENSOR, (None, 3), "float", False)
    assert (gain.arrival, gain.dims, gain.weak, gain.name) == (PLAIN, (), True, "gain")
    call, const, _, split = graph.nodes
    assert call.maps == (ArgMap((0,), Type.parse("float3")), ArgMap())
    assert call.attrs == {"module": "look", "function": "exposure"}
    assert call.loc == "look.py:12"
    assert graph.nodes[2].loc == "my look.py:13"
    assert const.attrs == {"type": "float", "value": 0.5}
    assert split.attrs["dirs"] == ("in", "out", "out")
    assert split.attrs["returns"] is False
    assert graph.outputs == (call.results[0], graph.nodes[2].results[0])
    assert graph.modules == (("look", "9f0a"),)


def test_a_body_has_a_scope_of_its_own() -> None:
    graph = parse_graph(FUSED)
    body = graph.nodes[0].body
    assert body is not None
    assert [v.name for v in body.inputs] == ["a", "ray.x"]
    assert body.nodes[0].operands == (body.inputs[0],)
    assert body.modules == ()
    with pytest.raises(IRSyntaxError, match=r"%at is not defined"):
        parse_graph(FUSED.replace("member(%0", "member(%at"))


def test_comments_blank_lines_and_free_names() -> None:
    text = """// a header
      // more

    import @m = "k"  // why

    // between
    graph @f(%x: float) -> (float) {  // here

      // before a node
      %first = add(%x, %x) : float
      // the next two have a location and none
      %2 = neg(%first) : float // a.py:3
      %late=mul( %2 ,%first ):float
      return %late  // done
    }
    // the end
"""
    graph = parse_graph(text.replace("\n", "\r\n"))
    assert graph == parse_graph(text)
    assert [n.loc for n in graph.nodes] == [None, "a.py:3", None]
    assert "%0 = add(%x, %x) : float\n" in str(graph)


# ---- every graph ----------------------------------------------------------------------------------------------------


@given(st.one_of(graphs(), graphs().map(settle)))
def test_every_graph_reads_back(graph: Graph) -> None:
    text = print_graph(graph)
    read = parse_graph(text, ORACLE)
    assert read == graph
    assert hash(read) == hash(graph)
    assert print_graph(read) == text


@given(programs())
def test_a_graph_that_is_read_back_means_the_same(program: Program) -> None:
    read = parse_graph(str(program.graph))
    wanted = meaning(program.graph, program.args, program.functions)
    for want, found in zip(wanted, meaning(read, program.args, program.functions), strict=True):
        np.testing.assert_array_equal(want, found)


FLOATS = st.floats(allow_nan=True, allow_infinity=True, width=64)


@given(st.one_of(FLOATS, st.integers(-(2**70), 2**70), st.booleans(), st.text(), st.lists(st.text()).map(tuple)))
def test_every_attribute_reads_back(value: float | str | tuple[str, ...]) -> None:
    node = Node(OPS["const"], (), (), [Value(Type.parse("float"), weak=True)], {"type": "float", "value": value})
    graph = Graph("f", (), [node], node.results)
    read = parse_graph(print_graph(graph))
    assert read == graph
    assert type(read.nodes[0].attrs["value"]) is type(value)


@given(st.text(min_size=1), st.text(), st.text())
def test_every_name_reads_back(name: str, module: str, function: str) -> None:
    x = Value(Type.parse("float"), (None,), arrival=TENSOR, name=name)
    result = Value(Type.parse("float"), (None,))
    node = Node(OPS["slang.call"], [x], [ArgMap()], [result], {"module": module, "function": function})
    graph = Graph(name, [x], [node], [x], [(module, function)])
    assert parse_graph(print_graph(graph)) == graph


@pytest.mark.parametrize(("one", "other"), [(0.0, -0.0), (1, 1.0), (1, True), ("1", 1)])
def test_graphs_that_print_differently_are_not_equal(one: float | str, other: float | str) -> None:
    texts = [f"graph @f() -> () {{\n  const() {{value = {_literal(v)}}}\n  return\n}}" for v in (one, other)]
    first, second = map(parse_graph, texts)
    assert first != second
    assert print_graph(first) != print_graph(second)


def _literal(value: float | str) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def test_nan_is_equal_to_itself() -> None:
    text = 'graph @f() -> () {\n  const() {value = float("nan")}\n  return\n}'
    assert parse_graph(text) == parse_graph(text)
    assert math.isnan(float(parse_graph(text).nodes[0].attrs["value"]))  # type: ignore[arg-type]


def test_order_and_identity_matter() -> None:
    def build(swap: bool, twice: bool) -> Graph:
        b = Builder("f")
        x, y = (b.input(n, Type.parse("float")) for n in "xy")
        (a,) = b.add(OPS["sub"], [y, x] if swap else [x, y])
        (c,) = b.add(OPS["sub"], [x, y]) if twice else (a,)
        return b.finish([a, c])

    variants = [build(False, False), build(True, False), build(False, True)]
    assert len(set(variants)) == 3
    turned, maps = (FUSED.replace("vmap(d1,d0)", v) for v in ("vmap(d1,d0)", "vmap(d0,d1)"))
    assert parse_graph(turned) != parse_graph(maps)
    assert build(True, False) == build(True, False)


# ---- errors ---------------------------------------------------------------------------------------------------------

HEAD = "graph @f(%x: float) -> (float) {\n"

# text, line, column, what is said, the hint
BROKEN = [
    ("", 1, 1, "unexpected end", "'graph'"),
    ("graph f() -> () {\n", 1, 7, "unexpected 'f'", "'@'"),
    ("graph @f(%x float) -> () {\n", 1, 13, "unexpected 'float'", "':'"),
    ("graph @f(%x: 3float) -> () {\n", 1, 14, "unexpected '3'", "a name"),
    (HEAD + "  %0 = add(%x, %x) : float", 2, 27, "unexpected end", "the end of the line"),
    (HEAD + "  %0 = add(%x, %x) : float  %1 = neg(%x) : float\n", 2, 29, "unexpected '%1'", "a comment"),
    (HEAD + "  %0 = add(%x %x) : float\n", 2, 15, "unexpected '%x'", "','"),
    (HEAD + "  %0 = add(%x, %x :\n", 2, 19, "unexpected ':'", "')'"),
    (HEAD + "\n  // note\n  %0 = tonmap(%x) : float\n  return %0\n}", 4, 8, "unknown operation 'tonmap'", "known names"),
    (HEAD + "  %0 = ad(%x, %x) : float\n  return %0\n}", 2, 8, "unknown operation 'ad'", "did you mean 'add'"),
    (HEAD + "  %0 = slang.cal @m.f(%x) : float\n  return %0\n}", 2, 8, "unknown operation 'slang.cal'", "'slang.call'"),
    (HEAD + "  %0 = slang.call(%x) : float\n  return %0\n}", 2, 8, "has a callee", "slang.call @module.function"),
    (HEAD + "  %0 = neg @m.f(%x) : float\n  return %0\n}", 2, 8, "has a callee", "slang.call @module.function"),
    (HEAD + "  %0 = add(%x, %xx) : float\n  return %0\n}", 2, 16, "%xx is not defined", "did you mean '%x'"),
    (HEAD + "  %0 = add(%x, %0) : float\n  return %0\n}", 2, 16, "%0 is not defined", "%x"),
    (HEAD + "  return %1\n}", 2, 10, "%1 is not defined", "%x"),
    (HEAD + "  %0 = neg(%x) : float\n  %0 = neg(%x) : float\n  return %0\n}", 3, 3, "%0 is defined twice", "name of its own"),
    (HEAD + "  %x = neg(%x) : float\n  return %x\n}", 2, 3, "%x is defined twice", "name of its own"),
    ("graph @f(%x: float, %x: int) -> () {\n  return\n}", 1, 21, "%x is defined twice", "name of its own"),
    ('import @m = "a"\nimport @m = "b"\n' + HEAD + "  return %x\n}", 2, 1, "@m is imported twice", "another alias"),
    (HEAD + "  %0 = neg(%x) : List<float>[?]\n  return %0\n}", 2, 18, "a computed value is no List", "written Tensor"),
    (HEAD + "  %0, %1 = neg(%x) : float\n  return %0\n}", 2, 12, "2 results with 1 types", "one type per result"),
    (HEAD + "  %0 = neg(%x)\n  return %0\n}", 2, 8, "1 results with 0 types", "one type per result"),
    (HEAD + "  return\n}", 1, 7, "1 result types, but 0 values", "after the arrow"),
    ("graph @f(%x: int) -> (weak int) {\n  return %x\n}", 1, 23, "the result type is not that of", "write int"),
    ("graph @f(%x: Tensor<int>[?][2]) -> () {\n  return\n}", 1, 14, "'Tensor<int>[?][2]' is not a Slang type", "float[4]"),
    ("graph @f(%x: Tensor<int>[1.5]) -> () {\n  return\n}", 1, 26, "1.5 is no extent", "whole number"),
    ("graph @f(%x: Tensor<int>[-1]) -> () {\n  return\n}", 1, 26, "-1 is no extent", "whole number"),
    ('graph @f(%x: "a b") -> () {\n  return\n}', 1, 14, "'a b' is not a Slang type name", "float3"),
    (HEAD + '  const() {value = float("1")}\n  return %x\n}', 2, 26, 'float("1") is no constant', 'float("nan")'),
    (HEAD + "  const() {value = 1, value = 2}\n  return %x\n}", 2, 23, "'value' is given twice", "keep one"),
    (HEAD + '  const() {value = "\\q"}\n  return %x\n}', 2, 20, "not a JSON string", "escape as JSON does"),
    (HEAD + "  neg(%x vmap(0))\n  return %x\n}", 2, 15, "unexpected '0'", "a dimension such as d0"),
    (HEAD + "  %0 = neg(%x) : float vmap()\n  return %0\n}", 2, 8, "only a region says how", "leave this out for neg"),
    (HEAD + "  %0 = neg(%x) fold(sum) over(d0) : float\n  return %0\n}", 2, 8, "only a region says how", "leave this out"),
    (HEAD + "  %0 = region(%x) : float\n  return %0\n}", 2, 21, "runs along dimensions of its grid", "write vmap(d0)"),
    (
        HEAD + "  %0 = region(%x near(d0)) : float vmap()\n  return %0\n}",
        2,
        23,
        "unexpected 'd0'",
        "an operand's place such as x0",
    ),
    (
        HEAD + "  %0 = region(%x) fold(sums) over(d0) : float vmap()\n  return %0\n}",
        2,
        8,
        "there is no fold 'sums'",
        "what is folded",
    ),
    (HEAD + "  %0 = region(%x) scan(sum) over() : float vmap()\n  return %0\n}", 2, 34, "unexpected ')'", "such as d0"),
    (HEAD + "  return %x\n}\nmore", 4, 1, "unexpected 'more'", "the end"),
]


@pytest.mark.parametrize(("text", "line", "column", "what", "hint"), BROKEN)
def test_broken_text_is_pointed_at(text: str, line: int, column: int, what: str, hint: str) -> None:
    with pytest.raises(IRSyntaxError) as caught:
        parse_graph(text)
    error = caught.value
    first, shown, caret = str(error).split("\n")[:3]
    assert first.startswith(f"line {line}, column {column}: ")
    assert what in first
    assert hint in error.hint
    assert shown == "    " + text.split("\n")[line - 1]
    assert caret == "    " + " " * (column - 1) + "^"
    assert (error.lineno, error.offset) == (line, column)


def test_the_caret_stands_under_tabs_too() -> None:
    with pytest.raises(IRSyntaxError) as caught:
        parse_graph("graph @f() -> () {\n\t\tfoo()\n\treturn\n}")
    assert str(caught.value).split("\n")[1:3] == ["    \t\tfoo()", "    \t\t^"]


def test_a_syntax_error_is_pythons_too() -> None:
    with pytest.raises(SyntaxError):
        parse_graph("graph")


@given(graphs(max_nodes=3), st.data())
def test_damaged_text_is_an_error_of_ours_or_another_graph(graph: Graph, data: st.DataObject) -> None:
    text = print_graph(graph)
    at = data.draw(st.integers(0, len(text) - 1))
    damaged = text[:at] + data.draw(st.sampled_from(["", " ", "%", "(", '"', "\n", "0", "]", "float"])) + text[at + 1 :]
    try:
        read = parse_graph(damaged)
    except IRSyntaxError:
        return
    assert parse_graph(print_graph(read)) == read
    assert (read == graph) == (print_graph(read) == text)


def test_an_oracle_verifies_what_is_read() -> None:
    text = TRACED.replace("9f0a", "m")
    parse_graph(text, ORACLE)
    with pytest.raises(VerifyError, match=r"inference gives Tensor<float3>\[\?\]"):
        parse_graph(
            text.replace(": Tensor<float3>[?]  //", ": Tensor<float2>[?]  //").replace("(Tensor<float3>", "(Tensor<float2>"),
            ORACLE,
        )
