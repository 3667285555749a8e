"""Textures as arguments and results: texel by texel, whole, written, in every type and format, held to NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slangpy as spy
from hypothesis import assume, given
from hypothesis import strategies as st

import fusepy as fp
from tests.support import textures as tx
from tests.support.examples import examples
from tests.support.selection import daily

SOURCE = """
float3 tonemap(float3 c, float filmic, float saturation) { return lerp(dot(c, float3(0.25)), c / (c + filmic), saturation); }
float4 gain(float4 c, float k) { return c * k + 0.5; }
T same<T : __BuiltinArithmeticType>(T x) { return x; }
vector<T, 2> same2<T : __BuiltinArithmeticType>(vector<T, 2> x) { return x; }
vector<T, 3> same3<T : __BuiltinArithmeticType>(vector<T, 3> x) { return x; }
vector<T, 4> same4<T : __BuiltinArithmeticType>(vector<T, 4> x) { return x; }
float scale1(float x, float k) { return x * k; }
float2 scale2(float2 x, float k) { return x * k; }
float3 scale3(float3 x, float k) { return x * k; }
float4 scale4(float4 x, float k) { return x * k; }
uint add1(uint x, uint k) { return x + k; }
uint2 add2(uint2 x, uint k) { return x + k; }
uint4 add4(uint4 x, uint k) { return x + k; }
int sub1(int x, int k) { return x - k; }
int2 sub2(int2 x, int k) { return x - k; }
int4 sub4(int4 x, int k) { return x - k; }
half4 halves(half4 c) { return c * 2; }
double4 doubles(float4 c) { return double4(c); }
void twice(inout float4 c) { c *= 2; }
void split(float4 c, out float4 low, out float high) { low = min(c, 0.5); high = max(c.r, 0.5); }
float4 sampled(Texture2D<float4> image, SamplerState s, float2 uv) { return image.SampleLevel(s, uv, 0); }
float3 sampled3(Texture2D<float3> image, SamplerState s, float2 uv) { return image.SampleLevel(s, uv, 0); }
float4 around(TextureCube<float4> cube, SamplerState s, float3 d) { return cube.SampleLevel(s, d, 0); }
float4 inside(Texture3D<float4> volume, SamplerState s, float3 p) { return volume.SampleLevel(s, p, 0); }
float4 layer(Texture2DArray<float4> stack, SamplerState s, float2 uv, float i) { return stack.SampleLevel(s, float3(uv, i), 0); }
float lit(Texture2D<float> depth, SamplerComparisonState s, float2 uv, float z) { return depth.SampleCmpLevelZero(s, uv, z); }
float4 mip(Texture2D<float4> image, SamplerState s, float2 uv, float level) { return image.SampleLevel(s, uv, level); }
uint4 fetched(Texture2D<uint4> image, int2 p) { return image[p]; }
float4 blur(Texture2D<float4> image, int2 p)
{
    uint w, h;
    image.GetDimensions(w, h);
    float4 sum = 0;
    for (int y = -1; y <= 1; ++y)
        for (int x = -1; x <= 1; ++x)
            sum += image[clamp(p + int2(x, y), int2(0), int2(w, h) - 1)];
    return sum / 9;
}
T generic<T : ITexelElement>(Texture2D<T> image, int2 p) { return image[p]; }
int2 place(int2 p) { return p; }
void fill(int2 pixel, float3 color, RWTexture2D<float4> texture) { texture[pixel] = float4(color, 1); }
void fill_volume(int3 p, RWTexture3D<float> texture) { texture[p] = p.x + 10 * p.y + 100 * p.z; }
void fill_line(int p, RWTexture1D<uint> texture) { texture[p] = p * p; }
void fill_stack(int3 p, RWTexture2DArray<float2> texture) { texture[p] = float2(p.x, p.z); }
int both(Texture2D<int> image, RWTexture2D<int> target, int2 p) { target[p] = image[p] + 1; return image[p]; }
float number(float x) { return x; }
float4 overloaded(float4 c) { return c; }
float4 overloaded(Texture2D<float4> image) { return image[uint2(0)] + 100; }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    if device.sgl.info.type == spy.DeviceType.cpu:
        pytest.skip("the cpu device has no textures")
    return fp.Module.load_from_source(device, "textures", SOURCE)


# what `make test` reads and writes: each way of keeping numbers, and each number of channels
OFTEN = ("r8_unorm", "rg8_snorm", "rgba8_unorm", "rg16_float", "r16_sint", "rgba16_uint", "rgba32_float", "bgra8_unorm_srgb")
# what CUDA refuses with an error, since it would read or write wrong values: see docs/guide/textures.md
CUDA_LACKS = {
    "test_depth_is_one_channel": "CUDA has no depth formats",
    "test_views_have_the_extents_of_their_mip_and_layers": "CUDA reads zeros from mip levels and parts",
    "test_mips_are_sampled": "CUDA reads zeros from mip levels",
}


@pytest.fixture(autouse=True)
def cuda_lacks(request: pytest.FixtureRequest, device: Any) -> None:
    reason = CUDA_LACKS.get(request.node.originalname)
    if reason is not None and on_cuda(device):
        pytest.skip(reason)


def on_cuda(device: Any) -> bool:
    return device.target.kind == "cuda"


def picture(device: Any, shape: tuple[int, ...] = (5, 7), format: str = "rgba32_float", seed: int = 0, **more: Any) -> Any:
    """A texture and what it holds."""
    raw = tx.contents(format, shape, seed)
    container = {1: "Texture1D", 2: "Texture2D", 3: "Texture3D"}[len(shape)]
    return tx.make(device, container, format, raw, **more), tx.meaning(format, raw)


def supports(device: Any, format: str, *uses: str) -> bool:
    can = device.sgl.get_format_support(spy.Format[format])
    return all(spy.FormatSupport[use] in can for use in uses)


# ---- texel by texel -------------------------------------------------------------------------------------------------


