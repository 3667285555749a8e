"""Resolution: what each call binds to, by Slang's rules as the fake oracle (held to the real one) knows them."""

from __future__ import annotations

import re

import pytest

from fusepy.errors import (
    AmbiguousCallError,
    ArgumentError,
    FusepyError,
    NoMatchError,
    ResolveError,
    ShapeError,
    UnknownNameError,
    UnsupportedArgumentError,
)
from fusepy.ir.argmap import ArgMap
from fusepy.ir.graph import Value
from fusepy.ir.oracle import Oracle
from fusepy.ir.parse import parse_graph
from fusepy.ir.resolve import Resolution, resolve_call, show
from tests.fake_oracle import FakeOracle
from tests.strategies import FLOAT, ORACLE


def operands(text: str) -> tuple[str, list[Value], list[ArgMap]]:
    """``luma(Tensor<float>[?,3] vmap(d0))`` as a function's name, values and maps; `;` is between arguments.

    ``computed`` before a type makes it a computed value, which has no container.
    """
    match = re.fullmatch(r"(\w+)\((.*)\)", text)
    assert match, text
    parts = [p.strip() for p in match[2].split(";") if p.strip()]
    spelled = [re.split(r" (?=vmap|vcast)", p, maxsplit=1) for p in parts]
    header = ", ".join(f"%a{i}: {s[0].removeprefix('computed ')}" for i, s in enumerate(spelled))
    used = ", ".join(" ".join([f"%a{i}", *s[1:]]) for i, s in enumerate(spelled))
    graph = parse_graph(f"graph @g({header}) -> () {{\n  slang.call @m.{match[1]}({used})\n  return\n}}")
    values = [Value(v.type, v.dims, weak=v.weak) if s[0].startswith("computed") else v for v, s in zip(graph.inputs, spelled)]
    return match[1], values, list(graph.nodes[0].maps)


def resolve(text: str, oracle: Oracle = ORACLE) -> Resolution:
    name, values, maps = operands(text)
    return resolve_call(oracle, "m", name, values, maps, "look.py:12")


