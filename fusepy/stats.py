"""`stats` and `clear_cache`: what the default device has done, and forgetting it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fusepy.device import as_device


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
    """What a device (the default one) has done so far.

    Example:
        >>> stats().kernels_compiled >= 0
        True
    """
    opened = as_device(device)
    c, pool = opened.counters, opened.pool
    return Stats(
        c.dispatches,
        c.kernels_compiled,
        c.plan_hits,
        c.plan_misses,
        c.disk_hits,
        c.disk_misses,
        pool.live_bytes,
        pool.peak_bytes,
        pool.reserved_bytes,
    )


def clear_cache(disk: bool = False, device: Any = None) -> None:
    """Drops compiled kernels and free memory of a device; with ``disk=True`` the disk cache as well.

    Functions keep working and compile again when called.
    """
    opened = as_device(device)
    opened.forget()
    if disk:
        opened.cache.clear()
