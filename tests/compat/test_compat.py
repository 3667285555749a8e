"""`make compat`: imports are changed and nothing else, and some of slangpy's own tests pass."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import fusepy
from tests.compat.__main__ import ROOT, outcomes, rate, report
from tests.compat.imports import changed

PROGRAM = """import numpy as np
import slangpy as spy
import slangpy.reflection as spyr
from slangpy import Module, float3
from slangpy.types import Tensor, ValueRef
from slangpy.core.function import FunctionNode
from slangpy.testing import helpers


def test():
    import slangpy

    return "import slangpy as spy", Module, helpers
"""


def test_imports_are_changed_and_nothing_else() -> None:
    made = changed(PROGRAM, "mine.helpers")
    assert made.splitlines()[:9] == [
        "import numpy as np",
        "import fusepy as spy",
        "import slangpy.reflection as spyr",
        "from fusepy import Module",
        "from fusepy import float3",
        "from fusepy import Tensor",
        "from fusepy import ValueRef",
        "from slangpy.core.function import FunctionNode",  # a part of slangpy's inside
        "import mine.helpers as helpers",
    ]
    assert made.splitlines()[9:] == [
        line.replace("import slangpy", "import fusepy as slangpy") if line == "    import slangpy" else line
        for line in PROGRAM.splitlines()[7:]
    ]


@pytest.mark.long  # `.ci/run` runs all of them
def test_some_of_slangpys_tests_pass(tmp_path: Path) -> None:
    names = ("test_nd_function_call.py", "test_type_conformances.py", "test_buffer_sizes.py")
    command = [sys.executable, "-m", "tests.compat", "--folder", str(tmp_path), "--jobs", "0", *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    ours = outcomes(tmp_path / "fusepy" / "results.xml")
    assert list(ours.values()) == ["passed"] * 6, done.stdout + (tmp_path / "fusepy" / "output.txt").read_text()
    assert "| **all** | 6 | 6 (100.0%) | 0 |" in done.stdout


def test_the_table_counts_what_passes_with_slangpy_and_is_not_inside() -> None:
    theirs = {f"slangpy_tests.test_a::{n}": o for n, o in (("x", "passed"), ("y", "passed"), ("z", "skipped"))}
    theirs["slangpy_tests.test_type_resolution::test_w"] = "passed"
    table = report(theirs, {"slangpy_tests.test_a::x": "passed"})
    assert "| test_a | 2 | 1 | 0 |" in table
    assert "| test_type_resolution | 0 | 0 | 1 |" in table
    assert "| **all** | 2 | 1 (50.0%) | 1 |" in table
    assert rate(table) == 0.5


def test_names_of_slangpy_that_are_handed_on() -> None:
    assert fusepy.ValueRef is fusepy.intRef(1).__class__
    assert fusepy.WangHashArg(3).dims == 3
    assert fusepy.RandFloatArg(min=-1, max=1, dim=2).dims == 2
    for name in ("bindings", "reflection", "core", "Function2"):
        assert not hasattr(fusepy, name)
