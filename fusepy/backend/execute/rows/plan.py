"""`RowPlan`: the plan of a region that goes along rows. A call that does not suit it runs the program without the join."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fusepy.backend.emit.row.reduction import exchanged_bytes
from fusepy.backend.emit.row.tuning import RowWork, cost, most_held, row_shape, turns_of
from fusepy.backend.emit.row.variant import RowVariant
from fusepy.backend.emit.spaces.words import ALONG, count_of
from fusepy.backend.emit.tuning import GROUPS_PER_ROW, weight_of
from fusepy.backend.execute.launch import Launch
from fusepy.backend.execute.layouts import Layout
from fusepy.backend.execute.plan import Plan, PlanContext
from fusepy.backend.execute.recipe import LINEAR_LIMIT, Recipe
from fusepy.backend.execute.traffic import scaled
from fusepy.backend.execute.words import NO_WORDS, WordMasks, words_of
from fusepy.errors import ShapeError
from fusepy.ir.graph import Node
from fusepy.ir.ops.region import result_types, spec_of
from fusepy.ir.rows.body import RowBody

MOST_NODES = 40  # a body of so many operations is unrolled, see `weight_of`
MARGIN = 1 << 20  # how far past the last element the arithmetic of a kernel may go


@dataclass(frozen=True)
class RowRecipe(Recipe):
    """The recipe of a region that goes along rows.

    Attributes:
        work: its size.
        why: why one kernel is better than one for each reduction.
    """

    work: RowWork | None = None
    why: str = ""


class RowPlan(Plan):
    """The compiled form of a region that goes along rows; see `Plan`."""

    __slots__ = ("_exchanged", "_feeding", "_light", "_loads", "_rows", "_strict", "_words", "_written")

    def __init__(self, context: PlanContext, region: Node, *given: Any):
        self._strict = context.strict
        super().__init__(replace(context, tile=(), strict=False), region, *given)
        self.linear = False
        spec, body = spec_of(region), RowBody(region)
        self._rows = spec.rows
        self.rank = max(self.rank, spec.rows[-1] + 1)
        self._words = body.words()
        # what a CPU's driver compiles slowly is not unrolled: 32 powers take it 3 s
        weight = weight_of(body.body.nodes) if self.device.target.kind == "software" else len(body.body.nodes)
        self._light = weight <= MOST_NODES
        inputs = {v: i for i, v in enumerate(body.body.inputs)}
        along = [{inputs[v] for v in stage.loads} for stage in body.stages(held=False)]
        self._loads = [[i for i in sorted(stage) if self.operands[i] in self.memory] for stage in along]
        self._written = body.outputs
        self._exchanged = exchanged_bytes(body.folds)
        folded = {v for n in body.folds for v in n.results}
        ends = [*(n.operands[0] for n in body.folds), *(body.body.outputs[j] for j in body.outputs)]
        cones = [(body.cone([end], folded), body.cone([end], ())) for end in ends]
        self._feeding = [[{inputs[v] for v in cone if v in inputs} for cone in pair] for pair in cones]

    # ---- recipes ------------------------------------------------------------------------------------------------

    def recipe(self, slots: Sequence[Layout]) -> RowRecipe:
        try:
            plain = super().recipe(slots)
        except ShapeError as error:
            return RowRecipe((), 0, (), (), False, refused=f"the extents do not fit together: {error.what}")
        shapes = [slots[p].shape for p in self.positions]
        grid = plain.grid
        work = self._work(grid, shapes)
        refused = self._misfit(grid, shapes)
        if self._strict:
            refused = "strict broadcasting compares what each reduction leaves"
        elif self.context.shaped:
            refused = "options(numthreads=…) shapes kernels that fold nothing"
        made = (grid, plain.count, plain.strides, plain.out_shapes, plain.wide or plain.count + MARGIN >= LINEAR_LIMIT)
        if refused:
            return RowRecipe(*made, work, refused=refused)
        target = self.device.target
        one, separate = cost(target.kind, target.lanes, work)
        which = f"{work.rows:,} {'columns' if work.columns else 'rows'} of {work.length:,} elements"
        if one == math.inf:
            return RowRecipe(*made, work, refused=f"{which} are too long for one kernel")
        said = (
            f"{which} cost {scaled(one, 'B')} of memory traffic in one kernel, {scaled(separate, 'B')} in one for each reduction"
        )
        if one > separate:
            return RowRecipe(*made, work, refused=f"{said} (other sizes may ask for the one kernel, compiled on first use)")
        return RowRecipe(*made, work, why=f"since {said}")

    def _misfit(self, grid: tuple[int, ...], shapes: Sequence[tuple[int, ...]]) -> str:
        """Returns why the parts of the region have different grids for these shapes; empty if they share one."""
        if not math.prod(grid):
            return "there are no elements"
        for since, all in self._feeding:  # what has been reduced has no extents along the row
            for d, extent in enumerate(grid):
                along = [o for o in self.operands if o.position in (since if d in self._rows else all) and not o.spread]
                if extent != 1 and not any(d in o.dims and shapes[o.position][o.dims.index(d)] == extent for o in along):
                    return "what is reduced or returned is smaller than what uses it or stands beside it"
        return ""

    def _work(self, grid: tuple[int, ...], shapes: Sequence[tuple[int, ...]]) -> RowWork:
        """Returns the work of a call; what is the same for many rows, or along the row, costs nothing."""
        length = math.prod(grid[d] for d in self._rows)
        beside = math.prod(grid[self._rows[-1] + 1 :]) > 1
        full = [
            o.position for o in self.operands if o.dims and math.prod(shapes[o.position][: len(o.dims)]) * 4 >= math.prod(grid)
        ]
        size = [_element_bytes(o.have.dtype, o.want.shape) for o in self.operands]
        loaded = tuple(sum(size[i] for i in stage if i in full) for stage in self._loads)
        written = sum(self.elements[j].nbytes for j in self._written)
        joined = spec_of(self.region).joined
        return RowWork(
            math.prod(grid) // max(length, 1),
            length,
            self._words,
            loaded,
            sum(loaded) + written,
            self._light,
            joined.again,
            joined.stored,
            beside,
            len(self._rows),
            self._exchanged,
        )

    # ---- lowering -----------------------------------------------------------------------------------------------

    def launches(self, recipe: Recipe, slots: Sequence[Layout], results: Sequence[int], new: Callable[[], int]) -> list[Launch]:
        assert isinstance(recipe, RowRecipe)
        assert recipe.work is not None
        work, target = recipe.work, self.device.target
        space = self._space(recipe, slots, results)
        shape, lanes = row_shape(target.kind, target.lanes, replace(work, together=count_of(space)))
        flat = self._flat(recipe, slots, results) if shape.lanes or space else None
        near = None if flat is None else self._rows[-1]
        dense = self._dense(recipe, slots, results)
        variant = RowVariant(False, self.rank, recipe.wide, space=space, near=near, flat=flat or (), shape=shape, dense=dense)
        turns = turns_of(shape, lanes, work.rows)
        groups = -(-work.rows // (shape.threads // lanes * turns))
        across = [min(groups, GROUPS_PER_ROW), -(-groups // GROUPS_PER_ROW), 1]
        sizes = {"outputs": work.rows, "reduced": work.length, "total": work.length, "lanes": lanes, "turns": turns}
        return [Launch(self, variant, recipe, across, sizes, reads=self.positions, results=tuple(results))]

    def _found_words(self) -> WordMasks:
        d, results = self._rows[-1], zip(result_types(self.region), self.out_dims)
        along = [o for o in self.operands if d in o.dims and not o.is_whole]
        if self.sinks or any(o not in self.memory for o in along):
            return NO_WORDS
        types = [type if d in dims else None for type, dims in results]
        return words_of(self.region, self.operands, self.memory, along, types, self.context.costs, ALONG)

    def _space(self, recipe: RowRecipe, slots: Sequence[Layout], results: Sequence[int]) -> str:
        """Returns the name of the words of a call; empty unless each row begins with one, and ends with one."""
        space, d, work = self.words_at(slots, results), self._rows[-1], recipe.work
        count, flat = count_of(space), self._flat(recipe, slots, results) if space else None
        if flat is None or work is None or work.columns or recipe.grid[d] % count or most_held(work) % count:
            return ""
        for o, mask in zip(self.memory, self.together.operands):
            others = [step for axis, step in zip(o.dims, recipe.strides[o.position]) if axis != d]
            if mask and o.position not in flat and any(n % count for n in (slots[self.positions[o.position]].base, *others)):
                return ""
        return space

    def other_lengths(self, recipe: RowRecipe) -> str:
        """Returns which lengths ask for kernels other than that of a call."""
        if recipe.work is None or recipe.work.columns or self.device.target.kind != "software":
            return "other lengths may ask for other kernels"
        return "one kernel for rows of all lengths; sizes for which one for each reduction costs less ask for those"

    def _flat(self, recipe: RowRecipe, slots: Sequence[Layout], results: Sequence[int]) -> tuple[int, ...] | None:
        """Returns the operands that are the same along a row; ``None`` unless elements are neighbours in all other arrays."""
        d = self._rows[-1]
        steps = {o.position: recipe.strides[o.position][o.dims.index(d)] for o in self.memory if d in o.dims}
        stored = all(d not in result.dims[:-1] for result in spec_of(self.region).results)
        stored = stored and recipe.filled(self.out_dims)
        near = {*steps.values()} <= {0, 1} and stored and all(slots[slot].linear for slot in results)
        return tuple(i for i, step in steps.items() if step == 0) if near else None


def _element_bytes(dtype: object, shape: tuple[int, ...]) -> int:
    """Returns the bytes of an element of an operand; 16 if its layout is not known here."""
    size = getattr(dtype, "itemsize", None)
    return size * math.prod(shape) if size is not None else 16
