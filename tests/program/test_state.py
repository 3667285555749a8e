"""Calls into the texture of the last call, and from it, which are neither checked nor described again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from tests.support.python_calls import python_calls

SOURCE = """
float4 scaled(float4 c, float k) { return c * k; }
float4 at(Texture2D<float4> t, int2 p, float k) { return t[p] * k; }
"""
USAGE = spy.TextureUsage.unordered_access | spy.TextureUsage.shader_resource


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "textures_again", SOURCE)


def texture(device: Any, value: float, height: int = 4, width: int = 6) -> Any:
    made = device.sgl.create_texture(format=spy.Format.rgba32_float, width=width, height=height, usage=USAGE)
    made.copy_from_numpy(np.full((height, width, 4), value, np.float32))
    return made


def numbers(made: Any) -> list[float]:
    return np.unique(made.to_numpy()).tolist()


def test_textures_take_turns_and_change_between_calls(device: Any, m: Any) -> None:
    one, two, to, other = (texture(device, value) for value in (1, 2, 0, 0))
    wide, wide_to = texture(device, 3, width=8), texture(device, 0, width=8)
    grid = fp.grid((4, 6))
    for k in (2.0, 3.0):
        for source, value in ((one, 1), (one, 1), (two, 2), (one, 1)):
            for target in (to, to, other):
                assert m.scaled(source, k, _result=target) is target
                assert numbers(target) == [value * k]
                assert m.at(source, grid, -k, _result=target) is target
                assert numbers(target) == [-value * k]
        m.scaled(wide, k, _result=wide_to)
        assert numbers(wide_to) == [3 * k]
    one.copy_from_numpy(np.full((4, 6, 4), 7, np.float32))
    m.scaled(one, 1.0, _result=to)
    assert numbers(to) == [7]
    m.scaled(to, 2.0, _result=to)
    m.scaled(to, 2.0, _result=to)
    assert numbers(to) == [28]
    with pytest.raises(fp.ShapeError):
        m.scaled(wide, 1.0, _result=to)
    assert numbers(m.scaled(one, 1.0, _result=to)) == [7]


def test_a_call_like_the_last_one_takes_few_steps(device: Any, m: Any) -> None:
    source: Any = texture(device, 1)
    to, tensor = texture(device, 0), fp.Tensor.zeros(device, (4, 6), "float4")
    for given in (source, tensor):
        assert python_calls(lambda given=given: m.scaled(given, 2.0, _result=to), warmup=12) < 80
