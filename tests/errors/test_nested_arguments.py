"""Nested arguments that are wrong: every message names the function and the path, and the next good call works."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.slang_functions import F32, ramp, same

SOURCE = """
struct Ray { float3 position; float3 direction; };
struct Sphere { Ray axis; float radius; };
struct A { float x; float y; };
struct B { float x; float y; };
float3 at(Ray ray, float t) { return ray.position + t * ray.direction; }
float size(Sphere s) { return s.radius; }
float sum(A p) { return p.x + p.y; }
float sum(B p) { return p.x * p.y; }
float pick(A p) { return p.x; }
float pick(Sphere p) { return p.radius; }
float twice(float x) { return 2 * x; }
T same<T>(T x) { return x; }
"""
P, D = ramp(4, 3), ramp(4, 3, start=2.0)


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "nested_errors", SOURCE)


@pytest.fixture(autouse=True)
def the_next_good_call_works(m: Any) -> Iterator[None]:
    yield
    same(m.at({"position": {"x": 10, "y": P[:, 1], "z": 0}, "direction": D}, 0)[:, 1], P[:, 1])
    assert m.twice(2) == 4.0


def refused(call: Any, kind: type[Exception], *words: str) -> str:
    with pytest.raises(fp.FusepyError) as caught:
        call()
    text = str(caught.value)
    assert isinstance(caught.value, kind), text
    for word in (*words, "hint:", "test_nested_arguments.py:"):
        assert word in text, text
    with pytest.raises(fp.FusepyError) as again:  # the same failure twice gives the same text, but for the line
        call()
    assert str(again.value) == text
    return text


def ray(**changes: Any) -> dict[str, Any]:
    given = {"position": {"x": 1, "y": 2, "z": 3}, "direction": D, **changes}
    return {k: v for k, v in given.items() if v is not ...}


NAMES = [
    (ray(position=..., positon=P), TypeError, "at: ray has no member 'positon'", "Ray { position, direction }", "'position'?"),
    (ray(direction=...), TypeError, "at: ray misses 'direction'", "saw:      position", "Ray { position, direction }"),
    (ray(tmax=1), TypeError, "at: ray has no member 'tmax'", "Ray { position, direction }"),
    (ray(position={"x": 1, "y": 2}), TypeError, "at: ray.position misses 'z'", "float3 { x, y, z }"),
    (ray(position={"x": 1, "y": 2, "z": 3, "w": 4}), TypeError, "at: ray.position has no member 'w'", "float3 { x, y, z }"),
    (ray(position={"x": {"x": 1}, "y": 2, "z": 3}), TypeError, "at: ray.position.x is given by fields", "expected: float"),
    ({}, TypeError, "at: ray is a dict that names no field"),
    (ray(position={}), TypeError, "at: ray.position is a dict that names no field"),
    (ray(position={"_type": "float3"}), TypeError, "at: ray.position misses 'x', 'y', 'z'"),
    ({"a b": 1}, TypeError, "at: ray has a field 'a b'", "identifiers"),
    ({"x; }": 1}, TypeError, "at: ray has a field 'x; }'"),
    (ray(position={0: 1, 1: 2, 2: 3}), TypeError, "at: ray.position has a field 0"),
    (ray(_type="Rya"), AttributeError, "at: ray: there is no struct 'Rya'", "did you mean 'Ray'?"),
    (ray(_type="a;} void f(){"), ValueError, "at: ray: 'a;} void f(){' is not a Slang type name"),
    (ray(_type=5), TypeError, "at: ray: '_type' names no struct", "saw:      5"),
    (ray(_type="A"), TypeError, "at: ray has no member 'position'", "A { x, y }"),
    ({"_type": "A", "x": 1, "y": 2}, TypeError, "at: argument 'ray' does not fit", "expected: Ray"),
]


@pytest.mark.req("T4")
@pytest.mark.parametrize("given", NAMES, ids=lambda g: g[2][4:])
def test_names(m: Any, given: Any) -> None:
    value, kind, *words = given
    refused(lambda: m.at(value, 1), kind, *words)
    refused(lambda: fp.fuse(lambda t: m.at(value, t))(1.0), kind, *words)


LEAVES = [
    (ray(position=np.ones((4, 2), F32)), TypeError, "at: ray.position does not fit", "Tensor<float>[4,2]", "expected: float3"),
    (ray(position={"x": 1, "y": 1, "z": np.ones(5, F32)}), ValueError, "'ray.position.z'", "'ray.direction'", "5 on axis 0"),
    (
        ray(position={"x": 1, "y": 1, "z": np.ones(4, np.float16)}),
        TypeError,
        "at: ray.position.z does not fit",
        "fp.vcast(value, m.float",
    ),
    (ray(position=np.ones((4, 3), np.int32)), TypeError, "at: ray.position does not fit", "fp.vcast(value, m.float"),
    (ray(position={"x": 1, "y": 1, "z": "a"}), TypeError, "at: argument 'ray.position.z': a str cannot"),
    (ray(position={"x": 1, "y": None, "z": 1}), TypeError, "at: ray.position.y does not fit", "None", "expected: float"),
    (ray(position={"x": 1, "y": object(), "z": 1}), TypeError, "at: argument 'ray.position.y': a object cannot"),
    (ray(position={"x": 1, "y": 1 + 2j, "z": 1}), TypeError, "at: argument 'ray.position.y': a complex cannot"),
    (ray(position={"x": 1, "y": [[1], [2, 3]], "z": 1}), ValueError, "at: argument 'ray.position.y': a nested list is ragged"),
    (ray(position=np.ones((4, 3), ">f4")), TypeError, "at: argument 'ray.position'", "machine's byte order"),
    (ray(position={"x": fp.vmap(P, (0, 1, 2)), "y": 0, "z": 0}), ValueError, "'x'", "vmap names 3 axes of a value with 2"),
    (
        ray(position={"x": fp.vmap(P[0], (3,)), "y": 0, "z": 0}),
        ValueError,
        "at: ray: no argument runs along grid dimension d0, d1, d2",
    ),
    (ray(position=fp.vcast(P, "float2x2")), TypeError, "at: ray.position does not fit", "expected: float3"),
]


@pytest.mark.req("T11", "T3")
@pytest.mark.parametrize("given", LEAVES, ids=lambda g: g[2])
def test_leaves(m: Any, given: Any) -> None:
    value, kind, *words = given
    refused(lambda: m.at(value, 1), kind, *words)


@pytest.mark.req("T11")
def test_deeper_leaves(m: Any) -> None:
    sphere = {"axis": {"position": P, "direction": {"x": 1, "y": 2, "z": np.ones(4, np.float16)}}, "radius": 1}
    refused(lambda: m.size(sphere), TypeError, "size: s.axis.direction.z does not fit")
    refused(lambda: m.size({"axis": np.zeros(4, m.Sphere.dtype), "radius": 1}), TypeError, "size: s.axis does not fit", "Ray")
    refused(lambda: fp.fuse(look)(ray(position={"x": 1, "y": 1, "z": "a"})), TypeError, "look: argument 'ray.position.z'")


def look(ray: Any) -> Any:
    return ray


def test_structures_that_contain_themselves(m: Any) -> None:
    loop: dict[str, Any] = {"position": P}
    loop["direction"] = loop
    node = SimpleNamespace(position=P)
    node.direction = SimpleNamespace(parent=node)

    class Chain(dict[str, Any]):
        def items(self) -> Any:
            return [("next", Chain(a=1))]

    fused = fp.fuse(look)
    for call in (m.at, m.at.explain, m.at.ir, lambda value, t: fused(value), lambda value, t: fp.resolve(m.at, value, t)):
        for value, words in [(loop, "ray.direction contains itself"), (node, "ray.direction.parent contains itself")]:
            with pytest.raises(TypeError) as caught:
                call(value, 1)
            assert words in str(caught.value)
    refused(lambda: m.at(Chain(a=1), 1), TypeError, "has more than 64 levels of fields")
    with pytest.raises(TypeError, match=r"Batchable\.direction contains itself"):
        fp.Batchable([loop])
    with pytest.raises(TypeError, match=r"at: ray\.direction contains itself"):
        fp.fuse(lambda t: m.at(loop, t))(1.0)


@pytest.mark.req("T4", "C9")
def test_structs_of_equal_fields(m: Any) -> None:
    text = refused(lambda: m.sum({"x": 3, "y": 4}), TypeError, "sum: p: several structs have these fields", "x, y")
    assert "'_type': 'A'" in text
    assert "'_type': 'B'" in text
    with pytest.raises(fp.AmbiguousCallError):
        fp.fuse(lambda p: m.sum(p))({"x": 3.0, "y": 4.0})
    assert m.sum({"_type": "A", "x": 3, "y": 4}) == 7.0
    assert m.sum({"_type": "B", "x": 3, "y": 4}) == 12.0


def test_overloads_of_which_none_has_the_fields(m: Any) -> None:
    refused(
        lambda: m.pick({"x": 1, "z": 2}),
        TypeError,
        "pick: p is given by fields, and no overload has these",
        "A { x, y }",
        "Sphere {",
    )
    refused(lambda: m.pick({"x": 1, "radios": 2}), TypeError, "did you mean 'radius'")
    assert m.pick({"x": 1, "y": 2}) == 1.0


def test_fields_where_slang_wants_none(m: Any) -> None:
    refused(lambda: m.twice({"x": 1}), TypeError, "twice: x is given by fields, where Slang takes no struct", "expected: float")
    refused(lambda: m.same({"x": 1, "y": 2}), TypeError, "same: x is given by fields", "generic", "'_type'")
    refused(lambda: m.at({"position": P, "direction": D}), TypeError, "at() misses the argument 't'")
    refused(lambda: m.at({"position": P, "direction": D}, 1, 2), TypeError, "at() takes 2 arguments")
    refused(lambda: m.at(P, 1), TypeError, "at: argument 'ray' does not fit", "expected: Ray")


def test_a_fused_function_that_expects_something_else(m: Any) -> None:
    """What Python says of a dict or an object is left as it is: it is the user's own code that meets it."""
    with pytest.raises(TypeError, match="unsupported operand"):
        fp.fuse(lambda x: x + 1)({"a": 1.0})
    with pytest.raises(AttributeError, match="no attribute 'origin'"):
        fp.fuse(lambda ray: ray.origin)(SimpleNamespace(position=P))
    with pytest.raises(KeyError):
        fp.fuse(lambda ray: ray["origin"])({"position": P})
    refused(lambda: fp.fuse(lambda x: m.twice(x))({"a": 1.0}), TypeError, "twice: x is given by fields")
    refused(lambda: fp.fuse(lambda ray: m.at(ray, 1.0))(P), TypeError, "at: argument 'ray' does not fit")
    same(fp.fuse(lambda ray: m.at(ray, 1.0))({"position": P, "direction": D}), P + D)
    kept: list[Any] = []
    fp.fuse(lambda ray: kept.append(ray["position"]) or m.at(ray, 1.0))({"position": P, "direction": D})
    with pytest.raises(TypeError, match="outside of the call that made it"):
        m.at({"position": kept[0], "direction": D}, 1)


