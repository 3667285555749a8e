"""Programs after hints about generators, reductions and scans."""

from __future__ import annotations

from typing import Any

import numpy as np

import fusepy as fp
from tests.errors.hints.support import (
    N,
    Program,
    X,
    fused,
    graph,
    over,
    rays,
    tensor,
    zeros,
)
from tests.support.slang_functions import F32, ramp

PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    "an array and no identity": (
        lambda m: fp.reduce(m.add, X),
        "write fp.reduce(m.add, 0.0, x)",
        lambda m: fp.reduce(m.add, 0.0, X),
        X.sum(),
    ),
    "a place beyond the integers": (
        lambda m: fp.argmax(zeros(1).broadcast_to((1 << 16, 1 << 15))),
        "reduce axis by axis",
        lambda m: fp.argmax(zeros(1).broadcast_to((2, 1 << 4)), axis=1),
        np.zeros(2, np.int32),
    ),
    # grids, ranges and generators
    "coordinates of fewer dimensions as floats": (
        lambda m: m.where_am_i(fp.grid((3,)), _result="numpy"),
        "as many dimensions as the parameter has components, 2, and say fp.vcast(grid, m.float2)",
        lambda m: m.where_am_i(fp.vcast(fp.grid((1, 3)), m.float2), _result="numpy"),
        np.array([[[0, 0], [1, 0], [2, 0]]], F32),
    ),
    "a generator without a grid": (
        lambda m: m.add(fp.rand_float(), 1.0),
        "pass _result=Tensor.empty(device, shape, dtype)",
        lambda m: m.add(fp.rand_float(), 1.0, _result=fp.Tensor.empty(fp.default_device(), (3,), m.float)).to_numpy() * 0,
        np.zeros(3, F32),
    ),
    "a generator beside a whole array": (
        lambda m: m.pick(X, fp.thread_id(1)),
        "write fp.grid(t.shape)",
        lambda m: m.pick(X, fp.grid(X.shape), _result="numpy"),
        X,
    ),
    "a generator beside a whole array in a fused function": (
        lambda m: fused(lambda t: m.pick(t, fp.thread_id(1)), X),
        "fp.grid(t) inside a fused function",
        lambda m: fused(lambda t: m.pick(t, fp.grid(t)), X),
        X,
    ),
    "a reduction of a generator": (
        lambda m: fused(lambda x: fp.sum(fp.thread_id(1)) + x, X),
        "or use fp.grid",
        lambda m: fused(lambda x: fp.sum(fp.grid((3,))) + x, X),
        X + 3,
    ),
    "extents as floats": (
        lambda m: fp.grid((2.5, 2)),
        "write (height, width), or round first",
        lambda m: m.twice(fp.grid((3,)), _result="numpy"),
        2 * N,
    ),
    # reductions and scans
    "a reduction by Python's function": (
        lambda m: fp.reduce(max, 0.0, X),
        "pass a function of a module",
        lambda m: fp.reduce(m.most, 0.0, X),
        X.max(),
    ),
    "a scan along all axes": (
        lambda m: fp.scan("sum", ramp(2, 3), axis=None),
        "write axis=0",
        lambda m: fp.scan("sum", ramp(2, 3), axis=0),
        ramp(2, 3).cumsum(0),
    ),
    "a scan of an unknown word": (
        lambda m: fp.scan("total", X),
        "write scan('sum', x)",
        lambda m: fp.scan("sum", X),
        X.cumsum(),
    ),
    "a bad axis": (
        lambda m: fp.sum(ramp(2, 3), 2),
        "from the end with negative numbers",
        lambda m: fp.sum(ramp(2, 3), -1),
        ramp(2, 3).sum(1),
    ),
    "an axis twice": (
        lambda m: fp.sum(ramp(2, 3), (0, 0)),
        "name each axis once",
        lambda m: fp.sum(ramp(2, 3), (0,)),
        ramp(2, 3).sum(0),
    ),
    "the smallest of none": (
        lambda m: fp.max(np.empty(0, F32)),
        "append the value that is wanted for nothing",
        lambda m: fp.max(np.append(np.empty(0, F32), F32(3))),
        F32(3),
    ),
    # folds of structs, vectors
    "a sum of structs": (
        lambda m: fused(lambda r: fp.sum(r), tensor(rays(m), m.Ray)),
        "reduce a member of it, such as ray.tmax",
        lambda m: fused(lambda r: fp.sum(r.reach), tensor(rays(m), m.Ray)),
        8,
    ),
    "a cross product of four components": (
        lambda m: fused(lambda c: fp.cross(c, c.wzyx), fp.vcast(ramp(2, 4), "float4")),
        "use .xyz",
        lambda m: fused(lambda c: fp.cross(c.xyz, c.wzyx.xyz), fp.vcast(ramp(2, 4), "float4")),
        np.cross(ramp(2, 4)[:, :3], ramp(2, 4)[:, :0:-1]),
    ),
    "a vector counted by floats": (
        lambda m: fused(lambda c, x: c[x], fp.vcast(ramp(2, 3), "float3"), ramp(2)),
        "which one integer counts",
        lambda m: fused(lambda c, x: c[fp.vcast(x, "int")], fp.vcast(ramp(2, 3), "float3"), ramp(2)),
        ramp(2, 3)[:, 0],
    ),
    "an unknown branch of a graph": (
        lambda m: graph(lambda g, x: g.set_outputs(*fp.fuse(lambda v: (v, -v)).node()(x)), X),
        "f.node(outputs=2)",
        lambda m: graph(lambda g, x: g.set_outputs(*fp.fuse(lambda v: (v, -v)).node(outputs=2)(x)), X)[1],
        -X,
    ),
    # reductions
    "an axis that is no number": (
        lambda m: fp.sum(X, axis="x"),
        "count axes from 0",
        lambda m: fp.sum(X, axis=0),
        X.sum(),
    ),
    "an axis that is a float": (
        lambda m: fp.sum(ramp(2, 3), axis=1.0),
        "axes are part of the program: write axis=1",
        lambda m: fp.sum(ramp(2, 3), axis=1),
        ramp(2, 3).sum(1),
    ),
    "an axis that is a tensor": (
        lambda m: fp.flip(ramp(2, 3), fp.Tensor(np.int32([1]))),
        "axes are part of the program: write axis=1",
        lambda m: fp.flip(ramp(2, 3), axis=1),
        ramp(2, 3)[:, ::-1],
    ),
    "an identity of two numbers": (
        lambda m: fused(lambda x: fp.reduce(m.add, [0.0, 0.0], x), X),
        "give one number per component",
        lambda m: fused(lambda x: fp.reduce(m.add, [0.0], x), X),
        X.sum(),
    ),
    "an identity of text": (
        lambda m: fp.reduce(m.add, "a", X),
        "give a number, or a list with one per component",
        lambda m: fp.reduce(m.add, 0.0, X),
        X.sum(),
    ),
    "a reduction by a function to another type": (
        lambda m: fused(lambda c: fp.reduce(over(m).apart, 0.0, c), X),
        "write a function T f(T a, T b)",
        lambda m: fused(lambda c: fp.reduce(m.add, 0.0, c), X),
        X.sum(),
    ),
}
