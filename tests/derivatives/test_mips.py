"""Gradients of samples in all levels of a texture, in coordinates and in the level, against differences in float64."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from tests.support.sampling import Sampling
from tests.support.selection import daily

SOURCE = """
float2 plane(Texture2D<float2> t, SamplerState s, float2 uv, float level) { return t.SampleLevel(s, uv, level); }
float line(Texture1D<float> t, SamplerState s, float u, float level) { return t.SampleLevel(s, u, level); }
float4 volume(Texture3D<float4> t, SamplerState s, float3 uvw, float level) { return t.SampleLevel(s, uvw, level); }
float loaded(Texture2D<float2> t, int3 at) { return t.Load(at).y * t.Load(at).x; }
float deepest(Texture2D<float2> t, SamplerState s, float2 uv)
{
    uint width, height, levels;
    t.GetDimensions(0, width, height, levels);
    return t.SampleLevel(s, uv, levels - 1).x * float(width);
}
[Differentiable] float2 squared(float2 texel) { return texel * texel; }
float wide(Texture2D<float4> t, int2 at) { return dot(t[at], float4(1, 2, 3, 4)); }
"""
F32 = np.float32
USAGE = spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access
TYPES = [spy.TextureType.texture_1d, spy.TextureType.texture_2d, spy.TextureType.texture_3d]
FORMATS = {1: spy.Format.r32_float, 2: spy.Format.rg32_float, 4: spy.Format.rgba32_float}
MODES = ["wrap", "mirror_repeat", "mirror_once", "clamp_to_edge", "clamp_to_border"]


@pytest.fixture(scope="module")
def m(device: fp.Device) -> fp.Module:
    if device.target.kind != "software" and "Vulkan" not in device.name:
        pytest.skip("no mip levels there")
    return fp.Module.load_from_source(device, "mips", SOURCE)


def levels(extents: Sequence[int], channels: int, count: int, seed: int = 0) -> list[Any]:
    """Returns random texels of each level; `extents` in NumPy's order."""
    rng = np.random.default_rng(seed)
    return [rng.random((*(max(n >> level, 1) for n in extents), channels)).astype(F32) for level in range(count)]


def texture(m: fp.Module, texels: Sequence[Any]) -> Any:
    *extents, channels = texels[0].shape
    sizes = dict(zip(("width", "height", "depth"), reversed(extents)))
    type = TYPES[len(extents) - 1]
    made = m.device.sgl.create_texture(type=type, format=FORMATS[channels], usage=USAGE, mip_count=len(texels), **sizes)
    for level, data in enumerate(texels):
        made.copy_from_numpy(data if channels > 1 else data[..., 0].copy(), 0, level)
    return made


def sampler(m: fp.Module, like: Sampling) -> Any:
    filters = [spy.TextureFilteringMode.linear if linear else spy.TextureFilteringMode.point for linear in like.linear]
    modes = [spy.TextureAddressingMode[mode] for mode in (*like.modes, "wrap", "wrap")[:3]]
    given = dict(zip(("mag_filter", "min_filter", "mip_filter", "address_u", "address_v", "address_w"), [*filters, *modes]))
    return m.device.sgl.create_sampler(border_color=spy.float4(*like.border), **given)


def points(axes: int, extents: Sequence[int], count: int, last: int, seed: int = 0) -> tuple[Any, Any]:
    """Returns coordinates and levels, some outside, away from places where a texel or level ends."""
    rng = np.random.default_rng(seed)
    at = rng.uniform(-1.4, 2.4, (1000, axes)).astype(F32)
    depth = rng.uniform(-0.6, last + 0.6, 1000).astype(F32)
    depth[::5] = 0
    sides = [np.abs(at * np.maximum(np.array(extents) >> level, 1) * 2 % 1 - 0.5) for level in range(last + 1)]
    kinks = np.abs(depth * 2 - np.round(depth * 2))
    good = (np.max(sides, (0, 2)) < 0.49) & ((kinks > 0.02) | (depth == 0))
    return at[good][:count], depth[good][:count]


@functools.cache
def gradient(m: fp.Module, function: str, channels: int) -> Any:
    """Returns the gradient of the sum of all that a function reads, with weights; one for all settings of samplers."""

    def total(t: Any, s: Any, uv: Any, level: Any, weights: Any) -> Any:
        value = getattr(m, function)(t, s, uv, level)
        return fp.sum(value * weights if channels == 1 else fp.dot(value, fp.vcast(weights, f"float{channels}")))

    return fp.grad(total, (0, 2, 3))


