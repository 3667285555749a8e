"""``fusepy new``: makes the folder of a small project that runs at once."""

from __future__ import annotations

import argparse
import keyword
import os
import re
from pathlib import Path

from fusepy.cli.project_files import project_files
from fusepy.errors import FusepyError


class CommandError(FusepyError, ValueError):
    """A command line that asks for something that cannot be done."""

    is_placed = False  # it comes from the command line


def run(arguments: argparse.Namespace) -> int:
    """Makes the folder NAME with a Slang file, a program, a test and a page.

    Raises:
        CommandError: if the name is no identifier, if there is something of this name, or if the system refuses the folder.
    """
    name = check_name(arguments.name)
    folder = Path(arguments.dir) / name
    if os.path.lexists(folder):
        raise CommandError(f"there is {folder} already", hint="choose another NAME, or another folder with --dir")
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise CommandError(
            f"cannot make the folder {folder}", saw=error.strerror, hint="name a folder that you may change: --dir DIR"
        ) from None
    for file, text in project_files(name).items():
        write_text(folder / file, text)
    print(f"{folder}: {', '.join(project_files(name))}")
    print(f"run it: python {folder / 'main.py'}")
    return 0


def check_name(name: str) -> str:
    """Returns `name`, if files of Slang and of Python can have it: letters, digits and underscores, but no word of Python.

    Raises:
        CommandError: for any other.
    """
    if re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) and not keyword.iskeyword(name):
        return name
    near = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")
    near = near if re.match(r"[A-Za-z]", near) else f"look_{near}".rstrip("_")
    raise CommandError(
        f"{name!r} cannot be the name of a project",
        expected="a letter, then letters, digits and underscores",
        hint=f"write fusepy new {near}_1" if keyword.iskeyword(near) else f"write fusepy new {near}",
    )


def write_text(path: Path, text: str) -> None:
    """Writes a text file.

    Raises:
        CommandError: if the system refuses it.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(
            f"cannot write {path}", saw=error.strerror, hint="name a file in a folder that exists and that you may change"
        ) from None
