"""Programs after hints about draws: their stages, their arguments, their targets."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import slangpy as spy

import fusepy as fp
from fusepy.backend.raster import stencil_ops
from tests.errors.hints.support import Program, load
from tests.support.rasters import need_raster

SOURCE = """
struct Corner { float4 position : SV_Position; float3 colour; };
Corner vs(float2 at, float3 colour) { return { float4(at, 0.5, 1), colour }; }
float4 fs(Corner c) { return float4(c.colour, 1); }
struct Blind { float4 position; };
Blind blind(float2 at) { return { float4(at, 0, 1) }; }
void nothing(float2 at) {}
Corner scaled(float2 at, float3 colour, float scale) { return { float4(at * scale, 0.5, 1), colour }; }
Corner two(float2 at) { return { float4(at, 0.5, 1), 1 }; }
Corner two(float3 at) { return { float4(at, 1), 1 }; }
Corner written(float2 at, inout float3 colour) { return { float4(at, 0.5, 1), colour }; }
Corner viewed(float2 at, float3 colour, uint v : SV_ViewID) { return { float4(at, 0.5, 1), colour }; }
float4 shown(float3 colour, Texture2D<float4> read) { return read[int2(0)]; }
"""
AT, COLOUR = np.float32([[-1, -1], [3, -1], [-1, 3]]), np.ones((3, 3), np.float32)
V = {"at": AT, "colour": COLOUR}
QUAD = {"at": np.float32([[-1, -1], [1, -1], [-1, 1], [1, 1]]), "colour": np.ones((4, 3), np.float32)}
WHITE = np.ones((2, 2, 4), np.float32)


def of(vertex: Any = "vs", fragment: Any = "fs") -> Any:
    need_raster(fp.default_device())
    return fp.raster(load("hint_draws", SOURCE), vertex=vertex, fragment=fragment)


def drawn(vertex: Any = "vs", fragment: Any = "fs", vertices: Any = V, indices: Any = None, **given: Any) -> Any:
    return of(vertex, fragment)(vertices, indices, **{"targets": (2, 2), **given})


def right(m: Any) -> Any:
    return drawn()


def placed(at: Any, colour: Any, weights: Any) -> Any:
    return {"position": fp.float4(at, 0.5, 1.0), "colour": colour * weights.x}


def texture(size: int = 2, format: Any = spy.Format.rgba32_float, usage: Any = spy.TextureUsage.render_target) -> Any:
    usage |= spy.TextureUsage.shader_resource | spy.TextureUsage.copy_source
    return fp.default_device().sgl.create_texture(format=format, width=size, height=size, usage=usage)


def without_operations() -> Any:
    held = mock.patch.object(stencil_ops, "_holds_bytes", return_value=False)
    with held, mock.patch.object(stencil_ops, "is_flat", return_value=True):
        return of().options(stencil="always", stencil_pass="zero")(V, targets=(2, 2))


def depths() -> Any:
    return texture(format=spy.Format.d32_float_s8_uint, usage=spy.TextureUsage.depth_stencil)


def plain_depth() -> Any:
    return texture(format=spy.Format.d32_float, usage=spy.TextureUsage.depth_stencil)


def into_itself(read: Any, target: Any) -> Any:
    read.copy_from_numpy(np.zeros((2, 2, 4), np.float32))
    return of("vs", "shown")(V, targets=target or read, read=read).to_numpy()


def refused(m: Any) -> Any:
    own = load("hint_draws", SOURCE)
    with mock.patch.object(fp.default_device(), "features", ()):
        return fp.raster(own, vertex="vs", fragment="fs")


def fused(draw: Any) -> Any:
    return fp.fuse(lambda at: draw(at))(AT)


def flat(at: Any) -> Any:
    return {"position": fp.float4(at, 0.5, 1.0), "colour": fp.float3(1.0)}


PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    "a device that cannot rasterise": (
        refused,
        'open a Vulkan device, and load the module on it: device = fp.init_device("vulkan")',
        right,
        WHITE,
    ),
    "a stage that is no function": (lambda m: of(3), "write fp.raster(m, vertex='name of a Slang function')", right, WHITE),
    "overloads as a stage": (lambda m: drawn("two"), "give the function of this stage a name of its own", right, WHITE),
    "a stage that returns nothing": (lambda m: drawn("nothing"), "return a struct of what it computes", right, WHITE),
    "a stage that writes": (lambda m: drawn("written"), "return a struct of what it computes", right, WHITE),
    "no position": (lambda m: drawn("blind"), "mark the position of the vertex in clip space with SV_Position", right, WHITE),
    "a system value": (lambda m: drawn("viewed"), "compute it from one of these", right, WHITE),
    "no vertices": (lambda m: drawn(vertices=None), "pass a dict of the attributes", right, WHITE),
    "an attribute under another name": (
        lambda m: drawn(vertices={"att": AT}),
        "write 'at' in place of 'att'",
        right,
        WHITE,
    ),
    "lists of indices of several lengths": (
        lambda m: drawn(indices=[[0, 1, 2], [0, 1]]),
        "give the numbers of the vertices of each triangle: an array of (n, 3)",
        lambda m: drawn(indices=[[0, 1, 2]]),
        WHITE,
    ),
    "a texture of depth without depth": (
        lambda m: drawn(targets=(texture(), plain_depth())),
        "write .options(depth='less'), or leave that texture out",
        lambda m: of().options(depth="less")(V, targets=(texture(), plain_depth()))[0].to_numpy(),
        WHITE,
    ),
    "a texture of depth before that of colours": (
        lambda m: of().options(depth="less")(V, targets=(plain_depth(), texture())),
        "give the textures of colours first, then one of depth: targets=(picture, depth)",
        lambda m: of().options(depth="less")(V, targets=(texture(), plain_depth()))[0].to_numpy(),
        WHITE,
    ),
    "a target that is read": (
        lambda m: into_itself(texture(), None),
        "draw into another texture",
        lambda m: into_itself(texture(), texture()),
        np.zeros((2, 2, 4), np.float32),
    ),
    "integers that are blended": (
        lambda m: of("vs", lambda c: fp.int4(1)).options(blend="add")(V, targets=(2, 2)),
        "write .options(blend=None), or return floats",
        lambda m: of("vs", lambda c: fp.int4(1)).options(blend=None)(V, targets=(2, 2)),
        np.ones((2, 2, 4), np.int32),
    ),
    "an argument of both stages that is missing": (
        lambda m: drawn("vs", lambda colour, k: fp.float4(colour * k, 1.0)),
        "pass k=… to the draw, or return it from the vertex function",
        lambda m: drawn("vs", lambda colour, k: fp.float4(colour * k, 1.0), k=1.0),
        WHITE,
    ),
    "a member that the vertex function does not return": (
        lambda m: drawn(lambda at: {"position": fp.float4(at, 0.5, 1.0)}, "fs"),
        "pass colour=… to the draw, or return it from the vertex function",
        lambda m: drawn(lambda at: {"position": fp.float4(at, 0.5, 1.0)}, "fs", colour=np.ones(3, np.float32)),
        WHITE,
    ),
    "no position in Python": (
        lambda m: drawn(lambda at: {"colour": at}),
        "return a dict whose first entry is called position",
        lambda m: drawn(flat),
        WHITE,
    ),
    "a matrix that is handed on": (
        lambda m: drawn(lambda at, k: {**flat(at), "k": k * 1.0}, "fs", k=np.eye(3, dtype=np.float32)),
        "hand on its rows or members",
        lambda m: drawn(lambda at, k: {**flat(at), "k": k[0]}, "fs", k=np.eye(3, dtype=np.float32)),
        WHITE,
    ),
    "an array in a function of fragments": (
        lambda m: drawn("vs", lambda c: fp.float4(c.colour.x * COLOUR.sum(1))),
        "write fp.float3(x, y, z) of a vector of numbers",
        lambda m: drawn("vs", lambda c: fp.float4(c.colour * fp.float3(1, 1, 1), 1.0)),
        WHITE,
    ),
    "another number for each vertex among the rest": (
        lambda m: drawn("scaled", scale=np.float32([1, 1, 1])),
        "give it among the vertices or instances, for which it may differ",
        lambda m: drawn("scaled", vertices={**V, "scale": np.float32([1, 1, 1])}),
        WHITE,
    ),
    "seven numbers for each vertex of a Python function": (
        lambda m: drawn(placed, vertices={**V, "weights": np.ones((3, 7), np.float32)}),
        "split it into several attributes",
        lambda m: drawn(placed, vertices={**V, "weights": np.ones((3, 4), np.float32)}),
        WHITE,
    ),
    "all that a vertex function hands on, as a number": (
        lambda m: drawn("vs", lambda c: fp.float4(c, 1.0)),
        "take a member of the Corner, such as x.colour",
        lambda m: drawn("vs", lambda c: fp.float4(c.colour, 1.0)),
        WHITE,
    ),
    "fewer formats than colours": (
        lambda m: drawn("vs", lambda c: (c.colour, c.colour), targets=((2, 2), "rgba32_float")),
        "give one format for each colour that the fragment function returns",
        lambda m: drawn("vs", lambda c: (c.colour, c.colour), targets=((2, 2), ["rgba32_float"] * 2))[1],
        WHITE,
    ),
    "a format of other numbers": (
        lambda m: drawn(targets=((2, 2), "rgba32_uint")),
        "choose a format with as many channels and the same kind of numbers",
        lambda m: drawn(targets=((2, 2), "rgba16_float")),
        WHITE,
    ),
    "an image without a size": (
        lambda m: drawn(targets=None),
        "write targets=(height, width), or .options(size=(height, width))",
        lambda m: of().options(size=(2, 2))(V),
        WHITE,
    ),
    "a size of one number": (lambda m: drawn(targets=(2,)), "write targets=(height, width)", right, WHITE),
    "fewer than no vertices": (lambda m: drawn(vertices=-1), "give 0 or more", right, WHITE),
    "an index past the vertices": (
        lambda m: drawn(indices=[1, 2, 3]),
        "count vertices from 0; some files count from 1",
        lambda m: drawn(indices=[0, 1, 2]),
        WHITE,
    ),
    "indices that are floats": (
        lambda m: drawn(indices=[0.0, 1.0, 2.0]),
        "give the numbers of the vertices of each triangle: an array of (n, 3)",
        lambda m: drawn(indices=[[0, 1, 2]]),
        WHITE,
    ),
    "an empty mesh": (
        lambda m: drawn(indices=np.zeros((0, 3), int)),
        "leave the call out where there is nothing to draw",
        lambda m: np.zeros((2, 2, 4), np.float32),
        0 * WHITE,
    ),
    "three arguments by position": (
        lambda m: of()(V, [0, 1, 2], 2, targets=(2, 2)),
        "name the others: targets=(height, width)",
        lambda m: of()(V, [0, 1, 2], instances=2, targets=(2, 2)),
        WHITE,
    ),
    "two indices for a triangle": (
        lambda m: drawn(indices=[0, 1]),
        "give 3 indices for each triangle, or write .options(topology='points')",
        lambda m: drawn(indices=[0, 1, 2]),
        WHITE,
    ),
    "four vertices for triangles": (
        lambda m: drawn(vertices=QUAD),
        "give 3 vertices for each triangle, or write .options(topology='triangle_strip')",
        lambda m: of().options(topology="triangle_strip")(QUAD, targets=(2, 2)),
        WHITE,
    ),
    "two vertices of a strip": (
        lambda m: of().options(topology="triangle_strip")({k: v[:2] for k, v in V.items()}, targets=(2, 2)),
        "give 3 vertices or more",
        right,
        WHITE,
    ),
    "an option of other words": (
        lambda m: of().options(samples=3),
        "write .options(samples=…) with 1, 2, 4 or 8",
        lambda m: of().options(samples=4)(V, targets=(2, 2)),
        WHITE,
    ),
    "targets of two sizes": (
        lambda m: drawn(targets=[texture(2), texture(3)]),
        "create textures of the type texture_2d with the same width and height",
        lambda m: drawn(targets=[texture(2)]).to_numpy(),
        WHITE,
    ),
    "a target of a part": (
        lambda m: fused(lambda at: drawn(vertices={**V, "at": at}, targets=texture())),
        "write targets=(height, width), and return the image: _result=texture of the fused function takes it",
        lambda m: fp.fuse(lambda at: drawn(vertices={**V, "at": at}))(AT, _result=texture()).to_numpy(),
        WHITE,
    ),
    "a texture of another format": (
        lambda m: drawn(_result=texture(format=spy.Format.rgba16_float)),
        "pass it in targets=, which draws in its format",
        lambda m: np.float32(drawn(targets=texture(format=spy.Format.rgba16_float)).to_numpy()),
        WHITE,
    ),
    "a draw of nothing": (
        lambda m: drawn(fragment=None),
        "return a colour, or write .options(depth='less'), with samples=1 or with depth_resolve",
        lambda m: of(fragment=None).options(depth="less")(V, targets=(2, 2)),
        np.full((2, 2), 0.5, np.float32),
    ),
    "a draw upon images of its own": (
        lambda m: of().options(clear=None)(V, targets=(2, 2)),
        "create textures, one of depth for clear_depth=None and clear_stencil=None; or give a colour as clear, and numbers as "
        "clear_depth and clear_stencil",
        lambda m: of().options(clear=(0, 0, 0))(V, targets=(2, 2)),
        WHITE,
    ),
    "a stencil in a format without one": (
        lambda m: of().options(stencil="always", depth_format="d16_unorm"),
        "write .options(stencil='always', depth_format='d32_float_s8_uint')",
        lambda m: of().options(stencil="always", depth_format="d32_float_s8_uint")(V, targets=(2, 2))[0],
        WHITE,
    ),
    "operations that slangpy cannot set": (
        lambda m: without_operations(),
        "or leave stencil_pass, stencil_fail and stencil_depth_fail away",
        lambda m: of().options(stencil="always")(V, targets=(2, 2))[0],
        WHITE,
    ),
    "a texture of depth of several samples": (
        lambda m: of().options(samples=4, depth="less", depth_resolve="min")(V, targets=(texture(), depths())),
        "write targets=(height, width) with depth_resolve='min', which returns an array or a tensor; or samples=1",
        lambda m: of().options(samples=4, depth="less", depth_resolve="min")(V, targets=(2, 2))[1],
        np.full((2, 2), 0.5, np.float32),
    ),
    "a texture made for depth of several samples": (
        lambda m: of().options(samples=4, depth="less", depth_resolve="min")(V, targets=(2, 2), _result="texture"),
        "leave the texture away, which returns an array or a tensor; or write samples=1",
        lambda m: of().options(samples=4, depth="less", depth_resolve="min")(V, targets=(2, 2))[1],
        np.full((2, 2), 0.5, np.float32),
    ),
    "a texture of depth of another format": (
        lambda m: of().options(depth="less")(V, targets=(texture(), depths())),
        "create it with that format, or write .options(depth_format='d32_float_s8_uint')",
        lambda m: of().options(depth="less", depth_format="d32_float_s8_uint")(V, targets=(texture(), depths()))[0].to_numpy(),
        WHITE,
    ),
    "samples that the device lacks": (
        lambda m: few(lambda: of().options(samples=2)(V, targets=(2, 2))),
        "write .options(samples=4)",
        lambda m: of().options(samples=4)(V, targets=(2, 2)),
        WHITE,
    ),
    "positions without w": (
        lambda m: covered(CORNERS[:, :3]),
        "join x, y, z and w = 1: fp.concatenate([xyz, ones], axis=1)",
        lambda m: covered(fp.concatenate([CORNERS[:, :3], np.ones((3, 1), np.float32)], axis=1)),
        WHITE[..., 0],
    ),
    "attributes of five numbers": (
        lambda m: fp.interpolate(np.ones((3, 5), np.float32), seen(), TRIANGLE),
        "take attributes[:, 0] of one number, and several calls for more than four: attributes[:, :4], attributes[:, 4:]",
        lambda m: fp.interpolate(np.ones((3, 5), np.float32)[:, :4], seen(), TRIANGLE),
        WHITE,
    ),
    "a gradient of a draw": (
        lambda m: fp.grad(lambda colour: fp.sum(of()({"at": AT, "colour": colour}, targets=(2, 2)).x))(COLOUR),
        "write fp.interpolate(colours, fp.rasterize(positions, triangles, size), triangles), which has a gradient",
        lambda m: fp.grad(lambda colour: fp.sum(fp.interpolate(colour, seen(), [[0, 1, 2]]).x))(COLOUR)[:, 0],
        np.float32([2, 1, 1]),
    ),
    "a tangent of a draw": (
        lambda m: fp.jvp(lambda colour: 2 * of()({"at": AT, "colour": colour}, targets=(2, 2)).x, (COLOUR,), (COLOUR,)),
        "or pass its result as an argument",
        lambda m: (
            fp.jvp(
                lambda red: 2 * red, (of()({"at": AT, "colour": COLOUR}, targets=(2, 2))[..., 0],), (np.ones((2, 2), np.float32),)
            ).d
        ),
        np.full((2, 2), 2.0, np.float32),
    ),
    "triangles on the device without their opposites": (
        lambda m: edged(fp.Tensor(TRIANGLE)),
        "pass opposites=fp.opposite_corners(triangles), made before from a NumPy array",
        lambda m: edged(fp.Tensor(TRIANGLE), fp.opposite_corners(TRIANGLE)),
        WHITE[..., 0],
    ),
    "triangles of two corners": (
        lambda m: fp.opposite_corners(TRIANGLE[:, :2]),
        "give the numbers of the vertices of each triangle: np.array([[0, 1, 2]])",
        lambda m: edged(np.array([[0, 1, 2]])),
        WHITE[..., 0],
    ),
}
TRIANGLE = np.int32([[0, 1, 2]])
CORNERS = np.float32([[-1, -1, 0.5, 1], [3, -1, 0.5, 1], [-1, 3, 0.5, 1]])


def seen() -> Any:
    need_raster(fp.default_device())
    return fp.rasterize(CORNERS, [[0, 1, 2]], (2, 2))


def few(call: Any) -> Any:
    with mock.patch("fusepy.backend.raster.multisampling._has", lambda device, count: count == 4):
        return call()


def covered(corners: Any) -> Any:
    need_raster(fp.default_device())
    return fp.rasterize(corners, TRIANGLE, (2, 2))[..., 3]


def edged(triangles: Any, opposites: Any = None) -> Any:
    return fp.antialias(WHITE[..., 0], seen(), CORNERS, triangles, opposites)
