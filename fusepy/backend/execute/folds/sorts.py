"""The stages of a sort: groups sort blocks of each row, then kernels merge neighbouring runs until a row is one run."""

from __future__ import annotations

from dataclasses import replace

from fusepy.backend.emit.fold.tuning import merge_shape, sort_shape
from fusepy.backend.emit.variant import Variant
from fusepy.backend.execute.folds.stages import Stage, Work, sizes_of, variant_of


def sort_stages(kind: str, work: Work, variant: Variant) -> list[Stage]:
    """Returns the stages of a sort on a device `kind`; see `fold_stages`. Two arrays of pairs take turns."""
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
