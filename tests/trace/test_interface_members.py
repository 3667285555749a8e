"""Structs with a member of interface type: the trampoline makes the concrete struct and assigns it; Slang dispatches."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from tests.support.examples import examples
from tests.support.slang_functions import F32, ramp, same

SOURCE = """
interface IShape { float area(); float scaled(float k); };
struct Square : IShape { float side; float area() { return side * side; } float scaled(float k) { return k * area(); } };
struct Circle : IShape { float r; float3 c; float area() { return 3 * r * r + c.x; } float scaled(float k) { return -k; } };
struct Box<T : IFloat> : IShape { T side; float area() { return side.toFloat(); } float scaled(float k) { return 7; } };
struct Large : IShape { float a[9]; float area() { return a[0] + a[8]; } float scaled(float k) { return 8; } };
struct Ray { float side; };
struct Scene { float gain; IShape shape; };
struct World { Scene scene; float2 offset; };
float total(Scene s) { return s.gain * s.shape.area(); }
float far(World w, float k) { return k * w.scene.gain * w.scene.shape.area() + w.offset.x - w.offset.y; }
float other(Scene s, int id)
{
    IShape shape = createDynamicObject<IShape>(id, float4(2, 3, 4, 5));
    if (id > 1) shape = s.shape;
    return s.gain * shape.area();
}
Scene brighter(Scene s, float k) { s.gain *= k; return s; }
void change(inout Scene s) { s.gain *= 2; }
"""
SIDE = ramp(4)


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "interface_members", SOURCE)


def square(side: Any) -> dict[str, Any]:
    return {"_type": "Square", "side": side}


def circle(r: Any, c: Any) -> dict[str, Any]:
    return {"_type": "Circle", "r": r, "c": c}


@pytest.mark.req("T4", "T7", "F4")
def test_the_type_is_that_of_the_fields(m: Any) -> None:
    total = m.total.type_conformances({"IShape": ["Square", "Circle"]})
    assert total({"gain": 2.0, "shape": square([2.0, 3.0])}) == [8, 18]
    same(total({"gain": 2.0, "shape": circle(SIDE, (1, 2, 3))}), 2 * (3 * SIDE * SIDE + 1))
    assert total({"gain": 2.0, "shape": circle(1.0, (1, 2, 3))}) == 8
    same(m.total({"gain": SIDE, "shape": {"_type": "Box<float>", "side": 3.0}}), 3 * SIDE)
    same(m.total({"gain": SIDE, "shape": {"_type": "Large", "a": np.ones((4, 9), F32)}}), 2 * SIDE)
    far = m.far({"scene": {"gain": 2.0, "shape": square(SIDE)}, "offset": {"x": SIDE, "y": 1.0}}, [1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(far, np.arange(1, 5) * 2 * SIDE * SIDE + SIDE - 1, rtol=1e-6)


@pytest.mark.req("T6", "T8", "V4")
def test_every_way_to_say_a_struct(m: Any) -> None:
    class Square(SimpleNamespace):
        _type = "Square"

    squares = np.zeros(4, m.Square.dtype)
    squares["side"] = SIDE
    given: list[Any] = [
        Square(side=SIDE),
        {"_type": m.Square, "side": SIDE},
        fp.vcast({"side": SIDE}, m.Square),
        fp.vmap(square(SIDE), (0,)),
        squares,
        fp.Tensor.from_numpy(m.device, squares, dtype=m.Square),
    ]
    for shape in given:
        same(np.asarray(m.total({"gain": 2.0, "shape": shape}, _result="numpy")), 2 * SIDE * SIDE)
    same(m.total(SimpleNamespace(gain=2.0, shape=Square(side=SIDE))), 2 * SIDE * SIDE)


@pytest.mark.req("F4")
def test_slang_dispatches_between_what_was_given_and_what_is_linked(m: Any) -> None:
    other = m.other.type_conformances([("IShape", "Square", 0), ("IShape", "Circle", 1)])
    scene = {"gain": 2.0, "shape": square([1.0, 2.0, 3.0])}
    assert other(scene, [0, 1, 2]) == [2 * 4, 2 * (3 * 4 + 3), 2 * 9]
    assert other({**scene, "shape": circle(1.0, (5, 0, 0))}, [0, 1, 2]) == [8, 30, 16]


@pytest.mark.req("V12", "V15", "F4")
def test_fused_functions_build_read_and_call_them(m: Any) -> None:
    same(fp.fuse(lambda x: m.total({"gain": x, "shape": square(x + 1)}))(SIDE), SIDE * (SIDE + 1) ** 2)
    scene = {"gain": 2.0, "shape": square(SIDE)}
    same(fp.fuse(lambda s: m.total(s) + s["shape"]["side"])(scene), 2 * SIDE * SIDE + SIDE)
    look = fp.fuse(lambda s: m.brighter(s, 3.0).shape.scaled(2.0) + m.brighter(s, 3.0).gain)
    same(look(scene), 2 * SIDE * SIDE + 6)
    same(look.type_conformances({"IShape": ["Circle"]})({"gain": SIDE, "shape": circle(1.0, (1, 2, 3))}), 3 * SIDE - 2)


@pytest.mark.req("N1", "N2", "N3")
def test_the_kernel_has_flat_leaves_and_one_struct_for_each_level(m: Any) -> None:
    scene = {"gain": 2.0, "shape": square(SIDE)}
    text = m.total.source(scene)
    assert "void fz_call_total(float a_s_shape_side, float a_s_gain, out float r_0)" in text
    assert "    Square v0;\n    v0.side = a_s_shape_side;\n" in text
    assert "    v1.shape = v0;\n" in text
    shown = str(m.total.explain(scene))
    assert "  argument s: Scene\n    gain: float, uniform\n    shape: Square\n      side: float, memory" in shown


@pytest.mark.req("C10")
def test_what_is_beside_it_is_written_back(m: Any) -> None:
    scene = {"gain": np.ones(2, F32), "shape": square(3.0)}
    assert m.change(scene) is None
    assert scene["gain"].tolist() == [2, 2]
    with pytest.raises(fp.UnsupportedArgumentError, match=r"(?s)s\.shape\.side cannot be written back.*IShape"):
        m.change({"gain": np.ones(2, F32), "shape": square(np.ones(2, F32))})
    assert m.change(scene) is None
    assert scene["gain"].tolist() == [4, 4]


@pytest.mark.req("T4", "T11", "F4")
@pytest.mark.parametrize(
    ("shape", "error", "words"),
    [
        ({"side": SIDE}, fp.ArgumentError, r"s\.shape is given by fields, and IShape is an interface.*Circle or Large or Square"),
        ({"_type": "Squre", "side": SIDE}, fp.UnknownNameError, r"s\.shape: there is no struct 'Squre'.*'Square'"),
        ({"_type": "IShape", "side": SIDE}, fp.UnknownNameError, r"s\.shape: there is no struct 'IShape'"),
        ({"_type": "Ray", "side": SIDE}, fp.NoMatchError, r"s\.shape does not fit.*saw: +Ray.*IShape: Circle or Large or Square"),
        ({"_type": "Square", "r": SIDE}, fp.ArgumentError, r"s\.shape has no member 'r'.*Square \{ side \}"),
        ({"_type": "Square", "side": np.ones((4, 3), F32)}, None, ""),
        ({"_type": "Square", "side": np.ones(4, np.int32)}, fp.NoMatchError, r"s\.shape\.side does not fit"),
        (3.0, fp.NoMatchError, r"s\.shape does not fit.*Python number.*IShape"),
        (SIDE, fp.NoMatchError, r"s\.shape does not fit.*IShape.*'_type': 'Circle'"),
    ],
)
def test_what_does_not_fit(m: Any, shape: Any, error: Any, words: str) -> None:
    if error is None:
        assert m.total({"gain": 1.0, "shape": shape}).shape == (4, 3)
        return
    with pytest.raises(error, match=f"(?s)total: {words}"):
        m.total({"gain": 1.0, "shape": shape})
    assert m.total({"gain": 2.0, "shape": square([2.0])}) == [8]


def test_it_has_no_layout(m: Any) -> None:
    with pytest.raises(fp.UnsupportedArgumentError, match="member 'shape' of struct Scene cannot live in memory"):
        m.brighter({"gain": 1.0, "shape": square(1.0)}, 2.0)


@pytest.mark.req("T7", "C5")
@examples(40)
@given(
    round=st.booleans(),
    gain=st.sampled_from([(), (3,), (2, 3), (1, 3), (2, 1)]),
    size=st.sampled_from([(), (3,), (2, 3), (2, 1)]),
    nested=st.booleans(),
)
def test_leaves_broadcast_like_numpy(round: bool, gain: tuple[int, ...], size: tuple[int, ...], nested: bool) -> None:
    m = fp.Module.load_from_source(fp.default_device(), "interface_members", SOURCE)
    rng = np.random.default_rng(len(gain) + 4 * len(size))
    g, s = rng.random(gain, F32), rng.random(size, F32)
    scene = {"gain": g, "shape": circle(s, (0.5, 0, 0)) if round else square(s)}
    area = 3 * s * s + F32(0.5) if round else s * s
    found = m.far({"scene": scene, "offset": [3.0, 1.0]}, 2.0) if nested else m.total(scene)
    np.testing.assert_allclose(found, 2 * g * area + 2 if nested else g * area, rtol=1e-5)


GENERIC = """
interface IShape { float area(); };
struct Square : IShape { float side; float area() { return side * side; } };
struct Gen<T : IShape> { T shape; float k; };
struct Both<T> { T first; T second; };
struct Row<T, let N : int> { T v[N]; };
float gen<T : IShape>(Gen<T> g) { return g.shape.area() * g.k; }
T swapped<T>(Both<T> p, out Both<T> q) { q.first = p.second; q.second = p.first; return p.first; }
float total<let N : int>(Row<float, N> row) { float s = 0; for (int i = 0; i < N; ++i) s += row.v[i]; return s; }
T last<T>(T values[3]) { return values[2]; }
"""


@pytest.mark.req("T7", "V1")
def test_generic_structs_as_parameters(device: Any) -> None:
    """What a generic struct is made of is inferred from the argument, as any other generic."""
    m = fp.Module.load_from_source(device, "generic_structs", GENERIC)
    side = np.arange(4, dtype=np.float32)
    fields = {"shape": {"side": side}, "k": 2.0}
    for argument in ({"_type": "Gen<Square>", **fields}, fp.vcast(fields, m["Gen<Square>"])):
        np.testing.assert_array_equal(m.gen(argument), 2 * side**2)
    np.testing.assert_array_equal(m["gen<Square>"](fields), 2 * side**2)
    made = fp.Tensor.from_numpy(device, np.array([(2.0, 3.0), (1.0, 4.0)], m["Gen<Square>"].dtype), m["Gen<Square>"])
    assert m.gen(made).to_numpy().tolist() == [12.0, 4.0]
    assert fp.fuse(lambda g: m.gen(g) + fp.sum(m.gen(g)))(made).to_numpy().tolist() == [28.0, 20.0]
    for element, type in ((np.float32, "float"), (np.int32, "int")):
        first, both = m.swapped({"_type": f"Both<{type}>", "first": side.astype(element), "second": side.astype(element) + 1})
        np.testing.assert_array_equal(first, side.astype(element))
        assert both["second"].dtype == element
        np.testing.assert_array_equal(both["first"], side.astype(element) + 1)
    rows = fp.Tensor.from_numpy(
        device, np.arange(8, dtype=np.float32).reshape(2, 4).view(m["Row<float,4>"].dtype)[:, 0], m["Row<float,4>"]
    )
    assert m.total(rows).to_numpy().tolist() == [6.0, 22.0]
    with pytest.raises(fp.ArgumentError, match=r"(?s)g is given by fields, and its parameter is generic.*_type"):
        m.gen(fields)
    with pytest.raises(fp.NoMatchError):
        m.gen(side)
