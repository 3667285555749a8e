"""`Plan`: the compiled form of one region: how arguments of any sizes spread over its grid, and which launches they ask for.

Sizes are no part of a plan. Each region has up to three variants of kernels, compiled when first needed: linear indexing where
all arguments are contiguous and of one shape, else strides over the broadcast grid, in 64 bits where an extent or offset needs
it.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

from fusepy.backend.device.device import Device
from fusepy.backend.emit.operand import Field, Operand, Variant, reach
from fusepy.backend.emit.operands import region_operands
from fusepy.backend.emit.rows import SLACK, walk_for
from fusepy.backend.emit.squares import squares_of
from fusepy.backend.emit.tiles import covered
from fusepy.backend.execute.destinations import Given
from fusepy.backend.execute.launch import Launch
from fusepy.backend.execute.layouts import Layout
from fusepy.backend.execute.recipe import Recipe, make_recipe
from fusepy.backend.kernels.kernel import Kernel
from fusepy.backend.marshals.constant import Components
from fusepy.backend.marshals.registry import ACCESSES
from fusepy.backend.marshals.whole import written
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.recast import TrailingMismatch
from fusepy.errors import CompileError, FusepyError, RangeError, ShapeError
from fusepy.ir.graph import Node
from fusepy.ir.ops.region import output_feeds, spec_of
from fusepy.ir.types import Kind

Build = Callable[[Node, Variant], Kernel]
LINEAR_LIMIT = 1 << 31  # beyond it 32-bit arithmetic on indices may wrap
_POINT = Layout((), ())


class Plan:
    """The compiled form of one region.

    Attributes:
        positions: for each operand of the region, the slot that it is in: an argument of the call, or what another region fills.
        operands: what its kernels load, those of an epilogue included; `memory` those that lie in memory.
        steps: for each of these the slot, whether it takes part in the shape, the extents that it consumes, and the bits that its
            address must lack.
        linear: whether contiguous arguments of one shape can be indexed without coordinates.
        open: whether it has generators, and no memory that gives it extents.
        elements: the element of each result.
        targets: what each result is written to if one is given, for messages.
    """

    __slots__ = (
        "_build", "_feeds", "_textured", "device", "elements", "given", "kernels", "linear", "memory", "name", "open", "operands",
        "out_dims", "positions", "rank", "region", "sinks", "steps", "strict", "targets", "tile", "written",
    )  # fmt: skip

    def __init__(
        self,
        device: Device,
        region: Node,
        positions: Sequence[int],
        elements: Sequence[Element],
        build: Build,
        strict: bool,
        tile: tuple[int, ...] = (),
        targets: Sequence[str] = (),
    ):
        self.device = device
        self.region = region
        self.positions = tuple(positions)
        self.elements = tuple(elements)
        self.strict = strict
        self.tile = tile
        self.targets = tuple(targets)
        self._build = build
        assert region.body is not None
        self.name = region.body.name
        self.operands = self._listed()
        spec = spec_of(region)
        self.out_dims = [result.dims for result in spec.results]
        dims = [m.dims or () for m in region.maps] + self.out_dims
        self.rank = max((max(d) + 1 for d in dims if d), default=0)
        self._feeds = self._fed()
        self.sinks = spec.textures
        self.given = Given(
            self.name, device, self.elements, self.targets, self.operands, self.positions, self.out_dims, tuple(self.sinks)
        )
        self.kernels: dict[Variant, Kernel] = {}
        identity = tuple(range(self.rank))
        kinds = [reach(ACCESSES[o.arrival], o) for o in self.operands]
        self.memory = [o for o, kind in zip(self.operands, kinds) if kind == "memory"]
        mapped = [o for o in self.memory if not o.is_whole]
        self.linear = all(o.dims == identity for o in mapped) and all(d == identity for d in self.out_dims)
        self.linear = self.linear and not tile and not self.sinks and "computed" not in kinds
        self.linear = self.linear and all(_follows(o, identity) for o, kind in zip(self.operands, kinds) if kind == "index")
        self.open = not self.rank and any(o.arrival.generated for o in self.operands)
        self._textured = bool(self.sinks) or any(o.arrival.texels and o.dims for o in self.operands)
        self.steps = [
            (
                self.positions[o.position],
                not o.is_whole,
                o.want.shape[: o.consumed] if o.consumed else (),
                _alignment(o) - 1 if device.target.kind == "cuda" else 0,
            )
            for o in self.memory
        ]
        self.written = [o for o in self.memory if written(o.want)]

    def _listed(self) -> list[Operand]:
        """The operands of the region, in order."""
        return region_operands(self.region, self.device.target.kind == "cuda")

    def _fed(self) -> list[frozenset[int]]:
        """For each result the operands that it is computed from."""
        return output_feeds(self.region)

    # ---- lowering -----------------------------------------------------------------------------------------------

    @property
    def consumed(self) -> list[tuple[int, tuple[int, ...]]]:
        """Arguments whose trailing axes become components, with the extents that these must have."""
        return [(position, extents) for position, mapped, extents, _ in self.steps if mapped and extents]

    def kernel(self, variant: Variant) -> Kernel:
        """The compiled kernel of a variant."""
        found = self.kernels.get(variant)
        if found is None:
            found = self.kernels[variant] = self._build(self.region, variant)
        return found

    def evict(self) -> None:
        """Gives up the kernels; the next call compiles them again or finds them on disk."""
        self.kernels.clear()

    def recipe(self, slots: Sequence[Layout]) -> Recipe:
        """How arguments that lie so spread over the grid.

        Raises:
            ShapeError: if they do not broadcast together.
            TrailingMismatch: if the plan was made for other trailing extents.
        """
        for (position, mapped, consumed, _), operand in zip(self.steps, self.memory):
            shape, strides, _, linear, _ = slots[position]
            if mapped and consumed and shape[len(shape) - len(consumed) :] != consumed:
                raise TrailingMismatch(shape, consumed)
            if operand.want.kind is Kind.POINTER and not linear:
                raise ShapeError(
                    f"{self.name}: argument {operand.label!r} is passed whole and must be contiguous",
                    saw=f"strides {strides}",
                    hint="copy the view first",
                )
        lying = [slots[p] if o.rank else _POINT for p, o in zip(self.positions, self.operands)]
        return self._made([o.shape for o in lying], [o.strides for o in lying])

    def _made(self, shapes: Sequence[tuple[int, ...]], strides: Sequence[tuple[int, ...]]) -> Recipe:
        found = make_recipe(self.operands, shapes, strides, self.out_dims, self._feeds, self.rank, self.name, self.strict)
        if not found.count and len(found.out_shapes) > 1 and any(math.prod(shape) for shape in found.out_shapes):
            # no thread would write the results of smaller rank; by themselves they have grids of their own
            saw, hint = found.out_shapes, "return them from two functions"
            raise ShapeError(f"{self.name}: results beside an empty one", saw=saw, hint=hint)
        return found

    def launches(self, recipe: Recipe, slots: Sequence[Layout], results: Sequence[int], new: Callable[[], int]) -> list[Launch]:
        """What runs it over this grid.

        Args:
            slots: how arguments and results lie; `results` are the slots of the latter.
            new: makes a slot for memory that is needed in between.
        """
        variant, groups = self._way(recipe, slots, results)
        reads, results = self.positions, tuple(results)
        return [Launch(self, variant, recipe, groups, reads=reads, results=results, idle=not recipe.count)]

    def _way(self, recipe: Recipe, slots: Sequence[Layout], results: Sequence[int]) -> tuple[Variant, Sequence[int] | None]:
        """How a call is indexed, and its groups along each axis where kernels know their place in the grid by these."""
        if self.linear and self.one_shape(slots) and all(slots[slot].linear for slot in results):
            return Variant(True, self.rank, recipe.count >= LINEAR_LIMIT), None
        groups, wide = None, recipe.wide
        if self.tile or not self.rank:
            pass
        elif self.device.target.kind == "software":
            groups = walk_for(recipe.grid).groups
            wide = wide or recipe.count + SLACK >= LINEAR_LIMIT
        elif self._textured:
            groups = squares_of(recipe.grid)
        return Variant(False, self.rank, wide, self.tile, "" if groups is None else "rows"), groups

    def one_shape(self, slots: Sequence[Layout]) -> bool:
        """Whether arguments are contiguous and of one batch shape, so that they can be indexed linearly."""
        batch: tuple[int, ...] | None = None
        for position, mapped, consumed, unaligned in self.steps:
            lies = slots[position]
            if not lies.linear or lies.low & unaligned:
                return False
            if mapped:
                extents = lies.shape[: len(lies.shape) - len(consumed)]
                if batch is None:
                    batch = extents
                elif batch != extents:
                    return False
        return True

    def elements_of(self, launch: Launch, kernel: Kernel) -> int:
        """How many elements the groups of a launch cover, where not `Launch.groups` says how many there are."""
        return covered(self.tile, launch.recipe.grid, kernel.per_group) if self.tile else launch.recipe.count

    def constant(self, field: Field, launch: Launch, slots: Sequence[Layout]) -> Any:
        """The value of a field that follows from the layouts alone."""
        role, source, axis, recipe = field.role, field.source, field.axis, launch.recipe
        if role == "out_base":
            return slots[launch.results[source]].base
        if role == "out_stride":
            lies = slots[launch.results[source]]
            return 0 if lies.shape[axis] == 1 and recipe.grid[self.out_dims[source][axis]] != 1 else lies.strides[axis]
        if role == "count":
            return recipe.count
        if role == "extent":
            return recipe.grid[source]
        if role == "walk":
            return walk_for(recipe.grid).told[source]
        if role == "zero":
            return 0
        assert role == "stride", role
        return recipe.strides[source][axis]

    def bad_number(self, args: Sequence[Any], error: Exception) -> FusepyError:
        """Which Python number did not fit its parameter."""
        for operand, position in zip(self.operands, self.positions):
            if (operand.arrival.plain or operand.arrival.uniform) and operand.have.dtype is not None:
                given = args[position]
                try:
                    for number in given if isinstance(given, Components) else (given,):
                        struct.pack(_CODES[operand.have.dtype.kind, operand.have.dtype.itemsize], number)
                except (struct.error, OverflowError):
                    return RangeError(
                        f"{self.name}: argument {operand.label!r} does not fit {operand.have}",
                        saw=given,
                        expected=operand.have,
                        hint="use a wider type in the Slang function, or a number in range",
                    )
        return CompileError(f"{self.name}: the parameter block cannot be packed", saw=error, hint="this is a bug of fusepy")


def _follows(operand: Operand, identity: tuple[int, ...]) -> bool:
    """Whether a generator is the index of the thread and no more."""
    return operand.spread and operand.dims == identity and operand.near is None


def _alignment(operand: Operand) -> int:
    """Bytes that CUDA wants the address of one element aligned to: it loads vectors of two and four in one piece, or aborts."""
    scalar = operand.have.dtype
    if operand.is_whole or not operand.consumed or scalar is None or operand.want.shape[-1] not in (2, 4):
        return 1
    return min(16, scalar.itemsize * operand.want.shape[-1])


_CODES = {
    ("b", 1): "<I", ("i", 1): "<b", ("u", 1): "<B", ("i", 2): "<h", ("u", 2): "<H", ("i", 4): "<i", ("u", 4): "<I",
    ("i", 8): "<q", ("u", 8): "<Q", ("f", 2): "<e", ("f", 4): "<f", ("f", 8): "<d",
}  # fmt: skip
