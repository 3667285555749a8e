"""What the tests of folding kernels share."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="module")
def on_lavapipe(device: Any) -> None:
    """Skips the tests of a module on other devices."""
    if device.target.lanes != 8:
        pytest.skip("these kernels are for vectors of 8 floats on the CPU")
