"""Methods, constructors and operators of Slang types, called eagerly and in traces, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from tests.support.examples import examples
from tests.support.slang_functions import F32, ramp, same

SOURCE = """
struct Ray
{
    float3 o;
    float3 d;

    __init(float3 o, float3 d) { this.o = o; this.d = d; }
    __init(float x) { this.o = x; this.d = 1; }
    static Ray make(float3 o, float3 d) { return Ray(o, d); }
    static float count(float x) { return 1; }
    static float count(float3 x) { return 3; }
    float3 at(float t) { return o + t * d; }
    float at(float3 w) { return dot(w, d); }
    [mutating] void step(float dt) { o += dt * d; }
    [mutating] float bump(float by, inout float counter) { o += by; counter += 1; return o.x; }
    T through<T : IFloat>(T a) { return a + a; }
    float pick(float a) { return a; }
    float pick<T : IFloat>(T a) { return -1; }
    void parts(out float3 origin, out float3 way) { origin = o; way = d; }
};
struct Plain { float a; float b; };
struct Pair<T>
{
    T first;
    T second;
    T sum() { return first; }
    static Pair<T> make(T a, T b) { Pair<T> p; p.first = a; p.second = b; return p; }
    struct Half { T x; T twice() { return x; } };
};
extension Ray { float reach(float q) { return q * o.x; } }
extension float3 { float bright() { return this.x + this.y * 10 + this.z * 100; } }
Ray operator+(Ray a, Ray b) { return Ray(a.o + b.o, a.d + b.d); }
Ray operator*(Ray a, float b) { return Ray(a.o * b, a.d * b); }
Ray operator*(float a, Ray b) { return Ray(a * b.o, a * b.d); }
Ray operator-(Ray a) { return Ray(-a.o, -a.d); }
bool operator<(Ray a, Ray b) { return a.o.x < b.o.x; }
struct Generic { float x; __init<T : IFloat>(T a) { x = 1; } };
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "methods", SOURCE)


@pytest.fixture
def rays(m: Any) -> Any:
    made = np.zeros(6, m.Ray.dtype)
    made["o"], made["d"] = ramp(6, 3), ramp(6, 3, start=1)
    return made


# ---- eager -----------------------------------------------------------------------------------------------------------


@pytest.mark.req("T12")
def test_a_method_takes_the_object_first(m: Any, rays: Any) -> None:
    expected = rays["o"] + F32(2) * rays["d"]
    same(m.Ray.at(rays, 2.0), expected)
    same(m["Ray::at"](rays, 2.0), expected)
    same(m.Ray.at(t=2.0, this=rays), expected)
    same(m.Ray.at(fp.Tensor.from_numpy(m.device, rays, m.Ray), 2.0).to_numpy(), expected)
    same(m.Ray.at({"o": rays["o"], "d": [1.0, 0.0, 0.0]}, 2.0), rays["o"] + F32([2, 0, 0]))
    same(m.Ray.at(rays[:2, None], ramp(4)), rays["o"][:2, None] + ramp(4)[:, None] * rays["d"][:2, None])
    same(m.Ray.reach(rays, 2.0), rays["o"][:, 0] * 2)  # an extension


@pytest.mark.req("T12", "V1")
def test_overloaded_methods_are_chosen_by_slang(m: Any, rays: Any) -> None:
    same(m.Ray.at(rays, fp.vcast(ramp(6, 3), m.float3)), np.einsum("ij,ij->i", ramp(6, 3), rays["d"]))
    same(m.Ray.at(rays, 3), rays["o"] + F32(3) * rays["d"])  # float and float3 both take an int; Slang prefers the float
    same(m.Ray.pick(rays, 2.0), np.full(6, 2, F32))
    same(m.Ray.pick(rays, ramp(6).astype(np.float16)), np.full(6, -1, F32))
    same(m.Ray.through(rays, fp.vcast(ramp(6, 3), m.float3)), ramp(6, 3) * 2)
    same(m["Ray::through<half>"](rays, ramp(6).astype(np.float16)), (ramp(6) * 2).astype(np.float16))
    with pytest.raises(fp.AmbiguousCallError, match=r"m\.Ray\.at\(this, fp\.vcast\(w, m\.float3\)\)"):
        m.Ray.at(rays, ramp(6, 3))
    with pytest.warns(fp.PrecisionWarning):  # NumPy's int64 is converted, to the float that Slang prefers
        same(m.Ray.at(rays, np.arange(6)), rays["o"] + np.arange(6, dtype=F32)[:, None] * rays["d"])


