"""Small NumPy arrays, and lists for arrays of fixed size, that are one value for all threads: numbers in the parameter block."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.slang_functions import F32, ramp, same

SOURCE = """
struct Ray { float3 position; float3 direction; };
struct Kernel { float w[4]; int shift; };
struct Table { float3 rows[2]; float deep[2][3]; };
float3 at(Ray ray, float t) { return ray.position + t * ray.direction; }
float filter(Kernel k, float x) { return (k.w[0] + 10 * k.w[1] + 100 * k.w[3]) * x + k.shift; }
float look(Table t, float x) { return t.rows[1].z * x + t.deep[1][2] + t.deep[0][0]; }
float weigh(float w[4], float x) { return w[0] * x + w[3]; }
float wide(float w[12], float x) { return w[0] * x + w[11]; }
float widest(float w[65], float x) { return w[64] * x; }
float flags(bool b[3], half h[2], double d[2], int64_t i[2], float x)
{
    return x + (b[0] ? 1 : 0) + (b[2] ? 2 : 0) + float(h[1]) + float(d[1]) + float(i[0]);
}
float luma(float3 c, float x) { return (c.x + 10 * c.y + 100 * c.z) * x; }
float turn(float2x3 m, float x) { return m[1][0] * x; }
float add(float a, float b) { return a + b; }
float3 bump(inout float3 v) { v += 1; return v; }
"""
T = ramp(6)


@functools.cache
def _weighed(m: Any) -> Any:
    """One function for all calls: the kernels of a dropped one go with it, and whether the disk has them yet is a race."""
    return fp.fuse(lambda w, c, t: m.weigh(w, t) + m.luma(c, t))


DEEP = {"rows": ramp(2, 3), "deep": ramp(2, 3) + 5}
# a call with constants, scaled by a number; a call is the same with a Tensor in place of each, which lies in memory
CALLS: dict[str, Callable[[Any, Callable[[Any], Any], float], Any]] = {
    "leaf": lambda m, to, k: m.at({"position": to(F32([1, 2, 3]) * F32(k)), "direction": [1.0, 2.0, 3.0]}, T),
    "components": lambda m, to, k: m.at({"position": {"x": to(np.array(k, F32)), "y": T, "z": 1}, "direction": to(ramp(3))}, T),
    "fixed member": lambda m, to, k: m.filter({"w": to(ramp(4) * F32(k)), "shift": 1}, T),
    "list for it": lambda m, to, k: m.filter({"w": [k, 2 * k, 3, 4], "shift": 1}, T),
    "arrays of arrays": lambda m, to, k: m.look({n: to(a * F32(k)) for n, a in DEEP.items()}, T),
    "parameter": lambda m, to, k: m.weigh(to(ramp(4, start=1) * F32(k)), T),
    "of double": lambda m, to, k: m.weigh(to((ramp(4, start=1) * F32(k)).astype(np.float64)), T),
    "twelve": lambda m, to, k: m.wide(to(ramp(12, start=1) * F32(k)), T),
    "vector": lambda m, to, k: m.luma(to(ramp(3) * F32(k)), T),
    "strided": lambda m, to, k: m.luma(to((ramp(6) * F32(k))[::-2]), T),
    "matrix": lambda m, to, k: m.turn(to(ramp(2, 3) * F32(k)), T),
    "no axes": lambda m, to, k: m.add(T, to(np.array(k, F32))),
    "vcast": lambda m, to, k: m.luma(fp.vcast(to((ramp(3) * k).astype(np.int32)), m.float3), T),
    "kinds": lambda m, to, k: m.flags(
        to(np.array([k > 1, True, k > 2])), to(ramp(2).astype(np.float16)), to(np.array([0.1, k])), to(np.array([int(k), 7])), T
    ),
    "fused": lambda m, to, k: _weighed(m)(to(ramp(4) * F32(k)), to(ramp(3)), T),
}


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "uniform_arrays", SOURCE)


@pytest.mark.req("N3", "V11")
@pytest.mark.filterwarnings("ignore::fusepy.PrecisionWarning")
@pytest.mark.parametrize("name", CALLS)
def test_constants_are_numbers_of_the_block(m: Any, device: Any, name: str) -> None:
    call = CALLS[name]
    same(np.asarray(call(m, lambda a: a, 1.0)), _in_memory(m, device, call, 1.0))
    before = fp.stats()
    for k in (2.0, 3.0):
        same(np.asarray(call(m, lambda a: a, k)), _in_memory(m, device, call, k))
    assert fp.stats().kernels_compiled == before.kernels_compiled  # other numbers are no other program


def _in_memory(m: Any, device: Any, call: Callable[..., Any], k: float) -> Any:
    def tensor(array: Any) -> Any:
        array = array.astype(F32) if array.dtype == np.float64 and call is CALLS["of double"] else array
        return fp.Tensor.from_numpy(device, array)

    return np.asarray(call(m, tensor, k))


@pytest.mark.req("N3")
def test_the_kernel_is_linear_and_reads_no_memory_for_them(m: Any) -> None:
    t = T
    for function, args, member in [
        (m.at, ({"position": F32([1, 2, 3]), "direction": ramp(3)}, t), "float a_ray_position_2;"),
        (m.filter, ({"w": [1.0, 2.0, 3.0, 4.0], "shift": 1}, t), "float a_k_w_3;"),
        (m.filter, ({"w": ramp(4), "shift": 1}, t), "float a_k_w_3;"),
        (m.weigh, (ramp(4), t), "float a_w_3;"),
        (m.wide, (ramp(12), t), "float a_w_11;"),
        (m.add, (t, np.array(2, F32)), "float a_b;"),
    ]:
        text = function.source(*args)
        assert member in text
        assert text.count("float* ") <= 2, text  # what is vectorised, and the result
        assert str(function.explain(*args)).count("linear") == 1
    assert "float a_w_64;" not in m.widest.source(ramp(65), t)  # more than a block should hold
    same(m.widest(ramp(65), t), t * ramp(65)[64])
    assert "float a_w_0;" not in m.weigh.source(ramp(6, 4), t)  # one for each thread


@pytest.mark.req("N3", "C10")
def test_what_is_written_and_what_stays_memory(m: Any) -> None:
    v = ramp(3)
    same(m.bump(v), ramp(3) + 1)
    same(v, ramp(3) + 1)
    both = fp.fuse(lambda v, t: m.luma(v, t) + v)  # one array as a vector, and as numbers along the grid
    same(both(ramp(3), 2.0), 2 * (ramp(3) @ F32([1, 10, 100])) + ramp(3))
    with pytest.raises(fp.ShapeError, match=r"\(13,\)"):
        m.wide(ramp(13), T)
    same(m.wide(ramp(12), T), np.full(6, ramp(12)[11], F32))
    with pytest.raises(fp.RangeError, match=str(2**40)):
        m.filter({"w": ramp(4), "shift": np.array(2**40)}, T)
    with pytest.raises(fp.RangeError, match=r"1e\+300"):
        m.weigh([1.0, 2.0, 1e300, 4.0], T)


@pytest.mark.req("N3")
@pytest.mark.filterwarnings("ignore::fusepy.PrecisionWarning")
def test_lazy_calls_keep_what_they_were_given(m: Any) -> None:
    want = m.luma(ramp(3), m.weigh(ramp(4), T))
    for _, dtype in itertools.product(range(2), (F32, np.float64)):
        w, c = ramp(4).astype(dtype), ramp(3).astype(dtype)
        with fp.lazy():
            y = m.luma(c, m.weigh(w, T))
            w[:], c[:] = 0, 0
        same(y.to_numpy(), want)
