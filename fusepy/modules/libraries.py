"""Slang modules of fusepy's own: loaded once for each device."""

from __future__ import annotations

from collections.abc import Callable

from fusepy.backend.device.device import Device
from fusepy.modules.module import Module


def library(device: Device, name: str, load: Callable[[Device], Module]) -> Module:
    """Returns the module `name` of a device, by `load` where it is not loaded yet."""
    found = device.libraries.get(name)
    if found is None:
        found = device.libraries[name] = load(device)
    return found
