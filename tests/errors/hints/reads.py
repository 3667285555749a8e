"""Programs after hints about gradients of textures, buffers and pointers."""

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
float texel(Texture2D<float> t, int2 p) { return t[p]; }
float twice(Texture2D<float> t, int2 p) { float sum = 0; [MaxIters(2)] for (int i = 0; i < 2; ++i) sum += t[p]; return sum; }
double behind(double* p, int i) { return p[i]; }
[Differentiable] double of(Tensor<double, 1> p, int i) { return p[i]; }
"""
CENTRE = F32([[0.25, 0.25]])
WANT = np.array([[1, 0], [0, 0]], F32)


@functools.cache
def own(device: Any) -> Any:
    return fp.Module.load_from_source(device, "hint_reads", SOURCE)


def r() -> Any:
    return own(fp.default_device())


def image(levels: int = 1) -> Any:
    usage = spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access
    return fp.default_device().sgl.create_texture(width=2, height=2, format=spy.Format.r32_float, usage=usage, mip_count=levels)


def slope(function: Any, *others: Any, levels: int = 1) -> Any:
    return fp.grad(lambda t: fp.sum(function(t, *others)))(image(levels)).to_numpy()


def sampler(**settings: Any) -> Any:
    return fp.default_device().sgl.create_sampler(**settings)


PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    "a read without derivative": (
        lambda m: slope(r().four, sampler(), CENTRE),
        "read textures by Load, [] or SampleLevel",
        lambda m: slope(r().read, sampler(), CENTRE),
        WANT,
    ),
    "levels of a texture": (
        lambda m: slope(r().read, sampler(), CENTRE, levels=2),
        "make a texture of each level",
        lambda m: slope(r().read, sampler(), CENTRE),
        WANT,
    ),
    "a sampler that takes the least": (
        lambda m: slope(r().read, sampler(reduction_op=spy.TextureReductionOp.minimum), CENTRE),
        "create the sampler without border_color, reduction_op",
        lambda m: slope(r().read, sampler(), CENTRE),
        WANT,
    ),
    "a read in a loop": (
        lambda m: slope(lambda t: fp.fori_loop(0, 2, lambda i, c: c + r().texel(t, np.int32([0, 0])), 0.0)),
        "write the loop or branch in Slang",
        lambda m: slope(r().twice, np.int32([[0, 0]])),
        2 * WANT,
    ),
    "doubles behind a pointer": (
        lambda m: fp.grad(lambda p: fp.sum(r().behind(p, np.int32([1]))))(np.ones(2)),
        "take Tensor<T, N> there",
        lambda m: fp.grad(lambda p: fp.sum(r().of(p, np.int32([1]))))(np.ones(2)),
        np.array([0.0, 1.0]),
    ),
}