def check(m: fp.Module, function: str, texels: Sequence[Any], like: Sampling) -> None:
    axes = texels[0].ndim - 1
    at, depth = points(axes, texels[0].shape[-2::-1], 24, len(texels) - 1)
    given, s = texture(m, texels), sampler(m, like)
    factors = np.random.default_rng(1).uniform(0.5, 1.5, (len(at), texels[0].shape[-1])).astype(F32)
    uv = at[:, 0].copy() if axes == 1 else at
    weights = factors[:, 0].copy() if factors.shape[1] == 1 else factors

    def model(texels: Sequence[Any], at: Any, depth: Any) -> Any:
        return (like.read(texels, at, depth) * factors).sum(1)

    wide = [x.astype(float) for x in texels]
    read = np.asarray(getattr(m, function)(given, s, uv, depth)).reshape(len(at), -1)
    np.testing.assert_allclose(read, like.read(wide, at, depth), atol=0.02)  # devices interpolate with 8 bits
    of_texels, of_uv, of_level = gradient(m, function, factors.shape[1])(given, s, uv, depth, weights)
    found = [of_texels] if len(texels) == 1 else of_texels
    assert [x.shape for x in found] == [x.shape[:-1] for x in texels]
    ends = np.cumsum([x[..., 0].size for x in wide])
    ones = [row.reshape(*x.shape[:-1], -1) for row, x in zip(np.split(np.eye(ends[-1]), ends[:-1]), wide)]
    changes = Sampling(like.modes, like.linear, np.zeros(ends[-1])).read(ones, at, depth).T @ factors  # a unit more in each texel
    np.testing.assert_allclose(np.concatenate([x.to_numpy().reshape(-1, factors.shape[1]) for x in found]), changes, atol=2e-5)
    step = 1e-7
    for axis in range(axes):
        moved = np.eye(axes)[axis] * step
        want = (model(wide, at + moved, depth) - model(wide, at - moved, depth)) / (2 * step)
        np.testing.assert_allclose(np.asarray(of_uv).reshape(len(at), axes)[:, axis], want, rtol=1e-3, atol=2e-3)
    above = depth.astype(float) + step
    below = above - step - step * (depth != 0)  # at level 0 the slope is that above
    want = (model(wide, at, above) - model(wide, at, below)) / (above - below)
    smooth = (depth != 0) | (like.linear[0] == like.linear[1])  # else the value jumps there
    np.testing.assert_allclose(np.asarray(of_level)[smooth], want[smooth], rtol=1e-3, atol=2e-3)


FILTERS = [(mag, least, mip) for mag in (False, True) for least in (False, True) for mip in (False, True)]


@pytest.mark.req("B16")
@pytest.mark.parametrize("mode", daily(MODES, "wrap", "mirror_once"))
def test_all_modes_and_filters(m: fp.Module, mode: str) -> None:
    texels = levels((4, 8), 2, 4)
    for k, linear in enumerate(FILTERS):
        other = MODES[(MODES.index(mode) + k) % len(MODES)]  # of the second axis
        border = [(0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), (1.0, 1.0, 1.0, 1.0)][k % 3]
        check(m, "plane", texels, Sampling((mode, other), linear, border))


@pytest.mark.rest  # test_graded has textures of one level daily
def test_one_level(m: fp.Module) -> None:
    for linear in FILTERS:
        check(m, "plane", levels((4, 8), 2, 1), Sampling(("wrap", "clamp_to_edge"), linear))


def test_lines_and_volumes(m: fp.Module) -> None:
    for mode, linear in zip(MODES, FILTERS[3:]):
        check(m, "line", levels((8,), 1, 3), Sampling((mode,), linear))
        check(m, "volume", levels((2, 4, 4), 4, 2), Sampling((mode, "wrap", mode), linear, (1.0, 1.0, 1.0, 1.0)))


def test_loads_of_levels_add_where_they_read(m: fp.Module) -> None:
    texels = levels((4, 8), 2, 3)
    places = np.int32([[1, 2, 0], [0, 1, 1], [0, 1, 1], [1, 0, 2], [0, 0, 3], [4, 0, 1], [0, 0, -1], [-1, 0, 1]])
    found = fp.grad(lambda t: fp.sum(m.loaded(t, places)))(texture(m, texels))
    wanted = [np.zeros_like(x) for x in texels]
    for x, y, level in places[:4]:  # the others are outside
        wanted[level][y, x] += texels[level][y, x, ::-1]
    for slope, want in zip(found, wanted):
        np.testing.assert_allclose(slope.to_numpy(), want, rtol=1e-6)


