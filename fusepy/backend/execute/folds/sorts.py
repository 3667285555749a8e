"""The stages of a sort. Short rows are sorted in blocks, which are merged until a row is one run; long ones digit by digit."""

from __future__ import annotations

from dataclasses import replace

from fusepy.backend.emit.fold.sorting.tuning import VALUES, digit_chunks, digit_shape, has_digits, merge_shape, sort_shape
from fusepy.backend.emit.fold.variant import FoldVariant
from fusepy.backend.emit.variant import Variant
from fusepy.backend.execute.folds.stages import Stage, Work, sizes_of, variant_of
from fusepy.backend.execute.recipe import LINEAR_LIMIT


def sort_stages(kind: str, work: Work, variant: Variant) -> list[Stage]:
    """Returns the stages of a sort on a device `kind`; see `fold_stages`. Two arrays of pairs take turns."""
    shape = sort_shape(kind, work.inner)
    by_digits = has_digits(kind, work.outputs, work.reduced, work.staged, shape.threads * shape.unroll)
    return (digit_stages if by_digits else merge_stages)(kind, work, variant)


def merge_stages(kind: str, work: Work, variant: Variant) -> list[Stage]:
    """Returns the stages of a sort by merges: of blocks, then of pairs of runs until a row is one run."""
    outputs, reduced = work.outputs, work.reduced
    shape, (merge, count) = sort_shape(kind, work.inner), merge_shape(kind, work.inner, work.nbytes)
    block = shape.threads * shape.unroll
    lanes = 1 << max(-(-min(reduced, block) // shape.unroll) - 1, 0).bit_length()
    sizes = sizes_of(outputs, reduced, max(1, -(-reduced // block)), reduced, block) | {"lanes": lanes}
    stages = [Stage(variant_of(variant, shape, sorts=True, writes="either"), sizes)]
    kernel = variant_of(variant, merge, sorts=True, reads="partials", writes="either")
    run, pairs = block, max(outputs * reduced, 1)
    while run < reduced:
        level = len(stages) - 1
        stages[-1] = replace(stages[-1], writes=level % 2, partials=pairs if level < 2 else 0)
        merged = sizes_of(outputs, reduced, -(-reduced // count), reduced, count)
        merged |= {"lanes": merge.threads, "run": run, "last": int(2 * run >= reduced)}
        stages.append(Stage(kernel, merged, reads=level % 2))
        run *= 2
    return stages


def digit_stages(kind: str, work: Work, variant: Variant) -> list[Stage]:
    """Returns the stages of a sort by digits; see `backend.emit.fold.sorting.digits`. Counts are behind the pairs."""
    outputs, reduced = work.outputs, work.reduced
    shape = digit_shape(kind, work.inner, work.nbytes)
    tile = shape.threads * shape.unroll
    sizes = sizes_of(outputs, reduced, digit_chunks(kind, outputs, reduced, tile), reduced, tile)
    sizes["pairs"] = pairs = outputs * reduced
    length = max(pairs + outputs * VALUES * (sizes["chunks"] + 1), 1)
    if length + tile >= LINEAR_LIMIT:
        variant = replace(variant, wide=True)
    sums = sizes_of(outputs * VALUES, sizes["chunks"] + 1, 1, reduced) | {"pairs": pairs, "shift": 0}

    def kernel(reads: str, writes: str) -> FoldVariant:
        return variant_of(variant, shape, sorts=True, digits=True, reads=reads, writes=writes)

    stages, digits = list[Stage](), work.staged
    for digit in range(digits):
        at, last = digit % 2, digit == digits - 1
        shifted = sizes | {"shift": 8 * digit}
        if digit:
            stages.append(Stage(kernel("partials", "counts"), shifted, reads=at))
        else:
            stages.append(Stage(kernel("elements", "partials"), shifted, writes=0, partials=length))
        stages.append(Stage(kernel("counts", "counts"), sums, reads=at))
        moved = Stage(kernel("partials", "either"), shifted | {"last": int(last)}, reads=at, writes=-1 if last else 1 - at)
        stages.append(replace(moved, partials=length if digit == 0 and not last else 0))
    return stages
