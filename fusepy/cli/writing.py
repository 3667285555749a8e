"""Text files that commands write, and the error of a command."""

from __future__ import annotations

from pathlib import Path

from fusepy.errors import FusepyError


class CommandError(FusepyError, ValueError):
    """A command line that asks for something that cannot be done."""

    is_placed = False  # it comes from the command line


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
