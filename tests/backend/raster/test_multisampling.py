"""Samples for each pixel: the numbers that a device has draw, and the others are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.raster.multisampling import check_samples
from tests.support.rasters import SOURCE, need_raster

CORNERS = {"at": np.float32([[-1, -1, 0.5, 1], [3, -1, 0.5, 1], [-1, 3, 0.5, 1]]), "colour": np.ones((3, 3), np.float32)}


@pytest.mark.parametrize("count", [2, 4, 8])
def test_a_draw_is_right_or_refused(device: Any, count: int) -> None:
    """lavapipe has 1 and 4; it made images of 2 and 8 of whatever lay in memory."""
    need_raster(device)
    m = fp.Module.load_from_source(device, "multisampling", SOURCE)
    draw = fp.raster(m, vertex="vs", fragment="fs").options(samples=count)
    try:
        check_samples(device.sgl, count)
    except fp.DeviceError:
        assert count != 4  # each device with a rasteriser has 4
        with pytest.raises(fp.DeviceError, match=rf"samples={count}\n"):
            draw(CORNERS, targets=(4, 4))
    else:
        np.testing.assert_array_equal(draw(CORNERS, targets=(4, 4)), np.ones((4, 4, 4), np.float32))
