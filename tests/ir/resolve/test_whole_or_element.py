"""Overloads of which one takes an array whole and one takes its elements: the call says which, and is never guessed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.ir.resolve.test_on_a_device import assert_suggestions_work
from tests.support import textures
from tests.support.selection import daily

F32 = np.float32
# element and array that the same argument fits, and one such argument
PAIRS: dict[str, tuple[str, str, Any]] = {
    "seed": ("float3", "float3[2]", [[1, 2, 3], [5, 6, 7]]),
    "numbers": ("float", "float[3]", [1.0, 2.0, 3.0]),
    "pairs": ("float2", "float2[2]", [[1.0, 2.0], [3.0, 4.0]]),
    "matrix": ("float3x3", "float3[3]", np.arange(9, dtype=F32).reshape(3, 3)),
    "matrices": ("float3x3", "float3[3]", np.arange(18.0).reshape(2, 3, 3)),
    "integers": ("int", "int[4]", [1, 2, 3, 4]),
    "rows": ("float", "float[3]", np.ones((5, 3), F32)),
    "pointer": ("float", "Ptr<float>", np.arange(9, dtype=F32)),
    "array": ("float", "Tensor<float,1>", np.arange(9, dtype=F32)),
    "tables": ("float3", "float3[2][2]", np.arange(12, dtype=F32).reshape(2, 2, 3)),  # the first extent is in no key
    "matrix2": ("float2x2", "float2x2[2]", np.arange(8, dtype=F32).reshape(2, 2, 2)),
    "many": ("float", "float[8]", np.arange(8, dtype=F32)),  # of an extent that no key tells
    "written": ("float", "RWTensor<float,1>", np.arange(9, dtype=F32)),
    "vectors": ("float3", "NDBuffer<float3,1>", np.arange(12, dtype=F32).reshape(4, 3)),
    "atomic": ("float", "AtomicTensor<float,1>", np.arange(9, dtype=F32)),
}


def declared(name: str, type: str, value: int) -> str:
    head, _, extents = type.partition("[")
    return f"float {name}({head} x{'[' + extents if extents else ''}) {{ return {value}; }}\n"


SOURCE = "import fusepy;\n" + "".join(
    declared(f"{name}_{order}", type, 100 * (type == whole) + 1)
    for name, (element, whole, _) in PAIRS.items()
    for order, types in (("first", (element, whole)), ("last", (whole, element)))
    for type in types
)
SOURCE += """
float seen(float4 x) { return 1; }
float seen(Texture2D<float4> x) { return 101; }
float longer(float x) { return 1; }
float longer(float x[3]) { return 101; }
T same<T>(T x) { return x; }
float place(int2 x) { return 1; }
float place(int x[2]) { return 101; }
"""
# an overload, a generic one beside it, and an argument that both fit
GENERIC: dict[str, tuple[str, str, Any]] = {
    "extent": ("float x", "<let N : int>(float x[N])", np.arange(3, dtype=F32)),
    "rows": ("float3 x", "<T>(T x[2])", np.arange(6, dtype=F32).reshape(2, 3)),
    "held": ("float x", "<T : IFloat>(Tensor<T,1> x)", np.arange(9, dtype=F32)),
    "rank": ("float x", "<let D : int>(Tensor<float,D> x)", np.arange(9, dtype=F32)),
    "vector": ("float x", "<let N : int>(vector<float,N> x)", np.arange(3, dtype=F32)),
    "element": ("float3 x[2]", "<T : IFloat>(T x)", np.arange(6, dtype=F32).reshape(2, 3)),
}
SOURCE += "".join(
    f"float generic_{name}_{order}{x} {{ return {v}; }}\n"
    for name, (plain, generic, _) in GENERIC.items()
    for order, both in (("first", ((generic, 1), (f"({plain})", 2))), ("last", ((f"({plain})", 2), (generic, 1))))
    for x, v in both
)


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "whole_or_element", SOURCE)


def ways(m: Any, name: str, value: Any) -> list[Any]:
    with pytest.raises(fp.AmbiguousCallError, match="2 ways") as caught:
        m[name](value)
    with pytest.raises(fp.AmbiguousCallError, match="2 ways"):
        fp.resolve(m[name], value)
    return assert_suggestions_work(m, caught.value, {"x": value})


def fused_call(m: Any, call: str) -> Any:
    return fp.fuse(lambda x: eval(call, {"fp": fp, "m": m, "x": x}))


@pytest.mark.filterwarnings("ignore::fusepy.PrecisionWarning")
@pytest.mark.req("C9", "V16")
@pytest.mark.parametrize("name", daily(PAIRS, "seed", "array", "pointer", "many"))
def test_both_are_named_and_each_can_be_said(m: Any, device: Any, name: str) -> None:
    value = PAIRS[name][2]
    array = np.asarray(value, np.int32 if name == "integers" else F32)
    for order in ("first", "last"):
        for given in (value, array, fp.Tensor.from_numpy(device, array)):
            results = ways(m, f"{name}_{order}", given)
            assert sorted(float(np.max(r)) for r in results) == [1, 101]
    with pytest.raises(fp.AmbiguousCallError) as caught:
        fp.fuse(lambda x: m[f"{name}_first"](x))(array)
    spelled = [call for line in caught.value.hint.splitlines()[1:] for call in line.strip().split(" or ")]
    fused = [fused_call(m, call)(array) for call in spelled]
    assert {float(np.max(r)) for r in fused} == {1, 101}


@pytest.mark.req("C9", "V16")
@pytest.mark.parametrize("name", daily(GENERIC, "extent", "element"))
def test_generic_overloads_are_candidates(m: Any, device: Any, name: str) -> None:
    array = GENERIC[name][2]
    for order in ("first", "last"):
        for given in (array, array.tolist(), fp.Tensor.from_numpy(device, array)):
            with pytest.raises(fp.AmbiguousCallError) as caught:
                m[f"generic_{name}_{order}"](given)
            assert {float(np.max(r)) for r in assert_suggestions_work(m, caught.value, {"x": given})} == {1, 2}
    assert m.generic_extent_first(2.0) == 2
    assert m.generic_element_first(2.0) == 1
    np.testing.assert_array_equal(m.generic_element_last(np.ones(5, F32)), np.ones(5))


@pytest.mark.req("C9", "T19")
def test_textures(m: Any, device: Any) -> None:
    texture = textures.make(device, "Texture2D", "rgba32_float", np.ones((3, 4, 4), F32))
    with pytest.raises(fp.AmbiguousCallError) as caught:
        m.seen(texture)
    spelled = [call for line in caught.value.hint.splitlines()[1:] for call in line.strip().split(" or ")]
    results = [eval(call, {"fp": fp, "m": m, "x": texture}).to_numpy() for call in spelled]
    assert [(r.shape, float(r.max())) for r in results].count(((3, 4), 1)) == 2
    assert [(r.shape, float(r.max())) for r in results].count(((), 101)) == 2


@pytest.mark.req("C9", "V1")
def test_what_only_one_takes_is_not_ambiguous(m: Any) -> None:
    assert m.seed_first([5, 6, 7]) == 1
    assert m.seed_first([[1, 2, 3]] * 5) == [1] * 5
    assert m.numbers_first(2.0) == 1
    assert m.longer([1.0, 2.0, 3.0, 4.0]) == [1] * 4
    np.testing.assert_array_equal(m.longer(np.ones(100, F32)), np.ones(100))
    np.testing.assert_array_equal(m.longer(np.ones((3, 5), F32)), np.ones((3, 5)))
    np.testing.assert_array_equal(m.same(np.ones(9, F32)), np.ones(9))  # a generic could be anything: it is an element
    np.testing.assert_array_equal(np.asarray(m.place(fp.grid((2, 2)))), np.ones((2, 2)))  # no axes go into either
