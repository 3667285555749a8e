"""A kind answers for its values: only `backend/marshals` and `backend/memory` look at the class of one; see docs/marshals.md.

`backend/execute` sees no values, only what their kinds have placed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.rules.tree import nodes, trees

ANSWERED = ("backend/marshals/", "backend/memory/", "backend/execute/")
CLASSES = {"Tensor", "ndarray"}
NUMBERS = {"float", "int", "bool"}
QUESTIONS = {"is_torch", "is_texture"}
MOST = 15  # may only become fewer


def names(*nodes: ast.AST) -> set[str]:
    """All names and attributes in these expressions."""
    walked = [n for node in nodes for n in ast.walk(node)]
    return {n.id for n in walked if isinstance(n, ast.Name)} | {n.attr for n in walked if isinstance(n, ast.Attribute)}


def asks(node: ast.AST) -> bool:
    """Whether an expression asks if a value is a tensor, an array, a texture, a tensor of torch, or one of Python's numbers."""
    if isinstance(node, ast.Call):
        called = node.func.id if isinstance(node.func, ast.Name) else ""
        if called in ("isinstance", "issubclass"):
            return bool(CLASSES & names(node.args[1]))
        return called in QUESTIONS or (called == "map" and bool(QUESTIONS & names(node.args[0])))
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return names(*node.comparators) == NUMBERS and bool(names(node.left) & {"type", "__class__"})
    return False


def asked(tree: ast.AST) -> Iterator[int]:
    """The lines of such questions."""
    return (node.lineno for node in nodes(tree) if isinstance(node, ast.expr) and asks(node))


def test_kinds_answer_for_their_values() -> None:
    lines = [f"{path}:{line}" for path, tree in trees().items() if not path.startswith(ANSWERED) for line in asked(tree)]
    assert len(lines) <= MOST, "\n".join(lines)


def test_the_test_can_fail() -> None:
    asking = (
        "isinstance(x, Tensor)",
        "any(map(is_texture, v))",
        "type(x) in (float, int, bool)",
        "isinstance(x, (A, np.ndarray))",
    )
    assert [len(list(asked(ast.parse(text)))) for text in asking] == [1, 1, 1, 1]
    assert not list(asked(ast.parse("isinstance(x, str)\nf(Tensor)\nx in (1, 2)\nx in (float, int, bool)")))
