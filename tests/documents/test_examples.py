"""Every program in examples/ runs by itself, checks itself against NumPy, says something, and is short."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9][0-9]_*.py"))
MOST_LINES = 60


def test_the_examples_are_numbered_without_gaps():
    assert [int(path.name[:2]) for path in EXAMPLES] == list(range(1, len(EXAMPLES) + 1))
    assert len(EXAMPLES) >= 6


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path: Path, tmp_path: Path):
    if "import photograph" in path.read_text(encoding="utf-8"):
        pytest.importorskip("skimage")  # the extra "demo"
    path_variable = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", str(path)],
        cwd=tmp_path,  # it must not depend on where it is started
        env={**os.environ, "PYTHONPATH": path_variable, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    if os.environ.get("FUSEPY_DEVICE") == "cuda" and "CUDA has no textures of three components" in done.stderr:
        pytest.skip("its texture is a Texture2D<float3>, which fusepy refuses on CUDA")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 3
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short_and_checks_itself(path: Path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    assert text.startswith('"""')
    assert "assert " in text
    assert "import numpy as np" in text
