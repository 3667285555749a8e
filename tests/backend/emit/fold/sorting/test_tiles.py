"""Groups that sort by a digit: what CUDA's compiler makes of them, waves that meet, and indices of 64 bits."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.device.target import Target
from fusepy.backend.emit.fold.kernel import emit_fold
from fusepy.backend.emit.fold.sorting import functions, tiles
from fusepy.backend.emit.fold.sorting.tuning import digit_chunks, digit_shape
from fusepy.backend.emit.fold.variant import FoldVariant
from fusepy.backend.emit.text import Emission
from fusepy.backend.emit.tuning import SHARED_BYTES
from fusepy.backend.execute.folds import sorts
from fusepy.backend.marshals.registry import ACCESSES
from fusepy.backend.slang.prelude import SHORT
from fusepy.backend.sources.libraries import FOLDER
from fusepy.ir.parse import parse_graph
from tests.backend.slang.test_prelude import HALFS, needs_nvrtc
from tests.support import nvrtc
from tests.support.selection import daily

ORDER = """graph @order(%x: Tensor<float>[?,?]) -> (Tensor<int>[?,?]) {
  %0 = region(%x vmap(d0,d1)) scan(argsort) over(d1) : Tensor<int>[?,?] vmap(d0,d1)
  body @order(%x: float) -> (float) {
    return %x
  }
  return %0
}"""
# What a kernel reads and writes: its barriers, its sums over all threads, and the meetings of a wave for each element of a tile
KERNELS = {
    ("elements", "partials"): (2, 0, 0),
    ("partials", "counts"): (2, 0, 0),
    ("counts", "counts"): (0, 1, 0),
    ("partials", "either"): (8, 2, 3),
}


@needs_nvrtc
@pytest.mark.parametrize("type", daily(["float", "int64_t", "half"], "int64_t"))
@pytest.mark.parametrize(("reads", "writes"), KERNELS)
def test_cudas_code(reads: str, writes: str, type: str) -> None:
    """Tiles are in registers and in shared memory that every device of CUDA has. Only waves meet while digits are numbered."""
    shape = digit_shape("cuda", True, 12 if type == "int64_t" else 8)
    variant = FoldVariant(True, 2, shape=shape, sorts=True, digits=True, reads=reads, writes=writes)
    source = emit_fold(parse_graph(ORDER.replace("float", type)).nodes[0], variant, Emission(Target("cuda"), ACCESSES, {}))
    made = nvrtc.ptx(nvrtc.cuda(source.text, source.entry_point, [FOLDER]), {**SHORT, **HALFS}, ["-minimal"])
    barriers, sums, meetings = KERNELS[reads, writes]
    assert made.count("bar.sync") == barriers + sums * shape.threads.bit_length()
    assert made.count("bar.warp.sync") == meetings * shape.unroll
    assert ".local" not in made.split(".entry")[1]
    assert sum(map(int, re.findall(r"\.shared .*\[(\d+)\]", made))) <= 48 << 10


@pytest.mark.parametrize("type", ["float", "int64_t"])
@pytest.mark.parametrize(("reads", "writes"), KERNELS)
def test_shared_memory_of_other_devices(reads: str, writes: str, type: str) -> None:
    """Every Vulkan device has as much."""
    shape = digit_shape("vulkan", True, 12 if type == "int64_t" else 8)
    variant = FoldVariant(True, 2, shape=shape, sorts=True, digits=True, reads=reads, writes=writes)
    target = Target("vulkan", True)
    text = emit_fold(parse_graph(ORDER.replace("float", type)).nodes[0], variant, Emission(target, ACCESSES, {})).text
    assert 0 < sum(4 * int(n) for n in re.findall(r"groupshared uint \w+\[(\d+)\]", text)) <= SHARED_BYTES


@pytest.fixture
def short_tiles(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows are sorted by digits, with the kernels of a GPU and tiles of 192 pairs."""
    small = {"threads": 64, "unroll": 3}
    monkeypatch.setattr(sorts, "has_digits", lambda *sizes: True)
    monkeypatch.setattr(sorts, "digit_chunks", lambda kind, *sizes: digit_chunks("gpu", *sizes))
    monkeypatch.setattr(sorts, "digit_shape", lambda kind, *sizes: replace(digit_shape("gpu", *sizes), **small))


def check(x: Any) -> str:
    """Compares the order of elements with NumPy's; returns the text of the kernels."""
    order = fp.fuse(lambda x: fp.argsort(x, 1))
    assert np.array_equal(np.asarray(order(x)), np.argsort(x, 1, kind="stable"))
    return str(order.source(x))


@pytest.mark.usefixtures("short_tiles", "on_lavapipe")
def test_waves_of_the_device_number_digits_without_the_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of lavapipe have 8 threads, so that digits are numbered by 8; on GPUs it is 32."""
    for module in (functions, tiles):
        monkeypatch.setattr(module, "WAVE", 8)
    assert "if (WaveGetLaneCount() < 8)" in check(np.random.default_rng(3).integers(0, 300, (2, 500)).astype("u2"))


@pytest.mark.usefixtures("short_tiles")
@pytest.mark.parametrize("group", daily([False, True], False))
def test_indices_of_counts_may_have_64_bits(monkeypatch: pytest.MonkeyPatch, group: bool) -> None:
    if not group:
        monkeypatch.setattr(sorts, "digit_shape", digit_shape)
    monkeypatch.setattr(sorts, "LINEAR_LIMIT", 1 << 10)
    assert "int64_t fz_e =" in check(np.random.default_rng(4).integers(0, 300, (2, 600)).astype("i2"))
