"""The files of fusepy, read and parsed once for all rules: parsed when the first rule asks, since every worker imports this."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
ROOT = REPOSITORY / "fusepy"
FILES = {path.relative_to(ROOT).as_posix(): path for path in sorted(ROOT.rglob("*.py"))}
TEXTS = {name: path.read_text(encoding="utf-8") for name, path in FILES.items()}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def trees() -> dict[str, ast.Module]:
    return parsed(TEXTS)


@cache
def nodes(tree: ast.AST) -> list[ast.AST]:
    return [*ast.walk(tree)]


def functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in nodes(tree) if isinstance(node, Function))


def classes(tree: ast.AST) -> Iterator[ast.ClassDef]:
    return (node for node in nodes(tree) if isinstance(node, ast.ClassDef))


def parsed(texts: Mapping[str, str]) -> dict[str, ast.Module]:
    return {name: ast.parse(text) for name, text in texts.items()}


def only(found: Collection[object], allowed: Collection[object]) -> None:
    """Fails where something new is found, and where an exception is not needed any more."""
    new, mended = {*found} - {*allowed}, {*allowed} - {*found}
    assert not new, f"new: {sorted(map(str, new))}"
    assert not mended, f"mended, so take it out of the list: {sorted(map(str, mended))}"
