"""Cameras: the rays of Slang and of Python are the same, and cameras that are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.rays import need_rays

SOURCE = """
import fusepy_rays;
float3 direction(Camera camera, uint2 pixel, uint2 size) { return camera.ray(pixel, size).Direction; }
float2 place(uint2 pixel, uint2 size) { return pixel_to_uv(pixel, size); }
"""


@pytest.mark.req("R3")
def test_slang_and_python_have_the_same_rays(device: Any) -> None:
    need_rays(device)
    m = fp.Module.load_from_source(device, "cameras", SOURCE)
    camera = fp.Camera((1, 2, 3), (-1, 0.5, 0), up=(0, 0, 1), fov=60, aspect=1.5)
    pixels = np.stack(np.meshgrid(np.arange(6), np.arange(4)), axis=-1)
    origins, directions = camera.ray(pixels, (6, 4))
    assert np.allclose(m.direction(camera, fp.grid((4, 6)), (6, 4)).to_numpy(), directions, atol=1e-6)
    assert np.allclose(m.place(fp.grid((4, 6)), (6, 4)).to_numpy(), fp.pixel_to_uv(pixels, (6, 4)))
    assert (origins == np.float32([1, 2, 3])).all()
    assert np.allclose(np.linalg.norm(directions, axis=-1), 1, atol=1e-6)
    middle, upper = camera.ray([[0, 0]], (1, 1))[1][0], np.float64(camera.forward) + camera.up
    assert np.allclose(middle, np.float64([-2, -1.5, -3]) / np.linalg.norm([-2, -1.5, -3]), atol=1e-6)
    angle = np.degrees(np.arccos(upper @ np.float64(camera.forward) / np.linalg.norm(upper)))
    assert np.isclose(angle, 30)
    assert np.isclose(np.linalg.norm(camera.right) / np.linalg.norm(camera.up), 1.5)


@pytest.mark.req("R3")
@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: fp.Camera((0, 0, 0), (0, 0, 0)), "looks nowhere"),
        (lambda: fp.Camera((0, 0, 0), (0, 2, 0)), "looks nowhere"),
        (lambda: fp.Camera((0, 0), (0, 0, 1)), "position of a camera is three numbers"),
        (lambda: fp.Camera((0, 0, 0), (0, 0, 1), fov=180), "without an image"),
        (lambda: fp.Camera((0, 0, 0), (0, 0, 1), fov="wide"), "without an image"),
        (lambda: fp.Camera((0, 0, 0), (0, 0, 1), aspect=np.inf), "without an image"),
        (lambda: fp.pixel_to_uv((1, 2, 3), (4, 4)), "two coordinates"),
    ],
)
def test_what_is_no_camera_is_refused(build: Any, words: str) -> None:
    with pytest.raises(fp.ShapeError, match=words):
        build()
