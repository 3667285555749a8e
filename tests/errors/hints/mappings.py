"""Programs after hints about mappings, generators, numbers and batches: most are refused before anything is compiled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import slangpy as spy

import fusepy as fp
from tests.errors.hints.support import (
    N,
    Program,
    X,
    changed,
    fused,
    rays,
    tensor,
    zeros,
)
from tests.support.slang_functions import F32, ramp


def pairs(m: Any) -> Any:
    return np.array([(1,), (2,)], m.V.dtype)


class Loop:
    """An object that holds itself."""

    def __init__(self, name: str):
        self.reach = 2.0
        self.position = [0.0, 2.0, 0.0]
        setattr(self, name, self)


def made_by(m: Any, decorator: Any) -> Any:
    @decorator
    class Beam:
        def __init__(self) -> None:
            self.position = [0.0, 2.0, 0.0]
            self.reach = 2.0

    return Beam(m)


PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    "dimensions one by one": (
        lambda m: fp.vmap(ramp(2, 3), 1, 0),
        "write fp.vmap(x, (1, 0))",
        lambda m: m.add(fp.vmap(ramp(2, 3), (1, 0)), 0.0),
        ramp(2, 3).T,
    ),
    # mappings
    "the length of a mapped value": (
        lambda m: len(fp.vmap(X, 0)),
        "ask the value itself, before vmap or vcast",
        lambda m: len(X),
        3,
    ),
    "an element of a mapped value": (
        lambda m: fp.vmap(X, 0)[1],
        "index the value before vmap or vcast",
        lambda m: m.add(fp.vmap(X[1:], 0), 1.0),
        X[1:] + 1,
    ),
    "the elements of a mapped value": (
        lambda m: list(fp.vmap(X, 0)),
        "take its elements before vmap or vcast",
        lambda m: list(X),
        X,
    ),
    "the float of a mapped value": (
        lambda m: float(fp.vmap(X[0], ())),
        "use the value itself, before vmap or vcast",
        lambda m: float(X[0]),
        X[0],
    ),
    "the hash of a mapped value": (
        lambda m: {fp.vmap(2.0, ())},
        "use the value itself; a mapping is for the call that it is passed to",
        lambda m: list({2.0}),
        [2.0],
    ),
    "a function to map, as in JAX": (
        lambda m: fp.vmap(m.add, 0),
        "write fp.fuse(f)(x), which runs for every element; fp.vmap(x, (1, 0)) says along which dimensions",
        lambda m: fused(lambda x: m.add(fp.vmap(x, (1, 0)), 1.0), ramp(2, 3)),
        ramp(2, 3).T + 1,
    ),
    "two mappings": (lambda m: fp.vmap(fp.vmap(X, 0), 0), "write one vmap", lambda m: m.add(fp.vmap(X, 0), 1.0), X + 1),
    "one dimension twice": (
        lambda m: fp.vmap(ramp(2, 3), (1, 1)),
        "each axis needs a grid dimension of its own",
        lambda m: m.add(fp.vmap(ramp(2, 3), (1, 0)), 1.0),
        ramp(2, 3).T + 1,
    ),
    "a dimension from the end": (
        lambda m: fp.vmap(ramp(2, 3), (0, -1)),
        "grid dimensions are counted from 0",
        lambda m: m.add(fp.vmap(ramp(2, 3), (0, 1)), 1.0),
        ramp(2, 3) + 1,
    ),
    "a dimension of no sense": (
        lambda m: fp.vmap(ramp(2, 3), (0, 99)),
        "use fewer dimensions",
        lambda m: m.add(fp.vmap(ramp(2, 3), (0, 1)), 1.0),
        ramp(2, 3) + 1,
    ),
    "a dimension that is no integer": (
        lambda m: fp.vmap(ramp(2, 3), 0.5),
        "write vmap(value, (0, 1))",
        lambda m: m.add(fp.vmap(ramp(2, 3), (0, 1)), 1.0),
        ramp(2, 3) + 1,
    ),
    "more dimensions than axes": (
        lambda m: m.add(fp.vmap(X, (0, 1)), 1.0),
        "name one grid dimension per leading axis of the value",
        lambda m: m.add(fp.vmap(X, (0,)), 1.0),
        X + 1,
    ),
    "a dimension in declare()": (
        lambda m: m.add.declare(0, None),
        "write vmapping(0)",
        lambda m: m.add.declare(fp.vmapping(0), None)(X, 1.0),
        X + 1,
    ),
    "vectors cast to another length": (
        lambda m: m.luma(fp.vcast(tensor(ramp(2, 4), m.float4), m.float3)),
        "vcast takes trailing axes into a vector, or converts between scalars or vectors of one length",
        lambda m: m.luma(fp.vcast(tensor(ramp(2, 4))[:, :3], m.float3)),
        ramp(2, 4)[:, :3] @ [0.25, 0.5, 0.25],
    ),
    "traced vectors cast to another length": (
        lambda m: fused(lambda c: fp.vcast(c + 1, "float4"), fp.vcast(ramp(2, 3), "float3")),
        "vcast converts between scalars, or between vectors of one length",
        lambda m: fused(lambda c: fp.vcast(c * 8, "int3"), fp.vcast(ramp(2, 3), "float3")),
        (ramp(2, 3) * 8).astype(np.int32),
    ),
    "traced numbers cast to a struct": (
        lambda m: fused(lambda a: m.at(fp.vcast(a * 2, m.Ray)), ramp(2, 4)),
        "give its fields, or return it and cast the result",
        lambda m: m.at(fp.vcast(fused(lambda a: a * 2, ramp(2, 4)), m.Ray)),
        4 * ramp(2, 4)[:, 1] * ramp(2, 4)[:, 3],
    ),
    "a tensor of slangpy cast to a struct": (
        lambda m: m.at(fp.vcast(spy.Tensor.from_numpy(fp.default_device().sgl, ramp(2, 4)), m.Ray)),
        "write x.to_numpy()",
        lambda m: m.at(fp.vcast(spy.Tensor.from_numpy(fp.default_device().sgl, ramp(2, 4)).to_numpy(), m.Ray)),
        ramp(2, 4)[:, 1] * ramp(2, 4)[:, 3],
    ),
    # generators
    "a grid without dimensions": (
        lambda m: fp.grid(()),
        "write (1,)",
        lambda m: m.twice(fp.grid((3,)), _result="numpy"),
        2 * N,
    ),
    "offsets of another length": (
        lambda m: fp.grid((3,), offset=(1, 2)),
        "one number per dimension",
        lambda m: m.twice(fp.grid((3,), offset=(1,)), _result="numpy"),
        2 * N + 2,
    ),
    "a negative extent of a grid": (
        lambda m: fp.linspace(0.0, 1.0, -3),
        "extents are 0 or more",
        lambda m: m.add(fp.linspace(0.0, 1.0, 3), 1.0, _result="numpy"),
        np.array([1, 1.5, 2], F32),
    ),
    "a seed of more than 32 bits": (
        lambda m: fp.wang_hash(seed=2**32 + 5),
        "take it modulo 2**32",
        lambda m: (
            m.twice(fp.wang_hash(seed=(2**32 + 5) % 2**32), _result=fp.Tensor.empty(fp.default_device(), (3,), "int")).shape
        ),
        (3,),
    ),
    "many rounds of a generator": (
        lambda m: fp.wang_hash(warmup=5000),
        "a few rounds are plenty",
        lambda m: m.twice(fp.wang_hash(warmup=5), _result=fp.Tensor.empty(fp.default_device(), (3,), "int")).shape,
        (3,),
    ),
    "an infinite range": (
        lambda m: fp.rand_float(0.0, math.inf),
        "give two finite numbers",
        lambda m: m.add(fp.rand_float(1.0, 1.0), 1.0, _result=fp.Tensor.empty(fp.default_device(), (3,), "float")),
        np.full(3, 2, F32),
    ),
    "an offset along a traced value": (
        lambda m: fused(lambda x: m.twice(fp.grid(x, offset=(1,), stride=(2,))), X),
        "compute with the coordinates instead: grid(x) * 2 + 1",
        lambda m: fused(lambda x: m.twice(fp.grid(x) * 2 + 1), X),
        4 * N + 2,
    ),
    "coordinates of a traced number": (
        lambda m: fused(lambda x: fp.grid(x) + 0, 2.0),
        "pass an array of one to four axes",
        lambda m: fused(lambda x: fp.grid(x) + 0, X),
        N,
    ),
    "the extents of a traced value": (
        lambda m: fused(lambda x: m.add(fp.linspace(0.0, 1.0, x.argmax() + 1), x), X),
        "pass linspace(…) as an argument",
        lambda m: fused(lambda x, at: m.add(at, x), X, fp.linspace(0.0, 1.0, 3)),
        X + np.linspace(0, 1, 3, dtype=F32),
    ),
    "the shape of a traced value": (
        lambda m: fused(lambda x: m.twice(fp.Shape(x)) + x, X),
        "or write grid(1) for coordinates in the grid of others",
        lambda m: fused(lambda x: m.twice(fp.grid(1)) + x, X),
        2 * N + X,
    ),
    "a range that no int holds": (
        lambda m: m.add(range(2**40, 2**40 + 2), 1.0),
        "pass an array with the dtype that is wanted, e.g. np.arange(…, dtype=np.int64)",
        lambda m: m.over(fp.vcast(np.arange(2**40, 2**40 + 2, dtype=np.int64), m.float)),
        np.full(2, 2.0**40, F32),
    ),
    "coordinates of one as two": (
        lambda m: m.where_am_i(fp.call_id(), _result=fp.Tensor.empty(fp.default_device(), (2, 3, 4), "float2")),
        "or pass thread_id(), which counts through",
        lambda m: m.twice(fp.thread_id(1), _result=fp.Tensor.empty(fp.default_device(), (2, 3), "int")),
        2 * np.arange(6).reshape(2, 3),
    ),
    # numbers
    "an infinite number for an integer": (
        lambda m: m.twice(fp.vcast(math.inf, m.int)),
        "check it with math.isfinite",
        lambda m: m.twice(fp.vcast(2.5, m.int)) if math.isfinite(2.5) else 0,
        4,
    ),
    "coordinates of five components": (
        lambda m: fp.thread_id(5),
        "omit dims",
        lambda m: m.twice(fp.thread_id(), _result=fp.Tensor.empty(fp.default_device(), (3,), "int")),
        2 * N,
    ),
    "numbers that are multiplied as matrices": (
        lambda m: fused(lambda a, b: a @ b, ramp(3), 2.0),
        "write * for numbers",
        lambda m: fused(lambda a, b: a * b, ramp(3), 2.0),
        ramp(3) * 2,
    ),
    "rows that are multiplied as matrices": (
        lambda m: fused(lambda a, b: a @ b, ramp(4, 3), ramp(5, 3)),
        "multiply by the transposed matrix, fp.vmap(b, (1, 0))",
        lambda m: fused(lambda a, b: a @ fp.vmap(b, (1, 0)), ramp(4, 3), ramp(5, 3)),
        ramp(4, 3) @ ramp(5, 3).T,
    ),
    "columns that are multiplied as matrices": (
        lambda m: fused(lambda a, b: a @ b, ramp(4, 3), ramp(4, 5)),
        "multiply the transposed matrix, fp.vmap(a, (1, 0)), by it",
        lambda m: fused(lambda a, b: fp.vmap(a, (1, 0)) @ b, ramp(4, 3), ramp(4, 5)),
        ramp(4, 3).T @ ramp(4, 5),
    ),
    "matrices that do not fit": (
        lambda m: fused(lambda a, b: a @ b, ramp(4, 3), ramp(2, 5)),
        "the left array needs as many columns as the right one has rows",
        lambda m: fused(lambda a, b: a @ b, ramp(4, 3), ramp(3, 5)),
        ramp(4, 3) @ ramp(3, 5),
    ),
    "a matrix with a gap": (
        lambda m: fused(lambda a, b: fp.vmap(a, (0, 2)) @ b, ramp(4, 3), ramp(4, 5)),
        "fp.vmap(x, (1, 0)) is the transposed matrix",
        lambda m: fused(lambda a, b: fp.vmap(a, (1, 0)) @ b, ramp(4, 3), ramp(4, 5)),
        ramp(4, 3).T @ ramp(4, 5),
    ),
    "one matrix for several where nothing is stretched": (
        lambda m: fp.fuse(lambda a, b: a @ b).strict_broadcasting()(ramp(1, 4, 3), ramp(2, 3, 5)),
        "call the function without strict broadcasting",
        lambda m: fp.fuse(lambda a, b: a @ b)(ramp(1, 4, 3), ramp(2, 3, 5)),
        ramp(1, 4, 3) @ ramp(2, 3, 5),
    ),
    "arrays that are multiplied as matrices": (
        lambda m: fused(lambda a, x: a @ fp.vcast(x, "float3"), ramp(2, 3, 3), ramp(2, 3)),
        "fp.vcast(x, 'float3x3')",
        lambda m: fused(lambda a, x: fp.vcast(a, "float3x3") @ fp.vcast(x, "float3"), ramp(2, 3, 3), ramp(2, 3)),
        np.einsum("nij,nj->ni", ramp(2, 3, 3), ramp(2, 3)),
    ),
    "a product of vectors": (
        lambda m: fused(lambda a, b: fp.vcast(a, "float3") @ fp.vcast(b, "float3"), ramp(2, 3), ramp(2, 3)),
        "write fp.dot(a, b) for two vectors",
        lambda m: fused(lambda a, b: fp.dot(fp.vcast(a, "float3"), fp.vcast(b, "float3")), ramp(2, 3), ramp(2, 3)),
        (ramp(2, 3) ** 2).sum(-1),
    ),
    "a product of matrices that do not fit": (
        lambda m: fused(lambda a, x: fp.vcast(a, "float2x3") @ fp.vcast(x, "float2"), ramp(2, 2, 3), ramp(2, 2)),
        "the second one needs 3 components",
        lambda m: fused(lambda a, x: fp.vcast(a, "float2x3") @ fp.vcast(x, "float3"), ramp(2, 2, 3), ramp(2, 3)),
        np.einsum("nij,nj->ni", ramp(2, 2, 3), ramp(2, 3)),
    ),
    "an operator of structs": (
        lambda m: fused(lambda r: r < r, tensor(rays(m), m.Ray)),
        "declare such an operator in Slang, e.g. Ray operator<(Ray a, Ray b)",
        lambda m: fused(lambda r: r + r, tensor(pairs(m), m.V)).to_numpy()["a"],
        np.array([2, 4], F32),
    ),
    "an operator of a struct and a number": (
        lambda m: fused(lambda r: r + 1, tensor(rays(m), m.Ray)),
        "declare such an operator in Slang, e.g. Ray operator+(Ray a, int b)",
        lambda m: fused(lambda r: r + r, tensor(pairs(m), m.V)).to_numpy()["a"],
        np.array([2, 4], F32),
    ),
    "a read-only array that is written whole": (
        lambda m: m.first_of(np.broadcast_to(np.zeros(3, F32), 3)),
        "pass an array that can be written, such as a copy of it",
        lambda m: changed(np.broadcast_to(np.zeros(3, F32), 3).copy(), m.first_of),
        np.array([5, 0, 0], F32),
    ),
    # batches
    "structs and numbers in one batch": (
        lambda m: fp.Batchable([1.0, {"reach": 2.0}]),
        "give every element one shape",
        lambda m: m.add(fp.Batchable([1.0, 2.0]), 1.0),
        np.array([2, 3], F32),
    ),
    "structs of two kinds in one batch": (
        lambda m: fp.Batchable([{"position": [0.0, 1.0, 0.0], "reach": 2.0}, {"reach": 2.0}]),
        "a batch holds structs of one kind",
        lambda m: m.at(fp.Batchable([{"position": [0.0, 1.0, 0.0], "reach": 2.0}] * 2)),
        np.array([2, 2], F32),
    ),
    "an object that holds itself": (
        lambda m: m.at(Loop("parent")),
        "give it a name that starts with '_', which is not read",
        lambda m: m.at(Loop("_parent")),
        4,
    ),
    "keys that are no names": (
        lambda m: m.at({1: 2.0}),
        "give its fields by name",
        lambda m: m.at({"position": [0.0, 2.0, 0.0], "reach": 2.0}),
        4,
    ),
    "a type that is no name": (
        lambda m: m.at({"_type": 3, "position": [0.0, 2.0, 0.0], "reach": 2.0}),
        "write '_type': 'Name'",
        lambda m: m.at({"_type": "Ray", "position": [0.0, 2.0, 0.0], "reach": 2.0}),
        4,
    ),
    "data of an instance tensor of another type": (
        lambda m: fp.InstanceTensor(m.Ray, data=zeros(2, "float3")),
        "make it with dtype=m.Name of that struct",
        lambda m: fp.InstanceTensor(m.Ray, data=zeros(2, dtype=m.Ray)).shape,
        (2,),
    ),
    "an instance list without arrays": (
        lambda m: fp.InstanceList(m.Ray).construct([0.0, 2.0, 0.0], 1.0),
        "set its fields to tensors first",
        lambda m: fp.InstanceList(m.Ray, {"position": zeros((2, 3)), "reach": zeros(2)}).construct([0.0, 2.0, 0.0], X[:2]).reach,
        X[:2],
    ),
    "a result of mapped values that fits in two ways": (
        lambda m: fp.fuse(lambda x, y: fp.vmap(x, 0) * 2 + y)(ramp(3), ramp(3, 3)),
        "fp.vmap(x, (1,)) is as call by call, fp.vmap(x, (0,)) is what it inherits",
        lambda m: fp.fuse(lambda x, y: fp.vmap(fp.vmap(x, 0) * 2, (0,)) + y)(ramp(3), ramp(3, 3)),
        2 * ramp(3)[:, None] + ramp(3, 3),
    ),
    "a result of mapped values that fits as call by call only": (
        lambda m: fp.fuse(lambda x, y: fp.vmap(x, 0) * 2 + y)(ramp(3), ramp(4, 3)),
        "call by call it runs along the last dimensions: write fp.vmap(x, (1,))",
        lambda m: fp.fuse(lambda x, y: fp.vmap(fp.vmap(x, 0) * 2, (1,)) + y)(ramp(3), ramp(4, 3)),
        2 * ramp(3) + ramp(4, 3),
    ),
    "a struct of no name": (
        lambda m: fp.struct(3),
        'write @struct("Ray"), or @struct',
        lambda m: m.at(made_by(m, fp.struct("Ray"))),
        4,
    ),
}
