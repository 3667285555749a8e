"""`Lost`: the replacement of a device that is closed or lost, and the error that its uses raise."""

from __future__ import annotations

from typing import NoReturn

from fusepy.errors import DeviceLostError


class Lost:
    """The replacement of a part of a device that is closed or lost. Any use of it raises `DeviceLostError`."""

    def __init__(self, cause: str):
        self._cause = cause

    def __getattr__(self, name: str) -> NoReturn:
        raise lost_error(self._cause)


def lost_error(cause: str) -> DeviceLostError:
    """Returns the error for a use of a device that is closed or lost."""
    return DeviceLostError(f"this device cannot be used: {cause}", hint="open one with fusepy.init_device()")
