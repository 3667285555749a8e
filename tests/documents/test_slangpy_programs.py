"""Programs written for slangpy's functional API run here with nothing changed but the import, and give the same numbers.

slangpy's own numbers are recorded in a file, which a long test holds to slangpy.

Each program is a function of `spy`, which is slangpy in one run and fusepy in the other, of a module `m` with the Slang source
below, and of the module's device. They do in few lines what a page of slangpy's documentation shows: first functions, return
types, broadcasting, mapping, nested types, type methods, textures, tensors, generators, globals, command encoders, constants.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import seldom
from tests.support.slang_functions import F32, ramp

SOURCE = """
float add(float a, float b) { return a + b; }
float3 add_vectors(float3 a, float3 b) { return a + b; }
float multiply(float a, float b) { return a * b; }
float copy_float(float val) { return val; }
void copy(float4 src, out float4 dest) { dest = src; }
void copy_vector<let N : int>(vector<float, N> src, out vector<float, N> dest) { dest = src; }
void copy_generic<T>(T src, out T dest) { dest = src; }

struct Pixel { float r; float g; float b; };
Pixel add_pixels(Pixel a, Pixel b) { return { a.r + b.r, a.g + b.g, a.b + b.b }; }

struct Particle
{
    float3 position;
    float3 velocity;
    __init(float3 p, float3 v) { position = p; velocity = v; }
    [mutating] void update(float dt) { position += velocity * dt; }
    float speed() { return velocity.x + velocity.y + velocity.z; }
};
float3 where_in(Particle p, float t) { return p.position + t * p.velocity; }

void brighten(float4 amount, inout float4 pixel) { pixel += amount; }
float4 sample_texture(Texture2D<float4> tex, SamplerState sampler, float2 uv) { return tex.SampleLevel(sampler, uv, 0); }

int2 ids(int2 value) { return value; }
int2 ids_of_array(int[2] value) { return int2(value[0], value[1]); }
int3 ids3(int3 value) { return value; }
float2 floats(float2 value) { return value; }

float dot_product(float3 v) { return v.x + 10 * v.y + 100 * v.z; }
float sum_array(float values[4]) { return values[0] + 10 * values[1] + 100 * values[2] + 1000 * values[3]; }
float determinant2(float2x2 m) { return m[0][0] * m[1][1] - m[0][1] * m[1][0]; }

struct Params { float k; float3 tint; };
ParameterBlock<Params> params;
uniform float offset;
float add_k(float val) { return val + params.k + offset; }
float3 tinted(float val) { return val * params.tint; }

extern static const int DEGREE = 2;
float power_of(float x) { float y = 1; for (int i = 0; i < DEGREE; i++) y *= x; return y; }

