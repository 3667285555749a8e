"""Runs slangpy's own tests with slangpy and with fusepy, and prints a table by file: `make compat`.

The tests are those in slangpy's wheel. Only their imports are changed (`tests.compat.imports`). A test counts if it passes with
slangpy itself and `tests/compat/internals.txt` does not name it: tests of slangpy's inside, and of what others cover.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import slangpy

from tests.compat.imports import changed

HERE = Path(__file__).parent
TESTS = Path(slangpy.__file__).parent / "tests"
ROOT = HERE.parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tests", nargs="*", default=[""], help="files or node IDs below slangpy_tests; all by default")
    parser.add_argument("--device-types", default="vulkan")
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--folder", type=Path, help="where the tests are copied to; by default a temporary folder")
    parser.add_argument("--at-least", type=float, default=0.0, help="the least part of the tests that must pass")
    parser.add_argument("--write", type=Path, help="the page whose table is replaced")
    args = parser.parse_args()
    folder = args.folder or Path(tempfile.mkdtemp(prefix="fusepy-compat-"))
    theirs = _run(folder / "slangpy", args, change=False)
    ours = _run(folder / "fusepy", args, change=True)
    table = report(theirs, ours)
    print(table)
    if args.write:
        _replace(args.write, table)
    if rate(table) < args.at_least:
        sys.exit(f"{rate(table):.1%} of the counted tests pass, {args.at_least:.1%} did")


def _run(folder: Path, args: argparse.Namespace, change: bool) -> dict[str, str]:
    """Runs the copied tests. Returns the outcome of each: passed, failed or skipped."""
    results = folder / "results.xml"
    if not change and results.exists():
        return outcomes(results)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(TESTS / "slangpy_tests", folder / "slangpy_tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(TESTS / "conftest.py", folder)
    if change:
        for path in folder.rglob("*.py"):
            path.write_text(changed(path.read_text(encoding="utf-8"), "tests.compat.helpers"), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-n",
        args.jobs,
        "--device-types",
        args.device_types,
    ]
    names = [f"slangpy_tests/{name}" for name in args.tests]
    subprocess.run(
        [*command, f"--junitxml={results}", "--continue-on-collection-errors", "--tb=short", *names],
        cwd=folder,
        env={**__import__("os").environ, "PYTHONPATH": str(ROOT)},
        stdout=(folder / "output.txt").open("w"),
        stderr=subprocess.STDOUT,
        check=False,
    )
    return outcomes(results)


def outcomes(results: Path) -> dict[str, str]:
    """Reads a JUnit file: the outcome of each test by its name."""
    found = {}
    for case in ElementTree.parse(results).iter("testcase"):
        kinds = {child.tag for child in case}
        bad = kinds & {"failure", "error"}
        found[f"{case.get('classname')}::{case.get('name')}"] = "failed" if bad else "skipped" if "skipped" in kinds else "passed"
    return found


def report(theirs: dict[str, str], ours: dict[str, str]) -> str:
    """Returns the table by file, of the tests that pass with slangpy and that count."""
    inside = [
        re.compile(line.split("#")[0].strip())
        for line in (HERE / "internals.txt").read_text().splitlines()
        if line[:1] not in ("", "#")
    ]
    counted, passed, left = Counter[str](), Counter[str](), Counter[str]()
    for name, outcome in theirs.items():
        file = name.split("::")[0].split(".")[-1]
        if outcome != "passed":
            continue
        if any(pattern.search(name) for pattern in inside):
            left[file] += 1
            continue
        counted[file] += 1
        passed[file] += ours.get(name) == "passed"
    rows = [f"| {f} | {counted[f]} | {passed[f]} | {left[f]} |" for f in sorted({*counted, *left})]
    total = (
        f"| **all** | {counted.total()} | {passed.total()} ({passed.total() / max(counted.total(), 1):.1%}) | {left.total()} |"
    )
    return "\n".join(["| file | counted | pass with fusepy | of its inside |", "|---|---|---|---|", *rows, total])


def rate(table: str) -> float:
    """Returns the part of the counted tests that pass, as the last row of a table has it."""
    counted, passed = table.splitlines()[-1].split("|")[2:4]
    return int(passed.split()[0]) / max(int(counted), 1)


def _replace(page: Path, table: str) -> None:
    text = page.read_text()
    start, end = text.index("| file |"), text.index("| **all** |")
    page.write_text(text[:start] + table + text[text.index("\n", end) :])


if __name__ == "__main__":
    main()