# call, the parameters that Slang answers, the maps, the results, the rank of the grid
BINDS = [
    # exactly what is asked for
    ("luma(Tensor<float3>[?,?])", "float3 c", ["vmap(d0,d1)"], "return float", 2),
    ("luma(float3)", "float3 c", ["vmap()"], "return float", 0),
    ("coord(Grid<int2>[?,?])", "int2 p", ["vmap(d0,d1)"], "return int2", 2),
    ("at(Tensor<Ray>[?]; Tensor<float>[?])", "Ray r, float t", ["vmap(d0)", "vmap(d0)"], "return float3", 1),
    ("make_ray(float3; float3)", "float3 origin, float3 dir", ["vmap()", "vmap()"], "return Ray", 0),
    ("plus(Tensor<int>[?]; Tensor<int>[?])", "int a, int b", ["vmap(d0)", "vmap(d0)"], "return int", 1),
    ("same(Tensor<Ray>[?])", "Ray x", ["vmap(d0)"], "return Ray", 1),
    ("area_of(Tensor<Disc>[?])", "IShape s", ["vmap(d0)"], "return float", 1),
    ("area_gen(Tensor<Disc>[?])", "Disc s", ["vmap(d0)"], "return float", 1),
    ("luma(computed Tensor<float3>[?])", "float3 c", ["vmap(d0)"], "return float", 1),
    # trailing axes fill vectors and matrices
    ("luma(Tensor<float>[?,3])", "float3 c", ["vmap(d0) vcast(float3)"], "return float", 1),
    ("luma(Tensor<float>[3])", "float3 c", ["vmap() vcast(float3)"], "return float", 0),
    ("norm(Tensor<float>[?])", "float x", ["vmap(d0)"], "return float", 1),
    ("norm(Tensor<float>[?,4])", "float x", ["vmap(d0,d1)"], "return float", 2),
    (
        "transform(Tensor<float>[?,3,3]; Tensor<float>[?,3])",
        "float3x3 m, float3 v",
        ["vmap(d0) vcast(float3x3)", "vmap(d0) vcast(float3)"],
        "return float3",
        1,
    ),
    ("scale(Tensor<float>[?,1])", "float x", ["vmap(d0,d1)"], "return float", 2),
    ("same(Tensor<float>[?,1])", "float x", ["vmap(d0,d1)"], "return float", 2),
    # Python numbers convert
    ("exposure(Tensor<float3>[?]; weak int)", "float3 c, float gain", ["vmap(d0)", "vmap() vcast(float)"], "return float3", 1),
    ("small(weak float)", "half x", ["vmap() vcast(half)"], "return half", 0),
    ("twice(weak int)", "double x", ["vmap() vcast(double)"], "return double", 0),
    ("luma(weak float)", "float3 c", ["vmap() vcast(float3)"], "return float", 0),
    ("flip(weak int)", "bool b", ["vmap() vcast(bool)"], "return bool", 0),
    ("plus(weak int; weak int)", "int a, int b", ["vmap()", "vmap()"], "return int", 0),
    ("plus(weak int; weak float)", "float a, float b", ["vmap() vcast(float)", "vmap()"], "return float", 0),
    ("plus(Tensor<float>[?]; weak int)", "float a, float b", ["vmap(d0)", "vmap() vcast(float)"], "return float", 1),
    ("total(Tensor<float3>[?]; weak int)", "float3 a, float3 b", ["vmap(d0)", "vmap() vcast(float3)"], "return float3", 1),
    ("total(Tensor<half>[?]; weak int)", "half a, half b", ["vmap(d0)", "vmap() vcast(half)"], "return half", 1),
    ("scale(computed weak Tensor<int>[?])", "float x", ["vmap(d0) vcast(float)"], "return float", 1),
    # Slang decides what a list is
    ("luma(List<int>[3])", "float3 c", ["vmap() vcast(float3)"], "return float", 0),
    ("coord(List<int>[2])", "int2 p", ["vmap() vcast(int2)"], "return int2", 0),
    ("scale(List<int>[3])", "float x", ["vmap(d0) vcast(float)"], "return float", 1),
    ("luma(List<float>[?,3])", "float3 c", ["vmap(d0) vcast(float3)"], "return float", 1),
    # broadcasting aligns to the right
    ("plus(Tensor<float>[?,?]; Tensor<float>[?])", "float a, float b", ["vmap(d0,d1)", "vmap(d1)"], "return float", 2),
    ("exposure(Tensor<float3>[?]; Tensor<float>[?,?])", "float3 c, float gain", ["vmap(d1)", "vmap(d0,d1)"], "return float3", 2),
    # vmap
    (
        "plus(Tensor<float>[?] vmap(d0); Tensor<float>[?] vmap(d1))",
        "float a, float b",
        ["vmap(d0)", "vmap(d1)"],
        "return float",
        2,
    ),
    (
        "plus(Tensor<float>[?,?] vmap(d1,d0); Tensor<float>[?])",
        "float a, float b",
        ["vmap(d1,d0)", "vmap(d1)"],
        "return float",
        2,
    ),
    ("norm(Tensor<float>[?,3] vmap(d0))", "float3 x", ["vmap(d0) vcast(float3)"], "return float", 1),
    ("norm(Tensor<float>[?,3] vmap(d0,d1))", "float x", ["vmap(d0,d1)"], "return float", 2),
    ("same(List<int>[3] vmap())", "int3 x", ["vmap() vcast(int3)"], "return int3", 0),
    ("same(List<int>[3] vmap(d0))", "int x", ["vmap(d0)"], "return int", 1),
    # vcast
    ("norm(Tensor<float>[?,3] vcast(float3))", "float3 x", ["vmap(d0) vcast(float3)"], "return float", 1),
    ("norm(Tensor<float>[?,3] vcast(float))", "float x", ["vmap(d0,d1)"], "return float", 2),
    ("luma(Tensor<float>[?,?] vcast(float3))", "float3 c", ["vmap(d0) vcast(float3)"], "return float", 1),
    ("luma(Tensor<int>[?,?] vcast(float3))", "float3 c", ["vmap(d0) vcast(float3)"], "return float", 1),
    ("luma(Tensor<half3>[?] vcast(float3))", "float3 c", ["vmap(d0) vcast(float3)"], "return float", 1),
    ("scale(Tensor<double>[?] vcast(float))", "float x", ["vmap(d0) vcast(float)"], "return float", 1),
    ("scale(computed Tensor<double>[?] vcast(float))", "float x", ["vmap(d0) vcast(float)"], "return float", 1),
    ("same(Tensor<int>[?] vcast(half))", "half x", ["vmap(d0) vcast(half)"], "return half", 1),
    ("luma(weak int vcast(float3))", "float3 c", ["vmap() vcast(float3)"], "return float", 0),
    ("norm(Tensor<int>[?,?] vmap(d0) vcast(float3))", "float3 x", ["vmap(d0) vcast(float3)"], "return float", 1),
    # whole arrays
    (
        "fetch(Tensor<float>[?,?]; Tensor<int>[?])",
        "Ptr<float> p, int i",
        ["vmap() vcast(Ptr<float>)", "vmap(d0)"],
        "return float",
        1,
    ),
    ("fetch(List<float>[3]; weak int)", "Ptr<float> p, int i", ["vmap() vcast(Ptr<float>)", "vmap()"], "return float", 0),
    (
        "fetch(Tensor<float>[?] vmap(); weak int)",
        "Ptr<float> p, int i",
        ["vmap() vcast(Ptr<float>)", "vmap()"],
        "return float",
        0,
    ),
    ("fetch3(Tensor<float3>[?]; weak int)", "Ptr<float3> p, int i", ["vmap() vcast(Ptr<float3>)", "vmap()"], "return float3", 0),
    ("fetch3(Tensor<float>[?,3]; weak int)", "Ptr<float3> p, int i", ["vmap() vcast(Ptr<float3>)", "vmap()"], "return float3", 0),
    ("fetch(Ptr<float>; weak int)", "Ptr<float> p, int i", ["vmap()", "vmap()"], "return float", 0),
    ("sum4(Tensor<float>[?,4])", "float[4] a", ["vmap(d0) vcast(float[4])"], "return float", 1),
    ("sum4(Tensor<float[4]>[?])", "float[4] a", ["vmap(d0)"], "return float", 1),
    ("same(Tensor<float>[?] vcast(Ptr<float>))", "Ptr<float> x", ["vmap() vcast(Ptr<float>)"], "return Ptr<float>", 0),
    # defaults, outputs
    ("scale(Tensor<float>[?])", "float x", ["vmap(d0)"], "return float", 1),
    ("scale(Tensor<float>[?]; float)", "float x, float k", ["vmap(d0)", "vmap()"], "return float", 1),
    ("split(Tensor<float>[?])", "float v, out float whole, out float rest", ["vmap(d0)"], "whole float, rest float", 1),
    (
        "bump(Tensor<float>[?]; weak int)",
        "inout float v, float by",
        ["vmap(d0)", "vmap() vcast(float)"],
        "return float, v float",
        1,
    ),
    ("bump(weak int; float)", "inout float v, float by", ["vmap() vcast(float)", "vmap()"], "return float, v float", 0),
    ("note(Tensor<float>[?])", "float v", ["vmap(d0)"], "", 1),
]