float from_buffer(int i, StructuredBuffer<float> values) { return values[i] * 2; }
"""

TENSORS = """
import "slangpy";
void scale_values(int2 idx, ITensor<float, 2> input, IRWTensor<float, 2> output, float scale)
{
    output[idx] = input[idx] * scale;
}
void sum_rows(int row, Tensor<float, 2> input, RWTensor<float, 1> output)
{
    float sum = 0;
    for (uint col = 0; col < input.shape[1]; col++)
        sum += input.load(row, int(col));
    output[row] = sum;
}
"""

Program = Callable[[Any, Any, Any], dict[str, Any]]


def first_function(spy: Any, m: Any, device: Any) -> dict[str, Any]:
    a, b = ramp(1000), ramp(1000, start=3)
    return {
        "positional": m.add(1.0, 2.0),
        "named": m.add(a=1.0, b=2.0),
        "arrays": m.add(a, b, _result="numpy"),
        "array and number": m.add(a, 5.0, _result="numpy"),
    }


def return_types(spy: Any, m: Any, device: Any) -> dict[str, Any]:
    a, b = ramp(8, 16), ramp(8, 16, start=3)
    out, tensor = np.zeros((8, 16), F32), spy.Tensor.empty(device, shape=(8, 16), dtype=float)
    m.add(a, b, _result=out)
    m.add(a, b, _result=tensor)
    return {
        "numpy": m.add(a, b, _result="numpy"),
        "ndarray": m.add(a, b, _result=np.ndarray),
        "tensor": m.add(a, b, _result="tensor").to_numpy(),
        "Tensor": m.add(a, b, _result=spy.Tensor).to_numpy(),
        "return_type": m.add.return_type(np.ndarray)(a, b),
        "array that is there": out,
        "tensor that is there": tensor.to_numpy(),
    }


def return_textures(spy: Any, m: Any, device: Any) -> dict[str, Any]:
    return {"texture": m.add(ramp(8, 16), 1.0, _result="texture").to_numpy()}


def broadcasting(spy: Any, m: Any, device: Any) -> dict[str, Any]:
    a, b = spy.float3(1, 2, 3), spy.float3(4, 5, 6)
    return {
        "one dimension of 1": m.add(ramp(10, 1, 4), ramp(10, 3, 4), _result="numpy"),
        "leading dimensions": m.add(ramp(3, 4), ramp(10, 3, 4), _result="numpy"),
        "vectors": m.add_vectors(a, b, _result="numpy"),
        "a vector and an array": m.add_vectors(a, ramp(10, 3), _result="numpy"),
    }


def mapping(spy: Any, m: Any, device: Any) -> dict[str, Any]:
    a, b = ramp(10, 3, 4), ramp(10, 3, 4, start=3)
    src, dest, again = ramp(100), np.zeros(100, F32), np.zeros(100, F32)
    m.copy_generic.map(src=(0,), dest=(0,))(src=src, dest=dest)
    m.copy_generic.map(src="float", dest="float")(src=src, dest=again)
    return {
        "one to one": m.add.map((0, 1, 2), (0, 1, 2))(a, b, _result="numpy"),
        "named": m.add.map(a=(0, 1, 2), b=(0, 1, 2))(a=a, b=b, _result="numpy"),
        "padded": m.add.map(b=(1,))(a=ramp(8, 8), b=ramp(8), _result="numpy"),
        "rows": m.add.map(a=(0, 1), b=(0,))(a=ramp(8, 8), b=ramp(8), _result="numpy"),
        "outer product": m.multiply.map(a=(0,), b=(1,))(a=ramp(10), b=ramp(20), _result="numpy"),
        "transposed": m.copy_float.map(val=(1, 0))(val=ramp(10, 20), _result="numpy"),
        "generic by dimensions": dest,
        "generic by type": again,
    }


def nested_types(spy: Any, m: Any, device: Any) -> dict[str, Any]:
    src = {"x": 1.0, "y": ramp(12), "z": 0.0, "w": ramp(12, start=3)}
    names = ("dict", "specialised", "_type", "map")
    made = {name: spy.Tensor.empty(device, shape=(12,), dtype="float4") for name in names}
    m.copy(src=src, dest=made["dict"])
    m.require_function("copy_vector<4>")(src=src, dest=made["specialised"])
    m.copy_vector(src={"_type": "float4", **src}, dest=made["_type"])
    m.copy_generic.map(src="float4", dest="float4")(src=src, dest=made["map"])
    return {name: tensor.to_numpy() for name, tensor in made.items()}


def nested_structs(spy: Any, m: Any, device: Any) -> dict[str, Any]:
    p = {"position": {"x": 1.0, "y": ramp(6), "z": ramp(6, start=2)}, "velocity": ramp(6, 3)}
    tensors = {"_type": "Particle", "position": spy.Tensor.from_numpy(device, ramp(6, 3)), "velocity": spy.float3(0, 0, 1)}
    return {"arrays": m.where_in(p, 2.0, _result="numpy"), "tensors": m.where_in(tensors, ramp(6), _result="numpy")}


def type_methods(spy: Any, m: Any, device: Any) -> dict[str, Any]:
    particles = spy.InstanceTensor(struct=m.Particle.as_struct(), shape=(10,))
    particles.construct(p=spy.float3(0), v=ramp(10, 3))
    particles.update(0.5)
    return {"speed": particles.speed(_result="numpy"), "passed": m.where_in(particles, 1.0, _result="numpy")}


def instance_lists(spy: Any, m: Any, device: Any) -> dict[str, Any]:
    class Particles(spy.InstanceList):
        def __init__(self, name: str, count: int):
            super().__init__(m.Particle.as_struct())
            self.name = name
            self.position = spy.Tensor.empty(device, dtype=m.float3, shape=(count,))
            self.velocity = spy.Tensor.empty(device, dtype=m.float3, shape=(count,))

    position = spy.Tensor.empty(device, dtype=m.float3, shape=(10,))
    velocity = spy.Tensor.empty(device, dtype=m.float3, shape=(10,))
    plain = spy.InstanceList(struct=m.Particle.as_struct(), data={"position": position, "velocity": velocity})
    inherited = Particles("mine", 10)
    for particles in (plain, inherited):
        particles.construct(p=spy.float3(1, 2, 3), v=ramp(10, 3))
        particles.update(0.5)
    assert inherited.name == "mine"
    return {
        "position": position.to_numpy(),
        "velocity": velocity.to_numpy(),
        "inherited": inherited.position.to_numpy(),
        "passed": m.where_in(inherited, 1.0, _result="numpy"),
    }


def textures(spy: Any, m: Any, device: Any) -> dict[str, Any]:
    tex = device.create_texture(
        width=16,
        height=8,
        format=spy.Format.rgba32_float,
        usage=spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access,
        data=ramp(8, 16, 4),
    )
    m.brighten(spy.float4(0.5), tex)
    brighter = tex.to_numpy()
    m.copy(src=ramp(8, 16, 4, start=7), dest=tex)
    copied = tex.to_numpy()
    m.copy(src={"x": 1.0, "y": ramp(8, 16), "z": 0.0, "w": 1.0}, dest=tex)
    sampler = device.create_sampler(min_filter=spy.TextureFilteringMode.point, mag_filter=spy.TextureFilteringMode.point)
    uv = (np.stack(np.meshgrid(np.arange(16), np.arange(8)), -1).astype(F32) + F32(0.5)) / np.array([16, 8], F32)
    return {
        "brighter": brighter,
        "copied": copied,
        "from a dict": tex.to_numpy(),
        "sampled": m.sample_texture(tex, sampler, uv, _result="numpy"),
    }


def tensors(spy: Any, m: Any, device: Any) -> dict[str, Any]:
    one = spy.Tensor.empty(device, dtype=m.Pixel, shape=(16, 16))
    two = spy.Tensor.empty(device, dtype=m.Pixel, shape=(16, 16))
    cursor = one.cursor()
    for x in range(16):
        for y in range(16):
            cursor[x + y * 16].write({"r": (x + y) / 32.0, "g": 0, "b": 2})
    cursor.apply()
    two.copy_from_numpy(ramp(16 * 16 * 3))
    result = spy.Tensor.empty(device, dtype=m.Pixel, shape=(16, 16))
    m.add_pixels(one, two, _result=result)
    made = m.add_pixels(one, two)
    read = [[cursor[i].read()[c] for c in "rgb"] for cursor in (result.cursor(), made.cursor()) for i in (0, 5, 255)]
    return {"read": np.array(read, F32), "shape": np.array(tuple(result.shape))}


def tensors_of_numbers(spy: Any, m: Any, device: Any) -> dict[str, Any]:
    a = spy.Tensor.from_numpy(device, ramp(10, 3))
    zeros, like = spy.Tensor.zeros(device, shape=(4, 5), dtype=float), spy.Tensor.zeros_like(a)
    empty = spy.Tensor.empty_like(a)
    empty.copy_from_numpy(ramp(10, 3))
    colours = spy.Tensor.empty(device, shape=(10,), dtype="float3")
    colours.copy_from_numpy(ramp(10, 3))
    viewed = empty.view(shape=(5, 6))
    return {
        "zeros": zeros.to_numpy(),
        "like": like.to_numpy(),
        "empty": empty.to_numpy(),
        "viewed": viewed.to_numpy(),
        "shapes": np.array([*a.shape, *like.shape, *colours.shape, *viewed.shape]),
        "as vectors": m.dot_product(a).to_numpy(),
        "of vectors": m.dot_product(colours).to_numpy(),
        "as arrays": m.sum_array(spy.Tensor.from_numpy(device, ramp(10, 4))).to_numpy(),
        "as matrices": m.determinant2(spy.Tensor.from_numpy(device, ramp(5, 2, 2))).to_numpy(),
    }


def grids(spy: Any, m: Any, device: Any) -> dict[str, Any]:
    inferred = np.zeros((4, 6, 2), np.int32)
    m.ids(spy.grid(shape=(-1, -1), stride=(4, 4)), _result=inferred)
    return {
        "grid": m.ids(spy.grid(shape=(4, 6)), _result="numpy"),
        "array": m.ids_of_array(spy.grid(shape=(4, 6)), _result="numpy"),
        "stride": m.ids(spy.grid(shape=(4, 6), stride=(2, 3)), _result="numpy"),
        "inferred": inferred,
    }


def ids(spy: Any, m: Any, device: Any) -> dict[str, Any]:
    call, array, thread = (np.zeros((4, 6, n), np.int32) for n in (2, 2, 3))
    m.ids(spy.call_id(), _result=call)
    m.ids_of_array(spy.call_id(), _result=array)
    m.ids3(spy.thread_id(), _result=thread)
    assert len(np.unique(thread.reshape(-1, 3), axis=0)) == 24
    return {"call_id": call, "array": array, "thread_id": np.sort(thread[..., 0].reshape(-1))}


def random_numbers(spy: Any, m: Any, device: Any) -> dict[str, Any]:
    """Which thread draws which number is each library's own business; that they are drawn, repeatable, and in range is not."""
    drawn = {name: np.zeros((64, 64, 2), F32) for name in ("one", "again", "other seed")}
    hashes, others = (np.zeros((64, 64, 2), np.int32) for _ in range(2))
    m.floats(spy.rand_float(min=0, max=10), _result=drawn["one"])
    m.floats(spy.rand_float(min=0, max=10), _result=drawn["again"])
    m.floats(spy.rand_float(min=0, max=10, seed=7), _result=drawn["other seed"])
    m.ids(spy.wang_hash(), _result=hashes)
    m.ids(spy.wang_hash(seed=7), _result=others)
    one = drawn["one"]
    return {
        "repeatable": np.array_equal(one, drawn["again"]),
        "seeds differ": not np.array_equal(one, drawn["other seed"]) and not np.array_equal(hashes, others),
        "in range": bool((one >= 0).all() and (one < 10).all() and one.min() < 0.1 and one.max() > 9.9),
        "uniform": abs(float(one.mean()) - 5) < 0.2,
        "hashes differ": len(np.unique(hashes)) > 8100,
    }


