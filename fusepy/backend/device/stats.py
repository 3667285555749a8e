"""`stats` and `clear_cache`: the counters of devices, and clearing their caches."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from fusepy.backend.device.counters import all_counters
from fusepy.backend.device.device import Device, open_devices
from fusepy.backend.device.open import as_device
from fusepy.errors import DeviceLostError


@dataclass(frozen=True)
class Stats:
    """Counts of events, and sizes in bytes. ``stats()["dispatches"]`` works as well as ``stats().dispatches``."""

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
    """Returns the counters of a device since it was opened; or of all: events of closed devices too, memory of open ones.

    Opens none.

    Example:
        >>> stats().kernels_compiled >= 0
        True
    """
    if device is not None:
        opened = as_device(device)
        return Stats(*opened.counters.values(), *_sizes(opened))
    events = [counters.values() for counters in all_counters()]
    sizes: list[list[int]] = []
    for opened in open_devices():
        with suppress(DeviceLostError):  # another thread has just closed it
            sizes.append(_sizes(opened))
    return Stats(*_sums(events, 6), *_sums(sizes, 3))


def _sizes(device: Device) -> list[int]:
    pool = device.pool
    return [pool.live_bytes, pool.peak_bytes, pool.reserved_bytes]


def _sums(rows: list[list[int]], columns: int) -> list[int]:
    return [sum(row[i] for row in rows) for i in range(columns)]


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
