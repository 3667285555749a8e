"""The bounds that tests of numbers use can fail, and differ by what devices promise."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support import precision


def test_bounds_differ_by_device_and_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    single, double = np.dtype(np.float32), np.dtype(np.float64)
    assert (
        precision.ulps("div", single, "lavapipe")
        < precision.ulps("div", single, "cuda")
        < precision.ulps("div", single, "vulkan")
    )
    assert precision.ulps("add", single, "vulkan") == precision.ulps("add", double, "cuda") == 0
    small, one = np.float32([1e-40, 1e-30]), np.float32([1, 1])
    assert precision.left_open("add", [small, one], one, "vulkan").tolist() == [True, False]
    assert not precision.left_open("add", [small, one], one, "cuda").any()
    assert precision.left_open("div", [one, np.float32([2.0**127, 2.0**126])], one, "vulkan").tolist() == [True, False]
    assert precision.power_ulps(np.float32([2]), np.float32([2.5]), "vulkan") < 32
    x = np.float32([1, 3])
    for where, steps in (("lavapipe", 0), ("cuda", 1), ("vulkan", 3)):
        monkeypatch.setattr(precision, "kind", lambda where=where: where)
        precision.agree(x + steps * np.spacing(x), x, "div")
        with pytest.raises(AssertionError):
            precision.agree(x + (steps + 1) * np.spacing(x), x, "div")
        with pytest.raises(AssertionError):
            precision.agree(x + np.spacing(x), x, "add")
