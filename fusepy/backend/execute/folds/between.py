"""The memory between the stages of folds, scans and sorts: accumulators, and the pairs and counts of sorts."""

from __future__ import annotations

from collections.abc import Iterable

from fusepy.backend.emit.fold.variant import FoldVariant
from fusepy.backend.execute.folds.plan import ReducePlan
from fusepy.backend.execute.launch import Launch, Make


def made_between(launches: Iterable[Launch]) -> dict[int, Make]:
    """Returns this memory of some launches, by slot."""
    return {
        slot: Make(slot, launch.plan.partial_bytes(length, launch.variant.shape.waits), None, (length,))
        for launch in launches
        if isinstance(launch.plan, ReducePlan) and isinstance(launch.variant, FoldVariant)
        for slot, length in launch.made
    }
