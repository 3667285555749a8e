"""`ReducePlan`: the plan of a region that folds or scans. Its sizes decide about the number of launches.

Sizes are no part of a kernel; they choose among the few shapes of `backend.emit.fold.tuning` and the stages of `fold_stages`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from fusepy.backend.emit.fold.operands import accumulators_of, epilogue_operands, members_of
from fusepy.backend.emit.fold.partials import FLAG_BYTES
from fusepy.backend.emit.fold.staging import staged_bytes
from fusepy.backend.emit.fold.tile import GroupTile
from fusepy.backend.emit.fold.tuning import copies_of
from fusepy.backend.emit.fold.variant import FoldVariant
from fusepy.backend.emit.operand import Operand, addressing
from fusepy.backend.emit.spaces.words import ALONG
from fusepy.backend.emit.variant import Variant
from fusepy.backend.execute.folds import grids
from fusepy.backend.execute.folds.grids import different_extents, epilogue_feeds, factor_feeds, lies_inner, stretched_results
from fusepy.backend.execute.folds.pairs import may_pair, pair_stages
from fusepy.backend.execute.folds.products import MARGIN, Shapes, check_product, is_far, lying, product_stages, sides_of
from fusepy.backend.execute.folds.sorts import merge_stages, sort_stages
from fusepy.backend.execute.folds.stages import FoldRecipe, Stage, Work, all_variants, fold_stages, scan_stages
from fusepy.backend.execute.folds.words import has_words, stages_in_words, with_words
from fusepy.backend.execute.launch import Launch
from fusepy.backend.execute.layouts import Layout
from fusepy.backend.execute.plan import Plan, PlanContext
from fusepy.backend.execute.recipe import LINEAR_LIMIT, Recipe
from fusepy.backend.execute.words import NO_WORDS, WordMasks, words_of
from fusepy.backend.marshals.registry import ACCESSES
from fusepy.backend.memory.element import Element
from fusepy.errors import ShapeError
from fusepy.ir.fold_meanings import check_count
from fusepy.ir.graph import Node
from fusepy.ir.ops.region import folds_of, output_feeds, result_types, spec_of

ALIGNMENT = 256  # of the arrays of partials in one block


class ReducePlan(Plan):
    """The compiled form of a region that folds; see `Plan`."""

    __slots__ = (
        "_contiguous", "_copies", "_factors", "_kept", "_left", "_make", "_members", "_over", "_own", "_pairs", "_placed",
        "_plain", "_scans", "_sides", "_staged", "_strict", "beside", "tiled",
    )  # fmt: skip

    def __init__(self, context: PlanContext, region: Node, *given: Any):
        self._strict, self._factors = context.strict, factor_feeds(region)
        strict = context.strict and self._factors is None  # matrices differ in shape; `check_product` compares their axes
        super().__init__(replace(context, tile=(), strict=strict), region, *given)
        self.linear = False
        assert region.body is not None
        spec = spec_of(region)
        self._scans = spec.scans
        self._make = sort_stages if spec.folds[0].sorts else scan_stages if spec.scans else fold_stages
        self._plain = len(region.body.outputs) - len(spec.folds)
        self._over = spec.over
        self.rank = max(self.rank, *(d + 1 for d in self._over))
        self._kept = tuple(d for d in range(self.rank) if d not in self._over)
        self._left = tuple(range(self.rank)) if self._scans else self._kept  # the grid of the code behind the folds
        self._members = [Element.of(type) for _, type in members_of(region)]
        self._own = output_feeds(region)[self._plain :]  # of the folded values
        first = len(region.body.inputs)
        self._placed = any(o.position < first and addressing(ACCESSES, o) == "computed" for o in self.operands)
        self._contiguous = self._may_be_linear()
        self._copies = copies_of(region, self.device.target.kind)
        self._staged = staged_bytes(accumulators_of(region)) if self._scans else 0
        self._sides = sides_of(region, self.operands, self.device.target) if self._factors is not None else None
        self._pairs = self._sides is None and not self.sinks and may_pair(region, self.operands, self.context)
        self.tiled = self._pairs or self._sides is not None  # for some sizes
        self.beside = sum(bool(o.dims) and not o.is_whole for o in self.memory if o.position < first) > 1

    def _listed(self) -> list[Operand]:
        first = super()._listed()
        return [*first, *epilogue_operands(self.region, first, self.device.target.kind == "cuda")]

    def _fed(self) -> list[frozenset[int]]:
        return epilogue_feeds(self.region)

    def _may_be_linear(self) -> bool:
        """True if contiguous arguments of one shape can be indexed without coordinates, if the body itself needs none."""
        identity = tuple(range(self.rank))
        first = len(self.region.bodies[0].inputs)
        for o in self.operands:
            way = addressing(ACCESSES, o)
            along = identity if o.position < first else self._left
            if (way == "computed" and o.position >= first) or (way == "index" and o.dims != identity) or o.near is not None:
                return False
            if way == "memory" and not o.is_whole and o.dims != along and (o.dims or o.rank):  # a number is for all elements
                return False
        element_wise = self.out_dims[: len(self.out_dims) if self._scans else self._plain]
        small = self.out_dims[len(element_wise) :]
        return not self.sinks and all(d == identity for d in element_wise) and all(d == self._kept for d in small)

    # ---- recipes ------------------------------------------------------------------------------------------------

    def _made(self, shapes: Sequence[tuple[int, ...]], strides: Sequence[tuple[int, ...]]) -> Recipe:
        first = len(self.region.bodies[0].inputs)
        if self._strict and any(o.dims for o in self.operands[first:]):
            words = f"{self.name}: an array beside what is reduced, and strict broadcasting compares the small grid alone"
            return Recipe.without_grid(ShapeError(words))
        if self._factors is not None:
            check_product(self.name, self.operands, self._factors, self._over, shapes, self._strict)
        try:
            plain = super()._made(shapes, strides)
        except ShapeError as error:  # its folds may have grids of their own, which share an argument
            return Recipe.without_grid(error)
        grid = plain.grid
        error = different_extents(self.name, self.operands, self._own, self._over, grid, shapes)
        if error or (error := stretched_results(self.name, self.operands, first, self._left, grid, shapes)):
            return Recipe.without_grid(error)
        outputs, reduced = (math.prod(grid[d] for d in dims) for dims in (self._kept, self._over))
        for fold in (f for f in folds_of(self.region) if f.sorts or not f.scans):
            check_count(fold.kind, reduced, outputs, self.name)
        wide = plain.wide or plain.count + MARGIN >= LINEAR_LIMIT
        axes = [d in self._over for d in range(self.rank)]  # their order decides for all sizes, whatever extents are 1
        inner = not axes or axes[-1]
        ordered = self._contiguous and axes in (sorted(axes), sorted(axes, reverse=True))
        along = tuple(range(self.rank))
        linear = ordered and grids.lie_contiguous(self.memory, first, (along, self._left), grid, shapes, strides)
        row = max(grid[-1], 1) if self._placed and self.rank - 1 in self._over else 0
        kind = self.device.target.kind
        work = Work(outputs, reduced, inner, self._copies, sum(self._bytes(1)), row, self._staged, self.device.target.in_order)
        even, linear = linear, linear and (not self._placed or (work.along_rows(kind) and not self._scans))
        own = [o for o in self.memory if o.position < first]
        near = lies_inner(own, self._over, plain.strides, strides, grid, inner) if reduced and not linear else inner
        uneven = replace(work, inner=near)
        strided = self._make(kind, uneven, Variant(False, self.rank, wide))
        stages = self._make(kind, work, Variant(True, self.rank, wide)) if linear else ()
        tiled, dense = self._tiled(grid, plain.strides, wide)
        made = (grid, plain.count, plain.strides, plain.out_shapes, wide, tuple(dense or stages), tuple(tiled or strided))
        return FoldRecipe(*made, work if linear else uneven, even)

    def _tiled(self, grid: tuple[int, ...], strides: Shapes, wide: bool) -> tuple[Sequence[Stage], Sequence[Stage]]:
        """Returns the stages of a product or a fold of pairs: for any results, and for dense ones. They are empty for others."""
        kind, over = self.device.target.kind, self._over
        if self._pairs:
            return pair_stages(self.operands, len(self.region.bodies[0].inputs), over[0], grid, strides), ()
        if self._sides is None:
            return (), ()
        lies = lying(self._sides, self.operands, strides, self.device.target)
        far = wide if kind == "software" else is_far(self.memory, strides, grid)
        given = (self._sides, over[0], grid, Variant(False, self.rank, far), kind)
        return product_stages(*given, False, lies), product_stages(*given, True, lies)

    # ---- lowering -----------------------------------------------------------------------------------------------

    def launches(self, recipe: Recipe, slots: Sequence[Layout], results: Sequence[int], new: Callable[[], int]) -> list[Launch]:
        assert isinstance(recipe, FoldRecipe)
        stages = recipe.stages
        linear = all(slots[slot].linear for slot in results) and recipe.filled(self.out_dims)
        if not stages or not linear or self._unaligned(slots) or self._apart(stages, slots, results):
            stages = recipe.strided
        elif space := self.words_at(slots, results):
            stages = stages_in_words(stages, space)
        idle = not any(math.prod(shape) for shape in recipe.out_shapes)
        arrays = [(new(), stage.partials) for stage in stages if stage.partials]
        made = iter(arrays)
        launches: list[Launch] = []
        for stage in stages:
            read, filled = (arrays[level][0] if level >= 0 else -1 for level in (stage.reads, stage.writes))
            lengths = (next(made),) if stage.partials else ()
            way = (self, stage.variant, recipe, stage.groups(), stage.sizes, (read, filled), lengths)
            launches.append(Launch(*way, reads=self.positions, results=tuple(results), idle=idle))
        return launches

    def others(self, launches: Sequence[Launch]) -> Sequence[FoldVariant]:
        """Returns further kernels, which calls of the same layouts and other sizes need."""
        own = {launch.variant for launch in launches if isinstance(launch.variant, FoldVariant)}
        if not own or any(v.shape.tile or v.digits for v in own):  # products and pairs choose among tiles, sorts by length
            return ()
        recipe, variant = launches[0].recipe, Variant(launches[0].variant.linear, self.rank, launches[0].variant.wide)
        assert isinstance(recipe, FoldRecipe)
        assert recipe.work is not None
        even = recipe.even and variant.linear == bool(recipe.stages)
        make = merge_stages if self._make is sort_stages else self._make
        found = all_variants(make, self.device.target.kind, recipe.work, variant, even)
        space = self.together.space if variant.linear else ""
        return sorted((found | {with_words(v, space) for v in found if has_words(v, space)}) - own, key=str)

    def _found_words(self) -> WordMasks:
        if not self._contiguous or self._make is not fold_stages:
            return NO_WORDS
        first, types = len(self.region.bodies[0].inputs), result_types(self.region)
        along = [o for o in self.memory if o.position < first and o.dims and not o.is_whole]
        results = [type if j < self._plain else None for j, type in enumerate(types)]
        return words_of(self.region, self.operands, self.memory, along, results, self.context.costs, ALONG)

    def partial_bytes(self, length: int, flags: bool) -> int:
        """Returns the bytes of `length` accumulators: an array for each of their members, and one of flags if a stage waits."""
        return sum(map(_aligned, (*self._bytes(length), FLAG_BYTES * length * flags)))

    def partial_offset(self, length: int, member: int) -> int:
        """Returns the offset in bytes of a member of the accumulators in that array; flags are behind the last one."""
        return sum(map(_aligned, self._bytes(length)[:member]))

    def _bytes(self, count: int) -> list[int]:
        """Returns the bytes of the array of each member of `count` accumulators."""
        return [count * element.nbytes for element in self._members]

    def _unaligned(self, slots: Sequence[Layout]) -> bool:
        return any(slots[position].low & mask for position, _, _, mask in self.steps if mask)

    def _apart(self, stages: Sequence[Stage], slots: Sequence[Layout], results: Sequence[int]) -> bool:
        """True if the tile of a product loads or stores neighbours at once, and some array may begin between them."""
        tile = stages[0].variant.shape.tile if stages else None
        if not isinstance(tile, GroupTile) or not tile.vectors:
            return False
        own = 2 if tile.cores else len(self.steps)  # what follows a product by tensor cores is loaded one by one
        used = [slots[i] for i in (*(position for position, *_ in self.steps[:own]), *results)]
        return any(layout.low & 15 or layout.base % (8 if tile.cores else 4) for layout in used)


def _aligned(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT
