"""Imports go one way: the order of packages, no circles, and the sizes of folders.

All imports count: at the top of a file, inside functions, and under ``if TYPE_CHECKING``. Each list of exceptions may only
shrink: an entry that is not needed any more fails the test as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import networkx as nx
import pytest

from tests.rules.tree import FILES, nodes, only, trees

# Bottom first. A file may import its own package and the packages of earlier rows; those of its own row, and of later ones,
# never.
ORDER = [
    "errors",
    "location methods pytree symbolic",
    "elsewhere",
    "ir",
    "passes",
    "derivatives",
    "backend",
    "backend.cache",
    "backend.cuda",
    "backend.sources",
    "backend.slang",
    "backend.device",
    "backend.memory",
    "backend.scenes",
    "backend.emit",
    "backend.marshals",
    "backend.kernels",
    "backend.execute",
    "backend.raster backend.rays",
    "arguments",
    "trace",
    "program",
    "inspect",
    "deferred",
    "functions",
    "language",
    "vocabulary",
    "graphs modules",
    "debug drawing random rays scenes",
    "nn",
    "testing __init__",
    "studio",
    "cli",
    "__main__",
]
RANKS = {name: rank for rank, row in enumerate(ORDER) for name in row.split()}

# Exceptions, which may only become fewer.
# imports that still run upward
UPWARD: set[tuple[str, str]] = set()
# files that still import one another in a circle
IN_CIRCLES: set[str] = set()
# imports inside functions: what is optional, slow, or still in a circle
IN_FUNCTIONS: set[tuple[str, str]] = {
    ("backend/device/probe.py", "backend/device/selfcheck.py"),
    ("backend/slang/trial.py", "backend/slang/compiler.py"),
    ("cli/__init__.py", "cli/cache.py"),
    ("cli/__init__.py", "cli/demo.py"),
    ("cli/__init__.py", "cli/doctor.py"),
    ("cli/__init__.py", "cli/new.py"),
    ("cli/__init__.py", "cli/studio.py"),
    ("cli/demo.py", "cli/darkroom.py"),
    ("cli/demo.py", "cli/picture.py"),
}
# files that import slangpy elsewhere: slangpy's own names, and what still must go
SLANGPY: set[str] = {
    "backend/execute/texture_results.py",
    "backend/execute/timing.py",
    "language/constructors.py",
    "language/spellings.py",
}
# files that still import passes and backend outside of their packages
MEETING: set[str] = set()
# folders that still hold too many files
CROWDED: dict[str, int] = {}


class Edge(NamedTuple):
    importer: str  # paths below fusepy/
    imported: str
    line: int
    kind: str  # top, function, types


def package_of(path: str) -> str:
    """The name in `ORDER` of a file's package; empty for a file that has none."""
    parts = path.removesuffix(".py").split("/")
    return next((name for n in (2, 1) if (name := ".".join(parts[:n])) in RANKS), "")


def module_of(path: str) -> str:
    parts = ["fusepy", *path.removesuffix(".py").split("/")]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in FILES}


