"""The ``fusepy`` command: ``new`` makes a project, ``demo`` develops a photograph, ``doctor`` reports problems, ``cache`` shows
or empties the disk cache, ``studio`` builds graphs in the browser.

Imports everything.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from fusepy.cli.version import version
from fusepy.errors import FusepyError


def parser() -> argparse.ArgumentParser:
    """Returns the parser of the command line."""
    top = argparse.ArgumentParser(prog="fusepy", description="A lazy tracing and fusion compiler for Slang functions.")
    top.add_argument("--version", action="version", version=f"fusepy {version()}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    _add_new(commands.add_parser("new", help="make a folder with a small project that runs at once"))

    demo = commands.add_parser("demo", help="develop a photograph with Slang functions fused into one kernel")
    demo.add_argument("image", nargs="?", metavar="IMAGE", help="a photograph; by default one of scikit-image")
    demo.add_argument("-o", "--output", default="demo.png", metavar="OUT", help="the picture to write (default: %(default)s)")
    demo.add_argument("--device", metavar="TYPE", help="vulkan, cuda, metal, d3d12 or cpu; by default the best one")
    demo.set_defaults(run=_demo)

    doctor = commands.add_parser("doctor", help="say what was found, what is missing, and how to get it")
    doctor.add_argument("--json", action="store_true", help="print JSON, for programs and bug reports")
    doctor.set_defaults(run=_doctor)

    cache = commands.add_parser("cache", help="show the disk cache of compiled kernels")
    cache.add_argument("--clear", action="store_true", help="remove every entry")
    cache.set_defaults(run=_cache)

    studio = commands.add_parser("studio", help="build graphs by hand in the browser")
    studio.add_argument("file", nargs="?", metavar="FILE.json", help="the document to open or make; its folder is the studio's")
    studio.add_argument("--module", action="append", default=[], metavar="LOOK.slang", help="offer the functions of a Slang file")
    studio.add_argument(
        "--functions", action="append", default=[], metavar="MINE.py", help="run a Python file and offer its fused functions"
    )
    studio.add_argument("--port", type=int, default=0, help="of this machine; by default a free one")
    studio.add_argument("--no-browser", dest="browser", action="store_false", help="print the address only")
    studio.set_defaults(run=_studio)
    return top


def _add_new(new: argparse.ArgumentParser) -> None:
    new.add_argument("name", metavar="NAME", help="of the project: letters, digits and underscores")
    new.add_argument("--dir", default=".", metavar="DIR", help="the folder in which NAME is made (default: this one)")
    new.set_defaults(run=_new)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command. Returns its exit code: 0, 1 for a failure, 2 for a wrong command line."""
    arguments = parser().parse_args(argv)
    try:
        return arguments.run(arguments)
    except FusepyError as error:
        print(f"fusepy {arguments.command}: {error.without_place}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


# Each command is imported when it runs: `fusepy doctor` must work if the packages for `fusepy demo` are missing.
def _new(arguments: argparse.Namespace) -> int:
    from fusepy.cli import new

    return new.run(arguments)


def _demo(arguments: argparse.Namespace) -> int:
    from fusepy.cli import demo

    return demo.run(arguments)


def _doctor(arguments: argparse.Namespace) -> int:
    from fusepy.cli import doctor

    return doctor.run(arguments)


def _cache(arguments: argparse.Namespace) -> int:
    from fusepy.cli import cache

    return cache.run(arguments)


def _studio(arguments: argparse.Namespace) -> int:
    from fusepy.cli import studio

    return studio.run(arguments)
