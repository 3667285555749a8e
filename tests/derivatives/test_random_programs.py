"""Gradients of 200 random programs against float64 differences and forward mode, by the NumPy meaning of what is recorded.

No kernel runs, so that all of them fit into `make test`. `tests/fuzz/test_slopes.py` does the same on the device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.ir.interpret import interpret
from fusepy.passes.resolve_maps import ResolveMaps
from fusepy.program.views import Views

Array = np.ndarray[Any, np.dtype[Any]]
SHAPES = ((4, 3), (3,), (4, 1), ())
STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "mul": lambda a, b: a * b,
    "sub": lambda a, b: a - 0.5 * b,
    "div": lambda a, b: a / (b * b + 1.0),
    "tanh": lambda a, b: fp.tanh(a) + b,
    "bump": lambda a, b: fp.exp(-a * a) * b,
    "root": lambda a, b: fp.sqrt(a * a + 1.0) + fp.cos(b),
    "power": lambda a, b: (a * a + 1.0) ** fp.sin(b),
    "angle": lambda a, b: fp.atan2(a, b * b + 1.0),
    "where": lambda a, b: fp.where(a > b + 0.01, a * 1.5, b),
    "minimum": lambda a, b: fp.minimum(a, b + 0.02),
    "centred": lambda a, b: a * b - fp.mean(a * b),
    "softmax": lambda a, b: fp.exp(fp.tanh(a)) / fp.sum(fp.exp(fp.tanh(a))) * b,
    "largest": lambda a, b: fp.max(a) * b,
    "norm": lambda a, b: b / fp.sqrt(fp.sum(a * a) + 1.0),
    "spread": lambda a, b: fp.var(a) + b,
    "branch": lambda a, b: fp.cond(a > b + 0.03, lambda a, b: a * b, lambda a, b: a - b * b, a, b),
}


def program(seed: int) -> Callable[..., Any]:
    """A function of one argument for each of `SHAPES`, which gives one number that depends on all."""
    random = np.random.default_rng(seed)
    drawn = [(str(random.choice(list(STEPS))), *random.integers(0, 1 << 30, 2)) for _ in range(random.integers(3, 8))]

    def f(a: Any, b: Any, c: Any, d: Any) -> Any:
        values = [a, b, c, d]
        for name, i, j in drawn:
            values.append(STEPS[name](values[i % len(values)], values[j % len(values)]))
        return fp.sum(values[-1] * values[-2]) + sum(fp.sum(v * v) for v in values[:4])

    return f


class Meaning:
    """What a fused function computes, by NumPy; it is traced for arguments like these."""

    def __init__(self, function: Callable[..., Any], args: Sequence[Array]):
        fused = fp.fuse(function)
        self.recording = fused.tracer.record(args, {}, fused.config)
        self.graph = ResolveMaps()(self.recording.graph, self.recording.trace.oracle)
        self.views = Views(self.recording.trace.captures, self.recording.inputs)

    def __call__(self, *args: Array) -> list[Array]:
        given = self.views.of(args)
        return interpret(self.graph, [np.asarray(v) for v in given])


def slope(run: Callable[..., list[Array]], args: Sequence[Array], along: Sequence[Array], h: float = 1e-4) -> float:
    """The slope of a function along a direction, by a difference of fourth order."""
    at = [float(run(*(x + k * h * t for x, t in zip(args, along)))[0]) for k in (-2, -1, 1, 2)]
    return (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h)


def check(seed: int) -> None:
    random = np.random.default_rng(seed + 1_000_000)
    args, along = ([random.standard_normal(shape) for shape in SHAPES] for _ in range(2))
    f = program(seed)
    forward = Meaning(lambda a, b, c, d, e, g, h, k: both(fp.jvp(f, (a, b, c, d), (e, g, h, k))), [*args, *along])
    value, tangent = forward(*args, *along)
    want = slope(lambda *given: forward(*given, *along), args, along)
    assert float(tangent) == pytest.approx(want, rel=1e-6, abs=1e-8), f"seed {seed}: forward mode"
    mine, *gradients = Meaning(fp.value_and_grad(f, (0, 1, 2, 3)), args)(*args)
    np.testing.assert_allclose(mine, value, rtol=1e-12)
    found = sum(float(np.sum(g * t)) for g, t in zip(gradients, along, strict=True))
    assert found == pytest.approx(want, rel=1e-6, abs=1e-8), f"seed {seed}: reverse mode"


def both(pair: Any) -> tuple[Any, Any]:
    return pair.p, pair.d


@pytest.mark.parametrize("first", range(0, 200, 2))
def test_two_random_programs(first: int) -> None:
    for seed in range(first, first + 2):
        check(seed)