def test_the_number_of_levels_is_that_of_each_call(m: fp.Module) -> None:
    s, uv = sampler(m, Sampling(("wrap", "wrap"))), F32([[0.3, 0.3], [0.7, 0.2]])
    gradient = fp.grad(lambda t: fp.sum(m.deepest(t, s, uv)))
    for count in (2, 3, 1, 4, 2):
        found = gradient(texture(m, levels((4, 8), 2, count)))
        sums = [float(x.to_numpy().sum()) for x in (found if count > 1 else [found])]
        assert sums == pytest.approx([0] * (count - 1) + [16])
    for size in ((8, 8), (4, 4), (16, 4)):  # the last level has one texel in some of them
        assert [x.shape for x in gradient(texture(m, levels(size, 2, 3)))] == [(size[0] >> k, size[1] >> k) for k in range(3)]


def test_views_have_the_gradients_of_their_levels(m: fp.Module) -> None:
    texels, s = levels((4, 8), 2, 3), sampler(m, Sampling(("wrap", "wrap")))
    uv, depth = points(2, (8, 4), 8, 1)
    gradient = fp.grad(lambda t: fp.sum(m.plane(t, s, uv, depth).x))
    wanted = [x.to_numpy() for x in gradient(texture(m, texels[1:]))]
    for view in (texture(m, texels).create_view(mip=1), texture(m, texels).create_view(mip=1, mip_count=2)):
        for found, want in zip(gradient(view), wanted, strict=True):
            np.testing.assert_allclose(found.to_numpy(), want, atol=1e-6)
    assert gradient(texture(m, texels).create_view(mip=2)).shape == (1, 2)


@pytest.mark.rest  # test_graded has such programs daily, of textures of one level
def test_in_fused_functions_lazy_calls_captures_and_containers(m: fp.Module) -> None:
    s, t = sampler(m, Sampling(("wrap", "wrap"))), texture(m, levels((4, 8), 2, 2))
    uv, depth = points(2, (8, 4), 8, 1)
    total = lambda t: fp.sum(m.plane(t, s, uv, depth).x)  # noqa: E731
    wanted = [x.to_numpy() for x in fp.grad(total)(t)]

    @fp.fuse
    def twice(t: Any) -> Any:
        _, (first, second) = fp.value_and_grad(total)(t)
        return first * 2.0, second

    with fp.lazy():
        lazy = fp.grad(total)(t)
    inner = fp.grad(lambda p: total(p["map"]))({"map": t})["map"]
    captured = fp.fuse(lambda k: tuple(x * k for x in fp.grad(total)(t)))(1.0, _result="numpy")
    first, second = twice(t)
    pulled = fp.vjp(total, t)[1](1.0)[0]
    exact = fp.grad(total).options(deterministic=True)(t)
    halved = first.to_numpy() / 2
    for found in (lazy, inner, captured, (halved, second), pulled, exact):
        for slope, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(slope if isinstance(slope, np.ndarray) else slope.to_numpy(), want, atol=1e-6)


def test_texels_by_thread_are_those_of_the_first_level(m: fp.Module) -> None:
    texels = levels((4, 8), 2, 2)
    first, second = fp.grad(lambda t: fp.sum(m.squared(t).x))(texture(m, texels))
    np.testing.assert_allclose(first.to_numpy(), texels[0] * F32([2, 0]), rtol=1e-6)
    assert not second.to_numpy().any()


def test_channels_that_a_read_fills_in_have_no_gradient(m: fp.Module) -> None:
    """A texture of two channels, read as four: what belongs to the others must not reach the next texel."""
    places = np.int32([[0, 0], [2, 3]])
    found = fp.grad(lambda t: fp.sum(m.wide(t, places)))(texture(m, levels((4, 8), 2, 1))).to_numpy()
    assert found.sum() == 6
    assert found[0, 0].tolist() == found[3, 2].tolist() == [1, 2]


def test_gradients_go_through_a_computed_texture(m: fp.Module) -> None:
    """What a fused function computes and then samples is stored in a texture of one level."""
    (texels,), s = levels((4, 8), 2, 1), sampler(m, Sampling(("wrap", "wrap")))
    uv, _ = points(2, (8, 4), 8, 0)
    found = fp.grad(lambda x: fp.sum(m.plane(m.squared(fp.vcast(x, "float2")), s, uv, 0.0).x))(texels)
    of_texture = fp.grad(lambda t: fp.sum(m.plane(t, s, uv, 0.0).x))(texture(m, [texels])).to_numpy()
    np.testing.assert_allclose(np.asarray(found), of_texture * 2 * texels, rtol=1e-5, atol=1e-6)