def imports(tree: ast.AST, package: list[str], kind: str = "top") -> Iterator[tuple[str, int, str]]:
    """Every name that a file imports, modules and what is in them, with its line and where the import stands."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno, kind) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join([*(package[: len(package) - node.level + 1] if node.level else []), *filter(None, [node.module])])
            names = [f"{base}.{alias.name}" for alias in node.names]
            yield from ((name, node.lineno, kind) for name in names)
            if not all(name in MODULES for name in names):  # `from fusepy import errors` imports that file and no other
                yield base, node.lineno, kind
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from imports(node, package, "function")
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            yield from imports(ast.Module(node.body, []), package, "types")
            yield from imports(ast.Module(node.orelse, []), package, kind)
        else:
            yield from imports(node, package, kind)


def imported_by(path: str, tree: ast.AST) -> list[tuple[str, int, str]]:
    package = module_of(path).split(".")
    return list(imports(tree, package if path.endswith("__init__.py") else package[:-1]))


@cache
def all_imports() -> dict[str, list[tuple[str, int, str]]]:
    return {path: imported_by(path, tree) for path, tree in trees().items()}


def edges_of(path: str, found: list[tuple[str, int, str]]) -> list[Edge]:
    """Imports of other files of fusepy."""
    modules = [(MODULES[name], line, kind) for name, line, kind in found if name in MODULES]
    return [Edge(path, other, line, kind) for other, line, kind in modules if other != path]


@cache
def all_edges() -> list[Edge]:
    return [edge for path, found in all_imports().items() for edge in edges_of(path, found)]


def upward(edges: list[Edge]) -> list[Edge]:
    """Imports of a later row, or of another package of the same row."""
    found: list[Edge] = []
    for edge in edges:
        mine, other = package_of(edge.importer), package_of(edge.imported)
        if mine and other and (RANKS[other] > RANKS[mine] or (RANKS[other] == RANKS[mine] and mine != other)):
            found.append(edge)
    return found


def in_circles(edges: list[Edge]) -> set[str]:
    """The files that can be reached from themselves."""
    circles = nx.strongly_connected_components(nx.DiGraph([edge[:2] for edge in edges]))
    return {path for circle in circles if len(circle) > 1 for path in circle}


def uses(path: str, package: str, *, types: bool = True) -> bool:
    """Whether a file imports a package from elsewhere, such as slangpy."""
    return any(name.partition(".")[0] == package and (types or kind != "types") for name, _, kind in all_imports()[path])


def crowded() -> dict[str, int]:
    """Folders with too many Python files: more than 20, and more than 8 in the root."""
    count: dict[str, int] = {}
    for path in FILES:
        folder = path.rpartition("/")[0]
        count[folder] = count.get(folder, 0) + 1
    return {folder: n for folder, n in count.items() if n > (20 if folder else 8)}


def without_slangpy() -> set[str]:
    """Files that import slangpy although they must be testable without a device, or stand outside of `backend`."""
    free = ("backend.cache", "backend.emit", "backend.execute")
    return {
        path
        for path in FILES
        if uses(path, "slangpy", types=False) and (not path.startswith("backend/") or package_of(path) in free)
    }


def meeting() -> set[str]:
    """Files that import both `passes` and `backend`, outside of the packages that may."""
    both = {
        path
        for path in FILES
        if {"passes", "backend"} <= {edge.imported.partition("/")[0] for edge in all_edges() if edge.importer == path}
    }
    return {path for path in both if package_of(path) not in ("program", "inspect")}


def in_functions() -> set[tuple[str, str]]:
    return {(edge.importer, edge.imported) for edge in all_edges() if edge.kind == "function"}


def test_imports_go_down() -> None:
    only({edge[:2] for edge in upward(all_edges())}, {*UPWARD})


def test_no_circles() -> None:
    only({*in_circles(all_edges())}, {*IN_CIRCLES})


def test_imports_inside_functions() -> None:
    """Only what is optional or slow to import is imported where it is used."""
    only({*in_functions()}, {*IN_FUNCTIONS})


def test_every_file_has_a_package() -> None:
    homeless = [path for path in FILES if not package_of(path)]
    assert not homeless, homeless


def test_folders_stay_small() -> None:
    """At most 20 Python files in a folder, and 8 in the root."""
    assert crowded() == CROWDED


def test_packages_say_what_they_are_for() -> None:
    """Each `__init__.py` opens with the duty of the package, and says what it may import."""
    packages = {path: ast.get_docstring(tree) or "" for path, tree in trees().items() if path.endswith("/__init__.py")}
    assert [path for path, said in packages.items() if "Imports" not in said] == []


def test_packages_have_one_owner() -> None:
    """slangpy is used in `backend` only, lark by the parser, networkx where graphs are."""
    only({*without_slangpy()}, {*SLANGPY})
    assert [path for path in FILES if uses(path, "lark", types=False)] == ["ir/grammar/syntax.py"]
    assert {path.partition("/")[0] for path in FILES if uses(path, "networkx", types=False)} <= {"passes", "graphs", "inspect"}


def test_passes_and_backend_meet_in_programs() -> None:
    """`program` joins them, `inspect` shows what both did."""
    only({*meeting()}, {*MEETING})


def test_nothing_goes_through_the_package_itself() -> None:
    for path, found in all_imports().items():
        if package_of(path) not in ("studio", "cli"):
            assert "fusepy" not in {name for name, _, _ in found}, f"{path} imports fusepy/__init__.py, which imports everything"


def test_no_bare_exceptions() -> None:
    for path, tree in trees().items():
        for node in nodes(tree):
            if isinstance(node, ast.ExceptHandler):
                names = {n.id for n in ast.walk(node.type) if isinstance(n, ast.Name)} if node.type else {"nothing"}
                assert not names & {"Exception", "BaseException", "nothing"}, f"{path}:{node.lineno}"


def test_the_test_can_fail() -> None:
    text = "import slangpy as spy\ndef f():\n    from fusepy.passes import cse\nfrom fusepy import errors\nfrom . import graph\n"
    found = imported_by("ir/bad.py", ast.parse(text + "if TYPE_CHECKING:\n    import fusepy.cli\n"))
    assert {"slangpy", "fusepy.passes.cse", "fusepy.errors", "fusepy.ir.graph"} <= {name for name, _, _ in found}
    edges = edges_of("ir/bad.py", found)
    kinds = {(edge.imported, edge.kind) for edge in edges}
    assert kinds == {("passes/cse.py", "function"), ("errors.py", "top"), ("ir/graph.py", "top"), ("cli/__init__.py", "types")}
    assert {edge.imported for edge in upward(edges)} == {"passes/cse.py", "cli/__init__.py"}
    assert in_circles([*edges, Edge("ir/graph.py", "ir/bad.py", 1, "types")]) >= {"ir/bad.py", "ir/graph.py"}
    with pytest.raises(AssertionError, match="new"):
        only({1}, set())
    with pytest.raises(AssertionError, match="mended"):
        only(set(), {1})