def set_globals(spy: Any, m: Any, device: Any) -> dict[str, Any]:
    add_k = m.add_k.set({"params": {"k": 10.0, "tint": spy.float3(1, 2, 3)}, "offset": 0.5})
    first = add_k(ramp(10), _result="numpy")
    other = add_k.set({"params": {"k": 20.0, "tint": spy.float3(1, 2, 3)}, "offset": 1.5})(ramp(10), _result="numpy")
    called = m.add_k.set(lambda call: {"params": {"k": 30.0, "tint": spy.float3(0)}, "offset": 0.0})(ramp(10), _result="numpy")
    tinted = m.tinted.set({"params": {"k": 0.0, "tint": spy.float3(1, 2, 3)}})(ramp(10), _result="numpy")
    return {"set": first, "changed": other, "from a function": called, "vector": tinted}


def command_encoders(spy: Any, m: Any, device: Any) -> dict[str, Any]:
    a, b, result = (spy.Tensor.from_numpy(device, ramp(10, start=s)) for s in (0, 5, 0))
    encoder = device.create_command_encoder()
    m.add.append_to(encoder, a, b, _result=result)
    before = result.to_numpy().copy()
    device.submit_command_buffer(encoder.finish())
    return {"before": before, "after": result.to_numpy()}


def constants(spy: Any, m: Any, device: Any) -> dict[str, Any]:
    return {
        "default": m.power_of(ramp(10), _result="numpy"),
        "three": m.power_of.constants({"DEGREE": 3})(ramp(10), _result="numpy"),
    }


