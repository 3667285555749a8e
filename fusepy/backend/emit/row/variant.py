"""The variants of kernels that go along rows or columns: the threads that share one, and the elements that they hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from fusepy.backend.emit.variant import Variant

RUN = 16  # elements that are added plainly before their sum goes to the accumulator, see decision 011


@dataclass(frozen=True)
class RowShape:
    """The assignment of rows to threads. The number of threads that share a row is a power of two.

    Attributes:
        threads: threads of a group, which has several rows if a row needs fewer.
        held: elements of a row that each thread holds in registers; 0 if every stage reads the row again.
        ahead: elements of a thread whose loads are in flight together.
        reach: which threads may share a row: those of a ``"group"``, of a ``"wave"``, or one ``"thread"`` has it alone. How many
            do is a parameter of the kernel unless `lanes` says it; it may be one.
        exact: no thread computes an element beyond the end of its row: loops end there, or the threads hold exactly one row.
            Otherwise a thread computes the last element again instead, so that all loads can be in flight together.
        sure: elements of every thread that lie in the row for certain, so that nothing is asked of them.
        columns: rows lie side by side in memory, as columns do: neighbouring threads have neighbouring ones. The threads that
            share a column stand as far apart in their group as it has columns.
        lanes: the number of threads that share a row; 0 if it is a parameter of the kernel. Where it is known, and elements are
            neighbours, a thread computes one address for all its elements: half the instructions of a row of halfs.
        turns: a group takes several of its places one after the other; the parameter block has the number.
    """

    threads: int
    held: int
    ahead: int = 8
    reach: str = "group"
    exact: bool = False
    columns: bool = False
    sure: int = 0
    lanes: int = 0
    turns: bool = False


@dataclass(frozen=True)
class RowVariant(Variant):
    """A kernel that goes along rows, and its shape."""

    shape: RowShape = RowShape(128, 8)  # frozen

    def ran(self, sizes: Mapping[str, int]) -> RowVariant:
        """Returns what the kernel does in a dispatch with these numbers in the parameter block."""
        alone = self.shape.reach == "wave" and sizes["lanes"] == 1
        return replace(self, shape=replace(self.shape, reach="thread")) if alone else self

    def __str__(self) -> str:
        s = self.shape
        keep = (
            f"{s.held} elements a thread in registers{', all of them full' * s.exact}"
            if s.held
            else f"{'columns' if s.columns else 'rows'} read once for each stage"
        )
        own = {"group": f"groups of {s.threads}", "wave": "waves", "thread": "single threads"}[s.reach]
        near = ", neighbours in memory" * (self.near is not None)
        return f"{super().__str__()}, {'columns' if s.columns else 'rows'} by {own}, {keep}{near}"
