"""slangpy's spellings of what fusepy has as well."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slangpy

import fusepy as fp
from fusepy.language import spellings
from tests.support.slang_functions import F32, ramp, same


@pytest.mark.parametrize("name", spellings.__all__)
def test_names_of_the_graphics_layer_are_slangpys(name: str) -> None:
    assert getattr(fp, name) == getattr(slangpy, name)
    assert getattr(slangpy, name) == getattr(fp, name)
    assert hash(getattr(fp, name)) == hash(getattr(slangpy, name))
    assert name not in fp.__all__


VECTORS = [f"{scalar}{n}" for scalar in ("float", "int", "uint", "half", "double", "bool") for n in "234"]
MATRICES = [f"{scalar}{shape}" for scalar in ("float", "half", "int") for shape in ("2x2", "2x3", "3x3", "4x2", "4x4")]


@pytest.mark.req("V15")
def test_constructors_of_every_type_record_in_a_trace() -> None:
    types = {name: fp.Type.parse(name) for name in [*VECTORS, *MATRICES]}
    given = np.arange(16, dtype=np.int32)[:, None] + np.array([0, 40, 7], np.int32)

    @fp.fuse
    def all_of(first: Any) -> Any:
        parts = [first + k for k in range(16)]
        made = {name: getattr(fp, name)(*parts[: int(np.prod(type.shape))]) for name, type in types.items()}
        row = fp.float3(parts[0], fp.float2(parts[1], parts[2]))  # shorter vectors add up
        return made, fp.float3x3(row, row, row), fp.float4(parts[1]), fp.float2(parts[0], 1), fp.float1(parts[2])

    made, rows, splat, mixed, one = all_of(given[0])
    for name, type in types.items():
        flat = given[: int(np.prod(type.shape))].astype(type.dtype)
        same(made[name], flat.T.reshape(3, *type.shape))
    same(rows, np.repeat(given[:3].T[:, None], 3, axis=1).astype(F32))
    same(splat, np.repeat(given[1][:, None], 4, axis=1).astype(F32))
    same(mixed, np.stack([given[0], np.ones(3)], -1).astype(F32))
    same(one, given[2].astype(F32))
    for call in (fp.fuse(lambda u: fp.float2(u, u, u)), fp.fuse(lambda u: fp.float2(x=u, y=u))):
        with pytest.raises(fp.FusepyError, match=r"float2(.|\n)*hint"):
            call(given[0])
    kept: list[Any] = []
    fp.fuse(lambda u: kept.append(u) or u)(given[0])
    with pytest.raises(fp.LeakedTracerError):
        fp.float2(kept[0], 1.0)


def test_constructors_of_numbers_are_slangpys() -> None:
    assert type(fp.float3(1, 2, 3)) is slangpy.float3
    assert isinstance(slangpy.int2(1, 2), fp.int2)
    assert not isinstance(slangpy.int2(1, 2), fp.float2)
    assert issubclass(slangpy.float3, fp.float3)
    assert fp.float4x4.identity() == slangpy.float4x4.identity()
    assert type(fp.half2(1, 2)) is slangpy.float16_t2
    same(fp.double2(1, 0.1), np.array([1, 0.1]))
    same(fp.int2x2(1, 2, 3, 4), np.array([[1, 2], [3, 4]], np.int32))
    with pytest.raises(fp.ArgumentError, match="cut a float"):
        fp.int2x2(1.5, 2, 3, 4)
    assert fp.resolve(fp.Module.load_from_source(None, "typed", "float f(float3 a) { return a.x; }").f, fp.float3).grid == 0


def test_other_names_do_not_exist() -> None:
    for name in ("floot3", "InstanceDifferentiableBuffer", "_spelling"):
        assert not hasattr(fp, name)


@pytest.mark.req("F13")
def test_map_takes_plain_dimensions(lib: Any) -> None:
    outer = np.subtract.outer(ramp(3), ramp(4))
    same(lib.minus.map((0,), (1,))(ramp(3), ramp(4)), outer)
    same(lib.minus.map(0, 1)(ramp(3), ramp(4)), outer)
    same(lib.minus.map(a=(0,), b=(1,))(a=ramp(3), b=ramp(4)), outer)
    same(lib.minus.map(None, (0,))(1.0, ramp(4)), F32(1) - ramp(4))
    same(lib.add.map(b=(0,))(ramp(4, 5), ramp(4)), ramp(4, 5) + ramp(4)[:, None])
    same(lib.size_of.map("float3")(-ramp(4, 3)), ramp(4, 3).sum(axis=1))
    same(lib.size_of.map(float)(-ramp(4, 3)), ramp(4, 3))
    fused = fp.fuse(lambda a, b: lib.minus(a, b) * 2)
    same(fused.map((0,), (1,))(ramp(3), ramp(4)), outer * 2)
    with pytest.raises(fp.ArgumentError, match="known names: a, b"):
        lib.minus.map(c=(0,))
    with pytest.raises(fp.ShapeError):
        lib.minus.map((0, 0))


def test_lookups_and_kinds(lib: Any) -> None:
    assert lib.require_function("add")(1, 2) == lib.add.as_func()(1, 2) == 3
    assert lib.require_struct("Ray") == lib.find_struct("Ray") == lib.Ray.as_struct() == lib.Ray


def test_pythons_types_are_slangs_of_their_names(device: Any) -> None:
    for dtype, name in [(float, "float"), (int, "int"), (bool, "bool")]:
        assert str(fp.Tensor.zeros(device, 2, dtype).dtype) == name


def test_methods_of_a_slangpy_device() -> None:
    device = fp.create_device(include_paths=["."])
    m = fp.Module.load_from_source(device, "methods", "float add(float a, float b) { return a + b; }")
    usage = fp.TextureUsage.shader_resource | fp.TextureUsage.unordered_access
    texture = device.create_texture(width=4, height=2, format=fp.Format.r32_float, usage=usage, data=ramp(2, 4))
    same(texture.to_numpy(), ramp(2, 4))
    assert device.create_sampler() is not None
    assert device.create_buffer(size=64, usage=fp.BufferUsage.shader_resource).size == 64
    t = fp.Tensor.from_numpy(device, ramp(4))
    m.add(t, 1.0, _result=t)
    encoder = device.create_command_encoder()
    device.submit_command_buffer(encoder.finish())
    device.wait_for_idle()
    same(t.to_numpy(), ramp(4) + 1)
    device.close()


@pytest.mark.req("T18")
def test_tensors_like_others_and_views(lib: Any, device: Any) -> None:
    t = fp.Tensor.from_numpy(device, ramp(4, 6))
    for made in (fp.Tensor.zeros_like(t), fp.Tensor.empty_like(t)):
        assert (made.shape, made.dtype, made.device) == (t.shape, t.dtype, device)
    assert not fp.Tensor.zeros_like(t).to_numpy().any()
    same(t.view((8, 3)).to_numpy(), ramp(8, 3))
    same(t.view((4, -1)).to_numpy(), ramp(4, 6))
    vectors = t.view((4, 2), "float3")
    assert (vectors.shape, str(vectors.dtype)) == ((4, 2), "float3")
    same(vectors.to_numpy(), ramp(4, 2, 3))
    same(vectors.view(24, float).to_numpy(), ramp(24))
    same(vectors.view(shape=(2, 6), dtype=lib.float2).to_numpy(), ramp(2, 6, 2))
    lib.add(t, 1.0, _result=t)
    same(vectors.to_numpy(), ramp(4, 2, 3) + 1)
    same(t[:, ::2].view(12).to_numpy(), (ramp(4, 6) + 1)[:, ::2].ravel())  # elements that are equally far apart
    for wrong in (lambda: t.view((5, 5)), lambda: t.view(6, "int4"), lambda: t[:, :3].view(12)):
        with pytest.raises(fp.ShapeError, match="hint"):
            wrong()


@pytest.mark.req("T8", "T15")
def test_plain_numbers_fill_a_tensor_of_structs(lib: Any, device: Any) -> None:
    rays = fp.Tensor.zeros(device, (2, 3), lib.Ray)
    for numbers in (ramp(36), ramp(6, 6), ramp(2, 3, 6), ramp(2, 3, 2, 3)):
        rays.clear()
        rays.copy_from_numpy(numbers)
        same(rays.to_numpy()["position"], ramp(2, 3, 2, 3)[:, :, 0])
        same(rays.to_numpy()["direction"], ramp(2, 3, 2, 3)[:, :, 1])
    for wrong in (ramp(35), ramp(30), ramp(36).astype(np.int32)):
        with pytest.raises(fp.FusepyError, match="hint"):
            rays.copy_from_numpy(wrong)
