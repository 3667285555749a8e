"""Programs after hints about gradients of textures, buffers and pointers, and of structs that are passed as interfaces."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import slangpy as spy

import fusepy as fp
from tests.errors.hints.support import Program
from tests.support.slang_functions import F32

SOURCE = """
import fusepy;
float read(Texture2D<float> t, SamplerState s, float2 uv) { return t.SampleLevel(s, uv, 0); }
float four(Texture2D<float> t, SamplerState s, float2 uv) { return t.Gather(s, uv).x; }
float scaled(Texture2D<float> t, SamplerState s, float2 uv, float k) { return t.SampleLevel(s, uv * k, 0); }
float near(Texture2D<float> t, SamplerState s, float2 uv) { return t.Sample(s, uv); }
float slopes(Texture2D<float> t, SamplerState s, float2 uv) { return t.SampleGrad(s, uv, float2(0.25, 0), float2(0, 0.5)); }
float deeper(Texture2D<float> t, SamplerState s, float2 uv)
{
    float2 size = 2, ddx = float2(0.25, 0), ddy = float2(0, 0.5);
    return t.SampleLevel(s, uv, log2(max(length(ddx * size), length(ddy * size))));
}
float moved(Texture2D<float> t, SamplerState s, float2 uv) { return t.SampleLevel(s, uv, 0, int2(-1, 0)); }
float aside(Texture2D<float> t, SamplerState s, float2 uv) { return t.SampleLevel(s, uv + float2(-1, 0) / 2, 0); }
float beside(Texture2D<float> t, int2 p) { return t.Load(int3(p, 0), int2(-1, 0)); }
float left(Texture2D<float> t, int2 p) { return t.Load(int3(p.x - 1, p.y, 0)); }
float level(Texture2D<float> t, int2 p) { return t.mips[0][p]; }
float loaded(Texture2D<float> t, int2 p) { return t.Load(int3(p, 0)); }
float corner(StructuredBuffer<float> b, int i) { uint n, stride; b.GetDimensions(n, stride); return b[i] * n; }
float first(StructuredBuffer<float> b, int i) { return b[i]; }
float texel(Texture2D<float> t, int2 p) { return t[p]; }
float twice(Texture2D<float> t, int2 p) { float sum = 0; [MaxIters(2)] for (int i = 0; i < 2; ++i) sum += t[p]; return sum; }
double behind(double* p, int i) { return p[i]; }
interface IShape { [Differentiable] float area(float x); }
interface ISmooth : IDifferentiable { [Differentiable] float area(float x); }
struct Circle : IShape, ISmooth { float r; [Differentiable] float area(float x) { return r * x; } };
[Differentiable] float of_shape(IShape s, float x) { return s.area(x); }
[Differentiable] float of_smooth(ISmooth s, float x) { return s.area(x); }
[Differentiable] float of_any<S>(S s, float x) { return x; }
[Differentiable] float of_some<S : IDifferentiable>(S s, float x) { return x; }
[Differentiable] double of(Tensor<double, 1> p, int i) { return p[i]; }
"""
CIRCLE = {"_type": "Circle", "r": 2.0}
CENTRE = F32([[0.25, 0.25]])
WANT = np.array([[1, 0], [0, 0]], F32)


@functools.cache
def own(device: Any) -> Any:
    return fp.Module.load_from_source(device, "hint_reads", SOURCE)


def r() -> Any:
    return own(fp.default_device())


def image(levels: int = 1) -> Any:
    usage = spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access
    made = fp.default_device().sgl.create_texture(width=2, height=2, format=spy.Format.r32_float, usage=usage, mip_count=levels)
    made.copy_from_numpy(np.zeros((2, 2), np.float32))  # memory of the driver holds anything
    return made


def slope(function: Any, *others: Any) -> Any:
    return fp.grad(lambda t: fp.sum(function(t, *others)))(image()).to_numpy()


def sampler(**settings: Any) -> Any:
    return fp.default_device().sgl.create_sampler(**settings)


def of_levels(function: Any) -> Any:
    """The gradient of the first of two levels."""
    return fp.grad(function)(image(2))[0].to_numpy()


def looped(body: Any) -> Any:
    return fp.FusedFunction(lambda x: fp.fori_loop(0, 2, body, x))


PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    "forward mode through a sample": (
        lambda m: fp.jvp(lambda uv: r().read(image(), sampler(), uv), (CENTRE,), (CENTRE,)),
        "go backwards, by fp.grad or fp.vjp",
        lambda m: slope(r().read, sampler(), CENTRE),
        WANT,
    ),
    "a read without derivative": (
        lambda m: fp.grad(lambda b: fp.sum(r().corner(b, np.int32([1]))))(np.ones(2, F32)),
        "read textures by Load, [] or SampleLevel, buffers and pointers by []",
        lambda m: fp.grad(lambda b: fp.sum(r().first(b, np.int32([1]))))(np.ones(2, F32)),
        np.array([0.0, 1.0]),
    ),
    "four texels at once": (
        lambda m: slope(r().four, sampler(), CENTRE),
        "read the texels by Load",
        lambda m: slope(r().loaded, np.int32([[0, 0]])),
        WANT,
    ),
    "a sample without a level": (
        lambda m: slope(r().near, sampler(), CENTRE),
        "write SampleLevel(s, uv, level)",
        lambda m: slope(r().read, sampler(), CENTRE),
        WANT,
    ),
    "a sample by slopes": (
        lambda m: slope(r().slopes, sampler(), CENTRE),
        "write SampleLevel(s, uv, log2(max(length(ddx * size), length(ddy * size))))",
        lambda m: slope(r().deeper, sampler(), CENTRE),
        WANT,
    ),
    "a sample with an offset": (
        lambda m: slope(r().moved, sampler(), CENTRE + F32([0.5, 0])),
        "add an offset to the coordinates: SampleLevel(s, uv + offset / size, level)",
        lambda m: slope(r().aside, sampler(), CENTRE + F32([0.5, 0])),
        WANT,
    ),
    "a load with an offset": (
        lambda m: slope(r().beside, np.int32([[1, 0]])),
        "add an offset to the coordinates: Load(int3(x + 1, y, level))",
        lambda m: slope(r().left, np.int32([[1, 0]])),
        WANT,
    ),
    "levels by name": (
        lambda m: slope(r().level, np.int32([[0, 0]])),
        "write Load(int3(x, y, level))",
        lambda m: slope(r().loaded, np.int32([[0, 0]])),
        WANT,
    ),
    "a sampler of some levels": (
        lambda m: slope(r().read, sampler(max_lod=2.0), CENTRE),
        "a range of levels is SampleLevel(s, uv, clamp(level + bias, least, most))",
        lambda m: slope(r().read, sampler(), CENTRE),
        WANT,
    ),
    "a sampler that takes the least": (
        lambda m: slope(r().read, sampler(reduction_op=spy.TextureReductionOp.minimum), CENTRE),
        "create the sampler without that",
        lambda m: slope(r().read, sampler(), CENTRE),
        WANT,
    ),
    "a gradient of a sample in a loop": (
        lambda m: looped(lambda i, c: c + fp.grad(lambda k: r().scaled(image(), sampler(), CENTRE, k))(c))(F32([1])),
        "take the gradient outside of the loop or branch",
        lambda m: fp.grad(looped(lambda i, c: r().scaled(image(), sampler(), CENTRE, c)))(F32([1])),
        F32([0]),
    ),
    "an interface that is not differentiable": (
        lambda m: fp.grad(r().of_shape)(CIRCLE, 3.0),
        "declare interface IShape : IDifferentiable",
        lambda m: fp.grad(r().of_smooth)(CIRCLE, 3.0)["r"],
        3.0,
    ),
    "a generic parameter that is not differentiable": (
        lambda m: fp.grad(r().of_any)(CIRCLE, 3.0),
        "write <S : IDifferentiable>",
        lambda m: fp.grad(r().of_some)(CIRCLE, 3.0)["r"],
        0.0,
    ),
    "levels in a loop": (
        lambda m: of_levels(lambda t: fp.fori_loop(0, 2, lambda i, c: c + r().texel(t, np.int32([0, 0])), 0.0)),
        "write the loop or branch in Slang",
        lambda m: of_levels(lambda t: fp.sum(r().twice(t, np.int32([[0, 0]])))),
        2 * WANT,
    ),
    "doubles behind a pointer": (
        lambda m: fp.grad(lambda p: fp.sum(r().behind(p, np.int32([1]))))(np.ones(2)),
        "take Tensor<T, N> there",
        lambda m: fp.grad(lambda p: fp.sum(r().of(p, np.int32([1]))))(np.ones(2)),
        np.array([0.0, 1.0]),
    ),
}
