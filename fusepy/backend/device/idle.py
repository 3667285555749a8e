"""Native devices that nobody uses now, kept for the next `init_device` with the same options.

sgl's own `close` must not be called beside threads that still wait for such a device: asking a closed one whether work is
finished ends the process. And a device that is dropped without `close`, or closed while anything still refers to it, keeps some
180 MB, six threads and a file for good. So `Device.close` gives the native device to the next one instead: a process has at most
as many of each kind as were open at the same time, and `MOST` more that are idle.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Hashable
from typing import Any

import slangpy as spy

MOST = 4  # what is idle beyond it is closed, the one first that has been idle for the longest time


class _Idle:
    """A native device, what it was opened with, and the waits of the last `Device` that still end on it."""

    def __init__(self, options: Hashable, sgl: spy.Device, waits: deque[Any]):
        self.options = options
        self.sgl = sgl
        self.waits = waits


# only changed by what is atomic in CPython: a finaliser may come here while this very thread is here already
_idle: list[_Idle] = []
_of_parent: list[Any] = []


def give(options: Hashable, sgl: spy.Device, waits: deque[Any]) -> None:
    """Keeps a native device on which all work is finished; threads in `waits` may look at it once more."""
    _idle.append(_Idle(options, sgl, waits))
    for entry in _idle[:-MOST]:
        if not entry.waits and _remove(entry):
            entry.sgl.close()


def take(options: Hashable) -> spy.Device | None:
    """An idle native device that was opened with these options, if there is one; it is the caller's now."""
    return next((entry.sgl for entry in reversed(_idle[:]) if entry.options == options and _remove(entry)), None)


def _remove(entry: _Idle) -> bool:
    """Takes an entry out; false if another thread was faster."""
    try:
        _idle.remove(entry)
    except ValueError:
        return False
    return True


def settle(seconds: float = 1.0) -> None:
    """Waits, no longer than this, until no thread waits for an idle device any more: all work on it is finished."""
    end = time.monotonic() + seconds
    while any(entry.waits for entry in _idle[:]) and time.monotonic() < end:
        time.sleep(1e-3)


def leave_to_parent(*things: Any) -> None:
    """In the child of a fork: lets nothing use these any more, and does not end them, since a driver's threads are gone here."""
    _of_parent.extend((*things, _idle[:]))
    _idle.clear()