def test_lists_of_traced_values(m: Any) -> None:
    look = fp.fuse(lambda x: m.at({"position": [x, x, 0.5], "direction": D}, 0.0))
    same(look(P[:, 0]), np.stack([P[:, 0], P[:, 0], np.full(4, 0.5, F32)], -1))
    same(fp.fuse(lambda x: m.twice([x, x + 1]))(P[:, 0]), 2 * np.stack([P[:, 0], P[:, 0] + 1]))
    for wrong in (lambda x: m.same([x, x]), lambda x: m.at({"position": [x, x], "direction": D}, 0.0)):
        with pytest.raises(TypeError, match=r"is a list of (values|2), and its parameter (is no|takes 3)") as caught:
            fp.fuse(wrong)(P[:, 0])
        assert "m.float3(x, y, z)" in str(caught.value)


def test_batches_of_unlike_elements(m: Any) -> None:
    for items, words in [
        ([{"x": 1}, {"y": 1}], "element 1 has other fields than element 0"),
        ([{"x": 1}, 5], "element 1 has other fields than element 0"),
        ([5, {"x": 1}], "some elements have fields and others have none"),
        ([{"a": {"x": 1}}, {"a": {"x": 1, "y": 2}}], r"Batchable\.a: element 1 has other fields"),
        ([{"_type": "A", "x": 1, "y": 1}, {"_type": "B", "x": 1, "y": 1}], "element 1 has other fields"),
        ([], "Batchable takes a list"),
        (5, "Batchable takes a list"),
    ]:
        with pytest.raises(TypeError, match=words):
            fp.Batchable(items)  # type: ignore[arg-type]
    refused(
        lambda: m.at(fp.Batchable([ray(direction=[1, 2, 3]), ray(direction=[1, 2])]), 1), ValueError, "ray.direction", "ragged"
    )
