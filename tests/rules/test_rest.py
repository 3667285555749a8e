"""`tests/rest.txt` names tests that are there."""

from __future__ import annotations

import ast

from tests.conftest import listed_as_rest


def test_every_name_is_that_of_a_test() -> None:
    for path, names in listed_as_rest().items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert not {name.split("[")[0] for name in names} - functions, path
