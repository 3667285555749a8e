"""Programs that are refused, the words of the hint that are followed, what follows them, and what the user meant."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import slangpy as spy

import fusepy as fp
from tests.support.slang_functions import F32, ramp

SOURCE = """
import fusepy;
struct Ray { float3 position; float reach; };
float luma(float3 c) { return dot(c, float3(0.25, 0.5, 0.25)); }
float add(float a, float b) { return a + b; }
float at(Ray r) { return r.position.y * r.reach; }
struct V { float a; };
V operator+(V x, V y) { return { x.a + y.a }; }
float held(StructuredBuffer<float> b, int i) { return b[i]; }
float first_of(RWTensor<float, 1> t) { t[0] = 5; return 1; }
int twice(int n) { return 2 * n; }
float weigh(float w[3], float x) { return (w[0] + 10 * w[1] + 100 * w[2]) * x; }
float fetch(float* p, int i) { return p[i]; }
float pick(Tensor<float, 1> t, int i) { return t[i]; }
void bump(inout float v, float by) { v += by; }
float count<let N : int>(float v[N]) { return N + v[0]; }
T most<T : __BuiltinFloatingPointType>(T a, T b) { return max(a, b); }
T nothing<T : __BuiltinFloatingPointType>() { return T(7); }
float2 where_am_i(float2 at) { return at; }
float4 colour(float x) { return float4(x, 2 * x, 0, 1); }
float over(float a) { return a; }
float over(int a) { return -a; }
float texel(float3 c) { return c.x + c.y; }
"""
IMAGE = ramp(2, 4, 3)
Program = Callable[[Any], Any]


def fused(function: Callable[..., Any], *args: Any) -> Any:
    return fp.fuse(function)(*args)


def tensor(array: Any, dtype: Any = None) -> Any:
    return fp.Tensor.from_numpy(fp.default_device(), np.asarray(array), dtype)


def texture(m: Any, usage: Any = spy.TextureUsage.none) -> Any:
    made = fp.default_device().sgl.create_texture(
        width=4, height=2, format=spy.Format.rgba32_float, usage=spy.TextureUsage.shader_resource | usage
    )
    made.copy_from_numpy(ramp(2, 4, 4))
    return made


def graph(build: Callable[[Any, Any], Any], *args: Any, **kwargs: Any) -> Any:
    made = fp.Graph(inputs=["x"], **kwargs)
    build(made, *made.get_inputs())
    return made(*args)


def rays(m: Any) -> Any:
    return np.array([((0, 2, 0), 3), ((0, 4, 0), 5)], m.Ray.dtype)


X, N = ramp(3), np.arange(3, dtype=np.int32)
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
    "an array of fixed extent, computed": (
        lambda m: fused(lambda w: m.weigh(w * 2, 1.0), X),
        "return it, and pass the result",
        lambda m: m.weigh(fused(lambda w: w * 2, X), 1.0),
        (2 * X * [1, 10, 100]).sum(dtype=F32),
    ),
    "a number for a pointer": (
        lambda m: m.fetch(1.0, 2),
        "pass a Tensor or an array of float",
        lambda m: m.fetch(X, 2),
        X[2],
    ),
    "a pointer to what is computed": (
        lambda m: fused(lambda x: m.fetch(x * 2, 2), X),
        "return it, and pass the result",
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
        "leave its mapping away",
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
        "leave it away to have the result returned",
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
        "take the result and convert that",
        lambda m: fused(lambda x: fp.vcast(m.add(x, 1.0), m.int), 4 * X),
        (4 * X + 1).astype(np.int32),
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
    # traces: control flow, leaks, NumPy's functions
    "a loop to a vector": (
        lambda m: fused(lambda x: fp.fori_loop(0, 2, lambda i, c: c * m.float2(1, 2), x), X),
        "fp.vcast(…, 'float2')",
        lambda m: fused(lambda x: fp.fori_loop(0, 2, lambda i, c: c * m.float2(1, 2), m.float2(x, x)), X),
        np.stack([X, 4 * X], -1),
    ),
    "a branch that is no function": (
        lambda m: fused(lambda x: fp.cond(x > 0.5, x, lambda: -x), X),
        "pass a function, e.g. a lambda",
        lambda m: fused(lambda x: fp.cond(x > 0.25, lambda: x, lambda: -x), X),
        np.where(ramp(3) > 0.25, X, -X),
    ),
    "branches of two structures": (
        lambda m: fused(lambda x: fp.cond(x > 0.25, lambda: (x, x), lambda: x), X),
        "return the same structure from if_true and if_false",
        lambda m: fused(lambda x: fp.cond(x > 0.25, lambda: (x, x), lambda: (x, -x))[1], X),
        np.where(ramp(3) > 0.25, X, -X),
    ),
    "math.floor of a traced value": (
        lambda m: fused(lambda x: __import__("math").floor(x), 4 * X),
        "use fusepy.floor(value), which gives a float, and fp.vcast(…, 'int') for an integer",
        lambda m: fused(lambda value: fp.vcast(fp.floor(value), "int"), 4 * X),
        np.floor(4 * X).astype(np.int32),
    ),
    "round() of a traced value": (
        lambda m: fused(lambda x: round(x), 4 * X),
        "use fusepy.round(value), which gives a float, and fp.vcast(…, 'int')",
        lambda m: fused(lambda value: fp.vcast(fp.round(value), "int"), 4 * X),
        np.round(4 * X).astype(np.int32),
    ),
    "float() of a traced value": (
        lambda m: fused(lambda n: float(n), N),
        "fp.vcast(value, 'float')",
        lambda m: fused(lambda value: fp.vcast(value, "float"), N),
        N.astype(F32),
    ),
    "numpy.cumsum of a traced value": (
        lambda m: fused(lambda x: np.cumsum(x), X),
        "use fusepy.scan",
        lambda m: fused(lambda x: fp.scan("sum", x), X),
        X.cumsum(),
    ),
    "astype of a traced value": (
        lambda m: fused(lambda n: n.astype(np.float32), N),
        "write fusepy.vcast(value, type)",
        lambda m: fused(lambda value: fp.vcast(value, m.float), N),
        N.astype(F32),
    ),
    "the transpose of a traced value": (
        lambda m: fused(lambda a: a.T + 0, ramp(2, 3)),
        "fusepy.vmap(value, (1, 0))",
        lambda m: fused(lambda value: fp.vmap(value, (1, 0)) + 0, ramp(2, 3)),
        ramp(2, 3).T,
    ),
    "the sum of a traced value": (
        lambda m: fused(lambda a: a.sum(), X),
        "write fusepy.sum(value)",
        lambda m: fused(lambda value: fp.sum(value), X),
        X.sum(),
    ),
    "clip of a traced value": (
        lambda m: fused(lambda a: a.clip(0.1, 0.2), X),
        "write fusepy.clip(value, low, high)",
        lambda m: fused(lambda value: fp.clip(value, 0.1, 0.2), X),
        X.clip(F32(0.1), F32(0.2)),
    ),
    "a write to a traced value": (
        lambda m: fused(lambda a: a.__setitem__(0, 1.0), X),
        "by fusepy.where(…)",
        lambda m: fused(lambda a: fp.where(a > 0.25, a, 1.0), X),
        np.where(ramp(3) > 0.25, X, 1),
    ),
    "pow with three values": (
        lambda m: fused(lambda n: pow(n, 2, 3), N),
        "write pow(a, b) % c",
        lambda m: fused(lambda n: pow(n, 2) % 3, N),
        pow(N, 2) % 3,
    ),
    "a slice of a traced array": (
        lambda m: fused(lambda a: a[1:] + 0, X),
        "slice arrays before the call",
        lambda m: fused(lambda a: a + 0, X[1:]),
        X[1:],
    ),
    "a power of an integer": (
        lambda m: fused(lambda n: n**-1, N + 1),
        "write 1 / x, or convert the base first, with fp.vcast(x, 'float')",
        lambda m: fused(lambda x: fp.vcast(x, "float") ** -1, N + 1),
        (1 / (N + 1)).astype(F32),
    ),
    "a mapping of a mapping": (
        lambda m: m.add(fp.vcast(fp.vcast(X, m.float), m.float), 1.0),
        "write one vcast",
        lambda m: m.add(fp.vcast(X, m.float), 1.0),
        X + 1,
    ),
    "the truth of a mapped value": (
        lambda m: X if fp.vmap(X, 0) else -X,
        "choose with fusepy.where(condition, a, b)",
        lambda m: fp.where(fp.vmap(X, 0) > 0.25, X, -X),
        np.where(ramp(3) > 0.25, X, -X),
    ),
    "an operator in place": (
        lambda m: fused(lambda x: in_place(tensor(X), x), X),
        "write t = t + x, return it",
        lambda m: fused(lambda t, x: t + x, tensor(X), X),
        2 * X,
    ),
    "a vector of numbers outside of a trace": (
        lambda m: m.float2(X, X),
        "inside a function under @fuse",
        lambda m: fused(lambda x: m.float2(x, x), X),
        np.stack([X, X], -1),
    ),
    # graphs
    "a graph's value in a call": (
        lambda m: graph(lambda g, x: g.set_outputs(m.add(x, 1.0)), X),
        "call the node of the function: f.node()(value)",
        lambda m: graph(lambda g, x: g.set_outputs(m.add.node()(x, 1.0)), X),
        X + 1,
    ),
    "a graph without outputs": (
        lambda m: graph(lambda g, x: None, X),
        "say what it returns with set_outputs(…)",
        lambda m: graph(lambda g, x: g.set_outputs(x + 1), X),
        X + 1,
    ),
    "a graph whose outputs are set twice": (
        lambda m: graph(lambda g, x: [g.set_outputs(x + 1), g.set_outputs(x)], X),
        "return several as set_outputs(a, b)",
        lambda m: graph(lambda g, x: g.set_outputs(x + 1, x), X)[0],
        X + 1,
    ),
    "a graph of one name": (
        lambda m: fp.Graph(inputs="x"),
        'write Graph(inputs=["x", "k"])',
        lambda m: graph(lambda g, x: g.set_outputs(x + 1), X),
        X + 1,
    ),
    "the truth of a graph's value": (
        lambda m: graph(lambda g, x: g.set_outputs(x if x > 0 else -x), X),
        "in a fused function with fusepy.where",
        lambda m: graph(lambda g, x: g.set_outputs(fp.fuse(lambda v: fp.where(v > 0.25, v, -v)).node()(x)), X),
        np.where(ramp(3) > 0.25, X, -X),
    ),
    # shapes, tensors, Batchable
    "shapes that do not broadcast": (
        lambda m: m.add(ramp(3), ramp(4)),
        "or map its axes elsewhere with vmap",
        lambda m: m.add(fp.vmap(ramp(3), 0), fp.vmap(ramp(4), 1)),
        np.add.outer(ramp(3), ramp(4)),
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
        "ask fp.any(t) or fp.all(t) about it",
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
        "write t.copy_from_numpy(…) with what it gives",
        lambda m: filled(tensor(X), np.hypot(X, X)),
        np.hypot(X, X),
    ),
    "a pickled tensor": (
        lambda m: pickle.dumps(tensor(X)),
        "pickle t.to_numpy()",
        lambda m: pickle.loads(pickle.dumps(tensor(X).to_numpy())),
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
    "an element of a traced array": (
        lambda m: fused(lambda a, x: x * a[1], X, X),
        "index the array before the call",
        lambda m: fused(lambda a, x: x * a, X[1], X),
        X * X[1],
    ),
    "a vector counted by floats": (
        lambda m: fused(lambda c, x: c[x], fp.vcast(ramp(2, 3), "float3"), ramp(2)),
        "which one integer counts",
        lambda m: fused(lambda c, x: c[fp.vcast(x, "int")], fp.vcast(ramp(2, 3), "float3"), ramp(2)),
        ramp(2, 3)[:, 0],
    ),
    "a mask of a traced array": (
        lambda m: fused(lambda a: a[a > 0.25], X),
        "fusepy.where(condition, a, b)",
        lambda m: fused(lambda a: fp.where(a > 0.25, a, 0.0), X),
        np.where(ramp(3) > 0.25, X, 0),
    ),
    "an unknown branch of a graph": (
        lambda m: graph(lambda g, x: g.set_outputs(*fp.fuse(lambda v: (v, -v)).node()(x)), X),
        "f.node(outputs=2)",
        lambda m: graph(lambda g, x: g.set_outputs(*fp.fuse(lambda v: (v, -v)).node(outputs=2)(x)), X)[1],
        -X,
    ),
    # globals
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
}


def written(m: Any, dtype: Any) -> Any:
    array = N.astype(dtype)
    m.bump(array, 1.0)
    return array


def in_place(t: Any, x: Any) -> Any:
    t += x
    return t


def shifted(t: Any, taken: Callable[[Any], Any]) -> Any:
    t[1:].copy_from(taken(t[:-1]))
    return t


def filled(t: Any, array: Any) -> Any:
    t.copy_from_numpy(array)
    return t


def scaled(m: Any) -> Any:
    return fp.Module.load_from_source(fp.default_device(), "hint_globals", "uniform float k; float f(float x) { return k * x; }")


def points(m: Any) -> Any:
    source = """[shader("compute")] [numthreads(32, 1, 1)]
    void fill(uint3 at : SV_DispatchThreadID, uniform float* p, uniform int n) { if (at.x < n) p[at.x] = 7 * at.x; }"""
    return fp.Module.load_from_source(fp.default_device(), "hint_entries", source)


def dispatched(module: Any, t: Any) -> Any:
    module.fill.dispatch(3, p=t, n=3)
    return t
