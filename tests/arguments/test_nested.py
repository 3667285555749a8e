"""Nested arguments on the device: dicts and objects of leaves, arrays of structs, and what is written back to them."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import fusepy as fp
from tests.support.slang_functions import F32, ramp, same

SOURCE = """
struct Ray { float3 position; float3 direction; };
struct Sphere { Ray axis; float radius; };
struct A { float x; float y; };
struct B { float x; float y; };
struct Pair<T> { T a; T b; };
struct Flags { bool on; double d; int i; };
interface IShape { float area(); };
struct Square : IShape { float side; float area() { return side * side; } };
namespace deep { struct Inner { float v; }; float of(Inner i) { return i.v; } }

float3 at(Ray ray, float t) { return ray.position + t * ray.direction; }
float3 both(Ray a, Ray b) { return a.position + b.direction; }
float sum(A p) { return p.x + p.y; }
float sum(B p) { return p.x * p.y; }
float of(A p) { return p.x - p.y; }
float size(Ray r) { return length(r.position); }
float size(Sphere r) { return r.radius; }
float pairs(Pair<float> p) { return p.a - p.b; }
double flags(Flags f) { return f.on ? f.d : f.i; }
T same<T>(T x) { return x; }
float area(IShape s) { return s.area(); }
float area_of<T : IShape>(T s) { return s.area(); }
float scaled(float x, A k) { return k.x * x + k.y; }

