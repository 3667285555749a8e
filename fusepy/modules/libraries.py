"""Slang modules of fusepy's own: loaded once for each device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fusepy.backend.device.device import Device

T = TypeVar("T")


def library(device: Device, name: str, load: Callable[[Device], T]) -> T:
    """Returns the module `name` of a device, or a value made of it; `load` makes it at the first request."""
    found: Any = device.libraries.get(name)
    if found is None:
        found = device.libraries[name] = load(device)
    return found
