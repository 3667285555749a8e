"""Resolution: what each call binds to, by Slang's rules as the fake oracle (held to the real one) knows them."""

from __future__ import annotations

import pytest

from fusepy.errors import (
    AmbiguousCallError,
    ResolveError,
)
from fusepy.ir.graph import Value
from fusepy.ir.resolve.resolve import resolve_call
from fusepy.ir.resolve.spelling import show
from tests.support.fake_oracle import FakeOracle
from tests.support.random_graphs import FLOAT
from tests.support.reference import ORACLE
from tests.support.textual_calls import operands, resolve

# call, the parameters that Slang answers, the maps, the results, the rank of the grid
BINDS = [
    # exactly what is asked for
    ("luma(Tensor<float3>[?,?])", "float3 c", ["vmap(d0,d1)"], "return float", 2),
    ("luma(float3)", "float3 c", ["vmap()"], "return float", 0),
    ("coord(Grid<int2>[?,?])", "int2 p", ["vmap(d0,d1)"], "return int2", 2),
    ("at(Tensor<Ray>[?]; Tensor<float>[?])", "Ray r, float t", ["vmap(d0)", "vmap(d0)"], "return float3", 1),
    ("make_ray(float3; float3)", "float3 o, float3 d", ["vmap()", "vmap()"], "return Ray", 0),
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
    unsized = [Value(v.type, (None,) * v.rank, arrival=v.arrival, weak=v.weak) for v in values]
    assert resolve_call(ORACLE, "m", name, unsized, first.maps) == first


def test_an_element_is_not_preferred_to_the_whole_array() -> None:
    oracle = FakeOracle(
        "public float f(float x) { return x; }\npublic float f(Ptr<float> x) { return x[0]; }\n"
        "public float g(Ptr<float> x) { return x[0]; }"
    )
    with pytest.raises(AmbiguousCallError, match="2 ways"):
        resolve("f(Tensor<float>[?])", oracle)
    assert resolve("f(Tensor<float>[?] vmap(d0))", oracle).grid_rank == 1
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