void move(inout Ray ray, float t) { ray.position += t * ray.direction; }
float turn(inout float v) { v += 1; return v; }
void turn(inout A p) { p.x += 1; }
void turn(inout B q, float by) { q.y += by; }
void make(float3 p, out Ray ray) { ray.position = p; ray.direction = 2 * p; }
void grow(inout Sphere s, out float before) { before = s.radius; s.radius *= 2; s.axis.direction.y = s.radius; }
"""

P, D, T = ramp(4, 3), ramp(4, 3, start=1.0), ramp(4)
AT = P + T[:, None] * D


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "nested", SOURCE)


def tensor(array: Any, dtype: Any = None) -> Any:
    return fp.Tensor.from_numpy(fp.default_device(), array, dtype)


class Plain:
    def __init__(self, **fields: Any):
        self.__dict__.update(fields)


class Slots:
    __slots__ = ("_cache", "direction", "position")

    def __init__(self, position: Any, direction: Any):
        self.position, self.direction = position, direction


@dataclass
class Data:
    position: Any
    direction: Any

    def far(self, t: Any) -> Any:
        return self.position + self.direction * t


@dataclass(frozen=True)
class Frozen:
    position: Any
    direction: Any

    def far(self, t: Any) -> Any:
        return self.position - self.direction * t


class Named(NamedTuple):
    position: Any
    direction: Any

    def far(self, t: Any) -> Any:
        return self.position + self.direction * t


# ---- from fields to a struct -----------------------------------------------------------------------------------------


@pytest.mark.req("T7", "N1", "N2", "N3")
def test_the_example_of_the_seed(m: Any) -> None:
    ray = {"position": {"x": 10, "y": 20, "z": T}, "direction": D}
    same(m.at(ray, 2), np.stack([np.full(4, 10, F32), np.full(4, 20, F32), T], -1) + 2 * D)
    text = m.at.source(ray, 2)
    assert text.count("void fz_call_at(") == 1  # one trampoline
    assert "float3 v0 = float3(a_ray_position_x, a_ray_position_y, a_ray_position_z);" in text
    assert "v1.position = v0;" in text
    assert "float a_ray_position_x;" in text  # a constant leaf is a uniform
    assert "if (i >= fz_args.count)" in text
    assert m.at.explain(ray, 2).kernels == 1


FORMS = [
    lambda p, d: {"position": p, "direction": d},
    lambda p, d: {"direction": d, "position": p},
    lambda p, d: OrderedDict(direction=d, position=p),
    lambda p, d: Plain(position=p, direction=d, _private="not read"),
    lambda p, d: SimpleNamespace(position=p, direction=d),
    Slots,
    Data,
    Frozen,
    Named,
    lambda p, d: {"_type": "Ray", "position": p, "direction": d},
]


@pytest.mark.req("T4", "T6", "T9")
@pytest.mark.parametrize("form", FORMS)
def test_dicts_and_objects_are_one_thing(m: Any, form: Any) -> None:
    same(m.at(form(P, D), T), AT)
    same(m.at(form(tensor(P), D), T).to_numpy(), AT)
    same(m.at(form({"x": P[:, 0], "y": tensor(P[:, 1]), "z": P[:, 2]}, D), T).to_numpy(), AT)
    assert m.at(form([1, 2, 3], (0, 0, 1)), 2) == [1.0, 2.0, 5.0]
    assert m.at(form(1, 0.5), 2) == [2.0, 2.0, 2.0]  # a number in every component
    same(fp.fuse(lambda ray, t: m.at(ray, t))(form(P, D), T), AT)


def test_components_are_taken_by_name(m: Any) -> None:
    same(m.at({"position": {"z": P[:, 2], "x": P[:, 0], "y": P[:, 1]}, "direction": 0}, 1), P)
    assert m.of({"y": 1, "x": 5}) == 4.0


def test_fields_inherited_and_said_by_the_class(m: Any) -> None:
    class Base:
        __slots__ = ("x",)

    class Derived(Base):
        __slots__ = ("y",)
        _type: ClassVar[str] = "B"

    point = Derived()
    point.x, point.y = 3.0, 4.0
    assert m.sum(point) == 12.0

    @dataclass
    class Point:
        x: Any
        y: Any
        _type: ClassVar[str] = "A"

    assert m.sum(Point(3.0, 4.0)) == 7.0
    assert m.sum(SimpleNamespace(_type="B", x=3.0, y=4.0)) == 12.0
    assert m.sum(SimpleNamespace(_type="A", x=3.0, y=4.0)) == 7.0


@pytest.mark.req("T4")
def test_type_chooses_the_struct(m: Any) -> None:
    assert m.sum({"_type": "A", "x": 3, "y": 4}) == 7.0
    assert m.sum({"_type": m.B, "x": 3, "y": 4}) == 12.0
    assert m.sum(fp.vcast({"x": 3, "y": 4}, m.B)) == 12.0
    assert m.sum.declare(m.B)({"x": 3, "y": 4}) == 12.0
    assert fp.fuse(lambda p: m.sum(p)).declare(m.B)({"x": 3.0, "y": 4.0}) == 12.0
    assert fp.fuse(lambda p: m.sum(p))({"_type": "B", "x": 3.0, "y": 4.0}) == 12.0
    assert fp.fuse(lambda p: m.sum({**p, "_type": "A"}))({"x": 3.0, "y": 4.0}) == 7.0
    same(m.same({"_type": "A", "x": T, "y": 2})["x"], T)
    same(m.area({"_type": "Square", "side": T}), T * T)
    same(m.area_of({"_type": "Square", "side": T}), T * T)
    same(m.pairs({"_type": "Pair<float>", "a": T, "b": 1}), T - 1)
    same(m.pairs({"a": T, "b": 1}), T - 1)
    assert m["deep::of"]({"v": 5}) == 5.0
    assert m["deep::of"]({"_type": "deep::Inner", "v": 5}) == 5.0


@pytest.mark.req("T4", "V1")
def test_the_fields_choose_among_overloads(m: Any) -> None:
    ray = {"position": [3, 4, 0], "direction": [1, 0, 0]}
    assert m.size(ray) == 5.0
    assert m.size({"axis": ray, "radius": 7}) == 7.0
    same(m.size({"axis": np.zeros(4, m.Ray.dtype), "radius": T}), T)


def test_numbers_become_what_the_members_are(m: Any) -> None:
    assert m.flags({"on": True, "d": 0.1, "i": 3}) == 0.1  # all digits of a Python float
    assert m.flags({"on": False, "d": 0.1, "i": 3}) == 3.0
    same(m.flags({"on": np.array([True, False]), "d": 0.1, "i": np.array([7, 8], np.int32)}), np.array([0.1, 8.0]))
    with pytest.raises(fp.FusepyError, match=r"f\.i"):
        m.flags({"on": True, "d": 1, "i": 0.5})
    with pytest.raises(OverflowError, match=r"f\.i"):
        m.flags({"on": True, "d": 1, "i": 1 << 40})


@pytest.mark.req("C18")
def test_by_name_and_in_any_order(m: Any) -> None:
    same(m.at(t=T, ray={"position": P, "direction": D}), AT)
    same(m.scaled(k={"x": T, "y": 1}, x=2), T * 2 + 1)
    same(m.both({"position": P, "direction": D}, Plain(position=0, direction=D)), P + D)


@pytest.mark.req("C5")
def test_leaves_broadcast_as_arguments_do(m: Any) -> None:
    column, row = ramp(3, 1), ramp(4)
    position = {"x": column, "y": row, "z": 5}
    found = m.at({"position": position, "direction": ramp(2, 1, 1, 3)}, 1)
    parts = np.broadcast_arrays(column, row, F32(5))
    same(found, np.stack(parts, -1) + ramp(2, 1, 1, 3))
    same(m.of({"x": np.zeros((0,), F32), "y": 1}), np.zeros(0, F32))
    same(m.of({"x": T[::-1], "y": np.broadcast_to(F32(2), 4)}), T[::-1] - 2)
    same(m.of({"x": tensor(T)[::2], "y": T[:2]}).to_numpy(), T[::2] - T[:2])
    same(m.of({"x": np.asarray(F32(3)), "y": T}), 3 - T)


def test_strict_broadcasting_holds_for_leaves(m: Any) -> None:
    strict = m.of.strict_broadcasting()
    same(strict({"x": T, "y": 1}), T - 1)
    with pytest.raises(ValueError, match=r"p\.x.*p\.y"):
        strict({"x": T, "y": T[:1]})


@pytest.mark.req("V11", "F7")
def test_sizes_and_numbers_compile_nothing(m: Any) -> None:
    def call(n: int, k: float) -> None:
        same(m.at({"position": {"x": k, "y": ramp(n), "z": 0}, "direction": (k, 0, 0)}, 0)[:, 1], ramp(n))

    call(10, 1.0)
    before = fp.stats()
    for n in range(11, 20):
        call(n, n / 2)
    after = fp.stats()
    assert after.kernels_compiled == before.kernels_compiled
    assert after.plan_misses == before.plan_misses


@pytest.mark.req("C13", "F14")
def test_containers_of_results_follow_the_leaves(m: Any) -> None:
    assert type(m.of({"x": 1, "y": 2})) is float
    assert type(m.of({"x": [1, 2, 3, 4, 5], "y": 2})) is list
    assert type(m.of({"x": [1.0] * 4, "y": T})) is np.ndarray
    assert type(m.of({"x": T, "y": tensor(T)})) is fp.Tensor
    assert type(m.of({"x": T, "y": T}, _result="list")) is list
    out = fp.Tensor.empty(fp.default_device(), 4)
    assert m.of({"x": T, "y": T}, _result=out) is out


# ---- mappings inside -------------------------------------------------------------------------------------------------


@pytest.mark.req("V5", "V3", "V4")
def test_vmap_and_vcast_at_leaves(m: Any) -> None:
    x, y = ramp(4), ramp(3)
    found = m.of({"x": fp.vmap(x, (1,)), "y": fp.vmap(y, (0,))})
    same(found, x[None, :] - y[:, None])
    ray = {"position": fp.vcast(P.astype(np.float64), m.float3), "direction": fp.vcast(tensor(D), m.float3)}
    same(m.at(ray, T).to_numpy(), AT)
    same(m.at({"position": fp.vmap(P, (1,)), "direction": 0}, fp.vmap(y, (0,))), np.broadcast_to(P, (3, 4, 3)))
    same(m.at({"position": {"x": fp.vmap(x, 2), "y": 0, "z": 0}, "direction": 0}, fp.vmap(ramp(2, 3), (0, 1)))[1, 2, :, 0], x)


@pytest.mark.rest
@pytest.mark.req("V5")
def test_vmap_of_a_whole_tree(m: Any) -> None:
    t = fp.vmap(ramp(3), (0,))
    expected = P[None] + ramp(3)[:, None, None] * D[None]
    same(m.at(fp.vmap({"position": P, "direction": D}, (1,)), t), expected)
    same(
        m.at(fp.vmap(Plain(position={"x": P[:, 0], "y": P[:, 1], "z": P[:, 2]}, direction=tensor(D)), (1,)), t).to_numpy(),
        expected,
    )
    one = m.at(fp.vmap({"position": P, "direction": [0, 0, 1]}, (1,)), t)  # a constant has no axis to map
    same(one, P[None] + ramp(3)[:, None, None] * np.array([0, 0, 1], F32))
    x = {"x": ramp(3), "y": 0, "z": 0}
    for own in ({**x, "x": fp.vmap(x["x"], (0,))}, fp.vmap(x, (0,)), fp.vmap(fp.vcast(x, m.float3), (0,))):  # which comes first
        found = m.at(fp.vmap({"position": P, "direction": own}, (1,)), t)
        same(found[..., 0], P[None, :, 0] + (ramp(3) * ramp(3))[:, None])
    cast = {"position": fp.vcast({"x": P[:, 0], "y": P[:, 1], "z": P[:, 2]}, m.float3), "direction": D}
    same(m.at(fp.vmap(cast, (1,)), t), expected)
    same(fp.fuse(lambda ray, t: m.at(ray, t))(fp.vmap({"position": P, "direction": D}, (1,)), t), expected)


@pytest.mark.req("V6", "V13")
def test_declared_calls(m: Any) -> None:
    expected = P[None] + ramp(3)[:, None, None] * D[None]
    ray = {"position": P, "direction": D}
    for f in (m.at, fp.fuse(lambda ray, t: m.at(ray, t))):
        same(f.declare(fp.vmapping(1), fp.vmapping(0))(ray, ramp(3)), expected)
        same(f.declare(ray=fp.vmapping(1), t=fp.vmapping(0))(t=ramp(3), ray=Plain(**ray)), expected)
        same(f.declare(m.Ray, m.float)(ray, T), AT)
        same(
            f.declare(None, fp.vmapping(0))({"position": [1, 2, 3], "direction": P[1]}, T),
            np.array([1, 2, 3], F32) + T[:, None] * P[1],
        )
        with pytest.raises(TypeError, match=r"None in declare\(\) means one value for all threads"):
            f.declare(None, fp.vmapping(0))(ray, T)
    inside = fp.fuse(lambda ray, t: m.at.declare(fp.vmapping(1), fp.vmapping(0))(ray, t))
    same(inside(ray, ramp(3)), expected)


def test_a_leaf_without_a_word_beside_mapped_ones(m: Any) -> None:
    same(m.of({"x": fp.vmap(T, 0), "y": T}), 0 * T)  # the grid is that of the struct, so it is clear what `y` runs along
    with pytest.raises(ValueError, match=r"scaled: k\.y does not say along which dimensions it runs") as caught:
        m.scaled(fp.vmap(ramp(2, 4), (0, 1)), {"x": fp.vmap(ramp(2), 0), "y": ramp(2)})
    assert "map k.y with vmap as well" in str(caught.value)
    same(
        m.scaled(fp.vmap(ramp(2, 4), (0, 1)), {"x": fp.vmap(ramp(2), 0), "y": fp.vmap(ramp(2), 0)}),
        ramp(2, 4) * ramp(2)[:, None] + ramp(2)[:, None],
    )
    sphere = {"axis": {"position": fp.vmap(P, 0), "direction": D}, "radius": fp.vmap(ramp(4, 2), (0, 1))}
    with pytest.raises(ValueError, match=r"axis\.direction does not say"):
        m.size(sphere)


# ---- batches ---------------------------------------------------------------------------------------------------------


@pytest.mark.req("C14")
def test_batches_of_tensors_of_torch_are_stacked_as_others(m: Any) -> None:
    """Its fields were said to recur."""
    torch = pytest.importorskip("torch")
    t = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    found = m.at(fp.Batchable([{"position": t, "direction": t * i} for i in range(2)]), 2.0)
    assert found.tolist() == [[1, 2, 3], [3, 6, 9]]
    sides = m.of({"x": fp.Batchable([v.detach() for v in t]), "y": fp.Batchable([1, 1, 1])})
    assert sides.tolist() == [0, 1, 2]


@pytest.mark.req("C14")
def test_batchable(m: Any) -> None:
    rays = [{"position": [i, 0, 0], "direction": [0, i, 0]} for i in range(3)]
    assert m.at(fp.Batchable(rays), 2) == [[i, 2 * i, 0] for i in range(3)]
    assert m.at(fp.Batchable([Plain(**r) for r in rays]), 2) == [[i, 2 * i, 0] for i in range(3)]
    assert m.at(fp.Batchable([Data(**r) for r in rays]), [1, 2, 3]) == [[i, (i + 1) * i, 0] for i in range(3)]
    same(m.at(fp.Batchable([{"position": P[i], "direction": D[i]} for i in range(4)]), T), AT)
    same(m.at(fp.Batchable([Data(tensor(P[i]), tensor(D[i])) for i in range(4)]), T).to_numpy(), AT)
    nested = [{"axis": r, "radius": i} for i, r in enumerate(rays)]
    assert m.size(fp.Batchable(nested)) == [0.0, 1.0, 2.0]
    assert m.sum(fp.Batchable([{"_type": "B", "x": i, "y": 2} for i in range(3)])) == [0.0, 2.0, 4.0]
    assert m.of({"x": fp.Batchable([1, 2, 3]), "y": fp.Batchable([1, 1, 1])}) == [0.0, 1.0, 2.0]
    whole = np.zeros(3, m.Ray.dtype)
    whole["position"] = P[:3]
    same(m.at(fp.Batchable(list(whole)), 0), P[:3])
    same(fp.fuse(lambda r: m.at(r, 1.0))(fp.Batchable([{"position": P[i], "direction": D[i]} for i in range(4)])), P + D)


@pytest.mark.req("C14")
def test_is_batchable_like(m: Any) -> None:
    for batched in (T, tensor(T), fp.Batchable([1, 2]), fp.vmap([1, 2], 0), np.zeros((2, 0))):
        assert fp.is_batchable_like(batched), batched
    for single in ([1, 2, 3], (1,), 1.0, {"x": T}, np.float32(1), np.zeros(()), "text"):
        assert not fp.is_batchable_like(single), single
    assert fp.Batchable(T) is T


# ---- arrays of structs -----------------------------------------------------------------------------------------------

NUMBERS = np.concatenate([P, D], axis=1)
LAYOUTS = [(24,), (4, 6), (4, 2, 3)]


@pytest.mark.req("T8")
@pytest.mark.parametrize("shape", LAYOUTS)
def test_arrays_of_numbers_as_structs(m: Any, shape: tuple[int, ...]) -> None:
    numbers = NUMBERS.reshape(shape)
    fused = fp.fuse(lambda ray, t: m.at(ray, t))
    for f in (m.at, fused):
        same(f(fp.vcast(numbers, m.Ray), T), AT)
        same(f(fp.vcast(tensor(numbers), m.Ray), T).to_numpy(), AT)
        same(f(fp.vcast(numbers.tolist(), m.Ray), T), AT)
    if shape[-1] == 3:
        same(m.at(fp.vcast(tensor(numbers, m.float3), m.Ray), T).to_numpy(), AT)
    same(m.size({"axis": fp.vcast(numbers, m.Ray), "radius": T}), T)


@pytest.mark.req("T8", "C10")
@pytest.mark.parametrize("shape", LAYOUTS)
@pytest.mark.parametrize("container", ["numpy", "tensor"])
def test_arrays_of_numbers_are_written_as_structs(m: Any, shape: tuple[int, ...], container: str) -> None:
    out: Any = np.zeros(shape, F32) if container == "numpy" else tensor(np.zeros(shape, F32))
    assert m.make(P, fp.vcast(out, m.Ray)) is None
    same(np.asarray(out).reshape(4, 2, 3), np.stack([P, 2 * P], 1))
    moved: Any = NUMBERS.reshape(shape).copy() if container == "numpy" else tensor(NUMBERS.reshape(shape))
    m.move(fp.vcast(moved, m.Ray), T)
    same(np.asarray(moved).reshape(4, 6), np.concatenate([AT, D], 1))


@pytest.mark.req("T8")
def test_structured_arrays_and_tensors_of_structs(m: Any) -> None:
    rays = np.zeros(4, m.Ray.dtype)
    rays["position"], rays["direction"] = P, D
    same(m.at(rays, T), AT)
    same(m.at(rays[::-1], T), P[::-1] + T[:, None] * D[::-1])
    same(m.at(tensor(rays, m.Ray), T).to_numpy(), AT)
    same(m.at(tensor(rays, m.Ray)[::2], T[::2]).to_numpy(), AT[::2])
    moved, on_device = rays.copy(), tensor(rays, m.Ray)
    m.move(moved, T)
    m.move(on_device, T)
    same(moved["position"], AT)
    same(on_device.to_numpy()["position"], AT)
    spheres = m.Sphere(rays, T)
    same(m.size(spheres), T)
    same(m.size({"axis": tensor(rays, m.Ray), "radius": T}).to_numpy(), T)


@pytest.mark.req("T8")
def test_layouts_that_do_not_fit(m: Any) -> None:
    for wrong, words in [
        (np.zeros((4, 5), F32), r"shape \(4, 5\) does not hold Ray"),
        (tensor(np.zeros((4, 2, 2), F32)), r"float\[4, 2, 2\] does not hold Ray"),
        (tensor(np.zeros((4, 12), F32))[:, ::2], "the numbers of one Ray are not contiguous"),
        (tensor(np.zeros((4, 7), F32))[:, :6], "the stride of the rows is no multiple of Ray"),
        (np.zeros((4, 6), np.int32), "int32 cannot be read as Ray"),
    ]:
        with pytest.raises(TypeError, match=words):
            m.at(fp.vcast(wrong, m.Ray), 1)
    with pytest.raises(TypeError, match="members of several types"):
        fp.vcast(np.zeros((4, 4), F32), m.Flags)
    every_other = np.zeros((4, 12), F32)[:, ::2]
    same(m.at(fp.vcast(every_other, m.Ray), 1), np.zeros((4, 3), F32))  # read as a copy
    with pytest.raises(ValueError, match="argument 'ray' is read-only"):
        m.move(fp.vcast(every_other, m.Ray), 1)


# ---- out and inout ---------------------------------------------------------------------------------------------------


@pytest.mark.req("V5", "T7", "C10")
@pytest.mark.parametrize("form", FORMS[:-1])
def test_out_leaves_are_written(m: Any, form: Any) -> None:
    p, d = np.zeros((4, 3), F32), tensor(np.zeros((4, 3), F32), m.float3)
    assert m.make(P, form(p, d)) is None
    same(p, P)
    same(d.to_numpy(), 2 * P)
    x, y, z = np.zeros(4, F32), tensor(np.zeros(4, F32)), np.zeros(4, F32)
    m.make(P, form({"z": z, "x": x, "y": y}, d))
    same(np.stack([x, y.to_numpy(), z], -1), P)


def test_out_fields_that_are_left_away_are_not_written(m: Any) -> None:
    d = np.zeros((4, 3), F32)
    m.make(P, {"direction": {"y": d[:, 1]}})
    same(d, np.stack([np.zeros(4, F32), 2 * P[:, 1], np.zeros(4, F32)], -1))


@pytest.mark.req("C10")
def test_inout_leaves_and_those_that_cannot_be_written(m: Any) -> None:
    x, y = P[:, 0].copy(), tensor(P[:, 1])
    ray = {"position": {"x": x, "y": y, "z": 5}, "direction": (1, 2, 3)}
    assert m.move(ray, 2) is None
    same(x, P[:, 0] + 2)
    same(y.to_numpy(), P[:, 1] + 4)
    assert ray["position"]["z"] == 5  # type: ignore[index]
    assert ray["direction"] == (1, 2, 3)
    radius, direction = T.copy(), tensor(D)
    before = m.grow({"axis": {"position": 0, "direction": direction}, "radius": radius})
    same(before.to_numpy(), T)
    same(radius, 2 * T)
    same(direction.to_numpy(), np.stack([D[:, 0], 2 * T, D[:, 2]], -1))
    given = np.zeros(4, F32)
    m.grow({"axis": {"position": 0, "direction": 0}, "radius": radius}, given)
    same(given, 2 * T)
    whole = m.move({"position": P.tolist(), "direction": [0, 0, 1]}, 2.0)  # nothing to write to: it is returned
    same(whole["position"], P + np.array([0, 0, 2], F32))


def test_inout_of_overloads(m: Any) -> None:
    v, x, y = T.copy(), T.copy(), tensor(T)
    same(m.turn(v), T + 1)
    same(v, T + 1)
    assert m.turn({"_type": "A", "x": x, "y": y}) is None
    assert m.turn({"_type": "B", "x": x, "y": y}, 2) is None
    same(x, T + 1)
    same(y.to_numpy(), T + 2)


def test_inout_of_single_values(m: Any) -> None:
    position = np.array([1, 2, 3], F32)
    m.move({"position": position, "direction": [1, 1, 1]}, 2)
    same(position, np.array([3, 4, 5], F32))


@pytest.mark.req("C11")
def test_what_cannot_be_written_to(m: Any) -> None:
    zeros = lambda *shape: np.zeros(shape, F32)  # noqa: E731
    frozen = zeros(4, 3)
    frozen.flags.writeable = False
    for ray, words in [
        ({"position": zeros(4, 3), "direction": [0, 0, 0]}, r"make: out argument 'ray\.direction' cannot be written to a list"),
        (
            {"position": zeros(4, 3), "direction": {"x": zeros(4), "y": 1, "z": zeros(4)}},
            r"'ray\.direction\.y' cannot be written to a int",
        ),
        ({"position": zeros(4, 3), "direction": zeros(3)}, r"'ray\.direction' does not fit the result"),
        ({"position": zeros(4, 3), "direction": tensor(zeros(1), m.float)}, r"'ray\.direction' does not fit the result"),
        ({"position": zeros(4, 3), "direction": {"y": tensor(zeros(1))}}, r"'ray\.direction\.y' does not fit the result"),
        ({"position": zeros(4, 3).astype(np.float64), "direction": zeros(4, 3)}, r"'ray\.position' does not fit the result"),
        ({"position": frozen, "direction": zeros(4, 3)}, r"'ray\.position' is read-only"),
        (
            {"position": fp.vmap(zeros(4, 3), (1,)), "direction": zeros(4, 3)},
            r"'ray\.position' is written to, and vmap names 1 of its 2 axes",
        ),
        ({"position": zeros(4, 3), "directoin": zeros(4, 3)}, "make: ray has no member 'directoin'"),
        ({"position": {"a": zeros(4)}}, r"make: ray\.position has no member 'a'"),
        ({"position": {"x": {"y": zeros(4)}}}, r"make: ray\.position\.x has no member 'y'"),
        ({"_type": "A", "position": zeros(4, 3)}, "make: ray is a Ray"),
        ({}, "make: ray is a dict that names no field"),
    ]:
        with pytest.raises((TypeError, ValueError), match=words) as caught:
            m.make(P, ray)
        assert "hint:" in str(caught.value)
        assert not any(np.any(leaf) for leaf in ray.values() if isinstance(leaf, np.ndarray))  # nothing was written
    one = fp.Tensor.zeros(fp.default_device(), 4, m.float3)
    with pytest.raises(ValueError, match="shares memory with another result"):
        m.make(P, {"position": one, "direction": one})
    with pytest.raises(ValueError, match=r"'ray\.position' does not fit the result"):
        m.move({"position": P[:1].copy(), "direction": D}, 1)  # inout, broadcast
    p, d = zeros(4, 3), zeros(4, 3)
    m.make(P, {"position": p, "direction": d})
    same(p, P)


# ---- under fuse ------------------------------------------------------------------------------------------------------


@pytest.mark.req("V12", "V15", "T6")
def test_fused_functions_get_what_was_passed(m: Any) -> None:
    @fp.fuse
    def far(ray: Any, t: Any) -> Any:
        return ray.far(t), type(ray)(ray.direction, ray.position)

    f3 = lambda a: fp.vcast(a, m.float3)  # noqa: E731
    for cls, sign in ((Data, 1), (Frozen, -1), (Named, 1)):  # equal fields, and each has its own method
        moved, turned = far(cls(f3(P), f3(D)), T)
        same(moved, P + sign * D * T[:, None])
        assert type(turned) is cls
        same(turned.position, D)
        moved, turned = far(cls(tensor(P, m.float3), tensor(D, m.float3)), T)
        same(moved.to_numpy(), P + sign * D * T[:, None])
        assert type(turned.direction) is fp.Tensor

    same(fp.fuse(lambda ray, t: m.at(ray, t) + ray["direction"])({"position": P, "direction": f3(D)}, T), AT + D)
    slots = Slots(P, D)
    same(fp.fuse(lambda ray: m.at(ray, 1.0))(slots), P + D)
    assert slots.position is P  # the user's object is left as it was


@pytest.mark.req("V12", "V15", "N2")
def test_structs_built_inside(m: Any) -> None:
    @fp.fuse
    def look(x: Any, k: Any) -> Any:
        ray = {"position": [x, x * 2, 1.0], "direction": {"x": 0, "y": k, "z": (x + k)}}
        return m.at(ray, 2.0), m.at(Data(**ray), 1.0), m.at({"position": D, "direction": tensor(P)}, x)

    first, second, third = look(T, 0.5)
    position = np.stack([T, 2 * T, np.ones(4, F32)], -1)
    direction = np.stack([np.zeros(4, F32), np.full(4, 0.5, F32), T + F32(0.5)], -1)
    same(first, position + 2 * direction)
    same(second, position + direction)
    same(third, D + T[:, None] * P)
    assert look.explain(T, 0.5).kernels == 1


@pytest.mark.req("C10", "V12")
def test_outs_are_returned_under_fuse(m: Any) -> None:
    made = fp.fuse(lambda p: m.make(p))(fp.vcast(P, m.float3))
    same(made["direction"], 2 * P)
    moved = fp.fuse(lambda ray: m.move(ray, 1.0))({"position": P, "direction": D})
    same(moved["position"], P + D)
    kept = P.copy()
    fp.fuse(lambda ray: m.move(ray, 1.0))(Data(kept, D))
    same(kept, P)
    same(fp.fuse(lambda ray: m.move(ray, 1.0).position.z)(fp.vcast(NUMBERS, m.Ray)), P[:, 2] + D[:, 2])


def test_nested_results_keep_their_structure(m: Any) -> None:
    @fp.fuse
    def swapped(ray: Any) -> Any:
        return {"ray": Named(ray["direction"], ray["position"]), "at": [m.at(ray, 1.0)]}

    found = swapped({"position": P, "direction": {"x": T, "y": T, "z": 1.0}})
    assert type(found["ray"]) is Named
    same(found["ray"].direction, P)
    same(found["ray"].position["y"], T)
    same(found["at"][0], P + np.stack([T, T, np.ones(4, F32)], -1))


def test_nested_static_arguments_stay_static(m: Any) -> None:
    @fp.fuse(static=("names",))
    def picked(ray: Any, names: Any) -> Any:
        return [ray[n] for n in names]

    assert [type(a) for a in picked({"position": P, "direction": D}, names=("direction",))] == [np.ndarray]


@pytest.mark.rest
def test_tensors_on_another_device_decide(m: Any) -> None:
    other = fp.init_device(m.device.sgl.info.type.name)
    try:
        x = fp.Tensor.from_numpy(other, T)
        found = fp.fuse(lambda p: p.x + 1)
        assert found.explain(Plain(x=x)).kernels == 1
        assert found(Plain(x=x)).device is other
        with pytest.raises(ValueError, match="another device"):
            m.of({"x": x, "y": 1})
    finally:
        other.close()
