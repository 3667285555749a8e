"""What the tests of emitted kernels share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import fusepy as fp
from fusepy.backend.device.target import Target


@pytest.fixture(scope="module")
def gpu(device: Any) -> Iterator[Any]:
    """A device with the kernels of a GPU: the one under test, or lavapipe."""
    if device.target.kind != "software":
        yield device
        return
    made = fp.init_device("vulkan")
    made.target = Target("vulkan", True)
    yield made
    made.close()
