"""Recorded calls of `lazy` that have not run yet. They run before something overwrites memory that they read.

All code that writes memory calls this module first, so that a recorded call sees its arguments as they were when it was recorded.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

import numpy as np

from fusepy.backend.memory.storage import Storage

# inside `lazy`: the function that records a call instead of running it
RECORDER: ContextVar[Callable[..., Any] | None] = ContextVar("fusepy_lazy", default=None)
# true while a call is described, not run: its pending arguments stay pending
DESCRIBING: ContextVar[bool] = ContextVar("fusepy_describing", default=False)
# recorded calls in order; weak references, because a call whose results are all dropped never runs
PENDING: dict[weakref.ref[Any], None] = {}


def waiting() -> list[Any]:
    """Returns the recorded calls of all threads, in order."""
    return [call for reference in list(PENDING) if (call := reference()) is not None]


@contextmanager
def describing() -> Generator[None, None, None]:
    """Keeps pending arguments pending inside: a call is described, not run."""
    token = DESCRIBING.set(True)
    try:
        yield
    finally:
        DESCRIBING.reset(token)


def before_write(tensor: Storage) -> None:
    """Runs the recorded calls that read memory of `tensor`. To be called before the memory is written or handed out."""
    for call in waiting():
        if call.reads(tensor):
            call.settle()


def before_effects() -> None:
    """Runs all recorded calls. To be called before code that may write any memory."""
    for call in waiting():
        call.settle()


def before_results(written: Iterable[Any]) -> None:
    """Runs the recorded calls that read the destinations of a call: tensors, arrays and other containers."""
    for target in written:
        if isinstance(target, (tuple, list)):
            before_results(cast("Sequence[Any]", target))
        elif hasattr(target, "address"):
            before_write(target)
        elif target is not None and not isinstance(target, np.ndarray):  # it may share memory with any tensor
            before_effects()
