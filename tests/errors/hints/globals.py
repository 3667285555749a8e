"""Programs after hints about globals and entry points."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

import fusepy as fp
from tests.errors.hints.support import (
    IMAGE,
    N,
    Program,
    X,
    fused,
    given,
    tensor,
    texture,
)
from tests.support.slang_functions import F32, ramp


def scaled(m: Any) -> Any:
    return fp.Module.load_from_source(fp.default_device(), "hint_globals", "uniform float k; float f(float x) { return k * x; }")


SUN = np.array([(1, 3)], [("to", F32), ("power", F32)])


def suns(m: Any) -> Any:
    source = """import fusepy;
    struct Sun { float to; float power; };
    uniform Tensor<Sun,1> t;
    float first(float x) { return t[0].power * x; }
    float one(Tensor<Sun,1> s, float x) { return s[0].power * x; }"""
    return fp.Module.load_from_source(fp.default_device(), "hint_suns", source)


def endless() -> Any:
    made = SimpleNamespace()
    made.next = made
    return made


def points(m: Any) -> Any:
    source = """[shader("compute")] [numthreads(32, 1, 1)]
    void fill(uint3 at : SV_DispatchThreadID, uniform float* p, uniform int n) { if (at.x < n) p[at.x] = 7 * at.x; }"""
    return fp.Module.load_from_source(fp.default_device(), "hint_entries", source)


def dispatched(module: Any, t: Any) -> Any:
    module.fill.dispatch(3, p=t, n=3)
    return t


PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    # globals
    "an object that holds itself": (
        lambda m: scaled(m).f.set(k=endless())(X),
        "give numbers, arrays, dicts or resources",
        lambda m: scaled(m).f.set(k=2.0)(X),
        2 * X,
    ),
    "a global that is not set": (
        lambda m: scaled(m).f(X),
        ".set(k=…)",
        lambda m: scaled(m).f.set(k=2.0)(X),
        2 * X,
    ),
    "a global without its name": (
        lambda m: scaled(m).f.set(2.0)(X),
        "write set(exposure=2) or set({'exposure': 2})",
        lambda m: scaled(m).f.set({"k": 2.0})(X),
        2 * X,
    ),
    "a global of another name": (
        lambda m: scaled(m).f.set(kk=2.0)(X),
        "did you mean 'k'?",
        lambda m: scaled(m).f.set(k=2.0)(X),
        2 * X,
    ),
    # entry points
    "an entry point that is called": (
        lambda m: points(m).fill(tensor(X)),
        "fill.dispatch(count, …)",
        lambda m: dispatched(points(m), tensor(X)),
        7 * np.arange(3, dtype=F32),
    ),
    "what a raw dispatch runs": (
        lambda m: points(m).fill.threads(3).source(),
        "a call of a plain function shows what it runs: fill.source(…)",
        lambda m: len(m.twice.source(N)) > 0,
        True,
    ),
    "what makes a vector": (
        lambda m: m.float3.source(X),
        "fp.fuse(lambda x: m.float3(x)).source(x)",
        lambda m: len(fp.fuse(lambda x: m.float3(x)).source(X)) > 0,
        True,
    ),
    "a pointer to numbers of another type": (
        lambda m: points(m).fill.dispatch(3, p=tensor(np.zeros(3)), n=3),
        "Tensor.from_numpy(device, array.astype(np.float32))",
        lambda m: dispatched(points(m), tensor(np.zeros(3).astype(np.float32))),
        7 * np.arange(3, dtype=F32),
    ),
    "a name that is nearly there": (
        lambda m: m.lumma(IMAGE),
        "did you mean 'luma'?",
        lambda m: m.luma(IMAGE),
        IMAGE @ np.array([0.25, 0.5, 0.25], F32),
    ),
    # globals
    "a global that no one set": (
        lambda m: given(m).by(X),
        "call .set(k=…) on the function",
        lambda m: given(m).by.set(k=2.0)(X),
        2 * X,
    ),
    "a global by a number": (
        lambda m: given(m).by.set({3: 2.0}),
        "name the global by a string",
        lambda m: given(m).by.set({"k": 2.0})(X),
        2 * X,
    ),
    "a global of nothing": (
        lambda m: given(m).by.set(k=2.0).set(k=None),
        "omit it to keep the previous value",
        lambda m: given(m).by.set(k=2.0).set()(X),
        2 * X,
    ),
    "a global of a traced value": (
        lambda m: fused(lambda x: given(m).by.set(k=x)(1.0), X),
        "pass it as an argument of the function",
        lambda m: fused(lambda x: m.add(x, 0.0), X),
        X,
    ),
    "a global of objects": (
        lambda m: given(m).by.set(k=np.array([None])),
        "give numbers on the host",
        lambda m: given(m).by.set(k=np.array(2.0))(X),
        2 * X,
    ),
    "a global of a generator": (
        lambda m: given(m).by.set(k=iter([])),
        "give numbers, sequences, dicts or resources",
        lambda m: given(m).by.set(k=2.0)(X),
        2 * X,
    ),
    "a tensor for a number": (
        lambda m: given(m).by.set(k=tensor(X))(X),
        "give a number",
        lambda m: given(m).by.set(k=2.0)(X),
        2 * X,
    ),
    "a tensor for a vector": (
        lambda m: given(m).dyed.set(c=tensor(X))(X),
        "give its components",
        lambda m: given(m).dyed.set(c=[1.0, 2.0, 3.0])(X),
        4 * X,
    ),
    "two components for three": (
        lambda m: given(m).dyed.set(c=[1.0, 2.0])(X),
        "give as many components as the type has",
        lambda m: given(m).dyed.set(c=[1.0, 2.0, 3.0])(X),
        4 * X,
    ),
    "texts for components": (
        lambda m: given(m).dyed.set(c=([1.0], [2.0, 3.0]))(X),
        "give numbers",
        lambda m: given(m).dyed.set(c=[1.0, 2.0, 3.0])(X),
        4 * X,
    ),
    "a float for an integer's global": (
        lambda m: given(m).turn.set(n=2.5)(X),
        "round it first",
        lambda m: given(m).turn.set(n=round(2.5))(X),
        2 * X,
    ),
    "a number that no float holds": (
        lambda m: given(m).by.set(k=10**400)(X),
        "give a smaller number",
        lambda m: given(m).by.set(k=10)(X),
        10 * X,
    ),
    "a number for a struct": (
        lambda m: given(m).lit.set(sun=2.0)(X),
        "give a dict with to, power",
        lambda m: given(m).lit.set(sun={"to": [0.0, 1.0, 0.0], "power": 3.0})(X),
        3 * X,
    ),
    "a struct without a field": (
        lambda m: given(m).lit.set(sun={"to": [0.0, 1.0, 0.0]})(X),
        "set it as well; set() merges dicts",
        lambda m: given(m).lit.set(sun={"to": [0.0, 1.0, 0.0]}).set(sun={"power": 3.0})(X),
        3 * X,
    ),
    "two numbers for three": (
        lambda m: given(m).weighed.set(w=[1.0, 2.0])(X),
        "give 3 elements",
        lambda m: given(m).weighed.set(w=[1.0, 2.0, 3.0])(X),
        321 * X,
    ),
    "a number for a pointer's global": (
        lambda m: given(m).pointed.set(p=2.0)(X),
        "give a Tensor or a buffer",
        lambda m: given(m).pointed.set(p=tensor(N.astype(F32)))(X),
        2 * X,
    ),
    "a tensor of vectors for one of numbers": (
        lambda m: given(m).taken.set(t=tensor(ramp(2, 3)))(X),
        "make one with Tensor.from_numpy(device, array.astype(np.float32), 'float')",
        lambda m: given(m).taken.set(t=fp.Tensor.from_numpy(fp.default_device(), N.astype(F32), "float"))(X),
        2 * X,
    ),
    "doubles for an array of floats": (
        lambda m: given(m).taken.set(t=np.arange(3.0))(X),
        "make one with Tensor.from_numpy(device, array.astype(np.float32), 'float')",
        lambda m: given(m).taken.set(t=fp.Tensor.from_numpy(fp.default_device(), np.arange(3.0).astype(np.float32), "float"))(X),
        2 * X,
    ),
    "numbers for an array of structs": (
        lambda m: suns(m).first.set(t=tensor(ramp(4)))(1.0),
        "make one with Tensor.from_numpy(device, array, m.Sun)",
        lambda m: suns(m).first.set(t=fp.Tensor.from_numpy(fp.default_device(), SUN, suns(m).Sun))(1.0),
        3,
    ),
    "structs of the host for an array": (
        lambda m: suns(m).first.set(t=SUN)(1.0),
        "copy structs to the device: Tensor.from_numpy(device, array, m.Name)",
        lambda m: suns(m).first.set(t=fp.Tensor.from_numpy(fp.default_device(), SUN, suns(m).Sun))(1.0),
        3,
    ),
    "dicts for an array of structs": (
        lambda m: suns(m).one([{"to": 1.0, "power": 3.0}], 1.0),
        "fill an array of structs: np.array([(…), (…)], m.Name.dtype)",
        lambda m: suns(m).one(np.array([(1.0, 3.0)], suns(m).Sun.dtype), 1.0),
        3,
    ),
    "a number for a texture": (
        lambda m: given(m).seen.set(image=2.0)(X),
        "give a texture",
        lambda m: given(m).seen.set(image=texture(m))(X),
        ramp(2, 4, 4)[0, 0, 1] * X,
    ),
    "a number for a sampler": (
        lambda m: given(m).blurred.set(image=texture(m), smooth=2.0)(X),
        "give a sampler",
        lambda m: given(m).blurred.set(image=texture(m), smooth=fp.default_device().sgl.create_sampler())(X),
        X,
    ),
    "a view for a buffer": (
        lambda m: given(m).held.set(b=tensor(ramp(3, 2))[:, 0])(X),
        "copy the view first",
        lambda m: given(m).held.set(b=tensor(ramp(3, 2))[:, 0].copy())(X),
        ramp(3, 2)[2, 0] * X,
    ),
    "nothing for a buffer": (
        lambda m: given(m).held.set(b=tensor(np.zeros(0, F32)))(X),
        "give at least one element",
        lambda m: given(m).held.set(b=tensor(N.astype(F32)))(X),
        2 * X,
    ),
    "a global of two values": (
        lambda m: fused(lambda x: given(m).by.set(k=2.0)(x) + given(m).by.set(k=3.0)(x), X),
        "set it once, on the fused function",
        lambda m: fp.fuse(lambda x: given(m).by(x) + given(m).by(x)).set(k=2.0)(X),
        4 * X,
    ),
}
