"""Samplers, raw and structured buffers and acceleration structures as arguments, and resources that do not fit."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
import slangpy as spy
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from tests.support import textures as tx
from tests.support.examples import examples

SOURCE = """
struct Particle { float3 place; float mass; };
float word(ByteAddressBuffer bytes, int i) { return bytes.Load<float>(i * 4); }
void put(RWByteAddressBuffer bytes, int i, float x) { bytes.Store<float>(i * 4, x); }
float item(StructuredBuffer<float> values, int i) { return values[i]; }
float3 point(StructuredBuffer<float3> points, int i) { return points[i]; }
float weight(StructuredBuffer<Particle> all, int i) { return all[i].mass * all[i].place.z; }
void heavier(RWStructuredBuffer<Particle> all, int i, float by) { all[i].mass += by; }
void store(RWStructuredBuffer<float> values, int i, float x) { values[i] = x; }
uint length_of(StructuredBuffer<float> values, int i) { uint n, stride; values.GetDimensions(n, stride); return n; }
float behind(float* values, int i) { return values[i]; }
half narrow(half* values, int i) { return values[i]; }
float3 triple(float3* values, int i) { return values[i]; }
int number(int* values, int i) { return values[i]; }
float gathered(StructuredBuffer<float> table, float* other, float x, int i) { return table[i] * x + other[i]; }
float texel(Texture2D<float> image, SamplerState s, float2 uv) { return image.SampleLevel(s, uv, 0); }
float handled(Texture2D<float>.Handle image, DescriptorHandle<SamplerState> s, float2 uv) { return image.SampleLevel(s, uv, 0); }
float4 colour(float4 c) { return c * 2; }
float3 colour3(float3 c) { return c * 2; }
uint4 counts(Texture2D<uint4> image, int2 p) { return image[p]; }
float4 whole(Texture2D<float4> image, int2 p) { return image[p]; }
void write(RWTexture2D<float4> image, int2 p) { image[p] = 1; }
void write1(RWTexture2D<float> image, int2 p) { image[p] = 1; }
float4 volume(Texture3D<float4> image, int3 p) { return image[p]; }
float4 through(RWTexture2D<float4> image, Texture2D<float4> other, int2 p) { image[p] = other[p]; return 0; }
int hit(RaytracingAccelerationStructure scene, float3 origin, float3 direction)
{
    RayDesc ray = { origin, 0, direction, 100 };
    RayQuery<RAY_FLAG_NONE> query;
    query.TraceRayInline(scene, RAY_FLAG_NONE, 255, ray);
    query.Proceed();
    return query.CommittedStatus() == COMMITTED_TRIANGLE_HIT ? int(query.CommittedPrimitiveIndex()) : -1;
}
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "resources", SOURCE)


@pytest.mark.rest
@pytest.mark.req("C8", "T20")
def test_numbers_in_lists_become_those_of_a_pointer_or_buffer(m: Any) -> None:
    """Integers and bools go to floats of any width; floats, whose fractions would be cut, to no integers."""
    places = [2, 0]
    for f in (m.behind, m.narrow, m.item):
        for numbers in ([1, 2, 3], [True, False, True], [0.5, 2, 1.5], (4, 5, 6)):
            assert f(numbers, places) == [numbers[2], numbers[0]]
            fused = fp.fuse(lambda values, i, call=f: call(values, i) * 2, static=("call",))
            assert fused(numbers, places) == [2 * numbers[2], 2 * numbers[0]]
    for f in (m.triple, m.point):
        assert f([[1, 2, 3], [4, 5, 6]], 1) == [4, 5, 6]
    assert m.number([1, 2, 3], places) == [3, 1]
    with pytest.raises(fp.NoMatchError):
        m.number([1.5, 2, 3], 0)


def buffer(device: Any, data: Any, usage: Any = None) -> Any:
    usage = usage or spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access
    return device.sgl.create_buffer(size=data.nbytes, struct_size=4, usage=usage, data=data)


