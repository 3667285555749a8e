"""Enums, optional values, and what cannot be an argument."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from tests.support.examples import examples

F32 = np.float32

SOURCE = """
enum Color { Red, Green = 5, Blue };
enum class Small : uint8_t { A = 1, B = 200 };
enum Signed : int16_t { Minus = -3, Plus = 3 };
enum Wide : uint64_t { W = 1ull << 40 };
int number(Color c) { return int(c); }
Color color(int i) { return Color(i); }
Color after(Color c) { return c == Color.Red ? Color.Green : Color.Blue; }
uint8_t small(Small s) { return uint8_t(s); }
int16_t signed_(Signed s) { return int16_t(s); }
uint64_t wide(Wide w) { return uint64_t(w); }
float shade(Color c, float x) { return c == Color.Green ? x : -x; }
struct Paint { Color color; float amount; Small small; };
Paint mixed(Paint p) { p.amount += 1; p.color = after(p.color); return p; }
int of_paint(Paint p) { return int(p.color) * 1000 + int(p.small); }

float get(Optional<float> x) { return x.hasValue ? x.value : -1.0; }
float3 get3(Optional<float3> x) { return x.hasValue ? x.value : float3(-1); }
int get_enum(Optional<Color> x) { return x.hasValue ? int(x.value) : -1; }
Optional<float> positive(float x) { if (x > 0) return x; return none; }
struct Maybe { float a; Optional<float> b; };
float sum(Maybe m) { return m.a + (m.b.hasValue ? m.b.value : 100); }

