"""Draws with the tensors of the last call: when they are a launch alone, and that they keep nothing alive."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.program.program import Program
from tests.drawing.again.test_like import SOURCE, corners
from tests.support.rasters import need_raster


@pytest.fixture
def draw(device: Any) -> Any:
    need_raster(device)
    m = fp.Module.load_from_source(device, "same", SOURCE.replace("GAIN", "1"))
    return fp.raster(m, vertex="vs", fragment="fs").options(depth="less", formats="rgba32_float")


def test_the_same_tensors_are_a_launch_alone(device: Any, draw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mesh, image, depth = corners(device, 0.5), fp.Tensor.empty(device, (4, 4), "float4"), fp.Tensor.empty(device, (4, 4))
    calls: list[float] = []
    called = Program.__call__

    def noted(self: Any, args: Any, *rest: Any) -> Any:
        calls.append(args[-1])
        return called(self, args, *rest)

    for scale in (1.0, 1.0):
        draw(mesh, targets=(4, 4), scale=scale, _result=(image, depth))
    monkeypatch.setattr(Program, "__call__", noted)
    for scale, seen in ((0.0, 0), (1.0, 0.5), (1, 0.5)):  # an integer is another kind of argument
        draw(mesh, targets=(4, 4), scale=scale, _result=(image, depth))
        assert image.to_numpy()[3, 0, 0] == seen
    assert calls == [1]
    with pytest.raises(fp.RangeError, match="scale"):
        draw(mesh, targets=(4, 4), scale=1e300, _result=(image, depth))
    mesh["colour"].copy_from_numpy(np.full((3, 3), 0.25, np.float32))
    draw(mesh, targets=(4, 4), scale=1.0, _result=(image, depth))
    assert image.to_numpy()[3, 0, 0] == 0.25
    mesh["colour"] = fp.Tensor.from_numpy(device, np.full((3, 3), 0.75, np.float32))
    draw(mesh, targets=(4, 4), scale=1.0, _result=(image, depth))
    assert image.to_numpy()[3, 0, 0] == 0.75
    new = draw(mesh, targets=(4, 4), scale=1.0)
    assert new[0] is not image
    assert new[0].to_numpy()[3, 0, 0] == 0.75


def test_a_kept_call_keeps_no_tensor(device: Any, draw: Any) -> None:
    mesh, image = corners(device, 0.5), fp.Tensor.empty(device, (4, 4), "float4")
    depth = fp.Tensor.empty(device, (4, 4))
    for _ in range(4):
        draw(mesh, targets=(4, 4), scale=1.0, _result=(image, depth))
    held = [weakref.ref(t) for t in (*mesh.values(), image, depth)]
    mesh.clear()
    del image, depth
    gc.collect()
    assert [one() for one in held] == [None] * 4
