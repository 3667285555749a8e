"""Programs after hints about meshes, boxes, scenes and cameras."""

from __future__ import annotations

import copy
import functools
import sys
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

import fusepy as fp
from tests.errors.hints.devices import second
from tests.errors.hints.support import Program
from tests.support.rays import BOXES
from tests.support.slang_functions import F32

SOURCE = """
import fusepy_rays;
float depth(RaytracingAccelerationStructure scene, float3 from)
{ return closest_hit(scene, ray_from(from, float3(0, 0, -1), 0, 99)).t; }
RaytracingAccelerationStructure world;
float depth_of_global(float3 from) { return depth(world, from); }
"""
FLAT = np.array([[0, 0, 0], [2, 0, 0], [0, 2, 0], [2, 2, 0]], F32)
PAIR = np.array([[0, 1, 2], [2, 1, 3]], np.uint32)
ABOVE = np.array([[0.5, 0.5, 1], [1.5, 1.5, 1], [5, 5, 1]], F32)
SEEN = np.array([1, 1, 99], F32)
LOW = np.array([[0, 0, 0], [1, 1, 0]], F32)


@functools.cache
def on(device: Any) -> Any:
    return fp.Module.load_from_source(device, "hint_scenes", SOURCE + BOXES)


def seen(*shown: Any, device: Any = None) -> Any:
    """What rays from above meet."""
    return on(device or fp.default_device()).depth(fp.Scene(list(shown)), ABOVE)


def inside(boxes: Any) -> Any:
    return on(fp.default_device()).boxes(fp.Scene(boxes), ABOVE)


def nan() -> Any:
    changed = np.concatenate([FLAT, FLAT[:1]])
    changed[4] = np.nan
    return changed


def loaded(path: Any) -> Any:
    found = SimpleNamespace(vertices=FLAT, faces=PAIR, vertex_normals=FLAT, visual=None)

    def load(path: str, force: str) -> Any:
        if not path.endswith(".obj"):
            raise ValueError("file_type is not supported")
        return found

    with mock.patch.dict(sys.modules, {"trimesh": SimpleNamespace(load=load)}):
        return fp.Mesh.load(path)


def without_trimesh(call: Any) -> Any:
    with mock.patch.dict(sys.modules, {"trimesh": None}):
        return call()


def tensor(array: Any) -> Any:
    return fp.Tensor.from_numpy(fp.default_device(), array)


def look(camera: Any) -> Any:
    return camera.ray((0, 0), (1, 1))[1]


def moved(scene: Any, *given: Any) -> Any:
    scene.move(*given)
    return on(fp.default_device()).depth(scene, ABOVE)


def there(*given: Any) -> Any:
    return fp.Mesh(FLAT, PAIR, device=second())


