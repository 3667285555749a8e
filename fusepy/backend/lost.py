"""What stands in the place of a device that is closed or lost, and the error that its uses raise."""

from __future__ import annotations

from typing import NoReturn

from fusepy.errors import DeviceLostError


class Lost:
    """Stands where a part of a device was that is closed or lost: any use of it raises `DeviceLostError`."""

    def __init__(self, cause: str):
        self._cause = cause

    def __getattr__(self, name: str) -> NoReturn:
        raise lost_error(self._cause)


def lost_error(cause: str) -> DeviceLostError:
    """The error of every use of a device that is closed or lost."""
    return DeviceLostError(f"this device cannot be used: {cause}", hint="open one with fusepy.init_device()")
