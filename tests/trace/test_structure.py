"""What a fused function returns inside of another one, alike in every mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.slang_functions import ramp, same
from tests.trace.components.test_alike import RETURNS, in_a_graph, lazily


@pytest.mark.req("V14")
def test_an_argument_that_a_called_function_returns_is_its_result() -> None:
    """It kept its mapping: a sum went along the axes before it, and its index was that of a component."""
    turned = fp.fuse(lambda s: s["a"])

    def programs(x: Any, y: Any) -> Any:
        a = RETURNS(fp.vmap(x, (1, 0)))["of"][0]
        b = turned(fp.vmap({"a": x, "b": 1.0}, (1, 0)))
        slope = fp.grad(lambda x: fp.sum(RETURNS(fp.vmap(x, (1, 0)))["of"][0] * y))(x)
        rows = RETURNS(fp.vmap(x, (0,)))["of"][0]  # the other axis follows
        return fp.sum(a, 0), a + y, fp.vmap(b, (1, 0)) + y.T, slope, rows + y.T

    x, y = ramp(2, 3), 2 * ramp(3, 2)
    y3 = np.ascontiguousarray(np.resize(y, (2, 3)))
    expected = x.T.sum(0), x.T + y, x + y.T, y.T, x + y.T
    for way in (lambda f, *args: f(*args), lazily, lambda f, *args: fp.fuse(f)(*args), in_a_graph):
        for one, want in zip(way(programs, fp.Tensor(x), fp.Tensor(y)), expected):
            same(one, want)
        same(way(lambda y, _: RETURNS(fp.vcast(y, "float3"))["of"][0][1], y3, 1.0), y3[1])