@pytest.mark.req("T12")
def test_static_methods_take_no_object(m: Any) -> None:
    made = m.Ray.make(ramp(4, 3), [1.0, 2.0, 3.0])
    same(made["o"], ramp(4, 3))
    same(made["d"], np.broadcast_to(F32([1, 2, 3]), (4, 3)))
    assert m.Ray.count(1.0) == 1
    assert m.Ray.count(fp.vcast([1.0, 2.0, 3.0], m.float3)) == 3


@pytest.mark.req("T12", "C10", "T13")
def test_a_mutating_method_writes_the_object_back(m: Any, rays: Any) -> None:
    before = rays.copy()
    tensor = fp.Tensor.from_numpy(m.device, rays, m.Ray)
    assert m.Ray.step(rays, 0.5) is None
    same(rays["o"], before["o"] + F32(0.5) * before["d"])
    same(rays["d"], before["d"])
    assert m.Ray.step(tensor, 0.5) is None
    same(tensor.to_numpy()["o"], rays["o"])
    fields = {"o": np.zeros((6, 3), F32), "d": [1.0, 1.0, 1.0]}
    assert m.Ray.step(fields, ramp(6)) is None
    same(fields["o"], np.repeat(ramp(6)[:, None], 3, 1))
    counters = np.zeros(6, F32)
    returned = m.Ray.bump(rays, 1.0, counters)
    same(returned, before["o"][:, 0] + F32(0.5) * before["d"][:, 0] + 1)
    same(counters, np.ones(6, F32))


@pytest.mark.req("T12", "C10")
def test_out_parameters_of_a_method(m: Any, rays: Any) -> None:
    origin, way = m.Ray.parts(rays)
    same(origin, rays["o"])
    same(way, rays["d"])
    target = np.zeros((6, 3), F32), np.zeros((6, 3), F32)
    m.Ray.parts(rays, *target)
    same(target[1], rays["d"])


@pytest.mark.req("T12")
def test_constructors(m: Any) -> None:
    same(m.Ray(ramp(4, 3), [1.0, 2.0, 3.0])["o"], ramp(4, 3))
    same(m.Ray(ramp(4))["o"], np.repeat(ramp(4)[:, None], 3, 1))  # another overload of it
    assert m.Plain()["a"] == 0  # the default constructor
    assert m.Plain(1.0)["b"] == 0
    same(m.Plain(b=ramp(3), a=1.0)["b"], ramp(3))
    made = m.Ray(ramp(4, 3), ramp(4, 3), _result="tensor")
    assert isinstance(made, fp.Tensor)
    with pytest.raises(fp.ArgumentError):
        m.Ray()
    with pytest.raises(fp.FusepyError, match="Generic"):  # reflection does not show a generic constructor
        m.Generic(1.0)


@pytest.mark.req("T12")
def test_generic_types(m: Any) -> None:
    pair = m["Pair<float>"]
    pairs = pair.make(ramp(4), 2.0)
    same(pairs["second"], np.full(4, 2, F32))
    same(pair(ramp(4), 1.0)["first"], ramp(4))
    same(pair.sum(pairs), ramp(4))
    same(m["Pair<float>::sum"](pairs), ramp(4))
    same(m.Pair.sum(pairs), ramp(4))  # the object says which pair it is
    same(m["Pair<half>::Half"](ramp(4).astype(np.float16))["x"], ramp(4).astype(np.float16))
    with pytest.raises(fp.NoMatchError) as caught:
        m.Pair(1.0, 2.0)
    assert 'm["Pair<float>"]' in caught.value.hint


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: m.Ray.att, "did you mean 'at'"),
        (lambda m: m["Pair<float>"].som, "Pair<float> has no method or sub-type named 'som'"),
        (lambda m: m["Pair<nope>"], "Pair<nope>"),
        (lambda m: fp.fuse(lambda x: m.Ray(x).att(1.0))(ramp(3)), "Ray has no field or method 'att'"),
        (lambda m: fp.fuse(lambda x: m.Ray(x).oo)(ramp(3)), "did you mean 'o'"),
    ],
)
def test_names_that_are_not_there(m: Any, call: Any, words: str) -> None:
    with pytest.raises(fp.UnknownNameError) as caught:
        call(m)
    assert words in str(caught.value)


