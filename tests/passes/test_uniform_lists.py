"""Lists that are vectors or matrices for all threads: numbers in the parameter block, and no memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.slang_functions import F32, ramp, same

SOURCE = """
struct Ray { float3 position; float3 direction; };
struct Kinds { half2 h; double3 d; int2 i; uint3 u; bool2 b; float2x3 m; };
float3 at(Ray ray, float t) { return ray.position + t * ray.direction; }
double kinds(Kinds k, float t)
{
    double flags = (k.b.x ? 100 : 0) + (k.b.y ? 200 : 0);
    return flags + k.h.x + k.h.y + k.d.x + k.d.z + k.i.x * k.i.y + k.u.z + k.m[1][2] + k.m[0][1] + t;
}
float luma(float3 c) { return c.x + c.y * 10 + c.z * 100; }
float3 apply(float2x3 m, float3 v, float2 s) { return float3(mul(m, v) * s, m[1][0]); }
"""
P, T = ramp(4, 3), ramp(4)


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "uniform_lists", SOURCE)


@pytest.mark.req("N3", "C1")
def test_a_constant_leaf_is_uniform_and_the_kernel_linear(m: Any) -> None:
    ray = {"position": P, "direction": [1, 2, 3]}
    same(m.at(ray, T), P + T[:, None] * np.array([1, 2, 3], F32))
    text = m.at.source(ray, T)
    for name in "012":
        assert f"float a_ray_direction_{name};" in text
    assert "a_ray_direction = float3(fz_args.a_ray_direction_0, fz_args.a_ray_direction_1, fz_args.a_ray_direction_2);" in text
    assert str(m.at.explain(ray, T)).count("linear") == 1


@pytest.mark.req("N3", "V11")
def test_numbers_are_no_part_of_the_program(m: Any, device: Any) -> None:
    t = fp.Tensor.from_numpy(device, T)
    m.at({"position": (0.0, 0.0, 1.0), "direction": [1, 2, 3]}, t)
    before = fp.stats()
    for n in range(1, 20):
        found = m.at({"position": (0.5 * n, float(n), 1.0), "direction": [n, -n, 2]}, t)
        same(found.to_numpy(), np.array([0.5 * n, n, 1], F32) + T[:, None] * np.array([n, -n, 2], F32))
    after = fp.stats()
    assert after.kernels_compiled == before.kernels_compiled
    assert after.plan_misses == before.plan_misses
    assert after.dispatches - before.dispatches == 19


@pytest.mark.req("N3", "T1")
def test_every_kind_of_number(m: Any) -> None:
    for wrap in (list, tuple):
        kinds = {
            "h": wrap([0.5, 2]),
            "d": wrap([0.1, 7, 1e-9]),  # all digits of a Python float
            "i": wrap([-3, 4]),
            "u": wrap([0, 1, 1 << 31]),
            "b": wrap([True, False]),
            "m": wrap([wrap([1, 2, 3]), [4, 5, 6]]),
        }
        same(m.kinds(kinds, T), (2.5 + 0.1 + 1e-9 - 12 + (1 << 31) + 100 + 6 + 2 + T.astype(np.float64)))
    numpy = {**kinds, "i": [np.int32(-3), np.int8(4)], "h": [np.float16(0.5), np.float64(2)], "m": [np.arange(3), [4, 5, 6]]}
    same(m.kinds(numpy, 0), np.float64(2.5 + 0.1 + 1e-9 - 12 + (1 << 31) + 100 + 6 + 1))
    assert m.luma([5, 6, 7]) == 765.0
    assert m.apply([[1, 2, 3], [4, 5, 6]], [1, 1, 1], (1, 2)) == [6.0, 30.0, 4.0]


def test_what_runs_along_the_grid_or_is_read_in_two_ways_stays_memory(m: Any) -> None:
    assert m.luma([[1, 2, 3], [4, 5, 6]]) == [321.0, 654.0]
    both = fp.fuse(lambda v: m.luma(fp.vcast(v, "float3")) + v)
    same(both.return_type("numpy")([1.0, 2.0, 3.0]), np.array([322, 323, 324], F32))
    handed = fp.fuse(lambda v, t: (v, m.luma(v) + t))
    first, second = handed([1.0, 2.0, 3.0], T)
    assert list(first) == [1.0, 2.0, 3.0]
    same(second, 321 + T)


def test_captured_lists_are_read_on_every_call(m: Any) -> None:
    color = [1.0, 2.0, 3.0]
    look = fp.fuse(lambda t: m.luma(color) + t)
    same(look(T), 321 + T)
    color[0] = 5.0
    same(look(T), 325 + T)
    color.append(1.0)
    with pytest.raises(ValueError, match="4 numbers for a float3"):
        look(T)
    color.pop()
    same(look(T), 325 + T)


@pytest.mark.req("T1")
def test_numbers_out_of_range(m: Any) -> None:
    kinds = {"h": [0.5, 2], "d": [1, 2, 3], "i": [1, 2], "u": [0, 1, 2], "b": [True, False], "m": [[1, 2, 3], [4, 5, 6]]}
    for name, wrong in [
        ("i", [1, 1 << 40]),
        ("u", [0, 1, -1]),
        ("h", [1e9, 0.5]),
        ("i", [1 << 63, 0]),
        ("m", [[1e300, 0, 0]] * 2),
    ]:
        with pytest.raises(OverflowError, match=rf"kinds: argument 'k\.{name}' does not fit") as caught:
            m.kinds({**kinds, name: wrong}, T)
        assert "hint:" in str(caught.value)
        m.kinds(kinds, T)
    with pytest.raises(TypeError, match=r"k\.i does not fit"):
        m.kinds({**kinds, "i": [0.5, 1]}, T)
    with pytest.raises(TypeError, match=r"k\.i does not fit"):
        m.kinds({**kinds, "i": [1, 2, 3]}, T)
