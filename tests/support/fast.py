"""Fast paths: whether a call takes one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from fusepy.functions.device_function import DeviceFunction


class Ordinary(Exception):
    """A call went the ordinary way."""


def is_fast(call: Callable[[], Any]) -> bool:
    """True if a call takes a fast path."""
    with pytest.MonkeyPatch.context() as patch:

        def refuse(*_: Any) -> Any:
            raise Ordinary

        patch.setattr("fusepy.functions.device_function.run", refuse)
        try:
            call()
        except Ordinary:
            return False
    return True


def fast(function: Any) -> int:
    """The number of fast paths of a function."""
    return len(cast("DeviceFunction", function).programs.fast)
