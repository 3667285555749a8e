"""Programs after hints about what receives results: arrays under a mapping, textures, and results beside one another."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import slangpy as spy

import fusepy as fp
from tests.errors.hints.resources import texture
from tests.errors.hints.support import Program, X, tensor
from tests.support.slang_functions import F32, ramp

SOURCE = """
void mix(float x, float y, out float r) { r = 10 * x + y; }
float4 colour(float x) { return float4(x, 2 * x, 0, 1); }
float4 whole(int2 p, Texture2D<float4> t) { return 2 * t.Load(int3(p, 0)); }
float4 own(float4 c) { return 2 * c; }
void copy(int2 p, Texture2D<float4> from, RWTexture2D<float4> to) { to[p] = 2 * from.Load(int3(p, 0)); }
float4 load(int2 p, Texture2D<float4> from) { return from.Load(int3(p, 0)); }
void store(int2 p, float4 x, RWTexture2D<float4> to) { to[p] = x; }
float add(float a, float b) { return a + b; }
int twice(int n) { return 2 * n; }
"""


@functools.cache
def on(device: Any) -> Any:
    return fp.Module.load_from_source(device, "hint_results", SOURCE)


def r(m: Any) -> Any:
    return on(m.device)


def into(function: Any, made: Any, *args: Any) -> Any:
    function(*args, _result=made)
    return made.to_numpy() if hasattr(made, "to_numpy") else made


def mixed(m: Any, made: Any, *dims: Any) -> Any:
    r(m).mix(X, ramp(4)[:, None], fp.vmap(made, *dims))
    return made.to_numpy() if hasattr(made, "to_numpy") else made


def cube() -> Any:
    usage = spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access
    return fp.default_device().sgl.create_texture(
        type=spy.TextureType.texture_cube, width=4, height=4, format=spy.Format.rgba32_float, usage=usage
    )


def layers() -> Any:
    return texture(4, 4, type=spy.TextureType.texture_2d_array, array_length=6)


def all_layers(made: Any) -> Any:
    return np.stack([made.to_numpy(layer=i)[..., 1] for i in range(6)])


MIXED = 10 * X + ramp(4)[:, None]  # over a grid of 4 by 3
SIX = ramp(6, 4, 4)
G = fp.grid((2, 4))
PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    # under a mapping
    "a destination of another shape": (
        lambda m: mixed(m, np.zeros((4, 3), F32), (1, 0)),
        "give a destination of that shape: the result is [4, 3] in the order of the grid",
        lambda m: mixed(m, np.zeros((3, 4), F32), (1, 0)),
        MIXED.T,
    ),
    "a destination with an axis too few": (
        lambda m: mixed(m, np.zeros(3, F32), (1, 0)),
        "give a destination with an axis for each dimension of the grid",
        lambda m: mixed(m, np.zeros((3, 4), F32), (1, 0)),
        MIXED.T,
    ),
    "a texture in another order": (
        lambda m: into(r(m).colour, fp.vmap(texture(), (1, 0)), ramp(4, 2)),
        "map the arguments along the axes of the texture instead, or write to a tensor",
        lambda m: into(r(m).colour, texture(), fp.vmap(ramp(4, 2), (1, 0)))[..., 1],
        2 * ramp(4, 2).T,
    ),
    "a destination that repeats elements": (
        lambda m: into(r(m).add, np.lib.stride_tricks.as_strided(np.zeros(1, F32), (3,), (0,)), X, 1.0),
        "give a real array",
        lambda m: into(r(m).add, np.zeros(3, F32), X, 1.0),
        X + 1,
    ),
    # textures
    "a texture that other threads read": (
        lambda m: into(functools.partial(r(m).whole, G, (t := texture())), t),
        "write into another texture",
        lambda m: into(functools.partial(r(m).whole, G, texture()), texture()),
        2 * ramp(2, 4, 4),
    ),
    "a texture that is read and written": (
        lambda m: r(m).copy(G, (t := texture()), t),
        "write into another texture; only a texel that its own thread reads can be overwritten",
        lambda m: [r(m).copy(G, texture(), (t := texture())), t.to_numpy(), into(r(m).own, (t := texture()), t)][1:],
        np.stack([2 * ramp(2, 4, 4)] * 2),
    ),
    "a format that the device does not write": (
        lambda m: r(m).store(G, np.ones((2, 4, 4), F32), texture(format=spy.Format.rgba8_unorm_srgb)),
        "use a common one such as rgba8_unorm, rgba16_float or r32_float",
        lambda m: [r(m).store(G, np.ones((2, 4, 4), F32), (t := texture(format=spy.Format.rgba16_float))), t.to_numpy()][1],
        np.ones((2, 4, 4), np.float16),
    ),
    "a texture with too few channels": (
        lambda m: into(r(m).colour, texture(format=spy.Format.r32_float), ramp(2, 4)),
        "use a format with as many channels and the same kind of numbers, or convert the result in Slang",
        lambda m: into(r(m).colour, texture(format=spy.Format.rgba32_float), ramp(2, 4))[..., 1],
        2 * ramp(2, 4),
    ),
    "a cube": (
        lambda m: into(r(m).colour, cube(), SIX),
        "write a cube as a texture_2d_array and copy its layers",
        lambda m: [r(m).colour(SIX, _result=(t := layers())), all_layers(t)][1],
        2 * SIX,
    ),
    "a texture beside a larger result": (
        lambda m: beside(m),
        "take a tensor, or compute this result in a call of its own",
        lambda m: into(r(m).colour, texture(1), ramp(1, 4))[..., 1],
        2 * ramp(1, 4),
    ),
    # results beside one another
    "a number beyond a known type": (
        lambda m: [r(m).twice(3), r(m).twice(2**31)],
        "use a wider type in the Slang function, or a number in range",
        lambda m: [r(m).twice(3), r(m).twice(2**30 - 1)],
        [6, 2**31 - 2],
    ),
}


def beside(m: Any) -> Any:
    both = fp.fuse(lambda a, b: (a + b, r(m).colour(b)))
    return both(ramp(2, 4), ramp(1, 4), _result=(tensor(ramp(2, 4)), texture(1)))
