"""`Counters`: counts of a device's events."""

from __future__ import annotations


class Counters:
    """The counters of one device that `fusepy.stats` reports."""

    __slots__ = ("disk_hits", "disk_misses", "dispatches", "kernels_compiled", "plan_hits", "plan_misses")

    def __init__(self) -> None:
        self.dispatches = self.kernels_compiled = self.plan_hits = self.plan_misses = self.disk_hits = self.disk_misses = 0
