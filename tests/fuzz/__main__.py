"""``python -m tests.fuzz --seconds 60 --seed 1 --jobs 2``; see docs/reliability.md."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def main() -> int:
    """Runs a campaign, repeats one program, or is a worker of a campaign."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1, help="where to begin; each seed has a million programs")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--torch", action="store_true", help="pass torch tensors as well")
    parser.add_argument("--findings", type=Path, default=Path("findings"), help="the folder that findings are written to")
    parser.add_argument("--repeat", metavar="PROGRAM", help="the number of one program, or the JSON file of a finding")
    parser.add_argument("--shrink", metavar="FINDING", help="the JSON file of a finding: make its program small")
    parser.add_argument("--worker", nargs=2, type=int, metavar=("FIRST", "COUNT"), help=argparse.SUPPRESS)
    parser.add_argument("--text", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker or options.text:
        from tests.fuzz import worker

        worker.main(*(options.worker or (0, 0)), options.torch, options.text)
        return 0
    if options.repeat:
        from tests.fuzz.shrink import repeat

        return repeat(options.repeat, options.torch)
    if options.shrink:
        from tests.fuzz.shrink import shrink_file

        shrink_file(Path(options.shrink))
        return 0
    from tests.fuzz.campaign import Campaign

    summary = Campaign(options.seconds, options.seed, options.jobs, options.findings, options.torch).run()
    print(summary)
    return 1 if summary.findings else 0


if __name__ == "__main__":
    sys.exit(main())
