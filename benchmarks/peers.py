"""Opening what is measured: fusepy, slangpy's functional API, and kernels written by hand against sgl."""

from __future__ import annotations

import importlib
import json
import os
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import slangpy as spy

import fusepy as fp
from benchmarks.programs import SOURCE


def fusepy_device(kind: str, *, deferred: bool = True) -> Any:
    return fp.init_device(kind, deferred=deferred)


def slangpy_device(kind: str, *, validation: bool = True) -> spy.Device:
    """A device for slangpy: with its defaults, as `spy.create_device` opens it, or without slang-rhi's validation layer."""
    if validation:
        return spy.create_device(spy.DeviceType[kind])
    return spy.Device(
        type=spy.DeviceType[kind],
        enable_rhi_validation=False,
        enable_hot_reload=False,
        compiler_options={"include_paths": [spy.SHADER_PATH]},
    )


def slangpy_tensor(device: spy.Device, array: Any, dtype: Any) -> Any:
    """A slangpy tensor of an array whose last axis holds the components of `dtype` where that is a vector."""
    shape = array.shape[:-1] if dtype.shape.as_tuple() else array.shape
    made = spy.Tensor.empty(device, shape, dtype)
    made.copy_from_numpy(array)
    return made


def is_hardware(device: Any) -> bool:
    """Whether a slangpy device is a GPU."""
    name = device.info.adapter_name.lower()
    return device.info.type.name != "cpu" and "llvmpipe" not in name and "swiftshader" not in name


