"""Imports go one way, as design.md says: errors <- ir <- passes, ir <- backend; passes and backend meet in compile.py only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import fusepy

ROOT = Path(fusepy.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))


def module_name(path: Path) -> str:
    parts = ["fusepy", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """Every module that a file imports, at the top, in functions and for type checking alike, with the line."""
    package = module_name(path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            yield name, node.lineno
            # `from fusepy import errors` imports a module as well
            yield from (
                (f"{name}.{alias.name}", node.lineno)
                for alias in node.names
                if (ROOT.parent / name.replace(".", "/") / f"{alias.name}.py").exists()
            )


def type_checking_lines(path: Path) -> set[int]:
    """Lines below ``if TYPE_CHECKING:``, which import nothing when the program runs."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            found.update(line for inner in node.body for line in range(inner.lineno, (inner.end_lineno or inner.lineno) + 1))
    return found


def layer(name: str) -> str:
    parts = name.split(".")
    if parts[:1] != ["fusepy"] or len(parts) == 1:
        return ""
    return parts[1]


# what the modules of a layer may import of fusepy; users' modules at the top may import whatever lies below
ALLOWED = {
    "errors": set(),
    "ir": {"errors", "ir"},
    "passes": {"errors", "ir", "passes"},
}
# packages that only these files may import
OWNERS = {
    "slangpy": lambda path: ROOT / "backend" in path.parents or path.name in ("constructors.py", "spellings.py"),
    "lark": lambda path: path == ROOT / "ir" / "parse.py",
    "networkx": lambda path: ROOT / "passes" in path.parents,
}


@pytest.mark.parametrize("path", FILES, ids=[str(p.relative_to(ROOT)) for p in FILES])
def test_one_way(path: Path) -> None:
    name = module_name(path)
    mine = layer(name)
    if mine in ALLOWED:
        wrong = [
            f"{path.name}:{line} imports {what}"
            for what, line in imported(path)
            if layer(what) and layer(what) not in ALLOWED[mine]
        ]
        assert not wrong
    if mine == "backend":
        wrong = [
            f"{path.name}:{line} imports {what}"
            for what, line in imported(path)
            if layer(what) in ("passes", "compile", "cli", "inspection")
        ]
        assert not wrong


@pytest.mark.parametrize("path", FILES, ids=[str(p.relative_to(ROOT)) for p in FILES])
def test_packages_have_one_owner(path: Path) -> None:
    quiet = type_checking_lines(path)
    for what, line in imported(path):
        top = what.split(".")[0]
        if top in OWNERS and line not in quiet:
            assert OWNERS[top](path), f"{path}:{line} imports {what}"


def test_passes_and_backend_meet_in_compile_only() -> None:
    both = {str(path.relative_to(ROOT)) for path in FILES if {"passes", "backend"} <= {layer(what) for what, _ in imported(path)}}
    # inspection shows what the passes did and what the emitter made of it
    assert both <= {"program/program.py", "inspect/explain.py"}
    assert "program/program.py" in both


def test_nothing_imports_the_command_line_or_the_package_itself() -> None:
    for path in FILES:
        for what, line in imported(path):
            if layer(module_name(path)) != "cli":
                assert layer(what) != "cli", f"{path}:{line}"
                assert what != "fusepy", f"{path}:{line} goes through fusepy/__init__.py, which imports everything"


def test_files_stay_small() -> None:
    """Most files under 300 lines; none has two duties."""
    long = {str(p.relative_to(ROOT)): n for p in FILES if (n := len(p.read_text(encoding="utf-8").splitlines())) > 300}
    assert len(long) <= len(FILES) // 8, long
    assert max(long.values(), default=0) <= 480, long


def test_no_bare_exceptions() -> None:
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler):
                names = {n.id for n in ast.walk(node.type) if isinstance(n, ast.Name)} if node.type else {"nothing"}
                assert not names & {"Exception", "BaseException", "nothing"}, f"{path}:{node.lineno}"


def test_the_test_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "import slangpy as spy\ndef f():\n    from fusepy.passes import cse\nfrom fusepy import errors\nfrom . import ir\n"
    bad = ROOT / "ir" / "bad.py"
    real = Path.read_text
    monkeypatch.setattr(Path, "read_text", lambda self, **kwargs: text if self == bad else real(self, **kwargs))
    assert {"slangpy", "fusepy.passes", "fusepy.errors", "fusepy.ir"} <= {what for what, _ in imported(bad)}
    for test in (test_one_way, test_packages_have_one_owner):
        with pytest.raises(AssertionError):
            test(bad)
