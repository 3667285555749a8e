"""Programs after hints about arrays that Slang takes whole: fusepy's, slangpy's, arguments, members and globals."""

from __future__ import annotations

import functools
from typing import Any
from unittest import mock

import numpy as np

import fusepy as fp
from fusepy.backend.kernels import whole_arrays
from fusepy.backend.marshals import whole
from tests.errors.hints.support import Program, X, fused, load, tensor, zeros
from tests.support.slang_functions import F32, ramp

SOURCE = """
import fusepy;
struct Target { RWTensor<float, 1> t; };
struct Ray { float3 position; float reach; };
uniform Tensor<float, 1> table;
uniform Tensor<Ray, 1> rays;
uniform RWTensor<float, 1> log;
float at(int i, Tensor<float, 1> t) { return t[i]; }
float at2(int2 p, Tensor<float, 2> t) { return t[p]; }
float one_index(Tensor<float, 2> t) { return t[1]; }
float two_indices(Tensor<float, 2> t) { return t[0, 1]; }
float3 get3(int i, Tensor<float3, 1> t) { return t[i]; }
float3 get1(int i, Tensor<float, 2> t) { return float3(t[i, 0], t[i, 1], t[i, 2]); }
void put(int i, float v, RWTensor<float, 1> t) { t[i] = v; }
void put_member(int i, Target target) { target.t[i] = 1; }
void copy(int i, Tensor<float, 1> from, RWTensor<float, 1> to) { to[i] = 2 * from[i]; }
void twice(int i, RWTensor<float, 1> t) { t[i] = 2 * t[i]; }
float sums(float* a, int* b) { return a[1] + b[1]; }
void fill(int i, float v, RWStructuredBuffer<float> b) { b[i] = v; }
float looked_up(int i) { return table[i]; }
float reach(int i) { return rays[i].reach; }
float logged(int i) { log[i] = 2 * i; return log[i]; }
"""
SLANGPYS = """
import slangpy;
uniform Tensor<float, 1> table;
float at(int i, Tensor<float, 1> t) { return t[i]; }
float with_gradient(int i, DiffTensor<float, 1> t) { return t[i]; }
float differentiable(int i, IDiffTensor<float, 1> t) { return t[i]; }
float looked_up(int i) { return i; }
"""
BOTH = "import fusepy; import slangpy; float f(int i, Tensor<float, 1> t) { return t[i]; }"
ONE = BOTH.replace("import slangpy;", "")


@functools.cache
def on(device: Any, name: str, source: str) -> Any:
    return fp.Module.load_from_source(device, name, source)


def filled(m: Any, buffer: Any) -> Any:
    m.fill(I, 1.0, buffer)
    return buffer.numpy()


def a(m: Any) -> Any:
    return on(m.device, "hint_arrays", SOURCE)


def theirs(m: Any) -> Any:
    return on(m.device, "hint_slangpys", SLANGPYS)


I = fp.grid((3,))  # noqa: E741


def limited(call: Any) -> Any:
    """A call where no more than three elements can be reached, in the place of 2**31."""
    with mock.patch.object(whole, "LIMIT", 4), mock.patch.object(whole_arrays, "LIMIT", 4):
        return call()


def without_handles(call: Any) -> Any:
    """A call on a device that has no handles for buffers, as the cpu device."""
    buffer = mock.Mock()
    type(buffer).descriptor_handle_ro = mock.PropertyMock(side_effect=RuntimeError("not implemented"))
    with mock.patch.object(whole, "memory_of", return_value=buffer):
        return call()


def all_handles_taken(call: Any) -> Any:
    with mock.patch.object(whole, "memory_of", return_value=mock.Mock(descriptor_handle_ro=None)):
        return call()


def written(function: Any, array: Any, *args: Any) -> Any:
    function(*args)
    return array


