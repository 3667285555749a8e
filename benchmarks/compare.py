"""``python -m benchmarks.compare BEFORE``: times this checkout beside the one in the folder BEFORE, in turns.

Each round runs every case in both checkouts, a process each, in the opposite order of the round before. A line of the table is
one measurement: its median over the rounds in each checkout, then the median and the range of the ratio "time here / time
before" within a round. Peers run as well, since cases need them; their lines tell how quiet the machine was.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.__main__ import table
from benchmarks.report import unit

HERE = Path(__file__).parents[1]
Times = dict[tuple[str, str], float]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("before", type=Path, metavar="BEFORE", help="the folder of another checkout of fusepy")
    parser.add_argument("--only", action="append", required=True, metavar="CASE", help="may be repeated")
    parser.add_argument("--device", choices=("vulkan", "cuda"), default="vulkan")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small sizes: does it run, not how fast")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    options = parser.parse_args(arguments)
    if not (options.before / "fusepy" / "__init__.py").exists():
        parser.error(f"{options.before} is no checkout of fusepy: it has no fusepy/__init__.py")
    rounds: list[tuple[Times, Times]] = []
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds} …", flush=True)
        order = [HERE, options.before] if number % 2 else [options.before, HERE]
        times = {tree: measure(tree, options) for tree in order}
        rounds.append((times[options.before], times[HERE]))
    table(
        "This checkout beside the other",
        ("case", "measured", "before", "here", "ratio", "rounds"),
        rows(rounds),
        options.markdown,
    )
    return 0


def measure(tree: Path, options: argparse.Namespace) -> Times:
    """Seconds for each (case, peer), as that checkout's own benchmark measures them in a process of its own."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [sys.executable, "-m", "benchmarks", "--device", options.device, "--json", file.name]
        command += [f"--only={case}" for case in options.only] + ["--quick"] * options.quick
        done = subprocess.run(command, cwd=tree, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"the benchmark failed in {tree}:\n{done.stdout[-3000:]}{done.stderr[-1000:]}")
        return {(t["case"], t["peer"]): t["seconds"] for t in json.loads(Path(file.name).read_text(encoding="utf-8"))["times"]}


def rows(rounds: Sequence[tuple[Times, Times]]) -> list[tuple[str, ...]]:
    """A line for each measurement that every round has in both checkouts."""
    pairs: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for before, here in rounds:
        for key in before.keys() & here.keys():
            pairs[key].append((before[key], here[key]))
    lines: list[tuple[str, ...]] = []
    for (case, peer), values in sorted(pairs.items()):
        if len(values) < len(rounds) or "search" in case:
            continue
        ratios = [here / before for before, here in values]
        medians = [unit(median(column)) for column in zip(*values)]
        lines.append((case, peer, *medians, f"{median(ratios):.2f}", f"{min(ratios):.2f}-{max(ratios):.2f}"))
    return lines


if __name__ == "__main__":
    sys.exit(main())
