"""`Plan`: what a cache hit runs. The hot path of fusepy: check shapes, pack, dispatch, hand out results.

Sizes are no part of a plan; they are checked and packed on every call. Each region has up to three variants, compiled when
first needed: linear indexing where all arguments are contiguous and of one shape, else strides over the broadcast grid,
in 64 bits where an extent or offset needs it.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

from fusepy.backend.device.device import Device
from fusepy.backend.device.sink import Sink
from fusepy.backend.emit.operand import Field, Operand, Variant, reach
from fusepy.backend.emit.operands import region_operands
from fusepy.backend.emit.rows import SLACK, walk_for
from fusepy.backend.emit.squares import squares_of
from fusepy.backend.emit.tiles import covered
from fusepy.backend.execute.destinations import Given
from fusepy.backend.execute.recipe import Recipe, make_recipe
from fusepy.backend.kernels.globals import Bindings
from fusepy.backend.kernels.kernel import Kernel
from fusepy.backend.marshals.constant import Components
from fusepy.backend.marshals.registry import ACCESSES
from fusepy.backend.marshals.whole import check_written, written
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.recast import TrailingMismatch
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import CompileError, FusepyError, RangeError, ShapeError
from fusepy.ir.graph import Node
from fusepy.ir.ops.region import output_feeds, spec_of
from fusepy.ir.strides import contiguous_strides
from fusepy.ir.types import Kind

Build = Callable[[Node, Variant], Kernel]
LINEAR_LIMIT = 1 << 31  # beyond it 32-bit arithmetic on indices may wrap
RECIPES = 256


class Plan:
    """The compiled form of one region.

    Attributes:
        positions: for each operand of the region, which argument of the call it is.
        elements: the element of each result.
        targets: what each result is written to if one is given, for messages.
    """

    __slots__ = (
        "__weakref__", "_build", "_disjoint", "_disjoint_shape", "_feeds", "_given", "_linear_kernel", "_memory", "_operands",
        "_out_dims", "_recipes", "_resources", "_sinks", "_steps", "_textured", "_uniforms", "_whole", "_written", "device",
        "elements", "kernels", "linear", "name", "open", "positions", "rank", "region", "strict", "targets", "tile",
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
        self._operands = self._listed()
        spec = spec_of(region)
        self._out_dims = [result.dims for result in spec.results]
        dims = [m.dims or () for m in region.maps] + self._out_dims
        self.rank = max((max(d) + 1 for d in dims if d), default=0)
        self._feeds = self._fed()
        self._sinks = spec.textures
        self._given = Given(
            self.name, device, self.elements, self.targets, self._operands, self.positions, self._out_dims, tuple(self._sinks)
        )
        self.kernels: dict[Variant, Kernel] = {}
        self._linear_kernel: Kernel | None = None  # the usual one of these, without hashing a variant
        self._recipes: dict[Any, Recipe] = {}
        self._disjoint: list[int] = []  # addresses and shape of the last call with given results that was checked for overlap
        self._disjoint_shape: tuple[int, ...] = ()
        identity = tuple(range(self.rank))
        kinds = [reach(ACCESSES[o.arrival], o) for o in self._operands]
        self._memory = [o for o, kind in zip(self._operands, kinds) if kind == "memory"]
        mapped = [o for o in self._memory if not o.is_whole]
        self._whole = len(mapped) != len(self._memory) or any(o.arrival.raw for o in self._operands)
        self.linear = all(o.dims == identity for o in mapped) and all(d == identity for d in self._out_dims)
        self.linear = self.linear and not tile and not self._sinks and "computed" not in kinds
        self.linear = self.linear and all(_follows(o, identity) for o, kind in zip(self._operands, kinds) if kind == "index")
        # generators without memory beside them: what gives the call its extents must come with the result
        self.open = not self.rank and any(o.arrival.generated for o in self._operands)
        self._resources = "resource" in kinds
        self._textured = bool(self._sinks) or any(o.arrival.texels and o.dims for o in self._operands)
        # a step per memory operand: argument, whether it takes part in the shape, extents it consumes, bits its address must lack
        self._steps = [
            (
                self.positions[o.position],
                not o.is_whole,
                o.want.shape[: o.consumed] if o.consumed else (),
                _alignment(o) - 1 if device.target.kind == "cuda" else 0,
            )
            for o in self._memory
        ]
        self._uniforms = [
            (self.positions[o.position], field.read)
            for o, kind in zip(self._operands, kinds)
            if kind in ("uniform", "index", "memory") or o.is_whole
            for field in ACCESSES[o.arrival].fields(o, Variant(True, self.rank))
            if field.role != "pointer"
        ]
        self._written = [o for o in self._memory if written(o.want)]

    def _listed(self) -> list[Operand]:
        """The operands of the region, in order."""
        return region_operands(self.region, self.device.target.kind == "cuda")

    def _fed(self) -> list[frozenset[int]]:
        """For each result the operands that it is computed from."""
        return output_feeds(self.region)

    @property
    def operands(self) -> Sequence[Operand]:
        """What its kernels load, those of an epilogue included."""
        return self._operands

    # ---- the hot path -------------------------------------------------------------------------------------------

    def run(
        self,
        args: Sequence[Any],
        outs: Sequence[Tensor | None] | None,
        sink: Sink,
        bindings: Bindings | None = None,
        beside: bool = False,
    ) -> list[Tensor]:
        """Runs the region and returns its results; a tensor in `outs` is written instead of a new one.

        Args:
            beside: whether it may run beside what was launched before.

        Raises:
            ShapeError, RangeError: if the arguments do not fit together or their parameters.
            TrailingMismatch: if the plan was made for other trailing extents.
        """
        if self._written:
            check_written(self._written, self._memory, self.positions, args)
        if not self.linear:
            return self._run_strided(args, outs, sink, bindings, beside)
        shape: tuple[int, ...] | None = None
        values: list[Any] = []
        for position, mapped, consumed, unaligned in self._steps:
            tensor: Tensor = args[position]
            if not tensor.linear or tensor.address & unaligned:
                return self._run_strided(args, outs, sink, bindings, beside)
            values.append(tensor.address)
            if mapped:
                extents = tensor.shape
                if consumed:
                    cut = len(extents) - len(consumed)
                    if extents[cut:] != consumed:
                        raise TrailingMismatch(extents, consumed)
                    extents = extents[:cut]
                if shape is None:
                    shape = extents
                elif extents != shape:
                    return self._run_strided(args, outs, sink, bindings, beside)
        if shape is None:
            shape = ()
        device = self.device
        results: list[Tensor] = []
        if outs is None:
            for element in self.elements:
                result = Tensor(device, element, shape)
                results.append(result)
                values.append(result.address)
        else:
            for j, (element, given) in enumerate(zip(self.elements, outs)):
                result = Tensor(device, element, shape) if given is None else self._given.checked(j, given, shape)
                if not result.linear:
                    return self._run_strided(args, outs, sink, bindings, beside)
                results.append(result)
                values.append(result.address)
            if self._whole or values != self._disjoint or shape != self._disjoint_shape:
                self._given.check_overlap(args, outs)  # the same tensors as in the last call are known not to clash
                self._disjoint, self._disjoint_shape = values.copy(), shape
        count = 1
        for extent in shape:
            count *= extent
        if count == 0:
            return results
        values.append(count)
        for position, read in self._uniforms:
            values.append(args[position] if read is None else read(args[position]))
        kernel = self._linear_kernel
        if kernel is None or count >= LINEAR_LIMIT:
            kernel = self._linear(count >= LINEAR_LIMIT)
        try:
            if self._resources:
                bound = [self._bound(f, args, results) for f in kernel.resources]
                kernel.launch_bound(device, sink, bindings, values, count, bound, None, beside)
            else:
                kernel.launch(device, sink, bindings, values, count, None, beside)
        except FusepyError:  # about a global: some are TypeErrors, too
            raise
        except (struct.error, OverflowError, TypeError) as error:
            raise self.bad_number(args, error) from error
        return results

    @property
    def consumed(self) -> list[tuple[int, tuple[int, ...]]]:
        """Arguments whose trailing axes become components, with the extents that these must have."""
        return [(position, extents) for position, mapped, extents, _ in self._steps if mapped and extents]

    # ---- everything else ----------------------------------------------------------------------------------------

    def _linear(self, wide: bool) -> Kernel:
        kernel = self._kernel(Variant(True, self.rank, wide))
        if not wide:
            self._linear_kernel = kernel
        return kernel

    def _kernel(self, variant: Variant) -> Kernel:
        found = self.kernels.get(variant)
        if found is None:
            found = self.kernels[variant] = self._build(self.region, variant)
            self.device.keep(self)
        return found

    def check(self, shapes: Sequence[tuple[int, ...]], strides: Sequence[tuple[int, ...]] | None = None) -> Recipe:
        """How arguments of these shapes, contiguous unless `strides` are given, spread over the grid.

        Raises:
            ShapeError: if they do not broadcast together.
        """
        given = [shapes[p] if o.rank else () for p, o in zip(self.positions, self._operands)]
        steps = [
            strides[p] if strides and o.rank else contiguous_strides(s) for p, o, s in zip(self.positions, self._operands, given)
        ]
        return self._made(given, steps)

    def _made(self, shapes: Sequence[tuple[int, ...]], strides: Sequence[tuple[int, ...]]) -> Recipe:
        found = make_recipe(self._operands, shapes, strides, self._out_dims, self._feeds, self.rank, self.name, self.strict)
        if not found.count and len(found.out_shapes) > 1 and any(math.prod(shape) for shape in found.out_shapes):
            # no thread would write the results of smaller rank; by themselves they have grids of their own
            saw, hint = found.out_shapes, "return them from two functions"
            raise ShapeError(f"{self.name}: results beside an empty one", saw=saw, hint=hint)
        return found

    def one_shape(self, shapes: Sequence[tuple[int, ...]]) -> bool:
        """Whether arguments of these shapes have one batch shape, so that they can be indexed linearly."""
        batch = {
            shapes[position][: len(shapes[position]) - len(consumed)] for position, mapped, consumed, _ in self._steps if mapped
        }
        return len(batch) <= 1

    def evict(self) -> None:
        """Gives up the kernels; the next call compiles them again or finds them on disk."""
        self.kernels.clear()
        self._linear_kernel = None

    def _run_strided(
        self, args: Sequence[Any], outs: Sequence[Tensor | None] | None, sink: Sink, bindings: Bindings | None, beside: bool
    ) -> list[Tensor]:
        recipe = self._recipe(args)
        results = self._results(args, outs, recipe)
        if recipe.count:
            variant, groups = self.strided(recipe)
            kernel = self._kernel(variant)
            count = covered(self.tile, recipe.grid, kernel.per_group) if self.tile else recipe.count
            values = [self._value(f, args, results, recipe) for f in kernel.fields]
            try:
                bound = [self._bound(f, args, results) for f in kernel.resources]
                kernel.launch_bound(self.device, sink, bindings, values, count, bound, groups, beside)
            except FusepyError:
                raise
            except (struct.error, OverflowError, TypeError) as error:
                raise self.bad_number(args, error) from error
        return results

    def _results(self, args: Sequence[Any], outs: Sequence[Tensor | None] | None, recipe: Recipe) -> list[Tensor]:
        """Tensors for the results, of the extents in `recipe`: those that the caller gave, checked, and new ones."""
        results: list[Tensor] = []
        for j, (element, shape) in enumerate(zip(self.elements, recipe.out_shapes)):
            given = outs[j] if outs is not None else None
            results.append(Tensor(self.device, element, shape) if given is None else self._given.checked(j, given, shape))
        if outs is not None:
            self._given.check_overlap(args, outs, recipe.grid)
            self._given.check_textures(outs, recipe.grid)
        return results

    def strided(self, recipe: Recipe) -> tuple[Variant, Sequence[int] | None]:
        """How a call is indexed that is not linear, and its groups along each axis where these know their place in the grid."""
        groups, wide = None, recipe.wide
        if self.tile or not self.rank:
            pass
        elif self.device.target.kind == "software":
            groups = walk_for(recipe.grid).groups
            wide = wide or recipe.count + SLACK >= LINEAR_LIMIT
        elif self._textured:
            groups = squares_of(recipe.grid)
        return Variant(False, self.rank, wide, self.tile, "" if groups is None else "rows"), groups

    def _recipe(self, args: Sequence[Any]) -> Recipe:
        key = tuple(
            (args[p].shape, args[p].strides if isinstance(args[p], Tensor) else None)
            for p, o in zip(self.positions, self._operands)
            if o.rank
        )
        found = self._recipes.get(key)
        if found is None:
            for (position, mapped, consumed, _), operand in zip(self._steps, self._memory):
                extents = args[position].shape
                if mapped and consumed and extents[len(extents) - len(consumed) :] != consumed:
                    raise TrailingMismatch(extents, consumed)
                if operand.want.kind is Kind.POINTER and not args[position].linear:
                    raise ShapeError(
                        f"{self.name}: argument {operand.label!r} is passed whole and must be contiguous",
                        saw=f"strides {args[position].strides}",
                        hint="copy the view first",
                    )
            shapes = [args[p].shape if o.rank else () for p, o in zip(self.positions, self._operands)]
            strides = [args[p].strides if isinstance(args[p], Tensor) else () for p in self.positions]
            found = self._made(shapes, strides)
            if len(self._recipes) >= RECIPES:
                self._recipes.clear()
            self._recipes[key] = found
        return found

    def _bound(self, field: Field, args: Sequence[Any], results: Sequence[Any]) -> Any:
        """What is bound for one of the kernel's resources."""
        if field.read is None:
            return results[field.source].value
        return field.read(args[self.positions[field.source]])

    def _value(self, field: Field, args: Sequence[Any], results: Sequence[Tensor], recipe: Recipe) -> Any:
        role, source, axis = field.role, field.source, field.axis
        if role == "number":
            return args[self.positions[source]]
        if field.read is not None:
            return field.read(args[self.positions[source]])
        if role == "out":
            return results[source].low
        if role == "out_base":
            return results[source].base
        if role == "out_stride":
            result = results[source]
            return 0 if result.shape[axis] == 1 and recipe.grid[self._out_dims[source][axis]] != 1 else result.strides[axis]
        if role == "count":
            return recipe.count
        if role == "extent":
            return recipe.grid[source]
        if role == "walk":
            return walk_for(recipe.grid).told[source]
        assert role == "stride", role
        return recipe.strides[source][axis]

    def bad_number(self, args: Sequence[Any], error: Exception) -> FusepyError:
        """Which Python number did not fit its parameter."""
        for operand, position in zip(self._operands, self.positions):
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
