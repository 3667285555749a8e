"""Makes docs/coverage.md: which requirement is shown by which tests, from the marks of the tests as pytest collects them.

python -m tests.coverage_page                      # every test that is not marked xfail or skip counts
python -m tests.coverage_page --junit report.xml   # only tests that passed in the run that wrote the report count
python -m tests.coverage_page --check              # writes nothing, fails if the page is not what it would write

A test says what it shows with @pytest.mark.req("V3"), and what is missing with @pytest.mark.req("F8", partly="what is missing").
"""

from __future__ import annotations

import argparse
import configparser
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "coverage.md"
REQUIREMENTS = ROOT / "tests" / "requirements.ini"
MOST_NAMES = 8  # of one file in one row; more are counted

HEAD = """\
# Coverage of the requirements

Which requirement is shown by which tests. Made by `make coverage-page` from the marks of the tests
(`@pytest.mark.req("V3")`); the rows are in [tests/requirements.ini](../tests/requirements.ini). A row is *shown* if all that
it says is tested, *partly* shown if a test says what is missing or is expected to fail, and *open* if no test shows it.
"""


@dataclass(frozen=True)
class Claim:
    """What one test says about one requirement."""

    requirement: str
    test: str  # tests/functions/test_function.py::test_lists, without parameters
    item: str  # the same with parameters
    partly: str = ""  # what is missing, in the test's words
    broken: str = ""  # why it does not count: it is expected to fail, or is skipped, or did not pass


@dataclass
class Row:
    """One requirement with all that tests say about it."""

    id: str
    statement: str
    claims: list[Claim] = field(default_factory=list)

    @property
    def shown_by(self) -> list[str]:
        return sorted({c.test for c in self.claims if not c.broken})

    @property
    def missing(self) -> list[str]:
        return sorted({c.partly or c.broken for c in self.claims} - {""})

    @property
    def state(self) -> str:
        if not self.shown_by:
            return "open"
        return "partly" if self.missing else "shown"


def requirements(path: Path = REQUIREMENTS) -> dict[str, list[Row]]:
    """The rows by the title of their group."""
    parser = configparser.ConfigParser(delimiters=("=",), comment_prefixes=("#",), interpolation=None, strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # IDs keep their case
    parser.read_string(path.read_text(encoding="utf-8"))
    return {title: [Row(id, statement) for id, statement in parser[title].items()] for title in parser.sections()}


# ---- collecting: the marks, by a pytest that runs nothing -----------------------------------------------------------


# in the stash of pytest's configuration: the claims of all tests that this run has collected, and the files of these tests
COLLECTED = pytest.StashKey[tuple[list[Claim], set[Path]]]()


class Collector:
    """A pytest plugin that writes the claims of all collected tests."""

    def __init__(self, out: Path):
        self.out = out

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        found = [vars(claim) for item in session.items for claim in claims_of(item)]
        self.out.write_text(json.dumps(found), encoding="utf-8")


def claims_of(item: pytest.Item) -> Iterable[Claim]:
    """What the marks of a test say; those of its module and class count as well."""
    broken = ""
    for name, word in (("xfail", "expected to fail"), ("skip", "skipped")):
        mark = item.get_closest_marker(name)
        if mark is not None:
            broken = f"{word}: {mark.kwargs.get('reason', '') or ' '.join(map(str, mark.args))}"
    for mark in item.iter_markers("req"):
        for id in mark.args:
            yield Claim(str(id), item.nodeid.split("[")[0], item.nodeid, mark.kwargs.get("partly", ""), broken)


def collect() -> list[Claim]:
    """The claims of all tests, collected in a process of its own: pytest keeps state, and the caller may be a test itself."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "claims.json"
        done = subprocess.run(
            [sys.executable, "-m", "tests.coverage_page", "--collect-into", str(out)],
            cwd=ROOT,
            env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"collecting the tests failed:\n{done.stdout}{done.stderr}")
        return [Claim(**c) for c in json.loads(out.read_text(encoding="utf-8"))]


# ---- results of a run -----------------------------------------------------------------------------------------------


def outcomes(report: Path) -> dict[str, str]:
    """What did not pass in a JUnit report, by test: "failed" or "skipped"; what passed is ""."""
    found: dict[str, str] = {}
    for case in ET.parse(report).getroot().iter("testcase"):
        test = case.get("classname", "").replace(".", "/") + ".py::" + case.get("name", "")
        kinds = {child.tag for child in case}
        found[test] = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else ""
    return found


def judged(claims: Iterable[Claim], found: dict[str, str]) -> list[Claim]:
    """The claims as a run has left them: a test that did not pass shows nothing."""
    made: list[Claim] = []
    for c in claims:
        said = found.get(c.item, "not run")
        broken = c.broken or (f"{c.test.split('::')[-1]} {said}" if said else "")
        made.append(Claim(c.requirement, c.test, c.item, c.partly, broken))
    return made


# ---- the page -------------------------------------------------------------------------------------------------------


def page(claims: Iterable[Claim]) -> str:
    """The text of docs/coverage.md.

    Raises:
        ValueError: for a claim about a requirement that does not exist.
    """
    groups = requirements()
    rows = {row.id: row for group in groups.values() for row in group}
    for claim in claims:
        if claim.requirement not in rows:
            raise ValueError(f"{claim.test} is marked with {claim.requirement!r}, which {REQUIREMENTS.name} does not have")
        rows[claim.requirement].claims.append(claim)
    lines = [HEAD, "| group | shown | partly | open |", "|---|---|---|---|"]
    for title, group in groups.items():
        counts = [sum(row.state == state for row in group) for state in ("shown", "partly", "open")]
        lines.append(f"| {title} | " + " | ".join(map(str, counts)) + " |")
    for title, group in groups.items():
        lines += ["", f"## {title}", "", "| ID | requirement | state | tests |", "|---|---|---|---|"]
        lines += [f"| {row.id} | {row.statement} | {_state(row)} | {_tests(row)} |" for row in group]
    return "\n".join(lines) + "\n"


def _state(row: Row) -> str:
    missing = "; ".join(row.missing).replace("|", "\\|")
    return f"{row.state}: {missing}" if missing else row.state


def _tests(row: Row) -> str:
    by_file: dict[str, list[str]] = {}
    for test in row.shown_by:
        file, name = test.split("::", 1)
        by_file.setdefault(file, []).append(name)
    links: list[str] = []
    for file, names in by_file.items():
        if len(names) > MOST_NAMES:
            links.append(f"[{file.removeprefix('tests/')}](../{file}): {len(names)} tests")
        else:
            links += [f"[{file.removeprefix('tests/')}::{name}](../{file})" for name in names]
    return "<br>".join(links)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.coverage_page", description="Makes docs/coverage.md.")
    parser.add_argument("--junit", type=Path, help="a report of pytest --junitxml: only what passed there counts")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page is not up to date")
    parser.add_argument("--collect-into", type=Path, help=argparse.SUPPRESS)
    said = parser.parse_args()
    if said.collect_into:
        options = ["--collect-only", "-qq", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts=--strict-markers"]
        return int(pytest.main([*options, str(ROOT / "tests")], plugins=[Collector(said.collect_into)]))
    claims = collect()
    text = page(judged(claims, outcomes(said.junit)) if said.junit else claims)
    if said.check:
        return 0 if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text else 1
    PAGE.write_text(text, encoding="utf-8")
    print(text[len(HEAD) : text.index("\n## ")])
    return 0


if __name__ == "__main__":
    sys.exit(main())
