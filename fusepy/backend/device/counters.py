"""`Counters`: how often things have happened on a device."""

from __future__ import annotations


class Counters:
    """What `fusepy.stats` reports for one device."""

    __slots__ = ("disk_hits", "disk_misses", "dispatches", "kernels_compiled", "plan_hits", "plan_misses")

    def __init__(self) -> None:
        self.dispatches = self.kernels_compiled = self.plan_hits = self.plan_misses = self.disk_hits = self.disk_misses = 0
