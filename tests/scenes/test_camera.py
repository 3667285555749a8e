"""Cameras: the rays of Slang and of Python are the same, and cameras that are refused."""

from __future__ import annotations

import copy
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


def graph_of(function: Any) -> Any:
    graph = fp.Graph(inputs=["p"])
    graph.set_outputs(function(*graph.get_inputs()))
    return graph


@pytest.mark.req("R3")
@pytest.mark.parametrize("called", [lambda f: f, fp.fuse, graph_of], ids=["call by call", "fused", "graph"])
@pytest.mark.parametrize("kind", ["array", "unsigned", "floats", "tensor", "grid"])
def test_pixels_that_are_not_computed_yet_have_the_places_and_rays_of_arrays(device: Any, called: Any, kind: str) -> None:
    pixels = np.stack(np.meshgrid(np.arange(6), np.arange(4)), axis=-1).astype(np.int32)
    given = {
        "array": pixels,
        "unsigned": pixels.astype(np.uint32),
        "floats": pixels.astype(np.float32),
        "tensor": fp.Tensor.from_numpy(device, pixels),
        "grid": fp.grid((4, 6)),
    }[kind]
    camera = fp.Camera((1, 2, 3), (-1, 0.5, 0), up=(0, 0, 1), fov=60, aspect=1.5)
    found = called(lambda p: (fp.pixel_to_uv(p, (6, 4)), *camera.ray(p, (6, 4))))(given)
    for one, wanted in zip(found, (fp.pixel_to_uv(pixels, (6, 4)), *camera.ray(pixels, (6, 4)))):
        assert np.allclose(np.asarray(one), wanted, atol=1e-6)


@pytest.mark.req("R3")
def test_rays_in_python_have_gradients_by_the_camera(device: Any) -> None:
    def total(camera: Any) -> Any:
        origins, directions = camera.ray(fp.grid((4, 6)), (6, 4))
        return fp.sum(directions.x * origins.y + directions.z)

    camera = fp.Camera((1, 2, 3), (-1, 0.5, 0), up=(0, 0, 1), fov=60, aspect=1.5)
    slopes, step = fp.grad(total)(camera), 1e-2
    for name in ("position", "forward", "right", "up"):
        for i in range(3):
            around: list[float] = []
            for by in (step, -step):
                moved = copy.copy(camera)
                setattr(moved, name, [x + by * (i == k) for k, x in enumerate(getattr(camera, name))])
                around.append(float(total(moved)))
            assert np.isclose(getattr(slopes, name)[i], (around[0] - around[1]) / (2 * step), atol=2e-2, rtol=1e-2), name


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
        (lambda: fp.pixel_to_uv((1, 2), (4, 0)), "two coordinates"),
        (lambda: fp.pixel_to_uv(fp.grid((1, 2, 3)), (4, 4)), "two coordinates"),
        (lambda: fp.fuse(lambda p: fp.pixel_to_uv(p, (4, 4)))(np.zeros((4, 3), np.int32)), "two coordinates"),
    ],
)
def test_what_is_no_camera_is_refused(build: Any, words: str) -> None:
    with pytest.raises(fp.ShapeError, match=words):
        build()
