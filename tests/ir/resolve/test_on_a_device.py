"""Resolution on the device: overloads, generics, interfaces, defaults, namespaces, imports, and types in place of values."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from tests.support.examples import examples
from tests.support.slang_functions import F32, ramp, same

SOURCE = """
float over(float a) { return a * 2 + 1; }
float over(float2 a) { return a.x + a.y * 10; }
float over(float3 a) { return a.x + a.y * 10 + a.z * 100; }
float over(int a) { return a * 1000; }
float over(float a, float b) { return a - b; }
float3 over(float3 a, float b) { return a * b; }

T twice<T : IFloat>(T a) { return a + a; }
T pick<T>(T a, T b, bool second) { return second ? b : a; }
T total<T : IFloat, let N : int>(vector<T, N> v) { T s = v[0]; for (int i = 1; i < N; ++i) s = s + v[i]; return s; }
float sum_of<let N : int>(float[N] a) { float s = 0; for (int i = 0; i < N; ++i) s += a[i]; return s; }
T axpy<T : IFloat>(T a, T x, T y) { return a * x + y; }
float both<T : IFloat, U : IFloat>(T a, U b) { return 1; }

interface IShape { float area(); float scaled(float k); };
struct Disc : IShape { float r; float area() { return 3 * r * r; } float scaled(float k) { return k * area(); } };
struct Box : IShape { float2 size; float area() { return size.x * size.y; } float scaled(float k) { return -k * area(); } };
float area_of(IShape s) { return s.area(); }
float area_sum<T : IShape, U : IShape>(T a, U b) { return a.area() + b.area(); }

float weigh(float a, float b = 2, float c = -3.5f /* three and a half */) { return a * 100 + b * 10 + c; }
bool flag(float a, bool b = true, int c = 2) { return b && a > c; }
float odd(float a, float b = sqrt(4.0), float c = 1) { return a + b + c; }

float sin(float x, float y) { return x + y; }
float lerp(float x) { return x + 42; }
float2 operator+(Box a, Box b) { return a.size + b.size; }

typealias Circle = Disc;
namespace ns
{
    float inner(float x) { return x + 0.5; }
    struct Held { float x; float get() { return x; } };
    namespace deep { float f(float x) { return x * 8; } }
}
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "overloads", SOURCE)


# ---- exactness and overloads ------------------------------------------------------------------------------------------


@pytest.mark.req("V1", "V2")
def test_an_overload_is_chosen_by_type_by_count_and_by_width(m: Any) -> None:
    same(m.over(ramp(5)), ramp(5) * 2 + 1)
    same(m.over(np.arange(5, dtype=np.int32)), np.arange(5, dtype=F32) * 1000)
    same(m.over(ramp(5), ramp(5, start=1)), ramp(5) - ramp(5, start=1))
    same(m.over(fp.vmap(ramp(4, 2), 0)), ramp(4, 2) @ F32([1, 10]))
    same(m.over(fp.vcast(ramp(4, 3), m.float3)), ramp(4, 3) @ F32([1, 10, 100]))
    assert m.over(1.5) == 4
    assert m.over(2) == 2000
    same(m.over(fp.vcast(ramp(4, 3), m.float3), 2.0), ramp(4, 3) * 2)


@pytest.mark.req("V1", "T3")
@pytest.mark.parametrize("dtype", [np.uint32, np.float16, np.float64, np.int64, np.int16])
def test_no_array_is_converted_silently(m: Any, dtype: Any) -> None:
    with pytest.raises(fp.NoMatchError) as caught:
        m.over.strict()(np.ones(5, dtype))
    assert "over(int a) -> float" in str(caught.value)
    same(m.over(fp.vcast(np.ones(5, dtype), m.float)), np.full(5, 3, F32))


