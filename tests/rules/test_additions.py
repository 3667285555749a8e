"""An addition to fusepy is a file of its own, and a line in at most two others: see docs/extending.md."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from fusepy.backend.emit.region import SPACES
from tests.rules.tree import TEXTS, classes, only, parsed, trees

# files whose helpers others use too
SHARED = {
    "passes/dce.py",
    "passes/rows/join.py",
    "backend/marshals/array.py",
    "backend/marshals/grid.py",
}
KINDS = ("array", "foreign", "grid", "number", "resource", "texture", "thread", "torch", "vector")
SPACE_FILES = ("linear", "rows", "blocks", "tiles")


def additions(trees: Mapping[str, ast.Module]) -> set[str]:
    """The files with passes, kinds of arguments, and index spaces."""
    passes = {name for name, tree in trees.items() for c in classes(tree) if "Pass" in map(ast.unparse, c.bases)}
    kinds = {f"backend/marshals/{kind}.py" for kind in KINDS}
    return passes | kinds | {f"backend/emit/spaces/{space}.py" for space in SPACE_FILES}


def naming(texts: Mapping[str, str], start: str) -> set[str]:
    """The other files that import a file, or a file of a package."""
    words = f"from fusepy.{start.removesuffix('.py').replace('/', '.')}" + ("" if start.endswith("/") else " import ")
    return {name for name, text in texts.items() if words in text and not name.startswith(start)}


def test_an_addition_is_named_in_two_files_at_most() -> None:
    assert len(SPACES) >= 5
    found = additions(trees())
    assert found <= {*TEXTS}
    only({name for name in found if len(naming(TEXTS, name)) > 2}, SHARED)


def test_a_stage_is_named_in_one_file_beside_what_users_call() -> None:
    for stage, users in (("rays", "rays/"), ("raster", "drawing/")):
        found = {name for name in naming(TEXTS, f"backend/{stage}/") if not name.startswith(users)}
        assert found == {"program/stages.py"}, stage


def test_folders_of_additions_have_room() -> None:
    """A folder takes 20 files (`test_layering`), and one more goes into these."""
    for folder in ("passes", "backend/emit", "backend/emit/spaces", "backend/marshals"):
        assert sum(name.rpartition("/")[0] == folder for name in TEXTS) < 20, folder


def test_these_rules_can_fail() -> None:
    texts = {"passes/a.py": "class A(Pass): ...", **{f"{n}.py": "from fusepy.passes.a import A" for n in "bcd"}}
    assert additions(parsed(texts)) >= {"passes/a.py"}
    assert naming(texts, "passes/a.py") == {"b.py", "c.py", "d.py"}
