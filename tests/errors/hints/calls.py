"""Programs after hints about the arguments of calls, strict broadcasting and gradients."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

import fusepy as fp
from tests.errors.hints.support import (
    N,
    Program,
    X,
    changed,
    fused,
    over,
    rays,
    tensor,
)
from tests.support.slang_functions import F32, ramp


def library(m: Any) -> fp.NodeLibrary:
    made = fp.NodeLibrary()
    made.add(m.add)
    return made


def swapped(m: Any, second: Any) -> Any:
    both = tensor(np.zeros(3, F32))
    over(m).both(both, second(both))
    return both


def diff() -> Any:
    source = "struct Ray : IDifferentiable { float3 position; float reach; }; float at(Ray r) { return r.reach; }"
    return fp.Module.load_from_source(fp.default_device(), "hint_diff", source)


def shared(pair: Any) -> Any:
    given = pair(np.zeros(3, F32))
    fp.fuse(lambda x: (x, 2 * x))(X, _result=given)
    return given


def elsewhere() -> Any:
    """A tensor of `X` on a device of its own."""
    return fp.Tensor.from_numpy(fp.init_device(fp.default_device().raw.info.type.name), X)


PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    # arguments
    "too many arguments": (
        lambda m: m.add(1.0, 2.0, 3.0),
        "out parameters may be omitted; under @fuse they always are, and are returned",
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
    "a place as the name of a static argument": (
        lambda m: fp.fuse(lambda x, n: x * n, static=1)(X, 2),
        'write fp.fuse(f, static=["x"]), with the names of static parameters',
        lambda m: fp.fuse(lambda x, n: x * n, static=["n"])(X, 2),
        2 * X,
    ),
    "an option as an argument of fuse": (
        lambda m: fp.fuse(lambda x: x + 1, fast_math=True)(X),
        "write fp.fuse(f).options(fast_math=…)",
        lambda m: fp.fuse(lambda x: x + 1).options(fast_math=True)(X),
        X + 1,
    ),
    "a list as a static argument": (
        lambda m: fp.fuse(lambda x, n: x * len(n), static=("n",))(X, [1, 2]),
        "pass a number, string or tuple: it is part of the program's identity",
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
        "leave the argument out to have it returned",
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
    "a gradient that is no tensor": (
        lambda m: tensor(X).with_grads(X),
        "make it one before, fp.Tensor(gradient)",
        lambda m: tensor(X).with_grads(fp.Tensor(X)).grad,
        X,
    ),
    "a gradient of another shape": (
        lambda m: tensor(X).with_grads(tensor(ramp(4))),
        "omit it: a new one is made",
        lambda m: tensor(X).with_grads().grad,
        np.zeros(3, F32),
    ),
    "gradients of structs": (
        lambda m: tensor(rays(m), m.Ray).with_grads(),
        "declare struct Ray : IDifferentiable",
        lambda m: tensor(np.zeros(2, diff().Ray.dtype), diff().Ray).with_grads().grad is not None,
        True,
    ),
    "a strict function that would stretch": (
        lambda m: fused(lambda x: m.add.strict_broadcasting()(x, x[:1]), X),
        "repeat the smaller one with fp.repeat or fp.tile, or call the function without strict broadcasting",
        lambda m: fused(lambda x: m.add.strict_broadcasting()(x, fp.tile(x[:1], len(X))), X),
        X + X[0],
    ),
    # captures
    "a capture of a number": (
        lambda m: fp.capture(3, tensor(X)),  # type: ignore[arg-type]
        "write fp.capture(f, x): it calls f(x) once",
        lambda m: float(fp.capture(fp.fuse(lambda x: fp.sum(x)), tensor(X)).result),
        np.sum(X),
    ),
    "a capture that reads": (
        lambda m: fp.capture(lambda x: float(fp.sum(x)), tensor(X)),
        "read g.result after fusepy.capture",
        lambda m: float(fp.capture(fp.fuse(lambda x: fp.sum(x)), tensor(X)).result),
        float(X.sum()),
    ),
    "a capture of nothing": (
        lambda m: fp.capture(lambda x: x, tensor(X)),
        "call functions of a module or fused functions inside, on tensors",
        lambda m: fp.capture(lambda x: m.over(x), tensor(X)).result,
        X,
    ),
    "a capture on two devices": (
        lambda m: fp.capture(lambda x: (m.over(x), fp.sum(elsewhere())), tensor(X)),
        "make one capture for each device",
        lambda m: [float(fp.capture(fp.fuse(lambda x: fp.sum(x)), x).result) for x in (tensor(X), elsewhere())],
        [float(X.sum())] * 2,
    ),
    "a replay with too many arguments": (
        lambda m: fp.capture(m.over, tensor(X)).replay(tensor(X), 1.0),
        "call replay() without arguments",
        lambda m: fp.capture(m.over, tensor(X)).replay(),
        X,
    ),
    "a replay with another number": (
        lambda m: fp.capture(m.add, tensor(X), 1.0).replay(tensor(X), 2.0),
        "pass what changes as a Tensor, also a single number",
        lambda m: fp.capture(m.add, tensor(X), tensor(np.ones(1, F32))).replay(tensor(X), np.full(1, 2, F32)),
        X + 2,
    ),
}
