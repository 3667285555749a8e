"""The variants of kernels of a region that folds: inputs, outputs, and the division of work among threads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from fusepy.backend.emit.fold.tile import GroupTile, ProductTile
from fusepy.backend.emit.variant import Variant

T = TypeVar("T")


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
        tile: the part of a product of matrices that a thread computes; on a GPU, of this or another fold of pairs, a group.
        rows: chunks are whole rows along the grid's last dimension, and all threads of a group are in the same row.
        short: results have few elements each, which one thread reads for `columns` results; the loads of `unroll` elements of
            each are in flight together. If they are `ordered`, a group loads and stores the elements of its rows as they lie in
            memory, side by side, and the parameter block has the number of elements of each thread.
        waits: the group of a result's last chunk waits for those of its other chunks, and merges what they stored.
        resident: the groups of a multiprocessor that CUDA's compiler keeps registers for; 0 leaves it to the compiler.
        turns: a group takes several of its places one after the other; the parameter block has the number.
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
    waits: bool = False
    resident: int = 0
    turns: bool = False
    short: bool = False
    tile: ProductTile | GroupTile | None = None


@dataclass(frozen=True)
class FoldVariant(Variant):
    """A stage of a fold or scan, and its shape; with `others`, a kernel that runs one of several stages.

    Attributes:
        reads: ``"elements"``, which the body computes, or ``"partials"``, accumulators in memory; ``"either"`` is partials where
            ``stage`` in the parameter block is 1.
        writes: ``"results"``, or ``"partials"``; ``"either"`` is results where there is one chunk. A scan
            over partials replaces them.
        scans: writes the result up to each element instead of the total; each of several chunks starts from a partial. It
            writes the totals of chunks instead if ``totals`` is set in the parameter block.
        sorts: writes elements in order; it reads elements, or partials that are sorted in runs.
        digits: it sorts by one digit of the keys after the other, see `fold.sorting.digits`; ``"counts"`` are of its digits.
        others: further stages of the same kernel; ``stage`` in the parameter block chooses, 0 is the variant's own. They share
            nothing with it, as loops and results are shared where a kernel reads either.
    """

    shape: FoldShape = FoldShape(True, True, 1)  # frozen
    reads: str = "elements"
    writes: str = "results"
    scans: bool = False
    sorts: bool = False
    digits: bool = False
    others: tuple[FoldVariant, ...] = ()

    @property
    def stages(self) -> tuple[FoldVariant, ...]:
        """The stages that the kernel can run."""
        return replace(self, others=()), *self.others

    def widened(self) -> FoldVariant:
        """Returns the same with indices of 64 bits."""
        return replace(self, wide=True, others=tuple(v.widened() for v in self.others))

    def ran(self, sizes: Mapping[str, int]) -> FoldVariant:
        """Returns what the kernel does in a dispatch with these numbers in the parameter block."""
        if self.others:
            return self.stages[sizes["stage"]]
        reads = ("elements", "partials")[sizes["stage"]] if self.reads == "either" else self.reads
        several = sizes["chunks"] > 1 or sizes.get("rows", 1) > 1
        several = not sizes["last"] if "last" in sizes else several
        writes = ("results", "partials")[several] if self.writes == "either" else self.writes
        return replace(self, reads=reads, writes=writes)

    def part(self, counted: T, summed: T, moved: T) -> T:
        """Returns the one for the kernel's part of a pass by digits: it counts values, adds up counts, or moves pairs."""
        if self.reads == "counts":
            return summed
        return counted if self.of_elements or self.writes == "counts" else moved

    @property
    def of_elements(self) -> bool:
        return self.reads in ("elements", "either")

    @property
    def finishes(self) -> bool:
        """True if it writes results, at least if there is one chunk."""
        return self.writes in ("results", "either")

    def __str__(self) -> str:
        s = self.shape
        what = "sort by digits" if self.digits else "sort" if self.sorts else "scan" if self.scans else "fold"
        shared = ", some to a chunk" if s.shared else " in order" if s.ordered else " along rows" if s.rows else ""
        shared = ", rows side by side" if s.short else f"{shared}, of which the last merges" if s.waits else shared
        how = f"groups of {s.threads}{shared}" if s.group else f"threads of {s.columns}{' short' * s.short}"
        writes = "results or partials" if self.writes == "either" else self.writes
        order = "inner" if s.inner else "outer"
        reads = "elements or partials" if self.reads == "either" else self.reads
        if s.tile is not None:
            what = "fold elements" if isinstance(s.tile, GroupTile) and s.tile.pair else "matrices"
            return f"{super().__str__()}, {what} to {'dense ' * self.dense}{writes} by {s.tile.described(s.threads)}"
        return f"{super().__str__()}, {what} {reads} to {writes} by {how}, {order}"
