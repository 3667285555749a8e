"""docs/coverage.md says what the marks of the tests say, and the marks name requirements that exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.coverage_page import COLLECTED, PAGE, ROOT, Claim, collect, judged, outcomes, page, requirements


@pytest.fixture(scope="module")
def claims(request: pytest.FixtureRequest) -> list[Claim]:
    """The claims of all tests: collecting them again takes long, so it is done only where this run has left some out."""
    claims, files = request.config.stash[COLLECTED]
    chosen = any("::" in argument for argument in request.config.args)
    return claims if files >= {*(ROOT / "tests").rglob("test_*.py")} and not chosen else collect()


def test_every_mark_names_a_requirement(claims: list[Claim]) -> None:
    known = {row.id for group in requirements().values() for row in group}
    assert {c.test: c.requirement for c in claims if c.requirement not in known} == {}


def test_the_page_is_up_to_date(claims: list[Claim]) -> None:
    pytest.importorskip("torch")  # files that need it are not collected without it
    assert PAGE.read_text(encoding="utf-8") == page(claims), "run `make coverage-page`, or `python -m tests.coverage_page`"


def test_ids_are_said_once_and_stand_in_their_group() -> None:
    for title, rows in requirements().items():
        assert [row.id for row in rows if row.id[0] != title[0] or not row.statement] == []
        numbers = [int(row.id[1:]) for row in rows]
        assert numbers == sorted(set(numbers))


def test_states() -> None:
    said = page(
        [
            Claim("C1", "tests/test_a.py::test_one", "tests/test_a.py::test_one[1]"),
            Claim("C1", "tests/test_a.py::test_one", "tests/test_a.py::test_one[2]"),
            Claim("C2", "tests/test_a.py::test_two", "tests/test_a.py::test_two", partly="tuples | sets"),
            Claim("C2", "tests/test_a.py::test_one", "tests/test_a.py::test_one"),
            Claim("C4", "tests/test_a.py::test_four", "tests/test_a.py::test_four", broken="expected to fail: axes"),
        ]
    )
    rows = {line[2:5].strip(): line.split(" | ")[2:] for line in said.splitlines() if line.startswith("| C")}
    one, two = "[test_a.py::test_one](../tests/test_a.py)", "[test_a.py::test_two](../tests/test_a.py)"
    assert rows["C1"] == ["shown", f"{one} |"]
    assert rows["C2"] == [r"partly: tuples \| sets", f"{one}<br>{two} |"]
    assert rows["C4"] == ["open: expected to fail: axes", " |"]
    assert rows["C5"] == ["open", " |"]
    many = page([Claim("C1", f"tests/test_a.py::test_{i}", f"tests/test_a.py::test_{i}") for i in range(20)])
    assert "| shown | [test_a.py](../tests/test_a.py): 20 tests |" in many
    with pytest.raises(ValueError, match="C3"):
        page([Claim("C3", "tests/test_a.py::test_one", "tests/test_a.py::test_one")])


def test_a_report_decides_what_is_shown(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(
        """<testsuites><testsuite>
        <testcase classname="tests.ir.test_a" name="test_good[1]"/>
        <testcase classname="tests.ir.test_a" name="test_bad"><failure message="no"/></testcase>
        <testcase classname="tests.ir.test_a" name="test_away"><skipped message="no GPU"/></testcase>
        </testsuite></testsuites>"""
    )
    items = ["good[1]", "bad", "away", "new"]
    given = [Claim("C1", f"tests/ir/test_a.py::test_{i.split('[')[0]}", f"tests/ir/test_a.py::test_{i}") for i in items]
    assert [c.broken for c in judged(given, outcomes(report))] == ["", "test_bad failed", "test_away skipped", "test_new not run"]
