"""What `explain` says of nested arguments: a tree with the type, mapping and source of each leaf."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.slang_functions import F32, ramp

SOURCE = """
struct Ray { float3 position; float3 direction; };
struct Sphere { Ray axis; float radius; int2 cell; };
float3 at(Ray ray, float t) { return ray.position + t * ray.direction; }
float all(Sphere s, float t, Ray r) { return s.axis.position.x + s.radius + s.cell.x + r.position.x + t; }
void make(float3 p, out Ray ray) { ray.position = p; ray.direction = p; }
"""
P, T = ramp(4, 3), ramp(4)
LEAVES = {"position": {"x": 10, "y": 20, "z": T}, "direction": P}


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "explained", SOURCE)


def text(explanation: Any) -> str:
    """Without lines and names of files, which are this test's."""
    return re.sub(r" \(test_\S+:\d+\)", "", str(explanation))


AT = """at: 1 kernel
  argument ray: Ray
    position: float3
      x: float, uniform
      y: float, uniform
      z: float, memory (Tensor<float>[?]), vmap(d0)
    direction: float3, memory (Tensor<float>[?,?]), vmap(d0)
  argument t: float over 0 axes
  kernel 0: linear, since all arguments are contiguous and of one shape
  struct ray.position: fused: elementwise on the grid of the results
  struct ray: fused: elementwise on the grid of the results
  at: fused: elementwise on the grid of the results"""


@pytest.mark.req("T7", "N2", "N3")
def test_a_tree(m: Any) -> None:
    assert text(m.at.explain(LEAVES, 2)) == AT
    assert text(m.at.explain(SimpleNamespace(**LEAVES), 2)) == AT
    fused = fp.fuse(lambda ray, t: m.at(ray, t))
    assert text(fused.explain(LEAVES, 2)).splitlines()[1:] == AT.splitlines()[1:]
    assert m.at.explain(LEAVES, 2).inputs[1] == "t: float over 0 axes"


ALL = """all: 1 kernel
  argument s: Sphere
    axis: Ray, memory, array of structs (Tensor<Ray>[?]), vmap(d1)
    cell: int2, computed
    radius: float, memory (Tensor<float>[?]), vmap(d1)
  argument t: float over 0 axes
  argument r: Ray
    position: float3, uniform
    direction: float3, memory (Tensor<float>[?,?]), vmap(d1)
"""


@pytest.mark.req("T8", "V5")
def test_where_leaves_come_from(m: Any) -> None:
    sphere = {"axis": fp.vcast(np.ones((4, 6), F32), m.Ray), "cell": fp.grid((3, 4)), "radius": T}
    ray = {"position": [1, 2, 3], "direction": fp.vmap(P, (1,))}
    assert text(m.all.explain(sphere, 2, ray)).startswith(ALL)


def test_fields_of_no_struct_and_those_that_nobody_reads(m: Any) -> None:
    found = text(fp.fuse(lambda ray, t: ray["position"] * t).explain({"position": T, "direction": P}, 2))
    assert "argument ray: fields\n    position: float, memory (Tensor<float>[?]), vmap(d0)\n" in found
    assert "    direction: float, not read\n" in found
    twice = text(fp.fuse(lambda p: p["x"] + fp.vcast(p["x"], "double")).explain({"x": T}))
    assert "x: double, memory (Tensor<float>[?]), vmap(d0); float, memory (Tensor<float>[?]), vmap(d0)" in twice


@pytest.mark.req("C10")
def test_leaves_that_are_written(m: Any) -> None:
    found = text(m.make.explain(P, {"position": {"x": T.copy()}, "direction": P.copy()}))
    assert found.endswith("written back: ray.position.x, ray.direction")
