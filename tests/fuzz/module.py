"""The Slang functions that programs call."""

from __future__ import annotations

SOURCE = """
import fusepy;
interface ICurve : IDifferentiable
{
    [Differentiable] float through(float x);
    [Differentiable] float height(float x);
}
struct Ray : ICurve
{
    float3 at;
    float t;
    int id;
    [Differentiable] float through(float x) { return at.x * x + t; }
    [Differentiable] float height(float x) { return t * x + t; }
    [Differentiable] float3 reach(float k) { return k * at + at * t; }
    [Differentiable] [mutating] void go(float k) { at += k * t; t *= k; }
};
[Differentiable] float twice(float x) { return 2 * x; }
[Differentiable] float less(float a, float b) { return a - b; }
[Differentiable] float add(float a, float b) { return a + b; }
[Differentiable] float big(float a, float b) { return max(a, b); }
int add_int(int a, int b) { return a + b; }
int64_t add_long(int64_t a, int64_t b) { return a + b; }
[Differentiable] double mix_double(double a, double b) { return a * 2 - b; }
[Differentiable] half less_half(half a, half b) { return a - b; }
bool either(bool a, bool b) { return a || b; }
T same<T>(T x) { return x; }
[Differentiable] float3 tone(float3 c, float k) { return k * c + float3(1, 2, 3); }
[Differentiable] float luma(float3 c) { return c.x + 2 * c.y + 4 * c.z; }
[Differentiable] float2 chain(float2 a, float2 b) { return float2(a.x * b.x, a.y * b.x + b.y); }
[Differentiable] float3 apply(float2x3 m, float2 v) { return mul(v, m); }
[Differentiable] float3x2 turn(float2x3 m) { return transpose(m); }
[Differentiable] void parts(float x, out float low, out float high) { low = min(x, 0); high = max(x, 0); }
[Differentiable] float bump(inout float x, float by) { float old = x; x += by; return old; }
void exchange(inout int a, inout int b) { int t = a; a = b; b = t; }
float total1(float x, Tensor<float,1> t) { for (int i = 0; i < int(t.shape[0]); ++i) x += t[i]; return x; }
float total2(float x, Tensor<float,2> t)
{
    for (int i = 0; i < int(t.shape[0]); ++i)
        for (int j = 0; j < int(t.shape[1]); ++j)
            x += t[i, j] * (i + 1);
    return x;
}
float next(int2 p, Tensor<float,2> t) { return t[min(p.y + 1, int(t.shape[0]) - 1), p.x]; }
[Differentiable] float at1(int p, float x) { return x + p; }
[Differentiable] float at2(int2 p, float x) { return x + p.x + 16 * p.y; }
[Differentiable] float at3(int3 p, float x) { return x + p.x + 16 * p.y + 256 * p.z; }
[Differentiable] float nth(uint t, float x) { return x + t; }
int count1(int x, Tensor<int,1> t) { for (int i = 0; i < int(t.shape[0]); ++i) x += t[i] * (i + 1); return x; }
[Differentiable] Ray ray(float3 at, float t) { Ray r; r.at = at; r.t = t; r.id = 7; return r; }
[Differentiable] float3 along(Ray r, float k) { return r.at * k + r.t; }
[Differentiable] void drift(inout Ray r, float k) { r.at *= k; r.t += k; }
[Differentiable] void split(Ray r, out float3 at, out float t) { at = r.at * r.t; t = r.t + r.at.y; }
[Differentiable] float follow<C : ICurve>(C c, float x) { return c.through(x) * x; }
[Differentiable] float any_curve(ICurve c, float x) { return c.height(x) - x; }
[Differentiable] T cubed<T : __BuiltinFloatingPointType>(T x) { return x * x * x; }
[Differentiable] T mixed<T : IFloat>(T a, T b) { return a * b + a; }
[Differentiable] float pick1(float x, int i, Tensor<float,1> t) { return x * t[uint(i) % t.shape[0]] + t[0]; }
[Differentiable] float pick2(int i, Tensor<float,2> t) { return t[uint(i) % t.shape[0], uint(i) % t.shape[1]]; }
float weighted(float4 c) { return c.x + 2 * c.y + 4 * c.z; }
float texel1(int i, Texture1D<float4> t) { uint w; t.GetDimensions(w); return weighted(t[uint(i) % w]); }
float texel2(int i, Texture2D<float4> t)
{
    uint w, h;
    t.GetDimensions(w, h);
    return weighted(t[uint2(uint(i) % w, uint(i) % h)]);
}
float texel3(int i, Texture3D<float4> t)
{
    uint w, h, d;
    t.GetDimensions(w, h, d);
    return weighted(t[uint3(uint(i) % w, uint(i) % h, uint(i) % d)]);
}
int texel_int(int i, Texture2D<int4> t)
{
    uint w, h;
    t.GetDimensions(w, h);
    int4 c = t.Load(int3(int(uint(i) % w), int(uint(i) % h), 0));
    return c.x + 2 * c.y + 4 * c.z;
}
float texel_one(float x, int i, Texture2D<float> t)
{
    uint w, h;
    t.GetDimensions(w, h);
    return x * t[uint2(uint(i) % w, uint(i) % h)];
}
[Differentiable] Ray moved(Ray r, float k) { r.at += k; r.id += 1; return r; }
"""
