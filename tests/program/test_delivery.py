"""Results that are copied to their destinations, since no kernel can write there: numbers that are not packed as elements are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.errors import ShapeError

SOURCE = """
float3 twice(float3 c) { return 2 * c; }
float2x2 square(float3 c) { return float2x2(c.x, c.y, c.z, 1); }
"""
LEFT = -7.0  # what stands in memory before a call, and afterwards beside its results


@pytest.fixture(scope="module")
def m(device: Any) -> fp.Module:
    return fp.Module.load_from_source(device, "delivered", SOURCE)


def lazily(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, _result: Any) -> None:
        with fp.lazy():
            function(x, _result=_result)

    return call


def fused(function: Callable[..., Any]) -> Callable[..., Any]:
    return fp.fuse(lambda x: function(x))


@pytest.mark.parametrize("apart", [True, False], ids=["every second number", "transposed"])
@pytest.mark.parametrize("mode", [lambda f: f, fused, lazily], ids=["eager", "fused", "lazy"])
@pytest.mark.req("T7")
def test_components_may_lie_apart(m: fp.Module, device: Any, mode: Any, apart: bool) -> None:
    x = np.arange(51, dtype=np.float32).reshape(17, 3)
    matrices = np.concatenate([x, np.ones((17, 1), np.float32)], 1).reshape(17, 2, 2)
    for function, wanted in ((m.twice, 2 * x), (m.square, matrices)):
        extents = (*wanted.shape[:-1], 2 * wanted.shape[-1]) if apart else wanted.shape[::-1]
        holder = fp.Tensor.from_numpy(device, np.full(extents, LEFT, np.float32))
        out = holder[..., ::2] if apart else holder.T
        mode(function)(fp.Tensor.from_numpy(device, x), _result=out)
        np.testing.assert_array_equal(out.to_numpy(), wanted)
        assert not apart or np.all(holder.to_numpy()[..., 1::2] == LEFT)


def test_components_that_lie_apart_must_have_the_shape_of_the_result(m: fp.Module, device: Any) -> None:
    x = fp.Tensor.zeros(device, (4,), "float3")
    for out in (fp.Tensor.zeros(device, (3, 5), "float").T, fp.Tensor.zeros(device, (1, 3), "float").broadcast_to(4, 3)):
        with pytest.raises(ShapeError):
            m.twice(x, _result=out)
