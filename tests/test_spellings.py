"""slangpy's spellings of what fusepy has as well."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slangpy

import fusepy as fp
from fusepy.backend import spellings
from tests.functions import F32, ramp, same


@pytest.mark.parametrize("name", spellings.__all__)
def test_names_of_the_graphics_layer_are_slangpys(name: str) -> None:
    assert getattr(fp, name) is getattr(slangpy, name)
    assert name not in fp.__all__


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