@pytest.mark.req("V1")
def test_generics_with_types_and_values(m: Any) -> None:
    same(m.twice(ramp(7).astype(np.float16)), (ramp(7) * 2).astype(np.float16))
    same(m.total(fp.vmap(ramp(5, 3), 0)), ramp(5, 3).sum(1))
    same(m["total<float,2>"](ramp(5, 2)), ramp(5, 2).sum(1))
    same(m.sum_of(ramp(5, 3)), ramp(5, 3).sum(1))  # a generic array takes a small extent in
    same(m.sum_of(fp.vcast(ramp(5, 7), "float[7]")), ramp(5, 7).sum(1))
    same(m["sum_of<7>"](ramp(5, 7)), ramp(5, 7).sum(1))
    same(m.pick(ramp(6), 2.0, np.arange(6) % 2 == 0), np.where(np.arange(6) % 2 == 0, F32(2), ramp(6)))
    with pytest.raises(fp.NoMatchError, match=r"vcast\(value, 'float\[8\]'\)"):
        m.sum_of(ramp(5, 7))


@pytest.mark.req("V1")
def test_interfaces_take_what_implements_them(m: Any) -> None:
    discs, boxes = m.Disc(ramp(4, start=1)), m.Box(fp.vmap(ramp(4, 2), 0))
    same(m.area_of(discs), 3 * discs["r"] ** 2)
    same(m.area_of(boxes), ramp(4, 2).prod(1))
    same(m.area_sum(discs, boxes), 3 * discs["r"] ** 2 + ramp(4, 2).prod(1))
    same(m.IShape.scaled(boxes, 2.0), -2 * ramp(4, 2).prod(1))  # a method of the interface is the object's own
    same(m.area_of(fp.vcast(fp.Tensor.from_numpy(m.device, discs, m.Disc), m.Disc)).to_numpy(), 3 * discs["r"] ** 2)
    with pytest.raises(fp.NoMatchError, match=r"IShape|generic"):
        m.area_of(m.ns.Held(1.0))


@pytest.mark.req("V1")
def test_a_function_named_like_one_of_slangs_own(m: Any) -> None:
    same(m.sin(ramp(5), 1.0), ramp(5) + 1)
    assert m.lerp(1.0) == 43
    np.testing.assert_allclose(m.cos(ramp(5)), np.cos(ramp(5)), rtol=1e-5)


# ---- arguments by name, and left away --------------------------------------------------------------------------------


@pytest.mark.req("C18")
def test_arguments_by_name_in_any_order(m: Any) -> None:
    same(m.weigh(c=1.0, a=ramp(5), b=0), ramp(5) * 100 + 1)
    same(m.weigh(ramp(5), c=1.0, b=0), ramp(5) * 100 + 1)
    same(m.over(b=1.0, a=ramp(5)), ramp(5) - 1)


@pytest.mark.req("C18")
def test_defaults_are_left_away_at_the_end_or_skipped(m: Any) -> None:
    assert m.weigh(1.0) == 116.5
    assert m.weigh(1.0, 5) == 146.5
    assert m.weigh(1.0, c=7) == 127
    assert m.weigh(c=7, a=1) == 127
    same(fp.fuse(lambda x: m.weigh(x, c=0.0))(ramp(3)), ramp(3) * 100 + 20)
    assert m.flag(3.0, c=2) is True
    assert m.odd(1.0) == 4
    with pytest.raises(fp.ArgumentError, match="misses the argument 'b'") as caught:
        m.odd(1.0, c=1.0)  # no number: only Slang knows what it is
    assert "no default that can be left out" in caught.value.hint


@pytest.mark.req("C18")
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: m.weigh(), "misses the argument 'a'"),
        (lambda m: m.weigh(1.0, d=1.0), "no parameter 'd'"),
        (lambda m: m.weigh(1.0, a=1.0), "'a' twice"),
        (lambda m: m.weigh(1.0, 2.0, 3.0, 4.0), "takes 3 arguments, 4 were given"),
        (lambda m: m.weigh(b=1.0), "misses the argument 'a'"),
    ],
)
def test_wrong_arguments(m: Any, call: Any, words: str) -> None:
    with pytest.raises(fp.ArgumentError, match=words):
        call(m)