@pytest.mark.req("T19")
@pytest.mark.parametrize("format", daily(tx.PLAIN, *OFTEN))
def test_every_format_is_read(m: Any, device: Any, format: str) -> None:
    if not supports(device, format, "shader_load", "copy_destination"):
        pytest.skip(f"{format} cannot be read here")
    image, wanted = picture(device, (3, 5), format, usage=spy.TextureUsage.shader_resource)
    count = tx.channels(format)
    same = m.same if count == 1 else m[f"same{count}"]
    result = same(image, _result="numpy")
    assert result.dtype == wanted.dtype
    if "srgb" in format:
        np.testing.assert_allclose(result, wanted, atol=2e-3)
    else:
        np.testing.assert_allclose(result, wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.req("T19")
@pytest.mark.parametrize(
    ("format", "bits"), [("r11g11b10_float", 3), ("rgb10a2_unorm", 4), ("rgb9e5_ufloat", 3), ("b5g6r5_unorm", 3)]
)
def test_packed_formats_are_read(m: Any, device: Any, format: str, bits: int) -> None:
    """A texture of zeros reads as zeros, with as many channels as the format has."""
    if not supports(device, format, "shader_load", "copy_destination"):
        pytest.skip(f"{format} cannot be read here")
    image = tx.empty(device, "Texture2D", format, (2, 3), spy.TextureUsage.shader_resource)
    size = spy.get_format_info(spy.Format[format]).bytes_per_block
    image.copy_from_numpy(np.zeros((2, 3), {2: np.uint16, 4: np.uint32}[size]))
    assert m[f"same{bits}"](image, _result="numpy").tolist() == np.zeros((2, 3, bits)).tolist()


@pytest.mark.req("T19")
@pytest.mark.parametrize("format", ["d32_float", "d16_unorm"])
def test_depth_is_one_channel(m: Any, device: Any, format: str) -> None:
    usage = spy.TextureUsage.shader_resource | spy.TextureUsage.depth_stencil
    image = tx.empty(device, "Texture2D", format, (2, 3), usage)
    encoder = device.sgl.create_command_encoder()
    encoder.clear_texture_depth_stencil(image, depth_value=0.5)
    device.sgl.submit_command_buffer(encoder.finish())
    np.testing.assert_allclose(m.number(image, _result="numpy"), np.full((2, 3), 0.5), atol=1e-4)


@pytest.mark.req("T19")
@pytest.mark.parametrize(
    ("container", "shape"),
    [
        ("Texture1D", (7,)),
        ("Texture2D", (4, 7)),
        ("Texture3D", (2, 3, 5)),
        ("Texture1DArray", (3, 7)),
        ("Texture2DArray", (3, 4, 5)),
        ("TextureCube", (6, 5, 5)),
        ("TextureCubeArray", (2, 6, 4, 4)),
    ],
)
def test_every_type_is_read_by_texel(m: Any, device: Any, container: str, shape: tuple[int, ...]) -> None:
    if on_cuda(device) and "1D" in container:
        pytest.skip("Slang has no loads from textures of one dimension on CUDA")
    raw = tx.contents("rgba32_float", shape, 1)
    if container == "TextureCubeArray":
        image = tx.empty(device, container, "rgba32_float", (2, 4, 4))
        tx.upload(image, raw.reshape(12, 4, 4, 4))
    elif container == "TextureCube":
        image = tx.empty(device, container, "rgba32_float", shape[1:])
        tx.upload(image, raw)
    else:
        image = tx.make(device, container, "rgba32_float", raw)
    np.testing.assert_array_equal(m.gain(image, 2.0, _result="numpy"), raw * 2 + np.float32(0.5))


@pytest.mark.req("T19")
def test_views_have_the_extents_of_their_mip_and_layers(m: Any, device: Any) -> None:
    stack = tx.empty(device, "Texture2DArray", "r32_float", (4, 6, 8), mip_count=2)
    levels = [np.random.default_rng(i).random((4, 6 >> i, 8 >> i), np.float32) for i in range(2)]
    for mip, level in enumerate(levels):
        for layer in range(4):
            stack.copy_from_numpy(level[layer], layer=layer, mip=mip)
    view = stack.create_view(mip=1, mip_count=1, layer=1, layer_count=2)
    np.testing.assert_array_equal(m.scale1(view, 2.0, _result="numpy"), levels[1][1:3] * 2)
    np.testing.assert_array_equal(m.scale1(stack.create_view(layer=3, layer_count=1), 2.0, _result="numpy"), levels[0][3:] * 2)
    m.scale1(levels[1][1:3], 3.0, _result=view)
    np.testing.assert_array_equal(stack.to_numpy(layer=2, mip=1), levels[1][2] * 3)
    np.testing.assert_array_equal(stack.to_numpy(layer=0, mip=1), levels[1][0])


@pytest.mark.rest
@pytest.mark.req("T19", "V4")
def test_vcast_takes_fewer_channels_or_other_numbers(m: Any, device: Any) -> None:
    image, wanted = picture(device)
    expected = m.tonemap(np.ascontiguousarray(wanted[..., :3]), 1.0, 0.5)
    np.testing.assert_array_equal(m.tonemap(fp.vcast(image, m.float3), 1.0, 0.5, _result="numpy"), expected)
    np.testing.assert_array_equal(m.tonemap.declare(m.float3)(image, 1.0, 0.5).to_numpy(), expected)
    np.testing.assert_array_equal(m.number(fp.vcast(image, m.float), _result="numpy"), wanted[..., 0])
    halves = m.halves(fp.vcast(image, m["half4"]), _result="numpy")
    np.testing.assert_allclose(halves, wanted * 2, rtol=2e-3)  # drivers round halves as they like
    counts, n = picture(device, format="r8_uint")
    np.testing.assert_array_equal(m.number(fp.vcast(counts, m.float), _result="numpy"), n.astype(np.float32))
    wide, other = fp.fuse(lambda texels: (fp.vcast(texels, "double4"), texels + 1))(image)
    np.testing.assert_array_equal(wide.to_numpy(), wanted.astype(np.float64))
    np.testing.assert_array_equal(m.doubles(image, _result="numpy"), wanted.astype(np.float64))
    np.testing.assert_array_equal(other.to_numpy(), wanted + 1)


@pytest.mark.rest
@pytest.mark.req("T19")
def test_functions_without_a_module_run_on_the_device_of_a_texture(device: Any) -> None:
    image, _ = picture(device)
    other = fp.init_device(device.sgl.info.type.name)
    copied, _ = picture(other)
    for function in (fp.sqrt, fp.fuse(lambda texels: texels + 1), lambda texels: fp.sum(texels, 0)):
        results = [function(texture) for texture in (image, copied, image)]
        assert [t.device for t in results] == [device, other, device]
        np.testing.assert_array_equal(results[0].to_numpy(), results[1].to_numpy())
    with pytest.raises(fp.ShapeError, match="another device"):
        fp.fuse(lambda a, b: a + b)(image, copied)
    other.close()


@pytest.mark.req("T19", "V3", "C5")
def test_vmap_and_broadcasting(m: Any, device: Any) -> None:
    image, wanted = picture(device, (3, 4))
    factors = np.arange(4, dtype=np.float32)
    np.testing.assert_allclose(m.gain(image, factors, _result="numpy"), wanted * factors[:, None] + np.float32(0.5))
    turned = m.gain(fp.vmap(image, (1, 0)), 2.0, _result="numpy")
    np.testing.assert_allclose(turned, wanted.swapaxes(0, 1) * 2 + np.float32(0.5))
    outer = m.gain(fp.vmap(image, (1, 2)), fp.vmap(factors, (0,)), _result="numpy")
    np.testing.assert_allclose(outer, wanted[None] * factors[:, None, None, None] + np.float32(0.5))
    row, w = picture(device, (1, 4))
    stretched = m.gain(row, np.arange(12, dtype=np.float32).reshape(3, 4), _result="numpy")
    np.testing.assert_allclose(stretched, w * np.arange(12, dtype=np.float32).reshape(3, 4, 1) + np.float32(0.5))


@pytest.mark.req("V16", "T19")
def test_resolve_answers_for_a_texture(m: Any, device: Any) -> None:
    if not supports(device, "rgb32_float", "shader_load", "copy_destination"):
        pytest.skip("no texture of three floats here")
    image, _ = picture(device, format="rgb32_float", usage=spy.TextureUsage.shader_resource)
    found = fp.resolve(m.tonemap, image, 1.0, 0.5)
    assert [str(t) for t in found.types] == ["float3", "float", "float"]
    assert str(found) == (
        "tonemap over a grid of 2 dimensions -> float3\n"
        "  c           float3  from Texture2D<float3>[?,?]  vmap(d0,d1)\n"
        "  filmic      float  from Python number (float)  vmap()\n"
        "  saturation  float  from Python number (float)  vmap()"
    )


@pytest.mark.req("T19", "V16")
def test_texels_or_the_whole_are_said(m: Any, device: Any) -> None:
    image, wanted = picture(device)
    with pytest.raises(fp.AmbiguousCallError, match=r'm\["Texture2D<float4>"\]'):
        m.overloaded(image)
    np.testing.assert_array_equal(m.overloaded(fp.vmap(image, (0, 1)), _result="numpy"), wanted)
    whole = m.overloaded.declare(None)(image, _result="numpy")
    np.testing.assert_array_equal(whole, wanted[0, 0] + 100)


# ---- whole ----------------------------------------------------------------------------------------------------------


def bilinear(image: Any, uv: Any) -> Any:
    """What a linear sampler with wrapped coordinates gives."""
    h, w = image.shape[:2]
    x, y = uv[..., 0] * w - 0.5, uv[..., 1] * h - 0.5
    x0, y0 = np.floor(x).astype(int), np.floor(y).astype(int)
    fx, fy = (x - x0)[..., None], (y - y0)[..., None]
    at = lambda i, j: image[j % h, i % w]  # noqa: E731
    top, bottom = at(x0, y0) * (1 - fx) + at(x0 + 1, y0) * fx, at(x0, y0 + 1) * (1 - fx) + at(x0 + 1, y0 + 1) * fx
    return top * (1 - fy) + bottom * fy


@pytest.mark.req("T19", "T20", "C8")
def test_sampled_whole(m: Any, device: Any) -> None:
    image, wanted = picture(device, (8, 16))
    sampler = device.sgl.create_sampler()
    uv = np.random.default_rng(2).random((6, 5, 2)).astype(np.float32)
    result = m.sampled(image, sampler, uv)
    assert isinstance(result, (np.ndarray, fp.Tensor))
    np.testing.assert_allclose(np.asarray(result), bilinear(wanted, uv), atol=2e-2)
    if on_cuda(device):
        with pytest.raises(fp.UnsupportedArgumentError, match="no textures of three components"):
            m.sampled3(image, sampler, uv)
    else:
        np.testing.assert_allclose(np.asarray(m.sampled3(image, sampler, uv)), bilinear(wanted, uv)[..., :3], atol=2e-2)
    point = device.sgl.create_sampler(min_filter=spy.TextureFilteringMode.point, mag_filter=spy.TextureFilteringMode.point)
    texel = wanted[np.floor(uv[..., 1] * 8).astype(int), np.floor(uv[..., 0] * 16).astype(int)]
    np.testing.assert_array_equal(np.asarray(m.sampled(image, point, uv)), texel)
    view = m.sampled(image.create_view(), point, uv)
    np.testing.assert_array_equal(np.asarray(view), texel)


@pytest.mark.rest
@pytest.mark.req("T19", "T20")
def test_cubes_volumes_and_stacks(m: Any, device: Any) -> None:
    point = spy.TextureFilteringMode.point
    sampler = device.sgl.create_sampler(min_filter=point, mag_filter=point, mip_filter=point)
    faces = np.arange(6, dtype=np.float32)[:, None, None, None] + np.zeros((6, 4, 4, 4), np.float32)
    cube = tx.empty(device, "TextureCube", "rgba32_float", (4, 4))
    tx.upload(cube, faces)
    axes = np.float32([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]])
    assert np.asarray(m.around(cube, sampler, axes))[:, 0].tolist() == [0, 1, 2, 3, 4, 5]
    volume, v = picture(device, (2, 3, 4))
    np.testing.assert_array_equal(np.asarray(m.inside(volume, sampler, np.float32([[0.9, 0.1, 0.6]]))), v[1, 0, 3][None])
    raw = tx.contents("rgba32_float", (3, 4, 5), 3)
    stack = tx.make(device, "Texture2DArray", "rgba32_float", raw)
    layers = m.layer(stack, sampler, np.float32([0.1, 0.1]), np.float32([2, 0]))
    np.testing.assert_array_equal(np.asarray(layers), raw[[2, 0], 0, 0])


