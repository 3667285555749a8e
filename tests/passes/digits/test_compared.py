"""Comparisons of numbers: Python's floats have 64 bits, NumPy's have their own, and so has what NumPy computes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.selection import daily

SHORT, EXACT = np.float32(0.1), float(np.float32(0.1))  # NumPy compares the first as equal to 0.1, and Python the second as more
OF_ONE: dict[str, Callable[[Any], Any]] = {
    "an argument": lambda k: fp.where(k > 0.1, 1.0, 2.0),
    "a choice among integers": lambda k: fp.where(k > 0.1, 1, 2),
    "a choice by two tests": lambda k: fp.where((k > 0.1) | (k < 0.1), 1, 2),
    "a flag": lambda k: k == 0.1,
    "a product": lambda k: fp.where(k * 2 > 0.2, 1.0, 2.0),
    "a chain": lambda k: fp.where(-abs(k * 2 + 0.0) / 2 < -0.1, 1.0, 2.0),
    "a quotient": lambda k: fp.where(1 / k == 1 / 0.1, 1.0, 2.0),
    "a wide number of the program": lambda k: fp.where(k > np.float64(0.1), 1, 2),
    "a wide number beside what is computed": lambda k: fp.where(k * np.float64(1) > 0.1, 1.0, 2.0),
    "a short number of the program": lambda k: fp.where(k >= SHORT, 1, 2),
    "a short number of the program in a body": lambda k: fp.cond(k > 0, lambda: fp.where(k >= SHORT, 1.0, 2.0), lambda: 0.0),
    "two numbers of the program": lambda k: fp.where(k > SHORT, 1, 2) + fp.where(k > EXACT, 1, 2) * 10,
    "a branch": lambda k: fp.cond(True, lambda: k, lambda: 0.0) > 0.1,
    "the body of a branch": lambda k: fp.cond(k > 0, lambda: fp.where(k > 0.1, 1.0, 2.0), lambda: 0.0),
    "the body of a loop": lambda k: fp.fori_loop(0, 3, lambda i, c: c + fp.where(k > 0.1, 1.0, 2.0), 0.0),
    "a body in a body": lambda k: fp.fori_loop(
        0, 2, lambda i, c: fp.fori_loop(0, 2, lambda j, d: d + fp.where(k * 2 > 0.2, 1.0, 2.0), c), 0.0
    ),
    "a loop, which gives Python's": lambda k: fp.fori_loop(0, 1, lambda i, c: c * 1.0, k) > 0.1,
    "a function, which gives Python's": lambda k: fp.maximum(k, 0.0) > 0.1,
    "a constant of derivatives": lambda k: fp.where(fp.stop_gradient(k) > 0.1, 1, 2),
}
PAIRS = [
    (SHORT, 0.1),
    (0.1, SHORT),
    (SHORT, SHORT),
    (np.float32(1), 0.9999999999),
    (16777217, np.float32(16777216)),
    (np.float32(16777216), 16777217),
    (np.int32(16777217), np.float32(16777216)),
    (np.int16(3), np.float32(3)),
    (SHORT, np.float64(0.1)),
]


class Camera:
    k: Any = SHORT

    @fp.fuse
    def shown(self) -> Any:
        return fp.where(self.k > 0.1, 1, 2), fp.where(self.k * 2 > 0.2, 1.0, 2.0)


@pytest.mark.req("V1", "C13")
@pytest.mark.parametrize("name", daily(OF_ONE, "a choice among integers", "a chain", "the body of a loop"))
def test_floats_of_numpy_are_compared_with_their_bits(device: Any, name: str) -> None:
    """Those with 32 bits were compared as doubles where integers are chosen, in bodies, and if anything was computed of them."""
    of = OF_ONE[name]
    fused = fp.fuse(of)
    for k in (SHORT, EXACT, np.float64(EXACT), 0.1, np.float32(0.5), SHORT):
        assert fused(k) == of(k), repr(k)
    assert fp.fuse(lambda d: of(d["k"]))({"k": SHORT}) == of(SHORT)


@pytest.mark.req("V1", "C13")
def test_numbers_of_two_dtypes_are_compared_as_numpy_does(device: Any) -> None:
    integers, floats = fp.fuse(lambda a, b: fp.where(a > b, 1, 2)), fp.fuse(lambda a, b: fp.where(a > b, 1.0, 2.0))
    for a, b in PAIRS:
        assert integers(a, b) == floats(a, b) == (1 if a > b else 2), (a, b)


@pytest.mark.req("V1", "C13")
def test_attributes_are_compared_with_their_bits(device: Any) -> None:
    camera = Camera()
    for k, wanted in ((SHORT, (2, 2.0)), (EXACT, (1, 1.0)), (SHORT, (2, 2.0))):
        camera.k = k
        assert camera.shown() == wanted


@pytest.mark.req("V1", "C13")
def test_constants_of_derivatives_have_64_bits(device: Any) -> None:
    """They had 32 in fused functions: what comes from outside of a derivative, and what `stop_gradient` says."""
    cases: dict[str, Callable[[Any], Any]] = {
        "returned": lambda k: fp.stop_gradient(k),
        "computed": lambda k: fp.stop_gradient(k) * 3,
        "compared": lambda k: fp.where(fp.stop_gradient(k) > 0.1, 1, 2),
        "from outside": lambda k: fp.grad(lambda p: p * p * k)(k),
        "the greater one": lambda k: fp.grad(lambda p: fp.maximum(p, k) * p)(k),
        "a tangent": lambda k: tuple(fp.jvp(lambda p: (p - k) * 1e9, (k,), (1.0,))),
    }
    for name, of in cases.items():
        assert fp.fuse(of)(0.1) == pytest.approx(of(0.1), rel=1e-15, abs=1e-7), name  # GPUs may join a product and a difference
    assert fp.fuse(lambda x, k: x * (fp.stop_gradient(k) * 3))(np.ones(2), 0.1)[0] == 0.1 * 3
