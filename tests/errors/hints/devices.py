"""Programs after hints about devices: how they are opened, their memory and handles, and what CUDA and the cpu device lack.

What CUDA refuses is refused here by a device that says it is CUDA's; the hints lead to this machine's own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from fusepy.backend.cuda.driver import CudaDriver
from fusepy.backend.cuda.kernel import CudaKernel
from fusepy.backend.device.target import Target
from tests.backend.cuda.test_driver import MODULE, FakeLibrary
from tests.errors.hints.resources import second, texture
from tests.errors.hints.support import Program, X, tensor
from tests.support.slang_functions import F32, ramp

SOURCE = """
import fusepy;
uniform SamplerState smooth;
uniform DescriptorHandle<Texture2D<float4>> shown;
uniform DescriptorHandle<SamplerState> blur;
uniform Texture2D<float4> plain;
float half_of(half x) { return float(x) / 2; }
float add(float a, float b) { return a + b; }
float shade(float x) { return shown.Load(int3(1, 0, 0)).x + x; }
float bare(float x) { return plain.Load(int3(1, 0, 0)).x + x; }
float sampled(float x) { return plain.SampleLevel(smooth, float2(0.5, 0.5), 0).x * 0 + x; }
float blurred(float x) { return plain.SampleLevel(blur, float2(0.5, 0.5), 0).x * 0 + x; }
float4 colour(float x) { return float4(x, 2 * x, 0, 1); }
float line(float x) { return x; }
float fetch(Texture2D<float4> t) { return t.Load(int3(1, 0, 0)).x; }
float fetch3(Texture2D<float3> t) { return t.Load(int3(1, 0, 0)).x; }
float handled(DescriptorHandle<SamplerState> s) { return 1; }
float object(SamplerState s) { return 1; }
float twice(Texture2D<float4> t, SamplerState a, SamplerState b, float x)
{ return t.SampleLevel(a, float2(0.5, 0.5), 0).x * 0 + t.SampleLevel(b, float2(0.5, 0.5), 0).x * 0 + x; }
float once(Texture2D<float4> t, SamplerState a, float x) { return t.SampleLevel(a, float2(0.5, 0.5), 0).x * 0 + x; }
void store(int2 at, float x, RWTexture2D<float> t) { t[at] = x; }
half first3(half3* p) { return p[1].x; }
half first(half* p) { return p[3]; }
float flag(int i, Tensor<bool, 1> t) { return t[i] ? 1 : 0; }
float number(int i, Tensor<uint, 1> t) { return t[i] != 0 ? 1 : 0; }
"""
Usage = spy.TextureUsage


@functools.cache
def on(device: Any, name: str = "hint_devices", source: str = SOURCE) -> Any:
    return fp.Module.load_from_source(device, name, source)


def d(m: Any) -> Any:
    return on(fp.default_device())


def crowded() -> None:
    """Launches a kernel that a driver refuses."""
    library = FakeLibrary()
    library.codes["cuLaunchKernel"] = 701
    CudaKernel(CudaDriver(library), MODULE, "twice_kernel", (1024, 1, 1), 4, None, []).launch([1, 1, 1], 0)


@functools.cache
def cpu() -> Any:
    """The cpu device, which needs a C++ compiler."""
    try:
        return fp.init_device("cpu")
    except fp.DeviceError as error:
        pytest.skip(str(error))


def as_cuda(m: Any, call: Callable[[Any], Any]) -> Any:
    """A call with the checks of a CUDA device, which refuse it before anything is launched."""
    if m.device.target.kind == "cuda":
        pytest.skip("what follows runs on other devices")
    with mock.patch.object(m.device, "target", Target("cuda")):
        return call(on(m.device))


def kind() -> str:
    return fp.default_device().sgl.info.type.name


def closed() -> Any:
    device = fp.init_device()
    device.close()
    return device


def null_handle() -> Any:
    """What sgl gives once its table of samplers is full, and the samplers that fill it."""
    fp.default_device().wait()  # samplers of earlier calls leave the table
    kept = [sampler() for _ in range(300)]
    handles = [one.descriptor_handle for one in kept]
    if handles[-1]:
        pytest.skip("the table of samplers has no end here")
    return handles[-1], kept


def sampler(**options: Any) -> Any:
    return fp.default_device().sgl.create_sampler(**options)


def line(m: Any) -> Any:
    made = fp.default_device().sgl.create_texture(
        type=spy.TextureType.texture_1d, width=3, format=spy.Format.r32_float, usage=Usage.shader_resource
    )
    made.copy_from_numpy(X)
    return made


def layers(format: Any) -> Any:
    return fp.default_device().sgl.create_texture(
        type=spy.TextureType.texture_2d_array,
        width=3,
        height=2,
        array_length=2,
        format=format,
        usage=Usage.shader_resource | Usage.unordered_access,
    )


def result(m: Any, made: Any) -> Any:
    d(m).colour(ramp(2, 2, 3), _result=made)
    return made.to_numpy(layer=1)[..., 0]


def last_sampler(call: Callable[[Any], Any]) -> Any:
    """A call with a sampler that found no place in the table."""
    _, kept = null_handle()
    return call(kept[-1])


def stored(m: Any, made: Any) -> Any:
    d(m).store(fp.grid((2, 4)), ramp(2, 4), made)
    return made.to_numpy()


def opened(device: Any) -> Any:
    return on(device, "hint_opened", "float add(float a, float b) { return a + b; }").add(X, 1.0)


POINT = dict.fromkeys(("min_filter", "mag_filter"), spy.TextureFilteringMode.point)
ALL = 2**35
PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    # opening
    "what is no device": (
        lambda m: fp.Module.load_from_source("cuda:0", "hint_nowhere", "float f(float x) { return x; }"),
        "pass what fusepy.init_device() or slangpy.Device() returns",
        lambda m: opened(second()) + opened(second().sgl),
        2 * (X + 1),
    ),
    "an adapter that is not there": (
        lambda m: fp.init_device(kind(), adapter="voodoo"),
        "pass one of these indices or part of a name",
        lambda m: fp.init_device(kind(), adapter=0).is_open,
        True,
    ),
    "barriers in Slang's C++": (
        lambda m: fp.sort(fp.Tensor.from_numpy(cpu(), X)),
        "open fp.init_device('vulkan')",
        lambda m: fp.sort(fp.Tensor.from_numpy(m.device, X)),
        np.sort(X),
    ),
    "atomics in Slang's C++": (
        lambda m: fp.grad(lambda x: fp.sum(x[np.int32([0, 1, 1])] ** 2))(fp.Tensor.from_numpy(cpu(), X)),
        "open fp.init_device('vulkan')",
        lambda m: fp.grad(lambda x: fp.sum(x[np.int32([0, 1, 1])] ** 2))(fp.Tensor.from_numpy(m.device, X)),
        2 * X * F32([1, 2, 0]),
    ),
    "a closed device": (
        lambda m: fp.Tensor.zeros(closed(), 3),
        "open one with fusepy.init_device()",
        lambda m: fp.Tensor.zeros(second(), 3),
        np.zeros(3, F32),
    ),
    # memory and handles
    "more than a buffer holds": (
        lambda m: fp.Tensor.empty(fp.default_device(), ALL),
        "drop tensors that are no longer needed, or work in smaller pieces",
        lambda m: fp.Tensor.zeros(fp.default_device(), ALL >> 30),
        np.zeros(32, F32),
    ),
    "a group with too many registers": (
        lambda m: crowded(),
        "write .options(numthreads=[128]) on the function, for smaller groups",
        lambda m: fp.fuse(lambda x: x + 1).options(numthreads=[128])(X),
        X + 1,
    ),
    "a null handle": (
        lambda m: d(m).handled(null_handle()[0]),
        "pass the object itself, which takes no place in it",
        lambda m: d(m).object(sampler()),
        1,
    ),
    "a texture that no kernel reads, by its handle": (
        lambda m: d(m).shade.set(shown=unread())(X),
        "create it with usage=TextureUsage.shader_resource | …",
        lambda m: d(m).shade.set(shown=texture())(X),
        X + ramp(2, 4, 4)[0, 1, 0],
    ),
    # numbers
    "a number beyond floats": (
        lambda m: m.add(np.array([1e300]), 1.0),
        "scale the array",
        lambda m: m.add(F32(np.array([1e300]) / 1e300), 1.0),
        F32([2]),
    ),
    "a number beyond its type": (
        lambda m: m.twice(np.array([2**40])),
        "use a wider type in Slang, or a number in range",
        lambda m: m.twice(np.array([2**20], np.int32)),
        np.array([2**21], np.int32),
    ),
    "handles that ran out": (
        lambda m: last_sampler(lambda last: d(m).blurred.set(plain=texture(), blur=last)(X)),
        "declare the global without DescriptorHandle, which needs no handle",
        lambda m: last_sampler(lambda last: d(m).sampled.set(plain=texture(), smooth=last)(X)),
        X,
    ),
    # CUDA
    "a texture of one dimension on CUDA": (
        lambda m: as_cuda(m, lambda own: own.line(line(m))),
        "use the Vulkan device of this machine, or a Tensor",
        lambda m: np.stack([d(m).line(line(m), _result="numpy"), d(m).line(tensor(X)).to_numpy()]),
        np.stack([X, X]),
    ),
    "a texture of three components on CUDA": (
        lambda m: as_cuda(m, lambda own: own.fetch3(texture(format=spy.Format.rgb32_float))),
        "declare the parameter with four components",
        lambda m: d(m).fetch(texture()),
        ramp(2, 4, 4)[0, 1, 0],
    ),
    "results in layers of another format on CUDA": (
        lambda m: as_cuda(m, lambda own: own.colour(ramp(2, 2, 3), _result=layers(spy.Format.rgba8_unorm))),
        "use a format of 32-bit channels, or the Vulkan device of this machine",
        lambda m: result(m, layers(spy.Format.rgba32_float)),
        ramp(2, 2, 3)[1],
    ),
    "a texture of another format on CUDA": (
        lambda m: as_cuda(m, lambda own: own.store(fp.grid((2, 4)), ramp(2, 4), texture(format=spy.Format.r16_float))),
        "or use a texture of that format, or Vulkan",
        lambda m: stored(m, texture(format=spy.Format.r32_float)) + stored(m, texture(format=spy.Format.r16_float)),
        2 * ramp(2, 4),
    ),
    "a sampler beside its texture on CUDA": (
        lambda m: as_cuda(m, lambda own: own.sampled.set(plain=texture(), smooth=sampler(**POINT))(X)),
        "pass the sampler as an argument of the function, or use the Vulkan device",
        lambda m: d(m).once(texture(), sampler(**POINT), X),
        X,
    ),
    "two samplers on CUDA": (
        lambda m: as_cuda(m, lambda own: own.twice(texture(), sampler(), sampler(mip_lod_bias=1.0), X)),
        "make it two calls, or use the Vulkan device of this machine",
        lambda m: d(m).twice(texture(), sampler(), sampler(mip_lod_bias=1.0), X),
        X,
    ),
    "a pointer to three halfs on CUDA": (
        lambda m: as_cuda(m, lambda own: own.first3(np.ones((2, 3), np.float16))),
        "take half* instead of half3*, and uint* instead of bool*",
        lambda m: d(m).first(np.arange(6, dtype=np.float16)),
        3,
    ),
    # the cpu device
    "an array of bools on the cpu device": (
        lambda m: on(cpu()).flag(1, fp.Tensor.zeros(cpu(), 3, "bool")),
        "use uint for bool, and half or half4 for half3",
        lambda m: d(m).number(1, tensor(np.uint32([0, 5, 0]))),
        1,
    ),
}


def unread() -> Any:
    return fp.default_device().sgl.create_texture(width=4, height=2, format=spy.Format.rgba32_float, usage=Usage.copy_source)