def contents(given: Any, dtype: Any = np.float32) -> Any:
    return given.to_numpy().view(np.uint8).view(dtype)


VALUES = np.arange(8, dtype=np.float32) + 1


# ---- buffers --------------------------------------------------------------------------------------------------------


@pytest.mark.req("T20")
def test_raw_buffers(m: Any, device: Any) -> None:
    bytes = buffer(device, VALUES)
    assert np.asarray(m.word(bytes, [0, 3, 7])).tolist() == [1, 4, 8]
    m.put(bytes, [0, 3], [10.0, 20.0])
    assert contents(bytes).tolist() == [10, 2, 3, 20, 5, 6, 7, 8]
    assert np.asarray(m.behind(bytes, [1, 3])).tolist() == [2, 20]


@pytest.mark.req("T20", "C8")
def test_structured_buffers_take_buffers_tensors_arrays_and_lists(m: Any, device: Any) -> None:
    index = np.array([7, 0, 3], np.int32)
    tensor = fp.Tensor.from_numpy(device, VALUES)
    for values in (buffer(device, VALUES), tensor, VALUES, VALUES.tolist()):
        assert np.asarray(m.item(values, index)).tolist() == [8, 1, 4]
    assert np.asarray(m.item(fp.Tensor.from_numpy(device, np.tile(VALUES, 3))[8:16], index)).tolist() == [8, 1, 4]
    assert np.asarray(m.length_of(tensor, index)).tolist() == [8, 8, 8]  # a tensor, not the memory it lies in
    assert np.asarray(m.word(tensor, index)).tolist() == [8, 1, 4]
    points = np.arange(12, dtype=np.float32).reshape(4, 3)
    for held in (points, fp.Tensor.from_numpy(device, points, "float3"), buffer(device, points)):
        assert np.asarray(m.point(held, np.array([2, 0], np.int32))).tolist() == [[6, 7, 8], [0, 1, 2]]
    table = m.gathered(tensor, tensor, np.float32([1, 2]), np.array([0, 1], np.int32))
    assert np.asarray(table).tolist() == [2, 6]


@pytest.mark.req("T20", "T8")
def test_structs_in_structured_buffers(m: Any, device: Any) -> None:
    particles = np.zeros(4, m.Particle.dtype)
    particles["place"][:, 2] = [1, 2, 3, 4]
    particles["mass"] = 10
    tensor = fp.Tensor.from_numpy(device, particles, m.Particle)
    index = np.arange(4, dtype=np.int32)
    assert np.asarray(m.weight(tensor, index)).tolist() == [10, 20, 30, 40]
    m.heavier(tensor, index, np.float32([1, 2, 3, 4]))
    assert tensor.to_numpy()["mass"].tolist() == [11, 12, 13, 14]
    raw = buffer(device, particles.view(np.float32))
    m.heavier(raw, index[:2], 5.0)
    assert contents(raw).reshape(4, 4)[:, 3].tolist() == [15, 15, 10, 10]


@pytest.mark.req("T20", "C10")
def test_writes_to_a_tensor_come_back(m: Any, device: Any) -> None:
    big = fp.Tensor.from_numpy(device, np.zeros(16, np.float32))
    m.store(big[4:12], np.arange(8, dtype=np.int32), VALUES)
    assert big.to_numpy().tolist() == [0] * 4 + VALUES.tolist() + [0] * 4
    for step in range(20):  # deferred or not, each call sees what the one before it has written
        last = m.item(big, np.array([4], np.int32))
        m.store(big, np.array([4], np.int32), last)
        m.store(big, np.array([5], np.int32), np.float32([step]))
    assert big.to_numpy()[4:6].tolist() == [1, 19]


@pytest.mark.req("T20", "V12")
def test_buffers_fuse(m: Any, device: Any) -> None:
    table = buffer(device, VALUES)
    look_up = fp.fuse(lambda values, i: m.item(values, i) + m.item(values, i + 1) * 2 + m.behind(values, i))
    assert np.asarray(look_up(table, np.array([0, 2], np.int32))).tolist() == [1 + 4 + 1, 3 + 8 + 3]
    assert look_up.explain(table, np.array([0, 2], np.int32)).kernels == 1


