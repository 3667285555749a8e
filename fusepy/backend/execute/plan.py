"""`Plan`: the compiled form of one region. It spreads arguments of any sizes over the grid and lists the launches of a call.

Sizes are no part of a plan. Each region has a few variants of kernels, compiled when first needed: linear indexing if all
arguments are contiguous and of one shape, else strides over the broadcast grid, in 64 bits if an extent or offset needs it, and
with less arithmetic where results are contiguous, and operands neighbours along the last dimension.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fusepy.backend.device.device import Device
from fusepy.backend.emit.operand import Operand, addressing
from fusepy.backend.emit.operands import alignment, follows_index, region_operands
from fusepy.backend.emit.spaces.blocks import IN_SQUARES, beyond, blocks_for, groups_of
from fusepy.backend.emit.spaces.rows import SLACK, walk_for
from fusepy.backend.emit.spaces.tiles import covered
from fusepy.backend.emit.spaces.turned import turned_operands
from fusepy.backend.emit.variant import Variant
from fusepy.backend.execute.destinations import DestinationChecks
from fusepy.backend.execute.launch import Launch
from fusepy.backend.execute.layouts import Layout
from fusepy.backend.execute.recipe import LINEAR_LIMIT, Recipe, check_taken, make_recipe
from fusepy.backend.execute.words import NO_WORDS, WordMasks, words_of
from fusepy.backend.kernels.kernel import Kernel
from fusepy.backend.marshals.registry import ACCESSES
from fusepy.backend.marshals.whole import written
from fusepy.backend.memory.element import Element
from fusepy.errors import ShapeError
from fusepy.ir.graph import Node
from fusepy.ir.ops.region import output_feeds, result_types, spec_of
from fusepy.ir.strides import contiguous_strides
from fusepy.ir.types import Kind
from fusepy.ir.whole import taken

_POINT = Layout((), ())
# the variant; the groups along each axis, if kernels compute their coordinates from the groups; the sizes of the index space
Way = tuple[Variant, "Sequence[int] | None", dict[str, int]]
Costs = Callable[[Node], tuple[int, int, float]]


@dataclass(frozen=True)
class PlanContext:
    """The properties of a program that all its plans share.

    Attributes:
        build: compiles the kernel of a region in one variant.
        costs: returns the bytes of a region's largest element, those of all that a thread moves for one element, and its price.
        strict: true if broadcasting stretches nothing.
        tile: the extents of the groups that the user asks for, if any; `shaped` is true for groups of any size.
        placed: true if user code asks for the place of its thread in the grid.
    """

    device: Device
    build: Callable[[Node, Variant], Kernel]
    strict: bool = False
    tile: tuple[int, ...] = ()
    shaped: bool = False
    costs: Costs = lambda region: (4, 64, 0.0)
    placed: bool = False


class Plan:
    """The compiled form of one region; `targets` are the names of its destinations, for messages.

    Attributes:
        positions: the slot of each operand of the region: an argument of the call, or the result of another region.
        operands: the operands that its kernels load, those of an epilogue included; `memory` lists those in memory.
        steps: for each operand in memory its slot, whether it takes part in the shape, the extents that it consumes, and the bits
            that must be zero in its address.
        linear: true if contiguous arguments of one shape, and single values, can be indexed without coordinates.
        open: true if it has generators, and no memory that gives it extents.
        whole: on a GPU, the slots of arrays that user code reads whole; kernels are faster where these have no gaps.
        taken: the slots of arrays whose elements are read at indices.
        elements: the element of each result. `passes` is true if a launch fills images, which are copied to the results.
    """

    passes = False
    __slots__ = (
        "_feeds", "_textured", "_together", "context", "device", "elements", "given", "kernels", "linear", "memory", "name",
        "open", "operands", "out_dims", "positions", "rank", "region", "sinks", "steps", "taken", "whole", "written",
    )  # fmt: skip

    def __init__(
        self,
        context: PlanContext,
        region: Node,
        positions: Sequence[int],
        elements: Sequence[Element],
        targets: Sequence[str] = (),
    ):
        self.context, self.device, self.region = context, context.device, region
        self.positions, self.elements = tuple(positions), tuple(elements)
        assert region.body is not None
        self.name, self.operands = region.body.name, self._listed()
        spec = spec_of(region)
        self.out_dims = [result.dims for result in spec.results]
        dims = [m.dims or () for m in region.maps] + self.out_dims
        self.rank = max((max(d) + 1 for d in dims if d), default=0)
        self._feeds, self.sinks = self._fed(), spec.textures
        self.given = DestinationChecks(
            self.name, self.device, self.elements, targets, self.operands, self.positions, self.out_dims, tuple(self.sinks)
        )
        self.kernels: dict[Variant, Kernel] = {}
        ways = [addressing(ACCESSES, o) for o in self.operands]
        self.memory = [o for o, way in zip(self.operands, ways) if way == "memory"]
        self.linear = not (context.tile or context.placed or self.sinks) and self._has_one_order(ways)
        self.open = not self.rank and any(o.arrival.generated for o in self.operands)
        self._textured = bool(self.sinks) or any(o.arrival.texels and o.dims for o in self.operands)
        bits = [alignment(o) - 1 if self.device.target.kind == "cuda" else 0 for o in self.memory]
        self.steps = [
            (self.positions[o.position], not o.is_whole, o.want.shape[: o.consumed], b) for o, b in zip(self.memory, bits)
        ]
        self.written = [o for o in self.memory if written(o.want)]
        self.taken = [self.positions[i] for i in taken(region)]
        wholes = [] if self.device.target.kind == "software" else [o for o in self.memory if o.want.kind is Kind.WHOLE]
        self.whole = [self.positions[o.position] for o in wholes]
        self._together: WordMasks | None = None

    @property
    def together(self) -> WordMasks:
        """The words in which kernels load and store narrow elements."""
        if self._together is None:
            none = self.context.shaped or self.device.target.kind == "software"  # on CPUs words are no faster
            self._together = NO_WORDS if none else self._found_words()
        return self._together

    def _found_words(self) -> WordMasks:
        """Returns the words of the region on a GPU."""
        results = result_types(self.region)
        if not (self.rank and results):
            return NO_WORDS
        along = [o for o in self.memory if o.dims and not o.is_whole]
        return words_of(self.region, self.operands, self.memory, along, results, self.context.costs)

    def words_at(self, slots: Sequence[Layout], results: Sequence[int]) -> str:
        """Returns the name of the words of a call; empty if some array begins inside of one."""
        words, places = self.together, (position for position, *_ in self.steps)
        return words.space if words.space and words.fit([slots[i] for i in (*places, *results)]) else ""

    def _has_one_order(self, ways: Sequence[str]) -> bool:
        """True if all elements go along the grid in order; single values, which all threads read, do not count."""
        identity = tuple(range(self.rank))
        if not {*self.out_dims} <= {identity} or (len(self._feeds) > 1 and _differ(self.operands, self._feeds)):
            return False
        along = set[tuple[int, ...]]()
        for o, way in zip(self.operands, ways):
            if way == "computed" or (way == "index" and not follows_index(o, identity)):
                return False
            if way == "memory" and not o.is_whole:
                along.add(o.dims)
        if identity in along and not self.context.strict:
            along.discard(())
        return along <= {identity}

    def _listed(self) -> list[Operand]:
        """Returns the operands of the region, in order."""
        return region_operands(self.region, self.device.target.kind == "cuda")

    def _fed(self) -> list[frozenset[int]]:
        """Returns for each result the operands that it is computed from."""
        return output_feeds(self.region)

    def kernel(self, variant: Variant) -> Kernel:
        """Returns the compiled kernel of a variant."""
        if variant not in self.kernels:
            self.kernels[variant] = self.context.build(self.region, variant)
        return self.kernels[variant]

    def evict(self) -> None:
        """Drops the kernels."""
        self.kernels.clear()

    def recipe(self, slots: Sequence[Layout]) -> Recipe:
        """Spreads arguments of these layouts over the grid.

        Raises:
            ShapeError: if they do not broadcast together, or the trailing axes of one are not those of its type.
        """
        for (position, mapped, consumed, _), operand in zip(self.steps, self.memory):
            shape, strides, _, linear, _ = slots[position]
            if mapped and consumed and shape[len(shape) - len(consumed) :] != consumed:
                raise ShapeError(
                    f"{self.name}: the trailing axes of {operand.label!r} do not hold {operand.want}",
                    saw=f"shape {shape}",
                    expected=f"trailing axes {consumed}",
                    hint="reshape the array so that its last axes are the components, or vcast to another type",
                )
            if operand.want.kind is Kind.POINTER and not linear:
                raise ShapeError(
                    f"{self.name}: argument {operand.label!r} is passed whole and must be contiguous",
                    saw=f"strides {strides}",
                    hint="copy the view first",
                )
        lying = [slots[p] if o.rank else _POINT for p, o in zip(self.positions, self.operands)]
        made = self._made([o.shape for o in lying], [o.strides for o in lying])
        return check_taken(self.name, made, [slots[i].shape for i in self.taken])

    def _made(self, shapes: Sequence[tuple[int, ...]], strides: Sequence[tuple[int, ...]]) -> Recipe:
        found = make_recipe(self.operands, shapes, strides, self.out_dims, self._feeds, self.rank, self.name, self.context.strict)
        if not found.count and len(found.out_shapes) > 1 and any(map(math.prod, found.out_shapes)):  # no thread would write them
            what = f"{self.name}: results beside an empty one"
            raise ShapeError(what, saw=found.out_shapes, hint="return them from two functions")
        return found

    def launches(self, recipe: Recipe, slots: Sequence[Layout], results: Sequence[int], new: Callable[[], int]) -> list[Launch]:
        """Returns the launches that run the region over the grid of `recipe`.

        Args:
            slots: the layouts of arguments and results.
            results: the slots of the results.
            new: makes a slot for memory between two launches.
        """
        variant, groups, sizes = self._way(recipe, slots, results)
        return [Launch(self, variant, recipe, groups, sizes, (-1, -1), (), self.positions, tuple(results), idle=not recipe.count)]

    def _way(self, recipe: Recipe, slots: Sequence[Layout], results: Sequence[int]) -> Way:
        """Returns the variant of a call, and the groups and sizes of its index space."""
        wide, packed = recipe.wide, self.packs(slots)
        if self.linear and self.one_shape(slots) and all(slots[slot].linear for slot in results):
            space = self.words_at(slots, results)
            return Variant(True, self.rank, recipe.count >= LINEAR_LIMIT, packed=packed, space=space), None, {}
        if self.context.tile or not self.rank:
            return Variant(False, self.rank, wide, self.context.tile, packed=packed), None, {}
        dense = self._dense(recipe, slots, results)
        if self.device.target.kind == "software":
            wide = wide or recipe.count + SLACK >= LINEAR_LIMIT
            walk = walk_for(recipe.grid)
            return Variant(False, self.rank, wide, space="rows", packed=packed, dense=dense), walk.groups, walk.sizes
        if self.rank < 2 or (self.context.shaped and not self._textured):
            return Variant(False, self.rank, wide, packed=packed, dense=dense), None, {}
        _, moved, price = self.context.costs(self.region)
        space, turned = "squares" if self._textured else blocks_for(price, moved), ()
        if space not in ("blocks heavy", "squares"):
            raw = {o.position: slots[self.positions[o.position]].strides for o in self.memory}
            turned = turned_operands(self.memory, recipe.strides, raw, recipe.grid)
            space = IN_SQUARES if turned else space
        groups = groups_of(space, tuple(recipe.grid))
        wide = wide or (groups is None and recipe.count + beyond(space) >= LINEAR_LIMIT)
        near = self.rank - 1 if dense and self._side_by_side(recipe) else None
        variant = Variant(False, self.rank, wide, space=space, packed=packed, turned=turned, dense=dense, near=near)
        return variant, groups, {"counted": int(groups is None)}

    def _dense(self, recipe: Recipe, slots: Sequence[Layout], results: Sequence[int]) -> bool:
        """True if results are contiguous and have an element for each of the grid: kernels store them by its number."""
        full = [(tuple(range(self.rank)), recipe.grid)] * len(results)
        return full == [*zip(self.out_dims, recipe.out_shapes)] and not self.sinks and all(slots[slot].linear for slot in results)

    def _side_by_side(self, recipe: Recipe) -> bool:
        """True if elements are neighbours along the last dimension of the grid in all operands that have it."""
        d = self.rank - 1
        steps = {recipe.strides[o.position][o.dims.index(d)] for o in self.memory if d in o.dims}
        return recipe.grid[d] == 1 or steps <= {1}

    def packs(self, slots: Sequence[Any]) -> bool:
        """True if there are arrays that are read whole, and none has gaps. Axes of extent 1 count: user code sees strides."""
        return bool(self.whole) and all(slots[i].strides == contiguous_strides(slots[i].shape) for i in self.whole)

    def one_shape(self, slots: Sequence[Layout]) -> bool:
        """True if arguments are contiguous, and single values or of one batch shape, so that they can be indexed linearly."""
        batches: set[tuple[int, ...]] = set()
        for position, mapped, consumed, unaligned in self.steps:
            layout = slots[position]
            if not layout.linear or layout.low & unaligned:
                return False
            if mapped:
                batches.add(layout.shape[: len(layout.shape) - len(consumed)])
        return len(batches - {()}) < 2

    def elements_of(self, launch: Launch, kernel: Kernel) -> int:
        """Returns the number of elements that the groups of a launch cover, if `Launch.groups` is None."""
        return covered(self.context.tile, launch.recipe.grid, kernel.per_group) if self.context.tile else launch.recipe.count


def _differ(operands: Sequence[Operand], feeds: Sequence[frozenset[int]]) -> bool:
    """True if some result is of single values alone and another one is not: it has one element, which one thread may store."""
    arrays = {o.position for o in operands if o.dims}
    return len({not feeding & arrays for feeding in feeds}) > 1