@pytest.mark.req("T19", "T20")
def test_mips_are_sampled(m: Any, device: Any) -> None:
    point = spy.TextureFilteringMode.point
    sampler = device.sgl.create_sampler(min_filter=point, mag_filter=point, mip_filter=point)
    chain = tx.empty(device, "Texture2D", "rgba32_float", (4, 4), mip_count=2)
    for level in range(2):
        chain.copy_from_numpy(np.full((4 >> level, 4 >> level, 4), level, np.float32), mip=level)
    assert np.asarray(m.mip(chain, sampler, np.float32([0.5, 0.5]), np.float32([0, 1])))[:, 0].tolist() == [0, 1]


@pytest.mark.req("T19", "T20")
def test_samplers_that_compare(m: Any, device: Any) -> None:
    point = spy.TextureFilteringMode.point
    less = {"reduction_op": spy.TextureReductionOp.comparison, "comparison_func": spy.ComparisonFunc.less}
    comparison = device.sgl.create_sampler(min_filter=point, mag_filter=point, **less)
    depth, _ = picture(device, (4, 4), "r32_float")
    depth.copy_from_numpy(np.full((4, 4), 0.5, np.float32))
    call = lambda: m.lit(depth, comparison, np.float32([0.5, 0.5]), np.float32([0.25, 0.75]))  # noqa: E731
    if on_cuda(device):
        with pytest.raises(fp.FusepyError):
            call()
        return
    assert np.asarray(call()).tolist() == [1, 0]


