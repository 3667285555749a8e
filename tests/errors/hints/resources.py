"""Programs after hints about textures, buffers, results that are given, a second device, and modules of slangpy."""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np
import slangpy as spy

import fusepy as fp
from tests.errors.hints.support import N, Program, X, fused, tensor
from tests.support.slang_functions import F32, ramp

SOURCE = """
import fusepy;
float add(float a, float b) { return a + b; }
float luma(float3 c) { return dot(c, float3(0.25, 0.5, 0.25)); }
float texel(float3 c) { return c.x + c.y; }
float one(float c) { return c; }
float across(float2 c) { return c.x + c.y; }
float4 colour(float x) { return float4(x, 2 * x, 0, 1); }
float load(Texture2D<float4> t) { return t.Load(int3(1, 0, 0)).x; }
float load_int(Texture2D<int4> t) { return t.Load(int3(1, 0, 0)).x; }
float deep(Texture3D<float4> t) { return t.Load(int4(1, 0, 0, 0)).x; }
float store(RWTexture2D<float> t, float x) { t[int2(0, 0)] = x; return x; }
float store4(RWTexture2D<float4> t, float x) { t[int2(0, 0)] = float4(x, x, x, x); return x; }
float handled(DescriptorHandle<Texture2D<float4>> t) { return t.Load(int3(1, 0, 0)).x; }
float put(RWStructuredBuffer<float> b, float x) { b[0] = x; return x; }
"""
GIVEN = "float twice(float x) { return 2 * x; }"
Usage = spy.BufferUsage


@functools.cache
def own(device: Any) -> Any:
    return fp.Module.load_from_source(device, "hint_resources", SOURCE)


def r(m: Any) -> Any:
    return own(fp.default_device())


def texture(height: int = 2, width: int = 4, format: Any = spy.Format.rgba32_float, **kwargs: Any) -> Any:
    usage = spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access
    made = fp.default_device().sgl.create_texture(width=width, height=height, format=format, usage=usage, **kwargs)
    if format == spy.Format.rgba32_float and not kwargs:
        made.copy_from_numpy(ramp(height, width, 4))
    return made


def buffer(struct_size: int = 4, usage: Any = Usage.unordered_access | Usage.shader_resource, data: Any = None) -> Any:
    data = N.astype(F32) if data is None else data
    return fp.default_device().sgl.create_buffer(size=data.nbytes, struct_size=struct_size, usage=usage, data=data)


@functools.cache
def second() -> Any:
    return fp.init_device(os.environ.get("FUSEPY_DEVICE"))


def there(array: Any) -> Any:
    return fp.Tensor.from_numpy(second(), array)


def loaded(name: str, source: str) -> Any:
    return fp.default_device().sgl.load_module_from_source(name, source)


