"""Indexing of kernels, with its reason, for `explain`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fusepy.backend.emit.fold.variant import FoldVariant
from fusepy.backend.emit.row.variant import RowVariant
from fusepy.backend.execute.folds.plan import ReducePlan
from fusepy.backend.execute.launch import Launch
from fusepy.backend.execute.rows.plan import RowPlan, RowRecipe
from fusepy.backend.execute.tape import Tape, TapePiece
from fusepy.program.program import Program
from fusepy.program.stages import stage_of

_SECOND = "(another kernel than that of contiguous arguments of one shape, compiled on first use)"


def indexing(piece: TapePiece, tape: Tape, program: Program) -> str:
    """Returns the variants of the launches of a region, and the reason for them."""
    stage = stage_of(piece.plan.region)
    if stage.described is not None:
        return "; ".join(map(stage.described, piece.launches))
    said = Counter(map(_said, piece.launches))  # a sort by digits has up to 24 launches
    kernels = [one + f" ({count} launches)" * (count > 1) for one, count in said.items()]
    return f"{'; then '.join(kernels)}, {stage.why or _why(piece, tape, program)}"


def _said(launch: Launch) -> str:
    """Returns what the kernel of a launch does in it."""
    variant = launch.variant
    return str(variant.ran(launch.sizes) if isinstance(variant, FoldVariant | RowVariant) else variant)


def _why(piece: TapePiece, tape: Tape, program: Program) -> str:
    """Returns the reason for the indexing of a kernel."""
    plan = piece.plan
    lying = [tape.slots[p] for p in plan.positions]
    strided = [lies for lies in lying if not lies.linear]
    if isinstance(plan, RowPlan):
        recipe = piece.launches[0].recipe
        assert isinstance(recipe, RowRecipe)
        return f"{recipe.why} ({plan.other_lengths(recipe)}, compiled on first use)"
    if isinstance(plan, ReducePlan):
        stages = piece.launches
        why = f"since the sizes ask for {'as many stages' if len(stages) > 1 else 'one stage'} ({_other_sizes(plan, stages)})"
        return why + ", in groups of its own, since options(numthreads=…) shapes those of kernels that fold nothing" * bool(
            program.options.numthreads
        )
    if plan.context.tile:
        return "since options(numthreads=…) asks for groups that are tiles of the grid"
    if not plan.linear:
        return "since an argument or result runs along other dimensions than the grid's, or is a grid() or texture"
    if strided:
        return f"since an argument has strides {strided[0].strides} {_SECOND}"
    if not plan.one_shape(tape.slots):
        return f"since an axis of extent 1 is stretched {_SECOND}"
    single = " or single values" * any(not o.dims for o in plan.memory) * bool(plan.rank)
    return f"since all arguments are contiguous and of one shape{single}"


def _other_sizes(plan: ReducePlan, stages: Sequence[Launch]) -> str:
    """Returns which kernels of a fold other sizes have, and when these are compiled."""
    own = {stage.variant for stage in stages if isinstance(stage.variant, FoldVariant)}
    if any(variant.shape.tile for variant in own):
        return "other sizes may ask for other tiles, compiled on first use"
    if plan.tiled:
        return "other sizes may ask for tiles, compiled on first use"
    if any(variant.digits for variant in own):
        return "shorter rows are merged, by kernels compiled on first use"
    if plan.beside and not stages[0].variant.linear:  # the largest array says in which order elements are read
        return "other sizes may ask for another order, compiled on first use"
    count = len(own) + len(plan.others(stages))
    if any(variant.sorts for variant in own):
        told = f"for all rows that are merged there are {count} kernels, compiled with the first call"
        told += "; longer rows are sorted by digits, by kernels compiled on first use"
    else:
        told = "one kernel for all sizes"
        if count > 1:
            told = f"for all sizes there are {count} kernels, compiled with the first call"
    return told + "; a stretched axis of extent 1 asks for another one, compiled on first use" * plan.beside