def test_a_sampler_is_heeded(m: Any, device: Any) -> None:
    """CUDA's textures carry their samplers: what the call gives must win, and what it cannot must be an error."""
    image, wanted = picture(device, (8, 16))
    modes, filters = spy.TextureAddressingMode, spy.TextureFilteringMode
    make = device.sgl.create_sampler
    point = make(min_filter=filters.point, mag_filter=filters.point, mip_filter=filters.point)
    clamped = make(
        min_filter=filters.point, mag_filter=filters.point, mip_filter=filters.point,
        address_u=modes.clamp_to_edge, address_v=modes.clamp_to_edge,
    )  # fmt: skip
    uv = np.float32([[0.49, 0.3], [-0.1, -0.1], [1.6, 0.9]])
    x, y = uv[:, 0] * 16, uv[:, 1] * 8
    at = lambda i, j: wanted[j.astype(int), i.astype(int)]  # noqa: E731
    for _ in range(2):  # the same kernel, with one and with the other
        same = np.asarray(m.sampled(image, point, uv))
        np.testing.assert_array_equal(same, at(np.floor(x) % 16, np.floor(y) % 8))
        same = np.asarray(m.sampled(image, clamped, uv))
        np.testing.assert_array_equal(same, at(np.clip(np.floor(x), 0, 15), np.clip(np.floor(y), 0, 7)))
    np.testing.assert_allclose(np.asarray(m.sampled(image, make(), uv)), bilinear(wanted, uv), atol=2e-2)
    both = fp.fuse(lambda image, a, b, uv: m.sampled(image, a, uv) - m.sampled(image, b, uv))
    np.testing.assert_array_equal(np.asarray(both(image, point, point, uv)), np.zeros((3, 4), np.float32))
    if on_cuda(device):
        uneven = make(min_filter=filters.point, mag_filter=filters.linear)
        for call, words in (
            (lambda: both(image, point, clamped, uv), "here are several"),
            (lambda: m.sampled(image, uneven, uv), "argument 's'.*magnify and minify"),
            (lambda: m.sampled(image, make(address_u=modes.mirror_once), uv), "mirror_once"),
        ):
            with pytest.raises(fp.UnsupportedArgumentError, match=words):
                call()
    else:
        assert np.asarray(both(image, point, clamped, uv)).any()