@pytest.mark.req("T12")
@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.Ray.at(1.0, 2.0),
        lambda m: m.Ray.at(),
        lambda m: m.Ray.at(m.Plain(1.0), 2.0),
        lambda m: m.Ray.step(np.zeros(3, F32), 2.0),
        lambda m: m.Ray.make(1.0),
        lambda m: fp.fuse(lambda x: m.Ray(x).at())(ramp(3)),
        lambda m: fp.fuse(lambda x: m.Ray(x).at(1.0, 2.0))(ramp(3)),
    ],
)
def test_wrong_arguments_are_refused_with_a_hint(m: Any, call: Any) -> None:
    with pytest.raises(fp.FusepyError) as caught:
        call(m)
    assert caught.value.hint
    assert "Ray::" in str(caught.value)


# ---- in traces -------------------------------------------------------------------------------------------------------


@pytest.mark.req("T12", "V15")
def test_methods_of_traced_values(m: Any, rays: Any) -> None:
    expected = rays["o"] + F32(2) * rays["d"]
    same(fp.fuse(lambda r: r.at(2.0))(rays), expected)
    same(fp.fuse(lambda r: m.Ray.at(r, t=2.0))(rays), expected)
    same(fp.fuse(lambda x: m.Ray.make(m.float3(x, x, x), m.float3(1, 2, 3)).at(x).y)(ramp(4)), ramp(4) * 3)
    same(fp.fuse(lambda r: r.o.bright())(rays), rays["o"] @ F32([1, 10, 100]))  # an extension of float3
    shown: list[str] = []
    fp.fuse(lambda r: shown.append(repr(r.at)) or r.at(1.0))(rays)
    assert shown[0].startswith("<Slang method Ray::at of Traced(")


@pytest.mark.req("T12", "C10")
def test_a_mutating_method_returns_the_new_object_in_a_trace(m: Any, rays: Any) -> None:
    before = rays.copy()
    moved = fp.fuse(lambda r: r.step(0.5).step(0.5))(rays)
    same(moved["o"], before["o"] + F32(0.5) * before["d"] + F32(0.5) * before["d"])
    same(rays, before)
    value, new, counter = fp.fuse(lambda r: r.bump(1.0, 5.0))(rays)
    same(value, before["o"][:, 0] + 1)
    same(new["o"], before["o"] + 1)
    same(counter, np.full(6, 6, F32))


