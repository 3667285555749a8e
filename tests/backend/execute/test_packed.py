"""Vectors and matrices taken at indices from numbers whose components lie apart, as in column-major arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily

SOURCE = """
[Differentiable] float3 scale(float3 c) { return c * float3(1, 2, 3); }
float trace_of(float2x2 a) { return a[0][0] + a[1][1]; }
"""
LAYOUTS: dict[str, Callable[[Any], Any]] = {  # of the first two axes of a tensor; the components lie apart in all but the first
    "rows": lambda t: t.copy(),
    "columns": lambda t: t.transpose(*range(t.ndim)[::-1]).copy().transpose(*range(t.ndim)[::-1]),
    "steps": lambda t: fp.concatenate([t, t], -1)[..., ::-1][..., : t.shape[-1]][..., ::-1],
}


@pytest.fixture(scope="module")
def m(device: Any) -> fp.Module:
    return fp.Module.load_from_source(device, "packed", SOURCE)


@pytest.mark.rest
@pytest.mark.parametrize(("name", "components"), daily([("scale", (3,)), ("trace_of", (2, 2))], "trace_of"))
def test_each_call_may_have_another_layout(m: Any, device: Any, name: str, components: tuple[int, ...]) -> None:
    a = np.arange(1, 5 * np.prod(components) + 1, dtype=np.float32).reshape(5, *components)
    run = fp.fuse(lambda x: fp.roll(getattr(m, name)(x), 1, 0))
    wanted = np.roll(getattr(m, name)(a), 1, 0)
    for lay in LAYOUTS.values():
        for _ in range(2):
            x = lay(fp.Tensor.from_numpy(device, a))
            assert np.array_equal(run(x).to_numpy(), wanted)
            assert np.array_equal(x.to_numpy(), a)


def test_all_modes_and_gradients(m: Any, device: Any) -> None:
    a = np.arange(12, dtype=np.float32).reshape(4, 3)
    x, y = (LAYOUTS["columns"](fp.Tensor.from_numpy(device, values)) for values in (a, a + 1))
    run = fp.fuse(lambda x: m.scale(fp.roll(x, 1, 0)))
    assert np.array_equal(fp.capture(run, x).replay(y).to_numpy(), np.roll((a + 1) * [1, 2, 3], 1, 0))
    assert np.array_equal(fp.grad(lambda x: fp.sum(run(x)[:2].x))(x).to_numpy(), [[1, 0, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0]])
