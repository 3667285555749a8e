"""Files of at most 300 lines, functions of at most 40, classes of at most 200.

The lists of exceptions and the numbers may only shrink: an entry that is not needed any more fails the test as well.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

import pytest

from tests.rules.tree import TEXTS, Function, classes, functions, only, parsed, trees

LINES, FUNCTION, CLASS, PARAMETERS = 300, 40, 200, 8
SHORT, LONGER = 220, 0.05  # lines of a short file; the share of the files that may be longer

LONG_FILES: list[str] = []
LONG_FUNCTIONS = """
backend/device/device.py:__init__
backend/execute/linear.py:run
backend/execute/recipe.py:make_recipe
backend/execute/tape.py:run
backend/kernels/values.py:freeze
cli/demo.py:_print
cli/demo.py:run
deferred/record.py:_called
functions/call.py:run
functions/dispatch.py:dispatch
trace/buffers.py:chosen
trace/struct_choice.py:struct_type
""".split()  # noqa: SIM905
LONG_CLASSES = """
backend/device/device.py:Device
backend/device/pool.py:Pool
backend/execute/executable.py:Executable
backend/memory/tensor.py:Tensor
backend/slang/compiler.py:Compiler
backend/slang/oracle.py:SlangOracle
modules/module.py:Module
trace/trace.py:Trace
""".split()  # noqa: SIM905
MANY_PARAMETERS = """
backend/memory/storage.py:__init__
cli/darkroom.py:develop
""".split()  # noqa: SIM905


def longer(texts: Mapping[str, str], lines: int) -> set[str]:
    return {name for name, text in texts.items() if len(text.splitlines()) > lines}


def lines_of(node: Function | ast.ClassDef) -> int:
    """The lines of a definition without its docstring."""
    first = node.body[0]
    docstring = (first.end_lineno or 0) - first.lineno + 1 if ast.get_docstring(node) is not None else 0
    return (node.end_lineno or 0) - node.lineno + 1 - docstring


def long_functions(trees: Mapping[str, ast.AST]) -> set[str]:
    return {f"{name}:{f.name}" for name, tree in trees.items() for f in functions(tree) if lines_of(f) > FUNCTION}


def long_classes(trees: Mapping[str, ast.AST]) -> set[str]:
    return {f"{name}:{c.name}" for name, tree in trees.items() for c in classes(tree) if lines_of(c) > CLASS}


def many_parameters(trees: Mapping[str, ast.AST]) -> set[str]:
    """Functions with more parameters than one can keep in mind, `self` apart."""

    def count(f: Function) -> int:
        named = [*f.args.posonlyargs, *f.args.args, *f.args.kwonlyargs]
        return sum(a.arg not in ("self", "cls") for a in named)

    return {f"{name}:{f.name}" for name, tree in trees.items() for f in functions(tree) if count(f) > PARAMETERS}


def test_files() -> None:
    only(longer(TEXTS, LINES), LONG_FILES)
    assert len(longer(TEXTS, SHORT)) <= LONGER * len(TEXTS)


def test_functions() -> None:
    only(long_functions(trees()), LONG_FUNCTIONS)


def test_classes() -> None:
    only(long_classes(trees()), LONG_CLASSES)


def test_parameters() -> None:
    only(many_parameters(trees()), MANY_PARAMETERS)


def test_these_rules_can_fail() -> None:
    assert longer({"a.py": "\n" * 301, "b.py": "\n" * 300}, LINES) == {"a.py"}
    body = "".join(f"    x{i} = 0\n" for i in range(40))
    doc = '    """A\n    docstring\n    """\n'
    text = f"def long():\n{body}\ndef short():\n{doc}{body[11:]}\nclass C:\n" + "    x = 0\n" * 200
    trees = parsed(
        {"a.py": f"{text}\nclass D:\n    def __init__(self, a, b, c, d, e, f, *, g, h): ...\ndef f(a,b,c,d,e,f,g,h,i): ...\n"}
    )
    assert long_functions(trees) == {"a.py:long"}
    assert long_classes(trees) == {"a.py:C"}
    assert many_parameters(trees) == {"a.py:f"}
    with pytest.raises(AssertionError, match="new"):
        only({1}, set())
    with pytest.raises(AssertionError, match="mended"):
        only(set(), {1})
