"""Kernels that ask where in the grid they are, of sizes that have rows and of others: elementwise, and folding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.emit.spaces.rows import walk_for
from tests.support.selection import daily

SOURCE = """
float at2(int2 p, float x) { return x * (p.x % 7) + p.y; }
float at3(int3 p, float x) { return x * (p.x % 7) + p.y - 2 * p.z; }
"""
SHAPES = [(2, 700), (40, 100), (7, 1025), (1, 64), (300, 63), (3, 5, 130), (2, 1, 600), (2, 9, 3), (5, 9001), (9000, 2)]


@pytest.fixture(scope="module")
def lib(device: Any) -> Any:
    return fp.Module.load_from_source(device, "rows", SOURCE)


def placed(lib: Any, x: Any, rank: int) -> Any:
    return getattr(lib, f"at{rank}")(fp.call_id(), x)


def expected(x: Any) -> Any:
    x = x.astype(np.float64)
    at = np.indices(x.shape)
    return x * (at[-1] % 7) + at[-2] - (2 * at[0] if x.ndim == 3 else 0)


def layouts(device: Any, x: Any) -> dict[str, fp.Tensor]:
    """The same array: as it is, every other element of a larger one, and with the last two axes the other way round."""
    spread = np.repeat(x, 2, -1)
    swapped = fp.Tensor.from_numpy(device, np.ascontiguousarray(np.swapaxes(x, -1, -2)))
    axes = (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
    return {
        "contiguous": fp.Tensor.from_numpy(device, x),
        "spread": fp.Tensor.from_numpy(device, spread)[..., ::2],
        "swapped": swapped.transpose(axes),
    }


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_elements_know_their_place(lib: Any, device: Any, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).random(shape, np.float32)
    row, column = x[..., :1, :], x[..., :1]

    @fp.fuse
    def f(x: Any, row: Any, column: Any) -> Any:
        return placed(lib, x, len(shape)) + row, x * row - column

    for tensor in layouts(device, x).values():
        first, second = (r.to_numpy() for r in f(tensor, row, column))
        np.testing.assert_allclose(first, expected(x) + row, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(second, x * row - column, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("axis", daily([None, -1, 0], -1), ids=str)
@pytest.mark.parametrize("shape", daily([(2, 700), (300, 63), (3, 5, 130), (5, 9001)], 3, 5, one=True), ids=str)
def test_folds_know_their_place(lib: Any, device: Any, shape: tuple[int, ...], axis: Any) -> None:
    x = np.random.default_rng(1).random(shape, np.float32)

    @fp.fuse
    def f(x: Any) -> Any:
        y = placed(lib, x, len(shape))
        return y, fp.mean(y, axis), fp.max(y, axis) + 1, fp.argmax(y, axis)

    for name, tensor in layouts(device, x).items():
        each, mean, largest, where = (np.asarray(r.to_numpy()) for r in f(tensor))
        y = expected(x)
        np.testing.assert_allclose(each, y, rtol=1e-6, atol=1e-6, err_msg=name)
        np.testing.assert_allclose(mean, y.mean(axis), rtol=1e-5, atol=1e-5, err_msg=name)
        np.testing.assert_allclose(largest, y.max(axis) + 1, rtol=1e-6, atol=1e-6, err_msg=name)
        np.testing.assert_array_equal(where, each.argmax(axis), name)


def test_the_cpu_goes_along_rows(lib: Any, device: Any) -> None:
    """The kernel has no strides of contiguous arrays, and what depends on the row stands outside of the loop over it."""
    if device.target.kind != "software":
        pytest.skip("a GPU has caches and divides well")
    f = fp.fuse(lambda x: fp.mean(placed(lib, x, 2)))
    x = fp.Tensor.zeros(device, (64, 128))
    text = str(f.explain(x))
    assert "along rows" in text
    source = f.source(x)
    assert "a_x_s0" not in source
    assert source.index("int d0 = fz_row") < source.index("int d1 =")
    assert "along rows" not in str(f.explain(fp.Tensor.zeros(device, (64, 32))))
    each = lib.at2.source(fp.call_id(), fp.Tensor.zeros(device, (8, 1024))).split("void at2_kernel")[1]
    along = each[each.index("for (; fz_row") :]
    assert "%" not in along
    assert along.index("int d0 = fz_row") < along.index("int d1 =")


def test_groups_share_the_rows() -> None:
    """Every element has one group, whatever the sizes."""
    for grid in [
        (1,),
        (7,),
        (8192,),
        (8193,),
        (100_001,),
        (3, 5),
        (300, 63),
        (5000, 3),
        (2, 9, 3),
        (1, 1, 20_000),
        (70_000, 8192),
    ]:
        walk, rows, extent = walk_for(grid), math.prod(grid[:-1]), grid[-1]
        groups = math.prod(walk.groups)
        taken = 0
        for at in range(groups) if groups < 10_000 else (0, groups - 1):
            row, start = at // walk.segments * walk.rows, at % walk.segments * walk.segment
            taken += max(0, min(rows, row + walk.rows) - row) * max(0, min(extent, start + walk.segment) - start)
        assert taken == rows * extent or groups >= 10_000
        assert max(walk.groups) <= 65535


def test_groups_beyond_the_last_row_count_in_64_bits(lib: Any, device: Any) -> None:
    """The numbers of groups that have no rows any more must not wrap."""
    if device.target.kind != "software":
        pytest.skip("a GPU has a thread for each element")
    one = fp.Tensor.zeros(device, (1, 1))
    for rows, wide in [(10, False), (19, True)]:
        source = lib.at2.source(fp.call_id(), one.broadcast_to((rows, 100_000_000)))
        assert ("int64_t fz_row" in source) is wide
