"""The stages of a fold or scan: which kernels its sizes ask for, in order, and how many groups each takes.

One kernel where there are enough results to fill the device, else one that leaves accumulators in memory and one that combines
them. A scan combines its chunks first, scans what they come to, in several levels where there are many, and goes along each chunk
then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fusepy.backend.fold_tuning import ROW, as_strided, fold_shape, scan_shape, shape_along_rows
from fusepy.backend.fold_variant import FoldShape, FoldVariant
from fusepy.backend.operand import Variant
from fusepy.backend.tuning import GROUPS_PER_ROW

TOP = 64  # chunks of a scan that one thread goes along without a level above


@dataclass(frozen=True)
class Work:
    """What there is to do: `outputs` results of `reduced` elements each, which are neighbours in memory where it is `inner`.

    Attributes:
        copies: for how many elements the body may be spelled out.
        nbytes: of an accumulator.
        row: the extent of the grid's last dimension, if that is folded and the body asks for coordinates; else 0.
    """

    outputs: int
    reduced: int
    inner: bool
    copies: int
    nbytes: int = 8
    row: int = 0

    def along_rows(self, kind: str) -> bool:
        """Whether groups go along rows of the grid. A GPU reads lines of memory anyway, and has caches for the rest."""
        return kind == "software" and self.inner and self.row >= ROW


@dataclass(frozen=True)
class Stage:
    """One dispatch.

    Attributes:
        sizes: the values of the fields that say how much work there is.
        reads: which array of partials it reads or replaces; `writes` which it fills, or starts from; ``-1`` is none.
    """

    variant: FoldVariant
    sizes: dict[str, int]
    reads: int = -1
    writes: int = -1

    def groups(self) -> list[int]:
        """How many groups it takes along each axis."""
        shape, sizes = self.variant.shape, self.sizes
        if shape.group and shape.inner:
            groups = -(-sizes["outputs"] * sizes["chunks"] // shape.beside)
        elif shape.group:
            groups = -(-sizes["outputs"] // shape.beside) * sizes["chunks"]
        elif shape.inner or shape.narrow:
            groups = -(-sizes["outputs"] // shape.columns * sizes["chunks"] // shape.threads)
        else:
            groups = -(-sizes["outputs"] // (shape.threads * shape.columns)) * sizes["chunks"]
        return [groups, 1, 1] if groups <= GROUPS_PER_ROW else [GROUPS_PER_ROW, -(-groups // GROUPS_PER_ROW), 1]


def fold_stages(kind: str, work: Work, variant: Variant) -> tuple[list[Stage], list[int]]:
    """The stages of a fold on a device `kind`, and the lengths of the arrays of partials between them."""
    outputs, reduced = work.outputs, work.reduced
    if work.along_rows(kind):
        shape, chunks = shape_along_rows(reduced, work.row)
        whole = work.row
    else:
        shape, chunks = fold_shape(kind, outputs, reduced, work.inner, copies=work.copies, nbytes=work.nbytes)
        whole = shape.run * (shape.threads // shape.beside if shape.group else 1)
    if not variant.linear:
        shape = as_strided(shape)
    sizes = _sizes(outputs, reduced, chunks, reduced, whole)
    chunks = sizes["chunks"]
    if chunks == 1:
        return [Stage(_variant(variant, shape), sizes)], []
    first = Stage(_variant(variant, shape, writes="partials"), sizes, writes=0)
    shape, _ = fold_shape(kind, outputs, chunks, shape.inner, partials=True, nbytes=work.nbytes)
    if not variant.linear:
        shape = as_strided(shape)
    second = Stage(_variant(variant, shape, reads="partials"), _sizes(outputs, chunks, 1, reduced), reads=0)
    return [first, second], [outputs * chunks]


def scan_stages(kind: str, work: Work, variant: Variant) -> tuple[list[Stage], list[int]]:
    """The stages of a scan; see `fold_stages`."""
    outputs, reduced = work.outputs, work.reduced
    inside = replace(variant, linear=True)  # partials lie as they were written
    shape, chunks = scan_shape(kind, outputs, reduced, work.inner, work.nbytes)
    sizes = _sizes(outputs, reduced, chunks, reduced, shape.tile)
    chunks = sizes["chunks"]
    down = [Stage(_variant(variant, shape, scans=True, carried=chunks > 1), sizes, writes=0)]
    if chunks == 1:
        return [replace(down[0], writes=-1)], []
    up = [Stage(_variant(variant, shape, writes="partials"), sizes, writes=0)]
    counts = [outputs * chunks]
    while True:
        level, count = len(counts) - 1, chunks
        shape, chunks = scan_shape(kind, outputs, count, work.inner, work.nbytes) if count > TOP else (shape, 1)
        sizes = _sizes(outputs, count, chunks, reduced, shape.tile)
        chunks = sizes["chunks"]
        over = _variant(inside, shape, reads="partials", writes="partials")
        if chunks == 1:
            down.append(Stage(replace(over, scans=True), sizes, reads=level))
            return [*up, *reversed(down)], counts
        up.append(Stage(over, sizes, reads=level, writes=level + 1))
        down.append(Stage(replace(over, scans=True, carried=True), sizes, reads=level, writes=level + 1))
        counts.append(outputs * chunks)


def all_variants(scans: bool, kind: str, work: Work, variant: Variant, whole: bool) -> set[FoldVariant]:
    """The kernels that a fold or scan of this layout takes with any sizes; `whole` says that there is one result.

    Shapes change at powers of two and at few results, so such sizes and their neighbours ask for all of them.
    """
    make = scan_stages if scans else fold_stages
    powers = [n for k in range(3, 31) for n in (1 << k, (1 << k) + 1)]
    outputs = [1] if whole else [*range(1, 8), *powers]
    found: set[FoldVariant] = set()
    for count in outputs:
        for reduced in (0, 1, 2, 4, *powers):
            if count * reduced < 1 << 31:
                row = min(work.row, reduced)
                found.update(s.variant for s in make(kind, replace(work, outputs=count, reduced=reduced, row=row), variant)[0])
    return found


def _variant(base: Variant, shape: FoldShape, **stage: Any) -> FoldVariant:
    return FoldVariant(base.linear, base.rank, base.wide, shape=shape, **stage)


def _sizes(outputs: int, reduced: int, chunks: int, total: int, run: int = 1) -> dict[str, int]:
    """The numbers of a stage. Chunks but the last are of whole runs, or rows, so that few threads have a rest."""
    chunk = -(-reduced // chunks)
    if chunks > 1:
        chunk = -(-chunk // run) * run
        chunks = -(-reduced // chunk)
    return {"outputs": outputs, "reduced": reduced, "chunks": chunks, "chunk": chunk, "total": total}
