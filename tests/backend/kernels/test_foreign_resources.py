"""Resources of the user's own that are set or dispatched on: what a call writes is there when slangpy reads it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from tests.support.slang_functions import F32, ramp, same

SOURCE = """
RWTexture2D<float4> picture;
uniform float level;
[shader("compute")] [numthreads(8, 8, 1)]
void paint(uint3 tid : SV_DispatchThreadID) { picture[tid.xy] = float4(level, tid.x, tid.y, 1); }
void paint_one(int2 pixel, float value) { picture[pixel] = value; }
RWStructuredBuffer<float> values;
void put(int i, float x) { values[i] = x; }
struct Sums { RWStructuredBuffer<float> kept; };
ParameterBlock<Sums> sums;
void keep(int i, float x) { sums.kept[i] = x; }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    if device.raw.info.type.name in ("cpu", "metal"):
        pytest.skip("needs writable textures")
    return fp.Module.load_from_source(device, "foreign", SOURCE)


def texture(device: Any) -> Any:
    usage = spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access
    return device.create_texture(width=16, height=8, format=spy.Format.rgba32_float, usage=usage)


def buffer(device: Any) -> Any:
    usage = spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access
    return device.create_buffer(element_count=8, struct_size=4, usage=usage, data=np.zeros(8, F32))


@pytest.mark.req("F2", "F10")
def test_entry_points_write_textures_that_slangpy_reads(m: Any, device: Any) -> None:
    picture = texture(device)
    for level in (1.0, 2.0, 3.0):
        m.paint.set(picture=picture, level=level).threads(16, 8).call()
        found = picture.to_numpy()
        assert (found[..., 0] == level).all()
        same(found[3, 5], np.array([level, 5, 3, 1], F32))


@pytest.mark.req("F2")
def test_set_resources_are_written_at_once(m: Any, device: Any) -> None:
    picture, values, kept = texture(device), buffer(device), buffer(device)
    paint, put, keep = m.paint_one.set(picture=picture), m.put.set(values=values), m.keep.set(sums={"kept": kept})
    tensor = fp.Tensor.from_numpy(device, np.arange(8, dtype=np.int32))  # nothing is read back, which would submit
    for k in (1.0, 2.0, 3.0):
        paint(fp.grid((8, 16)), k)
        assert (picture.to_numpy() == k).all()
        put(tensor, k)
        same(values.to_numpy().view(F32), np.full(8, k, F32))
        keep(tensor, k)
        same(kept.to_numpy().view(F32), np.full(8, k, F32))
    put(tensor, fp.Tensor.from_numpy(device, ramp(8)))
    same(values.to_numpy().view(F32), ramp(8))
