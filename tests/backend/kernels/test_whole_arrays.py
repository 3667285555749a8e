"""Whole arrays that are no arguments of a call: `Tensor<T, D>` as globals, in parameter blocks, and of raw entry points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fusepy as fp
from tests.support.examples import examples
from tests.support.selection import daily
from tests.support.slang_functions import F32, ramp, same
from tests.support.whole_arrays import COORDINATES, ELEMENTS, everywhere, numbers, particles, views

pytestmark = pytest.mark.req("T21")

KINDS = [(element, 1) for element in ELEMENTS] + [("float", 2), ("float3", 2), ("float", 3)]


def source() -> str:
    lines = ["import fusepy;", "struct Particle { float3 at; int id; half weight; };"]
    for element, rank in [*KINDS, ("Particle", 1)]:
        name, at, of = f"{element}_{rank}", COORDINATES[rank], f"{element},{rank}"
        lines.append(f"uniform Tensor<{of}> read_{name}; uniform RWTensor<{of}> write_{name};")
        lines.append(f"{element} get_{name}({at} p) {{ return read_{name}[p]; }}")
        lines.append(f"void put_{name}({at} p, {element} v) {{ write_{name}[p] = v; }}")
    return "\n".join(lines) + OTHERS


OTHERS = """
struct Scene { Tensor<float3,1> points; NDBuffer<float,2> heights; float scale; };
struct Levels { Tensor<float,2> mips[2]; int level; };
ParameterBlock<Scene> scene;
uniform Levels levels;
uniform DiffTensor<float,1> gradients;
uniform AtomicTensor<int,1> bins;
float seen(int i, int2 p) { return scene.points[i].y * scene.scale + scene.heights[p]; }
float mip(int2 p) { return levels.mips[levels.level][p]; }
[Differentiable] float squared(int i, no_diff float x) { return gradients[i] * gradients[i]; }
void backwards(int i) { bwd_diff(squared)(i, 0.0, 1.0); }
void tally(int bin) { bins.add(bin, 1); }

[shader("compute")] [numthreads(8, 1, 1)]
void entry(Tensor<float,1> a, NDBuffer<float,1> b, Tensor<float2,2> c, NDBuffer<float,1> result, int i : SV_DispatchThreadID)
{
    if (i < int(result.shape[0]))
        result[i] = a[i] + b[i] + c[1, i].y;
}
[numthreads(8, 1, 1)]
void unmarked(Tensor<float,1> a, NDBuffer<float,1> b, Tensor<float2,2> c, NDBuffer<float,1> result, int i : SV_DispatchThreadID)
{
    if (i < int(result.shape[0]))
        result[i] = a[i] + b[i] + c[1, i].y;
}
void plain(int i, Tensor<float,1> a, NDBuffer<float,1> b, Tensor<float2,2> c, NDBuffer<float,1> result)
{
    result[i] = a[i] + b[i] + c[1, i].y;
}
void doubled(int i, NDBuffer<float,1> values) { values[i] *= 2; }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "whole_globals", source())


def packed_otherwise(device: Any, element: str) -> bool:
    return device.target.kind == "cuda" and element in ("bool", "half3")


@pytest.mark.req("F2", "F17")
@examples(3)
@given(data=st.data())
@pytest.mark.parametrize(("element", "rank"), [*daily(KINDS[:-3], "int"), *daily(KINDS[-3:], "float3")])
def test_a_global_is_any_view(m: Any, device: Any, element: str, rank: int, data: st.DataObject) -> None:
    if packed_otherwise(device, element):
        pytest.skip("CUDA packs it otherwise, which is an error")
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    tensor, array = data.draw(views(device, element, rank))
    name = f"{element}_{rank}"
    at, places = everywhere(random, array.shape[:rank])
    get = m[f"get_{name}"].set({f"read_{name}": tensor})
    same(get(at, _result="numpy"), array[places])
    if 0 not in tensor.strides:
        values = numbers(random, array[places].shape, array.dtype)
        m[f"put_{name}"].set({f"write_{name}": tensor})(at, values)
        wanted = array.copy()
        wanted[places] = values
        same(tensor.to_numpy(), wanted)
        same(get(at, _result="numpy"), values)  # read anew, though nothing was set again


@pytest.mark.req("F2")
def test_structs_and_arrays_of_the_host(m: Any, device: Any) -> None:
    given = particles(m, np.random.default_rng(1), (5,))
    tensor = fp.Tensor.from_numpy(device, given, m.Particle)
    got = m.get_Particle_1.set(read_Particle_1=tensor[::-1])([1, 4], _result="numpy")
    for field in ("at", "id", "weight"):
        same(got[field], given[[3, 0]][field])
    points = np.arange(6, dtype=F32).reshape(2, 3)
    for held in (points, points.tolist(), fp.Tensor.from_numpy(device, points), fp.Tensor.from_numpy(device, points, "float3")):
        same(m.get_float3_1.set(read_float3_1=held)(np.int32([1, 0]), _result="numpy"), points[::-1])
    assert m.get_int_1.set(read_int_1=[4, 5])([1, 0]) == [5, 4]


