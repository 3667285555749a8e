"""Where in the user's program something happens."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator
from contextvars import ContextVar

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_APPLICATION = os.path.join(_PACKAGE, "cli", "")  # the demo uses the library as anybody would
_NOT_THE_USER = (_PACKAGE, contextlib.__file__, "<frozen")
_said: ContextVar[str | None] = ContextVar("fusepy_line", default=None)


_users: dict[str, bool] = {}  # whether a file is the user's, since this is asked for every recorded call

Place = tuple[str, int]


def user_line() -> str | None:
    """``file:line`` of the innermost frame outside of fusepy, or what `at_line` says."""
    said = _said.get()
    return line_of(user_place()) if said is None else said


def user_place() -> Place | None:
    """File and line of the innermost frame outside of fusepy, for whoever will hardly ever need them as text."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]  # inspect.stack() reads source files, which costs milliseconds
    while frame is not None:
        name = frame.f_code.co_filename
        users = _users.get(name)
        if users is None:
            users = _users[name] = not name.startswith(_NOT_THE_USER) or name.startswith(_APPLICATION)
        if users:
            return name, frame.f_lineno
        frame = frame.f_back
    return None


def line_of(place: Place | None) -> str | None:
    """``file:line`` of a place."""
    return None if place is None else f"{os.path.basename(place[0])}:{place[1]}"


@contextlib.contextmanager
def at_line(loc: str | None) -> Generator[None, None, None]:
    """Says where the user wrote what runs inside: a recorded call that is replayed elsewhere. ``None`` looks at the stack again.

    Example:
        >>> with at_line("scene.py:3"):
        ...     user_line()
        'scene.py:3'
    """
    token = _said.set(loc)
    try:
        yield
    finally:
        _said.reset(token)
