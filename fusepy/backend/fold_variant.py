"""Which kernel of a region that folds: what it reads, what it writes, and how threads share the work."""

from __future__ import annotations

from dataclasses import dataclass

from fusepy.backend.operand import Variant


@dataclass(frozen=True)
class FoldShape:
    """How the elements of a chunk meet threads.

    Attributes:
        group: the threads of a group share chunks; else each has chunks of its own.
        inner: the dimensions that are folded are the last ones, so that the elements of a result are neighbours.
        threads: of a group.
        unroll: elements of a run that are spelled out one after the other, so that their loads are under way together.
        run: elements that are added before their sum goes to the accumulator; a multiple of `unroll`.
        columns: results that one thread works on side by side; there are at least as many as one group takes.
        lanes: threads of a group that share one chunk; the others have those of neighbours. By default all of them.
        ordered: the threads of a group have `unroll` neighbouring elements each, one thread behind the other: for scans.
        narrow: there are just these `columns`, and each thread has all of them, in a chunk of its own.
        rows: chunks are whole rows along the grid's last dimension, and all threads of a group are in the same one.
    """

    group: bool
    inner: bool
    threads: int
    unroll: int = 1
    run: int = 16
    columns: int = 1
    lanes: int = 0
    narrow: bool = False
    ordered: bool = False
    rows: bool = False

    @property
    def tile(self) -> int:
        """The elements that the threads of a group go through together in order; alone they go one by one."""
        return self.threads * self.unroll if self.ordered else 1

    @property
    def beside(self) -> int:
        """How many chunks a group works on side by side."""
        return self.threads // self.lanes if self.lanes else 1


@dataclass(frozen=True)
class FoldVariant(Variant):
    """A stage of a fold or scan, and its shape.

    Attributes:
        reads: ``"elements"``, which the body computes, or ``"partials"``, accumulators in memory.
        writes: ``"results"``, or ``"partials"``; a scan over partials replaces them.
        scans: writes what there is up to each element, and not the whole.
        carried: starts a scan from a partial for each chunk.
    """

    shape: FoldShape = FoldShape(True, True, 1)  # frozen
    reads: str = "elements"
    writes: str = "results"
    scans: bool = False
    carried: bool = False

    def __str__(self) -> str:
        s = self.shape
        what = "scan" if self.scans else "fold"
        shared = f", {s.lanes} to a chunk" if s.beside > 1 else " in order" if s.ordered else " along rows" if s.rows else ""
        how = f"groups of {s.threads}{shared}" if s.group else f"threads of {'all ' * s.narrow}{s.columns}"
        order = "inner" if s.inner else "outer"
        return f"{super().__str__()}, {what} {self.reads} to {self.writes} by {how}, {order}"
