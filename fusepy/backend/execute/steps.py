"""`Step`: one region of a program among the others, and where barriers stand between them.

Two steps without a barrier in between may overlap on the device, so memory is given back only behind one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fusepy.backend.execute.plan import Plan
    from fusepy.backend.execute.texture_results import Target


@dataclass
class Step:
    """One region: what it reads and fills.

    Attributes:
        plan: runs the region; its ``positions`` are slots.
        results: the slots of its results.
        acts: whether it writes memory that is no result of its own.
        temporary: whether it uses memory of its own, which is given back when it has run.
        barrier: whether it waits for what ran before it.
        release: slots that nobody reads any more when it starts.
        textures: of its results those that go into textures, which the program keeps from call to call.
        views: slots that show another one with axes of extent 1: the slot, the other one, and the axes.
    """

    plan: Plan
    results: tuple[int, ...]
    acts: bool = False
    temporary: bool = False
    barrier: bool = True
    release: tuple[int, ...] = ()
    split: list[Plan] | None = field(default=None, repr=False)
    textures: dict[int, Target] = field(default_factory=dict[int, "Target"])
    views: tuple[tuple[int, int, tuple[int, ...]], ...] = ()

    @property
    def reads(self) -> tuple[int, ...]:
        """The slots in whose memory it reads."""
        source = {slot: other for slot, other, _ in self.views}
        return tuple(source.get(slot, slot) for slot in self.plan.positions)


def place_barriers(steps: Sequence[Step], kept: frozenset[int]) -> None:
    """Says for each step whether it needs a barrier, and which slots are free from it on.

    A step waits where it reads a slot that was filled since the last barrier, where it or a step since then writes memory that
    others might see, and where one since then has given back memory of its own.

    Args:
        kept: slots that are arguments or results of the program, which are not given back.
    """
    last = {slot: i for i, step in enumerate(steps) for slot in (*step.reads, *step.results)}
    filled: set[int] = set()
    unsafe = False
    free_from = 0  # slots whose last use is before this step are not in use any more
    pending = sorted((i, slot) for slot, i in last.items() if slot not in kept)
    for i, step in enumerate(steps):
        step.barrier = i == 0 or unsafe or step.acts or any(p in filled for p in step.reads)
        if step.barrier:
            free_from = i
            filled.clear()
            unsafe = False
        step.release = tuple(slot for at, slot in pending if at < free_from)
        pending = [(at, slot) for at, slot in pending if at >= free_from]
        filled.update(step.results)
        unsafe = unsafe or step.acts or step.temporary
