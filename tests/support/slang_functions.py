"""Slang functions that the device tests call, and helpers to compare what comes back with NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fusepy as fp

SOURCE = """
struct Ray { float3 position; float3 direction; };
struct Mixed { float a; int b; bool c; half d; double e; float3 v; };
struct Outer { Ray ray; float weight; };
struct Pair<T> { T first; T second; };

float add(float a, float b) { return a + b; }
int add_int(int a, int b) { return a + b; }
uint add_uint(uint a, uint b) { return a + b; }
float minus(float a, float b) { return a - b; }
float3 tone(float3 color, float gain, float lift = 2.0) { return color * gain + lift; }
float luma(float3 c) { return c.x + c.y * 10 + c.z * 100; }
float4 four(float4 x) { return x * 2; }
float3 add3(float3 a, float3 b) { return a + b; }

void split(float v, out float whole, out float rest) { whole = floor(v); rest = v - whole; }
float bump(inout float v, float by) { float old = v; v += by; return old; }
void swap(inout float3 a, inout float3 b) { float3 t = a; a = b; b = t; }

Ray make_ray(float3 position, float3 direction) { Ray r; r.position = position; r.direction = direction; return r; }
float3 at(Ray r, float t) { return r.position + t * r.direction; }
Mixed mix(Mixed m) { m.a += 1; m.b += 2; m.c = m.c ? false : true; m.d *= half(2); m.e += 0.1lf; m.v *= 3; return m; }
float3 outer_at(Outer o) { return at(o.ray, o.weight); }

float size_of(float x) { return abs(x); }
float size_of(float3 x) { return abs(x.x) + abs(x.y) + abs(x.z); }
T same<T>(T x) { return x; }
T total<T : IArithmetic>(T a, T b) { return a + b; }

float3x3 turn(float3x3 m) { return transpose(m); }
float3 apply(float3x3 m, float3 v) { return mul(m, v); }
float2x4 scale24(float2x4 m, float k) { return m * k; }
float2 row_sums(float2x3 m) { return float2(m[0].x + m[0].y + m[0].z, m[1].x + m[1].y + m[1].z); }

double twice_double(double x) { return x * 2; }
half twice_half(half x) { return x * half(2); }
half3 twice_half3(half3 x) { return x * half(2); }
bool negate(bool x) { return !x; }
bool3 negate3(bool3 x) { return !x; }
int8_t id_int8(int8_t x) { return x; }
uint8_t id_uint8(uint8_t x) { return x; }
int16_t id_int16(int16_t x) { return x; }
uint16_t id_uint16(uint16_t x) { return x; }
int id_int32(int x) { return x; }
uint id_uint32(uint x) { return x; }
int64_t id_int64(int64_t x) { return x; }
uint64_t id_uint64(uint64_t x) { return x; }

float fetch(float* p, int i) { return p[i]; }
float sum4(float[4] a) { return a[0] + a[1] * 10 + a[2] * 100 + a[3] * 1000; }
int2 coordinate(int2 c) { return c; }
int linear(int i) { return i; }
float3 gradient(int2 pixel) { return float3(pixel.x, pixel.y, 1); }

namespace deep { float inner(float x) { return x + 0.5; } }
"""

OTHER = """
struct Ray { float3 position; float3 direction; };
float add(float a, float b) { return a + b + 1000; }
float half_of(float x) { return x / 2; }
float third_of(float x) { return x / 4; }
"""

F32 = np.float32


def ramp(*shape: int, start: float = 0.0, step: float = 0.25) -> Any:
    """Different float32 numbers in every place."""
    return (np.arange(int(np.prod(shape)), dtype=F32).reshape(shape) * F32(step) + F32(start)).astype(F32)


def same(actual: Any, expected: Any) -> None:
    """Container-blind equality of values, shape and dtype, bit for bit but for the sign of zero."""
    actual = np.asarray(actual)
    expected = np.asarray(expected)
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    np.testing.assert_array_equal(actual, expected)


def close(actual: Any, expected: Any, ulps: int = 4, atol: float = 0.0) -> None:
    """Equality within `ulps` units in the last place, or within `atol`; NaN and infinities in the same places."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    assert actual.dtype == expected.dtype
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(actual, expected)
        return
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(actual[~finite], expected[~finite])
    wide_a, wide_e = actual[finite].astype(np.float64), expected[finite].astype(np.float64)
    allowed = np.maximum(ulps * np.abs(np.spacing(expected[finite]).astype(np.float64)), atol)
    worst = np.abs(wide_a - wide_e) - allowed
    assert not worst.size or worst.max() <= 0, (
        f"off by {np.abs(wide_a - wide_e).max()} at {worst.argmax()}: {actual[finite].flat[worst.argmax()]}"
    )


def fused(count: int, run: Callable[..., Sequence[Any]]) -> Any:
    """A fused function of `count` arguments, which need names of their own, that returns a tuple of what `run` gives."""
    names = ", ".join(f"x{i}" for i in range(count))
    scope: dict[str, Any] = {"run": run}
    exec(f"def program({names}): return tuple(run({names}))", scope)
    return fp.fuse(scope["program"])
