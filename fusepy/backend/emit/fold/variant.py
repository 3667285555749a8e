"""Which kernel of a region that folds: what it reads, what it writes, and how threads share the work."""

from __future__ import annotations

from dataclasses import dataclass

from fusepy.backend.emit.operand import Variant


@dataclass(frozen=True)
class FoldShape:
    """How the elements of a chunk meet threads.

    Attributes:
        group: the threads of a group share chunks; else each has chunks of its own.
        inner: the dimensions that are folded are the last ones, so that the elements of a result are neighbours.
        threads: of a group.
        unroll: elements of a run that are spelled out one after the other, so that their loads are under way together.
        run: elements that are added before their sum goes to the accumulator; a multiple of `unroll`.
        columns: results that one thread works on side by side; there are at least as many as one group takes. Where there are
            fewer, several rows count as one.
        shared: a group has several chunks, those of neighbours, and a number of the parameter block says how many threads each.
        ordered: the threads of a group have `unroll` neighbouring elements each, one thread behind the other: for scans.
        rows: chunks are whole rows along the grid's last dimension, and all threads of a group are in the same one.
    """

    group: bool
    inner: bool
    threads: int
    unroll: int = 1
    run: int = 16
    columns: int = 1
    shared: bool = False
    ordered: bool = False
    rows: bool = False


@dataclass(frozen=True)
class FoldVariant(Variant):
    """A stage of a fold or scan, and its shape.

    Attributes:
        reads: ``"elements"``, which the body computes, or ``"partials"``, accumulators in memory.
        writes: ``"results"``, or ``"partials"``; ``"either"`` is results where there is one chunk. A scan
            over partials replaces them.
        scans: writes what there is up to each element, and not the whole; where there are several chunks it starts from a partial
            for each. Over partials it leaves the wholes of chunks instead if the parameter block says so.
    """

    shape: FoldShape = FoldShape(True, True, 1)  # frozen
    reads: str = "elements"
    writes: str = "results"
    scans: bool = False

    @property
    def of_elements(self) -> bool:
        return self.reads == "elements"

    @property
    def finishes(self) -> bool:
        """Whether it writes results, at least where there is one chunk."""
        return self.writes in ("results", "either")

    def __str__(self) -> str:
        s = self.shape
        what = "scan" if self.scans else "fold"
        shared = ", some to a chunk" if s.shared else " in order" if s.ordered else " along rows" if s.rows else ""
        how = f"groups of {s.threads}{shared}" if s.group else f"threads of {s.columns}"
        writes = "results or partials" if self.writes == "either" else self.writes
        order = "inner" if s.inner else "outer"
        return f"{super().__str__()}, {what} {self.reads} to {writes} by {how}, {order}"
