"""What CUDA's compiler makes of kernels along rows: what is the same for all threads of a kernel is a constant to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusepy as fp
from fusepy.backend.slang.prelude import SHORT
from fusepy.backend.sources.libraries import FOLDER
from tests.backend.slang import test_prelude
from tests.backend.slang.test_prelude import needs_nvrtc
from tests.support import nvrtc
from tests.support.selection import daily

emitted = test_prelude.emitted  # a fixture


def softmax(x: Any) -> Any:
    e = fp.exp(x - fp.max(x, -1, keepdims=True))
    return e / fp.sum(e, -1, keepdims=True)


def norm(x: Any) -> Any:
    d = x - fp.mean(x, -1, keepdims=True)
    return d / fp.sqrt(fp.mean(d * d, -1, keepdims=True) + 1e-5)


CASES: dict[str, tuple[Callable[[Any], Any], int, int]] = {
    "short rows": (softmax, 129, 0),
    "rows of a wave": (norm, 1024, 0),
    "rows of several waves": (softmax, 4096, 2),
    "running sums": (lambda x: fp.cumsum(x, -1), 33, 2),
}


@needs_nvrtc
@pytest.mark.parametrize("name", daily(CASES, "short rows", "running sums"))
def test_code(name: str, emitted: Any, device: Any, tmp_path: Path) -> None:
    """There is no barrier for threads of one wave, no division by their number, no array in memory; rows have one address."""
    function, length, barriers = CASES[name]
    x = fp.Tensor.from_numpy(device, np.ones((512, length), np.float32))
    source, modules = emitted(lambda: fp.fuse(function)(x))
    for module, text in [*((s.name, s.text) for s in modules), *source.shims]:
        (tmp_path / f"{module}.slang").write_text(text)
    made = nvrtc.ptx(nvrtc.cuda(source.text, source.entry_point, [tmp_path, FOLDER]), SHORT, ["-minimal"]).split(".entry")[1]
    assert made.count("bar.sync") == barriers
    assert not any(word in made for word in ("div.u32", "rem.u32", ".local"))
    assert made.count("mul.wide") <= 8 or name == "running sums"
