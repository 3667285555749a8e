"""Meshes and boxes that are refused, and files of meshes."""

from __future__ import annotations

import copy
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.rays import need_rays

FLAT = np.float32([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])
PAIR = [[0, 1, 2], [2, 1, 3]]


def with_nan() -> Any:
    changed = FLAT.copy()
    changed[2, 1] = np.nan
    return changed


@pytest.mark.req("R3")
@pytest.mark.parametrize(
    ("build", "error", "words"),
    [
        (lambda: fp.Mesh(FLAT, [[0, 1, 4]]), fp.ShapeError, r"indices\[0\] names a vertex[\s\S]*0 to 3"),
        (lambda: fp.Mesh(fp.Tensor(FLAT), fp.Tensor(np.uint32([[0, 1, 2], [3, 9, 1]]))), fp.ShapeError, r"indices\[1\]"),
        (lambda: fp.Mesh(FLAT, [[0, 1, -1]]), fp.ShapeError, r"indices\[0\] names a vertex[\s\S]*-1"),
        (lambda: fp.Mesh(fp.Tensor(FLAT), fp.Tensor(np.int32([[0, 1, -1]]))), fp.ShapeError, r"indices\[0\][\s\S]*-1"),
        (lambda: fp.Mesh(np.full((3, 3), 1e300)), fp.ShapeError, r"positions\[0\] is not finite as a float[\s\S]*1e\+300"),
        (lambda: fp.Mesh([[0, 0, 0], [1, 1], [0, 1, 0]]), fp.ShapeError, "the same length"),
        (lambda: fp.Mesh(FLAT, PAIR, normals=FLAT[:2]), fp.ShapeError, "one row of normals for each vertex"),
        (lambda: fp.Mesh(with_nan(), PAIR), fp.ShapeError, r"positions\[2\] is not finite"),
        (lambda: fp.Mesh(fp.Tensor(with_nan()), PAIR), fp.ShapeError, r"positions\[2\] is not finite"),
        (lambda: fp.Mesh(FLAT, np.zeros((0, 3), np.uint32)), fp.ShapeError, "without triangles"),
        (lambda: fp.Mesh(FLAT), fp.ShapeError, "multiple of 3"),
        (lambda: fp.Mesh(FLAT[:, :2], PAIR), fp.ShapeError, r"positions has another shape[\s\S]*\(n, 3\)"),
        (lambda: fp.Mesh(FLAT, np.float32(PAIR)), fp.UnsupportedArgumentError, "indices holds no integers"),
        (lambda: fp.Mesh(fp.Tensor(FLAT > 0), PAIR), fp.UnsupportedArgumentError, "positions holds no floats"),
        (lambda: fp.Mesh(FLAT, PAIR).refit(FLAT[:3]), fp.ShapeError, "another number of rows"),
        (lambda: fp.Mesh(FLAT, PAIR).refit(with_nan()), fp.ShapeError, "not finite"),
        (lambda: fp.Mesh(FLAT, PAIR).rebuild(FLAT, [[0, 1, 2], [0, 1, 7]]), fp.ShapeError, r"indices\[1\]"),
        (lambda: fp.Boxes(FLAT[:0], FLAT[:0]), fp.ShapeError, "no boxes"),
        (lambda: fp.Boxes(FLAT + 1, FLAT), fp.ShapeError, "box 0: low is above high"),
        (lambda: fp.Boxes(FLAT, FLAT[:2]), fp.ShapeError, "high has another number"),
        (lambda: fp.Boxes(with_nan(), FLAT + 2), fp.ShapeError, r"low\[2\] is not finite"),
    ],
)
def test_what_is_no_geometry_is_refused(device: Any, build: Any, error: Any, words: str) -> None:
    need_rays(device)
    with pytest.raises(error, match=words) as caught:
        build()
    assert caught.value.hint
    assert "test_geometry.py" in str(caught.value)