@pytest.mark.req("F2")
def test_in_structs_parameter_blocks_and_with_gradients(m: Any, device: Any) -> None:
    heights, points = fp.Tensor.from_numpy(device, ramp(3, 4)), ramp(2, 3)
    seen = m.seen.set(scene={"points": points, "heights": heights.T, "scale": 2.0})
    same(seen(1, fp.grid((4, 3)), _result="numpy"), 2 * points[1, 1] + ramp(3, 4).T)
    same(seen.set(scene={"scale": 0.0, "heights": heights[:, 1:3]})(0, fp.grid((3, 2)), _result="numpy"), ramp(3, 4)[:, 1:3])
    mips = [fp.Tensor.from_numpy(device, ramp(2, 2)), ramp(1, 2, start=9)]
    for level, wanted in enumerate((ramp(2, 2), ramp(1, 2, start=9))):
        same(m.mip.set(levels={"mips": mips, "level": level})(fp.grid(wanted.shape), _result="numpy"), wanted)
    counts = fp.Tensor.zeros(device, 3, "int")
    m.tally.set(bins=counts)([0, 2, 2, 0, 2])
    assert counts.tolist() == [2, 0, 3]
    x = fp.Tensor([1, 2, 3], device=device, needs_grads=True)
    m.backwards.set(gradients=x)([0, 1, 2, 2])
    assert x.grad is not None
    assert x.grad.tolist() == [2, 4, 12]
    m.backwards.set(gradients=x.detach())([0, 1])  # without gradients there is nothing to add to
    assert x.grad.tolist() == [2, 4, 12]


@pytest.mark.req("F10")
@pytest.mark.parametrize("name", ["entry", "unmarked", "plain"])
def test_raw_entry_points(m: Any, device: Any, name: str) -> None:
    a, b, c = ramp(4), ramp(8, start=5), ramp(4, 3, 2)
    result = fp.Tensor.zeros(device, 8)
    wanted = a[:3] + b[::2][:3] + c.transpose(1, 0, 2)[1, :3, 1]
    # strided views, arrays of the host, vectors as trailing axes
    flat, steps = fp.Tensor.from_numpy(device, a), fp.Tensor.from_numpy(device, b)[::2]
    rows = fp.Tensor.from_numpy(device, c).transpose(1, 0, 2)
    m[name].dispatch(3, flat, steps, rows, result[::-2][:3])
    same(result.to_numpy()[::-2][:3], wanted)
    assert not result.to_numpy()[::2].any()
    m[name].dispatch(3, a=a, b=steps, c=rows, result=result[:3])
    same(result.to_numpy()[:3], wanted)
    m[name].dispatch(3, a=a.tolist(), b=steps, c=rows, result=result[3:6])
    same(result.to_numpy()[3:6], wanted)


def test_ndbuffer_is_read_and_written_as_an_argument(m: Any, device: Any) -> None:
    for values in (fp.Tensor([1, 2, 3], device=device), np.float32([1, 2, 3])):
        m.doubled(fp.grid((3,)), values)
        assert np.asarray(values).tolist() == [2, 4, 6]
    assert str(m["NDBuffer<float,1>"].type) == "fusepy::RWTensor<float,1>"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m, d: m.get_float_1.set(read_float_1=fp.Tensor.zeros(d, (2, 2)))(0), r"a tensor of float with 1 axes"),
        (lambda m, d: m.get_float_1.set(read_float_1=fp.Tensor.zeros(d, 2, int))(0), r"saw: +Tensor<int>"),
        (lambda m, d: m.get_float3_1.set(read_float3_1=np.zeros((2, 2), F32))(0), r"Tensor<float>\[2, 2\]"),
        (lambda m, d: m.get_float_1.set(read_float_1=np.zeros(2))(0), r"Tensor<double>"),
        (lambda m, d: m.get_int_1.set(read_int_1=[0.5])(0), r"saw: +\(0\.5,\)"),
        (lambda m, d: m.get_float_1.set(read_float_1=3.0)(0), "a Tensor of float, or an array"),
        (lambda m, d: m.put_float_1.set(write_float_1=np.zeros(2, F32))(0, 1.0), "expected: a Tensor of float\n"),
        (lambda m, d: m.put_float_1.set(write_float_1=fp.Tensor.zeros(d, 1).broadcast_to(3))(0, 1.0), "repeats elements"),
        (lambda m, d: m.mip.set(levels={"mips": [ramp(2, 2), 3], "level": 1})([0, 0]), r"levels\.mips\[1\]"),
        (lambda m, d: m.entry.dispatch(1, a=1.0, b=1.0, c=1.0, result=1.0), r"entry: a cannot be set"),
    ],
)
def test_what_is_no_such_array(m: Any, device: Any, call: Any, words: str) -> None:
    with pytest.raises((fp.UnsupportedArgumentError, fp.ShapeError), match=rf"(?s){words}.*hint"):
        call(m, device)
    assert m.get_float_1.set(read_float_1=fp.Tensor([1, 2], device=device))(1) == 2
