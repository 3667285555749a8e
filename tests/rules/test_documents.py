"""Documents tell of what is there: files that they name exist, and each dependency is imported."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.rules.tree import REPOSITORY, TEXTS

PAGES = [*sorted((REPOSITORY / "docs").rglob("*.md")), *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md"))]
_PATH = re.compile(r"`((?:fusepy|tests|tools|benchmarks|examples|docs)/[\w./-]+)`|\]\((?!\w+:|#)([\w./-]+)(?:#[\w-]*)?\)")
_PAGE = re.compile(r"\b(docs/[\w/-]+\.md)\b")


def named_files(page: Path) -> Iterable[Path]:
    """The files that a page names in backticks, from the repository's root, or links to, from its own folder."""
    for name, link in _PATH.findall(page.read_text(encoding="utf-8")):
        yield REPOSITORY / name if name else page.parent / link


def missing(paths: Iterable[Path]) -> list[str]:
    return sorted({str(path) for path in paths if not path.exists()})


def dependencies(text: str) -> list[str]:
    """The names of the packages that a ``pyproject.toml`` requires."""
    (listed,) = re.findall(r"^dependencies = \[(.*?)\]", text, re.M | re.S)
    return re.findall(r'"([\w-]+)', listed)


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_files_that_pages_name_exist(page: Path) -> None:
    assert not missing(named_files(page))


def test_pages_that_docstrings_name_exist() -> None:
    named = [REPOSITORY / page for text in TEXTS.values() for page in _PAGE.findall(text)]
    assert named
    assert not missing(named)


def test_each_dependency_is_imported() -> None:
    names = dependencies((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    assert {"slangpy", "numpy"} < {*names}
    unused = [name for name in names if not any(re.search(rf"^\s*(?:import|from) {name}\b", t, re.M) for t in TEXTS.values())]
    assert not unused


def test_these_rules_can_fail(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("`fusepy/nowhere.py`, `fusepy/errors.py`, [a](page.md#part), [b](other.md), [c](https://example.org/x.md)")
    assert {Path(name).name for name in missing(named_files(page))} == {"nowhere.py", "other.md"}
    assert dependencies('dependencies = ["one~=1.0", "two"]\n') == ["one", "two"]
