"""Names and docstrings: a class name exists once, and a docstring begins with the thing that it describes.

The lists of exceptions may only shrink.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Mapping

from tests.rules.tree import TEXTS, Function, classes, functions, nodes, only, parsed, trees

TWICE = """
Graph
Layout
Node
Shape
Use
""".split()  # noqa: SIM905

# definitions that are still called by a participle, which does not say what they give
PARTICIPLES = {"apart": 7, "found": 4, "given": 14, "heard": 0, "made": 11, "said": 3, "told": 3}
# modules of one folder that differ by an ending: a reader takes one for the other
ALIKE = ["arguments/mapped.py", "backend/emit/operand.py", "backend/emit/store.py", "inspect/profile.py", "trace/trace.py"]
RELATIVE = ("How", "What", "Where", "Whether", "Which")  # a reader in a hurry wants the noun or verb first


def twice(trees: Mapping[str, ast.AST]) -> set[str]:
    count = Counter(name for tree in trees.values() for name in {c.name for c in classes(tree)})
    return {name for name, n in count.items() if n > 1}


def relative(trees: Mapping[str, ast.AST]) -> list[str]:
    """The docstrings that begin with a relative clause."""
    kinds = (ast.Module, ast.ClassDef, *Function.__args__)
    found = [node for tree in trees.values() for node in nodes(tree) if isinstance(node, kinds)]
    return [doc for node in found if (doc := ast.get_docstring(node)) and doc.split()[0].strip(".,:;") in RELATIVE]


def participles(trees: Mapping[str, ast.AST]) -> dict[str, int]:
    """The number of functions and classes of each of these names."""
    count = Counter(d.name.strip("_").lower() for tree in trees.values() for d in (*functions(tree), *classes(tree)))
    return {name: count[name] for name in PARTICIPLES}


def alike(names: Iterable[str]) -> set[str]:
    """The first of each group of files whose names differ by an ending only."""
    stems = Counter[str]()
    found: dict[str, str] = {}
    for name in sorted(names):
        stem = re.sub(r"(able|ings?|ed|e?s|e)$", "", name.removesuffix(".py"))
        found.setdefault(stem, name)
        stems[stem] += 1
    return {found[stem] for stem, count in stems.items() if count > 1}


def test_a_class_name_exists_once() -> None:
    only(twice(trees()), TWICE)


def test_docstrings_begin_with_a_noun_or_verb() -> None:
    assert not relative(trees())


def test_names_of_modules_differ_by_more_than_an_ending() -> None:
    only(alike(TEXTS), ALIKE)


def test_definitions_are_called_by_nouns_and_verbs() -> None:
    assert participles(trees()) == PARTICIPLES


def test_these_rules_can_fail() -> None:
    trees = parsed(
        {"a.py": "class A: ...\nclass B: ...\n", "b.py": "class A:\n    '''What: it is.'''\ndef f():\n    '''The f.'''\n"}
    )
    assert twice(trees) == {"A"}
    assert alike(["a/record.py", "a/recorded.py", "b/recordings.py", "a/plan.py"]) == {"a/record.py"}
    assert relative(trees) == ["What: it is."]
    assert participles(parsed({"a.py": "class A:\n    def _found(self): ...\n"}))["found"] == 1
