"""Folds along rows on GPUs: the group of a result's last chunk merges the others' accumulators, in one launch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fusepy as fp

SOURCE = "float2 wider(float2 a, float2 b) { return float2(min(a.x, b.x), max(a.y, b.y)); }"


def launches(function: Any, *args: Any) -> int:
    """The number of launches of a call, which `explain` tells."""
    return str(function.explain(*args)).count("fold elements") + str(function.explain(*args)).count("fold partials")


@pytest.mark.parametrize("shape", [(1, 5), (1, 4096), (1, 4097), (3, 50_000), (200, 9_000), (4097, 100)])
def test_values_of_all_sizes_come_from_one_launch(gpu: Any, shape: tuple[int, int]) -> None:
    """One chunk and many, chunks that are not full, more rows than groups; three times, since flags are left in no memory."""
    f = fp.fuse(lambda x: (fp.sum(x, 1), fp.argmax(x, 1), fp.max(x, 1) * 2 - fp.mean(x, 1), fp.sum(x)))
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal(shape, np.float32)
        wide, tensor = x.astype(np.float64), fp.Tensor.from_numpy(gpu, x)
        sums, places, most, total = (r.to_numpy() for r in f(tensor))
        np.testing.assert_allclose(sums, wide.sum(1), rtol=1e-5, atol=1e-4)
        assert places.tolist() == x.argmax(1).tolist()
        np.testing.assert_allclose(most, wide.max(1) * 2 - wide.mean(1), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(total, wide.sum(), rtol=1e-5, atol=1e-3)
    assert launches(fp.fuse(lambda x: fp.sum(x, 1)), tensor) == 1


def test_folds_by_functions_of_users(gpu: Any) -> None:
    """Accumulators of vectors, that a function of a module merges."""
    m = fp.Module.load_from_source(gpu, "pairs", SOURCE)
    x = np.random.default_rng(0).standard_normal(70_000, np.float32)
    pairs = fp.Tensor.from_numpy(gpu, np.stack([x, x], 1), "float2")
    assert fp.reduce(m.wider, [np.inf, -np.inf], pairs).to_numpy().tolist() == [x.min(), x.max()]


def test_captured_calls_run_again(gpu: Any) -> None:
    """Their memory stays, and so would flags that nobody takes away: a sum would be read before it is there."""
    x = fp.Tensor.zeros(gpu, (300_000,))
    out = fp.Tensor.zeros(gpu, ())
    f = fp.fuse(lambda x: fp.sum(x) + 1)
    captured = fp.capture(lambda x, out: f(x, _result=out), x, out)
    for k in range(4):
        x.copy_from_numpy(np.full(300_000, k, np.float32))
        captured.replay()
        assert float(out) == 300_000 * k + 1


def test_devices_that_start_groups_in_any_order_merge_in_a_second_launch(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "target", replace(gpu.target, in_order=False))
    x = np.random.default_rng(0).standard_normal((3, 50_000), np.float32)
    tensor, f = fp.Tensor.from_numpy(gpu, x), fp.fuse(lambda x: (fp.max(x, 1), fp.argmin(x, 1)))
    for found, wanted in zip(f(tensor), (x.max(1), x.argmin(1))):
        assert found.to_numpy().tolist() == wanted.tolist()
    assert launches(f, tensor) == 2
