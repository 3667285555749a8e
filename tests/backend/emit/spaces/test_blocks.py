"""Blocks of the grid: kernels for GPUs run on lavapipe, and agree with those for the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.emit.spaces.blocks import blocks_for, groups_of
from fusepy.backend.emit.tuning import HEAVY_PRICE, LIGHT_PRICE, choose
from fusepy.backend.execute.layouts import Layout
from tests.support import textures as tx
from tests.support.slang_functions import F32

SOURCE = """
import fusepy;
float add(float a, float b) { return a + b; }
float scaled(float a, float b) { return a * b; }
float red(float4 c) { return c.x; }
float slow(float a, float b) { for (int i = 0; i < 200; ++i) a = sin(a + b); return a; }
float3 tint(float3 c, float3 k) { return c * k; }
float2x2 turn(float2x2 m, float k) { return transpose(m) * k; }
float edge(int2 at, Tensor<float,2> t, int2 size)
{
    float c = t[at.y, at.x];
    return (at.y > 0 ? t[at.y - 1, at.x] : c) + 2 * (at.x + 1 < size.x ? t[at.y, at.x + 1] : c) - 3 * c;
}
float energy(float3 p, Tensor<float3,1> all)
{
    float sum = 0;
    for (int i = 0; i < all.shape[0]; ++i) { float3 d = all[i] - p; sum += 1 / (dot(d, d) + 1); }
    return sum;
}
"""
SHAPES = [(33, 65), (100, 31), (64, 64), (31, 200), (7, 40), (250, 1), (3, 300)]


@pytest.fixture(scope="module")
def both(device: Any, gpu: Any) -> Iterator[tuple[Any, Any]]:
    """A module on lavapipe, and the same one with the kernels of a GPU."""
    cpu = device if device.target.kind == "software" else fp.init_device("vulkan")
    yield tuple(fp.Module.load_from_source(d, "blocks", SOURCE) for d in (cpu, gpu))  # type: ignore[misc]
    if cpu is not device:
        cpu.close()


def groups(module: Any, name: str) -> set[tuple[int, ...]]:
    """The thread groups of the kernels of a function."""
    kernels = [k for k in module.device.kernels.values() if k.names[0] == name]
    return {(s.x, s.y, s.z) for s in (k.pipeline.thread_group_size for k in kernels)}


@pytest.mark.req("V11")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_kernels_in_blocks_compute_what_others_do(both: tuple[Any, Any], shape: tuple[int, int]) -> None:
    h, w = shape
    rng = np.random.default_rng(h)
    a, row, column = (rng.random(s).astype(F32) for s in ((h, w), (w,), (h, 1)))
    colours, gain, matrices = (rng.random(s).astype(F32) for s in ((3, h, w, 3), (w, 3), (h, w, 2, 2)))

    def results(m: Any) -> list[Any]:
        def on(x: Any, dtype: Any = None) -> Any:
            return fp.Tensor.from_numpy(m.device, x, dtype)

        out = fp.Tensor.empty(m.device, (w, h))
        m.add(on(a), on(row), _result=out.T)
        calls: list[Callable[[], Any]] = [
            lambda: m.add(on(a), on(row)),
            lambda: m.add(on(a), on(column)),
            lambda: m.add(on(a), on(a.T.copy()).T),
            lambda: m.tint(on(colours, "float3"), on(gain, "float3")),
            lambda: m.turn(on(matrices, "float2x2"), on(row)),
            lambda: m.edge(fp.grid((h, w)), on(a), [w, h]),
        ]
        return [out.to_numpy(), *(call().to_numpy() for call in calls)]

    for cpu, gpu in zip(*map(results, both)):
        np.testing.assert_array_equal(cpu, gpu)


def test_groups_follow_the_work(both: tuple[Any, Any]) -> None:
    """A loop over all elements has one element a thread, in small groups: few elements fill a device."""
    x = np.random.default_rng(0).random((100, 3)).astype(F32)
    cpu, gpu = (m.energy(t, t).to_numpy() for m in both for t in [fp.Tensor.from_numpy(m.device, x, "float3")])
    np.testing.assert_allclose(cpu, gpu, rtol=1e-5)
    assert groups(both[1], "energy") == {(64, 1, 1)}
    strided = fp.Tensor.from_numpy(both[1].device, np.ones((2, 3), F32))
    both[1].slow(strided, strided[0])
    assert groups(both[1], "slow") == {(32, 2, 1)}
    tall = fp.Tensor.from_numpy(both[1].device, np.ones((64, 64), F32))
    both[1].add(tall, tall[0])
    both[1].add(tall, tall)
    assert groups(both[1], "add") >= {(32, 8, 1), (256, 1, 1)}
    assert choose("cuda", 4, True, 8, HEAVY_PRICE).per_group == 64
    assert [choose("cuda", 4, True, *way).per_group for way in ((8, LIGHT_PRICE), (8, HEAVY_PRICE - 1), (16, 0))] == [
        1024,
        512,
        512,
    ]
    assert choose("software", 4, True, 8, HEAVY_PRICE) == choose("software", 4, True, 8)


@pytest.mark.req("V11")
def test_no_size_compiles_another_kernel(both: tuple[Any, Any]) -> None:
    """Wide grids are covered by blocks, narrow ones by numbers of elements, in one kernel."""
    module = both[1]
    before = len(module.device.kernels)
    for i, shape in enumerate([(5, 6, 7), (2, 64, 64), (1000, 3, 3), (3, 2, 500), (70_000, 1, 2)]):
        a, b = np.random.default_rng(i).random((2, *shape)).astype(F32)
        found = module.scaled(fp.Tensor.from_numpy(module.device, a), fp.Tensor.from_numpy(module.device, b.T.copy()).T)
        np.testing.assert_array_equal(found.to_numpy(), a * b)
        colours = tx.make(module.device, "Texture2D", "rgba32_float", a[0, ..., None].repeat(4, -1))
        np.testing.assert_array_equal(module.red(colours).to_numpy(), a[0])
    assert len(module.device.kernels) == before + 2


def test_grids_in_blocks() -> None:
    assert groups_of("blocks light", (4096, 4096)) == (128, 128, 1)
    assert groups_of("blocks", (2, 5, 64, 64)) == (2, 8, 10)
    for grid in ((4096, 3), (3, 4096), (70_000, 64, 64)):
        assert groups_of("blocks light", grid) is None
    light, heavy = (LIGHT_PRICE, 32), (HEAVY_PRICE, 8)
    assert [blocks_for(*light), blocks_for(*heavy), blocks_for(LIGHT_PRICE, 49)] == ["blocks light", "blocks heavy", "blocks"]


def test_numbers_past_the_last_element_do_not_wrap(both: tuple[Any, Any]) -> None:
    """Threads beyond the end of a narrow grid compute numbers, too: with 32 bits these would be negative, and below the end."""
    module = both[1]

    @fp.fuse
    def function(a: Any, b: Any) -> Any:
        return module.add(a, b)

    a = fp.Tensor.from_numpy(module.device, np.ones((8, 3), F32))
    function(a, a[0])
    (program,) = function.programs.values()  # type: ignore[attr-defined]

    def is_wide(*shape: int) -> bool:
        (launch,) = program.executable.lower([Layout.contiguous(shape), Layout.contiguous(shape[-1:])]).launches
        return bool(launch.variant.wide)

    assert [is_wide(n // 3, 3) for n in (1 << 20, (1 << 31) - (1 << 26), (1 << 31) - 1000)] == [False, False, True]
    assert not is_wide((1 << 15) - 1, 1 << 16)  # blocks count no elements


def test_matrices_of_short_integers_are_not_kept_in_arrays(both: tuple[Any, Any]) -> None:
    """Slang makes bad SPIR-V of an array of them, which is what the elements of a thread would be."""
    device, x, row = both[1].device, np.arange(140, dtype=F32).reshape(5, 7, 2, 2), np.full(7, 2, F32)
    shortened = fp.fuse(lambda x, r: fp.vcast(x * r, "matrix<int16_t,2,2>"))
    got = shortened(fp.Tensor.from_numpy(device, x, "float2x2"), fp.Tensor.from_numpy(device, row))
    np.testing.assert_array_equal(got.to_numpy(), (2 * x).astype(np.int16))
