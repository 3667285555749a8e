"""The state of a draw as attributes of its node."""

from __future__ import annotations

from fusepy.backend.raster.state import BLENDS, RasterState


def test_a_state_is_read_back_from_the_attributes_of_a_node() -> None:
    state = RasterState(cull="back", depth="less", depth_write=False, clear=(0.1, 0.2, 1 / 3, 1.0), viewport=(0.0, 1.0, 2.0, 3.0))
    assert RasterState.of(state.attrs()) == state
    assert state.attrs()["clear"] == ("0.1", "0.2", "0.3333333333333333", "1.0")
    assert RasterState.of({**RasterState(blend=next(iter(BLENDS))).attrs(), "name": "other"}).blend == "alpha"
