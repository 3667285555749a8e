"""Arrays of fixed size that Slang functions return for NumPy arrays: numbers, whether calls run at once, fused or lazily."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import seldom
from tests.support.slang_functions import ramp

SOURCE = """
[Differentiable] float[4] waves(float x) { float y[4]; [MaxIters(4)] for (int i = 0; i < 4; ++i) y[i] = sin(x * i); return y; }
[Differentiable] float[3][2] pairs(float x)
{
    float y[2][3];
    [MaxIters(2)] for (int i = 0; i < 2; ++i)
        [MaxIters(3)] for (int j = 0; j < 3; ++j)
            y[i][j] = cos(x * i + j);
    return y;
}
"""
X = ramp(5, 4) / 7
WAVES = np.sin(X[..., None] * np.arange(4))
PAIRS = np.cos(X[..., None, None] * np.arange(2)[:, None] + np.arange(3))

# programs, and what NumPy makes of them
PROGRAMS: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "operators": (lambda m, x: -m.waves(x) * 2 + x[..., None], -WAVES * 2 + X[..., None]),
    "a row": (lambda m, x: m.waves(x)[0], WAVES[0]),
    "elements": (lambda m, x: m.waves(x)[..., 2], WAVES[..., 2]),
    "rows of arrays": (lambda m, x: m.pairs(x)[:, 1:] + 0, PAIRS[:, 1:]),
    "functions": (lambda m, x: fp.where(m.pairs(x) > 0, fp.sqrt(fp.abs(m.pairs(x))), 0), np.sqrt(np.maximum(PAIRS, 0))),
    "reductions": (lambda m, x: fp.sum(m.pairs(x), (0, 2)), PAIRS.sum((0, 2))),
    "methods": (lambda m, x: m.pairs(x).mean(axis=-1), PAIRS.mean(-1)),
    "moves": (lambda m, x: fp.transpose(m.pairs(x)) * 2, PAIRS.T * 2),
    "length": (lambda m, x: m.waves(x) * len(m.waves(x)), WAVES * 5),
}


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "fixed_arrays", SOURCE)


@pytest.mark.parametrize("name", seldom(PROGRAMS, "functions", "methods", "operators"))
def test_arrays_are_numbers_in_every_mode(m: Any, name: str) -> None:
    program, want = PROGRAMS[name]
    found = [program(m, X), fp.fuse(lambda x: program(m, x))(X)]
    with fp.lazy():
        found.append(program(m, X))
    for each in found:
        assert each.shape == want.shape
        np.testing.assert_allclose(np.asarray(each), want, rtol=2e-5, atol=1e-6)


def test_a_dear_array_is_computed_once(m: Any) -> None:
    """Its elements are summed along another axis: one thread for each element would compute all others again."""
    total = fp.fuse(lambda x: fp.sum(m.pairs(x), (0, 1)))
    assert [p.fused for p in total.explain(X).neighbours if p.first.startswith("pairs")] == [False]
    assert total.explain(X).kernels == 2
    gradient = fp.grad(lambda w, x: fp.mean(m.waves(x) * w))
    np.testing.assert_allclose(gradient(np.ones(4, np.float32), X), WAVES.mean((0, 1)) / 4, rtol=2e-5, atol=1e-6)
    fp.check_grads(lambda x: fp.mean(m.pairs(x) ** 2), X)
