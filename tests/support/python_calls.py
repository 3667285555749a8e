"""How much Python a call runs, counted rather than timed: the same on every machine, however busy it is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from typing import Any


def python_calls(call: Callable[[], Any], warmup: int = 3, events: Collection[str] = ("call", "c_call")) -> int:
    """The number of functions that one warm `call` of this thread calls; by its `events`, those of C are included."""
    for _ in range(warmup):
        call()
    count = 0

    def counted(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in events

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        call()
    finally:
        sys.setprofile(before)
    return count
