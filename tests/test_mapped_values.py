"""Operators of what `vmap` and `vcast` return: in a trace, at once, in lazy calls and graphs, beside arrays and traced values."""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.functions import F32, ramp, same

A, B, C = ramp(4), ramp(5, start=2), ramp(4, 5)
V, W = ramp(4, 3), ramp(5, 3)
BINARY = (
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod),
    *(operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne),
)
BITS = (operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift)


def test_every_operator_takes_mapped_values(device: Any) -> None:
    """In a trace as outside of it: both sides mapped, and one side a number, an array or a traced value."""
    a, b = ramp(3), ramp(4, start=1)
    i, j = np.arange(1, 4, dtype=np.int32), np.arange(1, 5, dtype=np.int32)
    for operators, x, y in ((BINARY, a, b), (BITS, i, j)):
        fused = fp.fuse(_all_sides(operators, y))
        with np.errstate(all="ignore"):
            for f, (made, right, left, both, captured) in zip(operators, fused(x, y)):
                same(made, f(x[:, None], y))
                same(right, f(x, x.dtype.type(2)))
                same(left, f(x.dtype.type(2), x))
                same(both, f(y, y))
                same(captured, f(y, y))
    with np.errstate(all="ignore"):
        same(-fp.vmap(V, (1, 0)), -V.T)
        same(~fp.vmap(i, 0), ~i)
        same(abs(fp.vmap(-V, (1, 0))), V.T)
        same(fp.vmap(A, 0) < fp.vmap(B, 1), A[:, None] < B)
        same(C + fp.vmap(A, 0), C + A[:, None])


def _all_sides(operators: Any, array: Any) -> Any:
    def run(x: Any, y: Any) -> Any:
        return [
            (
                f(fp.vmap(x, (0,)), fp.vmap(y, (1,))),
                f(fp.vmap(x, 0), 2),
                f(2, fp.vmap(x, 0)),
                f(y, fp.vmap(y, 0)),
                f(array, fp.vmap(y, 0)),  # an array has operators of its own
            )
            for f in operators
        ]

    return run


PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...], Any]] = [
    (lambda a, b: fp.vmap(a, (0,)) == fp.vmap(b, (1,)), (A, B), A[:, None] == B),
    (lambda a, b: fp.vmap(a, 1) * 2 + fp.vmap(b, 0), (A, B), A * 2 + B[:, None]),  # the dimensions go along
    (lambda a, c: fp.vmap(a, 0) * 2 + c, (A, C), A[:, None] * 2 + C),
    (lambda v, w: fp.vmap(v, (1, 0)) + w, (V, ramp(3, 4)), V.T + ramp(3, 4)),
    (lambda a, b: fp.vmap(a, 0) * fp.vmap([1.0, 2.0], 1), (A.astype(np.float16), B), (A[:, None] * [1, 2]).astype(np.float16)),
    (lambda v, w: fp.vmap(fp.vcast(v, "float3"), 1) + fp.vmap(fp.vcast(w, "float3"), 0), (V, W), V[None] + W[:, None]),
    (lambda v, w: fp.vcast(fp.vmap(v, 1), "float3") * fp.vcast(fp.vmap(w, 0), "float3"), (V, W), V[None] * W[:, None]),
    (lambda v, w: v + w, (fp.vmap(fp.vcast(V, "float3"), 1), fp.vmap(fp.vcast(W, "float3"), 0)), V[None] + W[:, None]),
    (lambda v, b: fp.sum(fp.vmap(v, (1, 0)), axis=0) + fp.vmap(b, 1), (V, B), V.sum(0)[:, None] + B),
    (lambda v, b: fp.sum(v, axis=1) + b, (fp.vmap(V, 0), fp.vmap(B, 1)), V.sum(1)[:, None] + B),
    (lambda a, b: fp.where(fp.vmap(a, 0) > 2, fp.vmap(b, 1), 0.5), (A, B), np.where(A[:, None] > 2, B, F32(0.5))),
    (lambda a, b: fp.minimum(fp.vmap(a, 0), fp.vmap(b, 1)), (A, B), np.minimum(A[:, None], B)),
    (lambda a, b: fp.cond(fp.vmap(a, 0) > 1, lambda x: x * 2, lambda x: x + 1, fp.vmap(b, 1)), (A, B), None),
    (lambda a, b: fp.fori_loop(0, 3, lambda i, c: c + fp.vmap(b, 1), fp.vmap(a, 0)), (A, B), A[:, None] + 3 * B),
    (lambda a, n: fp.fori_loop(0, fp.vmap(n, 1), lambda i, c: c * 2, fp.vmap(a, 0)), (A, np.arange(3)), None),
]
PROGRAMS[12] = (*PROGRAMS[12][:2], np.where(A[:, None] > 1, B * 2, B + 1))
PROGRAMS[14] = (PROGRAMS[14][0], (A, np.arange(3, dtype=np.int32)), A[:, None] * F32(2) ** np.arange(3, dtype=F32))


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_programs(device: Any, program: Any) -> None:
    function, args, want = program
    fused = fp.fuse(function)
    same(fused(*args), want)
    same(fused(*args), want)  # replayed


