"""What the programs after hints share: the Slang functions that they call, arguments, and how they are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import slangpy as spy

import fusepy as fp
from tests.support.slang_functions import ramp

SOURCE = """
import fusepy;
struct Spot : IDifferentiable { float3 at; float power; };
[Differentiable] float lit(Spot s) { return s.at.y * s.power; }
[Differentiable] float squared(float x) { return x * x; }
[Differentiable] float plus(float a, float b) { return a + b; }
float3 plus3(float3 a, float3 b) { return a + b; }
[Differentiable] void squared_into(float x, out float y) { y = x * x; }
[Differentiable] float scaled(float v, float x) { return v * x * x; }
[Differentiable] float picked(Tensor<float, 1> t, int i) { return t[i]; }
[Differentiable] float weighted(Tensor<float, 1> t, int i, float x) { return t[i] * x * x; }
struct Ray { float3 position; float reach; };
float luma(float3 c) { return dot(c, float3(0.25, 0.5, 0.25)); }
float add(float a, float b) { return a + b; }
float at(Ray r) { return r.position.y * r.reach; }
struct V { float a; };
V operator+(V x, V y) { return { x.a + y.a }; }
float held(StructuredBuffer<float> b, int i) { return b[i]; }
float first_of(RWTensor<float, 1> t) { t[0] = 5; return 1; }
int twice(int n) { return 2 * n; }
float weigh52(float w[5][2]) { return w[4][1]; }
float weigh(float w[3], float x) { return (w[0] + 10 * w[1] + 100 * w[2]) * x; }
[Differentiable] float fetch(float* p, int i) { return p[i]; }
[Differentiable] float pick(Tensor<float, 1> t, int i) { return t[i]; }
void halves(float x, out float a, out float b) { a = x / 2; b = x / 2; }
struct Turned : IDifferentiable { float2x2 m; };
struct Gap : IDifferentiable { float a; double d; };
struct Wide : IDifferentiable { double a[17]; };
struct Sized { int id; int size; };
struct Rows : IDifferentiable { float2 rows[2]; };
struct Full : IDifferentiable { double d; float a; };
[Differentiable] float turned(Tensor<Turned, 1> t, int i) { return t[i].m[0][0]; }
[Differentiable] float rows(Tensor<Rows, 1> t, int i) { return t[i].rows[0].x; }
[Differentiable] float gap(Tensor<Gap, 1> t, int i) { return t[i].a; }
[Differentiable] float full(Tensor<Full, 1> t, int i) { return t[i].a; }
[Differentiable] double wide(Tensor<Wide, 1> t, int i) { return t[i].a[0]; }
[Differentiable] float kept(RWTensor<float, 1> t, int i) { return t[i]; }
void bump(inout float v, float by) { v += by; }
float count<let N : int>(float v[N]) { return N + v[0]; }
T most<T : __BuiltinFloatingPointType>(T a, T b) { return max(a, b); }
T nothing<T : __BuiltinFloatingPointType>() { return T(7); }
float2 where_am_i(float2 at) { return at; }
float4 colour(float x) { return float4(x, 2 * x, 0, 1); }
float over(float a) { return a; }
float over(int a) { return -a; }
float texel(float3 c) { return c.x + c.y; }
"""


IMAGE = ramp(2, 4, 3)


Program = Callable[[Any], Any]


def fused(function: Callable[..., Any], *args: Any) -> Any:
    return fp.fuse(function)(*args)


def tensor(array: Any, dtype: Any = None) -> Any:
    return fp.Tensor.from_numpy(fp.default_device(), np.asarray(array), dtype)


def texture(m: Any, usage: Any = spy.TextureUsage.none) -> Any:
    made = fp.default_device().sgl.create_texture(
        width=4, height=2, format=spy.Format.rgba32_float, usage=spy.TextureUsage.shader_resource | usage
    )
    made.copy_from_numpy(ramp(2, 4, 4))
    return made


def graph(build: Callable[[Any, Any], Any], *args: Any, **kwargs: Any) -> Any:
    made = fp.Graph(inputs=["x"], **kwargs)
    build(made, *made.get_inputs())
    return made(*args)


def rays(m: Any) -> Any:
    return np.array([((0, 2, 0), 3), ((0, 4, 0), 5)], m.Ray.dtype)


X, N = ramp(3), np.arange(3, dtype=np.int32)


def filled(t: Any, array: Any) -> Any:
    t.copy_from_numpy(array)
    return t


def zeros(shape: Any, dtype: Any = "float") -> Any:
    return fp.Tensor.zeros(fp.default_device(), shape, dtype)


def changed(t: Any, change: Any) -> Any:
    change(t)
    return t


GLOBALS = """
import fusepy;
struct Sun { float3 to; float power; };
uniform float k;
uniform int n;
uniform float3 c;
uniform Sun sun;
uniform float w[3];
uniform float* p;
uniform Tensor<float, 1> t;
uniform Texture2D<float4> image;
uniform SamplerState smooth;
uniform StructuredBuffer<float> b;
float by(float x) { return k * x; }
float turn(float x) { return n * x; }
float dyed(float x) { return (c.x + c.z) * x; }
float lit(float x) { return sun.to.y * sun.power * x; }
float weighed(float x) { return (w[0] + 10 * w[1] + 100 * w[2]) * x; }
float pointed(float x) { return p[2] * x; }
float taken(float x) { return t[2] * x; }
float seen(float x) { return image.Load(int3(0, 0, 0)).y * x; }
float blurred(float x) { return image.SampleLevel(smooth, float2(0.5, 0.5), 0).w * 0 + x; }
float held(float x) { return b[2] * x; }
float two(int i) { return i; }
"""


def load(name: str, source: str, **kwargs: Any) -> Any:
    return fp.Module.load_from_source(fp.default_device(), name, source, **kwargs)


def given(m: Any) -> Any:
    return load("hint_all_globals", GLOBALS)


OVERLOADS = """
import fusepy;
struct Ray { float3 position; float reach; };
struct Sun { float power; };
struct Moon { float power; };
float kind(Sun s) { return 1; }
float kind(Moon s) { return 2; }
float named(float x = 1, float y = 2, float z = 3) { return x + 10 * y + 100 * z; }
float wide(float3 c) { return c.x; }
float wide(float3x3 c) { return c[1][1]; }
void halves(float x, out float a, out float b) { a = x / 2; b = 3 * a; }
void split(float x, out float a) { a = x; }
void split(float x, out float a, out float b) { a = x; b = x; }
void nothing(float x) {}
float only_two(float2 c) { return c.x; }
float any_of<T>(T x) { return 1; }
float whole(RWTensor<float, 1> t, float x) { t[0] = x; return x; }
float both(RWTensor<float, 1> a, RWTensor<float, 1> b) { a[0] = 1; b[0] = 2; return 0; }
struct Box<T> { T value; __init(T v) { value = v; } T get() { return value; } };
int apart(float a, float b) { return 1; }
float unsized(float v[]) { return v[0]; }
float luma(float3 c) { return dot(c, float3(0.25, 0.5, 0.25)); }
float add(float a, float b) { return a + b; }
struct Ball { float r; float size() { return 2 * r; } [mutating] void grow(float by) { r += by; } };
"""


def over(m: Any) -> Any:
    return fp.Module.load_from_source(fp.default_device(), "hint_overloads", OVERLOADS)