@pytest.mark.req("T20", "C8")
@examples(40)
@given(
    size=st.integers(1, 50),
    count=st.integers(1, 20),
    kind=st.sampled_from(["buffer", "tensor", "view", "numpy", "list", "bytes"]),
    seed=st.integers(0, 99),
)
def test_random_look_ups(m: Any, device: Any, size: int, count: int, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, index = rng.random(size, np.float32), rng.integers(0, size, count, np.int32)
    tensor = fp.Tensor.from_numpy(device, np.concatenate([values, values * 2]))
    table: Any = {
        "buffer": lambda: buffer(device, values), "tensor": lambda: tensor, "view": lambda: tensor[size:],
        "numpy": lambda: values, "list": values.tolist, "bytes": lambda: buffer(device, values),
    }[kind]()  # fmt: skip
    function = m.word if kind == "bytes" else m.item
    expected = values[index] * (2 if kind == "view" else 1)
    assert np.asarray(function(table, index)).tolist() == expected.tolist()


# ---- bindless handles ---------------------------------------------------------------------------------------------------


@pytest.mark.req("T20")
def test_bindless_handles(m: Any, device: Any) -> None:
    if device.target.kind == "cuda":
        pytest.skip("CUDA has none")
    if "bindless" not in device.features:
        pytest.skip("no bindless resources here")
    image = tx.make(device, "Texture2D", "r32_float", np.full((2, 2, 1), 7, np.float32))
    sampler = device.sgl.create_sampler()
    uv = np.float32([[0.5, 0.5], [0.1, 0.2]])
    call = lambda: m.handled(image.descriptor_handle_ro, sampler.descriptor_handle, uv)  # noqa: E731
    assert np.asarray(call()).tolist() == [7, 7]
    image.copy_from_numpy(np.full((2, 2), 8, np.float32))
    assert np.asarray(call()).tolist() == [8, 8]
    refused(lambda: m.handled(sampler.descriptor_handle, image.descriptor_handle_ro, uv), TypeError, "'image'", "SamplerHandle")
    refused(lambda: m.handled(image.descriptor_handle_rw, sampler.descriptor_handle, uv), TypeError, "'image'", "RWTextureHandle")
    refused(
        lambda: m.handled(_null_handle(device), sampler.descriptor_handle, uv),
        ValueError,
        "argument 'image'",
        "null bindless handle",
    )


def _null_handle(device: Any) -> Any:
    """What sgl hands out once its table of 128 samplers is full."""
    kept = []
    for _ in range(200):
        kept.append(device.sgl.create_sampler())
        handle = kept[-1].descriptor_handle
        if not handle:
            return handle
    pytest.skip("the table of samplers has no end here")


# ---- samplers and lifetimes -------------------------------------------------------------------------------------------


@pytest.mark.req("T20")
def test_more_textures_and_samplers_than_any_table_holds(m: Any, device: Any) -> None:
    """Bindless tables end at 1024 textures and 128 samplers, and then hand out null; names do not end."""
    images, samplers = [], []
    for i in range(1100):
        image = tx.empty(device, "Texture2D", "r32_float", (1, 1))
        image.copy_from_numpy(np.full((1, 1), i, np.float32))
        images.append(image)
    for _ in range(150):
        samplers.append(device.sgl.create_sampler())
    uv = np.float32([0.5, 0.5])
    assert [float(m.texel(images[i], samplers[i % 150], uv, _result="list")) for i in (0, 500, 1023, 1024, 1099)] == [
        0, 500, 1023, 1024, 1099,
    ]  # fmt: skip
    assert [float(m.texel(images[5], s, uv, _result="list")) for s in samplers[120:]] == [5] * 30


@pytest.mark.req("T19", "T20")
def test_what_is_dropped_lives_until_it_was_used(m: Any, device: Any) -> None:
    results = []
    for i in range(40):
        image = tx.empty(device, "Texture2D", "rgba32_float", (64, 64))
        image.copy_from_numpy(np.full((64, 64, 4), i, np.float32))
        results.append(m.colour(image))
        del image
        gc.collect(1)
    assert [float(r.to_numpy()[5, 6, 0]) for r in results] == [2 * i for i in range(40)]


# ---- acceleration structures ------------------------------------------------------------------------------------------


def scene(device: Any) -> Any:
    """Two triangles one behind the other, as slangpy builds them."""
    d = device.sgl
    corners = np.float32([[0, 0, 1], [1, 0, 1], [0, 1, 1], [2, 0, 2], [3, 0, 2], [2, 1, 2]])
    usage = spy.BufferUsage.acceleration_structure_build_input
    vertices = d.create_buffer(size=corners.nbytes, usage=usage, data=corners)
    indices = d.create_buffer(size=24, usage=usage, data=np.arange(6, dtype=np.uint32))
    triangles = spy.AccelerationStructureBuildInputTriangles(
        {
            "vertex_buffers": [spy.BufferOffsetPair(vertices)], "vertex_format": spy.Format.rgb32_float, "vertex_count": 6,
            "vertex_stride": 12, "index_buffer": spy.BufferOffsetPair(indices), "index_format": spy.IndexFormat.uint32,
            "index_count": 6, "flags": spy.AccelerationStructureGeometryFlags.opaque,
        }
    )  # fmt: skip
    bottom = build(d, spy.AccelerationStructureBuildDesc({"inputs": [triangles]}))
    instances = d.create_acceleration_structure_instance_list(1)
    placed = {
        "transform": spy.float3x4.identity(), "instance_id": 0, "instance_mask": 255,
        "instance_contribution_to_hit_group_index": 0, "flags": spy.AccelerationStructureInstanceFlags.none,
        "acceleration_structure": bottom.handle,
    }  # fmt: skip
    instances.write(0, spy.AccelerationStructureInstanceDesc(placed))
    inputs = instances.build_input_instances()
    return build(d, spy.AccelerationStructureBuildDesc({"inputs": [inputs]})), bottom, instances


def build(d: Any, desc: Any) -> Any:
    sizes = d.get_acceleration_structure_sizes(desc)
    scratch = d.create_buffer(size=sizes.scratch_size, usage=spy.BufferUsage.unordered_access)
    made = d.create_acceleration_structure(size=sizes.acceleration_structure_size)
    encoder = d.create_command_encoder()
    encoder.build_acceleration_structure(desc=desc, dst=made, src=None, scratch_buffer=spy.BufferOffsetPair(scratch))
    d.submit_command_buffer(encoder.finish())
    d.wait()
    return made


@pytest.mark.req("T20")
def test_rays_are_traced_inline(m: Any, device: Any) -> None:
    if "ray_query" not in device.features:
        pytest.skip("no ray queries here")
    top, *kept = scene(device)
    origins = np.float32([[0.25, 0.25, 0], [2.25, 0.25, 0], [5, 5, 0]])
    assert np.asarray(m.hit(top, origins, [0.0, 0.0, 1.0])).tolist() == [0, 1, -1]
    fused = fp.fuse(lambda tlas, o: m.hit(tlas, o, [0.0, 0.0, 1.0]) + m.hit(tlas, o * 1.0, [0.0, 0.0, -1.0]))
    assert np.asarray(fused(top, fp.vcast(origins, m.float3))).tolist() == [-1, 0, -2]
    assert kept


# ---- what does not fit ------------------------------------------------------------------------------------------------


def refused(call: Any, error: type[Exception], *named: str) -> None:
    with pytest.raises(error) as caught:
        call()
    text = str(caught.value)
    assert isinstance(caught.value, fp.FusepyError)
    assert caught.value.hint
    for words in named:
        assert words in text, f"{words!r} is not in\n{text}"


@pytest.mark.req("T19", "T3")
def test_textures_without_the_usage_needed(m: Any, device: Any) -> None:
    readable = tx.empty(device, "Texture2D", "rgba32_float", (2, 2), spy.TextureUsage.shader_resource)
    writable = tx.empty(device, "Texture2D", "rgba32_float", (2, 2), spy.TextureUsage.unordered_access)
    pixels = fp.grid((2, 2))
    refused(lambda: m.write(readable, pixels), TypeError, "write: argument 'image'", "unordered_access", "shader_resource")
    refused(lambda: m.colour(np.ones((2, 2, 4), np.float32), _result=readable), TypeError, "the result", "unordered_access")
    refused(lambda: m.whole(writable, pixels), TypeError, "whole: argument 'image'", "usage shader_resource")
    refused(lambda: m.colour(writable), TypeError, "colour: argument 'c'", "usage shader_resource")
    assert np.asarray(m.colour(readable)).shape == (2, 2, 4)  # the next good call works
    m.write(writable, pixels)
    assert (writable.to_numpy() == 1).all()


@pytest.mark.req("T19")
def test_textures_of_the_wrong_type_or_format(m: Any, device: Any) -> None:
    flat, deep = (tx.empty(device, c, "rgba32_float", (2,) * n) for c, n in (("Texture2D", 2), ("Texture3D", 3)))
    counts = tx.empty(device, "Texture2D", "rgba8_uint", (2, 2))
    one = tx.empty(device, "Texture2D", "r32_float", (2, 2))
    pixels = fp.grid((2, 2))
    refused(lambda: m.volume(flat, fp.grid((2, 2, 2))), TypeError, "argument 'image'", "Texture2D<float4>", "Texture3D<float4>")
    refused(lambda: m.whole(deep, pixels), TypeError, "argument 'image'", "Texture3D<float4>", "Texture2D<float4>")
    refused(lambda: m.whole(counts, pixels), TypeError, "argument 'image'", "uint4", "Texture2D<float4>")
    refused(lambda: m.counts(flat, pixels), TypeError, "argument 'image'", "float4", "Texture2D<uint4>")
    refused(lambda: m.write1(flat, pixels), TypeError, "argument 'image'", "RWTexture2D<float4>")
    refused(lambda: m.colour(one), TypeError, "argument 'c'", "Texture2D<float>", "float4", "more channels")
    refused(lambda: m.colour(fp.vcast(one, m.float4)), TypeError, "argument 'c'", "cannot be cast to float4")
    refused(lambda: m.colour3(flat), TypeError, "argument 'c'", "float4", "vcast(value, m.float3)")
    refused(lambda: m.whole(np.ones((2, 2, 4), np.float32), pixels), TypeError, "argument 'image'", "Texture")
    refused(lambda: m.colour(flat, _result=one), TypeError, "_result", "float4")
    refused(lambda: m.colour(flat, _result=counts), TypeError, "_result", "uint4", "float4")
    refused(lambda: m.colour(flat, _result=deep), TypeError, "_result", "Texture3D", "2 axes")
    cube = tx.empty(device, "TextureCube", "rgba32_float", (2, 2))
    refused(lambda: m.colour(cube, _result=cube), TypeError, "_result", "TextureCube", "texture_2d_array")
    small = tx.empty(device, "Texture2D", "rgba32_float", (2, 3))
    refused(lambda: m.colour(flat, _result=small), ValueError, "texels [2, 3]", "texels [2, 2]")
    refused(lambda: m.colour(flat, _result=flat.create_view()), ValueError, "argument 'c' and the result", "one texture")


@pytest.mark.req("T19")
def test_formats_that_cannot_be_written(m: Any, device: Any) -> None:
    for format in ("rgba8_unorm_srgb", "bc1_unorm"):
        if spy.FormatSupport.shader_uav_store in device.sgl.get_format_support(spy.Format[format]):
            continue
        image = device.sgl.create_texture(format=spy.Format[format], width=4, height=4, usage=spy.TextureUsage.shader_resource)
        refused(lambda image=image: m.colour(np.ones((4, 4, 4), np.float32), _result=image), TypeError, "the result")


@pytest.mark.req("T19")
def test_a_texture_is_not_read_while_it_is_written(m: Any, device: Any) -> None:
    image, other = (tx.make(device, "Texture2D", "rgba32_float", np.ones((4, 4, 4), np.float32)) for _ in range(2))
    refused(lambda: m.through(image, image, fp.grid((4, 4))), ValueError, "'image'", "'other'", "one texture")
    refused(lambda: m.whole(image, fp.grid((4, 4)), _result=image), ValueError, "argument 'image' and the result", "one texture")
    turned = fp.vmap(image, (1, 0))
    refused(lambda: m.colour(turned, _result=image), ValueError, "argument 'c' and the result", "one texture")
    m.through(image, other, fp.grid((4, 4)))
    assert (other.to_numpy() == 1).all()
    if device.target.kind == "cuda":
        return  # no mip levels there
    levels = tx.make(device, "Texture2D", "rgba32_float", np.full((4, 4, 4), 3, np.float32), mip_count=2)
    half = fp.grid((2, 2))
    m.through(levels.create_view(mip=1, mip_count=1), levels.create_view(mip=0, mip_count=1), half)  # other texels: fine
    assert (levels.to_numpy(mip=1) == 3).all()


@pytest.mark.req("T19", "T20")
def test_resources_of_another_device(m: Any, device: Any) -> None:
    other = fp.init_device(device.sgl.info.type.name)
    image = tx.empty(other, "Texture2D", "rgba32_float", (2, 2))
    mine = tx.empty(device, "Texture2D", "rgba32_float", (2, 2))
    refused(lambda: m.colour(image), ValueError, "argument 'c'", "a texture lies on another device")
    refused(lambda: m.colour(mine, _result=image), ValueError, "a texture lies on another device")
    refused(lambda: m.item(buffer(other, VALUES), 0), ValueError, "argument 'values'", "a buffer lies on another device")
    sampler = other.sgl.create_sampler()
    single = tx.empty(device, "Texture2D", "r32_float", (2, 2))
    refused(lambda: m.texel(single, sampler, [0.0, 0.0]), ValueError, "a sampler lies on another device")
    other.close()
    refused(lambda: m.colour(image), ValueError, "argument 'c'")  # its device is gone: nothing touches it


@pytest.mark.req("T20")
def test_buffers_and_tensors_that_do_not_fit(m: Any, device: Any) -> None:
    readable = buffer(device, VALUES, spy.BufferUsage.shader_resource)
    refused(lambda: m.store(readable, 0, 1.0), TypeError, "argument 'values'", "unordered_access")
    tensor = fp.Tensor.from_numpy(device, VALUES)
    refused(lambda: m.item(tensor[::2], 0), ValueError, "argument 'values'", "StructuredBuffer<float>", "contiguous")
    refused(lambda: m.item(fp.Tensor.empty(device, 0), 0), ValueError, "argument 'values'", "at least one element")
    refused(lambda: m.item(np.arange(4), 0), TypeError, "argument 'values'", "int64_t", "StructuredBuffer<float>")
    for copied in (VALUES, VALUES.tolist()):
        refused(lambda copied=copied: m.store(copied, 0, 1.0), ValueError, "argument 'values'", "RWStructuredBuffer", "a Tensor")
    assert float(np.asarray(m.item(tensor, 2))) == 3


@pytest.mark.req("T20")
def test_multisampled_textures_are_refused(m: Any, device: Any) -> None:
    if device.target.kind == "cuda":
        pytest.skip("CUDA has none")
    image = device.sgl.create_texture(
        type=spy.TextureType.texture_2d_ms, format=spy.Format.rgba8_unorm, width=4, height=4, sample_count=4,
        usage=spy.TextureUsage.shader_resource | spy.TextureUsage.render_target,
    )  # fmt: skip
    refused(lambda: m.colour(image), TypeError, "argument 'c'", "multisampled", "resolve it")