@pytest.mark.req("V15")
def test_operators_on_structs_are_those_of_the_module(m: Any, rays: Any) -> None:
    same(fp.fuse(lambda r: (r + r * 2.0).o)(rays), rays["o"] + rays["o"] * 2)
    same(fp.fuse(lambda r: (2 * -r).d)(rays), -2 * rays["d"])
    same(fp.fuse(lambda r, s: r < s)(rays, rays[::-1].copy()), rays["o"][:, 0] < rays["o"][::-1, 0])
    same(m["operator+"](rays, rays)["o"], rays["o"] * 2)
    for wrong in (lambda r: r - r, lambda r: r + 1.0, lambda r: r / 2):
        with pytest.raises(fp.TraceError) as caught:
            fp.fuse(wrong)(rays)
        assert "declare such an operator in Slang" in caught.value.hint
    for wrong in (lambda r: r**2, lambda r: r // 2, lambda r: r @ r):
        with pytest.raises(fp.TraceError):
            fp.fuse(wrong)(rays)


@pytest.mark.req("T12")
def test_one_kernel_for_a_chain_of_methods(m: Any, rays: Any) -> None:
    chain = fp.fuse(lambda r, t: m.Ray.make(r.step(t).at(t), r.d).at(1.0) * 2.0)
    assert chain.explain(rays, 0.5).kernels == 1
    assert ".step(" in chain.source(rays, 0.5)
    moved = rays["o"] + F32(0.5) * rays["d"]
    np.testing.assert_allclose(chain(rays, 0.5), (moved + F32(0.5) * rays["d"] + rays["d"]) * 2, rtol=1e-6)


# ---- generated programs ----------------------------------------------------------------------------------------------

MODULE: list[Any] = []


def make_ray(ray: Any, t: Any) -> Any:
    return MODULE[0].Ray.make(ray.at(t), ray.o)


STEPS = {
    "step": (lambda r, t: r.step(t), lambda o, d, t: (o + t * d, d)),
    "bump": (lambda r, t: r.bump(t, 0.0)[1], lambda o, d, t: (o + t, d)),
    "scale": (lambda r, t: r * t, lambda o, d, t: (o * t, d * t)),
    "neg": (lambda r, t: -r, lambda o, d, t: (-o, -d)),
    "add": (lambda r, t: r + r, lambda o, d, t: (o + o, d + d)),
    "make": (make_ray, lambda o, d, t: (o + t * d, o)),
}
ENDS = {
    "at": (lambda r, t: r.at(t), lambda o, d, t: o + t * d),
    "dot": (lambda r, t: r.at(r.o), lambda o, d, t: np.einsum("...i,...i->...", o, d)),
    "reach": (lambda r, t: r.reach(t), lambda o, d, t: (t * o)[..., 0]),
    "field": (lambda r, t: r.o.zyx, lambda o, d, t: o[..., ::-1]),
    "parts": (lambda r, t: r.parts()[1], lambda o, d, t: d),
}


@pytest.mark.req("T12", "V15")
@examples(45)
@given(st.lists(st.sampled_from(sorted(STEPS)), max_size=4), st.sampled_from(sorted(ENDS)), st.booleans(), st.integers(-2, 3))
def test_generated_chains_of_methods(m: Any, steps: list[str], end: str, batched: bool, t: int) -> None:
    MODULE[:] = [m]
    shape = (5,) if batched else ()
    o, d = ramp(*shape, 3, start=-1), ramp(*shape, 3, start=2, step=0.5)
    rays = np.zeros(shape, m.Ray.dtype)
    rays["o"], rays["d"] = o, d

    def program(ray: Any, t: Any) -> Any:
        for name in steps:
            ray = STEPS[name][0](ray, t)
        return ENDS[end][0](ray, t)

    for name in steps:
        o, d = STEPS[name][1](o, d, F32(t))
    expected = ENDS[end][1](o, d, F32(t))
    actual = fp.fuse(program)(rays, float(t))
    np.testing.assert_allclose(actual, np.broadcast_to(expected, np.shape(actual)), rtol=1e-5, atol=1e-5)


def test_an_extension_is_seen_whatever_was_asked_before(device: Any) -> None:
    """Slang lists the members of a type once per session: a method that was missing is found once a module adds it."""
    before = fp.Module.load_from_source(device, "extended_later", "float3 same(float3 a) { return a; }")
    ones = np.ones((2, 3), F32)
    with pytest.raises(fp.UnknownNameError, match="has no member 'glow'"):
        fp.fuse(lambda a: before.same(a).glow())(ones)
    source = "extension float3 { float glow() { return this.x + 1; } }\nfloat3 same(float3 a) { return a; }"
    after = fp.Module.load_from_source(device, "extended_later", source)
    same(fp.fuse(lambda a: after.same(a).glow())(ones), np.full(2, 2, F32))


def test_an_extension_conforms_whatever_was_asked_before(device: Any) -> None:
    shapes = "interface IShape { float area(); }\nfloat measure<T : IShape>(T s) { return s.area(); }\n"
    before = fp.Module.load_from_source(device, "shapes_before", shapes)
    with pytest.raises(fp.NoMatchError):
        before.measure(2.0)
    after = fp.Module.load_from_source(
        device, "shapes_after", shapes + "extension float : IShape { float area() { return this * this; } }"
    )
    assert after.measure(3.0) == 9


def test_members_by_index_as_of_arrays_and_dicts(device: Any) -> None:
    m = fp.Module.load_from_source(device, "members_by_index", "struct Box { float3 at; float size; };")
    box = m.Box(np.ones((2, 3), F32), 2.0)
    both = fp.fuse(lambda box: box["at"] * box["size"])
    for value in (box, fp.Tensor.from_numpy(device, box, m.Box), m.Box([1, 1, 1], 2.0)):
        assert np.unique(both(value)).tolist() == [2]
    with pytest.raises(fp.UnknownNameError, match="did you mean 'size'"):
        fp.fuse(lambda box: box["sise"])(box)
