"""Each concept has one home: text that may stand in these files only, the home first.

The lists may only shrink: an entry that is not needed any more fails the test as well.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Mapping

import pytest

from fusepy.backend.execute.destinations import DestinationChecks
from fusepy.backend.execute.executable import Executable
from fusepy.backend.execute.launch import Launch
from fusepy.backend.execute.step import Step
from fusepy.backend.execute.tape import Tape
from fusepy.deferred.join import Joint
from fusepy.passes.pipeline import PIPELINE, SEPARATED
from fusepy.program.bound import SetUpProgram
from fusepy.program.destinations import Destinations
from fusepy.program.inputs import Inputs
from fusepy.program.lowering import Lowering
from fusepy.program.program import Program
from fusepy.trace.recording import Recording
from tests.rules.tree import TEXTS, classes, nodes, only, parsed, trees

HOMES: dict[str, list[str]] = {
    r"arrival(\.name)? (==|!=|is|in|not in) |(==|!=|is|is not) [\w.]+\.arrival\b": [  # an `Arrival` has flags
        "ir/rules.py",
        "ir/resolve/memory_hints.py",
        "ir/resources.py",
        "testing/conformance.py",
    ],
    r"""["'](out|fold|scan|into|near|exclusive|identity)_(\{|["'])""": [],  # a region has a `RegionSpec`
    r'\[shader\("compute"\)\]': ["backend/slang/stage.py"],
    r"\bcreate_compute_pipeline\b": ["backend/slang/stage.py"],
    r"\bbegin_compute_pass\b": ["backend/slang/stage.py"],
    r"\bdevice\.queue = ": [],  # work goes to the queue or encoder that a call names
}
# where kinds of devices are told apart by name; elsewhere a `Target` has an attribute that says what is different
DEVICES = ("cuda", "vulkan", "cpu", "metal", "d3d12")
TELL_DEVICES_APART = """
backend/device/open.py
backend/device/probe.py
backend/device/target.py
backend/emit/options.py
backend/emit/tuning.py
backend/execute/folds/plan.py
backend/execute/plan.py
backend/kernels/raw.py
backend/marshals/texture_cuda.py
backend/marshals/whole.py
backend/memory/foreign_memory.py
backend/memory/recast.py
cli/doctor.py
""".split()  # noqa: SIM905


def holding(texts: Mapping[str, str], pattern: str) -> set[str]:
    return {name for name, text in texts.items() if re.search(pattern, text)}


def telling_apart(trees: Mapping[str, ast.AST]) -> set[str]:
    """Files that compare something with the name of a kind of device."""

    def named(node: ast.AST) -> bool:
        return any(isinstance(n, ast.Constant) and n.value in DEVICES for n in ast.walk(node))

    compared = ((name, node) for name, tree in trees.items() for node in nodes(tree) if isinstance(node, ast.Compare))
    return {name for name, node in compared if any(map(named, (node.left, *node.comparators)))}


@pytest.mark.parametrize(("pattern", "homes"), HOMES.items(), ids=list(HOMES))
def test_one_home(pattern: str, homes: list[str]) -> None:
    only(holding(TEXTS, pattern), homes)


def test_devices_are_told_apart_in_one_place() -> None:
    only(telling_apart(trees()), TELL_DEVICES_APART)


def test_passes_are_frozen_dataclasses() -> None:
    for step in {*PIPELINE, *SEPARATED}:
        assert dataclasses.is_dataclass(step)
        with pytest.raises(dataclasses.FrozenInstanceError):
            step.name = "other"  # type: ignore[misc]
    passes = {name for name, tree in trees().items() for c in classes(tree) if any(ast.unparse(b) == "Pass" for b in c.bases)}
    assert {f"{type(step).__module__.removeprefix('fusepy.').replace('.', '/')}.py" for step in PIPELINE} == passes


def test_programs_are_frozen_dataclasses() -> None:
    execution = (Executable, Tape, Step, DestinationChecks, Launch)
    for made in (Program, SetUpProgram, Joint, Inputs, Destinations, Lowering, Recording, *execution):
        assert made.__dataclass_params__.frozen, made  # type: ignore[attr-defined]


def test_these_rules_can_fail() -> None:
    assert holding({"a.py": "'[shader(\"compute\")]'", "b.py": "shader"}, r'\[shader\("compute"\)\]') == {"a.py"}
    trees = parsed({"a.py": 'if kind in ("cuda", "cpu"): ...', "b.py": 'x = "cuda"', "c.py": 'y = 1 if "vulkan" != k else 2'})
    assert telling_apart(trees) == {"a.py", "c.py"}
