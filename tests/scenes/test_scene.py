"""Scenes as arguments and globals, in every kind of call; their changes; and scenes that are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.rays import BOXES, FAR, moved, nearest, need_rays

SOURCE = """
import fusepy_rays;
RaytracingAccelerationStructure world;
float depth(RaytracingAccelerationStructure scene, float3 from)
{ return closest_hit(scene, ray_from(from, float3(0, 0, -1))).t; }
float depth_of_world(float3 from) { return closest_hit(world, ray_from(from, float3(0, 0, -1))).t; }
Hit meet(RaytracingAccelerationStructure scene, float3 from, uint mask)
{ return closest_hit(scene, ray_from(from, float3(0, 0, -1)), 0, mask); }
bool shadowed(RaytracingAccelerationStructure scene, float3 from) { return is_occluded(scene, ray_from(from, float3(0, 0, -1))); }
"""
DOWN = np.array([0.0, 0.0, -1.0])


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    need_rays(device)
    return fp.Module.load_from_source(device, "scenes", SOURCE + BOXES)


def soup(rng: Any, count: int) -> Any:
    return rng.uniform(-1, 1, (count, 3, 3)).astype(np.float32)


def above(rng: Any, count: int) -> Any:
    return np.float32(np.concatenate([rng.uniform(-1.5, 1.5, (count, 2)), np.full((count, 1), 3.0)], axis=1))


@pytest.mark.req("R3")
@pytest.mark.parametrize("form", ["array", "list", "tensor", "float3", "torch", "view"])
def test_every_kind_of_array_makes_a_scene(m: Any, form: str) -> None:
    rng = np.random.default_rng(3)
    triangles, origins = soup(rng, 40), above(rng, 500)
    vertices, indices = triangles.reshape(-1, 3), np.arange(120).reshape(-1, 3)
    given: Any
    if form == "torch":
        torch = pytest.importorskip("torch")
        given = torch.from_numpy(vertices), torch.from_numpy(indices)
    elif form == "float3":
        given = fp.Tensor.from_numpy(m.device, vertices, "float3"), fp.Tensor.from_numpy(m.device, np.uint32(indices), "uint3")
    elif form == "view":
        wide = fp.Tensor.from_numpy(m.device, np.concatenate([vertices, vertices], axis=1))
        given = wide[:, 3:], fp.Tensor.from_numpy(m.device, np.int32(indices))
    else:
        plain = {"array": np.asarray, "list": np.ndarray.tolist, "tensor": lambda a: fp.Tensor(np.asarray(a, a.dtype.char))}
        given = plain[form](vertices), indices.tolist() if form == "list" else np.uint32(indices)
    scene = fp.Scene(fp.Mesh(*given, device=m.device))
    t, which = nearest(triangles, origins, DOWN)
    hits = m.meet(scene, origins, 255)
    assert np.allclose(hits["t"], t, rtol=1e-4)
    assert (which >= 0).mean() > 0.2
    assert (np.where(hits["found"] == 1, hits["primitive"].astype(int), -1) == which).mean() > 0.99  # edges go either way


@pytest.mark.req("R3", "F1")
def test_a_scene_goes_wherever_slang_wants_one(m: Any) -> None:
    """Eager and fused, as an argument, a captured value and a global; lazily, in a graph, into an encoder."""
    rng = np.random.default_rng(4)
    triangles, origins = soup(rng, 20), above(rng, 64)
    scene = fp.Scene(fp.Mesh(triangles.reshape(-1, 3), device=m.device))
    t, _ = nearest(triangles, origins, DOWN)
    of_world = m.depth_of_world.set(world=scene)
    assert np.allclose(m.depth(scene, origins), t, rtol=1e-4)
    assert np.allclose(of_world(origins), t, rtol=1e-4)
    assert np.allclose(m.shadowed(scene, origins), t < FAR)
    both = fp.fuse(lambda s, x: m.depth(s, x) - of_world(x) + m.depth(scene, x))
    assert np.allclose(both(scene, origins), t, rtol=1e-4)
    assert both.explain(scene, origins).kernels == 1
    with fp.lazy():
        later = m.depth(scene, origins) + 1.0
    assert np.allclose(later, t + 1, rtol=1e-4)
    graph = fp.Graph(inputs=["scene", "x"])
    graph.set_outputs(m.depth.node()(*graph.get_inputs()) * 2)
    assert np.allclose(graph(scene, origins), 2 * t, rtol=1e-4)
    encoder = m.device.sgl.create_command_encoder()
    recorded = m.depth.append_to(encoder, scene, origins)
    m.device.sgl.submit_command_buffer(encoder.finish())
    assert np.allclose(recorded.to_numpy(), t, rtol=1e-4)


@pytest.mark.req("R3")
def test_changes_reach_scenes_in_the_order_of_the_program(m: Any) -> None:
    rng = np.random.default_rng(5)
    before, after, origins = soup(rng, 20), soup(rng, 20), above(rng, 200)
    mesh = fp.Mesh(before.reshape(-1, 3), device=m.device)
    scene, twin = fp.Scene(mesh), fp.Scene([fp.Instance(mesh, np.eye(4))])
    follow = m.depth_of_world.set(world=twin)
    with fp.lazy():
        first = m.depth(scene, origins)
        mesh.refit(fp.Tensor(after.reshape(-1, 3)))
        second = m.depth(scene, origins)
    for got, triangles in ((first, before), (second, after), (follow(origins), after)):
        assert np.allclose(got, nearest(triangles, origins, DOWN)[0], rtol=1e-4)
    mesh.rebuild(before.reshape(-1, 3), np.arange(60).reshape(-1, 3)[::-1])
    hits = m.meet(scene, origins, 255)
    t, which = nearest(before[::-1], origins, DOWN)
    assert np.allclose(hits["t"], t, rtol=1e-4)
    assert (hits["primitive"][which >= 0] == which[which >= 0]).mean() > 0.98


@pytest.mark.req("R3")
@pytest.mark.parametrize("form", ["array", "tensor", "torch"])
def test_refit_takes_over_what_has_changed_in_place(m: Any, form: str) -> None:
    rng = np.random.default_rng(8)
    before, after, origins = soup(rng, 20), soup(rng, 20), above(rng, 200)
    given: Any = before.reshape(-1, 3).copy()
    if form == "tensor":
        given = fp.Tensor.from_numpy(m.device, given)
    elif form == "torch":
        given = pytest.importorskip("torch").from_numpy(given)
    place, other = np.eye(4), np.eye(3, 4, dtype=np.float32)
    mesh = fp.Mesh(given, device=m.device)
    scene, twin = fp.Scene([fp.Instance(mesh, place), fp.Instance(mesh, other)]), fp.Scene(mesh)

    def check(seen: Any, *shown: Any) -> None:
        want = np.min([nearest(triangles, origins, DOWN)[0] for triangles in shown], axis=0)
        assert (want < FAR).any()
        assert np.allclose(m.depth(seen, origins), want, rtol=1e-3)

    check(scene, before)
    given[:] = given * 0 + (after.reshape(-1, 3) if form != "torch" else type(given)(after.reshape(-1, 3)))
    place[:3, 3] = [0.3, -0.2, -1]
    check(scene, before)  # not yet
    with fp.lazy():
        earlier = m.depth(scene, origins)
        scene.refit()
    assert np.allclose(earlier, nearest(before, origins, DOWN)[0], rtol=1e-3)
    check(scene, moved(after, place[:3]), after)
    check(twin, after)  # shows the same mesh
    scene.move(np.eye(3, 4), 0)
    other[2, 3] = 0.5
    scene.refit()
    check(scene, after, moved(after, other))  # `move` holds, since the array of that instance has not changed
    mesh.refit()
    check(scene, after, moved(after, other))


@pytest.mark.req("R3")
def test_boxes_are_read_again_and_what_does_not_fit_is_refused(m: Any) -> None:
    low = np.float32([[0, 0, 0], [2, 0, 0], [0, 2, 0]])
    high = low + 1
    boxes = fp.Boxes(low, high, device=m.device)
    scene, origins = fp.Scene(boxes), low + np.float32([0.5, 0.5, 3])
    low[:], high[:] = low[::-1].copy(), high[::-1].copy()
    scene.refit()
    assert m.boxes(scene, origins).tolist() == [4, 2, 1]
    boxes.refit(low[::-1].copy(), high[::-1].copy())
    scene.refit()  # of the arrays that were given last
    assert m.boxes(scene, origins).tolist() == [1, 2, 4]
    corners = np.eye(3, dtype=np.float32)
    scene = fp.Scene(fp.Mesh(corners, device=m.device))
    corners[1] = np.nan
    with pytest.raises(fp.ShapeError, match=r"positions\[1\] is not finite"):
        scene.refit()


@pytest.mark.req("R3")
def test_a_refit_that_is_refused_changes_nothing(m: Any) -> None:
    corners = [np.float32([[0, 0, 0], [1, 0, 0], [0, 1, 0]]) for _ in range(2)]
    scene = fp.Scene([fp.Mesh(c, device=m.device) for c in corners])
    corners[0][:, 2], corners[1][0] = 1, np.nan
    with pytest.raises(fp.ShapeError, match="not finite"):
        scene.refit()
    scene.rebuild()
    assert m.depth(scene, [0.25, 0.25, 2.0]) == 2


@pytest.mark.req("R3")
def test_a_table_without_a_name_of_the_scene_changes_no_row(m: Any) -> None:
    mesh = fp.Mesh(np.eye(3, dtype=np.float32), device=m.device)
    scene = fp.Scene([fp.Instance(mesh, hit_group=name) for name in ("a", "zz")])
    assert scene.linked_to(("b", "a", "zz")) is scene
    with pytest.raises(fp.ArgumentError, match="does not exist"):
        scene.linked_to(("a", "q"))
    other = scene.linked_to(("zz", "a", "b"))
    assert other is not scene
    assert scene.linked_to(("zz", "a", "q")) is other  # the same rows
    words = [level._instances.buffer.to_numpy().view(np.uint32)[13::16] & 0xFFFFFF for level in (scene, other)]
    assert [rows.tolist() for rows in words] == [[1, 2], [1, 0]]


def test_meshes_keep_normals_and_coordinates(m: Any) -> None:
    rng = np.random.default_rng(9)
    normals, uvs = np.float32(rng.random((4, 3))), np.float32(rng.random((4, 2)))
    places = np.float32([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])
    mesh = fp.Mesh(places, [[0, 1, 2], [2, 1, 3]], normals=normals, uvs=fp.Tensor(uvs), device=m.device)
    assert (mesh.normals.to_numpy() == normals).all()
    assert (mesh.uvs.to_numpy() == uvs).all()
    assert mesh.indices.to_numpy().tolist() == [[0, 1, 2], [2, 1, 3]]
    assert fp.Mesh(places[:3], device=m.device).uvs is None
    with pytest.raises(fp.ShapeError, match="normals has another number of rows"):
        fp.Mesh(places, [[0, 1, 2]], normals=normals[:3], device=m.device)


@pytest.mark.req("R3")
def test_instances_have_places_ids_and_masks(m: Any) -> None:
    rng = np.random.default_rng(6)
    shapes, origins = [soup(rng, 12), soup(rng, 9)], above(rng, 300)
    meshes = [fp.Mesh(s.reshape(-1, 3), device=m.device) for s in shapes]
    places = rng.uniform(-0.6, 0.6, (5, 3, 4)).astype(np.float32)
    shown = [0, 1, 1, 0, 1]
    scene = fp.Scene([fp.Instance(meshes[k], p, id=70 + i, mask=1 << i) for i, (k, p) in enumerate(zip(shown, places))])

    def check(mask: int) -> None:
        parts = [nearest(moved(shapes[k], p), origins, DOWN)[0] for k, p in zip(shown, places)]
        t = np.stack([part if mask >> i & 1 else np.full_like(part, FAR) for i, part in enumerate(parts)])
        hits = m.meet(scene, origins, mask)
        found = t.min(axis=0) < FAR
        assert np.allclose(hits["t"], t.min(axis=0), rtol=1e-3)
        assert found.any()
        assert (hits["instance"][found] == t.argmin(axis=0)[found]).mean() > 0.97
        assert (hits["id"][found] == hits["instance"][found] + 70).all()

    check(0b11111)
    check(0b01010)
    places[3] = rng.uniform(-0.5, 0.5, (3, 4))
    scene.move(places[3], 3)
    check(0b11111)
    places[:] = places[::-1].copy()
    scene.move(places)
    check(0b11101)


@pytest.mark.req("R3")
def test_boxes_are_candidates_of_rays(m: Any) -> None:
    low = np.float32([[0, 0, 0], [2, 0, 0], [0, 2, 0]])
    boxes = fp.Boxes(low, low + 1, device=m.device)
    scene, origins = fp.Scene(boxes), low + np.float32([0.5, 0.5, 3])
    assert m.boxes(scene, origins).tolist() == [1, 2, 4]
    boxes.refit(low[::-1], low[::-1] + 1)
    assert m.boxes(scene, origins).tolist() == [4, 2, 1]


@pytest.mark.req("R3")
def test_what_is_no_scene_is_refused(m: Any, device: Any) -> None:
    mesh = fp.Mesh(np.eye(3, dtype=np.float32), device=device)
    with pytest.raises(fp.ArgumentError, match="without instances"):
        fp.Scene([])
    with pytest.raises(fp.ArgumentError, match="shows no geometry"):
        fp.Scene([mesh, np.eye(3)])
    with pytest.raises(fp.RangeError, match="mask"):
        fp.Instance(mesh, mask=256)
    with pytest.raises(fp.ArgumentError, match=r"id of an instance is an integer[\s\S]*1\.5"):
        fp.Instance(mesh, id=1.5)  # type: ignore
    with pytest.raises(fp.ShapeError, match="affine"):
        fp.Instance(mesh, np.eye(4)[::-1])
    with pytest.raises(fp.ShapeError, match="no such instance"):
        fp.Scene(mesh).move(np.eye(4), 1)
    with pytest.raises(fp.ShapeError, match="another number"):
        fp.Scene(mesh).move(np.zeros((2, 3, 4)))
    other = fp.init_device(device.raw.info.type)
    here, there = fp.Scene(mesh), fp.Scene(fp.Mesh(np.eye(3, dtype=np.float32), device=other))
    with pytest.raises(fp.ShapeError, match="another device"):
        m.depth(there, [0.0, 0, 1])
    with pytest.raises(fp.ShapeError, match="another device"):
        m.depth_of_world.set(world=there)([0.0, 0, 1])
    with pytest.raises(fp.ShapeError, match="two devices"):
        fp.Scene([mesh, there.instances[0]])
    assert m.depth(here, [0.2, 0.2, 2.0]) < 2
    other.close()


@pytest.mark.req("R3")
def test_a_device_without_rays_says_what_to_use(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "features", device.features - {"ray_query"})
    with pytest.raises(fp.DeviceError, match=r"no ray tracing[\s\S]*init_device\(\"vulkan\"\)"):
        fp.Mesh(np.eye(3, dtype=np.float32), device=device)
