"""One contract, two oracles: the compiler behind `SlangOracle`, and the fake that stands in for it where there is no device."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from fusepy.errors import UnknownNameError
from fusepy.ir.oracle import INOUT, OUT, Answer, Oracle
from fusepy.ir.resolve.spelling import show
from fusepy.ir.types import Type
from tests.support.fake_oracle import SOURCE, FakeOracle

pytestmark = pytest.mark.req("V1")


@pytest.fixture(scope="session")
def slang(device: Any) -> Oracle:
    """The compiler's own answers about `SOURCE`."""
    from fusepy.backend.sources.source import ModuleSource

    return device.oracle({"m": ModuleSource.make("m", SOURCE)})


@pytest.fixture(params=["fake", "slang"])
def oracle(request: pytest.FixtureRequest) -> Oracle:
    return FakeOracle() if request.param == "fake" else request.getfixturevalue("slang")


def types(text: str) -> list[Type]:
    return [Type.parse(t) for t in text.split()]


def shown(function: str, answer: Answer | None) -> str | None:
    return None if answer is None else show(function, answer.params, answer.result)


DECLARED = {
    "exposure": ["exposure(float3 c, float gain) -> float3"],
    "plus": ["plus(float a, float b) -> float", "plus(int a, int b) -> int"],
    "same": ["same(generic x)"],
    "pick": ["pick(generic a, generic b, bool second)"],
    "split": ["split(float v, out float whole, out float rest) -> void"],
    "bump": ["bump(inout float v, float by) -> float"],
    "at": ["at(Ray r, float t) -> float3"],
    "sum4": ["sum4(float[4] a) -> float"],
    "fetch3": ["fetch3(Ptr<float3> p, int i) -> float3"],
    "area_of": ["area_of(generic s) -> float"],
    "area_gen": ["area_gen(generic s) -> float"],
    "Ray::ahead": ["Ray::ahead(Ray this, float t) -> float3"],
    "Ray::cast": ["Ray::cast(Ray this, float t) -> float", "Ray::cast(Ray this, float3 v) -> float"],
    "Ray::move": ["Ray::move(inout Ray this, float t) -> float"],
    "Ray::aim": ["Ray::aim(float3 o, float3 d) -> Ray"],
    "Disc::area": ["Disc::area(Disc this) -> float"],
}


@pytest.mark.parametrize("function", DECLARED)
def test_declarations(oracle: Oracle, function: str) -> None:
    found = [show(function, s.params, s.result) for s in oracle.declared("m", function)]
    assert sorted(found) == DECLARED[function]


def test_a_function_that_is_not_there(oracle: Oracle) -> None:
    with pytest.raises(UnknownNameError, match="no function 'exposur'") as caught:
        oracle.declared("m", "exposur")
    assert "did you mean 'exposure'?" in caught.value.hint


# function, the types asked with, the answer
ANSWERS = [
    ("exposure", "float3 float", "exposure(float3 c, float gain) -> float3"),
    ("exposure", "half3 int", "exposure(float3 c, float gain) -> float3"),
    ("exposure", "float float", "exposure(float3 c, float gain) -> float3"),
    ("exposure", "float4 float", None),
    ("exposure", "float2 float", None),
    ("exposure", "float3 float3", None),
    ("exposure", "float3", None),
    ("scale", "float", "scale(float x, float k) -> float"),
    ("scale", "double bool", "scale(float x, float k) -> float"),
    ("scale", "", None),
    ("plus", "int int", "plus(int a, int b) -> int"),
    ("plus", "uint bool", "plus(int a, int b) -> int"),
    ("plus", "int float", "plus(float a, float b) -> float"),
    ("plus", "half half", "plus(float a, float b) -> float"),
    ("plus", "double double", None),
    ("plus", "float3 float3", None),
    ("norm", "half3", "norm(float3 x) -> float"),
    ("norm", "int", "norm(float x) -> float"),
    ("same", "Ray", "same(Ray x) -> Ray"),
    ("same", "float[4]", "same(float[4] x) -> float[4]"),
    ("same", "Ptr<float3>", "same(Ptr<float3> x) -> Ptr<float3>"),
    ("pick", "float float bool", "pick(float a, float b, bool second) -> float"),
    ("pick", "int half int", "pick(half a, half b, bool second) -> half"),
    ("pick", "float3 Ray bool", None),
    ("total", "int float3", "total(float3 a, float3 b) -> float3"),
    ("total", "Ray Ray", None),
    ("split", "int float float", "split(float v, out float whole, out float rest) -> void"),
    ("split", "float", None),
    ("bump", "float half", "bump(inout float v, float by) -> float"),
    ("bump", "int float", None),
    ("at", "Ray int", "at(Ray r, float t) -> float3"),
    ("at", "Disc float", None),
    ("transform", "float3x3 float3", "transform(float3x3 m, float3 v) -> float3"),
    ("transform", "float float", "transform(float3x3 m, float3 v) -> float3"),
    ("transform", "half float", None),
    ("transform", "float2x2 float3", None),
    ("sum4", "float[4]", "sum4(float[4] a) -> float"),
    ("sum4", "float4", None),
    ("fetch", "Ptr<float> int", "fetch(Ptr<float> p, int i) -> float"),
    ("fetch", "Ptr<float3> int", None),
    ("fetch", "float int", None),
    ("area_gen", "Disc", "area_gen(Disc s) -> float"),
    ("area_gen", "Ray", None),
    ("area_of", "Ray", None),
    ("make_ray", "float3 float3", "make_ray(float3 o, float3 d) -> Ray"),
    ("Ray::ahead", "Ray half", "Ray::ahead(Ray this, float t) -> float3"),
    ("Ray::ahead", "Disc float", None),
    ("Ray::ahead", "float", None),
    ("Ray::cast", "Ray float3", "Ray::cast(Ray this, float3 v) -> float"),
    ("Ray::cast", "Ray half3", "Ray::cast(Ray this, float3 v) -> float"),
    ("Ray::cast", "Ray int", "Ray::cast(Ray this, float t) -> float"),
    ("Ray::cast", "Ray float2", None),
    ("Ray::move", "Ray float", "Ray::move(inout Ray this, float t) -> float"),
    ("Ray::aim", "float3 float", "Ray::aim(float3 o, float3 d) -> Ray"),
    ("Ray::aim", "Ray float3", None),
    ("Disc::area", "Disc", "Disc::area(Disc this) -> float"),
]


