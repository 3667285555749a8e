"""Programs after hints about arguments and results: textures, structs, whole arrays, shapes, memory."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import slangpy as spy

import fusepy as fp
from tests.errors.hints.support import (
    IMAGE,
    N,
    Program,
    X,
    filled,
    fused,
    rays,
    tensor,
    texture,
)
from tests.support.slang_functions import F32, ramp


def written(m: Any, dtype: Any) -> Any:
    array = N.astype(dtype)
    m.bump(array, 1.0)
    return array


def shifted(t: Any, taken: Callable[[Any], Any]) -> Any:
    t[1:].copy_from(taken(t[:-1]))
    return t


def overwritten(values: Any) -> Any:
    t = fp.zeros(3)
    t[:2] = values
    return t


def coloured(pixels: Any) -> Any:
    return fp.float3(1, 2, 3) + 0.0 * pixels.x


PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    # textures and resources
    "a texel for three channels": (
        lambda m: m.texel(texture(m), _result="numpy"),
        "fp.vcast(value, m.float3)",
        lambda m: m.texel(fp.vcast(texture(m), m.float3), _result="numpy"),
        ramp(2, 4, 4)[..., 0] + ramp(2, 4, 4)[..., 1],
    ),
    "an empty buffer": (
        lambda m: m.held(np.zeros(0, F32), 0),
        "give an array with an element, which may be unused",
        lambda m: m.held(np.zeros(1, F32), 0),
        0,
    ),
    # structs and members
    "a struct of numbers": (
        lambda m: m.at(2.0),
        'give its fields, {"position": …, "reach": …}',
        lambda m: m.at({"position": [0.0, 2.0, 0.0], "reach": X}),
        2 * X,
    ),
    "a struct of an array": (
        lambda m: m.at(tensor(X)),
        "of the dtype m.Ray.dtype",
        lambda m: m.at(rays(m)),
        np.array([6, 20], F32),
    ),
    "a struct where its member is wanted": (
        lambda m: m.luma(tensor(rays(m), m.Ray)),
        "in a fused function, such as value.position",
        lambda m: fused(lambda value: m.luma(value.position), tensor(rays(m), m.Ray)),
        np.array([1, 2], F32),
    ),
    "a member that is missing": (
        lambda m: m.at({"position": [0.0, 2.0, 0.0]}),
        "give every member of Ray",
        lambda m: m.at({"position": [0.0, 2.0, 0.0], "reach": 2.0}),
        4,
    ),
    "a member of a type in lists": (
        lambda m: fused(lambda x: m.at({"position": [x, x], "reach": 1.0}), X),
        "build the value by its type, e.g. m.float3(x, y, z)",
        lambda m: fused(lambda x: m.at({"position": m.float3(x, x, x), "reach": 1.0}), X),
        X,
    ),
    "a list of structs with lists": (
        lambda m: fused(lambda x: m.at([{"position": [x, x, x], "reach": 1.0}] * 2), 2.0),
        "write fp.Batchable(r); in a fused function, call it for each and join the results with fp.stack",
        lambda m: fused(lambda x: fp.stack([m.at({"position": [x, x, x], "reach": 1.0})] * 2), 2.0),
        [2, 2],
    ),
    "an array of another struct": (
        lambda m: m.at(np.zeros(2, [("q", "f4")])),
        "make the array with dtype=m.Name.dtype",
        lambda m: m.at(np.zeros(2, dtype=m.Ray.dtype)),
        np.zeros(2, F32),
    ),
    # arrays that are taken whole
    "an array of a generic extent": (
        lambda m: m.count(ramp(8)),
        "fp.vcast(value, 'float[8]')",
        lambda m: m.count(fp.vcast(ramp(8), "float[8]")),
        8 + ramp(8)[0],
    ),
    "an array of another extent": (
        lambda m: m.weigh([1.0, 2.0], X),
        "give 3 numbers",
        lambda m: m.weigh([1.0, 2.0, 3.0], X),
        321 * X,
    ),
    "an array of fixed arrays, computed": (
        lambda m: fused(lambda w: m.weigh52(w * 2), ramp(5, 2)),
        "return it, and pass that as the",
        lambda m: m.weigh52(fused(lambda w: w * 2, ramp(5, 2))),
        2 * ramp(5, 2)[4, 1],
    ),
    "a number for a pointer": (
        lambda m: m.fetch(1.0, 2),
        "pass a Tensor or an array of float",
        lambda m: m.fetch(X, 2),
        X[2],
    ),
    "a pointer to what is computed": (
        lambda m: fused(lambda x: m.fetch(x * 2, 2), X),
        "return it, and pass that as the",
        lambda m: m.fetch(fused(lambda x: x * 2, tensor(X)), 2),
        2 * X[2],
    ),
    "a number for a whole array": (
        lambda m: m.pick(1.0, 2),
        "is filled from a Tensor, a NumPy array or a list",
        lambda m: m.pick(X, 2),
        X[2],
    ),
    "two axes for a whole array of one": (
        lambda m: m.pick(ramp(2, 3), 2),
        "takes 1 axis of float",
        lambda m: m.pick(ramp(2, 3)[1], 2),
        ramp(2, 3)[1, 2],
    ),
    "a whole array that is mapped": (
        lambda m: m.pick(fp.vmap(X, 0), 2),
        "remove its mapping",
        lambda m: m.pick(X, 2),
        X[2],
    ),
    # inout and out
    "integers that are written as floats": (
        lambda m: m.bump(N.copy(), 1.0),
        "pass an array or tensor of np.float32",
        lambda m: written(m, np.float32),
        N + F32(1),
    ),
    "a result of another dtype": (
        lambda m: m.add(X, 1.0, _result=np.empty(3, np.float64)),
        "make it with np.empty(shape, dtype)",
        lambda m: m.add(X, 1.0, _result=np.empty(3, np.float32)),
        X + 1,
    ),
    "a result that repeats elements": (
        lambda m: m.add(X, 1.0, _result=np.broadcast_to(np.empty(1, F32), 3)),
        "pass a writable array",
        lambda m: m.add(X, 1.0, _result=np.empty(3, F32)),
        X + 1,
    ),
    "a result that cannot receive": (
        lambda m: m.add(X, 1.0, _result=object()),
        "omit it to get the result returned",
        lambda m: m.add(X, 1.0),
        X + 1,
    ),
    "a result under a mapping with too few dimensions": (
        lambda m: m.add(ramp(2, 3), 1.0, _result=fp.vmap(np.empty((2, 3), F32), (1,))),
        "name every dimension of the grid",
        lambda m: m.add(ramp(2, 3), 1.0, _result=fp.vmap(np.empty((3, 2), F32), (1, 0))).T,
        ramp(2, 3) + 1,
    ),
    "a result that is cast": (
        lambda m: m.add(X, 1.0, _result=fp.vcast(np.empty(3, np.int32), m.int)),
        "take the result and convert it",
        lambda m: fused(lambda x: fp.vcast(m.add(x, 1.0), m.int), 4 * X),
        (4 * X + 1).astype(np.int32),
    ),
    # shapes, tensors, Batchable
    "shapes that do not broadcast": (
        lambda m: m.add(ramp(3), ramp(4)),
        "or map its axes elsewhere with vmap",
        lambda m: m.add(fp.vmap(ramp(3), 0), fp.vmap(ramp(4), 1)),
        np.add.outer(ramp(3), ramp(4)),
    ),
    "vectors with rows of numbers": (
        lambda m: fused(lambda a, b: a * b, tensor(ramp(2, 4, 3), "float3"), ramp(2, 4, 3)),
        "take 'b' as vectors: fp.vcast(b, \"float3\")",
        lambda m: fused(lambda a, b: a * fp.vcast(b, "float3"), tensor(ramp(2, 4, 3), "float3"), ramp(2, 4, 3)).to_numpy(),
        ramp(2, 4, 3) ** 2,
    ),
    "vectors of coordinates with rows of numbers": (
        lambda m: fused(lambda b: coloured(fp.grid((2, 4))) * b, ramp(2, 4, 3)),
        "take 'b' as vectors: fp.vcast(b, \"float3\")",
        lambda m: fused(lambda b: coloured(fp.grid((2, 4))) * fp.vcast(b, "float3"), ramp(2, 4, 3)),
        np.float32([1, 2, 3]) * ramp(2, 4, 3),
    ),
    "a batch of no list": (
        lambda m: fp.Batchable(1.0),
        "Batchable([a, b])",
        lambda m: m.add(fp.Batchable([1.0, 2.0]), 1.0),
        np.array([2, 3], F32),
    ),
    "a tensor of nothing": (
        lambda m: fp.Tensor(3.0),
        "write Tensor([1, 2, 3])",
        lambda m: fp.Tensor([1, 2, 3]),
        np.array([1, 2, 3], F32),
    ),
    "a tensor of integers in floats": (
        lambda m: fp.Tensor([1.5], dtype=m.int),
        "round them first",
        lambda m: fp.Tensor([round(1.5)], dtype=m.int),
        np.array([2], np.int32),
    ),
    "more elements than are written": (
        lambda m: overwritten(np.ones(3, F32)),
        "give as many elements, or one for all",
        lambda m: overwritten(np.ones(1, F32)),
        np.float32([1, 1, 0]),
    ),
    "a transposed tensor in another shape": (
        lambda m: tensor(ramp(2, 3)).T.reshape(6),
        "write t.contiguous() first",
        lambda m: tensor(ramp(2, 3)).T.contiguous().reshape(6),
        ramp(2, 3).T.reshape(6),
    ),
    "a generic of nothing": (
        lambda m: m.nothing(),
        'm["nothing<float>"]',
        lambda m: m["nothing<float>"](),
        7,
    ),
    # memory
    "a copy over itself": (
        lambda m: shifted(tensor(X), lambda source: source),
        "target.copy_from(source.copy())",
        lambda m: shifted(tensor(X), lambda source: source.copy()),
        X[[0, 0, 1]],
    ),
    "integers that no float holds": (
        lambda m: m.add(np.array([2**24 + 1]), 1.0),
        ".astype(np.float32)",
        lambda m: m.add(np.array([2**24 + 1]).astype(np.float32), 1.0),
        np.array([2**24], F32) + 1,
    ),
    "more dimensions than a vcast leaves": (
        lambda m: fused(lambda i: fp.vmap(fp.vcast(i, "float3"), (0, 1, 2)) + 1, IMAGE),
        "name one grid dimension per leading axis",
        lambda m: fused(lambda i: fp.vmap(fp.vcast(i, "float3"), (0, 1)) + 1, IMAGE),
        IMAGE + 1,
    ),
    "structs in a view": (
        lambda m: m.at(fp.vcast(tensor(ramp(2, 8))[:, ::2], m.Ray)),
        "copy the view first",
        lambda m: m.at(fp.vcast(tensor(ramp(2, 8))[:, ::2].copy(), m.Ray)),
        ramp(2, 8)[:, 2] * ramp(2, 8)[:, 6],
    ),
    "structs of halves": (
        lambda m: m.at(fp.vcast(np.ones((2, 4), np.float16), m.Ray)),
        "convert the array with .astype",
        lambda m: m.at(fp.vcast(np.ones((2, 4), np.float16).astype(np.float32), m.Ray)),
        np.ones(2, F32),
    ),
    "more dimensions than a vcast leaves, at once": (
        lambda m: fp.vmap(fp.vcast(IMAGE, "float3"), (0, 1, 2)) + 1,
        "none for those that a vcast takes as components",
        lambda m: fp.vmap(fp.vcast(IMAGE, "float3"), (0, 1)) + 1,
        IMAGE + 1,
    ),
    "texts in a list": (
        lambda m: m.add(["1", "2"], 1.0),
        "lists hold bool, int or float",
        lambda m: m.add([1.0, 2.0], 1.0),
        np.array([2, 3], F32),
    ),
    "an integer of 70 bits": (
        lambda m: m.add([2**70], 1.0),
        "no Slang integer is that wide",
        lambda m: m.add([float(2**70)], 1.0),
        np.array([2.0**70], F32),
    ),
    "a cast struct that is returned": (
        lambda m: fused(lambda x: fp.vcast({"position": x, "reach": 1.0}, m.Ray), ramp(2, 3)),
        "return m.Ray(…) of its fields",
        lambda m: fused(lambda x: m.Ray(fp.vcast(x, m.float3), 1.0), ramp(2, 3))["position"],
        ramp(2, 3),
    ),
    "fields that are mapped and returned": (
        lambda m: fused(lambda x: fp.vmap({"position": x, "reach": m.luma(x)}, (0,)), ramp(2, 3)),
        "or say the struct with fp.vcast(value, m.Name)",
        lambda m: fused(lambda x: fp.vcast({"position": x, "reach": m.luma(x)}, m.Ray), ramp(2, 3))["position"],
        ramp(2, 3),
    ),
    "a struct by its name": (
        lambda m: m.at(fp.vcast(ramp(2, 4), "Ray")),
        "pass the type of a module: m.Ray",
        lambda m: m.at(fp.vcast(ramp(2, 4), m.Ray)),
        ramp(2, 4)[:, 1] * ramp(2, 4)[:, 3],
    ),
    "the truth of a tensor": (
        lambda m: bool(tensor(X) > 0.25),
        "write fp.any(t) or fp.all(t)",
        lambda m: bool(fp.any(tensor(X) > 0.25)),
        True,
    ),
    "doubles copied to floats": (
        lambda m: tensor(X).copy_from_numpy(np.ones(3)),
        "convert it with .astype(np.float32)",
        lambda m: filled(tensor(X), np.ones(3).astype(np.float32)),
        np.ones(3, F32),
    ),
    "the truth of coordinates": (
        lambda m: 1 if fp.grid((3,)) else 0,
        "compare and use fp.where",
        lambda m: np.asarray(fp.where(fp.grid((3,)) > 1, 1, 0)),
        np.array([0, 0, 1], np.int32),
    ),
    "a sum with None": (
        lambda m: tensor(X) + None,
        "ask `x is None`",
        lambda m: tensor(X),
        X,
    ),
    "NumPy's out=": (
        lambda m: np.hypot(X, X, out=tensor(X)),
        "write t.copy_from_numpy(…) with its result",
        lambda m: filled(tensor(X), np.hypot(X, X)),
        np.hypot(X, X),
    ),
    "a pickled tensor": (
        lambda m: pickle.dumps(tensor(X)),
        "pickle t.to_numpy()",
        lambda m: pickle.loads(pickle.dumps(tensor(X).to_numpy())),
        X,
    ),
    "a pickled function": (
        lambda m: pickle.dumps(fp.fuse(lambda x: x)),
        "pickle the arrays alone, and make the function again where they are loaded",
        lambda m: pickle.loads(pickle.dumps(X)),
        X,
    ),
    "an instance tensor of no extent": (
        lambda m: fp.InstanceTensor(m.Ray),
        "write InstanceTensor(m.Ray, (4, 4))",
        lambda m: fp.InstanceTensor(m.Ray, (4, 4)).shape,
        (4, 4),
    ),
    "a buffer of no shape": (
        lambda m: fp.NDBuffer(fp.default_device(), dtype=m.float3),
        "shape=(16, 16)",
        lambda m: fp.NDBuffer(fp.default_device(), dtype=m.float3, shape=(16, 16)).shape,
        (16, 16),
    ),
    "a texture that cannot be written": (
        lambda m: m.colour(ramp(2, 4), _result=texture(m)),
        "create it with usage=TextureUsage.unordered_access",
        lambda m: m.colour(ramp(2, 4), _result=texture(m, spy.TextureUsage.unordered_access)).to_numpy()[..., 1],
        2 * ramp(2, 4),
    ),
    "halves for floats or integers": (
        lambda m: m.over(X.astype(np.float16)),
        "fp.vcast(value, type) converts",
        lambda m: m.over(fp.vcast(X.astype(np.float16), m.float)),
        X,
    ),
}
