"""Ray generation and raster passes beside the same by hand through sgl, and what a small one costs beside a compute call.

`stages`: a ray for each of 1,048,576 pixels at a mesh of two triangles; 100,352 triangles into a picture of 512 x 512 with a
depth buffer, both copied into tensors. By hand: the same stages as entry points, vertices from an input layout, everything made
once, one encoder and one submission a call.

`stages call`: the same at 16 x 16 pixels with two triangles, in a stream of calls and one wait at its end, beside a call of a
compute function; `stages call cpu` is the CPU time of the calling thread. `sgl draw, shared` is the best known by hand: 32 draws
with barriers between them in each encoder.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from itertools import repeat
from typing import Any

import numpy as np
import pytest
import slangpy as spy

import fusepy as fp
from benchmarks import peers as p

CASE = "stages"
PEERS = ["fusepy rays", "sgl rays", "fusepy draw", "sgl draw", "sgl draw, shared", "fusepy compute"]
SHARED_DRAWS = 32
BLOCKS = 15
CALLS = 200
Runner = Callable[[int], None]

SHARED = """
struct Payload { float3 color; };
RaytracingAccelerationStructure tlas;
float3 traced(int2 pixel, int width)
{
    Payload p = {};
    RayDesc ray = { float3((float2(pixel) + 0.5) / width * 2 - 1, 1), 0, float3(0, 0, -1), 10 };
    TraceRay(tlas, 0, 0xff, 0, 0, 0, ray, p);
    return p.color;
}
"""
OURS = """
struct Corner { float4 position : SV_Position; float3 colour; };
Corner vs(float3 at, float3 colour, float scale) { return { float4(at.xy * scale, at.z, 1), colour }; }
float4 fs(Corner c) { return float4(c.colour * c.colour, 1); }
float3 plain(int2 pixel, int width) { return float3(pixel, width); }
void missed(inout Payload p) { p.color = float3(0, 0, 1); }
void hit(inout Payload p, BuiltInTriangleIntersectionAttributes at) { p.color = float3(at.barycentrics, 1); }
"""
BY_HAND = """
struct P { float3* to; int width; float scale; };
uniform P p;
[shader("raygeneration")] void generate()
{
    uint2 at = DispatchRaysIndex().xy;
    p.to[at.y * p.width + at.x] = traced(int2(at), p.width);
}
[shader("miss")] void missed(inout Payload p) { p.color = float3(0, 0, 1); }
[shader("closesthit")] void hit(inout Payload p, BuiltInTriangleIntersectionAttributes at)
{
    p.color = float3(at.barycentrics, 1);
}
struct Corner { float4 position : SV_Position; float3 colour : COLOUR; };
[shader("vertex")] Corner vs(float3 at : AT, float3 colour : COLOUR) { return { float4(at.xy * p.scale, at.z, 1), colour }; }
[shader("fragment")] float4 fs(Corner c) : SV_Target { return float4(c.colour * c.colour, 1); }
"""


def grid_mesh(rows: int, columns: int) -> tuple[Any, Any]:
    """Positions (n, 3) and triangles (m, 3) of a waved sheet over the picture."""
    y, x = (axis.ravel() for axis in np.mgrid[-1 : 1 : (rows + 1) * 1j, -1 : 1 : (columns + 1) * 1j])
    at = np.stack([x, y, 0.5 + 0.3 * np.sin(5 * x + 3 * y)], 1).astype(np.float32)
    first = (np.arange(rows)[:, None] * (columns + 1) + np.arange(columns)).ravel()
    quads = np.stack([first, first + 1, first + columns + 1, first + columns + 1, first + 1, first + columns + 2], 1)
    return at, quads.reshape(-1, 3).astype(np.uint32)


class ByHand:
    """A pass of rays and a draw through sgl, everything that can be made once made once."""

    def __init__(self, device: spy.Device, structure: Any, side: int, at: Any, triangles: Any, size: int):
        self.device = device
        module = device.create_slang_session().load_module_from_source("by_hand", SHARED + BY_HAND)
        self.side, self.size, self.count = side, size, triangles.size
        self.rays = p.raw_buffer(device, nbytes=12 * side * side)
        self.picture = p.raw_buffer(device, nbytes=16 * size * size)
        self._rays(module, structure)
        self._draw(module, at, triangles)

    def _root(self, program: Any, scale: float, to: Any, width: int) -> Any:
        root = self.device.create_root_shader_object(program)
        cursor, nbytes = spy.ShaderCursor(root), program.reflection["p"].type_layout.size
        packed = struct.pack("<Qif", to.device_address, width, scale).ljust(nbytes, b"\0")
        cursor["p"].set_data(np.frombuffer(bytearray(packed), np.uint8))
        return root

    def _rays(self, module: Any, structure: Any) -> None:
        device = self.device
        linked = module.session.link_program([module], [module.entry_point(n) for n in ("generate", "missed", "hit")])
        self.ray_pipeline = device.create_ray_tracing_pipeline(
            linked, [spy.HitGroupDesc("group", "hit")], max_recursion=1, max_ray_payload_size=12, max_attribute_size=8
        )
        self.table = device.create_shader_table(linked, ["generate"], ["missed"], ["group"])
        self.ray_root = self._root(linked, 1.0, self.rays, self.side)
        spy.ShaderCursor(self.ray_root)["tlas"] = structure

    def _draw(self, module: Any, at: Any, triangles: Any) -> None:
        device, size = self.device, self.size
        linked = module.session.link_program([module], [module.entry_point(n) for n in ("vs", "fs")])
        layout = device.create_input_layout(
            input_elements=[
                {"semantic_name": "AT", "semantic_index": 0, "format": spy.Format.rgb32_float, "offset": 0},
                {"semantic_name": "COLOUR", "semantic_index": 0, "format": spy.Format.rgb32_float, "offset": 12},
            ],
            vertex_streams=[{"stride": 24}],
        )
        target = {"format": spy.Format.rgba32_float}
        depth = {
            "format": spy.Format.d32_float,
            "depth_test_enable": True,
            "depth_write_enable": True,
            "depth_func": spy.ComparisonFunc.less,
        }
        self.draw_pipeline = device.create_render_pipeline(
            linked, layout, spy.PrimitiveTopology.triangle_list, [target], depth_stencil=depth
        )
        made = spy.TextureUsage.render_target | spy.TextureUsage.copy_source
        self.image = device.create_texture(format=target["format"], width=size, height=size, usage=made)
        kept = spy.TextureUsage.depth_stencil | spy.TextureUsage.copy_source
        self.depth = device.create_texture(format=depth["format"], width=size, height=size, usage=kept)
        self.depths = p.raw_buffer(device, nbytes=4 * size * size)
        vertices = np.ascontiguousarray(np.concatenate([at, at], 1))
        usage = spy.BufferUsage.shader_resource
        self.vertices = device.create_buffer(size=vertices.nbytes, usage=usage | spy.BufferUsage.vertex_buffer)
        self.indices = device.create_buffer(size=triangles.nbytes, usage=usage | spy.BufferUsage.index_buffer)
        self.vertices.copy_from_numpy(vertices)
        self.indices.copy_from_numpy(triangles)
        self.draw_root = self._root(linked, 0.9, self.picture, size)
        self.views = self.image.create_view({}), self.depth.create_view({})  # a pass does not keep them
        self.into = spy.RenderPassDesc(
            {
                "color_attachments": [{"view": self.views[0], "load_op": spy.LoadOp.clear, "clear_value": [0.0, 0.0, 0.0, 0.0]}],
                "depth_stencil_attachment": {
                    "view": self.views[1],
                    "depth_load_op": spy.LoadOp.clear,
                    "depth_clear_value": 1.0,
                },
            }
        )
        self.state = spy.RenderState(
            {
                "viewports": [spy.Viewport.from_size(size, size)],
                "scissor_rects": [spy.ScissorRect.from_size(size, size)],
                "vertex_buffers": [spy.BufferOffsetPair(self.vertices)],
                "index_buffer": spy.BufferOffsetPair(self.indices),
                "index_format": spy.IndexFormat.uint32,
            }
        )
        self.arguments = spy.DrawArguments({"vertex_count": self.count})

    def trace(self) -> None:
        encoder = self.device.create_command_encoder()
        tracing = encoder.begin_ray_tracing_pass()
        tracing.bind_pipeline(self.ray_pipeline, self.table, self.ray_root)
        tracing.dispatch_rays(0, [self.side, self.side, 1])
        tracing.end()
        self.device.submit_command_buffer(encoder.finish())

    def draw(self) -> None:
        encoder = self.device.create_command_encoder()
        self._record(encoder)
        self.device.submit_command_buffer(encoder.finish())

    def draw_shared(self, calls: int) -> None:
        for first in range(0, calls, SHARED_DRAWS):
            encoder = self.device.create_command_encoder()
            for _ in range(min(SHARED_DRAWS, calls - first)):
                encoder.global_barrier()
                self._record(encoder)
            self.device.submit_command_buffer(encoder.finish())
        self.device.wait()

    def _record(self, encoder: Any) -> None:
        drawing = encoder.begin_render_pass(self.into)
        drawing.bind_pipeline(self.draw_pipeline, self.draw_root)
        drawing.set_render_state(self.state)
        drawing.draw_indexed(self.arguments)
        drawing.end()
        row = 16 * self.size
        encoder.copy_texture_to_buffer(self.picture, 0, row * self.size, row, self.image, 0, 0)
        encoder.copy_texture_to_buffer(self.depths, 0, row // 4 * self.size, row // 4, self.depth, 0, 0)


def repeated(call: Callable[[], Any], wait: Callable[[], None]) -> Runner:
    def run(calls: int) -> None:
        for _ in repeat(None, calls):
            call()
        wait()

    return run


def runners(kind: str, side: int, size: int, rows: int, columns: int) -> dict[str, Runner]:
    """The calls of every peer, with their results compared."""
    device = p.fusepy_device(kind)
    m = fp.Module.load_from_source(device, "stages", SHARED + OURS)
    at, triangles = grid_mesh(rows, columns)
    sheet = np.float32([[-0.9, -0.9, 0], [0.9, -0.9, 0], [-0.9, 0.9, 0], [0.9, 0.9, 0]])
    quad = np.uint32([[0, 1, 2], [2, 1, 3]])
    scene = fp.Scene([fp.Mesh(fp.Tensor.from_numpy(device, sheet), quad)])
    look = fp.ray_gen(m, "traced", miss="missed", closesthit="hit").set(tlas=scene)
    draw = fp.raster(m, vertex="vs", fragment="fs").options(depth="less", formats="rgba32_float", clear=(0, 0, 0, 0))
    seen, plain = fp.Tensor.empty(device, (side, side), "float3"), fp.Tensor.empty(device, (side, side), "float3")
    drawn, depths = fp.Tensor.empty(device, (size, size), "float4"), fp.Tensor.empty(device, (size, size))
    vertices = {name: fp.Tensor.from_numpy(device, at) for name in ("at", "colour")}
    indices, pixels = fp.Tensor.from_numpy(device, triangles), fp.grid((side, side))
    calls: dict[str, Callable[[], Any]] = {
        "fusepy rays": lambda: look(pixels, side, _result=seen),
        "fusepy draw": lambda: draw(vertices, indices, targets=(size, size), scale=0.9, _result=(drawn, depths)),
        "fusepy compute": lambda: m.plain(pixels, side, _result=plain),
    }
    made = {name: repeated(call, device.wait) for name, call in calls.items()}
    device.wait()
    hand = ByHand(device.sgl, scene.structure, side, at, triangles, size)
    made |= {"sgl rays": repeated(hand.trace, hand.device.wait), "sgl draw": repeated(hand.draw, hand.device.wait)}
    made["sgl draw, shared"] = hand.draw_shared
    for run in made.values():
        run(2)
    for ours, theirs in ((seen, hand.rays), (drawn, hand.picture), (depths, hand.depths)):
        want = theirs.to_numpy().view(np.float32).reshape(ours.to_numpy().shape)
        assert want.any()
        np.testing.assert_allclose(ours.to_numpy(), want, atol=1e-5)
    return made


@pytest.fixture(scope="module")
def large(kind: str, quick: bool) -> dict[str, Runner]:
    return runners(kind, 128, 64, 16, 16) if quick else runners(kind, 1024, 512, 224, 224)


@pytest.fixture(scope="module")
def small(kind: str) -> dict[str, Runner]:
    return runners(kind, 16, 16, 1, 1)


def bench_stages(measure: Any, large: dict[str, Runner], block: int, peer: str) -> None:
    measure(peer, block, lambda: large[peer](1), rounds=3)


def bench_call(measure: Any, small: dict[str, Runner], block: int, peer: str) -> None:
    measure.case = "stages call"
    measure(peer, block, lambda: small[peer](CALLS), rounds=3, calls=CALLS)


@pytest.mark.benchmark(timer=time.thread_time)
def bench_call_cpu(measure: Any, small: dict[str, Runner], block: int, peer: str) -> None:
    measure.case = "stages call cpu"
    measure(peer, block, lambda: small[peer](CALLS), rounds=3, calls=CALLS)
