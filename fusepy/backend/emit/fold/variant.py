"""The variants of kernels of a region that folds: inputs, outputs, and the division of work among threads."""

from __future__ import annotations

from dataclasses import dataclass

from fusepy.backend.emit.fold.tile import ProductTile
from fusepy.backend.emit.operand import Variant


@dataclass(frozen=True)
class FoldShape:
    """The assignment of the elements of a chunk to threads.

    Attributes:
        group: the threads of a group share chunks; otherwise each thread has its own chunks.
        inner: the folded dimensions are the last ones, so that the elements of a result are neighbours.
        threads: threads of a group.
        unroll: elements of a run that are unrolled, so that their loads are in flight together.
        run: elements that are added before their sum goes to the accumulator; a multiple of `unroll`.
        columns: neighbouring results of one thread; there are at least as many results as one group takes. If there are fewer,
            several rows count as one.
        shared: a group has several neighbouring chunks; the parameter block has the number of threads per chunk.
        ordered: each thread of a group has `unroll` neighbouring elements, in the order of the threads: for scans.
        tile: what a thread computes of a product of matrices.
        rows: chunks are whole rows along the grid's last dimension, and all threads of a group are in the same row.
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
    tile: ProductTile | None = None


@dataclass(frozen=True)
class FoldVariant(Variant):
    """A stage of a fold or scan, and its shape.

    Attributes:
        reads: ``"elements"``, which the body computes, or ``"partials"``, accumulators in memory.
        writes: ``"results"``, or ``"partials"``; ``"either"`` is results where there is one chunk. A scan
            over partials replaces them.
        scans: writes the result up to each element instead of the total; each of several chunks starts from a partial. Over
            partials it writes the totals of chunks instead if ``totals`` is set in the parameter block.
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
        """True if it writes results, at least if there is one chunk."""
        return self.writes in ("results", "either")

    def __str__(self) -> str:
        s = self.shape
        what = "scan" if self.scans else "fold"
        shared = ", some to a chunk" if s.shared else " in order" if s.ordered else " along rows" if s.rows else ""
        how = f"groups of {s.threads}{shared}" if s.group else f"threads of {s.columns}"
        writes = "results or partials" if self.writes == "either" else self.writes
        order = "inner" if s.inner else "outer"
        if s.tile is not None:
            return f"{super().__str__()}, matrices to {'dense ' * self.dense}{writes} by {s.tile.described(s.threads)}"
        return f"{super().__str__()}, {what} {self.reads} to {writes} by {how}, {order}"