# ---- names -----------------------------------------------------------------------------------------------------------


def test_namespaces_are_attributes(m: Any) -> None:
    assert m.ns.inner(1.0) == m["ns::inner"](1.0) == 1.5
    assert m.ns.deep.f(2.0) == m["ns::deep::f"](2.0) == 16
    assert m.ns.Held(3.0)["x"] == 3
    same(m.ns.Held.get(m.ns.Held(ramp(3))), ramp(3))
    assert "namespace ns" in repr(m.ns)
    with pytest.raises(fp.UnknownNameError) as caught:
        m.ns.iner  # noqa: B018
    assert "'ns::iner'" in str(caught.value)
    assert "did you mean 'inner'?" in caught.value.hint


def test_an_alias_is_the_type_that_it_stands_for(m: Any) -> None:
    assert m.Circle == m.Disc
    same(m.Circle.area(m.Circle(ramp(3))), 3 * ramp(3) ** 2)


@pytest.mark.parametrize("name", ["twise", "Disk", "nss", "sum_off"])
def test_unknown_names_name_the_nearest(m: Any, name: str) -> None:
    with pytest.raises(fp.UnknownNameError) as caught:
        m[name]
    assert {"twise": "'twice'", "Disk": "'Disc'", "nss": "", "sum_off": "'sum_of'"}[name] in caught.value.hint


def test_dir_lists_names_that_python_can_say(m: Any) -> None:
    assert {"over", "twice", "sum_of", "Disc", "area_of"} <= set(dir(m))
    assert not [n for n in dir(m) if not n.isidentifier()]
    assert {"area", "scaled", "dtype"} <= set(dir(m.Disc))


# ---- several modules -------------------------------------------------------------------------------------------------

LIBRARY = """
module library;
public struct Lens
{
    public float f;
    public float bend(float x) { return x / f; }
    public static Lens of(float f) { return Lens(f); }
};
public float helper(float x) { return x + 7; }
public T again<T : IFloat>(T x) { return x + x; }
namespace far { public float away(float x) { return -x; } }
"""
USER = """
import library;
float through(Lens lens, float x) { return helper(lens.bend(x)); }
float add(float a, float b) { return a + b; }
"""


