"""Programs after hints about mesh shaders."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest

import fusepy as fp
from tests.errors.hints.support import Program, load

SOURCE = """
struct Corner { float4 position : SV_Position; };
uniform float shade;
Corner vs(uint k : SV_VertexID) { return { float4(k == 1 ? 3 : -1, k == 2 ? 3 : -1, 0.5, 1) }; }
[shader("mesh")] [numthreads(3, 1, 1)] [outputtopology("triangle")]
void ms(uint k : SV_GroupThreadID, OutputVertices<Corner, 3> corners, OutputIndices<uint3, 1> triangles)
{
    SetMeshOutputCounts(3, 1);
    corners[k] = vs(k);
    if (k == 0)
        triangles[0] = uint3(0, 1, 2);
}
[shader("fragment")] float4 fs(Corner c) : SV_Target { return 1; }
[shader("fragment")] float4 shaded(Corner c) : SV_Target { return shade; }
[shader("fragment")] float4 passed(uniform float light, Corner c) : SV_Target { return light; }
[shader("mesh")] [numthreads(3, 1, 1)]
void unmarked(uint k : SV_GroupThreadID, OutputVertices<Corner, 3> corners, OutputIndices<uint3, 1> triangles) {}
[shader("mesh")] [numthreads(3, 1, 1)] [outputtopology("triangle")]
void old(out indices uint3 triangles[1], out vertices Corner corners[3]) {}
[shader("mesh")] [numthreads(3, 1, 1)] [outputtopology("triangle")]
void none() {}
struct Part { float end; };
struct Place { float2 at; };
[shader("amplification")] [numthreads(1, 1, 1)]
void parts() { Part part; part.end = 3; DispatchMesh(1, 1, 1, part); }
[shader("amplification")] [numthreads(1, 1, 1)]
void places() { Place part; part.at = 3; DispatchMesh(1, 1, 1, part); }
[shader("mesh")] [numthreads(3, 1, 1)] [outputtopology("triangle")]
void told(uint k : SV_GroupThreadID, in payload Part part, OutputVertices<Corner, 3> corners, OutputIndices<uint3, 1> triangles)
{
    SetMeshOutputCounts(3, 1);
    corners[k] = { float4(k == 1 ? part.end : -1, k == 2 ? part.end : -1, 0.5, 1) };
    if (k == 0)
        triangles[0] = uint3(0, 1, 2);
}
"""
WHITE = np.ones((2, 2, 4), np.float32)


def made(fragment: Any = "fs", mesh: Any = "ms", task: Any = None) -> Any:
    if "mesh_shader" not in fp.default_device().features:
        pytest.skip("the device has no mesh shaders")
    return fp.raster(load("hint_meshes", SOURCE), mesh=mesh, fragment=fragment, task=task)


def drawn(fragment: Any = "fs", groups: Any = 1, **given: Any) -> Any:
    return made(fragment)(groups, targets=(2, 2), **given)


def right(m: Any) -> Any:
    return drawn()


def refused(m: Any) -> Any:
    own = load("hint_meshes", SOURCE)
    with mock.patch.object(fp.default_device(), "features", ("rasterization",)):
        return fp.raster(own, mesh="ms", fragment="fs")


def by_vertices(m: Any) -> Any:
    return fp.raster(load("hint_meshes", SOURCE), vertex="vs", fragment="fs")(3, targets=(2, 2))


PROGRAMS: dict[str, tuple[Program, str, Program, Any]] = {
    "a device without mesh shaders": (refused, "draw them with fp.raster(m, vertex=…)", by_vertices, WHITE),
    "a mesh shader without a topology": (
        lambda m: made(mesh="unmarked")(targets=(2, 2)),
        'write [shader("mesh")] [numthreads(…)] [outputtopology("triangle")] before it',
        right,
        WHITE,
    ),
    "a mesh shader as in HLSL": (
        lambda m: made(mesh="old")(targets=(2, 2)),
        "declare it as OutputIndices<uint3,1> triangles",
        right,
        WHITE,
    ),
    "a mesh shader that writes nothing": (
        lambda m: made(mesh="none")(targets=(2, 2)),
        "take the vertices and the triangles as parameters, as in docs/guide/raster.md",
        right,
        WHITE,
    ),
    "a mesh shader that is no name": (
        lambda m: made(mesh=load("hint_meshes", SOURCE).vs),
        "write fp.raster(m, mesh='name of an entry point', fragment='name of another')",
        right,
        WHITE,
    ),
    "a payload that no task shader hands over": (
        lambda m: made(mesh="told")(targets=(2, 2)),
        "write fp.raster(m, task='name of that entry point', mesh=…)",
        lambda m: made(mesh="told", task="parts")(targets=(2, 2)),
        WHITE,
    ),
    "payloads of task and mesh that differ": (
        lambda m: made(mesh="told", task="places")(targets=(2, 2)),
        "give both functions the same struct",
        lambda m: made(mesh="told", task="parts")(targets=(2, 2)),
        WHITE,
    ),
    "a parameter of a mesh shader's draw": (
        lambda m: drawn("passed"),
        "pass light=… to the draw",
        lambda m: drawn("passed", light=1.0),
        WHITE,
    ),
    "a global of mesh shaders that is not set": (
        lambda m: drawn("shaded"),
        "call .set(shade=…) on the function",
        lambda m: made("shaded").set(shade=1.0)(targets=(2, 2)),
        WHITE,
    ),
    "groups along four axes": (
        lambda m: drawn(groups=(1, 1, 1, 1)),
        "write groups=(x, y, z), and let each group make more triangles",
        lambda m: drawn(groups=(1, 1, 1)),
        WHITE,
    ),
}
