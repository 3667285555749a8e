"""The line of the user's program that an error or a recorded call belongs to."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Generator
from contextvars import ContextVar
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from fusepy.errors import FusepyError

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_APPLICATION = os.path.join(_PACKAGE, "cli", "")  # the demo uses the library as anybody would
_NUMPY = os.path.join(os.path.dirname(os.path.abspath(np.__file__)), "")  # its functions call the methods of traced values
_PYTHON = os.path.join(os.path.dirname(os.path.abspath(os.__file__)), "")
_NOT_THE_USER = (_PACKAGE, _NUMPY, "<frozen")
_users: dict[str, bool] = {}  # a cache, since every recorded call asks: True for a file of the user's
_said: ContextVar[tuple[FrameType, str] | None] = ContextVar("fusepy_line", default=None)

Place = tuple[str, int]


def user_line() -> str | None:
    """Returns ``file:line`` of the innermost frame outside fusepy; if there is none, the line that `at_line` has set."""
    said, known = _said.get(), _users
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]  # inspect.stack() reads source files, which costs milliseconds
    while frame is not None:
        if said is not None and frame is said[0]:
            return said[1]
        name = frame.f_code.co_filename
        if (known[name] if name in known else _is_users(name)) and (name != "<string>" or not _is_made(frame)):
            return line_of((name, frame.f_lineno))
        frame = frame.f_back
    return None


def user_place(above: int = 1) -> Place | None:
    """Returns file and line of the innermost frame outside fusepy. Cheaper than `user_line`, since it makes no text.

    Args:
        above: the number of frames to skip, which the caller knows to be fusepy's.
    """
    known = _users
    frame = sys._getframe(above)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        name = frame.f_code.co_filename
        if (known[name] if name in known else _is_users(name)) and (name != "<string>" or not _is_made(frame)):
            return name, frame.f_lineno
        frame = frame.f_back
    return None


def users_name(value: object) -> str | None:
    """Returns the name of the variable, local or global, that holds a value in the innermost frame outside fusepy."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and not _is_users(frame.f_code.co_filename):
        frame = frame.f_back
    for scope in () if frame is None else (frame.f_locals, frame.f_globals):
        for name, known in [*scope.items()]:
            if known is value and name.isidentifier():
                return name
    return None


def line_of(place: Place | None) -> str | None:
    """Returns a place as ``file:line``."""
    return None if place is None else f"{' '.join(os.path.basename(place[0]).split())}:{place[1]}"


def is_users(frame: FrameType) -> bool:
    """True for a frame of the user's program."""
    name = frame.f_code.co_filename
    return _is_users(name) and (name != "<string>" or not _is_made(frame))


def _is_users(name: str) -> bool:
    known = _users.get(name)
    if known is None:  # torch calls the functions that it differentiates, and is not imported here
        known = not name.startswith(_NOT_THE_USER) and f"-packages{os.sep}torch{os.sep}" not in name and not _is_pythons(name)
        known = _users[name] = known or name.startswith(_APPLICATION)
    return known


def _is_pythons(name: str) -> bool:
    """True for a file of Python's own library, such as `random`, which asks its arguments for their integers."""
    return name.startswith(_PYTHON) and "-packages" not in name


def _is_made(frame: FrameType) -> bool:
    """True for code that a module with a file made of text, as ``__init__`` of dataclasses; ``python -c`` has no file."""
    return "__file__" in frame.f_globals


def line_in(trace: TracebackType | None) -> str | None:
    """Returns ``file:line`` of the innermost frame of a traceback outside fusepy and Python's own modules."""
    line = None
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if _is_users(name):
            line = line_of((name, trace.tb_lineno))
        trace = trace.tb_next
    return line


@contextlib.contextmanager
def at_line(loc: str | None) -> Generator[None, None, None]:
    """Sets the user's line for the code inside, such as a recorded call that runs later; ``None`` changes nothing.

    Python code of the user's that runs inside, such as a fused function, keeps its own lines.

    Example:
        >>> with at_line("scene.py:3"):
        ...     user_line()
        'scene.py:3'
    """
    frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]  # the frame of the `with`, outside this one and contextlib's
    token = _said.set((frame, loc) if loc is not None else _said.get())
    try:
        yield
    finally:
        _said.reset(token)


FusepyError.user_line = staticmethod(user_line)


# by file, as Python keeps them for warnings: it empties a registry when the filters for warnings have changed
_warned_at: dict[str, dict[Any, Any]] = {}


def warn_once(text: str, category: type[Warning]) -> None:
    """Warns with the user's line, once for each line and text; again after the filters for warnings have changed."""
    file, line = user_place() or ("<unknown>", 0)
    registry = _warned_at.setdefault(file, {})
    warnings.warn_explicit(text, category, file, line, registry=registry)
    registry[text, category, line] = True  # also under "always", which would warn of each call
