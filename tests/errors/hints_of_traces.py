"""Programs after hints about traced values, graphs, arguments and results."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

import fusepy as fp
from tests.errors.hint_programs import N, Program, X, fused, graph, rays, tensor
from tests.errors.hints_of_arrays import changed
from tests.support.slang_functions import F32, ramp

OVERLOADS = """
import fusepy;
struct Ray { float3 position; float reach; };
struct Sun { float power; };
struct Moon { float power; };
float kind(Sun s) { return 1; }
float kind(Moon s) { return 2; }
float named(float x = 1, float y = 2, float z = 3) { return x + 10 * y + 100 * z; }
float wide(float3 c) { return c.x; }
float wide(float3x3 c) { return c[1][1]; }
void halves(float x, out float a, out float b) { a = x / 2; b = 3 * a; }
void split(float x, out float a) { a = x; }
void split(float x, out float a, out float b) { a = x; b = x; }
void nothing(float x) {}
float only_two(float2 c) { return c.x; }
float any_of<T>(T x) { return 1; }
float whole(RWTensor<float, 1> t, float x) { t[0] = x; return x; }
float both(RWTensor<float, 1> a, RWTensor<float, 1> b) { a[0] = 1; b[0] = 2; return 0; }
struct Box<T> { T value; __init(T v) { value = v; } T get() { return value; } };
int apart(float a, float b) { return 1; }
float unsized(float v[]) { return v[0]; }
float luma(float3 c) { return dot(c, float3(0.25, 0.5, 0.25)); }
float add(float a, float b) { return a + b; }
struct Ball { float r; float size() { return 2 * r; } [mutating] void grow(float by) { r += by; } };
"""
IMAGE = ramp(2, 4, 3)
KEPT: list[Any] = []


def over(m: Any) -> Any:
    return fp.Module.load_from_source(fp.default_device(), "hint_overloads", OVERLOADS)


def two_graphs(m: Any, join: Any) -> Any:
    a, b = fp.Graph(inputs=["x"]), fp.Graph(inputs=["y"])
    join(a, b, *a.get_inputs(), *b.get_inputs())
    return a(X)


def keep(value: Any) -> Any:
    KEPT.append(value)
    return value


def leaked(m: Any) -> Any:
    fused(lambda x: keep(x + 1), X)
    return fused(lambda x: x + KEPT[-1], X)


recursive = fp.fuse(lambda x: recursive(x) + 1)


def library(m: Any) -> fp.NodeLibrary:
    made = fp.NodeLibrary()
    made.add(m.add)
    return made


def swapped(m: Any, second: Any) -> Any:
    both = tensor(np.zeros(3, F32))
    over(m).both(both, second(both))
    return both


def with_attribute(x: Any) -> Any:
    x.y = 2
    return x


def entered(x: Any) -> Any:
    with x:
        return x


def without_first(x: Any) -> Any:
    del x[0]
    return x


PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    # what Python asks of traced values
    "the ceiling of a traced value": (
        lambda m: fused(lambda x: math.ceil(x), 4 * X),
        "use fusepy.ceil(value), which gives a float, and fp.vcast(…, 'int') for an integer",
        lambda m: fused(lambda value: fp.vcast(fp.ceil(value), "int"), 4 * X),
        np.ceil(4 * X).astype(np.int32),
    ),
    "the whole part of a traced value": (
        lambda m: fused(lambda x: math.trunc(x), -4 * X),
        "use fusepy.trunc(value), which gives a float, and fp.vcast(…, 'int') for an integer",
        lambda m: fused(lambda value: fp.vcast(fp.trunc(value), "int"), -4 * X),
        np.trunc(-4 * X).astype(np.int32),
    ),
    "the dtype of a traced value": (
        lambda m: fused(lambda x: x * (2 if x.dtype == np.float32 else 1), X),
        "its Slang type is .type; convert with fusepy.vcast(value, type)",
        lambda m: fused(lambda x: x * (2 if x.type.is_float else 1), X),
        2 * X,
    ),
    "an array of a traced value": (
        lambda m: fused(lambda x: np.asarray(x), X),
        "use operators and fusepy's functions, e.g. fp.where, or leave NumPy's work to before the call",
        lambda m: fused(lambda x: fp.where(x > 0.25, x, 0.0), np.asarray(X)),
        np.where(ramp(3) > 0.25, X, 0),
    ),
    "the bytes of a traced value": (
        lambda m: fused(lambda x: bytes(x), X),
        "it has no contents yet: ask what the call returns",
        lambda m: np.frombuffer(bytes(fused(lambda x: x + 1, X)), F32),
        X + 1,
    ),
    "a format of a traced value": (
        lambda m: fused(lambda x: f"{x:.2f}", X[0]),
        "it has no number yet: format what the call returns",
        lambda m: float(f"{fused(lambda x: x + 0.5, 0.25):.2f}"),
        0.75,
    ),
    "a traced value as something else": (
        lambda m: fused(lambda x: "%d" % x, 2),  # noqa: UP031
        "or do this outside of the fused function",
        lambda m: int("%d" % fused(lambda x: 2 * x, 2)),  # noqa: UP031
        4,
    ),
    "a traced value in a with": (
        lambda m: fused(entered, X),
        "only calls and operators take values",
        lambda m: fused(lambda x: x + 0, X),
        X,
    ),
    "an attribute of a traced value": (
        lambda m: fused(with_attribute, fp.vcast(ramp(2, 3), "float3")),
        "values do not change: make a new one, e.g. float3(…) of its parts",
        lambda m: fused(lambda x: m.float3(x.x, 2, x.z), fp.vcast(ramp(2, 3), "float3")),
        ramp(2, 3) * [1, 0, 1] + F32([0, 2, 0]),
    ),
    "an element that is removed": (
        lambda m: fused(without_first, X),
        "values do not change: slice arrays before the call",
        lambda m: fused(lambda x: x + 0, X[1:]),
        X[1:],
    ),
    "a traced value as a complex number": (
        lambda m: fused(lambda x: complex(x), X),
        "compute with two values, or a float2",
        lambda m: fused(lambda x: m.float2(x, -x), X),
        np.stack([X, -X], -1),
    ),
    "the elements of a traced value": (
        lambda m: fused(lambda x: [v + 1 for v in x], X),
        "call Slang functions on the whole value; a loop over elements is what the grid does",
        lambda m: fused(lambda x: m.add(x, 1.0), X),
        X + 1,
    ),
    "a traced value among others": (
        lambda m: fused(lambda x: 2 in x, fp.vcast(ramp(2, 3), "float3")),
        "compare each component, and join the results with |",
        lambda m: fused(lambda x: (x.x == 0) | (x.y == 0) | (x.z == 0), fp.vcast(ramp(2, 3), "float3")),
        (ramp(2, 3) == 0).any(-1),
    ),
    "a function of NumPy's that fusepy lacks": (
        lambda m: fused(lambda x: np.sort(x), X),
        "fusepy has no such function: compute it before the call, or in a Slang function",
        lambda m: fused(lambda x: x + 0, np.sort(X)),
        np.sort(X),
    ),
    "a ufunc that fusepy lacks": (
        lambda m: fused(lambda x: np.spacing(x), X),
        "compute it before the call, or in a Slang function",
        lambda m: fused(lambda x: x + 0, np.spacing(X)),
        np.spacing(X),
    ),
    "an option of a ufunc": (
        lambda m: fused(lambda x: np.add(x, 1, dtype=np.float64), X),
        "leave out dtype=",
        lambda m: fused(lambda x: np.add(x, 1), X),
        X + 1,
    ),
    "a component past the end": (
        lambda m: fused(lambda c: c[3], fp.vcast(ramp(2, 3), "float3")),
        "mind the size",
        lambda m: fused(lambda c: c[2], fp.vcast(ramp(2, 3), "float3")),
        ramp(2, 3)[:, 2],
    ),
    "another shape of a traced value": (
        lambda m: fused(lambda x: x.reshape(3, 1) + 0, X),
        "reshape the array before the call",
        lambda m: fused(lambda x: x + 0, X.reshape(3, 1)),
        X.reshape(3, 1),
    ),
    "a traced value that is kept": (
        leaked,
        "return it from the fused function instead of keeping it",
        lambda m: fused(lambda x: x + (x + 1), X),
        2 * X + 1,
    ),
    "the length of a traced value": (
        lambda m: fused(lambda x: x * len(x), X),
        "sizes are known when the function runs, not while it is traced",
        lambda m: fused(lambda x, n: x * n, X, len(X)),
        3 * X,
    ),
    "a function that calls itself": (
        lambda m: recursive(X),
        "write the recursion in Slang, or as a loop",
        lambda m: fused(lambda x: fp.fori_loop(0, 3, lambda i, c: c + 1, x), X),
        X + 3,
    ),
    "a struct as a number": (
        lambda m: fused(lambda r: fp.sin(r), tensor(rays(m), m.Ray)),
        "operators take scalars, vectors and matrices; call a Slang function for anything else",
        lambda m: fused(lambda r: m.at(r), tensor(rays(m), m.Ray)),
        np.array([6, 20], F32),
    ),
    "a vector of too few components": (
        lambda m: fused(lambda x: m.float3(x, x), X),
        "give one number per component, or vectors that add up to them",
        lambda m: fused(lambda x: m.float3(m.float2(x, x), x), X),
        np.stack([X] * 3, -1),
    ),
    "components by name": (
        lambda m: m.float3(x=1, y=2, z=3),
        "write float3(x, y, …)",
        lambda m: fused(lambda x: m.float3(x, 2, 3), X)[:, 1:],
        np.full((3, 2), (2, 3), F32),
    ),
    "an integer vector of floats": (
        lambda m: m.int2(1.5, 2),
        "round it first",
        lambda m: [*fused(lambda x: m.int2(round(1.5), 2) + x, N)[0]],
        [2, 2],
    ),
    "a method that is not called": (
        lambda m: fused(lambda b: b.size + 1, tensor(np.ones(2, over(m).Ball.dtype), over(m).Ball)),
        "write .size(…)",
        lambda m: fused(lambda b: b.size() + 1, tensor(np.ones(2, over(m).Ball.dtype), over(m).Ball)),
        np.array([3, 3], F32),
    ),
    "a read in the middle of a trace": (
        lambda m: reading(tensor(X), lambda t: float(t[1])),
        "or read it before the call, as t.to_numpy()",
        lambda m: reading(tensor(X).to_numpy(), lambda t: t[1]),
        X + X[1],
    ),
    # loops and branches
    "a reduction in a loop": (
        lambda m: fused(lambda x: fp.fori_loop(0, 2, lambda i, c: c + fp.sum(x), 0.0), X),
        "reduce before the loop or after it",
        lambda m: fused(lambda x: fp.fori_loop(0, 2, lambda i, c: c + x, 0.0), X.sum()),
        2 * X.sum(),
    ),
    "another structure than init": (
        lambda m: fused(lambda x: fp.fori_loop(0, 2, lambda i, c: (c, c), x), X),
        "return what is carried to the next step, in the structure of init",
        lambda m: fused(lambda x: fp.fori_loop(0, 2, lambda i, c: (c[0] + 1, c[1]), (x, x)), X)[0],
        X + 2,
    ),
    "a loop that cannot be unrolled": (
        lambda m: fused(lambda n: fp.fori_loop(0, n, lambda i, c: c + 1, 0, unroll=True), N),
        "leave unroll away",
        lambda m: fused(lambda n: fp.fori_loop(0, n, lambda i, c: c + 1, 0), N),
        N,
    ),
    "steps with a point": (
        lambda m: fused(lambda x: fp.while_loop(lambda c: c < 2, lambda c: c + 1, x, max_steps=2.5), X),
        "pass a Python integer",
        lambda m: fused(lambda x: fp.while_loop(lambda c: c < 2, lambda c: c + 1, x, max_steps=5), X),
        X + np.where(X < 1, 2, 1).astype(F32),
    ),
    "a loop that wants vectors": (
        lambda m: fused(lambda i: fp.fori_loop(0, 2, lambda k, c: c * m.luma(c), i), IMAGE),
        "if it shall be a vector, vcast it before the loop",
        lambda m: fused(lambda i: fp.fori_loop(0, 1, lambda k, c: c * m.luma(c), fp.vcast(i, "float3")), IMAGE),
        IMAGE * (IMAGE @ F32([0.25, 0.5, 0.25]))[..., None],
    ),
    # reductions
    "an axis that is no number": (
        lambda m: fp.sum(X, axis="x"),
        "count axes from 0",
        lambda m: fp.sum(X, axis=0),
        X.sum(),
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
    # arguments
    "too many arguments": (
        lambda m: m.add(1.0, 2.0, 3.0),
        "out parameters may be left away; under @fuse they always are, and are returned",
        lambda m: fused(lambda x: over(m).halves(x)[1], X),
        1.5 * X,
    ),
    "a missing argument": (lambda m: m.add(1.0), "pass b=… by position or name", lambda m: m.add(X, b=1.0), X + 1),
    "an argument twice": (lambda m: m.add(1.0, 2.0, a=3.0), "pass it by position or by name", lambda m: m.add(X, 2.0), X + 2),
    "no first argument": (
        lambda m: m.add(b=1.0),
        "pass a=…, which has no default that can be left out here",
        lambda m: m.add(a=X, b=1.0),
        X + 1,
    ),
    "arguments of a fused function": (
        lambda m: fp.fuse(lambda colour, gain: colour * gain)(X),
        "its parameters: colour, gain",
        lambda m: fp.fuse(lambda colour, gain: colour * gain)(colour=X, gain=2.0),
        2 * X,
    ),
    "any number of arguments": (
        lambda m: fused(lambda *x: x[0] + x[1], X, X),
        "name the parameters of a fused function",
        lambda m: fused(lambda x, y: x + y, X, X),
        2 * X,
    ),
    "a list as a static argument": (
        lambda m: fp.fuse(lambda x, n: x * len(n), static=("n",))(X, [1, 2]),
        "pass a number, string or tuple; a static argument is part of the program's identity",
        lambda m: fp.fuse(lambda x, n: x * len(n), static=("n",))(X, (1, 2)),
        2 * X,
    ),
    "a fused number": (lambda m: fp.fuse(3), "write @fuse above a def, or fuse(f)", lambda m: fp.fuse(operator.neg)(X), -X),
    "a function that tells no parameters": (
        lambda m: fp.fuse(max)(X),
        "wrap it: fuse(lambda x: f(x))",
        lambda m: fp.fuse(lambda x: operator.neg(x))(X),
        -X,
    ),
    "no value for a number": (
        lambda m: m.add(X, None),
        "a fused function takes None as a static argument",
        lambda m: fp.fuse(lambda x, y: x if y is None else x + y, static=("y",))(X, None),
        X,
    ),
    "a text": (
        lambda m: m.add(X, "1"),
        "a fused function takes a string as a static argument",
        lambda m: fp.fuse(lambda x, y: x + int(y), static=("y",))(X, "1"),
        X + 1,
    ),
    "a class that no one registered": (
        lambda m: m.add(X, object()),
        "convert it, or register a marshal for its class",
        lambda m: m.add(X, float("1")),
        X + 1,
    ),
    "a result with nothing of the call": (
        lambda m: fused(lambda x: object(), X),
        "return what the Slang calls returned",
        lambda m: fused(lambda x: m.add(x, 1.0), X),
        X + 1,
    ),
    "three tensors for two results": (
        lambda m: over(m).halves(X, _result=(tensor(X), tensor(X), tensor(X))),
        "give one tensor per result",
        lambda m: over(m).halves(X, _result=(tensor(X), tensor(X)))[1],
        1.5 * X,
    ),
    "one array for two results": (
        lambda m: shared(lambda a: (a, a)),
        "give each its own",
        lambda m: shared(lambda a: (a, a.copy()))[1],
        2 * X,
    ),
    "an out argument of a number": (
        lambda m: over(m).halves(X, 1.0, 2.0),
        "leave the argument away to have it returned",
        lambda m: over(m).halves(X)[0],
        X / 2,
    ),
    "a list that is written whole": (
        lambda m: over(m).whole([1.0, 2.0], 3.0),
        "pass a Tensor or a NumPy array",
        lambda m: changed(np.zeros(2, F32), lambda a: over(m).whole(a, 3.0)),
        np.array([3, 0], F32),
    ),
    "one tensor for two that are written": (
        lambda m: swapped(m, lambda t: t),
        "copy one of them, or pass the array once and index it in Slang",
        lambda m: swapped(m, lambda t: t.copy()),
        np.array([1, 0, 0], F32),
    ),
    "a broadcast tensor that is written whole": (
        lambda m: over(m).whole(tensor(X[:1]).broadcast_to(3), 5.0),
        "pass a real tensor, not a broadcast view",
        lambda m: changed(tensor(X[:1]).broadcast_to(3).copy(), lambda a: over(m).whole(a, 5.0)),
        np.array([5, X[0], X[0]], F32),
    ),
    "a name that is nothing like a parameter": (
        lambda m: over(m).wide(y=X),
        "known names: c",
        lambda m: over(m).wide(c=X),
        X[0],
    ),
    "vectors or matrices": (
        lambda m: over(m).wide(ramp(3, 3, 3)),
        "choose for 'c':",
        lambda m: over(m).wide(fp.vcast(ramp(3, 3, 3), "float3")),
        ramp(3, 3, 3)[..., 0],
    ),
    "fields of two structs": (
        lambda m: over(m).kind({"power": 2.0}),
        "add '_type': 'Moon'",
        lambda m: over(m).kind({"_type": "Moon", "power": 2.0}),
        2,
    ),
    "a parameter of no size": (
        lambda m: over(m).unsized(X),
        "in Slang, declare it so, or as a pointer, Ptr<float>, or with a size, e.g. float[4]",
        lambda m: m.fetch(X, 2),
        X[2],
    ),
    "a type as a value": (
        lambda m: m.add(X, m.float),
        "types stand for values in fp.resolve",
        lambda m: m.add(X, 1.0) if fp.resolve(m.add, X, m.float) else None,
        X + 1,
    ),
    "a fused function in resolve()": (
        lambda m: fp.resolve(fp.fuse(lambda x: x), X),
        "for a fused function look at .ir(…) and .explain(…)",
        lambda m: fp.fuse(lambda x: x + 1).explain(X).kernels,
        1,
    ),
    "what ran at once in explain()": (
        lambda m: fp.explain(m.add(tensor(X), 1.0)),
        "for calls that run at once look at .explain(…) of the function",
        lambda m: m.add.explain(tensor(X), 1.0).kernels,
        1,
    ),
    "a library of Python's functions": (
        lambda m: fp.NodeLibrary().add(lambda x: x),
        "put fusepy.fuse around a Python function",
        lambda m: len([fp.NodeLibrary().add(fp.fuse(lambda x: x))]),
        1,
    ),
    "a name twice in a library": (
        lambda m: library(m).add(m.add),
        "give this one another name: add(node, name)",
        lambda m: len([library(m).add(m.add, "plus")]),
        1,
    ),
    "a type that says too little": (
        lambda m: fp.resolve(m.add, np.ndarray, 1.0),
        "say the element and the axes: 'Tensor<float>[?,3]'",
        lambda m: fp.resolve(m.add, "Tensor<float>[?,3]", 1.0).grid,
        2,
    ),
    # graphs
    "values of two graphs": (
        lambda m: two_graphs(m, lambda a, b, x, y: m.add.node()(x, y)),
        "take one graph as a node of the other: g.node()",
        lambda m: two_graphs(m, lambda a, b, x, y: (b.set_outputs(y + 1), a.set_outputs(b.node()(x)))),
        X + 1,
    ),
    "an output of another graph": (
        lambda m: two_graphs(m, lambda a, b, x, y: a.set_outputs(y + 1)),
        "call nodes with what get_inputs() returns",
        lambda m: two_graphs(m, lambda a, b, x, y: a.set_outputs(x + 1)),
        X + 1,
    ),
    "a node after the outputs": (
        lambda m: graph(lambda g, x: (g.set_outputs(x + 1), m.add.node()(x, 1.0)), X),
        "call all nodes before set_outputs()",
        lambda m: graph(lambda g, x: g.set_outputs(m.add.node()(x, 1.0)), X),
        X + 1,
    ),
    "a graph in itself": (
        lambda m: graph(lambda g, x: g.set_outputs(g.node(outputs=1)(x)), X),
        "a loop on the device is fusepy.fori_loop or while_loop in a fused function, which is a node",
        lambda m: graph(
            lambda g, x: g.set_outputs(fp.fuse(lambda v: fp.fori_loop(0, 3, lambda i, c: c + 1, v)).node(outputs=1)(x)), X
        ),
        X + 3,
    ),
    "a graph without outputs as a node": (
        lambda m: two_graphs(m, lambda a, b, x, y: a.set_outputs(b.node()(x))),
        "call set_outputs(…) first, or say how many there will be: graph.node(outputs=1)",
        lambda m: two_graphs(m, lambda a, b, x, y: (a.set_outputs(b.node(outputs=1)(x)), b.set_outputs(y + 1))),
        X + 1,
    ),
    "overloads with two counts of results": (
        lambda m: graph(lambda g, x: g.set_outputs(over(m).split.node()(x)), X),
        "split.node(outputs=1)",
        lambda m: graph(lambda g, x: g.set_outputs(over(m).split.node(outputs=1)(x)), X),
        X,
    ),
    "more results than were said": (
        lambda m: graph(lambda g, x: g.set_outputs(*fp.fuse(lambda v: (v, v, -v)).node(outputs=2)(x)), X),
        ".node(outputs=3)",
        lambda m: graph(lambda g, x: g.set_outputs(*fp.fuse(lambda v: (v, v, -v)).node(outputs=3)(x)), X)[2],
        -X,
    ),
    "a count of results with a point": (
        lambda m: m.add.node(outputs=1.5),
        "leave it away for a Slang function or a graph, which tell it themselves",
        lambda m: graph(lambda g, x: g.set_outputs(m.add.node()(x, 1.0)), X),
        X + 1,
    ),
    "another count of results": (
        lambda m: graph(lambda g, x: g.set_outputs(*m.add.node(outputs=2)(x, 1.0)), X),
        "leave outputs away for a Slang function or a graph, which tell it themselves",
        lambda m: graph(lambda g, x: g.set_outputs(m.add.node()(x, 1.0)), X),
        X + 1,
    ),
    "three names for two results": (
        lambda m: graph(lambda g, x: unpacked(g, over(m).halves.node()(x)), X),
        "take as many as there are",
        lambda m: graph(lambda g, x: g.set_outputs(*over(m).halves.node()(x)), X)[1],
        1.5 * X,
    ),
    "too few arguments of a node": (
        lambda m: graph(lambda g, x: g.set_outputs(m.add.node()(x)), X),
        "pass a value for each parameter that is not an out parameter",
        lambda m: graph(lambda g, x: g.set_outputs(m.add.node()(x, 1.0)), X),
        X + 1,
    ),
    "a node of nothing": (
        lambda m: over(m).nothing.node()(2.0),
        "without one there is no telling which graph it belongs to",
        lambda m: graph(lambda g, x: (over(m).nothing.node()(x), g.set_outputs(x + 1)), X),
        X + 1,
    ),
    # strict broadcasting
    "stretched by strictness": (
        lambda m: fp.fuse(lambda x: x - fp.sum(x, 0, True)).strict_broadcasting()(ramp(2, 3)),
        "strict broadcasting stretches nothing, not even what a reduction leaves: call the function without it",
        lambda m: fp.fuse(lambda x: x - fp.sum(x, 0, True))(ramp(2, 3)),
        ramp(2, 3) - ramp(2, 3).sum(0, keepdims=True),
    ),
    # gradients
    "gradients of integers": (
        lambda m: tensor(N).with_grads(),
        "use a float type",
        lambda m: tensor(N.astype(F32)).with_grads().grad,
        np.zeros(3, F32),
    ),
    "a gradient of another shape": (
        lambda m: tensor(X).with_grads(tensor(ramp(4))),
        "leave it away to have one made",
        lambda m: tensor(X).with_grads().grad,
        np.zeros(3, F32),
    ),
    "gradients of structs": (
        lambda m: tensor(rays(m), m.Ray).with_grads(),
        "declare struct Ray : IDifferentiable",
        lambda m: tensor(np.zeros(2, diff().Ray.dtype), diff().Ray).with_grads().grad is not None,
        True,
    ),
}


def diff() -> Any:
    source = "struct Ray : IDifferentiable { float3 position; float reach; }; float at(Ray r) { return r.reach; }"
    return fp.Module.load_from_source(fp.default_device(), "hint_diff", source)


def reading(t: Any, read: Any) -> Any:
    return fused(lambda x: x + read(t), X)


def shared(pair: Any) -> Any:
    given = pair(np.zeros(3, F32))
    fp.fuse(lambda x: (x, 2 * x))(X, _result=given)
    return given


def unpacked(g: Any, results: Any) -> None:
    a, b, c = results
    g.set_outputs(a, b, c)