@pytest.mark.parametrize(("function", "asked", "answer"), ANSWERS, ids=[f"{f}({a})" for f, a, _ in ANSWERS])
def test_answers(oracle: Oracle, function: str, asked: str, answer: str | None) -> None:
    assert shown(function, oracle.resolve("m", function, types(asked))) == answer
    assert (oracle.diagnose("m", function, types(asked)) == "") == (answer is not None)


def test_a_struct_goes_where_its_interface_is_asked_for(oracle: Oracle) -> None:
    assert shown("area_of", oracle.resolve("m", "area_of", types("Disc"))) == "area_of(IShape s) -> float"


def test_a_refusal_comes_with_the_compilers_words(oracle: Oracle) -> None:
    said = oracle.diagnose("m", "plus", types("float3 float3"))
    assert "no overload for 'plus' applicable to arguments of type (" in said


@pytest.mark.parametrize(
    ("type", "interface", "conforms"), [("Disc", "IShape", True), ("Ray", "IShape", False), ("Ray", "Ray", True)]
)
def test_conformance(oracle: Oracle, type: str, interface: str, conforms: bool) -> None:
    assert oracle.conforms(Type.parse(type), Type.parse(interface)) is conforms


@pytest.mark.parametrize(("interface", "types"), [("IShape", ["Disc"]), ("Disc", None), ("Nope", None), ("float", None)])
def test_what_implements_an_interface(oracle: Oracle, interface: str, types: list[str] | None) -> None:
    found = oracle.conforming(Type.parse(interface))
    assert (found and [t.name for t in found]) == types


@pytest.mark.parametrize("type", ["Ray", "Sphere", "Disc"])
def test_layouts(slang: Oracle, type: str) -> None:
    from fusepy.backend.device.open import init_device

    if init_device().sgl.info.type.name in ("cpu", "cuda"):
        pytest.skip("these targets lay structs out as C++ does: tail padding is kept, a bool is one byte")
    assert slang.layout(Type.parse(type)) == FakeOracle().layout(Type.parse(type))


@pytest.mark.parametrize(
    ("type", "fields"),
    [
        ("Sphere", "Ray axis, float radius, bool solid"),
        ("Ray", "float3 origin, float3 dir, double tmax, half weight"),
        ("Scene", "IShape shape, float gain"),
        ("half2", "half x, half y"),
        ("float", None),
        ("float3x3", None),
        ("IShape", None),
        ("Nope", None),
    ],
)
def test_fields(oracle: Oracle, type: str, fields: str | None) -> None:
    found = oracle.fields(Type.parse(type))
    assert (found and ", ".join(f"{p.type} {p.name}" for p in found)) == fields


@pytest.mark.parametrize("type", ["float3", "Nope", "IShape"])
def test_types_without_a_layout(oracle: Oracle, type: str) -> None:
    assert oracle.layout(Type.parse(type)) is None


POOL = types("bool int uint half float double int64_t float2 float3 int3 half3 float3x3 Ray Disc float[4] Ptr<float> Ptr<float3>")


@pytest.mark.parametrize("function", sorted(FakeOracle().functions))
def test_the_fake_agrees_with_slang_on_every_pair_of_types(slang: Oracle, function: str) -> None:
    fake = FakeOracle()
    different: list[str] = []
    for overload in fake.declared("m", function):
        pools: list[Sequence[Type]] = [POOL if i < 2 else types("bool float") for i in range(len(overload.params))]
        for i, param in enumerate(overload.params):
            if param.direction in (OUT, INOUT) and param.type is not None:
                pools[i] = [param.type]  # what is written to is always asked for as it is declared
        for asked in itertools.product(*pools):
            if _aside(function, asked):
                continue
            ours, theirs = fake.resolve("m", function, asked), slang.resolve("m", function, asked)
            if ours != theirs:
                different.append(f"{function}{asked}: {shown(function, ours)}, Slang {shown(function, theirs)}")
    assert different == []


def _aside(function: str, asked: Sequence[Type]) -> bool:
    """Corners of Slang's rules that nothing here leans on, and that the fake leaves out."""
    names = [t.name for t in asked]
    if function == "flip":
        return names[0].startswith("Ptr")  # a pointer is true or false
    if function in ("pick", "total"):
        return "bool" in names[:2]  # a type variable that meets bool and a number
    return function == "area_of"  # see the test of its own
