"""Names and docstrings: a class name exists once, and a docstring begins with the thing that it describes.

The list of exceptions and the number may only shrink.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping

from tests.rules.tree import Function, classes, nodes, only, parsed, trees

TWICE = """
Binding
Bindings
Bound
Field
Given
Graph
Layout
Node
Program
Recording
Row
Shape
Struct
Target
Use
Written
_Parser
""".split()  # noqa: SIM905

RELATIVE = ("How", "What", "Where", "Whether", "Which")  # a reader in a hurry wants the noun or verb first
OPENINGS = 0.002  # the share of docstrings that may begin so


def twice(trees: Mapping[str, ast.AST]) -> set[str]:
    count = Counter(name for tree in trees.values() for name in {c.name for c in classes(tree)})
    return {name for name, n in count.items() if n > 1}


def openings(trees: Mapping[str, ast.AST]) -> Counter[str]:
    """The first words of all docstrings."""
    kinds = (ast.Module, ast.ClassDef, *Function.__args__)
    found = [node for tree in trees.values() for node in nodes(tree) if isinstance(node, kinds)]
    return Counter(doc.split()[0].strip(".,:;") for node in found if (doc := ast.get_docstring(node)))


def relative(trees: Mapping[str, ast.AST]) -> float:
    """The share of docstrings that begin with a relative clause."""
    words = openings(trees)
    return sum(words[word] for word in RELATIVE) / max(sum(words.values()), 1)


def test_a_class_name_exists_once() -> None:
    only(twice(trees()), TWICE)


def test_docstrings_begin_with_a_noun_or_verb() -> None:
    assert relative(trees()) <= OPENINGS


def test_these_rules_can_fail() -> None:
    trees = parsed(
        {"a.py": "class A: ...\nclass B: ...\n", "b.py": "class A:\n    '''What: it is.'''\ndef f():\n    '''The f.'''\n"}
    )
    assert twice(trees) == {"A"}
    assert relative(trees) == 0.5
