"""Generic functions with `out` parameters: their types follow from the inputs, or the call says that they do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.slang_functions import F32, ramp, same

SOURCE = """
void copy_generic<T>(T src, out T dest) { dest = src; }
void copy_vector<let N : int>(vector<float, N> src, out vector<float, N> dest) { dest = src; }
void both<T : IArithmetic>(T a, out T twice, out T thrice) { twice = a + a; thrice = a + a + a; }
void free<T, U : IFloat>(T src, out U dest) { dest = U(1.0); }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "generic_outs", SOURCE)


def test_types_follow_the_inputs(m: Any) -> None:
    assert m.copy_generic(2.5) == 2.5
    assert m.copy_generic(7) == 7
    assert type(m.copy_generic(7)) is int
    for dtype in (np.int16, np.float16, np.float64, np.uint32, np.bool_):
        same(m.copy_generic(np.arange(5).astype(dtype)), np.arange(5).astype(dtype))
    same(m.copy_vector(ramp(5, 4)), ramp(5, 4))
    assert m.both(7) == (14, 21)
    same(m.both(ramp(5))[1], ramp(5) * 3)


def test_what_is_said_about_them(m: Any, device: Any) -> None:
    c = ramp(4, 3)
    for mapping, rank in [(fp.vmapping(0, 1), 2), (fp.vmapping(0), 1), (m.float3, 1), (m.float, 2)]:
        function = m.copy_generic.declare(mapping)
        assert fp.resolve(function, c).grid == rank
        same(function(c), c)
    dest, tensor = np.zeros((4, 3), F32), fp.Tensor.zeros(device, (4,), m.float3)
    m.copy_generic.map(src="float3", dest="float3")(src=c, dest=dest)
    m.copy_generic.map(src=(0,), dest=(0,))(dest=tensor, src=c)
    same(dest, c)
    same(tensor.to_numpy(), c)
    parts = {"x": 1.0, "y": ramp(5), "z": 0.0, "w": ramp(5, start=2)}
    expected = np.stack([np.ones(5, F32), ramp(5), np.zeros(5, F32), ramp(5, start=2)], -1)
    same(m.copy_generic.map(src="float4")(parts), expected)
    same(m.copy_vector({"_type": "float4", **parts}), expected)
    same(m["copy_vector<4>"](parts), expected)


def test_what_nothing_decides(m: Any) -> None:
    with pytest.raises(fp.ResolveError, match=r"half dest or float dest|float dest or half dest"):
        m.free(ramp(3))
    with pytest.raises(fp.AmbiguousCallError):
        m.copy_generic(ramp(4, 3))
