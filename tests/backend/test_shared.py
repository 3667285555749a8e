"""What copies of structures share: functions, modules and devices."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import fusepy as fp

NET = fp.nn.MLP(2, 3)


@pytest.mark.parametrize("of", [copy.copy, copy.deepcopy])
def test_a_copy_shares_functions_and_devices(device: fp.Device, of: Any) -> None:
    m = fp.Module.load_from_source(device, "shared", "[Differentiable] float squared(float x) { return x * x; }")
    for held in (m, device, m.squared, m.squared.bwds, fp.fuse(lambda x: x), fp.grad(m.squared), fp.Graph(inputs=["x"])):
        assert of(held) is held
    assert copy.deepcopy({"parts": [m.squared]})["parts"] == [m.squared]


def test_copies_of_networks_and_training_steps_go_on_by_themselves() -> None:
    step = fp.training_step(lambda p: (p - 3.0) ** 2, fp.nn.SGD(lr=0.25, momentum=0.5))
    p = fp.nn.parameters(1.0)
    step(p)
    other, q = copy.deepcopy((step, p))
    for _ in range(2):
        step(p)
    assert (step.count, other.count, float(q)) == (3, 1, 2.0)
    for _ in range(2):
        other(q)
    assert float(q) == float(p)
    x = np.ones((4, 2), np.float32)
    np.testing.assert_array_equal(copy.deepcopy(NET)(NET.parameters(), x), NET(NET.parameters(), x))


@pytest.mark.parametrize("held", [fp.fuse(lambda x: x), fp.Graph(inputs=["x"])])
def test_functions_are_not_pickled(held: Any) -> None:
    with pytest.raises(fp.ArgumentError, match="cannot be pickled: its programs belong to a device"):
        pickle.dumps(held)