PIXELS = ramp(3, 4)
T = functools.partial(tensor, X)
PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    "a member that is written": (
        lambda m: a(m).put_member(I, {"t": zeros(3)}),
        "an array that is written is an argument by itself, not a member of one",
        lambda m: written(a(m).put, (t := zeros(3)), I, 1.0, t),
        np.ones(3, F32),
    ),
    "one index of two": (
        lambda m: a(m).one_index(tensor(ramp(2, 3))),
        "a tensor takes one index per axis: t[y, x], or t[int2(x, y)]",
        lambda m: a(m).two_indices(tensor(ramp(2, 3))),
        ramp(2, 3)[0, 1],
    ),
    "components that lie apart": (
        lambda m: a(m).get3(I, tensor(PIXELS)[:, :3]),
        "copy it into a Tensor of float3, or take it as elements of float with one axis more",
        lambda m: (
            a(m).get3(I, tensor(PIXELS[:, :3], m.float3), _result="numpy") + a(m).get1(I, tensor(PIXELS)[:, :3], _result="numpy")
        ),
        2 * PIXELS[:, :3],
    ),
    "components of another number": (
        lambda m: a(m).get3(I, fp.vcast(tensor(PIXELS), a(m)["Tensor<float3,1>"])),
        "give it trailing axes (3,)",
        lambda m: a(m).get3(I, fp.vcast(tensor(ramp(3, 3)), a(m)["Tensor<float3,1>"]), _result="numpy"),
        ramp(3, 3),
    ),
    "too many elements": (
        lambda m: limited(lambda: a(m).at(I, tensor(ramp(9)))),
        "pass a part of it",
        lambda m: limited(lambda: a(m).at(I, tensor(ramp(9))[3:6], _result="numpy")),
        ramp(9)[3:6],
    ),
    "the copy of a list": (
        lambda m: a(m).fill(I, 1.0, [0.0, 0.0, 0.0]),
        "copy it to the device: Tensor.from_numpy(device, array)",
        lambda m: written(a(m).fill, (t := fp.Tensor.from_numpy(m.device, np.zeros(3, F32))), I, 1.0, t),
        np.ones(3, F32),
    ),
    "an array that is read and written": (
        lambda m: a(m).copy(I, (x := X.copy()), x),
        "pass a copy",
        lambda m: written(a(m).copy, (x := X.copy()), I, x.copy(), x),
        2 * X,
    ),
    "an array that a fused call gets twice": (
        lambda m: fused(lambda i, t: a(m).copy(i, t, t), I, T()),
        "pass the array once, or a copy of it",
        lambda m: (
            written(fused, (t := T()), lambda i, t: a(m).twice(i, t), I, t).to_numpy()
            + written(fused, (t := T()), lambda i, f, t: a(m).copy(i, f, t), I, t.copy(), t).to_numpy()
        ),
        4 * X,
    ),
    "one array as two types": (
        lambda m: fused(lambda x: a(m).sums(x, x), [0, 1, 2]),
        "pass an array for each of them",
        lambda m: a(m).sums(np.arange(3, dtype=np.float32), np.arange(3, dtype=np.int32)),
        2,
    ),
    "what is computed where a parameter takes memory": (
        lambda m: fp.fuse(lambda x: a(m).fill(I, 1.0, x * 2))(T()),
        "what is computed is not in memory yet: return it, and pass that as the RWStructuredBuffer<float>",
        lambda m: filled(a(m), fp.fuse(lambda x: x * 2)(T())),
        F32([1, 1, 1]),
    ),
    "what is computed where a whole array would take it": (
        lambda m: fp.fuse(lambda x: a(m).sums(x * 2, np.arange(3, dtype=np.int32)))(T()),
        "or declare Tensor<float, 1>, which takes it",
        lambda m: fp.fuse(lambda x: a(m).at(I, x * 2))(X),
        2 * X,
    ),
    # globals
    "too many elements of a global": (
        lambda m: limited(lambda: a(m).looked_up.set(table=tensor(ramp(9)))(I)),
        "set a part of it",
        lambda m: limited(lambda: a(m).looked_up.set(table=tensor(ramp(9))[3:6])(I, _result="numpy")),
        ramp(9)[3:6],
    ),
    "a global that repeats elements": (
        lambda m: a(m).logged.set(log=zeros(1).broadcast_to(3))(I),
        "set a real tensor, not a broadcast view",
        lambda m: a(m).logged.set(log=zeros(3))(I, _result="numpy"),
        F32([0, 2, 4]),
    ),
    "a global of another kind of memory": (
        lambda m: a(m).logged.set(log=X)(I),
        "copy it to the device: Tensor.from_numpy(device, array)",
        lambda m: a(m).logged.set(log=fp.Tensor.from_numpy(m.device, X))(I, _result="numpy"),
        F32([0, 2, 4]),
    ),
    "a global array of slangpy": (
        lambda m: theirs(m).looked_up.set(table=fp.Tensor.from_numpy(m.device, X[None]))(I),
        "give a Tensor with 1 axis",
        lambda m: theirs(m).looked_up.set(table=T())(I, _result="numpy"),  # it returns the index
        F32([0, 1, 2]),
    ),
    # slangpy's arrays
    "both libraries": (
        lambda m: load("hint_both", BOTH),
        "the module imports fusepy and slangpy, whose types have the same names: import one of them",
        lambda m: load("hint_one", ONE).f(I, T(), _result="numpy"),
        X,
    ),
    "a tensor without gradients": (
        lambda m: theirs(m).with_gradient(I, T()),
        "declare the parameter as an IDiffTensor",
        lambda m: theirs(m).differentiable(I, T(), _result="numpy"),
        X,
    ),
    "no handles for buffers": (
        lambda m: without_handles(lambda: theirs(m).at(I, T())),
        "import fusepy instead of slangpy in Slang: its tensors are pointers",
        lambda m: without_handles(lambda: a(m).at(I, T(), _result="numpy")),
        X,
    ),
    "no handle left for a buffer": (
        lambda m: all_handles_taken(lambda: theirs(m).at(I, T())),
        "free tensors, or import fusepy in Slang",
        lambda m: all_handles_taken(lambda: a(m).at(I, T(), _result="numpy")),
        X,
    ),
}
