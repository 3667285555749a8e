"""Programs after hints about traced values, loops and branches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import fusepy as fp
from tests.errors.hints.support import (
    IMAGE,
    N,
    Program,
    X,
    fused,
    over,
    rays,
    tensor,
)
from tests.support.slang_functions import F32, ramp


def in_place(t: Any, x: Any) -> Any:
    t += x
    return t


KEPT: list[Any] = []
TWICE = fp.fuse(lambda x: 2 * x)
TOTAL = fp.fuse(lambda x: fp.sum(x))


def writing() -> Any:
    return fp.Module.load_from_source(fp.default_device(), "tuned_writes", "void put(inout float x) { x += 1; }").put


def keep(value: Any) -> Any:
    KEPT.append(value)
    return value


def leaked(m: Any) -> Any:
    fused(lambda x: keep(x + 1), X)
    return fused(lambda x: x + KEPT[-1], X)


recursive = fp.fuse(lambda x: recursive(x) + 1)


def with_attribute(x: Any) -> Any:
    x.y = 2
    return x


def entered(x: Any) -> Any:
    with x:
        return x


def without_first(x: Any) -> Any:
    del x[0]
    return x


def reading(t: Any, read: Any) -> Any:
    return fused(lambda x: x + read(t), X)


class Counter:
    """An object whose method counts its calls."""

    def __init__(self) -> None:
        self.count = 0.0

    @fp.fuse
    def counted(self, x: Any) -> Any:
        self.count = self.count + 1
        return x

    @fp.fuse
    def count_of(self, x: Any) -> Any:
        return self.count + fp.sum(x)

    alone = fp.fuse(lambda *, x: 2 * x)
    of_nobody = staticmethod(fp.fuse(lambda *, x: 2 * x))


def stored(m: Any) -> Any:
    obj = Counter()
    obj.count = obj.count_of(X)
    return obj.count


PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    "a member of the items of an array": (
        lambda m: fused(lambda r: r.rows.y, np.ones(3, m.Rows.dtype)),
        'write fp.vcast(x, "float2[2]")[0].y',
        lambda m: fused(lambda r: fp.vcast(r.rows, "float2[2]")[0].y, np.ones(3, m.Rows.dtype)),
        np.ones(3, F32),
    ),
    "a number of steps that was passed": (
        lambda m: fused(lambda x, n: sum(x for _ in range(n)), X, 3),
        'fp.fuse(f, static=["n"])',
        lambda m: fp.fuse(lambda x, n: sum(x for _ in range(n)), static=["n"])(X, 3),
        3 * X,
    ),
    "a number with a fraction as a component of integers": (
        lambda m: fused(lambda x, k: x * m.int2(k, 1), np.float32([[1, 2]]), 2.5),
        "convert it, with fp.vcast(number, 'int')",
        lambda m: fused(lambda x, k: x * m.int2(fp.vcast(k, "int"), 1), np.float32([[1, 2]]), 2.5),
        np.float32([[2, 2]]),
    ),
    "the body of a loop without the index": (
        lambda m: fp.fori_loop(0, 3, lambda c: c + 1, X),  # type: ignore
        "write it with these parameters: lambda i, c: …",
        lambda m: fp.fori_loop(0, 3, lambda i, c: c + 1, X),
        X + 3,
    ),
    "a branch with a parameter too many": (
        lambda m: fused(lambda x: fp.cond(x > 0, lambda y: y, lambda: 0.0), X),
        "write it without parameters: lambda: …",
        lambda m: fused(lambda x: fp.cond(x > 0, lambda: x, lambda: 0.0), X),
        np.maximum(X, 0),
    ),
    "an attribute that a method assigns": (
        lambda m: Counter().counted(X),
        "return it, and assign what the call returns: obj.count = obj.counted(x)",
        stored,
        X.sum(),
    ),
    "a method that takes no object": (
        lambda m: Counter().alone(x=X),
        "write @staticmethod above @fp.fuse, or give it a parameter self",
        lambda m: Counter().of_nobody(x=X),
        2 * X,
    ),
    "the values of a pixel inside of a fused function": (
        lambda m: fused(lambda x: fp.inspect_pixel(m.add, (x, x), at=0), X),
        "call it outside, on the fused function",
        lambda m: fp.inspect_pixel(fp.fuse(lambda x: m.add(x, x)), X, at=0)["%0"],
        2 * X[0],
    ),
    "a pixel that is not there": (
        lambda m: fp.inspect_pixel(fp.sqrt, np.ones((2, 3), F32), at=1),
        "at=(y, x)",
        lambda m: fp.inspect_pixel(fp.sqrt, np.ones((2, 3), F32), at=(1, 2))["%0"],
        1.0,
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
    "numpy.add.accumulate of a traced value": (
        lambda m: fused(lambda x: np.add.accumulate(x), X),
        "use fusepy.cumsum(x, axis=0)",
        lambda m: fused(lambda x: fp.cumsum(x, axis=0), X),
        X.cumsum(),
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
        lambda m: m.float2("a", "b"),
        "give one number, or one array or number for each component",
        lambda m: m.float2(X, 1.0),
        np.stack([X, X * 0 + 1], -1),
    ),
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
    "an array of a traced value": (
        lambda m: fused(lambda x: np.asarray(x), X),
        "use fusepy's, e.g. fp.where or fp.take(x, i), or leave NumPy's work to before the call",
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
        lambda m: fused(lambda x: f"{x + 1:.2f}", X[0]),
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
        lambda m: fused(lambda x: [v + 1 for v in x], ramp(65)),
        "call functions on the whole value; up to 64 rows are recorded one by one",
        lambda m: fused(lambda x: m.add(x, 1.0), ramp(65)),
        ramp(65) + 1,
    ),
    "a traced value among others": (
        lambda m: fused(lambda x: 2 in x, fp.vcast(ramp(2, 3), "float3")),
        "for a vector (v.x == x) | (v.y == x)",
        lambda m: fused(lambda x: (x.x == 0) | (x.y == 0) | (x.z == 0), fp.vcast(ramp(2, 3), "float3")),
        (ramp(2, 3) == 0).any(-1),
    ),
    "a number among traced ones": (
        lambda m: fused(lambda x: 0.25 in x, X),
        "write fp.any(value == x)",
        lambda m: fused(lambda value: fp.any(value == 0.25), X),
        True,
    ),
    "a traced value among the keys of a dict": (
        lambda m: fused(lambda x: 1.0 if x in {0.25: 2.0} else 0.0, X),
        "write fusepy.where(x == key, …)",
        lambda m: fused(lambda x: fp.where(x == 0.25, 2.0, 0.0), X),
        np.where(X == 0.25, F32(2), F32(0)),
    ),
    "a traced value as an index of a list": (
        lambda m: fused(lambda x: [1.0, 2.0][fp.sum(x)], N),
        "for items[i] write fp.take(x, i)",
        lambda m: fused(lambda i: fp.take([1.0, 2.0], i), np.int32([1, 0, 1])),
        F32([2, 1, 2]),
    ),
    "a list of traced values for a struct": (
        lambda m: fused(lambda x: m.at([x, x]), X),
        "build the value by its type, e.g. m.float3(x, y, z), or compute over an array instead of a list",
        lambda m: fused(lambda x: m.at({"position": m.float3(x, x, x), "reach": x}), X),
        X * X,
    ),
    "neighbours in the body of a loop": (
        lambda m: fused(lambda x: fp.while_loop(lambda y: y < 0.9, lambda y: fp.diff(y), x), X),
        "work on whole arrays before the loop or after it",
        lambda m: fused(lambda x: fp.while_loop(lambda y: y < 0.0, lambda y: y + 0.5, fp.diff(x)), X),
        np.diff(X),
    ),
    "a range of traced length": (
        lambda m: fused(lambda x: sum(i for i in range(fp.sum(x))), N),
        "write fp.fori_loop(0, n, f, start) for a loop of n",
        lambda m: fused(lambda n: fp.fori_loop(0, n, lambda i, s: s + i, 0), 5),
        10,
    ),
    "round() to digits of a traced value": (
        lambda m: fused(lambda x: round(x, 1), X),
        "use fusepy.round(value, 1)",
        lambda m: fused(lambda value: fp.round(value, 1), F32([0.26, 1.75])),
        np.round(F32([0.26, 1.75]), 1),
    ),
    "a function of NumPy's that fusepy lacks": (
        lambda m: fused(lambda x: np.unwrap(x), X),
        "fusepy has no such function: compute it before the call, or in a Slang function",
        lambda m: fused(lambda x: x + 0, np.unwrap(X)),
        np.unwrap(X),
    ),
    "a copy by NumPy": (
        lambda m: fused(lambda x: np.copy(x), X),
        "write x.copy()",
        lambda m: fused(lambda x: x.copy(), X),
        X,
    ),
    "a cross product by NumPy": (
        lambda m: fused(lambda a, b: np.cross(a, b), ramp(2, 3), ramp(2, 3)[::-1]),
        "use fusepy.cross(a, b), of vectors of three components",
        lambda m: fused(lambda a, b: fp.cross(a, b), ramp(2, 3), ramp(2, 3)[::-1]),
        np.cross(ramp(2, 3), ramp(2, 3)[::-1]),
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
    "a traced value that is kept": (
        leaked,
        "return it from the fused function instead of keeping it",
        lambda m: fused(lambda x: x + (x + 1), X),
        2 * X + 1,
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
        lambda m: [*fused(lambda x: m.int2(round(1.5), 2) + x[:, None], N)[0]],
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
        lambda m: fused(lambda x: fp.while_loop(lambda c: c < 1, lambda c: c + fp.sum(x), 0.0), X),
        "reduce and sort before the loop or after it",
        lambda m: fused(lambda x: fp.fori_loop(0, 2, lambda i, c: c + x, 0.0), X.sum()),
        2 * X.sum(),
    ),
    "a reduction in a loop of unknown count": (
        lambda m: fused(lambda x, n: fp.fori_loop(0, n, lambda i, c: c / fp.sum(c) + i, x), X, 2),
        "give Python integers as bounds",
        lambda m: fused(lambda x: fp.fori_loop(0, 2, lambda i, c: c / fp.sum(c) + i, x), X),
        (X / X.sum()) / (X / X.sum()).sum() + 1,
    ),
    "steps that lose an axis": (
        lambda m: fused(lambda x: fp.fori_loop(0, 3, lambda i, c: fp.sum(x + c, axis=0), x), X),
        "give init the type and the axes of what a step returns, e.g. by one step before the loop",
        lambda m: fused(lambda x: fp.fori_loop(0, 2, lambda i, c: fp.sum(x + c, axis=0), fp.sum(2 * x, axis=0)), X),
        X.sum() * (2 * len(X) ** 2 + len(X) + 1),
    ),
    # tuning
    "tuning inside": (
        lambda m: fused(lambda x: fp.autotune(TWICE, x)(x), X),
        "tune the fused function as a whole",
        lambda m: fp.autotune(TWICE, X)(X),
        2 * X,
    ),
    "tuning what is no function": (
        lambda m: fp.autotune(np.sin, X),
        "pass a function of a module, or one under fp.fuse",
        lambda m: fp.autotune(fp.fuse(lambda x: np.sin(x)), X)(X),
        np.sin(X),
    ),
    "tuning a group that is set": (
        lambda m: fp.autotune(TWICE.options(numthreads=[64]), X),
        "tune it without options(numthreads=...)",
        lambda m: fp.autotune(TWICE, X)(X),
        2 * X,
    ),
    "tuning a reduction": (
        lambda m: fp.autotune(TOTAL, X),
        "call it as it is",
        lambda m: TOTAL(X),
        X.sum(),
    ),
    "tuning a write": (
        lambda m: fp.autotune(writing(), tensor(X)),
        "tune a function that returns what it computes",
        lambda m: fp.autotune(TWICE, X)(X),
        2 * X,
    ),
    "another structure than init": (
        lambda m: fused(lambda x: fp.fori_loop(0, 2, lambda i, c: (c, c), x), X),
        "return what is carried to the next step, in the structure of init",
        lambda m: fused(lambda x: fp.fori_loop(0, 2, lambda i, c: (c[0] + 1, c[1]), (x, x)), X)[0],
        X + 2,
    ),
    "a struct for a dict of its fields": (
        lambda m: fused(
            lambda k: fp.fori_loop(
                0, 2, lambda i, c: m.Ray(c["position"], c["reach"]), {"position": fp.float3(k, k, k), "reach": k}
            ),
            X,
        ),
        "start with m.Ray(…), its constructor, in a fused function",
        lambda m: fused(
            lambda k: fp.fori_loop(0, 2, lambda i, c: m.Ray(c.position + 1, c.reach), m.Ray(fp.float3(k, k, k), k)).position.x, X
        ),
        X + 2,
    ),
    "a dict of fields beside a struct": (
        lambda m: fused(
            lambda k: fp.where(k > 0, m.Ray(fp.float3(k, k, k), k), {"position": fp.float3(k, k, k), "reach": 0.0}), X
        ),
        "m.Name(…), its constructor, gives a struct",
        lambda m: fused(lambda k: fp.where(k > 0, m.Ray(fp.float3(k, k, k), k), m.Ray(fp.float3(k, k, k), k * 0)).reach, X),
        X,
    ),
    "a loop that cannot be unrolled": (
        lambda m: fused(lambda n: fp.fori_loop(0, n, lambda i, c: c + 1, 0, unroll=True), N),
        "remove unroll=True",
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
    "a computed number beside bytes in the test of a loop": (
        lambda m: fused(lambda x: fp.while_loop(lambda c: fp.minimum(c, m.twice(2)) < 4, lambda c: c + 1, x), np.uint8([1, 9])),
        "or say its type with fp.vcast(number, 'uint8_t')",
        lambda m: fused(
            lambda x: fp.while_loop(lambda c: fp.minimum(c, fp.vcast(m.twice(2), "uint8_t")) < 4, lambda c: c + 1, x),
            np.uint8([1, 9]),
        ),
        np.uint8([4, 9]),
    ),
    "an integer that grows in a loop": (
        lambda m: fused(lambda n: fp.fori_loop(0, 40, lambda i, c: 3 * c, n), 5),
        "compute with floats: start with 1.0 instead of 1",
        lambda m: fused(lambda n: fp.fori_loop(0, 40, lambda i, c: 2 * c, 1.0 * n), 4),
        2.0**42,
    ),
    "an integer with more bits than any type": (
        lambda m: fused(lambda n: 2**n, 10**6),
        "compute with floats: write 2.0**n instead of 2**n",
        lambda m: fused(lambda n: 2.0**n, 100),
        2.0**100,
    ),
}
