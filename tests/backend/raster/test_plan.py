"""What a draw says about itself; programs that are kept on disk, and modules that change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.rasters import SOURCE, need_raster

V = {"at": np.float32([[-1, -1, 0.5, 1], [3, -1, 0.5, 1], [-1, 3, 0.5, 1]]), "colour": np.float32(np.eye(3))}


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    need_raster(device)
    return fp.Module.load_from_source(device, "plans_of_draws", SOURCE)


def test_a_draw_is_a_kernel_with_barriers_where_data_flows(m: Any) -> None:
    draw = fp.raster(m, vertex="vs", fragment="fs").options(depth="less")

    @fp.fuse
    def frame(at: Any, colour: Any) -> Any:
        image, depth = draw({"at": at * 1.0, "colour": colour}, [[0, 1, 2]], instances=2, targets=(8, 8))
        return m.tonemap(image, 1.0) * depth

    told = str(frame.explain(V["at"], V["colour"]))
    assert "frame: 3 kernels" in told
    assert "kernel 1: the rasteriser draws 3 vertices for each of 2 instances into 8 x 8 pixels" in told
    assert "draw vs fs" in told
    assert "-> tonemap" in told
    assert "runs draw vs fs by itself" in told
    assert 'shader("fragment")' in frame.source(V["at"], V["colour"])


def test_a_changed_module_draws_anew(device: Any) -> None:
    need_raster(device)
    own = fp.Module.load_from_source(device, "changed_draws", SOURCE)
    draw = fp.raster(own, vertex="vs", fragment="fs")
    before = draw(V, targets=(4, 4))
    own.reload(SOURCE.replace("float4(c.colour, 1)", "float4(c.colour * 2, 1)"))
    np.testing.assert_allclose(draw(V, targets=(4, 4))[..., :3], 2 * before[..., :3])


def test_a_second_session_takes_a_draw_from_disk(m: Any) -> None:
    draw = fp.raster(m, vertex="vs", fragment="fs").options(blend="add")
    first = draw(V, targets=(4, 4))
    m.device.cache.flush() if hasattr(m.device.cache, "flush") else None
    other = fp.create_device(type="vulkan")
    again = fp.Module.load_from_source(other, "plans_of_draws", SOURCE)
    found = fp.raster(again, vertex="vs", fragment="fs").options(blend="add")(V, targets=(4, 4))
    np.testing.assert_array_equal(found, first)
    other.close()