def resident_bytes() -> int:
    """Resident memory of this process, as Linux counts it."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def optional(module: str, case: str, peer: str) -> Any:
    """A module that may be missing, or sees no GPU; then the runner is told why the peer is not in its tables."""
    try:
        found = importlib.import_module(module)
        usable = found.cuda.is_available() if module == "torch" else found.default_backend() == "gpu"
        why = "" if usable else f"{module} sees no GPU"
    except (ImportError, RuntimeError) as error:
        found, why = None, f"{type(error).__name__}: {error}"
    if why and (file := os.environ.get("FUSEPY_BENCH_SKIPS")):
        with open(file, "a", encoding="utf-8") as skips:
            skips.write(json.dumps({"case": case, "peer": peer, "why": why, "extra_info": {}}) + "\n")
    return None if why else found


class Raw:
    """A hand-written kernel, called as cheaply as sgl allows: one block of parameters, one dispatch, one submission."""

    def __init__(self, device: spy.Device, session: spy.SlangSession, name: str, source: str, per_group: int, layout: str):
        module = session.load_module_from_source(name, source)
        program = session.link_program([module], [module.entry_point("run")])
        self.device = device
        self.per_group = per_group
        self._pipeline = device.create_compute_pipeline(program)
        self._root = device.create_root_shader_object(program)
        cursor = spy.ShaderCursor(self._root)
        on_cuda = device.info.type.name == "cuda"  # there a module-scope uniform costs an upload per launch
        self._cursor = cursor.find_entry_point(0)["p"] if on_cuda else cursor["p"]
        if on_cuda:
            parameters = program.layout.entry_points[0].parameters
            size = next(parameters[i] for i in range(len(parameters)) if parameters[i].name == "p").type_layout.size
        else:
            size = program.reflection["p"].type_layout.size
        self._struct = struct.Struct(f"{layout}{size - struct.calcsize(layout)}x")  # targets differ in tail padding
        self._bytes = bytearray(size)
        self._data = np.frombuffer(self._bytes, np.uint8)

    def bind(self, **resources: Any) -> None:
        """Binds textures and the like by name."""
        cursor = spy.ShaderCursor(self._root)
        for name, resource in resources.items():
            cursor[name] = resource

    def __call__(self, values: Sequence[float], count: int) -> None:
        groups = -(-count // self.per_group)
        self.dispatch(values, [groups, 1, 1] if groups <= ROW else [ROW, -(-groups // ROW), 1])

    def dispatch(self, values: Sequence[float], size: list[int]) -> None:
        """One dispatch of this many groups along each axis."""
        encoder = self.device.create_command_encoder()
        self.record(encoder, values, size)
        self.device.submit_command_buffer(encoder.finish())

    def record(self, encoder: spy.CommandEncoder, values: Sequence[float], size: list[int]) -> None:
        """The same into an encoder; a kernel can be in it once."""
        self._struct.pack_into(self._bytes, 0, *values)
        self._cursor.set_data(self._data)
        compute = encoder.begin_compute_pass()
        compute.bind_pipeline(self._pipeline, self._root)
        compute.dispatch_compute(size)
        compute.end()


def ranked(search: Mapping[str, Sequence[float]]) -> list[str]:
    """The hand-written kernels that were tried, the fastest first, by their best times: a short search meets noise.

    The first three are measured again beside the other peers, and the fastest of them counts.
    """
    return sorted(search, key=lambda name: min(search[name]))


ROW = 32768  # thread groups along x; lavapipe takes at most 65,535


def raw_source(device: spy.Device, fields: str, threads: int, per_group: int, body: str, more: str = "") -> str:
    """A kernel around `body`, which finds ``lane``, ``group`` and ``first``, the first element of the group.

    Args:
        more: declarations beside `SOURCE`.
    """
    on_cuda = device.info.type.name == "cuda"
    lines = [SOURCE, more, f"struct P {{ {fields} }};\n" + ("" if on_cuda else "uniform P p;\n")]
    argument = ", uniform P p" if on_cuda else ""
    lines.append(f'[shader("compute")] [numthreads({threads}, 1, 1)]')
    lines.append(f"void run(uint3 gid : SV_GroupID, uint lane : SV_GroupIndex{argument})\n{{")
    lines.append(f"    uint group = gid.y * {ROW} + gid.x;\n    uint first = group * {per_group};\n{body}\n}}")
    return "\n".join(lines)


def raw_buffer(device: spy.Device, array: Any = None, nbytes: int = 0) -> spy.Buffer:
    usage = spy.BufferUsage.unordered_access | spy.BufferUsage.shader_resource
    buffer = device.create_buffer(size=nbytes or array.nbytes, usage=usage)
    if array is not None:
        buffer.copy_from_numpy(array)
    return buffer


def elements(threads: int, per_thread: int, statement: str, unroll: bool = False, leave: bool = False) -> tuple[int, int, str]:
    """Typed pointers: one or several elements per thread, a group apart. Returns threads, elements per group, body.

    Args:
        leave: return at the end of the data, instead of passing over each element beyond it.
    """
    per_group = threads * per_thread
    start = "    uint start = first + lane;\n"  # summed outside the loop: inside it, lavapipe needs up to twice the time
    if per_thread == 1:
        return threads, per_group, f"{start}    uint i = start;\n    if (i < p.count) {{ {statement} }}"
    loop = "[ForceUnroll]" if unroll else "[loop]"
    body = f"{start}    {loop} for (uint k = 0; k < {per_thread}; ++k)\n    {{\n        uint i = start + k * {threads};\n"
    guarded = f"if (i >= p.count) return; {statement}" if leave else f"if (i < p.count) {{ {statement} }}"
    return threads, per_group, body + f"        {guarded}\n    }}"


def quads(threads: int, per_thread: int, call: str, unroll: bool) -> tuple[int, int, str]:
    """Four float3 as three float4, through float4 pointers ``p.a`` and ``p.r``; the count must be a multiple of a group's."""
    loop = "[ForceUnroll]" if unroll else "[loop]"
    body = f"""    uint start = first / 4 + lane;
    {loop} for (uint k = 0; k < {per_thread}; ++k)
    {{
        uint j = (start + k * {threads}) * 3;
        if (j * 4 + 12 > p.count * 3) return;
        float4 x = p.a[j], y = p.a[j + 1], z = p.a[j + 2];
        float3 c0 = {call.format("x.xyz")}, c1 = {call.format("float3(x.w, y.xy)")};
        float3 c2 = {call.format("float3(y.zw, z.x)")}, c3 = {call.format("z.yzw")};
        p.r[j] = float4(c0, c1.x);
        p.r[j + 1] = float4(c1.yz, c2.xy);
        p.r[j + 2] = float4(c2.z, c3);
    }}"""
    return threads, 4 * threads * per_thread, body
