"""Images of a draw: the states that are kept for indices."""

from __future__ import annotations

from typing import Any

import numpy as np

import fusepy as fp
from fusepy.backend.raster import images
from fusepy.backend.raster.images import Images
from fusepy.backend.raster.state import RasterState
from tests.support.rasters import need_raster


def test_states_are_kept_by_the_place_of_the_indices(device: Any, monkeypatch: Any) -> None:
    need_raster(device)
    filled = Images(device.raw, ["rgba32_float"], RasterState(), 6, 4)
    assert filled.results[0][1:] == (16, 96, 384)
    assert filled.state(None) is filled.state(None)
    few, many = (fp.Tensor.from_numpy(device, np.arange(n, dtype=np.uint32)) for n in (6, 1 << 23))  # each in its own buffer
    indices = [few[:3], few[3:], many]
    states = [filled.state(one) for one in indices[:2]]
    assert states[0] is not states[1]
    assert [filled.state(one) for one in indices[:2]] == states
    assert filled.state(indices[2]) is not states[0]
    assert filled.state(indices[0]) not in states
    monkeypatch.setattr(images, "OFFSETS", 0)
    assert filled.state(indices[0]) is not filled.state(indices[0])