@pytest.mark.req("T19", "C8")
def test_neighbours_are_read_whole(m: Any, device: Any) -> None:
    image, wanted = picture(device, (6, 8))
    padded = np.pad(wanted, ((1, 1), (1, 1), (0, 0)), mode="edge")
    expected = sum(padded[y : y + 6, x : x + 8] for y in range(3) for x in range(3)) / 9
    np.testing.assert_allclose(m.blur(image, fp.grid((6, 8))).to_numpy(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.req("T19")
@pytest.mark.parametrize("format", ["r32_float", "rg8_uint", "rgba16_sint", "rgba8_unorm"])
def test_a_generic_texture_parameter_gets_the_texel_type(m: Any, device: Any, format: str) -> None:
    image, wanted = picture(device, format=format)
    result = m.generic(image, fp.grid((5, 7)))
    np.testing.assert_allclose(result.to_numpy(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.req("T19", "C16")
def test_written_whole(m: Any, device: Any) -> None:
    image, _ = picture(device, (3, 4))
    m.fill(fp.grid((3, 4)), [1.0, 2.0, 3.0], image)
    assert image.to_numpy().tolist() == np.broadcast_to([1, 2, 3, 1], (3, 4, 4)).tolist()
    volume, _ = picture(device, (2, 3, 4), "r32_float")
    m.fill_volume(fp.grid((2, 3, 4)), volume)
    z, y, x = np.indices((2, 3, 4))
    assert tx.download(volume, (2, 3, 4), "r32_float")[..., 0].tolist() == (x + 10 * y + 100 * z).tolist()
    stack = tx.empty(device, "Texture2DArray", "rg32_float", (2, 3, 4))
    m.fill_stack(fp.grid((2, 3, 4)), stack)
    assert tx.download(stack, (2, 3, 4), "rg32_float").tolist() == np.stack([x, z], -1).tolist()


@pytest.mark.req("T19", "C16")
def test_written_whole_in_the_format_of_the_texture(m: Any, device: Any) -> None:
    small, _ = picture(device, (3, 4), "rgba8_unorm")
    halves, _ = picture(device, (3, 4), "rgba16_float")
    line, _ = picture(device, (5,), "r32_uint")
    if on_cuda(device):
        for image in (small, halves):
            with pytest.raises(fp.UnsupportedArgumentError, match=r"argument 'texture': .*only in the format") as caught:
                m.fill(fp.grid((3, 4)), [1.0, 0.5, 0.0], image)
            assert image.format.name in str(caught.value)
        with pytest.raises(fp.UnsupportedArgumentError, match="one dimension"):
            m.fill_line(fp.grid((5,)), line)
        return
    m.fill(fp.grid((3, 4)), [1.0, 0.5, 0.0], small)
    assert small.to_numpy()[1, 2].tolist() in ([255, 127, 0, 255], [255, 128, 0, 255])
    m.fill(fp.grid((3, 4)), [1.0, 0.5, 0.0], halves)
    assert halves.to_numpy()[1, 2].tolist() == [1, 0.5, 0, 1]
    m.fill_line(fp.grid((5,)), line)
    assert line.to_numpy().tolist() == [0, 1, 4, 9, 16]


@pytest.mark.req("T19")
def test_dependent_calls_through_one_texture(m: Any, device: Any) -> None:
    """Each call reads what the last one wrote, and the host sees it all, though calls are deferred."""
    first, wanted = picture(device, format="r32_sint")
    second = tx.empty(device, "Texture2D", "r32_sint", (5, 7))
    for _ in range(10):
        m.both(first, second, fp.grid((5, 7)))
        m.both(second, first, fp.grid((5, 7)))
    assert first.to_numpy().tolist() == (wanted + 20).tolist()
    first.copy_from_numpy(np.zeros((5, 7), np.int32))
    read = m.sub1(first, 0)
    first.copy_from_numpy(np.ones((5, 7), np.int32))  # after the call, so the call does not see it
    assert not read.to_numpy().any()


# ---- results --------------------------------------------------------------------------------------------------------


@pytest.mark.req("F14", "T19")
@pytest.mark.parametrize("format", daily([f for f in tx.PLAIN if "rgb32" not in f and "srgb" not in f], *OFTEN[:-1]))
def test_every_format_is_written(m: Any, device: Any, format: str) -> None:
    if not supports(device, format, "shader_uav_store"):
        pytest.skip(f"{format} cannot be written here")
    count = tx.channels(format)
    raw = tx.contents(format, (4, 5), 7)
    given = tx.meaning(format, raw)
    target = tx.empty(device, "Texture2D", format, (4, 5))
    same = m.same if count == 1 else m[f"same{count}"]
    dtype = {1: None}.get(count, f"{fp.Tensor.from_numpy(device, given).dtype}{count}")
    assert same(fp.Tensor.from_numpy(device, given, dtype), _result=target) is target
    found = tx.meaning(format, tx.download(target, (4, 5), format))
    np.testing.assert_allclose(found, given, rtol=1e-6, atol=0 if given.dtype.kind in "iu" else 1 / 127)


@pytest.mark.req("F14", "T19", "C13")
def test_result_textures_are_made(m: Any, device: Any) -> None:
    image, wanted = picture(device)
    result = m.gain(image, 2.0, _result="texture")
    assert isinstance(result, spy.Texture)
    assert result.format == spy.Format.rgba32_float
    np.testing.assert_array_equal(result.to_numpy(), wanted * 2 + np.float32(0.5))
    np.testing.assert_array_equal(m.gain.return_type("texture")(image, 2.0).to_numpy(), result.to_numpy())
    assert isinstance(m.gain(image, 2.0), fp.Tensor)
    colour = m.tonemap(fp.vcast(image, m.float3), 1.0, 1.0, _result="texture")  # a colour without alpha is opaque
    assert colour.format == spy.Format.rgba32_float
    assert (colour.to_numpy()[..., 3] == 1).all()
    line = m.scale1(np.arange(5, dtype=np.float32), 2.0, _result="texture")
    assert line.type == spy.TextureType.texture_1d
    assert line.to_numpy().tolist() == [0, 2, 4, 6, 8]
    volume = m.scale1(np.ones((2, 3, 4), np.float32), 2.0, _result="texture")
    assert (volume.type, volume.depth, volume.height, volume.width) == (spy.TextureType.texture_3d, 2, 3, 4)
    raw = tx.contents("r32_float", (3, 4, 5), 0)
    stack = m.scale1(tx.make(device, "Texture2DArray", "r32_float", raw), 2.0, _result="texture")
    assert stack.type == spy.TextureType.texture_2d_array
    assert stack.array_length == 3
    counts = m.add2(picture(device, format="rg16_uint")[0], 1, _result="texture")
    assert counts.format == spy.Format.rg32_uint
    halves = m.halves(np.ones((2, 3, 4), np.float16), _result="texture")
    assert halves.format == spy.Format.rgba16_float
    assert (halves.to_numpy() == 2).all()


@pytest.mark.req("F14", "T19")
@pytest.mark.parametrize("scalar", daily(["uint8", "int8", "uint16", "int16"], "uint8", "int16"))
def test_small_integers_become_normalised_texels_of_the_same_bits(device: Any, scalar: str) -> None:
    """Every value but the least negative one, which is -1 like the next one."""
    source = f"{scalar}_t same({scalar}_t a) {{ return a; }} vector<{scalar}_t, 3> rgb({scalar}_t a) {{ return {{ a, 1, 2 }}; }}"
    m = fp.Module.load_from_source(device, f"texels_{scalar}", source)
    limits = np.iinfo(scalar)
    least = max(limits.min, -limits.max)
    every = np.arange(limits.min, limits.max + 1).astype(scalar).reshape(-1, 256)
    made = m.same(every, _result=spy.Texture)
    assert made.format.name == f"r{limits.bits}_{'unorm' if limits.min == 0 else 'snorm'}"
    np.testing.assert_array_equal(made.to_numpy().reshape(every.shape), np.maximum(every, least))
    m.same(every[::-1], _result=made)  # it takes them again
    np.testing.assert_array_equal(made.to_numpy().reshape(every.shape), np.maximum(every[::-1], least))
    if scalar == "int8" and device.target.kind == "cuda":
        return  # Slang's text for vectors of int8_t is ambiguous to NVRTC
    colour = fp.fuse(lambda a: m.rgb(a))(every, _result="texture").to_numpy()
    np.testing.assert_array_equal(colour[..., 1:].reshape(-1, 3), np.tile([1, 2, limits.max], (every.size, 1)))


@pytest.mark.req("F14", "T19")
def test_results_go_into_layers(m: Any, device: Any) -> None:
    raw = tx.contents("rg32_float", (3, 4, 5), 0)
    stack = tx.make(device, "Texture2DArray", "rg32_float", raw)
    target = tx.empty(device, "Texture2DArray", "rg32_float", (3, 4, 5))
    assert m.scale2(stack, 2.0, _result=target) is target
    np.testing.assert_array_equal(tx.download(target, (3, 4, 5), "rg32_float"), raw * 2)
    narrow = tx.empty(device, "Texture2DArray", "rg16_float", (3, 4, 5))
    if on_cuda(device):
        with pytest.raises(fp.UnsupportedArgumentError, match="conversions of what goes into layers"):
            m.scale2(stack, 2.0, _result=narrow)
        return
    m.scale2(stack, 2.0, _result=narrow)
    np.testing.assert_allclose(tx.download(narrow, (3, 4, 5), "rg16_float"), raw * 2, rtol=1e-3)


@pytest.mark.req("C10", "T19", "F14")
def test_out_and_inout_textures(m: Any, device: Any) -> None:
    image, wanted = picture(device)
    low, high = tx.empty(device, "Texture2D", "rgba16_float", (5, 7)), np.empty((5, 7), np.float32)
    assert m.split(image, low, high) is None
    np.testing.assert_allclose(low.to_numpy(), np.minimum(wanted, 0.5), rtol=1e-3)
    np.testing.assert_array_equal(high, np.maximum(wanted[..., 0], 0.5))
    m.twice(image)
    np.testing.assert_array_equal(image.to_numpy(), wanted * 2)
    m.twice(fp.vmap(image, (0, 1)))
    np.testing.assert_array_equal(image.to_numpy(), wanted * 4)


@pytest.mark.req("F14", "T19")
def test_a_texture_is_overwritten_by_its_own_texels(m: Any, device: Any) -> None:
    image, wanted = picture(device)
    assert m.gain(image, 2.0, _result=image) is image
    np.testing.assert_array_equal(image.to_numpy(), wanted * 2 + np.float32(0.5))
    m.tonemap(fp.vcast(image, m.float3), 1.0, 1.0, _result=image)
    colour = (wanted * 2 + np.float32(0.5))[..., :3]
    np.testing.assert_allclose(image.to_numpy()[..., :3], colour / (colour + 1), rtol=1e-5)


@pytest.mark.req("F14", "T19")
@pytest.mark.parametrize("shape", daily([(300, 700), (3, 40, 600), (5, 1), (1, 3000), (2, 2, 5)], 300, 5, one=True))
def test_every_way_of_indexing(m: Any, device: Any, shape: tuple[int, ...]) -> None:
    image, wanted = picture(device, shape, "rg32_float")
    np.testing.assert_array_equal(m.scale2(image, 2.0, _result="numpy"), wanted * 2)
    target = tx.empty(device, "Texture2D" if len(shape) == 2 else "Texture3D", "rg32_float", shape)
    m.scale2(image, 3.0, _result=target)
    np.testing.assert_array_equal(tx.download(target, shape, "rg32_float"), wanted * 3)


# ---- fused ----------------------------------------------------------------------------------------------------------


@pytest.mark.req("T19", "V12", "V13")
def test_fused_with_several_uses(m: Any, device: Any) -> None:
    image, wanted = picture(device, (8, 8))
    point = device.sgl.create_sampler(min_filter=spy.TextureFilteringMode.point, mag_filter=spy.TextureFilteringMode.point)

    @fp.fuse
    def look(picture: Any, sampler: Any, uv: Any, pixel: Any) -> Any:
        near = m.sampled(picture, sampler, uv)
        far = m.sampled(picture, sampler, 1 - uv)
        return m.tonemap((near + far).xyz, 1.0, 0.5), m.blur(picture, pixel)

    pixels = np.stack(np.meshgrid(np.arange(8), np.arange(8)), -1)
    uv = fp.vcast(((pixels + 0.5) / 8).astype(np.float32), m.float2)
    toned, blurred = look(image, point, uv, fp.grid((8, 8)))
    assert look.explain(image, point, uv, fp.grid((8, 8))).kernels == 1
    expected = m.tonemap(np.ascontiguousarray((wanted + wanted[::-1, ::-1])[..., :3]), 1.0, 0.5)
    np.testing.assert_allclose(toned.to_numpy(), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(blurred.to_numpy(), m.blur(image, fp.grid((8, 8))).to_numpy())


@pytest.mark.rest
@pytest.mark.req("T19", "V12", "V13", "V15")
def test_fused_texels_operators_and_captures(m: Any, device: Any) -> None:
    image, wanted = picture(device)
    other, more = picture(device, seed=5)
    target = tx.empty(device, "Texture2D", "rgba32_float", (5, 7))

    @fp.fuse
    def mix(a: Any, k: Any) -> Any:
        return m.gain(a * 2 + other, k)  # `other` is captured

    expected = (wanted * 2 + more) * 3 + np.float32(0.5)
    np.testing.assert_allclose(mix(image, 3.0).to_numpy(), expected, rtol=1e-6, atol=1e-6)
    assert mix(image, 3.0, _result=target) is target
    np.testing.assert_allclose(target.to_numpy(), expected, rtol=1e-6, atol=1e-6)
    both = fp.fuse(lambda a: (a * 2, a.x))(image)
    np.testing.assert_array_equal(both[0].to_numpy(), wanted * 2)
    np.testing.assert_array_equal(both[1].to_numpy(), wanted[..., 0])
    cast = fp.fuse(lambda a: fp.vcast(a, m.float3) * 2)
    np.testing.assert_array_equal(cast(image).to_numpy(), wanted[..., :3] * 2)
    whole_and_texel = fp.fuse(lambda a, s, uv: m.sampled(a, s, uv) - m.gain(a, 1.0))
    point = device.sgl.create_sampler(min_filter=spy.TextureFilteringMode.point, mag_filter=spy.TextureFilteringMode.point)
    y, x = np.indices((5, 7))
    uv = np.stack([(x + 0.5) / 7, (y + 0.5) / 5], -1).astype(np.float32)
    np.testing.assert_allclose(whole_and_texel(image, point, uv).to_numpy(), np.full((5, 7, 4), -0.5), atol=1e-6)


@pytest.mark.req("T19", "V12")
def test_textual_ir_of_textures(m: Any, device: Any) -> None:
    from fusepy.ir.parse import parse_graph

    image, _ = picture(device)
    sampler = device.sgl.create_sampler()
    for text in (
        m.sampled.ir(image, sampler, np.zeros((3, 2), np.float32)),
        m.sampled.ir(image, sampler, np.zeros((3, 2), np.float32), after="fuse_chains"),
        m.gain.ir(fp.vmap(image, (1, 0)), 2.0, after="fuse_chains"),
    ):
        assert str(parse_graph(text)) == text
    assert "%image: Texture2D<float4>[?,?], %s: Resource<SamplerState>[]" in m.sampled.ir(image, sampler, np.zeros(2, np.float32))


# ---- against NumPy, generated ---------------------------------------------------------------------------------------

RANDOM_FORMATS = ["r32_float", "rg32_float", "rgba32_float", "rgba16_float", "rgba8_unorm", "rg8_snorm", "r16_unorm", "r8_uint"]
RANDOM_FORMATS += ["rg32_uint", "rgba8_sint", "r16_sint", "rgba32_uint"]


@st.composite
def texel_programs(draw: Any) -> tuple[str, str, tuple[int, ...], str, str, int]:
    container = draw(st.sampled_from(["Texture1D", "Texture2D", "Texture3D", "Texture1DArray", "Texture2DArray"]))
    shape = tuple(draw(st.integers(1, 9)) for _ in range(tx.RANKS[container]))
    other = draw(st.sampled_from(["number", "array", "last axis", "first axis"]))
    into = draw(st.sampled_from(["numpy", "texture", "tensor", "given"]))
    return container, draw(st.sampled_from(RANDOM_FORMATS)), shape, other, into, draw(st.integers(0, 99))


@pytest.mark.req("T19", "V1", "C5")
@examples(60)
@given(program=texel_programs())
def test_random_texel_programs(m: Any, device: Any, program: Any) -> None:
    container, format, shape, other, into, seed = program
    assume(not (on_cuda(device) and "1D" in container))
    raw = tx.contents(format, shape, seed)
    image, texels = tx.make(device, container, format, raw), tx.meaning(format, raw)
    count = tx.channels(format)
    name, op, dtype = {
        "f": ("scale", np.multiply, np.float32), "u": ("add", np.add, np.uint32), "i": ("sub", np.subtract, np.int32),
    }[texels.dtype.kind]  # fmt: skip
    function = m[f"{name}{count}"]
    rng = np.random.default_rng(seed + 1)
    full = {"number": (), "array": shape, "last axis": shape[-1:], "first axis": shape[:1] + (1,) * (len(shape) - 1)}[other]
    operand = rng.integers(1, 9, full).astype(dtype)
    wide = operand if count == 1 else operand[..., None]
    expected = op(texels, wide)
    argument: Any = operand.item() if other == "number" else operand
    if into == "given":
        bits = {"f": "32_float", "u": "32_uint", "i": "32_sint"}[texels.dtype.kind]
        target = tx.empty(device, container, f"{'rgba'[:count]}{bits}", shape)
        function(image, argument, _result=target)
        found = tx.download(target, shape, f"{'rgba'[:count]}{bits}")
        found = found[..., 0] if count == 1 else found
    elif into == "texture":
        made = function(image, argument, _result="texture")
        found = tx.download(made, shape, made.format.name)
        found = found[..., 0] if count == 1 else found
    else:
        found = np.asarray(function(image, argument, _result=into))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.req("T19", "C8")
@examples(40)
@given(
    shape=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    format=st.sampled_from(["rgba32_float", "rgba16_float", "rgba8_unorm", "rgba8_snorm"]),
    count=st.integers(1, 20),
    address=st.sampled_from(["wrap", "clamp_to_edge", "mirror_repeat"]),
    seed=st.integers(0, 99),
)
def test_random_sampling_programs(m: Any, device: Any, shape: Any, format: str, count: int, address: str, seed: int) -> None:
    image, texels = picture(device, shape, format, seed)
    point, mode = spy.TextureFilteringMode.point, spy.TextureAddressingMode[address]
    sampler = device.sgl.create_sampler(min_filter=point, mag_filter=point, mip_filter=point, address_u=mode, address_v=mode)
    # the middles of texels, also of some beyond the edges: which one is hit is certain
    at = np.random.default_rng(seed).integers(-10, 20, (count, 2))
    uv = ((at + 0.5) / np.array(shape[::-1])).astype(np.float32)

    def index(i: Any, n: int) -> Any:
        if address == "wrap":
            return i % n
        if address == "clamp_to_edge":
            return np.clip(i, 0, n - 1)
        return np.where(i % (2 * n) < n, i % n, n - 1 - i % n)

    expected = texels[index(at[:, 1], shape[0]), index(at[:, 0], shape[1])]
    np.testing.assert_allclose(np.asarray(m.sampled(image, sampler, uv)), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.req("T19", "C16")
@pytest.mark.parametrize("kind", ["Texture1D", "Texture2D", "Texture3D", "Texture2DArray", "TextureCube"])
def test_the_extents_of_a_texture_as_coordinates(m: Any, device: Any, kind: str) -> None:
    shape = {"Texture1D": (5,), "Texture2D": (3, 5), "TextureCube": (6, 4, 4)}.get(kind, (2, 3, 5))
    image = tx.empty(device, kind, "r32_float", shape)
    assert fp.Shape(image) == image.shape == shape
    assert fp.grid(image).shape == shape
    assert fp.grid(image, offset=(1,) * len(shape)).offset == (1,) * len(shape)
    tensor = fp.Tensor.zeros(device, shape, "float")
    assert fp.Shape(tensor) == fp.grid(tensor).shape == shape
    view = image.create_view(mip=0, mip_count=1)
    assert fp.Shape(view) == view.shape == shape
    if kind == "Texture1D" and device.target.kind == "cuda":
        return  # where kernels have none
    seen: list[Any] = []
    fp.fuse(lambda x: seen.append(x.shape) or 1.0)(image)
    assert seen == [shape]
    assert type(seen[0]) is fp.Shape  # coordinates in a trace, too


@pytest.mark.req("T19", "C16")
def test_the_extents_of_a_texture_in_a_trace_are_coordinates(m: Any, device: Any) -> None:
    places = fp.fuse(lambda image: m.place(image.shape))
    for shape in ((3, 4), (2, 5), (3, 4)):
        image, _ = picture(device, shape)
        want = np.stack(np.indices(shape)[::-1], -1)
        np.testing.assert_array_equal(m.place(image.shape).to_numpy(), want)
        np.testing.assert_array_equal(places(image).to_numpy(), want)


@pytest.mark.req("T19", "C16")
def test_a_whole_texture_is_written_over_its_own_extents(m: Any, device: Any) -> None:
    for extents in (fp.Shape, fp.grid, lambda image: image.shape):
        image, _ = picture(device, (3, 4))
        m.fill(extents(image), [1.0, 2.0, 3.0], image)
        assert image.to_numpy().tolist() == np.broadcast_to([1, 2, 3, 1], (3, 4, 4)).tolist()
        if on_cuda(device):  # has no textures of one dimension
            continue
        line, _ = picture(device, (5,), "r32_uint")
        m.fill_line(extents(line), line)
        assert line.to_numpy().tolist() == [0, 1, 4, 9, 16]


@pytest.mark.req("T19", "C16", "F14")
@pytest.mark.parametrize("shape", daily([(5, 7), (300, 600), (3, 40, 600)], 3, one=True))
def test_a_texture_gives_generators_their_grid(m: Any, device: Any, shape: tuple[int, ...]) -> None:
    image = tx.empty(device, "Texture2D" if len(shape) == 2 else "Texture3D", "r32_float", shape)
    m.scale1(fp.rand_float(0, 1, seed=3), 2.0, _result=image)
    expected = fp.Tensor.empty(device, shape)
    m.scale1(fp.rand_float(0, 1, seed=3), 2.0, _result=expected)
    np.testing.assert_array_equal(tx.download(image, shape, "r32_float")[..., 0], expected.to_numpy())
    place = fp.fuse(lambda texel, i: m.scale1(texel, 0.0) + fp.vcast(i, m.float))(image, fp.thread_id())
    np.testing.assert_array_equal(place.to_numpy(), np.arange(expected.size, dtype=np.float32).reshape(shape))


@pytest.mark.req("T19", "F3", "F8")
def test_thread_groups_and_encoders(m: Any, device: Any) -> None:
    image, wanted = picture(device, (40, 50))
    target = tx.empty(device, "Texture2D", "rgba32_float", (40, 50))
    tiled = m.gain.options(numthreads=[16, 16])
    assert "tiles of 16x16" in tiled.source(image, 2.0)
    tiled(image, 2.0, _result=target)
    np.testing.assert_array_equal(target.to_numpy(), wanted * 2 + np.float32(0.5))
    encoder = device.sgl.create_command_encoder()
    first, second = (tx.empty(device, "Texture2D", "rgba32_float", (40, 50)) for _ in range(2))
    m.gain.append_to(encoder, image, 2.0, _result=first)
    m.gain.append_to(encoder, first, 3.0, _result=second)  # reads what the other has written
    tensor = m.gain.append_to(encoder, second, 1.0)
    device.sgl.submit_command_buffer(encoder.finish())
    expected = (wanted * 2 + np.float32(0.5)) * 3 + np.float32(0.5)
    np.testing.assert_allclose(second.to_numpy(), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(tensor.to_numpy(), expected + 0.5, rtol=1e-5, atol=1e-6)