@pytest.fixture(scope="module")
def apart(device: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A module that imports a library for itself."""
    folder = tmp_path_factory.mktemp("slang")
    (folder / "library.slang").write_text(LIBRARY)
    (folder / "user.slang").write_text(USER)
    return fp.Module.load_from_file(device, folder / "user.slang")


def test_what_a_module_imports_is_called_through_it(apart: Any) -> None:
    same(apart.helper(ramp(4)), ramp(4) + 7)
    same(apart.again(ramp(5)), ramp(5) * 2)
    same(apart.far.away(ramp(4)), -ramp(4))
    lenses = apart.Lens.of(ramp(4, start=1))
    same(lenses["f"], ramp(4, start=1))
    same(apart.Lens.bend(lenses, 2.0), 2 / ramp(4, start=1))
    same(apart.through(lenses, 2.0), 2 / ramp(4, start=1) + 7)
    same(fp.fuse(lambda x: apart.Lens(x).bend(2.0) + apart.helper(x))(ramp(4, start=1)), 2 / ramp(4, start=1) + ramp(4, start=8))


def test_functions_of_one_name_in_two_modules(device: Any, apart: Any) -> None:
    other = fp.Module.load_from_source(
        device,
        "other",
        """float add(float a, float b) { return a * b; } struct R { float x; [mutating] void inc(float d) { x += d; } };
        struct Lens { float other; }; R operator+(R a, R b) { R r; r.x = a.x + b.x; return r; }""",
    )
    same(fp.fuse(lambda x: apart.add(other.add(x, 3.0), 1.0))(ramp(4)), ramp(4) * 3 + 1)
    same(fp.fuse(lambda x: apart.helper(other.R(x).inc(2.0).x))(ramp(4)), ramp(4) + 9)
    same(fp.fuse(lambda x: (other.R(apart.helper(x)) + other.R(x)).x)(ramp(4)), ramp(4) * 2 + 7)
    with pytest.raises(fp.CompileError, match="ambiguous reference to 'Lens'") as caught:
        fp.fuse(lambda x: (apart.Lens(x), other.Lens(x)))(ramp(4))
    assert "two modules declare this name" in caught.value.hint


@pytest.mark.req("V1", "C9")
def test_overloads_of_imports_are_chosen_like_a_modules_own(device: Any, tmp_path: Any) -> None:
    """A module's own function of a name hides those of its imports with the same parameters, and no others, as in Slang."""
    (tmp_path / "colours.slang").write_text(
        "public float f(float3 v) { return v.x + 100; } public float2 f(float2 v, float k) { return v * k; }\n"
        "public float lone(float x) { return -1; } public float both(float x) { return -1; }\n"
        "public float both(float3 x) { return 3; }"
    )
    (tmp_path / "sounds.slang").write_text("public float f(int i) { return i + 200; } public float apart(int i) { return 300; }")
    (tmp_path / "of_two.slang").write_text(
        "import colours; import sounds; public float f(float x) { return 1; } public float lone(float x) { return x; }\n"
        "public float apart(float x) { return x; } public float both(float x) { return x; }\n"
        "public float inside(float3 x) { return f(x); }"
    )
    m = fp.Module.load_from_file(device, tmp_path / "of_two.slang")
    x = ramp(4, 3)
    with pytest.raises(fp.AmbiguousCallError, match=r"f\(float3 v\)") as caught:
        m.f(x)  # as if one module declared both
    assert "m.float3)) or m.f(fp.vmap(" in caught.value.hint
    for call in (m.f, fp.fuse(lambda v: m.f(v))):
        same(call(fp.vcast(x, m.float3)), m.inside(x))
        same(call(fp.vmap(x, (0, 1))), np.ones((4, 3), F32))
        same(call(np.arange(4, dtype=np.int32)), np.arange(200, 204, dtype=F32))
    same(m.f(ramp(4, 2), 2.0), ramp(4, 2) * 2)
    same(m.lone(x), x)
    same(m.apart(x), x)
    same(m.apart(np.arange(4, dtype=np.int32)), np.full(4, 300, F32))
    same(m.both(fp.vcast(x, m.float3)), np.full(4, 3, F32))
    with pytest.raises(fp.CompileError, match="ambiguous call to 'both'") as clash:
        m.both(fp.vcast(x, m.float))
    assert "rename it" in clash.value.hint


def test_what_is_not_public_says_so(device: Any) -> None:
    half = fp.Module.load_from_source(
        device, "half_public", "public float a(float x) { return x; } float b(float x) { return x; }"
    )
    assert half.a(1.0) == 1
    with pytest.raises(fp.CompileError) as caught:
        half.b(1.0)
    assert "write public" in caught.value.hint


# ---- ambiguity -------------------------------------------------------------------------------------------------------


@pytest.mark.req("C9")
def test_every_suggestion_of_an_ambiguous_call_works(m: Any) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("over", {"a": ramp(4, 3)}),
        ("over", {"a": [1, 2]}),
        ("twice", {"a": [1.0, 2.0, 3.0]}),
        ("twice", {"a": ramp(3, 3)}),
        ("total", {"v": ramp(2, 4)}),
        ("axpy", {"a": ramp(4, 3), "x": [1.0, 2.0, 3.0], "y": 0.5}),
        ("axpy", {"a": 2.0, "x": ramp(4, 3), "y": ramp(3)}),
        ("both", {"a": ramp(4, 3), "b": ramp(4, 2)}),
        ("pick", {"a": m.Disc(ramp(3)), "b": m.Disc(ramp(3)), "second": ramp(4, 3) > 2}),
        ("clamp", {"x": ramp(4, 3), "minVal": 0.0, "maxVal": 0.5}),
    ]
    asked = 0
    for name, values in calls:
        try:
            m[name](*values.values())
        except fp.AmbiguousCallError as error:
            asked += 1
            assert_suggestions_work(m, error, values)
        except fp.ShapeError:
            assert name == "pick"  # one way to bind it, which does not broadcast
    assert asked >= 8