interface IShape { float area(); };
struct Square : IShape { float side; float area() { return side * side; } };
struct Holder { float w; IShape shape; };
float area(IShape s) { return s.area(); }
float held(Holder h) { return h.w; }
"""


class Color(enum.IntEnum):
    RED = 0
    GREEN = 5
    BLUE = 6


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "enums", SOURCE)


@pytest.mark.req("T1")
def test_enums_from_integers(m: Any) -> None:
    assert m.number(Color.GREEN) == 5
    assert m.number(6) == 6
    assert m.number([0, 5, Color.BLUE]) == [0, 5, 6]
    assert m.color(Color.BLUE) == 6
    assert m.after([0, 5, 6]) == [5, 6, 6]
    assert (m.small(200), m.signed_(-3), m.wide(1 << 40)) == (200, -3, 1 << 40)
    assert m.number(np.int32(5)) == 5
    assert m.shade(5, np.ones(3, F32)).tolist() == [1, 1, 1]
    assert m.after.return_type("numpy")([0]).dtype == np.int32


@pytest.mark.req("T1", "V4")
def test_arrays_of_enums(m: Any, device: Any) -> None:
    codes = np.array([0, 5, 6, 5, 0], np.int32)
    assert m.number(fp.vcast(codes, m.Color)).tolist() == codes.tolist()
    tensor = fp.Tensor.from_numpy(device, codes, m.Color)
    assert str(tensor.dtype) == "Color"
    after = m.after(tensor)
    assert str(after.dtype) == "Color"
    assert after.to_numpy().tolist() == [5, 6, 6, 6, 5]
    np.testing.assert_array_equal(m.shade(tensor[::2], np.ones((2, 1), F32)).to_numpy(), [[-1, -1, -1]] * 2)
    with pytest.raises(fp.NoMatchError, match="vcast"):
        m.number(codes)


@pytest.mark.req("T1", "V4", "V12")
def test_enums_in_a_trace(m: Any) -> None:
    @fp.fuse
    def look(c: Any, x: Any) -> Any:
        return m.shade(m.after(c), x) + m.shade(5, x), fp.vcast(m.after(Color.GREEN), "int") + 0 * m.number(c)

    shaded, number = look([0, 5, 6], [1.0, 2.0, 3.0])
    assert shaded == [2, 0, 0]
    assert number == [6, 6, 6]


@pytest.mark.req("T1", "T7", "T8")
def test_enums_in_structs(m: Any) -> None:
    assert m.Paint.dtype["color"] == np.int32
    assert m.Paint.dtype["small"] == np.uint8
    paints = np.zeros(3, m.Paint.dtype)
    paints["color"] = [0, 5, 6]
    assert m.mixed(paints)["color"].tolist() == [5, 6, 6]
    assert m.of_paint({"color": Color.GREEN, "amount": 0.5, "small": [1, 200]}) == [5001, 5200]
    assert m.Paint([0, 5], 0.5, 1)["color"].tolist() == [0, 5]


def test_names_of_enumerators_are_no_arguments(m: Any) -> None:
    with pytest.raises(fp.UnsupportedArgumentError, match=r"an enum is given by its number or an IntEnum"):
        m.area("Square")


@pytest.mark.req("T1", "T3")
def test_numbers_that_no_enum_holds(m: Any) -> None:
    for call in (lambda: m.small(300), lambda: m.small(-1), lambda: m.small([1, 300]), lambda: m.signed_(40000)):
        with pytest.raises(fp.RangeError):
            call()
    with pytest.raises(fp.RangeError):
        fp.fuse(lambda x: m.small(300) + x)(1)
    with pytest.raises(fp.NoMatchError, match="Color"):
        m.number(2.5)
    assert m.small(7) == 7  # as in C, a value without a name is a value


@pytest.mark.req("T1")
def test_optional_parameters(m: Any, device: Any) -> None:
    assert m.get(None) == -1.0
    assert (m.get(2.5), m.get(2)) == (2.5, 2.0)
    assert m.get([1.0, 2.0]) == [1.0, 2.0]
    np.testing.assert_array_equal(m.get(np.arange(5, dtype=F32)), np.arange(5))
    assert (m.get_enum(None), m.get_enum(Color.BLUE)) == (-1, 6)
    points = fp.Tensor.from_numpy(device, np.ones((2, 3), F32), m.float3)
    np.testing.assert_array_equal(m.get3(points).to_numpy(), np.ones((2, 3)))
    assert m.get3(None) == [-1, -1, -1]
    assert fp.fuse(lambda x: m.get(None) + x)([3.0]) == [2.0]


@pytest.mark.req("T1", "T8")
def test_optional_members_and_results(m: Any) -> None:
    found = m.positive(np.array([1, -1, 2.5], F32))
    assert found["hasValue"].tolist() == [1, 0, 1]
    assert found["value"][[0, 2]].tolist() == [1, 2.5]
    assert m.get(found).tolist() == [1, -1, 2.5]
    things = np.zeros(2, m.Maybe.dtype)
    things["b"]["value"] = 7
    things["b"]["hasValue"] = [0, 1]
    assert m.sum(things).tolist() == [100, 7]
    assert m.sum({"a": [1.0, 2.0], "b": None}) == [101, 102]
    assert m.sum({"a": 1.0, "b": [5.0, 6.0]}) == [6, 7]


@pytest.mark.req("T3")
def test_none_elsewhere(m: Any) -> None:
    with pytest.raises(fp.UnsupportedArgumentError, match="Optional"):
        m.shade(None, 1.0)
    assert fp.fuse(lambda x: m.get(x))(None) == -1.0
    assert fp.fuse(lambda y, x: m.get(x) + y, static=("x",))(1.0, x=None) == 0.0


@pytest.mark.req("T3", "F4")
def test_interfaces_take_structs_and_have_no_layout(m: Any) -> None:
    squares = np.zeros(2, m.Square.dtype)
    squares["side"] = [2, 3]
    assert m.area(squares).tolist() == [4, 9]
    with pytest.raises(fp.UnsupportedArgumentError, match=r"(?s)'shape' of struct Holder.*IShape.*generic"):
        _ = m.Holder.dtype


NAMES = """
float lerp(float a, float b, float t) { return 77; }
float3 normalize(float3 a) { return a * 2; }
float dot(float3 a, float3 b) { return 11; }
float sin(float x) { return x + 1; }
float select(bool c, float a, float b) { return 88; }
float max(float a, float b) { return 55; }
uint min(uint a, uint b) { return 3; }
float floor(float a) { return 33; }
float same(float x) { return x; }
float3 same3(float3 x) { return x; }
"""


@pytest.mark.req("F1", "V1")
def test_functions_named_like_slangs_own(device: Any) -> None:
    m = fp.Module.load_from_source(device, "shadow", NAMES)
    x, v = np.linspace(0, 2, 5, dtype=F32), np.ones((5, 3), F32)
    assert m.lerp(x, x, x).tolist() == [77] * 5
    np.testing.assert_array_equal(m.normalize(v), 2 * v)
    assert m.normalize([1, 2, 3]) == [2, 4, 6]
    assert m.dot(v, v).tolist() == [11] * 5
    assert m.sin(x[:2]).tolist() == [1, 1.5]
    assert m.max(1.0, 2.0) == 55

    @fp.fuse
    def look(x: Any, v: Any) -> Any:
        x, v = m.same(x), m.same3(v)
        operators = fp.sin(x), fp.lerp(x, 1.0, 0.5), fp.maximum(x, 0.5), fp.where(x > 1, x, 0.0), fp.floor(x), fp.dot(v, v)
        return (*operators, m.sin(x), x // 2)

    sin, lerp, maximum, where, floor, dot, own, divided = look(x, v)
    np.testing.assert_allclose(sin, np.sin(x), rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(lerp, (x + 1) / 2)
    np.testing.assert_array_equal(maximum, np.maximum(x, 0.5))
    np.testing.assert_array_equal(where, np.where(x > 1, x, 0))
    np.testing.assert_array_equal(floor, np.floor(x))
    np.testing.assert_array_equal(dot, [3] * 5)
    np.testing.assert_array_equal(own, x + 1)
    np.testing.assert_array_equal(divided, x // 2)
    many = np.arange(10000, dtype=F32)
    np.testing.assert_array_equal(m.same(many), many)  # the kernel itself takes the smaller of two numbers


@pytest.mark.rest
def test_reductions_beside_functions_named_like_slangs_own(device: Any) -> None:
    """The code that folds calls what Slang has, whatever the user's module calls its own."""
    hiding = """
bool isnan(float x) { return true; }
bool isnan(double x) { return true; }
float select(bool c, float a, float b) { return -1; }
int select(bool c, int a, int b) { return -1; }
float3 select(bool3 c, float3 a, float3 b) { return -1; }
float asfloat(uint x) { return 7; }
uint asuint(float x) { return 7; }
void asuint(double x, out uint low, out uint high) { low = high = 0; }
double asdouble(uint low, uint high) { return 3; }
float same(float x) { return x; }
double same(double x) { return x; }
int same(int x) { return x; }
float3 same3(float3 x) { return x; }
"""
    m = fp.Module.load_from_source(device, "shadow_folds", hiding)
    x = np.random.default_rng(2).random((4, 6), np.float32)
    nan = x.copy()
    nan[1, 2] = np.nan

    def folded(kind: str, of: str, array: Any, axis: int) -> None:
        function = getattr(m, of)
        found = fp.fuse(lambda x: getattr(fp, kind)(function(x), axis=axis))(array)
        np.testing.assert_allclose(found, getattr(np, kind)(array, axis=axis), rtol=1e-6)

    for array in (x, nan, x.astype(np.float64), (x * 100).astype(np.int32)):
        for kind in ("sum", "max", "argmin"):
            folded(kind, "same", array, 1)
    for kind in ("sum", "min"):
        folded(kind, "same3", x.reshape(8, 3), 0)


