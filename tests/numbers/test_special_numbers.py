"""NaN, infinities and signed zeros in a user's own Slang, which drivers may drop unless a kernel says that they count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp

TYPES = {"float": np.float32, "half": np.float16, "double": np.float64}
SOURCE = "\n".join(
    f"{t} larger({t} a, {t} b) {{ return b > a ? b : a; }}"
    f"{t} smaller({t} a, {t} b) {{ if (a < b) return a; return b; }}"
    f"{t} none({t} a) {{ return a * {t}(0); }}"
    for t in TYPES
)


@pytest.mark.req("T1")
@pytest.mark.parametrize("name", TYPES)
def test_special_numbers_are_those_of_ieee(device: Any, name: str) -> None:
    """Here Mesa made 0 of `a * 0`; NVIDIA's driver made a maximum that drops NaN of `larger`."""
    m = fp.Module.load_from_source(device, "special", SOURCE)
    a = np.array([1, np.nan, np.inf, -np.inf, -0.0, 0.0, 2], TYPES[name])
    b = np.array([2, 1, np.nan, -np.inf, 0.0, -0.0, np.nan], TYPES[name])

    def program(a: Any, b: Any) -> Any:
        return m.larger(a, b), m.smaller(a, b), m.none(a), fp.where(b > a, b, a), a * 0

    with np.errstate(invalid="ignore"):
        larger, none = np.where(b > a, b, a), a * a.dtype.type(0)
        expected = [larger, np.where(a < b, a, b), none, larger, none]
    for found, wanted in zip(fp.fuse(program)(a, b), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
        kept = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found[kept]), np.signbit(wanted[kept]))


def test_the_rounding_of_a_sum_can_be_computed(device: Any) -> None:
    """Compensated sums: lavapipe and NVIDIA's Vulkan driver simplified `(a + b) - a` to `b`."""
    a, b = np.float32([1e8, 1, 3e7, -1e8]), np.float32([1, 1e-8, 0.3, 3])
    np.testing.assert_array_equal(fp.fuse(lambda a, b: (a + b) - a)(a, b), (a + b) - a)
    np.testing.assert_array_equal(fp.fuse(lambda b: (b + 1e8) - 1e8)(b), (b + np.float32(1e8)) - np.float32(1e8))
    if device.target.kind not in ("software", "cuda"):
        pytest.skip(
            "it simplifies a user's Slang, for which there is no NoContraction: Slang ignores `precise` (docs/reliability.md)"
        )
    source = "float lost(float a, float b) { float s = a + b; float t = s - a; return (a - (s - t)) + (b - t); }"
    m = fp.Module.load_from_source(device, "compensated", source)
    np.testing.assert_array_equal(m.lost(a, b), (a.astype(np.float64) + b - (a + b)).astype(np.float32))


@pytest.mark.req("T1")
@pytest.mark.parametrize("name", ["int32", *(pytest.param(n, marks=pytest.mark.long) for n in ("int8", "uint32", "int64"))])
@pytest.mark.parametrize("op", [np.floor_divide, np.remainder, np.fmod], ids=lambda op: op.__name__)
def test_integers_divided_by_zero_and_the_least_by_minus_one_are_those_of_numpy(device: Any, name: str, op: Any) -> None:
    dtype, of = np.dtype(name), getattr(fp, op.__name__)
    if name == "int64" and name not in device.features:
        pytest.skip("a type that the device does not have")
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    numbers = [least, least + 1, most, 0, 1, 2, 7] + ([-1, -3] if least else [])
    a, b = (np.array(v, dtype).ravel() for v in np.meshgrid(numbers, numbers))
    with np.errstate(all="ignore"):
        want = op(a, b)
    graph = fp.Graph(inputs=["a", "b"])
    graph.set_outputs(fp.fuse(lambda a, b: of(a, b)).node()(*graph.get_inputs()))
    with fp.lazy():
        waits = of(a, b).to_numpy()
    for made in (of(a, b), fp.fuse(lambda a, b: of(a, b))(a, b), waits, graph(a, b)):
        np.testing.assert_array_equal(made, want)
        assert made.dtype == dtype
    assert not of(a, 0).any()  # a number of the call
    assert not fp.fuse(lambda a: of(a, 0))(a).any()  # a number of the program
