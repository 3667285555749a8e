"""Every program in examples/ runs by itself, checks itself against NumPy, says something, and is short."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import child
from tests.support.lacking import lacking

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9][0-9]_*.py"))
MOST_LINES = 60
# `make test` leaves out what trains or traces for seconds, and what imports the optimisers of torch
LONG = {"13_path_tracer", "20_fit_a_look", "21_gaussian_splats", "22_torch_add", "25_neural_texture", "26_learned_mips"}
LONG |= {"07_blur", "23_polynomial", "24_accumulate", "29_ray_pipeline", "30_recovered", "31_stages_in_python"}

# Runs programs one after the other, each as `python <path>` would but for the imports and the device, which they share. It prints
# a line of JSON for each: how many lines the program said, and its traceback if it failed.
RUN_ALL = """
import contextlib, io, json, os, runpy, sys, traceback, warnings
warnings.simplefilter("error", RuntimeWarning)
os.chdir(sys.argv[1])
for path in sys.argv[2:]:
    said, failed = io.StringIO(), ""
    sys.argv, sys.path[0] = [path], os.path.dirname(path)
    with contextlib.redirect_stdout(said):
        try:
            runpy.run_path(path, run_name="__main__")
        except BaseException:
            failed = traceback.format_exc()
    print(json.dumps([path, len(said.getvalue().splitlines()), failed]), flush=True)
"""


def start(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Python in an empty folder, since no example may depend on where it is started."""
    path_variable = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path_variable, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )


def lacks(path: Path) -> str | None:
    """What an example imports that is not installed."""
    text = path.read_text(encoding="utf-8")
    needs = {"import torch": "torch", "import photograph": "skimage"}  # skimage is of the extra "demo"
    return next((name for line, name in needs.items() if line in text and importlib.util.find_spec(name) is None), None)


def test_the_examples_are_numbered_without_gaps():
    assert [int(path.name[:2]) for path in EXAMPLES] == list(range(1, len(EXAMPLES) + 1))
    assert len(EXAMPLES) >= 6


def test_examples_run(tmp_path: Path):
    """In one process, in which the second program and later ones need not import and open a device again."""
    assert {path.stem for path in EXAMPLES} > LONG  # which run below
    paths = [str(path) for path in EXAMPLES if path.stem not in LONG and not lacks(path)]
    done = child.run(RUN_ALL, str(tmp_path), *paths, seconds=300)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [path for path, _, _ in told] == paths, done.stderr
    assert {path: failed for path, _, failed in told if failed and not lacking(failed)} == {}
    assert [path for path, lines, failed in told if lines < 3 and not failed] == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_in_a_process_of_its_own(path: Path, tmp_path: Path):
    if lacks(path):
        pytest.skip(f"needs {lacks(path)}")
    done = start([str(path)], tmp_path)
    if lacking(done.stderr):
        pytest.skip("the device lacks what it shows")
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
