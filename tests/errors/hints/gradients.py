"""Programs after hints about gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

import fusepy as fp
from tests.errors.hints.support import Program
from tests.support.slang_functions import F32

A = np.array([1.0, 2.0, 3.0], F32)
COUNTS = np.array([2, 2, 2], np.int32)
SQUARES = 2 * A


def total(x: Any) -> Any:
    return fp.sum(x * x)


def grown(x: Any, n: Any) -> Any:
    return fp.sum(fp.fori_loop(0, n, lambda i, c: c * x, 1.0 + 0 * x))


def bounded(x: Any, n: Any) -> Any:
    steps = fp.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * x), (0, 1.0 + 0 * x), max_steps=4)
    return fp.sum(steps[1])


PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    "a number for a function": (
        lambda m: fp.grad(3.0),  # type: ignore[arg-type]
        "write fp.grad(f)(x)",
        lambda m: fp.grad(total)(A),
        SQUARES,
    ),
    "two results": (
        lambda m: fp.grad(lambda x: (total(x), x))(A),
        "further results with has_aux=True, as (loss, others)",
        lambda m: fp.grad(lambda x: (total(x), x), has_aux=True)(A)[0],
        SQUARES,
    ),
    "integers": (
        lambda m: fp.grad(lambda x: fp.sum(x * 1.0))(A.astype(np.int32)),
        "convert it before the call, e.g. x.astype(np.float32)",
        lambda m: fp.grad(total)(A.astype(np.int32).astype(np.float32)),
        SQUARES,
    ),
    "a gradient of another structure": (
        lambda m: fp.vjp(total, A)[1]((1.0, 1.0)),
        "pass one gradient for each result, in the same tuples, lists and dicts",
        lambda m: fp.vjp(total, A)[1](1.0)[0],
        SQUARES,
    ),
    "a loop of unknown length": (
        lambda m: fp.grad(grown)(A, COUNTS),
        "write fp.while_loop(test, body, init, max_steps=…)",
        lambda m: fp.grad(bounded)(A, COUNTS),
        SQUARES,
    ),
    "a reduction by a function": (
        lambda m: fp.grad(lambda x: fp.reduce(m.add, 0.0, x))(A),
        "use fp.sum, fp.prod, fp.max or fp.min",
        lambda m: fp.grad(lambda x: fp.sum(x * x))(A),
        SQUARES,
    ),
    "a scan that is no sum": (
        lambda m: fp.grad(lambda x: fp.sum(fp.scan("prod", x)))(A),
        "fp.scan('sum', x) has one",
        lambda m: fp.grad(lambda x: fp.sum(fp.scan("sum", x)))(A),
        np.array([3.0, 2.0, 1.0], F32),
    ),
    "a function without derivative": (
        lambda m: fp.grad(m.add)(A, 1.0),
        "declare it [Differentiable]",
        lambda m: fp.grad(lambda x: fp.sum(x * x))(A),
        SQUARES,
    ),
    "numbers read as one struct": (
        lambda m: fp.grad(lambda a: m.lit(fp.vcast(a, m.Spot)))(np.ones((1, 4), F32)),
        "a dict of the fields",
        lambda m: fp.grad(lambda s: m.lit(s))({"at": np.ones((1, 3), F32), "power": 1.0})["at"],
        np.array([[0, 1, 0]], F32),
    ),
    "the second order of a Slang function": (
        lambda m: fp.grad(lambda x: fp.sum(fp.grad(m.squared)(x)))(A),
        "pass its result as an argument",
        lambda m: fp.grad(lambda x, slope: fp.sum(x * slope))(A, fp.grad(m.squared)(A)),
        SQUARES,
    ),
    "an array behind a pointer": (
        lambda m: fp.grad(lambda p: m.fetch(p, COUNTS))(A),
        "take Tensor<T, N> there",
        lambda m: fp.grad(lambda t: m.pick(t, COUNTS))(A),
        np.array([0.0, 0.0, 3.0], F32),
    ),
    "a struct without derivative": (
        lambda m: fp.grad(m.at)({"position": [0.0, 2.0, 0.0], "reach": A}),
        "declare struct Ray : IDifferentiable",
        lambda m: fp.grad(lambda x: fp.sum(x * x))(A),
        SQUARES,
    ),
}
