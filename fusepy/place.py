"""Where in the user's program something happens."""

from __future__ import annotations

import contextlib
import os
import sys

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_APPLICATION = os.path.join(_PACKAGE, "cli", "")  # the demo uses the library as anybody would
_NOT_THE_USER = (_PACKAGE, contextlib.__file__, "<frozen")


def user_line() -> str | None:
    """``file:line`` of the innermost frame outside of fusepy."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]  # inspect.stack() reads source files, which costs milliseconds
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_NOT_THE_USER) or name.startswith(_APPLICATION):
            return f"{os.path.basename(name)}:{frame.f_lineno}"
        frame = frame.f_back
    return None