@pytest.mark.parametrize(("call", "params", "maps", "results", "rank"), BINDS, ids=[b[0] for b in BINDS])
@pytest.mark.req("V1", "V2", "V3", "V4", "V5", "C5")
def test_binds(call: str, params: str, maps: list[str], results: str, rank: int) -> None:
    answer = resolve(call)
    assert show("f", answer.params) == f"f({params})"
    assert [str(m) for m in answer.maps] == maps
    assert ", ".join(f"{name} {type}" for name, type in answer.results) == results
    assert answer.grid_rank == rank


@pytest.mark.parametrize("call", [b[0] for b in BINDS])
def test_resolving_what_is_resolved_changes_nothing(call: str) -> None:
    first = resolve(call)
    name, values, _ = operands(call)
    unsized = [Value(v.type, (None,) * v.rank, container=v.container, weak=v.weak) for v in values]
    assert resolve_call(ORACLE, "m", name, unsized, first.maps) == first


# call, error, what its text has to name
REFUSED: list[tuple[str, type[FusepyError], list[str]]] = [
    # both types, and what to do
    ("luma(Tensor<float4>[?])", NoMatchError, ["argument 'c'", "saw:      Tensor<float4>[?]", "expected: float3", "swizzle"]),
    (
        "luma(Tensor<float>[?,2])",
        NoMatchError,
        ["Tensor<float>[?,2]", "float or float2", "expected: float3", "trailing axes of 3;"],
    ),
    ("transform(Tensor<float>[?,3]; float3)", NoMatchError, ["argument 'm'", "expected: float3x3", "trailing axes of 3 x 3;"]),
    ("scale(Tensor<int>[?])", NoMatchError, ["Tensor<int>[?]", "expected: float", "never silent", "np.float32", "m.float)"]),
    ("scale(Tensor<double>[?])", NoMatchError, ["Tensor<double>[?]", "expected: float", "never silent"]),
    ("scale(computed Tensor<double>[?])", NoMatchError, ["double over a grid of 1", "expected: float"]),
    ("scale(Tensor<Ray>[?])", NoMatchError, ["Tensor<Ray>[?]", "expected: float", "pass a float"]),
    ("at(Tensor<Disc>[?]; float)", NoMatchError, ["argument 'r'", "Disc", "expected: Ray"]),
    ("coord(weak float)", NoMatchError, ["Python number (float)", "expected: int2"]),
    ("bits(weak float)", NoMatchError, ["Python number (float)", "expected: uint", "never silent"]),
    ("luma(List<float>[2])", NoMatchError, ["List<float>[2]", "float or float2", "expected: float3"]),
    ("luma(computed Tensor<float>[?])", NoMatchError, ["float over a grid of 1", "expected: float3"]),
    ("fetch(weak float; weak int)", NoMatchError, ["argument 'p'", "expected: Ptr<float>"]),
    ("fetch(computed Tensor<float>[?]; weak int)", NoMatchError, ["argument 'p'", "expected: Ptr<float>"]),
    ("fetch(Tensor<int>[?]; weak int)", NoMatchError, ["argument 'p'", "Tensor<int>[?]", "expected: Ptr<float>"]),
    ("fetch(Tensor<float>[?] vmap(d0); weak int)", NoMatchError, ["argument 'p'", "expected: Ptr<float>"]),
    ("bump(Tensor<int>[?]; float)", NoMatchError, ["argument 'v'", "Tensor<int>[?]", "expected: float"]),
    ("luma(Tensor<float>[?,?] vcast(float2))", NoMatchError, ["can bind as float2", "expected: float3"]),
    ("scale(Tensor<float>[?,?] vmap(d0))", NoMatchError, ["under vmap(d0) binds as nothing", "expected: float"]),
    ("area_of(Tensor<Ray>[?])", NoMatchError, ["no overload takes", "Tensor<Ray>[?]", "generic s"]),
    # overloads
    (
        "plus(Tensor<half>[?]; Tensor<half>[?])",
        NoMatchError,
        ["no overload", "plus(float a, float b) -> float; plus(int a, int b) -> int"],
    ),
    (
        "plus(float3; float3)",
        NoMatchError,
        ["saw:      float3, float3", "Slang says: no overload for 'plus'", "(float3, float3)"],
    ),
    ("total(Tensor<float2>[?]; float3)", NoMatchError, ["no overload", "Tensor<float2>[?], float3", "vcast(value, type)"]),
    # more than one way
    (
        "norm(Tensor<float>[?,3])",
        AmbiguousCallError,
        ["2 ways", "norm(float x) -> float", "norm(float3 x) -> float", "'x'", "m.float) or"],
    ),
    ("same(Tensor<float>[?,3])", AmbiguousCallError, ["choose for 'x'", "fp.vcast(x, m.float) or fp.vcast(x, m.float3)"]),
    ("same(List<int>[3])", AmbiguousCallError, ["fp.vcast(x, m.int) or fp.vcast(x, m.int3)"]),
    ("same(Tensor<float>[?,3,3])", AmbiguousCallError, ["3 ways", "m.float)"]),
    # counts
    ("scale()", ArgumentError, ["misses the argument 'x'", "saw:      0 arguments", "scale(float x, float k)", "pass x="]),
    ("plus(float)", ArgumentError, ["misses the argument 'b'", "pass b="]),
    (
        "scale(float; float; float)",
        ArgumentError,
        ["takes 2 arguments, 3 were given", "scale(float x, float k)", "out parameters"],
    ),
    ("plus(float; float; float)", ArgumentError, ["takes 2 arguments", "plus(float a, float b); plus(int a, int b)"]),
    ("split(float; float)", ArgumentError, ["takes 1 argument, 2 were given", "out float whole"]),
    # mappings and casts that cannot be
    (
        "scale(Tensor<float>[?] vmap(d0,d1))",
        ShapeError,
        ["argument 'x': vmap names 2 axes of a value with 1", "one grid dimension per"],
    ),
    ("scale(Tensor<float>[?] vmap(d1))", ShapeError, ["no argument runs along grid dimension d0", "x: vmap(d1)", "without gaps"]),
    ("plus(Tensor<float>[?] vmap(d0); Tensor<float>[?] vmap(d3))", ShapeError, ["d1, d2", "a: vmap(d0), b: vmap(d3)"]),
    ("luma(Tensor<float>[?] vcast(Ray))", UnsupportedArgumentError, ["argument 'c': Tensor<float>[?] cannot be cast to Ray"]),
    ("luma(Tensor<float2>[?] vcast(float3))", UnsupportedArgumentError, ["Tensor<float2>[?] cannot be cast to float3"]),
    ("luma(computed Tensor<float>[?] vcast(float3))", UnsupportedArgumentError, ["float over a grid of 1 cannot be cast"]),
    ("luma(Tensor<float>[] vcast(float3))", UnsupportedArgumentError, ["Tensor<float>[] cannot be cast to float3"]),
    ("nope(float)", UnknownNameError, ["no function 'nope'", "note"]),
]


