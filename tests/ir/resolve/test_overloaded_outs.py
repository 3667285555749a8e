"""Overloads that differ in their `out` parameters: what is passed, and what it is taken as, says which one is meant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.slang_functions import F32, ramp, same

SOURCE = """
float size(float a) { return 2 * a; }
float size(float3 a, out float3 b) { b = 3 * a; return a.x; }
float pick(float a) { return a; }
float2 pick(float a, out float b) { b = a + 1; return a; }
float pick(float a, out float b, out float c) { b = a + 2; c = a + 3; return 3 * a; }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "overloaded_outs", SOURCE)


def test_what_is_not_converted_is_meant(m: Any) -> None:
    assert m.size(1.5) == 3.0  # and no float3, whose components a number would fill
    assert m.size(2) == 4.0
    assert m.size([1.0, 2.0]) == [2.0, 4.0]
    assert m.size(fp.vcast(1.5, m.float)) == 3.0
    assert m.size(fp.vcast(1.5, m.float3)) == (1.5, [4.5, 4.5, 4.5])
    same(m.size(ramp(5)), 2 * ramp(5))
    assert fp.fuse(lambda x: m.size(x * 2))(1.5) == 6.0


def test_outputs_that_are_passed_choose(m: Any) -> None:
    a, b = ramp(5, 3), np.zeros((5, 3), F32)
    with pytest.raises(fp.AmbiguousCallError, match=r"(?s)size\(float3 a, out float3 b\).*size\(float a\)"):
        m.size(a)
    same(m.size(a, b), a[:, 0])
    same(b, 3 * a)
    b[:] = 0
    same(m.size(a, b=b), a[:, 0])
    same(b, 3 * a)


def test_the_fewest_outputs_are_meant(m: Any) -> None:
    a, b, c = ramp(5), np.zeros(5, F32), np.zeros(5, F32)
    same(m.pick(a), a)
    same(fp.fuse(lambda x: m.pick(x))(a), a)
    same(m.pick(a, b), np.stack([a, a], -1))
    same(b, a + 1)
    same(m.pick(a, b, c), 3 * a)
    same(b, a + 2)
    same(c, a + 3)
    returned, further = m.pick(a, c=c)
    same(returned, 3 * a)
    same(further, a + 2)
    same(c, a + 3)