def buffers(spy: Any, m: Any, device: Any) -> dict[str, Any]:
    buffer = device.create_buffer(
        element_count=10, struct_size=4, usage=spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access, data=ramp(10)
    )
    return {"read": m.from_buffer(np.array([3, 0, 9], np.int32), buffer, _result="numpy")}


def whole_tensors(spy: Any, m: Any, device: Any) -> dict[str, Any]:
    data = spy.Tensor.from_numpy(device, ramp(8, 5))
    scaled = spy.Tensor.empty(device, shape=(8, 5), dtype=float)
    sums = spy.Tensor.empty(device, shape=(8,), dtype=float)
    m.scale_values(spy.grid(shape=(8, 5)), data, scaled, scale=2.0)
    m.sum_rows(spy.grid(shape=(8,)), data, sums)
    return {"scaled": scaled.to_numpy(), "sums": sums.to_numpy()}


PROGRAMS: dict[str, Program] = {
    f.__name__: f
    for f in (
        first_function,
        return_types,
        return_textures,
        broadcasting,
        mapping,
        nested_types,
        nested_structs,
        type_methods,
        instance_lists,
        textures,
        tensors,
        tensors_of_numbers,
        grids,
        ids,
        random_numbers,
        set_globals,
        command_encoders,
        constants,
        buffers,
    )
}
RECORDED = Path(__file__).with_name("slangpys_results.npz")