def test_outside_of_fused_functions(device: Any) -> None:
    same(fp.vmap(fp.Tensor.from_numpy(device, A), 0) - fp.vmap(B, 1), A[:, None] - B)
    same(fp.Tensor.from_numpy(device, C) - fp.vmap(B, 1), C - B)
    same(fp.vcast(A, "int") // 2, A.astype(np.int32) // 2)
    with fp.lazy():
        late = fp.vmap(A, 0) - fp.vmap(B, 1)
    same(late, A[:, None] - B)
    graph = fp.Graph(inputs=["x", "y"])
    x, y = graph.get_inputs()
    graph.set_outputs(fp.vmap(x, 0) - fp.vmap(y, 1), x - fp.vmap(x, 0), 1 - fp.vmap(x, 0))
    for got, want in zip(graph(A, B), (A[:, None] - B, A - A, 1 - A)):
        same(got, want)


def test_random_mappings(device: Any) -> None:
    """The axes of operands land where vmap says, and results go on along the same dimensions."""
    rng = random.Random(4)
    sizes = (2, 3, 4)
    for _ in range(6):
        dims = [tuple(rng.sample(range(3), rng.randint(1, 3))) for _ in range(3)]
        dims[2] = (*dims[2], *(d for d in range(3) if not any(d in other for other in dims)))  # without gaps
        arrays = [
            np.arange(math.prod(sizes[d] for d in m), dtype=F32).reshape([sizes[d] for d in m]) + n for n, m in enumerate(dims)
        ]

        def meaning(array: Any, map: Any) -> Any:
            order = np.argsort(map)
            return array.transpose(order).reshape([sizes[d] if d in map else 1 for d in range(3)])

        x, y, z = map(meaning, arrays, dims)
        want = (x - 2 * y) * z
        top = max(max(m) for m in dims) + 1
        want = want.reshape(want.shape[:top])
        same(fp.fuse(_weighted(dims))(*arrays), want)
        same(fp.fuse(lambda a, b, c: (a - 2 * b) * c)(*(fp.vmap(v, m) for v, m in zip(arrays, dims))), want)


def _weighted(dims: Any) -> Any:
    return lambda a, b, c: (fp.vmap(a, dims[0]) - 2 * fp.vmap(b, dims[1])) * fp.vmap(c, dims[2])


def test_structs(device: Any) -> None:
    source = (
        "struct P { float x; float y; }; P operator+(P a, P b) { return { a.x + b.x, a.y * b.y }; }"
        "P make(float a) { return { a, a }; } float sum(P p) { return p.x + p.y; }"
    )
    m = fp.Module.load_from_source(device, "mapped_structs", source)
    run = fp.fuse(lambda a, b: m.sum(fp.vmap(m.make(a), 0) + fp.vmap(m.make(b), 1)))
    same(run(A, B), (A[:, None] + B) + A[:, None] * B)
