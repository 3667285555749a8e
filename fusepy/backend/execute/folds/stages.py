"""The stages of a fold or scan: its kernels in order, with the number of groups of each. They follow from the sizes.

A fold is one launch if there are enough results to fill the device, and on a GPU along rows, where the last group of a result
combines the accumulators of the others. Else one kernel stores accumulators and a second combines them. A scan combines its
chunks, scans their totals (in several levels if there are many), and then each chunk.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fusepy.backend.emit.fold.scans.tuning import scan_lanes, scan_shape
from fusepy.backend.emit.fold.tuning import COLUMN, ROW, fold_shape, lanes_for, rows_as_one, shape_along_rows, turns_of
from fusepy.backend.emit.fold.variant import FoldShape, FoldVariant
from fusepy.backend.emit.tuning import GROUPS_PER_ROW
from fusepy.backend.emit.variant import Variant
from fusepy.backend.execute.recipe import Recipe

SEVERAL = 512  # results that fill a CPU, and accumulators that one of its threads merges
TOP = 64  # chunks of a scan that one thread goes along without a level above
MANY_OUTPUTS, LONG_ROW = 4096, 1024  # results of which groups on a CPU share rows only if these are long


@dataclass(frozen=True)
class Work:
    """The amount of work of a fold: `outputs` results of `reduced` elements each.

    Attributes:
        inner: true if the elements of one result are neighbours in memory.
        copies: the number of elements for which the body may be unrolled.
        nbytes: the size of an accumulator.
        staged: the bytes of an element of a scan and its results; of a sort the digits of its keys.
        waits: groups may wait for others, see `Target.in_order`.
        row: the extent of the grid's last dimension, if that is folded and the body asks for coordinates; else 0.
    """

    outputs: int
    reduced: int
    inner: bool
    copies: int
    nbytes: int = 8
    row: int = 0
    staged: int = 4
    waits: bool = True

    def along_rows(self, kind: str) -> bool:
        """True if groups go along rows of the grid. A GPU reads lines of memory anyway, and has caches for the rest.

        Many short rows are for lanes with a row each: a group for each of 131,072 rows of 64 took nine times as long.
        """
        long = ROW if self.outputs < MANY_OUTPUTS else LONG_ROW
        return kind == "software" and self.inner and self.row >= long


@dataclass(frozen=True)
class Stage:
    """One dispatch.

    Attributes:
        variant: its kernel, of which ``stage`` in `sizes` says what it runs.
        sizes: the values of the fields that hold the amount of work.
        reads: the array of partials that it reads or overwrites; ``-1`` is none.
        writes: the array that it fills, or starts from; ``-1`` is none.
        partials: the length of the array that it is the first to fill; arrays are numbered in this order.
    """

    variant: FoldVariant
    sizes: dict[str, int]
    reads: int = -1
    writes: int = -1
    partials: int = 0

    def groups(self) -> list[int]:
        """Returns the number of groups along each axis."""
        shape, sizes = self.variant.ran(self.sizes).shape, self.sizes
        outputs, chunks = sizes["outputs"], sizes["chunks"]
        beside = shape.threads // sizes["lanes"] if shape.shared else 1
        if shape.tile is not None:
            groups = sizes["across"] * sizes["down"] * sizes["batches"] * chunks
        elif shape.group and shape.inner:
            groups = -(-outputs * chunks // beside)
        elif shape.group:
            groups = -(-outputs // beside) * chunks
        elif shape.columns > 1:
            groups = -(-outputs // (shape.threads * shape.columns)) * chunks
        else:
            groups = -(-outputs * chunks // (shape.threads * (sizes["turns"] if shape.turns else 1)))
        return [groups, 1, 1] if groups <= GROUPS_PER_ROW else [GROUPS_PER_ROW, -(-groups // GROUPS_PER_ROW), 1]


@dataclass(frozen=True)
class FoldRecipe(Recipe):
    """The recipe of a fold.

    Attributes:
        stages: its launches for contiguous arguments; empty if they need strides.
        strided: its launches for any strides.
        work: its size.
        even: the arguments are contiguous.
    """

    stages: tuple[Stage, ...] = ()
    strided: tuple[Stage, ...] = ()
    work: Work | None = None
    even: bool = False

    def widened(self) -> FoldRecipe:
        """Returns the same with indices of 64 bits, for strided results."""
        return replace(self, wide=True, strided=tuple(replace(s, variant=s.variant.widened()) for s in self.strided))


def fold_stages(kind: str, work: Work, variant: Variant) -> list[Stage]:
    """Returns the stages of a fold on a device `kind`."""
    outputs, reduced = work.outputs, work.reduced
    if work.along_rows(kind):
        shape, chunks = shape_along_rows(reduced, work.row, work.copies)
    else:
        further: dict[str, Any] = {"copies": work.copies, "nbytes": work.nbytes, "linear": variant.linear, "waits": work.waits}
        shape, chunks = fold_shape(kind, outputs, reduced, work.inner, **further)
    rows, lanes = 1, 0
    if shape.short:
        return [Stage(variant_of(variant, shape), sizes_of(outputs, reduced, 1, reduced))]
    if shape.columns > 1:  # some of which may be rows that count as one
        rows = rows_as_one(outputs, reduced, shape.threads * shape.columns)
    if shape.shared:
        lanes = lanes_for(outputs, reduced, shape.inner, shape.threads, partials=False)
    run = work.row if shape.rows else shape.run * (lanes or shape.threads if shape.group else 1)
    sizes = sizes_of(outputs * rows, -(-reduced // rows), chunks, reduced, run, kind == "software" and not shape.rows)
    sizes.update(lanes=lanes, rows=rows, full_rows=reduced // rows, elements=outputs * reduced)
    sizes.update(stage=0, turns=turns_of(outputs * sizes["chunks"]))
    if shape.waits:
        parts = max(outputs * sizes["chunks"], 1) if sizes["chunks"] > 1 else 0
        return [Stage(variant_of(variant, shape), sizes, writes=0 if parts else -1, partials=parts)]
    over = COLUMN if shape.columns > 1 else shape
    kernel, parts = variant_of(variant, over, reads="either", writes="either"), sizes["chunks"] * rows
    stages = [Stage(kernel if over is shape else variant_of(variant, shape, writes="either"), sizes)]
    while parts > 1:
        level = len(stages) - 1
        stages[-1] = replace(stages[-1], writes=level, partials=max(outputs * parts, 1))
        chunks = 1 if over.group or outputs > SEVERAL or parts <= SEVERAL else parts // 64
        sizes = sizes | sizes_of(outputs, parts, chunks, reduced) | {"stage": 1, "turns": turns_of(outputs * chunks)}
        if over.shared:
            sizes["lanes"] = lanes_for(outputs, parts, over.inner, over.threads, partials=True)
        stages.append(Stage(kernel, sizes, reads=level))
        parts = sizes["chunks"]
    return stages


def scan_stages(kind: str, work: Work, variant: Variant) -> list[Stage]:
    """Returns the stages of a scan; see `fold_stages`."""
    outputs, reduced = work.outputs, work.reduced
    inside = replace(variant, linear=True)  # partials lie as they were written
    shape, chunks = scan_shape(kind, outputs, reduced, work.inner, work.nbytes, work.staged, beside=variant.linear)
    sizes = _scan_sizes(shape, outputs, reduced, chunks, reduced)
    if shape.short:
        return [Stage(variant_of(variant, shape, scans=True), sizes | {"share": -(-reduced // sizes["lanes"])})]
    chunks = sizes["chunks"]
    over = variant_of(inside, shape, reads="partials", writes="partials", scans=True)
    kernel = variant_of(variant, shape, scans=True, others=(over,))
    down = [Stage(kernel, sizes | {"stage": 0}, writes=0)]
    if chunks == 1:
        return [replace(down[0], writes=-1)]
    up = [Stage(kernel, sizes | {"stage": 0, "totals": 1}, writes=0, partials=max(outputs * chunks, 1))]
    while True:
        level, count = len(up) - 1, chunks
        chunks = scan_shape(kind, outputs, count, work.inner, work.nbytes, work.staged)[1] if count > TOP else 1
        sizes = _scan_sizes(shape, outputs, count, chunks, reduced) | {"stage": 1}
        chunks = sizes["chunks"]
        if chunks == 1:
            down.append(Stage(kernel, sizes, reads=level))
            return [*up, *reversed(down)]
        up.append(Stage(kernel, sizes | {"totals": 1}, reads=level, writes=level + 1, partials=max(outputs * chunks, 1)))
        down.append(Stage(kernel, sizes, reads=level, writes=level + 1))


def _scan_sizes(shape: FoldShape, outputs: int, reduced: int, chunks: int, total: int) -> dict[str, int]:
    lanes = scan_lanes(outputs, reduced, shape.threads) if shape.shared else 0
    return sizes_of(outputs, reduced, chunks, total, max(1, lanes * shape.unroll)) | {"lanes": lanes, "totals": 0}


MakeStages = Callable[[str, Work, Variant], Sequence[Stage]]


def all_variants(make: MakeStages, kind: str, work: Work, variant: Variant, even: bool = True) -> set[FoldVariant]:
    """Returns the kernels of a fold, scan or sort of this layout for all sizes; products of matrices have others.

    Args:
        make: returns the stages.
        even: arguments are contiguous, so that bodies that ask for coordinates are linear along long rows.
    """
    folds, found = make is fold_stages, set[FoldVariant]()
    for outputs, reduced, row in itertools.product((1, 4096), (1, 4096), (1, ROW) if work.row and folds else (work.row,)):
        one = replace(work, outputs=outputs, reduced=max(reduced, row), row=row)
        way = replace(variant, linear=even and one.along_rows(kind)) if row and folds else variant
        found |= {s.variant for s in make(kind, one, way)}
    return found


def variant_of(base: Variant, shape: FoldShape, **stage: Any) -> FoldVariant:
    return FoldVariant(base.linear, base.rank, base.wide, shape=shape, **stage)


def sizes_of(outputs: int, reduced: int, chunks: int, total: int, run: int = 1, odd: bool = False) -> dict[str, int]:
    """Returns the sizes of a stage. All chunks but the last have whole runs, or rows, so that few threads have a remainder.

    Args:
        odd: they have an odd number of them. Where each lane of a CPU reads a chunk of its own, with a distance of a power of two
            lanes evict each other from one set of the cache: products of two arrays of 2^22 floats took twice the time.
    """
    chunk = -(-reduced // chunks)
    if chunks > 1:
        chunk = (-(-chunk // run) | odd) * run
        chunks = -(-reduced // chunk)
    return {"outputs": outputs, "reduced": reduced, "chunks": chunks, "chunk": chunk, "total": total}