@pytest.mark.req("R3")
def test_indices_lie_in_rows_or_one_after_the_other(device: Any) -> None:
    need_rays(device)
    flat = np.int32(PAIR).ravel()
    for given in (flat, flat.tolist(), fp.Tensor.from_numpy(device, flat)):
        assert fp.Mesh(FLAT, given, device=device).indices.to_numpy().tolist() == PAIR
    for type in (np.int64, np.uint8, np.uint16):
        assert fp.Mesh(FLAT, fp.Tensor.from_numpy(device, flat.astype(type))).indices.to_numpy().tolist() == PAIR
    with pytest.raises(fp.ShapeError, match=r"indices has another shape[\s\S]*\(5,\)"):
        fp.Mesh(FLAT, flat[:5], device=device)


@pytest.mark.req("R3")
def test_degenerate_triangles_are_never_met(device: Any) -> None:
    need_rays(device)
    m = fp.Module.load_from_source(
        device,
        "degenerate",
        """import fusepy_rays;
        int which(RaytracingAccelerationStructure s, float3 from)
        { Hit hit = closest_hit(s, ray_from(from, float3(0, 0, -1))); return hit.found != 0 ? int(hit.primitive) : -1; }""",
    )
    line = [[0, 0, 1], [1, 1, 1], [0.5, 0.5, 1]]  # above the pair, and without an area
    mesh = fp.Mesh(np.concatenate([line, FLAT]), [[0, 1, 2], [3, 4, 5], [5, 4, 6], [0, 0, 0]], device=device)
    assert m.which(fp.Scene(mesh), [[0.25, 0.25, 2.0], [0.9, 0.9, 2.0], [4.0, 4.0, 2.0]]) == [1, 2, -1]


@pytest.mark.req("R3")
def test_files_need_trimesh(device: Any, monkeypatch: Any) -> None:
    need_rays(device)
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(fp.MissingPackageError, match="pip install trimesh"):
        fp.Mesh.load("bunny.obj")
    uv = SimpleNamespace(uv=np.float64([[0, 0], [1, 0], [0, 1], [1, 1]]))
    loaded = SimpleNamespace(vertices=FLAT.astype(np.float64), faces=np.int64(PAIR), vertex_normals=FLAT, visual=uv)
    monkeypatch.setitem(sys.modules, "trimesh", SimpleNamespace(load=lambda path, force: loaded))
    mesh = fp.Mesh.load("bunny.obj", device=device)
    assert repr(mesh) == "<Mesh of 2 triangles, 4 vertices>"
    assert mesh.uvs is not None
    assert mesh.uvs.to_numpy().tolist() == uv.uv.tolist()
    assert mesh.normals is not None
    assert mesh.normals.to_numpy().tolist() == FLAT.tolist()
    loaded.visual = None

    def failed(path: str, force: str) -> Any:
        raise ValueError(f"string is not a file: {path}")

    monkeypatch.setitem(sys.modules, "trimesh", SimpleNamespace(load=failed))
    with pytest.raises(
        fp.ArgumentError, match=r"bunny.obj is no mesh[\s\S]*not a file[\s\S]*a file in a format that trimesh reads"
    ):
        fp.Mesh.load("bunny.obj")
    monkeypatch.setitem(sys.modules, "trimesh", SimpleNamespace(load=lambda path, force: loaded))
    assert fp.Mesh.load("bunny.obj", device=device, normals=None).uvs is None


@pytest.mark.req("R3")
def test_geometry_has_no_deep_copy(device: Any) -> None:
    """A copy of the arrays alone would share the structure, which the one changes under the other."""
    need_rays(device)
    mesh = fp.Mesh(FLAT, PAIR)
    for held in (mesh, fp.Scene([mesh]), {"of": fp.Instance(mesh)}):
        with pytest.raises(fp.ArgumentError, match="have no deep copy") as caught:
            copy.deepcopy(held)
        assert "fp.Mesh(positions, indices)" in str(caught.value.hint)