@pytest.mark.req("F1")
def test_functions_named_like_a_type_are_reached_in_a_namespace(device: Any) -> None:
    source = "float half(float x) { return x / 2; } namespace ns { float half(float x) { return x / 2; } }"
    m = fp.Module.load_from_source(device, "shadow_types", source)
    for call in (lambda: m.half(3.0), lambda: m.find_function("half"), lambda: fp.fuse(lambda x: m.half(x))(3.0)):
        with pytest.raises(fp.ArgumentError, match=r"(?s)a function half, which the type half hides.*m\.ns\.half"):
            call()
    assert m.ns.half(3.0) == 1.5
    assert fp.Module.load_from_source(device, "no_shadow", "float f(float x) { return x; }").half(3.0) == 3.0


@st.composite
def values(draw: Any) -> tuple[Any, Any]:
    """An enum argument, and its codes."""
    codes = draw(st.lists(st.sampled_from([0, 5, 6]), min_size=5, max_size=5))
    kind = draw(st.sampled_from(["list", "single", "array"]))
    if kind == "single":
        return Color(codes[0]), np.full(5, codes[0])
    return (codes if kind == "list" else np.array(codes, np.int32)), np.array(codes)


@pytest.mark.req("T1", "V13")
@given(values(), values(), st.lists(st.sampled_from(["after", "shade", "number", "optional"]), min_size=4, max_size=4))
@examples(12)  # of four programs each
def test_random_programs(m: Any, first: Any, second: Any, steps: list[str]) -> None:
    def program(a: Any, b: Any, x: Any, f: Any) -> Any:
        results = []
        for step in steps:
            if step == "after":
                a, b = b, f.after(a)
            elif step == "shade":
                x = f.shade(a, x) + f.shade(b, 2.0)
            elif step == "optional":
                x = f.get(x) + f.get(None)
            else:
                x = x + f.number(a) * 10
            results.append(x + f.number(b))
        return tuple(results)

    class Twin:
        after = staticmethod(lambda c: np.where(c == 0, 5, 6))
        shade = staticmethod(lambda c, x: np.where(c == 5, x, -x))
        number = staticmethod(lambda c: c)
        get = staticmethod(lambda x: -1.0 if x is None else x)

    a, b = (fp.vcast(v, m.Color) if isinstance(v, np.ndarray) else v for v in (first[0], second[0]))
    x = np.arange(5, dtype=F32)
    expected = program(first[1], second[1], x, Twin)
    for found, wanted in zip(fp.fuse(lambda a, b, x: program(a, b, x, m))(a, b, x), expected):
        np.testing.assert_array_equal(found, np.asarray(wanted, F32))
