"""Native devices that are not in use, kept for the next `init_device` with the same options.

sgl's own `close` must not run while a thread waits for the device: the process ends when a thread asks a closed device about its
work. A device that is dropped without `close`, or closed while objects refer to it, keeps about 180 MB, six threads and a file
for good. `Device.close` therefore keeps the native device for the next one. A process has at most as many devices of each kind as
were open at the same time, and `MOST` idle ones.
"""

from __future__ import annotations

import ctypes
import time
from collections import deque
from collections.abc import Hashable
from typing import Any

import slangpy as spy

MOST = 4  # idle devices; beyond it the longest idle one is closed


class _Idle:
    """An idle native device, the options that opened it, and the waits of its last `Device` that have not ended."""

    def __init__(self, options: Hashable, sgl: spy.Device, waits: deque[Any]):
        self.options = options
        self.sgl = sgl
        self.waits = waits


# changed by operations that are atomic in CPython only: a finaliser may run in the midst of a function of this module
_idle: list[_Idle] = []


def give(options: Hashable, sgl: spy.Device, waits: deque[Any]) -> None:
    """Keeps a native device whose work is finished. Threads in `waits` may still query it once."""
    _idle.append(_Idle(options, sgl, waits))
    for entry in _idle[:-MOST]:
        if not entry.waits and _remove(entry):
            entry.sgl.close()


def take(options: Hashable) -> spy.Device | None:
    """Removes and returns an idle native device that was opened with these options, or returns None."""
    return next((entry.sgl for entry in reversed(_idle[:]) if entry.options == options and _remove(entry)), None)


def _remove(entry: _Idle) -> bool:
    """Removes an entry. Returns false if another thread was faster."""
    try:
        _idle.remove(entry)
    except ValueError:
        return False
    return True


def settle(seconds: float = 1.0) -> None:
    """Waits, at most this long, until no thread waits for an idle device any more: all work on it is then finished."""
    end = time.monotonic() + seconds
    while any(entry.waits for entry in _idle[:]) and time.monotonic() < end:
        time.sleep(1e-3)


def keep_for_good(*things: Any) -> None:
    """Keeps objects alive until the process ends, because they cannot be closed. The idle devices are kept with them.

    In the child of a fork the driver's threads do not exist. Where CUDA is broken, any use of its objects ends the process.
    """
    kept = (*things, _idle[:])
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))  # also behind the end of the interpreter
    _idle.clear()
