"""Nested arguments in kernels: each row of tests/requirements.ini by the example that it is about."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from tests.support.slang_functions import F32, ramp, same

SOURCE = """
struct Ray { float3 position; float3 direction; };
void user_func(Ray ray, float max_dist, out float3 hit) { hit = ray.position + max_dist * ray.direction; }
float add(float a, float b) { return a + b; }
"""


@pytest.fixture(scope="module")
def m(device: Any) -> Any:
    return fp.Module.load_from_source(device, "nested", SOURCE)


def body(source: str, name: str) -> str:
    """The text of one function of a kernel."""
    return source[source.index(f" {name}(") :].split("\n}", 1)[0]


def ray(z: Any, direction: Any) -> Any:
    return {"position": {"x": 10, "y": 20, "z": z}, "direction": direction}


def hits(z: Any, direction: Any, distance: float) -> Any:
    position = np.stack([np.full_like(z, 10), np.full_like(z, 20), z], -1)
    return position + F32(distance) * direction


@pytest.mark.req("N1")
@pytest.mark.parametrize("rows", [5, 1], ids=["linear", "broadcast"])
def test_n1_bounds_loads_trampoline_stores(m: Any, rows: int) -> None:
    if m.device.target.kind != "software":
        pytest.skip("GPUs load in batches here: tests/backend/emit/golden shows it")
    source = m.add.source(ramp(5), ramp(rows))
    kernel = body(source, "add_kernel")
    bound = "< fz_to" if rows == 1 else ">= fz_args.count"
    single = kernel[kernel.rindex(bound) :]  # on a CPU four elements are computed together where there are as many
    load, call, store = (single.index(text) for text in ("float a_a = fz_args.a_a", "fz_call_add(", "fz_args.r_0["))
    assert load < call < store
    assert single.count("fz_call_add(") == 1
    assert source.count("void fz_call_add(") == 1
    assert re.search(r"\badd\(a_a, a_b\)", body(source, "fz_call_add"))
    same(m.add(ramp(5), ramp(rows)), ramp(5) + ramp(rows))


@pytest.mark.req("N1", "N2", "N3")
def test_n2_one_constructor_for_each_level(m: Any, device: Any) -> None:
    z, direction = fp.Tensor.from_numpy(device, ramp(6)), fp.Tensor.from_numpy(device, ramp(6, 3), m.float3)
    source = m.user_func.source(ray(z, direction), 10.0)
    trampoline = body(source, "fz_call_user_func")
    assert trampoline.count("float3(") == 1, trampoline  # (x, y, z), and the direction is a leaf
    assert len(re.findall(r"\bRay \w+;", trampoline)) == 1, trampoline
    assert trampoline.count("user_func(") == 2, "its own head, and the one call"
    same(m.user_func(ray(z, direction), 10.0).to_numpy(), hits(ramp(6), ramp(6, 3), 10))


@pytest.mark.req("N3")
def test_n3_constant_leaves_are_uniform(m: Any, device: Any) -> None:
    z, direction = ramp(6), ramp(6, 3)
    same(m.user_func(ray(z, direction), 10.0), hits(z, direction, 10))
    before = fp.stats(device).kernels_compiled
    for x in (11, -3, 500):
        moved = m.user_func({"position": {"x": x, "y": 20, "z": z}, "direction": direction}, 10.0)
        same(moved[:, 0], F32(x) + 10 * direction[:, 0])
        assert fp.stats(device).kernels_compiled == before, "another constant is another number in the same kernel"
    same(m.user_func(ray(z, [0, 0, 1]), 2.0), hits(z, np.array([[0, 0, 1]], F32), 2))
