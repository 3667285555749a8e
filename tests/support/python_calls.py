"""How much Python a call runs, counted rather than timed: the same on every machine, however busy it is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def python_calls(call: Callable[[], Any], warmup: int = 3) -> int:
    """How many functions, those of C included, one warm `call` of this thread calls."""
    for _ in range(warmup):
        call()
    count = 0

    def counted(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        call()
    finally:
        sys.setprofile(before)
    return count