@pytest.fixture(scope="module")
def fusepy_module(device: Any) -> Any:
    return fp.Module.load_from_source(device, "slangpy_programs", SOURCE)


@pytest.fixture(scope="module")
def recorded() -> dict[str, dict[str, Any]]:
    """What the programs gave with slangpy, by program and by name of the result."""
    found: dict[str, dict[str, Any]] = {}
    with np.load(RECORDED) as arrays:
        for key in arrays.files:
            program, _, name = key.partition(": ")
            found.setdefault(program, {})[name] = arrays[key]
    return found


def compare(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert ours.keys() == theirs.keys()
    for name, expected in theirs.items():
        got, wanted = np.asarray(ours[name]), np.asarray(expected)
        assert got.shape == wanted.shape, name
        np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("name", seldom(PROGRAMS, "constants"))
def test_a_program_gives_the_numbers_of_slangpy(name: str, device: Any, fusepy_module: Any, recorded: Any) -> None:
    compare(PROGRAMS[name](fp, fusepy_module, device), recorded[name])


@pytest.mark.rest  # Slang parses slangpy's library; tests/backend/marshals/test_slangpy_arrays.py has its tensors
def test_a_program_that_imports_slangpys_tensors(device: Any, recorded: Any) -> None:
    compare(whole_tensors(fp, fp.Module.load_from_source(device, "whole", TENSORS), device), recorded["whole_tensors"])


@pytest.mark.long  # slangpy parses its library for each of these kernels
def test_the_recorded_numbers_are_those_of_slangpy(device: Any, recorded: dict[str, dict[str, Any]]) -> None:
    """``FUSEPY_UPDATE_GOLDEN=1`` records them anew."""
    import slangpy

    own = slangpy.create_device(type=device.sgl.info.type)
    module = slangpy.Module.load_from_source(own, "slangpy_programs", SOURCE)
    found = {name: program(slangpy, module, own) for name, program in PROGRAMS.items()}
    found["whole_tensors"] = whole_tensors(slangpy, slangpy.Module.load_from_source(own, "whole", TENSORS), own)
    own.close()
    if os.environ.get("FUSEPY_UPDATE_GOLDEN"):
        np.savez_compressed(
            RECORDED, **{f"{p}: {name}": np.asarray(x) for p, given in found.items() for name, x in given.items()}
        )
        return
    assert found.keys() == recorded.keys()
    for name, given in found.items():
        compare(given, recorded[name])
