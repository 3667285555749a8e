"""The way back through a call, as a function with parameters of its own."""

from __future__ import annotations

from typing import Any

import pytest

import fusepy as fp
from fusepy.functions.pullback import signature_named


def test_names_that_occur_again_get_numbers_that_are_free() -> None:
    names = list(signature_named(["x", "g_0", "g_0_2", "g_0", "g_0", "x"]).parameters)
    assert names == ["x", "g_0", "g_0_2", "g_0_3", "g_0_4", "x_2"]


def test_derivatives_of_third_order_have_three_gradients_of_a_result(device: Any) -> None:
    torch = pytest.importorskip("torch")
    cube = fp.fuse(lambda x: x * x * x * x)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    slope = cube(x)
    for _ in range(3):
        (slope,) = torch.autograd.grad(slope.sum(), x, create_graph=True)
    assert slope.tolist() == [24.0, 48.0]