def assert_suggestions_work(m: Any, error: fp.AmbiguousCallError, values: dict[str, Any]) -> list[Any]:
    """Evaluates every call that the error tells to write, and returns what they give."""
    lines = error.hint.splitlines()[1:]
    assert lines, error
    results: list[Any] = []
    for line in lines:
        calls = line.strip().split(" or ")
        assert calls[0].startswith("m.") or calls[0].startswith('m["')
        assert "fp.vcast(" in calls[0]
        try:
            given = [np.asarray(eval(call, {"fp": fp, "m": m, **values})) for call in calls]
        except fp.ShapeError:  # it binds; extents beyond 4 are no part of what is resolved
            continue
        for other in given[1:]:  # typed and mapped, it is the same call
            np.testing.assert_array_equal(other, given[0])
        results.append(given[0])
    assert results, error
    return results


@pytest.mark.req("V16")
def test_types_stand_for_values(m: Any, lib: Any) -> None:
    assert fp.resolve(lib.tone, "Texture2D<float3>", float, float).types == [lib.float3, lib.float, lib.float]
    assert fp.resolve(lib.tone, lib["Texture2D<float3>"], lib.float).types == [lib.float3, lib.float]
    assert fp.resolve(lib.tone, lib["Texture2DArray<float3>"], lib.float).grid == 3
    assert fp.resolve(lib.tone, lib["StructuredBuffer<float3>"], lib.float).grid == 1
    assert fp.resolve(lib.tone, lib.float3, 1.0, int).grid == 0
    assert fp.resolve(lib.tone, "Tensor<float>[?,?,3]", float).grid == 2
    assert fp.resolve(m.over, float).types == [m.float]
    assert fp.resolve(m.over, int).types == [m.int]
    assert fp.resolve(m.over, "Tensor<float2>[?]").bindings[0].mapping == (0,)
    assert fp.resolve(m.area_of, m.Disc).types == [m.IShape]
    assert fp.resolve(m.area_sum, m.Disc, "Tensor<Box>[?]").types == [m.Disc, m.Box]
    assert fp.resolve(m.Disc.scaled, m.Disc, float).types == [m.Disc, m.float]
    assert fp.resolve(m.Disc, float).result is m.Disc.type
    assert fp.resolve(m.sum_of, "float[7]").types == [fp.Type.parse("float[7]")]
    assert fp.resolve(m.total, fp.vcast("Tensor<float>[?,3]", m.float3)).types == [m.float3]
    nested = fp.resolve(m.area_of, {"_type": "Box", "size": "Tensor<float2>[?]"})
    assert nested.types == [m.IShape]
    assert nested.grid == 1


@pytest.mark.req("V16")
@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("Tensor<float>[?,3]", fp.AmbiguousCallError),
        ("half4", fp.NoMatchError),
        (np.ndarray, fp.ArgumentError),
        ("no type", fp.FusepyError),
    ],
)
def test_types_that_do_not_fit(m: Any, given: Any, error: Any) -> None:
    with pytest.raises(error) as caught:
        fp.resolve(m.over, given)
    assert caught.value.hint


# ---- generated programs ----------------------------------------------------------------------------------------------

