"""Quotients of floats and halfs are rounded exactly. On GPUs they are a function of ours, so these tests matter there."""

from __future__ import annotations

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily

RNG = np.random.default_rng(11)
ENDS = [0, 1, 3, 1 / 3, 7e-30, 5e29, 6e-39, 1e-45, 3.4e38, np.inf, np.nan]


def within(device: fp.Device, got: np.ndarray, want: np.ndarray, units: int = 0) -> None:
    """Asserts that floats are equal in bits, or up to some units in the last place. Vulkan may lose subnormals."""
    near = np.abs(want) >= (0 if device.target.kind in ("cuda", "software") else 1.2e-38)
    assert np.array_equal(np.isnan(got), np.isnan(want))
    assert np.array_equal(np.signbit(got)[want == 0], np.signbit(want)[want == 0])
    bits = [x[near & ~np.isnan(want)].view(np.int32).astype(np.int64) for x in (got, want)]
    assert np.abs(bits[0] - bits[1]).max(initial=0) <= units


def floats(count: int, low: int, high: int) -> np.ndarray:
    """Returns floats of any sign and mantissa, with exponents in bits from `low` to `high`."""
    bits = RNG.integers(0, 1 << 23, count) | RNG.integers(low, high, count) << 23 | RNG.integers(0, 2, count) << 31
    return bits.astype(np.uint32).view(np.float32)


@pytest.mark.req("T1")
def test_quotients_of_floats(device: fp.Device) -> None:
    divide = fp.fuse(lambda a, b: a / b)
    with np.errstate(all="ignore"):
        a, b = floats(1 << 16, 64, 190), floats(1 << 16, 64, 190)
        within(device, divide(a, b), a / b)
        within(device, divide(a.reshape(64, 1024), b[:64, None]).ravel(), (a.reshape(64, 1024) / b[:64, None]).ravel())
        least = device.target.kind not in ("cuda", "software")
        a, b = floats(1 << 16, least, 255), floats(1 << 16, least, 255)
        within(device, divide(a, b), a / b, units=1)  # where the numerator or the quotient is below 2^-100


def test_quotients_of_the_ends_of_floats(device: fp.Device) -> None:
    ends = np.array([*ENDS, *(-x for x in ENDS)], np.float32)
    a, b = (x.ravel().copy() for x in np.meshgrid(ends, ends))
    if device.target.kind not in ("cuda", "software"):  # which may flush subnormals
        kept = (np.abs(a) > 1e-37) | (a == 0), (np.abs(b) > 1e-37) | (b == 0)
        a, b = a[kept[0] & kept[1]], b[kept[0] & kept[1]]
    with np.errstate(all="ignore"):
        within(device, fp.fuse(lambda a, b: a / b)(a, b), a / b, units=1)


def test_the_function_of_gpus_on_this_device(device: fp.Device) -> None:
    """Signs, zeros, infinities and NaN; where `fma` rounds twice, as on the CPU, the last place may be another one."""
    text = "import fusepy_rounded; float divide(float a, float b) { return fzround_div(a, b); }"
    divide = fp.fuse(fp.Module.load_from_source(device, "quotients_of_gpus", text).divide)
    ends = np.array([*ENDS, *(-x for x in ENDS)], np.float32)
    ends = ends[(np.abs(ends) > 1e-37) | ~(np.abs(ends) > 0)]
    a, b = (np.r_[x.ravel(), floats(1 << 12, 64, 190)] for x in np.meshgrid(ends, ends))
    with np.errstate(all="ignore"):
        within(device, np.asarray(divide(a, b)), a / b, units=1)


def test_quotients_of_halfs(device: fp.Device) -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    by = np.array([3, -7, 0.1, 6e-8, -6.1e-5, 65504, 0, np.inf, np.nan, *RNG.standard_normal(8)], np.float16)[:, None]
    with np.errstate(all="ignore"):
        got, want = fp.fuse(lambda a, b: a / b)(every, by), (every.astype(np.float32) / by.astype(np.float32)).astype(np.float16)
    assert np.array_equal(np.isnan(got), np.isnan(want))
    assert np.array_equal(got.view(np.uint16)[~np.isnan(want)], want.view(np.uint16)[~np.isnan(want)])


@pytest.mark.parametrize("type", daily([np.float16, np.float32, np.float64], "float16", "float32"))
def test_extremes_of_zeros_below_zero(device: fp.Device, type: type) -> None:
    """A fault of ptxas, which gives 0 for the -0 of a choice, made NaN of them."""
    x = np.array([[1, -1, 2, 3], [1, 2, 3, 4]], type)
    most = fp.fuse(lambda x: (fp.max(-fp.where(x > 0, 0.0, 1.0), -1), fp.min(-fp.where(x > 0, 0.0, 1.0), -1)))
    assert [v.tolist() for v in most(x)] == [[0, 0], [-1, 0]]
