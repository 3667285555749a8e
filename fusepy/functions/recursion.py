"""The functions that are being traced, so that none traces itself."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from fusepy.errors import TraceRecursionError
from fusepy.location import user_line

_tracing: ContextVar[tuple[Any, ...]] = ContextVar("fusepy_tracing", default=())


@contextmanager
def entered(function: Any, name: str) -> Generator[None, None, None]:
    """Marks a fused function as being traced, so that it cannot trace itself.

    Raises:
        TraceRecursionError: shows the cycle.
    """
    stack = _tracing.get()
    if function in stack:
        cycle = " -> ".join([*(f.__name__ for f in stack[stack.index(function) :]), name])
        raise TraceRecursionError(
            f"{name} calls itself while it is traced",
            place=user_line(),
            saw=cycle,
            hint="write the recursion in Slang, or as a loop",
        )
    token = _tracing.set((*stack, function))
    try:
        yield
    finally:
        _tracing.reset(token)
