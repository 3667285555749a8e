"""Rays over 1 M pixels, a draw of 100,000 triangles, the levels of 1 M triangles; the same by hand through sgl."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from benchmarks import peers as p

spy = p.spy
CASE = "stages"
PEERS = ["rays", "sgl rays", "draw", "sgl draw", "levels", "sgl levels"]
BLOCKS = 11
SOURCE = """
import fusepy_rays;
struct Payload { float3 c; };
RaytracingAccelerationStructure scene;
void missed(inout Payload p) { p.c = WorldRayDirection(); }
void met(inout Payload p, BuiltInTriangleIntersectionAttributes at) { p.c = float3(at.barycentrics, RayTCurrent()); }
float3 look(Camera camera, int2 pixel, int2 size)
{
    Payload p = {};
    TraceRay(scene, 0, 255, 0, 0, 0, camera.ray(pixel, size), p);
    return p.c;
}
struct Corner { float4 position : SV_Position; float3 normal; };
Corner vs(float3 at, float3 normal) { return { float4(at.xy / 3.5, at.z / 8 + 0.5, 1), normal }; }
float4 fs(Corner c) { return float4(normalize(c.normal) * 0.5 + 0.5, 1); }
"""
BY_HAND = """
struct Rays { float3* r; int2 size; float3 position; float3 forward; float3 right; float3 up; };
uniform Rays rays;
[shader("raygeneration")] void fz_rays()
{
    uint2 i = DispatchRaysIndex().xy;
    Camera camera = { rays.position, rays.forward, rays.right, rays.up };
    rays.r[i.y * rays.size.x + i.x] = look(camera, int2(i), rays.size);
}
[shader("miss")] void fz_missed(inout Payload q) { missed(q); }
[shader("closesthit")] void fz_met(inout Payload q, BuiltInTriangleIntersectionAttributes at) { met(q, at); }
"""
DRAWN = """
struct Vertices { float3* at; float3* normal; };
uniform Vertices vertices;
[shader("vertex")] Corner fz_vs(uint i : SV_VertexID) { return vs(vertices.at[i], vertices.normal[i]); }
[shader("fragment")] float4 fz_fs(Corner c) : SV_Target { return fs(c); }
"""


def knot(around: int) -> Any:
    sys.path.insert(0, str(Path(fp.__file__).parents[1] / "examples"))
    import hall  # pyright: ignore[reportMissingImports]

    places, normals, triangles = hall.knot(around)
    return [np.ascontiguousarray(a, t) for a, t in ((places, np.float32), (normals, np.float32), (triangles, np.uint32))]


def data(value: bytes) -> Any:
    return np.frombuffer(bytearray(value), np.uint8)


def by_hand_rays(raw: Any, folder: str, scene: Any, camera: Any, size: int) -> tuple[Callable[[], None], Any]:
    session = raw.create_slang_session({"include_paths": [folder]})
    module = session.load_module_from_source("by_hand_rays", SOURCE + BY_HAND)
    program = session.link_program([module], [module.entry_point(n) for n in ("fz_rays", "fz_missed", "fz_met")])
    groups = [spy.HitGroupDesc("hit", "fz_met", "", "")]
    pipeline = raw.create_ray_tracing_pipeline(program, groups, max_recursion=1, max_ray_payload_size=12, max_attribute_size=8)
    table = raw.create_shader_table(program, ["fz_rays"], ["fz_missed"], ["hit"], [])
    root, r = raw.create_root_shader_object(program), p.raw_buffer(raw, nbytes=size * size * 12)
    cursor = spy.ShaderCursor(root)
    cursor["scene"] = scene.structure
    block = struct.pack("<Q2i", r.device_address, size, size)
    block += b"".join(struct.pack("<3f", *v) for v in (camera.position, camera.forward, camera.right, camera.up))
    cursor["rays"].set_data(data(block.ljust(program.reflection["rays"].type_layout.size, b"\0")))

    def run() -> None:
        encoder = raw.create_command_encoder()
        tracing = encoder.begin_ray_tracing_pass()
        tracing.bind_pipeline(pipeline, table, root)
        tracing.dispatch_rays(0, [size, size, 1])
        tracing.end()
        raw.submit_command_buffer(encoder.finish())
        raw.wait()

    return run, r


def by_hand_draw(raw: Any, folder: str, mesh: Any, size: int) -> tuple[Callable[[], None], Any]:
    places, normals, triangles = mesh
    session = raw.create_slang_session({"include_paths": [folder]})
    module = session.load_module_from_source("by_hand_draw", SOURCE + DRAWN)
    program = session.link_program([module], [module.entry_point(n) for n in ("fz_vs", "fz_fs")])
    form, usage = spy.Format.rgba32_float, spy.TextureUsage.render_target | spy.TextureUsage.copy_source
    triangles_of, target = spy.PrimitiveTopology.triangle_list, spy.ColorTargetDesc({"format": form})
    pipeline = raw.create_render_pipeline(program, None, triangles_of, [target], rasterizer={"cull_mode": spy.CullMode.none})
    image = raw.create_texture(type=spy.TextureType.texture_2d, format=form, width=size, height=size, usage=usage)
    at, normal, r = p.raw_buffer(raw, places), p.raw_buffer(raw, normals), p.raw_buffer(raw, nbytes=size * size * 16)
    indices = raw.create_buffer(size=triangles.nbytes, usage=spy.BufferUsage.index_buffer | spy.BufferUsage.copy_destination)
    indices.copy_from_numpy(triangles)
    root = raw.create_root_shader_object(program)
    spy.ShaderCursor(root)["vertices"].set_data(data(struct.pack("<2Q", at.device_address, normal.device_address)))
    state = spy.RenderState(
        {
            "viewports": [spy.Viewport.from_size(size, size)],
            "scissor_rects": [spy.ScissorRect.from_size(size, size)],
            "index_buffer": spy.BufferOffsetPair(indices),
            "index_format": spy.IndexFormat.uint32,
        }
    )
    cleared = {"view": image.create_view({}), "load_op": spy.LoadOp.clear, "clear_value": [0, 0, 0, 0]}
    desc, drawn = spy.RenderPassDesc({"color_attachments": [cleared]}), spy.DrawArguments({"vertex_count": triangles.size})

    def run(read: Any = (at, normal)) -> None:  # which the shader reads by address
        encoder = raw.create_command_encoder()
        rendering = encoder.begin_render_pass(desc)
        rendering.bind_pipeline(pipeline, root)
        rendering.set_render_state(state)
        rendering.draw_indexed(drawn)
        rendering.end()
        encoder.copy_texture_to_buffer(r, 0, size * size * 16, size * 16, image, 0, 0)
        raw.submit_command_buffer(encoder.finish())
        raw.wait()

    return run, r


def by_hand_levels(raw: Any, mesh: Any) -> Callable[[], None]:
    places, _, triangles = mesh
    flags = spy.AccelerationStructureBuildFlags
    usage = spy.BufferUsage.acceleration_structure_build_input | spy.BufferUsage.copy_destination

    def filled(array: Any) -> Any:
        made = raw.create_buffer(size=array.nbytes, usage=usage)
        made.copy_from_numpy(array)
        return made

    def level(encoder: Any, kind: Any, given: Any, flags: Any) -> Any:
        desc = spy.AccelerationStructureBuildDesc()
        desc.inputs, desc.flags = [given], flags
        sizes = raw.get_acceleration_structure_sizes(desc)
        scratch = raw.create_buffer(size=sizes.scratch_size, usage=spy.BufferUsage.unordered_access)
        made = raw.create_acceleration_structure(kind=kind, size=sizes.acceleration_structure_size)
        encoder.build_acceleration_structure(desc, made, None, spy.BufferOffsetPair(scratch))
        return made, scratch

    def run() -> None:
        soup = spy.AccelerationStructureBuildInputTriangles()
        soup.vertex_buffers, soup.vertex_stride, soup.vertex_count = [spy.BufferOffsetPair(filled(places))], 12, len(places)
        soup.vertex_format, soup.index_format = spy.Format.rgb32_float, spy.IndexFormat.uint32
        soup.index_buffer, soup.index_count = spy.BufferOffsetPair(filled(triangles)), triangles.size
        soup.flags = spy.AccelerationStructureGeometryFlags.opaque
        encoder, kind = raw.create_command_encoder(), spy.AccelerationStructureKind
        below = level(encoder, kind.bottom_level, soup, flags.allow_update | flags.prefer_fast_trace)
        instance = spy.AccelerationStructureInstanceDesc()
        instance.transform, instance.instance_mask = spy.float3x4.identity(), 255
        instance.acceleration_structure = below[0].handle
        listed = spy.AccelerationStructureBuildInputInstances()
        listed.instance_buffer = spy.BufferOffsetPair(filled(instance.to_numpy()))
        listed.instance_stride, listed.instance_count = 64, 1
        encoder.global_barrier()
        above = level(encoder, kind.top_level, listed, flags.prefer_fast_trace)
        raw.submit_command_buffer(encoder.finish())
        raw.wait()
        del below, above

    return run


@pytest.fixture(scope="module")
def runners(kind: str, quick: bool) -> dict[str, Callable[[], None]]:
    device = p.fusepy_device(kind)
    module = fp.Module.load_from_source(device, "stages", SOURCE)
    raw, folder = device.sgl, str(Path(fp.__file__).parent / "slang")
    size, small, large = (64, knot(40), knot(80)) if quick else (1024, knot(1786), knot(17858))
    scene, camera = fp.Scene(fp.Mesh(small[0], small[2], device=device)), fp.Camera((0.3, 0.2, 7), (0, 0, 0), fov=40)
    look = fp.ray_gen(module, "look", miss="missed", closesthit="met").set(scene=scene)
    seen, pixels = fp.Tensor.empty(device, (size, size), "float3"), fp.grid((size, size))
    image = fp.Tensor.empty(device, (size, size), "float4")
    draw = fp.raster(module, vertex="vs", fragment="fs").options(clear=(0, 0, 0, 0))
    at, normal = (fp.Tensor.from_numpy(device, a, "float3") for a in small[:2])
    indices = fp.Tensor.from_numpy(device, small[2].ravel(), "uint")

    def rays() -> None:
        look(camera, pixels, (size, size), _result=seen)
        device.wait()

    def drawn() -> None:
        draw({"at": at, "normal": normal}, indices, targets=(size, size), _result=image)
        device.wait()

    def levels() -> None:
        fp.Scene(fp.Mesh(large[0], large[2], device=device))
        device.wait()

    made: dict[str, Callable[[], None]] = {"rays": rays, "draw": drawn, "levels": levels}
    made["sgl levels"] = by_hand_levels(raw, large)
    made["sgl rays"], r = by_hand_rays(raw, folder, scene, camera, size)
    made["sgl draw"], q = by_hand_draw(raw, folder, small, size)
    for run in made.values():
        run()
    assert np.abs(seen.to_numpy()).max() > 1
    np.testing.assert_array_equal(r.to_numpy().view(np.float32).reshape(size, size, 3), seen.to_numpy())
    assert np.ptp(image.to_numpy()) > 0.5
    np.testing.assert_array_equal(q.to_numpy().view(np.float32).reshape(size, size, 4), image.to_numpy())
    return made


def bench_stages(measure: Any, runners: Any, block: int, peer: str) -> None:
    measure(peer, block, runners[peer], rounds=1)