IMAGE = ramp(2, 4, 3)
PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    # results that are given
    "a texture of another size for the result": (
        lambda m: r(m).colour(ramp(2, 4), _result=texture(3, 4)),
        "create one of that size, or let _result='texture' do so",
        lambda m: r(m).colour(ramp(2, 4), _result="texture").to_numpy()[..., 1],
        2 * ramp(2, 4),
    ),
    "a tensor of another size for the result": (
        lambda m: r(m).add(X, 1.0, _result=tensor(ramp(4))),
        "make it with Tensor.empty(device, shape, dtype), or omit it",
        lambda m: r(m).add(X, 1.0, _result=fp.Tensor.empty(fp.default_device(), (3,), "float")),
        X + 1,
    ),
    "a broadcast tensor for the result": (
        lambda m: r(m).add(X, 1.0, _result=tensor(X[:1]).broadcast_to(3)),
        "give a real tensor",
        lambda m: r(m).add(X, 1.0, _result=tensor(X)),
        X + 1,
    ),
    "a result over what is read": (
        lambda m: overlapping(m, lambda t: (t[:3], t[1:])),
        "pass a copy of the argument, x.copy(); or write into another tensor, or exactly over the argument",
        lambda m: overlapping(m, lambda t: (t[:3], t[:3])),
        X + 1,
    ),
    "a result of four axes as a texture": (
        lambda m: r(m).colour(ramp(2, 2, 2, 2), _result="texture"),
        "convert the result in Slang, or take a tensor",
        lambda m: r(m).colour(ramp(2, 2, 2, 2), _result="tensor").to_numpy()[..., 1],
        2 * ramp(2, 2, 2, 2),
    ),
    "a result of one axis in an image": (
        lambda m: r(m).colour(X, _result=texture()),
        "or give another texture",
        lambda m: r(m).colour(X, _result="texture").to_numpy().reshape(-1, 4)[:, 1],
        2 * X,
    ),
    # textures
    "a multisampled texture": (
        lambda m: r(m).texel(multisampled()),
        "resolve it into a texture_2d first",
        lambda m: r(m).one(fp.vcast(texture(), r(m).float), _result="numpy"),
        ramp(2, 4, 4)[..., 0],
    ),
    "a texture of two dimensions for one of three": (
        lambda m: r(m).deep(texture()),
        "pass a texture of the type Texture3D, or declare the parameter as Texture2D",
        lambda m: r(m).load(texture()),
        ramp(2, 4, 4)[0, 1, 0],
    ),
    "a texture of floats for one of integers": (
        lambda m: r(m).load_int(texture()),
        "declare the parameter as Texture2D<float4>, or use another format",
        lambda m: r(m).load(texture()),
        ramp(2, 4, 4)[0, 1, 0],
    ),
    "one channel that is written of four": (
        lambda m: r(m).store(texture(), 2.0),
        "declare the parameter as RWTexture2D<float4>",
        lambda m: r(m).store4(texture(), 2.0),
        2,
    ),
    "a texel of one channel for three": (
        lambda m: r(m).texel(texture(format=spy.Format.r32_float)),
        "use a format with more channels",
        lambda m: r(m).texel(fp.vcast(texture(), r(m).float3), _result="numpy"),
        ramp(2, 4, 4)[..., 0] + ramp(2, 4, 4)[..., 1],
    ),
    "a texture for its handle": (
        lambda m: r(m).handled(2.0),
        "pass a descriptor handle of slangpy, e.g. texture.descriptor_handle_ro",
        lambda m: handled(m, texture()),
        ramp(2, 4, 4)[0, 1, 0],
    ),
    # buffers
    "a buffer that does not tell its elements": (
        lambda m: fused(lambda b: b + 1, buffer()),
        "say it: fp.vcast(b, type), with the type that one element has, such as m.float",
        lambda m: fused(lambda b: fp.vcast(b, r(m).float) + 1, buffer()),
        N.astype(F32) + 1,
    ),
    "a buffer of other elements": (
        lambda m: r(m).add(buffer(8), 1.0),
        "create it with struct_size=4, or pass it to a parameter that takes a whole buffer",
        lambda m: r(m).add(buffer(4), 1.0),
        N.astype(F32) + 1,
    ),
    "a buffer without struct_size that ends inside of an element": (
        lambda m: r(m).across(buffer(0)),
        "create it with 8 bytes per element, or pass it to a parameter that takes a whole buffer",
        lambda m: r(m).across(buffer(0, data=ramp(4))),
        ramp(4)[::2] + ramp(4)[1::2],
    ),
    "a buffer that kernels cannot read": (
        lambda m: r(m).add(buffer(4, Usage.vertex_buffer), 1.0),
        "create it with usage=BufferUsage.unordered_access | …",
        lambda m: r(m).add(buffer(4, Usage.unordered_access), 1.0),
        N.astype(F32) + 1,
    ),
    "a whole buffer that kernels cannot write": (
        lambda m: r(m).put(buffer(4, Usage.shader_resource), 1.0),
        "create it with usage=BufferUsage.unordered_access | …",
        lambda m: r(m).put(buffer(4), 1.0),
        1,
    ),
    # mappings
    "None for an array": (
        lambda m: r(m).luma.declare(None)(IMAGE),
        "None in declare() means one value for all threads, and this one has 3 axes; say vmapping(0), …",
        lambda m: r(m).luma.declare(fp.vmapping(0, 1))(IMAGE),
        IMAGE @ F32([0.25, 0.5, 0.25]),
    ),
    # a second device
    "a tensor of another device": (
        lambda m: r(m).add(there(X), 1.0),
        "copy it over with Tensor.from_numpy(device, t.to_numpy())",
        lambda m: r(m).add(fp.Tensor.from_numpy(fp.default_device(), there(X).to_numpy()), 1.0),
        X + 1,
    ),
    "a result on another device": (
        lambda m: r(m).add(X, 1.0, _result=there(X)),
        "make it with Tensor.empty on the device of the module and of the other arguments",
        lambda m: r(m).add(X, 1.0, _result=fp.Tensor.empty(fp.default_device(), (3,), "float")),
        X + 1,
    ),
    "a texture of another device": (
        lambda m: r(m).load(second().sgl.create_texture(width=4, height=2, format=spy.Format.rgba32_float)),
        "make it with device.sgl.create_texture(…) of the device that the module is on",
        lambda m: r(m).load(texture()),
        ramp(2, 4, 4)[0, 1, 0],
    ),
    "an encoder of another device": (
        lambda m: r(m).add.append_to(second().sgl.create_command_encoder(), tensor(X), 1.0),
        "make it on the device of the arguments",
        lambda m: appended(m),
        X + 1,
    ),
    # modules of slangpy
    "a module of slangpy without its text": (
        lambda m: fp.Module.from_slangpy(loaded("hint_spy_a", GIVEN)),
        "give the text once: fp.Module.from_slangpy(module, source=text)",
        lambda m: fp.Module.from_slangpy(loaded("hint_spy_b", GIVEN), source=GIVEN).twice(X),
        2 * X,
    ),
    "another text than the module's": (
        lambda m: fp.Module.from_slangpy(loaded("hint_spy_a", GIVEN), source=GIVEN.replace("2", "3")),
        "give that string, or use Module.load_from_source(device, name, source) for another",
        lambda m: fp.Module.from_slangpy(loaded("hint_spy_c", GIVEN), source=GIVEN).twice(X),
        2 * X,
    ),
}


def overlapping(m: Any, parts: Any) -> Any:
    source, target = parts(tensor(np.append(X, F32(1))))
    return r(m).add(source, 1.0, _result=target)


def multisampled() -> Any:
    return fp.default_device().sgl.create_texture(
        type=spy.TextureType.texture_2d_ms, width=4, height=2, sample_count=4, format=spy.Format.rgba32_float,
        usage=spy.TextureUsage.shader_resource | spy.TextureUsage.render_target,
    )  # fmt: skip


def handled(m: Any, made: Any) -> Any:
    return r(m).handled(made.descriptor_handle_ro)


def appended(m: Any) -> Any:
    made, encoder = tensor(np.zeros(3, F32)), fp.default_device().sgl.create_command_encoder()
    r(m).add.append_to(encoder, tensor(X), 1.0, _result=made)
    fp.default_device().sgl.submit_command_buffer(encoder.finish())
    return made
