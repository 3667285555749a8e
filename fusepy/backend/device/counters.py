"""`Counters`: counts of a device's events."""

from __future__ import annotations

NAMES = ("dispatches", "kernels_compiled", "plan_hits", "plan_misses", "disk_hits", "disk_misses")


class Counters:
    """The counters of one device that `fusepy.stats` reports. They outlive the device, so that sums over all never fall."""

    __slots__ = (*NAMES, "compile_seconds")

    def __init__(self) -> None:
        self.compile_seconds = 0.0  # in Slang and the driver, for kernels that were in no cache
        self.dispatches = self.kernels_compiled = self.plan_hits = self.plan_misses = self.disk_hits = self.disk_misses = 0
        _all.append(self)

    def values(self) -> list[int]:
        return [getattr(self, name) for name in NAMES]


_all: list[Counters] = []


def all_counters() -> list[Counters]:
    """Returns the counters of every device that this process has opened."""
    return list(_all)