@pytest.mark.parametrize(("call", "error", "named"), REFUSED, ids=[r[0] for r in REFUSED])
@pytest.mark.req("C9", "T3", "V1")
def test_refused(call: str, error: type[FusepyError], named: list[str]) -> None:
    with pytest.raises(error) as caught:
        resolve(call)
    text = str(caught.value)
    for words in named:
        assert words in text
    assert caught.value.hint
    assert caught.value.place == "look.py:12" or error is UnknownNameError
    assert "\n  saw:      \n" not in text


def test_a_whole_message() -> None:
    with pytest.raises(NoMatchError) as caught:
        resolve("luma(Tensor<float>[?,2])")
    assert str(caught.value) == (
        "look.py:12: luma: argument 'c' does not fit\n"
        "  saw:      Tensor<float>[?,2], which can bind as float or float2\n"
        "  expected: float3\n"
        "  hint:     a float3 takes trailing axes of 3; reshape the array, or vcast to the type that it holds"
    )


def test_an_element_is_preferred_to_the_whole_array() -> None:
    oracle = FakeOracle(
        "public float f(float x) { return x; }\npublic float f(Ptr<float> x) { return x[0]; }\n"
        "public float g(Ptr<float> x) { return x[0]; }"
    )
    assert resolve("f(Tensor<float>[?])", oracle).grid_rank == 1
    assert resolve("f(Tensor<float>[?] vmap())", oracle).grid_rank == 0
    assert resolve("g(Tensor<float>[?])", oracle).grid_rank == 0


def test_hopeless_questions_are_not_asked() -> None:
    oracle = FakeOracle()
    resolve("plus(Tensor<float>[?,4]; Tensor<float>[4])", oracle)
    assert oracle.asked == [("plus", (FLOAT, FLOAT))]


def test_a_generic_output_cannot_be_inferred() -> None:
    oracle = FakeOracle("public void fill<T>(float x, out T y) { }")
    with pytest.raises(ResolveError, match="the type of a generic out parameter cannot be inferred") as caught:
        resolve("fill(float)", oracle)
    assert "f<float>" in caught.value.hint


def test_too_many_ways_to_ask() -> None:
    params = ", ".join(f"T x{i}" for i in range(8))
    oracle = FakeOracle(f"public float many<T>({params}) {{ return 0; }}")
    call = "; ".join(["Tensor<float>[?,4,4]"] * 8)
    with pytest.raises(ResolveError, match="too many ways to bind the arguments"):
        resolve(f"many({call})", oracle)
