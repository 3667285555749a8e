"""Changes the imports of a program of slangpy's to fusepy's, and nothing else."""

from __future__ import annotations

import ast
import importlib

import fusepy


def changed(text: str, helpers: str = "") -> str:
    """Returns a program's text with fusepy in place of slangpy.

    Names that fusepy lacks stay imported from where they were: tests of slangpy's inside need them.

    Args:
        helpers: the module that stands for ``slangpy.testing.helpers``.
    """
    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):
        found = _replacement(node, helpers)
        if found is not None:
            first = lines[node.lineno - 1]  # type: ignore[attr-defined]
            indent = first[: len(first) - len(first.lstrip())]
            for i in range(node.lineno - 1, node.end_lineno):  # type: ignore[attr-defined]
                lines[i] = ""
            lines[node.lineno - 1] = "".join(f"{indent}{line}\n" for line in found)  # type: ignore[attr-defined]
    return "".join(lines)


def _replacement(node: ast.AST, helpers: str) -> list[str] | None:
    if isinstance(node, ast.Import):
        return _of_import(node, helpers) if any(a.name.split(".")[0] == "slangpy" for a in node.names) else None
    if not isinstance(node, ast.ImportFrom) or node.level or (node.module or "").split(".")[0] != "slangpy":
        return None
    if node.module == "slangpy.testing" and helpers:
        return [f"import {helpers} as {a.asname or a.name}" for a in node.names]
    if node.module == "slangpy.testing.helpers" and helpers:
        return [f"from {helpers} import {a.name}" + (f" as {a.asname}" if a.asname else "") for a in node.names]
    found = []
    for a in node.names:
        source = "fusepy" if node.module != "slangpy.reflection" and _has(a.name) else node.module
        found.append(f"from {source} import {a.name}" + (f" as {a.asname}" if a.asname else ""))
    return found


def _of_import(node: ast.Import, helpers: str) -> list[str]:
    found = []
    for a in node.names:
        if a.name == "slangpy":
            found.append(f"import fusepy as {a.asname or 'slangpy'}")
        elif a.name == "slangpy.testing.helpers" and helpers:
            found.append(f"import {helpers} as {a.asname}")
        else:
            found.append(f"import {a.name}" + (f" as {a.asname}" if a.asname else ""))
    return found


def _has(name: str) -> bool:
    try:
        return hasattr(fusepy, name) or importlib.util.find_spec(f"fusepy.{name}") is not None
    except AttributeError:
        return False