# what each function means for elements of these types; ``f`` a float, ``2`` a float2, …
MEANING: dict[str, dict[str, Any]] = {
    "over": {
        "f": lambda a: a * 2 + 1,
        "2": lambda a: a @ F32([1, 10]),
        "3": lambda a: a @ F32([1, 10, 100]),
        "i": lambda a: a.astype(F32) * 1000,
        "ff": lambda a, b: a - b,
        "3f": lambda a, b: a * b[..., None],
    },
    "twice": {t: lambda a: a + a for t in "f234"},
    "total": {t: lambda a: a.sum(-1, dtype=F32) for t in "234"},
    "axpy": {t * 3: lambda a, x, y: a * x + y for t in "f3"},
    "weigh": {"f": lambda a: a * 100 + F32(16.5), "ff": lambda a, b: a * 100 + b * 10 - F32(3.5)},
}
WIDTH = {"f": "float", "i": "int", "2": "float2", "3": "float3", "4": "float4"}


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, str, list[Any], list[str]]:
    """A function, the element types of its arguments, arrays for them, and how each is passed."""
    name = draw(st.sampled_from(sorted(MEANING)))
    types = draw(st.sampled_from(sorted(MEANING[name])))
    grid = draw(st.sampled_from([(5,), (2, 5), (3, 1), (6,), (1,)]))
    arrays: list[Any] = []
    ways: list[str] = []
    for type in types:
        batch = draw(st.sampled_from([grid, grid, grid[-1:], (1,) * len(grid)]))
        shape = batch + (() if type in "fi" else (int(type),))
        numbers = np.arange(int(np.prod(shape))).reshape(shape) % 7 - draw(st.integers(0, 3))
        arrays.append(numbers.astype(np.int32 if type == "i" else F32))
        ways.append(draw(st.sampled_from(["plain", "vcast", "vmap"])))
    return name, types, arrays, ways


@pytest.mark.req("V1", "V2", "V3", "V4", "V5", "C9")
@examples(120)
@given(calls())
def test_generated_calls_bind_as_meant_or_ask(m: Any, call: tuple[str, str, list[Any], list[str]]) -> None:
    name, types, arrays, ways = call
    rank = max(a.ndim - (t not in "fi") for a, t in zip(arrays, types))
    passed: list[Any] = []
    for array, type, way in zip(arrays, types, ways):
        batch = array.ndim - (type not in "fi")
        if way == "vcast":
            array = fp.vcast(array, WIDTH[type])
        elif way == "vmap":
            array = fp.vmap(array, tuple(range(rank - batch, rank)))
        passed.append(array)
    expected = _meant(name, types, arrays)
    try:
        np.testing.assert_allclose(m[name](*passed), expected, rtol=1e-6)
    except fp.AmbiguousCallError as error:
        assert "plain" in ways  # all said, nothing is ambiguous
        names = re.findall(r"fp\.vcast\((\w+),", error.hint)
        if any(w != "plain" for w in ways):
            return
        values = dict(zip(_parameters(m, name, len(passed)), passed))
        assert set(names) <= set(values)
        results = assert_suggestions_work(m, error, values)
        assert any(r.shape == expected.shape and np.allclose(r, expected, rtol=1e-6) for r in results)


def _meant(name: str, types: str, arrays: list[Any]) -> Any:
    """The meaning in NumPy, over the broadcast batch."""
    batches = [a.shape if t in "fi" else a.shape[:-1] for a, t in zip(arrays, types)]
    grid = np.broadcast_shapes(*batches)
    wide = [np.broadcast_to(a, grid + (() if t in "fi" else a.shape[-1:])) for a, t in zip(arrays, types)]
    return MEANING[name][types](*wide)


def _parameters(m: Any, name: str, count: int) -> list[str]:
    return {"over": ["a", "b"], "axpy": ["a", "x", "y"], "total": ["v"], "weigh": ["a", "b"]}.get(name, ["a"])[:count]
