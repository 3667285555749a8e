"""Recorded calls of which one cannot run: the others run without it, and its results raise its error whenever they are used.

Most errors are raised when a call is recorded. What the compiler refuses is known only when the call runs, with others.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

from fusepy.deferred.calls import Call
from fusepy.errors import DeviceLostError, FusepyError, OutOfDeviceMemory
from fusepy.location import line_of

_OF_THE_DEVICE = (DeviceLostError, OutOfDeviceMemory)  # no fault of a call: with more memory it may run

Run = Callable[[Sequence[Call]], None]


def run_all(calls: Sequence[Call], run: Run) -> None:
    """Runs calls that are connected, as one program; if that fails, each by itself with those that it depends on.

    A call that cannot run keeps its `error`.

    Raises:
        DeviceLostError, OutOfDeviceMemory: then nothing has changed.
    """
    try:
        run(calls)
    except _OF_THE_DEVICE:
        raise
    except FusepyError:
        for call in calls:
            if any(reference() is not None for reference in call.results):
                call.error = _error(call, calls, run)
    Call.finish(calls)


def _error(call: Call, calls: Sequence[Call], run: Run) -> FusepyError | None:
    """Runs a call with those that it depends on; returns why it cannot run."""
    needed = _behind(call, calls)
    known = next((c.error for c in needed if c.error is not None), None)
    if known is not None:
        return known
    try:
        run(needed)
    except _OF_THE_DEVICE:
        raise
    except FusepyError as error:
        return copy.copy(error).at(line_of(call.place))  # without its traceback, which keeps values alive
    return None


def _behind(call: Call, calls: Sequence[Call]) -> list[Call]:
    """Returns a call and those of `calls` that it depends on, in order."""
    needed, open = {call}, [call]
    while open:
        found = {leaf[0] for leaf in open.pop().leaves if leaf.__class__ is tuple} - needed
        needed |= found
        open += found
    return [c for c in calls if c in needed]
