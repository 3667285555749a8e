"""Calls that resolution refuses: the error says what was offered, what was wanted, and what to do."""

from __future__ import annotations

import pytest

from fusepy.errors import (
    AmbiguousCallError,
    ArgumentError,
    FusepyError,
    NoMatchError,
    ShapeError,
    UnknownNameError,
    UnsupportedArgumentError,
)
from tests.support.textual_calls import resolve

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
    ("scale(Tensor<int>[?])", NoMatchError, ["Tensor<int>[?]", "expected: float", "never silent", "fp.vcast(value, m.float)"]),
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
        [
            "2 ways",
            "norm(float x) -> float",
            "norm(float3 x) -> float",
            "m.norm(fp.vcast(x, m.float3)) or m.norm(fp.vmap(x, (0,)))",
        ],
    ),
    (
        "same(Tensor<float>[?,3])",
        AmbiguousCallError,
        ["m.same(fp.vcast(x, m.float)) or m.same(fp.vmap(x, (0, 1)))", "vcast(x, m.float3)"],
    ),
    (
        "same(List<int>[3])",
        AmbiguousCallError,
        ["choose for 'x'", "m.same(fp.vcast(x, m.int)) or", "m.same(fp.vcast(x, m.int3)) or m.same(fp.vmap(x, ()))"],
    ),
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
        "  saw:      Tensor<float>[?,2], which can bind as float or float2. Argument 0 could not be resolved\n"
        "  expected: float3\n"
        "  hint:     a float3 takes trailing axes of 3; reshape the array, or declare the parameter as what it holds"
    )
