"""Lists whose items are dicts, arrays, tensors or traced values: fixed arrays, vectors and matrices, made in the kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.ir.types import Type
from tests.support.selection import daily
from tests.support.slang_functions import F32, ramp, same

SOURCE = """
struct Ray { float3 pos; float3 dir; };
struct Pair { Ray rays[2]; float w[2]; };
float3 f(Pair p) { return p.rays[0].pos * p.w[0] + p.rays[1].dir * p.w[1]; }
float3 g(Ray rays[2], float3 c) { return rays[0].pos * c + rays[1].dir; }
float grid(float w[2][2]) { return w[0][0] + 10 * w[0][1] + 100 * w[1][0] + 1000 * w[1][1]; }
int whole(int3 c) { return c.x + 10 * c.y + 100 * c.z; }
struct Body { float2x2 turn; float k; };
float turned(Body b) { return (b.turn[0][0] + 10 * b.turn[0][1] + 100 * b.turn[1][0] + 1000 * b.turn[1][1]) * b.k; }
void lift(inout float2x2 a) { a += float2x2(1, 2, 3, 4); }
void make(float x, out float w[2], out float3 c) { w[0] = x; w[1] = 2 * x; c = float3(x, 2 * x, 3 * x); }
void step(inout Pair p) { p.w[0] += 1; p.rays[1].pos += 2; }
float3 mixed(float3 c[2], float x) { return c[0] + x * c[1]; }
float two(float2 c) { return c.x; }
float two(float w[2]) { return w[0]; }
float length_of(Ray r) { return length(r.pos); }
float one_or_two(Ray r) { return r.pos.x; }
float one_or_two(Ray r[2]) { return 100; }
float one_or_two(float2 r) { return 200; }
"""
SOURCE += "".join(
    f"{t} sum_{t}({t}2x3 a) {{ return a[0][0] + {t}(2) * a[0][2] + {t}(3) * a[1][1]; }}\n"
    for t in ("float", "half", "double", "int", "uint")
)
Z, POS, DIR = ramp(4), ramp(4, 3), ramp(4, 3, start=5)
WANT = POS * Z[:, None] + DIR * 2


class Ray:
    def __init__(self, pos: Any, dir: Any):
        self.pos, self.dir = pos, dir


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "lists_of_leaves", SOURCE)


def pair(device: Any, pos: Any = POS, dir: Any = DIR, z: Any = Z, two: Any = 2.0) -> Any:
    return {"rays": [{"pos": pos, "dir": [0, 0, 1]}, Ray([0, 0, 0], dir)], "w": [z, two]}


def lazily(m: Any, p: Any) -> Any:
    with fp.lazy():
        return m.f(p)


def graph(m: Any, p: Any) -> Any:
    made = fp.Graph(inputs=["p"])
    made.set_outputs(m.f.node()(*made.get_inputs()))
    return made(p)


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "eager": lambda m, p: m.f(p),
    "named": lambda m, p: m.f(p=p),
    "fused": lambda m, p: fp.fuse(lambda p: m.f(p))(p),
    "built inside": lambda m, p: fp.fuse(lambda a, b, z, k: m.f(pair(None, a, b, z, k)))(
        p["rays"][0]["pos"], p["rays"][1].dir, p["w"][0], p["w"][1]
    ),
    "taken apart inside": lambda m, p: fp.fuse(lambda p: m.f({"rays": [p["rays"][0], p["rays"][1]], "w": tuple(p["w"])}))(p),
    "lazily": lazily,
    "graph": graph,
}


@pytest.mark.req("T7", "N2", "N3")
@pytest.mark.parametrize("way", WAYS)
def test_arrays_of_structs_and_of_numbers(m: Any, device: Any, way: str) -> None:
    tensors = [fp.Tensor.from_numpy(device, v) for v in (POS, DIR, Z)]
    for _ in range(2):
        if way != "built inside":  # arrays of scalars are no vectors where nobody says so
            same(np.asarray(WAYS[way](m, pair(device)), F32), WANT)
            same(np.asarray(WAYS[way](m, pair(device, *tensors)), F32), WANT)
        vectors = [fp.Tensor.from_numpy(device, v, "float3") for v in (POS, DIR)]
        same(np.asarray(WAYS[way](m, pair(device, *vectors, tensors[2])), F32), WANT)


@pytest.mark.req("T7", "N1", "N3")
def test_what_a_list_becomes(m: Any, device: Any) -> None:
    p = pair(device)
    for number in (2.0, 3.0):  # a number is a uniform: another one is no other program
        before = fp.stats()
        same(m.f(pair(device, two=number)), POS * Z[:, None] + DIR * F32(number))
    assert fp.stats().plan_misses == before.plan_misses
    assert m.f.explain(p).kernels == 1
    assert m.f.source(p).count("float a_p_w_1;") == 1
    same(m.g(p["rays"], [Z, 1.0, Z]), POS * np.stack([Z, np.ones(4, F32), Z], -1) + DIR)  # a parameter, and a vector
    same(m.g(fp.vmap(p["rays"], 0), fp.vmap([Z, 1.0, Z], 0)), POS * np.stack([Z, np.ones(4, F32), Z], -1) + DIR)
    mapped = m.grid([[fp.vmap(Z, 0), 1.0], [2.0, fp.vmap(ramp(3), 1)]])
    same(mapped, (Z[:, None] + 10 + 200 + 1000 * ramp(3)).astype(F32))
    same(m.whole([np.arange(3, dtype=np.int32), 4, fp.Tensor.from_numpy(device, np.int32([7, 8, 9]))]), np.int32([740, 841, 942]))
    # arrays alone are stacked as NumPy does it, and numbers alone are one value
    same(m.whole([np.int32([1, 2, 3]), np.int32([4, 5, 6])]), np.int32([321, 654]))
    assert m.whole([1, 2, 3]) == 321
    assert m.grid([[1, 2], [3, 4]]) == 4321


@pytest.mark.req("T7", "C10")
def test_lists_of_destinations(m: Any, device: Any) -> None:
    for _ in range(2):
        a, b, c = (fp.Tensor.zeros(device, 4) for _ in range(3))
        x, y = fp.Tensor.zeros(device, 4), fp.Tensor.zeros(device, 4)
        m.make(Z, [a, b], [x, y, c])
        for tensor, times in ((a, 1), (b, 2), (x, 1), (y, 2), (c, 3)):
            same(tensor.to_numpy(), times * Z)
        moved, weights = DIR.copy(), fp.Tensor.from_numpy(device, Z)
        m.step({"rays": [{"pos": POS.copy(), "dir": [0, 0, 1]}, {"pos": moved, "dir": [0, 0, 1]}], "w": [weights, 1.0]})
        same(moved, DIR + 2)
        same(weights.to_numpy(), Z + 1)


@pytest.mark.req("T7")
@pytest.mark.parametrize("way", ["direct", "fused", "lazily", "graph"])
def test_an_array_beside_a_list_of_numbers(m: Any, way: str) -> None:
    def call(c: Any) -> Any:
        if way == "lazily":
            with fp.lazy():
                return m.mixed(c, 2.0)
        if way == "graph":
            made = fp.Graph(inputs=["c"])
            made.set_outputs(m.mixed.node()(*made.get_inputs(), 2.0))
            return made(c)
        return (fp.fuse(lambda c: m.mixed(c, 2.0)) if way == "fused" else lambda c: m.mixed(c, 2.0))(c)

    one = F32([1, 2, 3])
    for row in ([1, 2, 3], (1.0, 2.0, 3.0), [F32(1), 2, 3]):
        same(np.asarray(call([POS, row]), F32), POS + 2 * one)
        same(np.asarray(call([row, POS]), F32), one + 2 * POS)
    same(np.asarray(call([one, [1, 2, 3]]), F32), 3 * one)  # of one shape: stacked, as NumPy does it
    with pytest.raises(fp.ShapeError, match="ragged"):
        call([[1, 2], [1, 2, 3]])


@pytest.mark.req("T7")
def test_lists_that_do_not_fit(m: Any, device: Any) -> None:
    p = pair(device)
    fused = fp.fuse(lambda p: m.f(p))
    for call in (m.f, fused):
        for changed, error, words in [
            ({"rays": p["rays"][:1]}, TypeError, r"p\.rays is a list of 1, and its parameter takes 2"),
            ({"w": [Z, 1.0, 2.0]}, TypeError, r"p\.w is a list of 3, and its parameter takes 2"),
            ({"rays": [p["rays"][0], {"pos": POS}]}, TypeError, r"p\.rays\.1 misses 'dir'"),
            ({"rays": [p["rays"][0], 3.0]}, TypeError, r"p\.rays\.1 does not fit"),
            ({"rays": p["rays"][0]}, TypeError, r"p\.rays is given by fields, where Slang takes no struct"),
            ({"w": [Z, POS]}, ValueError, "w"),
        ]:
            with pytest.raises(error, match=words) as caught:
                call({**p, **changed})
            assert str(caught.value).startswith("test_lists_of_leaves.py")
            assert "hint:" in str(caught.value)
    same(m.f(p), WANT)
    same(fused(p), WANT)
    with pytest.raises(fp.AmbiguousCallError, match=": a list of 2 fits several types"):
        m.two([Z, 1.0])
    with pytest.raises(TypeError, match="c is a list of 2, and its parameter takes 3"):
        m.whole([Z, 1.0])
    looped: Any = [Z, 1.0]
    looped.append({"again": looped})
    with pytest.raises(fp.FusepyError, match="contains itself"):
        m.whole(looped)


@pytest.mark.req("C9", "V16")
@pytest.mark.parametrize("count", [2, 3])
def test_lists_of_structs_for_one_struct_or_an_array_are_never_guessed(m: Any, count: int) -> None:
    """The whole array was taken silently, and a `vcast` of the list counted in fused functions only."""
    rays = [{"pos": [i + 1, 0, 0], "dir": [0, 0, 0]} for i in range(count)]
    fused = fp.fuse(lambda r: m.one_or_two(r))
    for call in (m.one_or_two, fused, lambda r: m.one_or_two(fp.vmap(r, (0,))), lambda r: fp.resolve(m.one_or_two, r)):
        with pytest.raises(fp.AmbiguousCallError, match=r'fp.vcast\(r, "Ray\[2\]"\) or fp.Batchable\(r\)'):
            call(rays)
    assert m.one_or_two(fp.Batchable(rays)) == fused(fp.Batchable(rays)) == [1.0, 2.0, 3.0][:count]
    if count == 2:
        assert m.one_or_two(fp.vcast(rays, "Ray[2]")) == fused(fp.vcast(rays, "Ray[2]")) == 100


@pytest.mark.req("V16")
def test_what_is_said_of_a_list_of_structs_is_what_the_call_does(m: Any) -> None:
    """`resolve` refused it."""
    rays = [{"pos": [i + 1.0, 0.0, 0.0], "dir": [0.0, 0.0, 0.0]} for i in range(3)]
    answer = fp.resolve(m.length_of, rays)
    assert (answer.grid, [str(t) for t in answer.types]) == (1, ["Ray"])
    assert m.length_of(rays).tolist() == [1, 2, 3]


@pytest.mark.req("T7", "N1", "N3")
@pytest.mark.parametrize("type", daily(["float", "half", "double", "int", "uint"], "float"))
def test_lists_of_lists_are_matrices(m: Any, device: Any, type: str) -> None:
    """Rows of single arrays, rows that are one array of vectors, and rows of numbers alone."""
    dtype = Type.parse(type).dtype
    z, row = np.arange(4, dtype=dtype), np.arange(12, dtype=dtype).reshape(4, 3)
    f, one = getattr(m, f"sum_{type}"), fp.Tensor.from_numpy(device, z)
    for given, first, second, third in (
        ([[z, 1, 2], [3, one, 5]], z, 2, z),
        ([[1, 2, z], [3, 4, 5]], 1, z, 4),
        ([fp.Tensor.from_numpy(device, row), [one, 4, 5]], row[:, 0], row[:, 2], 4),
        (([1, 2, 3], fp.Tensor.from_numpy(device, row)), 1, 3, row[:, 1]),
    ):
        want = np.broadcast_to(first + 2 * second + 3 * third, 4)
        same(np.asarray(f(given)), want.astype(dtype))
        same(np.asarray(fp.fuse(lambda a: f(a))(given)), want.astype(dtype))
        same(np.asarray(f(fp.vcast(given, f"{type}2x3"))), want.astype(dtype))
        with fp.lazy():
            later = f(given)
        same(later.to_numpy(), want.astype(dtype))
    inside = fp.fuse(lambda a, b: f([[a, 1, 2], [3, b + a, 5]]))(one, one)
    same(np.asarray(inside), (z + 4 + 6 * z).astype(dtype))


@pytest.mark.req("T7", "C10")
def test_matrices_inside_of_structs_and_written_back(m: Any, device: Any) -> None:
    want = Z + 20 + 300 + 1000 * ramp(4)
    for k in (1.0, 2.0):
        same(m.turned({"turn": [[Z, 2.0], [3.0, fp.Tensor.from_numpy(device, ramp(4))]], "k": k}), (want * F32(k)).astype(F32))
    corners = [fp.Tensor.from_numpy(device, v) for v in (Z, 2 * Z, 3 * Z, 4 * Z)]
    m.lift([corners[:2], corners[2:]])
    for n, corner in enumerate(corners, 1):
        same(corner.to_numpy(), n * Z + n)
    for wrong, words in [
        ([[Z, 1.0], [2.0, 3.0], [4.0, 5.0]], r"turn is a list of 3, and its parameter takes 2"),
        ([[Z, 1.0], [2.0, 3.0, 4.0]], r"turn\.1"),
        ([[Z, 1.0, 2.0], [2.0, 3.0]], r"turn\.0 is a list of 3, and its parameter takes 2"),
    ]:
        with pytest.raises(fp.FusepyError, match=words):
            m.turned({"turn": wrong, "k": 1.0})
