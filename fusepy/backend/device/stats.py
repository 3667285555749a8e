"""`stats` and `clear_cache`: the counters of devices, and clearing their caches."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from fusepy.backend.device.device import open_devices
from fusepy.backend.device.open import as_device
from fusepy.errors import DeviceLostError

COUNTERS = ("dispatches", "kernels_compiled", "plan_hits", "plan_misses", "disk_hits", "disk_misses")


@dataclass(frozen=True)
class Stats:
    """Counters since a device was opened; sizes in bytes. ``stats()["dispatches"]`` works as well as ``stats().dispatches``."""

    dispatches: int
    kernels_compiled: int
    plan_hits: int
    plan_misses: int
    disk_hits: int
    disk_misses: int
    pool_live_bytes: int
    pool_peak_bytes: int
    pool_reserved_bytes: int

    def __getitem__(self, name: str) -> int:
        return getattr(self, name)


def stats(device: Any = None) -> Stats:
    """Returns the counters of a device, or the sum over all open devices. Opens none.

    Example:
        >>> stats().kernels_compiled >= 0
        True
    """
    counted = [[0] * len(fields(Stats))]
    for opened in open_devices() if device is None else [as_device(device)]:
        try:
            counts = [getattr(opened.counters, name) for name in COUNTERS]
            pool = opened.pool
            counted.append([*counts, pool.live_bytes, pool.peak_bytes, pool.reserved_bytes])
        except DeviceLostError:  # another thread has just closed it
            if device is not None:
                raise
    return Stats(*map(sum, zip(*counted)))


def clear_cache(disk: bool = False, device: Any = None) -> None:
    """Drops compiled kernels and free memory of a device, or of all open ones; with ``disk=True`` the disk cache as well.

    Functions keep working and compile again when called.
    """
    for opened in open_devices() if device is None else [as_device(device)]:
        try:
            opened.forget()
        except DeviceLostError:
            if device is not None:
                raise
        if disk:
            opened.cache.clear()