LIFTED = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.5]], F32)
UP = np.eye(4, dtype=F32)
UP[2, 3] = 0.5
DOWN = np.array([0, 0, -1], F32)
PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    "a deep copy of a mesh": (
        lambda m: seen(copy.deepcopy(fp.Mesh(FLAT, PAIR))),
        "make another one: fp.Mesh(positions, indices), fp.Boxes(low, high)",
        lambda m: seen(fp.Mesh(FLAT, PAIR)),
        SEEN,
    ),
    "a mesh of a number": (
        lambda m: fp.Mesh(3, PAIR),
        "pass an array of shape (n, 3)",
        lambda m: seen(fp.Mesh(FLAT, PAIR)),
        SEEN,
    ),
    "a mesh of what a fused function computes": (
        lambda m: fp.fuse(lambda p: seen(fp.Mesh(p * 2, PAIR)))(FLAT),
        "make the mesh before the call, and pass its scene as an argument",
        lambda m: seen(fp.Mesh(fp.fuse(lambda p: p * 1)(FLAT), PAIR)),
        SEEN,
    ),
    "a device without rays": (
        lambda m: fp.Mesh(FLAT, PAIR, device=fp.init_device("cpu")),
        'open one: device = fp.init_device("vulkan"); lavapipe, on the CPU, has them too',
        lambda m: seen(fp.Mesh(FLAT, PAIR)),
        SEEN,
    ),
    "a mesh in place of a scene": (
        lambda m: on(fp.default_device()).depth(fp.Mesh(FLAT, PAIR), ABOVE),
        "wrap it in a scene: fp.Scene([mesh])",
        lambda m: on(fp.default_device()).depth(fp.Scene([fp.Mesh(FLAT, PAIR)]), ABOVE),
        SEEN,
    ),
    "a mesh as a global": (
        lambda m: on(fp.default_device()).depth_of_global.set(world=fp.Mesh(FLAT, PAIR))(ABOVE),
        "wrap it in a scene: fp.Scene([mesh])",
        lambda m: on(fp.default_device()).depth_of_global.set(world=fp.Scene([fp.Mesh(FLAT, PAIR)]))(ABOVE),
        SEEN,
    ),
    "the name of a file for a mesh": (
        lambda m: fp.Mesh("house.obj"),
        "give numbers; fp.Mesh.load(path) reads the file of a mesh",
        lambda m: seen(fp.Mesh(FLAT, PAIR)),
        SEEN,
    ),
    "a list of instances in place of a scene": (
        lambda m: fp.fuse(lambda s: on(fp.default_device()).depth(s["scene"][0], ABOVE))(
            {"scene": [fp.Instance(fp.Mesh(FLAT, PAIR))]}
        ),
        "wrap it in a scene: fp.Scene([instance])",
        lambda m: fp.fuse(lambda s: on(fp.default_device()).depth(s["scene"], ABOVE))(
            {"scene": fp.Scene([fp.Instance(fp.Mesh(FLAT, PAIR))])}
        ),
        SEEN,
    ),
    "boxes in place of a scene": (
        lambda m: on(fp.default_device()).depth(fp.Boxes(LOW, LOW + 1), ABOVE),
        "wrap it in a scene: fp.Scene([boxes])",
        lambda m: on(fp.default_device()).depth(fp.Scene([fp.Mesh(FLAT, PAIR)]), ABOVE),
        SEEN,
    ),
    "positions of another shape": (
        lambda m: fp.Mesh(FLAT.reshape(-1), PAIR),
        "reshape it to rows of 3",
        lambda m: seen(fp.Mesh(FLAT.reshape(-1).reshape(-1, 3), PAIR)),
        SEEN,
    ),
    "indices of floats": (
        lambda m: fp.Mesh(FLAT, PAIR.astype(F32)),
        "convert the array: array.astype(np.uint32)",
        lambda m: seen(fp.Mesh(FLAT, PAIR.astype(F32).astype(np.uint32))),
        SEEN,
    ),
    "a vertex that is not a number": (
        lambda m: fp.Mesh(nan(), PAIR),
        "remove such rows; checked=False omits this check",
        lambda m: seen(fp.Mesh(nan()[:4], PAIR)) + seen(fp.Mesh(nan(), PAIR, checked=False)),
        2 * SEEN,
    ),
    "another number of vertices": (
        lambda m: fp.Mesh(FLAT, PAIR).refit(FLAT[:3]),
        "make a new one for another number",
        lambda m: seen(fp.Mesh(FLAT[:3], PAIR[:1])),
        np.array([1, 99, 99], F32),
    ),
    "fewer normals than vertices": (
        lambda m: fp.Mesh(FLAT, PAIR, normals=FLAT[:2]),
        "give one row of normals for each vertex",
        lambda m: seen(fp.Mesh(FLAT, PAIR, normals=FLAT)),
        SEEN,
    ),
    "fewer upper corners than boxes": (
        lambda m: fp.Boxes(LOW, LOW[:1] + 1),
        "give one row of low and of high for each box",
        lambda m: inside(fp.Boxes(LOW, LOW + 1)),
        np.array([1, 2, 0], np.int32),
    ),
    "a vertex below 0": (
        lambda m: fp.Mesh(FLAT, PAIR.astype(np.int32) - 1),
        "number the vertices from 0",
        lambda m: seen(fp.Mesh(FLAT, PAIR)),
        SEEN,
    ),
    "a vertex past the last": (
        lambda m: fp.Mesh(FLAT, PAIR + 1),
        "number the vertices from 0, also in formats that begin with 1",
        lambda m: seen(fp.Mesh(FLAT, PAIR + 1 - 1)),
        SEEN,
    ),
    "four vertices in a row": (
        lambda m: fp.Mesh(FLAT),
        "give indices",
        lambda m: seen(fp.Mesh(FLAT, PAIR)),
        SEEN,
    ),
    "no triangles": (
        lambda m: fp.Mesh(FLAT, PAIR[:0]),
        "give at least one row of indices, or leave the mesh out",
        lambda m: seen(fp.Mesh(FLAT, PAIR[:1])),
        np.array([1, 99, 99], F32),
    ),
    "a file without trimesh": (
        lambda m: without_trimesh(lambda: fp.Mesh.load("flat.obj")),
        "pip install trimesh, or give arrays",
        lambda m: seen(loaded("flat.obj")) + seen(fp.Mesh(FLAT, PAIR)),
        2 * SEEN,
    ),
    "a file of another kind": (
        lambda m: loaded("flat.txt"),
        "give a file in a format that trimesh reads",
        lambda m: seen(loaded("flat.obj")),
        SEEN,
    ),
    "vertices on another device": (
        lambda m: fp.Mesh(fp.Tensor.from_numpy(second(), FLAT), PAIR, device=m.device),
        "copy it over with Tensor.from_numpy(device, t.to_numpy())",
        lambda m: seen(fp.Mesh(tensor(fp.Tensor.from_numpy(second(), FLAT).to_numpy()), PAIR)),
        SEEN,
    ),
    "no boxes": (
        lambda m: fp.Boxes(LOW[:0], LOW[:0]),
        "give at least one box",
        lambda m: inside(fp.Boxes(LOW[:1], LOW[:1] + 1)),
        np.array([1, 0, 0], np.int32),
    ),
    "boxes inside out": (
        lambda m: fp.Boxes(LOW + 1, LOW),
        "swap them: np.minimum(low, high), np.maximum(low, high)",
        lambda m: inside(fp.Boxes(np.minimum(LOW + 1, LOW), np.maximum(LOW + 1, LOW))),
        np.array([1, 2, 0], np.int32),
    ),
    "pixels of three coordinates": (
        lambda m: fp.pixel_to_uv((0, 1, 2), (4, 2)),
        "give x before y, and width before height",
        lambda m: fp.pixel_to_uv((0, 1), (4, 2)),
        np.array([0.125, 0.75], F32),
    ),
    "a position of two numbers": (
        lambda m: fp.Camera((0, 0), (0, 0, 0)),
        "write position=(x, y, z)",
        lambda m: look(fp.Camera(position=(0, 0, 1), target=(0, 0, 0))),
        DOWN,
    ),
    "a camera that looks along its up": (
        lambda m: fp.Camera((0, 1, 0), (0, 0, 0)),
        "move the target, or choose another up, such as (0, 0, 1)",
        lambda m: look(fp.Camera((0, 1, 0), (0, 0, 0), up=(0, 0, 1))),
        np.array([0, -1, 0], F32),
    ),
    "an angle of a whole turn": (
        lambda m: fp.Camera((0, 0, 1), (0, 0, 0), fov=360),
        "give the angle in degrees, and width / height",
        lambda m: look(fp.Camera((0, 0, 1), (0, 0, 0), fov=45, aspect=4 / 3)),
        DOWN,
    ),
    "a transform of two rows": (
        lambda m: fp.Instance(fp.Mesh(FLAT, PAIR), LIFTED[:2]),
        "put rotation and scale into the first three columns, the translation into the last",
        lambda m: seen(fp.Instance(fp.Mesh(FLAT, PAIR), LIFTED)),
        np.array([0.5, 0.5, 99], F32),
    ),
    "a transform with its translation in the last row": (
        lambda m: fp.Instance(fp.Mesh(FLAT, PAIR), UP.T),
        "transpose it if its translation stands in the last row",
        lambda m: seen(fp.Instance(fp.Mesh(FLAT, PAIR), UP.T.T)),
        np.array([0.5, 0.5, 99], F32),
    ),
    "a transform that is not finite": (
        lambda m: fp.Instance(fp.Mesh(FLAT, PAIR), LIFTED * np.inf),
        "give finite numbers",
        lambda m: seen(fp.Instance(fp.Mesh(FLAT, PAIR), LIFTED)),
        np.array([0.5, 0.5, 99], F32),
    ),
    "an instance of arrays": (
        lambda m: fp.Scene([FLAT]),
        "give a Mesh, or Boxes",
        lambda m: seen(fp.Mesh(FLAT, PAIR)),
        SEEN,
    ),
    "an empty scene": (
        lambda m: fp.Scene([]),
        "give a list with at least one Mesh, Boxes or Instance",
        lambda m: seen(fp.Mesh(FLAT, PAIR)),
        SEEN,
    ),
    "too few transforms": (
        lambda m: fp.Scene([fp.Mesh(FLAT, PAIR)] * 3).move(np.stack([LIFTED] * 2)),
        "give one for each instance, or one for all",
        lambda m: moved(fp.Scene([fp.Mesh(FLAT, PAIR)] * 3), LIFTED) + moved(fp.Scene([fp.Mesh(FLAT, PAIR)]), LIFTED[None]),
        np.array([1, 1, 198], F32),
    ),
    "a mask of nine bits": (
        lambda m: fp.Instance(fp.Mesh(FLAT, PAIR), mask=256),
        "choose a smaller mask",
        lambda m: seen(fp.Instance(fp.Mesh(FLAT, PAIR), mask=255)),
        SEEN,
    ),
    "a fraction of a mask": (
        lambda m: fp.Instance(fp.Mesh(FLAT, PAIR), mask=1.5),
        "choose a number from 0 to 255",
        lambda m: seen(fp.Instance(fp.Mesh(FLAT, PAIR), mask=255)),
        SEEN,
    ),
    "a hit group below 0": (
        lambda m: fp.Instance(fp.Mesh(FLAT, PAIR), hit_group=-1),
        "choose a larger hit_group",
        lambda m: seen(fp.Instance(fp.Mesh(FLAT, PAIR), hit_group=0)),
        SEEN,
    ),
    "meshes of two devices": (
        lambda m: fp.Scene([fp.Mesh(FLAT, PAIR), there()]),
        "make all of it with the same device=…",
        lambda m: seen(fp.Mesh(FLAT, PAIR, device=m.device), fp.Mesh(FLAT, PAIR, device=m.device)),
        SEEN,
    ),
    "an instance that is not there": (
        lambda m: fp.Scene([fp.Mesh(FLAT, PAIR)]).move(LIFTED, 1),
        "make a new Scene to add instances",
        lambda m: seen(fp.Mesh(FLAT, PAIR), fp.Instance(fp.Mesh(FLAT, PAIR), LIFTED)),
        np.array([0.5, 0.5, 99], F32),
    ),
    "a scene of another device": (
        lambda m: seen(there(), device=m.device),
        "make its meshes with device=… of the device that the module is on",
        lambda m: seen(fp.Mesh(FLAT, PAIR, device=m.device)),
        SEEN,
    ),
    "pixels of a grid of three coordinates": (
        lambda m: fp.pixel_to_uv(fp.grid((1, 2, 2)), (2, 2)),
        "give x before y: fp.grid((height, width)), or fp.int2(x, y)",
        lambda m: fp.pixel_to_uv(fp.grid((1, 2)), (2, 1)),
        np.array([[[0.25, 0.5], [0.75, 0.5]]], F32),
    ),
}
