"""Fused functions without arrays among their arguments: captured arrays say the container, as they do call by call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusepy as fp

X = np.arange(6, dtype=np.float32).reshape(2, 3)
PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "an operator": lambda m, x: fp.sqrt(x) * 2,
    "components": lambda m, x: m.luma(fp.sqrt(x)),
    "moved": lambda m, x: fp.flip(fp.sqrt(x), 0),
    "a branch": lambda m, x: fp.cond(True, lambda: fp.sqrt(x), lambda: x),
    "a loop": lambda m, x: fp.fori_loop(0, 2, lambda i, s: s + x, 0.0),
}


@pytest.fixture(scope="module")
def m(device: Any) -> fp.Module:
    return fp.Module.load_from_source(device, "captured_containers", "float luma(float3 c) { return c.x + c.y; }")


@pytest.mark.parametrize("name", PROGRAMS)
def test_captured_arrays_give_arrays_of_their_container(m: fp.Module, device: Any, name: str) -> None:
    for x, kind in ((X, np.ndarray), (fp.Tensor.from_numpy(device, X), fp.Tensor), (X.tolist(), list)):
        program = PROGRAMS[name]
        found = fp.fuse(lambda: program(m, x))()  # noqa: B023
        assert isinstance(found, kind)
        np.testing.assert_allclose(found, program(m, X), rtol=1e-6)


def test_arguments_go_before_and_single_values_stay_numbers(m: fp.Module) -> None:
    assert type(fp.fuse(lambda y: y * X)([1.0, 2.0, 3.0])) is list
    assert type(fp.fuse(lambda k: fp.sum(X) * k)(2.0)) is float
    assert type(fp.grad(lambda k: fp.sum(X * k))(2.0)) is float
