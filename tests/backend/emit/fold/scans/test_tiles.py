"""Scans as GPUs run them: groups go along rows tile by tile, and elements reach their threads through shared memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.emit.fold.accumulators import Accumulator
from fusepy.backend.emit.fold.scans.tuning import scan_shape
from fusepy.backend.emit.fold.staging import Staging, staged_bytes
from fusepy.backend.emit.fold.variant import FoldShape
from fusepy.ir.ops.folds import Fold
from fusepy.ir.types import Type


@pytest.fixture
def shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "fusepy.backend.execute.folds.stages.scan_shape",
        lambda kind, *sizes, **more: scan_shape("gpu", *sizes, **more),
    )


@pytest.mark.usefixtures("shapes")
def test_scans_by_tiles_have_numpys_values(device: Any) -> None:
    """Rows longer than a tile of 2,048, one element beyond it, one row in several chunks, and rows apart from each other."""
    rng = np.random.default_rng(5)
    chain = fp.fuse(lambda x: fp.cumsum(x * 2, 1) * 0.5 + x)
    three = fp.fuse(lambda x: (fp.cumsum(x, 1), fp.cummax(x, 1), x + 1))
    for shape, beside in [((3, 5), 8), ((300, 33), 40), ((2, 2049), 2049), ((1, 70000), 70000)]:
        x = rng.standard_normal((shape[0], beside)).astype(np.float32)
        given, x = fp.Tensor.from_numpy(device, x)[:, : shape[1]], x[:, : shape[1]]
        exact = np.cumsum(x.astype(np.float64), 1)
        np.testing.assert_allclose(np.asarray(chain(given)), exact + x, atol=2e-4)
        sums, most, plain = map(np.asarray, three(given))
        np.testing.assert_allclose(sums, exact, atol=2e-4)
        assert most.tolist() == np.maximum.accumulate(x, 1).tolist()
        assert plain.tolist() == (x + 1).tolist()
    assert "fz_gone" in chain.source(fp.Tensor.from_numpy(device, np.ones((1, 70000), np.float32)))


@pytest.mark.parametrize(
    ("type", "staged"), [("float", True), ("bool", True), ("double", True), ("float4", True), ("float2x2", False)]
)
def test_groups_are_as_large_as_their_shared_memory_allows(type: str, staged: bool) -> None:
    (scan,) = scans = [Accumulator(0, Fold("max" if type == "bool" else "sum", scans=True), Type.parse(type))]
    kept = sum((t.dtype.itemsize if t.dtype else 4) * math.prod(t.shape) for _, t in scan.members())
    shape = scan_shape("gpu", 4, 5000, True, kept, staged_bytes(scans))[0]
    assert shape.threads >= 32
    assert (Staging.of(scans, shape) is not None) is staged
    assert Staging.of([], FoldShape(True, True, 256)) is None
