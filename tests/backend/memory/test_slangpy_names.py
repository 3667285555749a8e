"""Names of slangpy's tensors: storage, offset, usage, views by strides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp

SOURCE = """
int at(int i, int* values) { return values[i]; }
void add(int i, RWStructuredBuffer<float> values) { values[i] += 1; }
void store(int i, RWByteAddressBuffer bytes) { bytes.Store(4 * i, 7); }
float one(float x) { return x + 1; }
[shader("compute")] [numthreads(4, 1, 1)]
void fill(uint3 tid : SV_DispatchThreadID, RWStructuredBuffer<float> values) { values[tid.x] = tid.x; }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> fp.Module:
    return fp.Module.load_from_source(device, "storages", SOURCE)


def test_storage_is_the_memory_of_the_tensor_and_its_views(device: Any) -> None:
    t = fp.Tensor.from_numpy(device, np.arange(10, dtype=np.int32))
    part = t[2:]
    assert (t.storage.size, t.storage.struct_size, part.storage.size, part.offset) == (40, 4, 40, 2)
    assert part.storage.device_address == t.storage.device_address == t.address
    assert t.storage.to_numpy().view(np.int32).tolist() == list(range(10))
    part.storage.copy_from_numpy(np.array([7, 8], np.int32))
    assert t.tolist() == [7, 8, *range(2, 10)]
    with pytest.raises(fp.ShapeError, match="44 bytes"):
        t.storage.copy_from_numpy(np.zeros(11, np.int32))


def test_functions_take_a_storage_like_a_buffer(m: fp.Module) -> None:
    numbers = fp.Tensor.from_numpy(m.device, np.array([5, 6, 7], np.int32))
    assert m.at(fp.grid((3,)), numbers.storage, _result="list") == [5, 6, 7]
    t = fp.Tensor([1, 2, 3], device=m.device)
    m.add(fp.grid((3,)), t.storage)
    assert t.tolist() == [2, 3, 4]
    m.fill.dispatch(3, values=t.storage)
    assert t.tolist() == [0, 1, 2]
    m.store(fp.grid((2,)), t.storage)
    assert t.storage.to_numpy().view(np.int32).tolist()[:2] == [7, 7]
    assert m.one(fp.vcast(fp.Tensor([1, 2], device=m.device).storage, "float"), _result="list") == [2, 3]


def test_shapes_and_strides_have_slangpy_methods(device: Any) -> None:
    t = fp.Tensor.zeros(device, (2, 3), "float")
    assert t.shape.as_tuple() == (2, 3) == t.shape
    assert t.T.strides.as_list() == [1, 3]
    assert fp.Shape(2, 3).calc_contiguous_strides() == t.strides == (3, 1)
    assert (t.element_count, t.is_contiguous(), t.T.is_contiguous()) == (6, True, False)


def test_views_by_strides_and_offset(device: Any) -> None:
    t = fp.Tensor.from_numpy(device, np.arange(12, dtype=np.float32))
    seen = t.view((2, 3), (1, 2), 4)
    assert seen.tolist() == [[4, 6, 8], [5, 7, 9]]
    assert (seen.offset, seen.view(t.shape, offset=-4).tolist()) == (4, list(range(12)))
    for shape, strides, offset in (((2, 3), (1,), 0), ((2,), (-1,), 0), ((12,), (1,), 1), ((2,), (1,), -1)):
        with pytest.raises(fp.ShapeError):
            t.view(shape, strides, offset)


def test_usage_is_checked(device: Any) -> None:
    usage = spy.BufferUsage.unordered_access | spy.BufferUsage.shader_resource
    t = fp.Tensor.empty(device, 3, usage=usage)
    assert t.usage & usage == usage
    with pytest.raises(fp.ArgumentError, match="indirect_argument"):
        fp.Tensor.zeros(device, 3, usage=usage | spy.BufferUsage.indirect_argument)
    with pytest.raises(fp.ArgumentError, match="read_back"):
        fp.Tensor.from_numpy(device, np.zeros(3), memory_type=spy.MemoryType.read_back)


def test_contents_are_taken_from_a_flat_array(device: Any) -> None:
    t = fp.Tensor.empty(device, (2, 2), fp.float3)
    t.copy_from_numpy(np.arange(12, dtype=np.float32))
    assert t.to_numpy()[1, 0].tolist() == [6, 7, 8]
    t.copy_from_numpy(np.zeros((2, 1, 2, 3), np.float32))
    with pytest.raises(fp.ShapeError):
        t.copy_from_numpy(np.zeros((3, 2, 2), np.float32))
    with pytest.raises(fp.ShapeError):
        t.copy_from_numpy(np.zeros(11, np.float32))


def test_types_of_slangpy_are_dtypes(m: fp.Module) -> None:
    struct = fp.Module.load_from_source(m.device, "reflected", "struct Ray { float3 at; int hits; };")
    kinds = [struct.layout.find_type_by_name("Ray"), struct.Ray.struct, struct.layout.find_type_by_name("float3[2]")]
    kinds += [spy.float3, fp.uint2, spy.TypeReflection.ScalarType.float16, spy.math.float3x3]
    made = [str(fp.Tensor.zeros(m.device, 2, kind).dtype) for kind in kinds]
    assert made == ["Ray", "Ray", "float3[2]", "float3", "uint2", "half", "float3x3"]
    assert fp.vcast([1.0, 2.0, 3.0], spy.float3).map.type is fp.Type.parse("float3")


@pytest.mark.parametrize("of", [fp.NDBuffer, fp.NDDifferentiableBuffer])
def test_a_buffer_by_its_element_type(of: Any) -> None:
    """The API review writes it so; it was a `TypeError` of Python about the keyword."""
    buffer = of(element_type=float, shape=(100, 3))
    assert (buffer.shape, str(buffer.dtype)) == ((100, 3), "float")
