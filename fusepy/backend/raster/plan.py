"""`DrawPlan`: the plan of one draw, beside those of regions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from fusepy.backend.execute.destinations import DestinationChecks
from fusepy.backend.execute.launch import Launch
from fusepy.backend.execute.layouts import Layout
from fusepy.backend.execute.plan import Plan, PlanContext
from fusepy.backend.execute.recipe import Recipe, make_recipe
from fusepy.backend.kernels.kernel import Kernel
from fusepy.backend.marshals.whole import written
from fusepy.backend.memory.element import Element
from fusepy.backend.raster.state import PRIMITIVES
from fusepy.backend.raster.text import DRAWN, draw_operands
from fusepy.errors import ShapeError
from fusepy.ir.graph import Node
from fusepy.ir.ops.region import StoredInto
from fusepy.ir.pipelines.draw import makes_meshes, operands_of
from fusepy.ir.types import Kind

_POINT = Layout((), ())


class DrawPlan(Plan):
    """The plan of a draw. Its grid has two dimensions, vertices and instances; its results have the extents of the image.

    Args:
        sinks: the results that are stored into textures.
        name: the name of the program, for messages.
    """

    passes = True
    __slots__ = ("_indexed", "_mesh", "_vertex")

    def __init__(
        self,
        context: PlanContext,
        draw: Node,
        positions: Sequence[int],
        elements: Sequence[Element],
        targets: Sequence[str],
        sinks: dict[int, StoredInto],
        name: str,
    ):
        self.context, self.device, self.region = context, context.device, draw
        self.positions, self.elements = tuple(positions), tuple(elements)
        self.name = name
        self.operands = draw_operands(draw)
        self.out_dims = [(0, 1) for _ in draw.results]
        self.rank, self.linear, self.open, self.sinks = 2, False, False, sinks
        self.given = DestinationChecks(self.name, self.device, self.elements, targets, [], (), self.out_dims, tuple(sinks))
        self.kernels = {}
        self.memory = [o for o in self.operands if o.arrival.memory or o.made]
        self.written = [o for o in self.memory if written(o.want)]
        self.steps, self.taken = [], []
        self._indexed = bool(draw.attrs["indexed"])
        self._mesh = makes_meshes(draw)
        self._vertex = self.operands[: len(operands_of(draw)[0])]

    def recipe(self, slots: Sequence[Layout]) -> Recipe:
        """Returns the numbers of vertices and instances, and the extents of the results.

        Raises:
            ShapeError: if attributes have different lengths, or there are no vertices, or they make no whole shapes.
        """
        self._check(slots)
        lying = [slots[p] for p in self.positions]
        shapes, strides = [one.shape for one in lying], [one.strides for one in lying]
        batch = [o for o in self._vertex if o.dims]
        found = make_recipe(batch, shapes, strides, [], [], 2, self.name, False)
        grid = (*found.grid, 1, 1)[:2]
        steps = [*strides]
        for operand, own in zip(batch, found.strides):
            steps[operand.position] = own
        image = lying[0].shape
        drawn = math.prod(lying[1].shape) if self._indexed else grid[0]
        if (not drawn or not grid[0]) and not self._mesh:
            raise ShapeError(
                f"{self.name}: the mesh is empty",
                saw=f"{grid[0]} vertices" + f" and {drawn} indices" * self._indexed,
                expected="at least one vertex" + " and one index" * self._indexed,
                hint="leave the call out where there is nothing to draw: the image has the clear colour",
            )
        if not self._mesh:
            self._check_count(drawn)
        return Recipe(grid, math.prod(image), tuple(steps), tuple(image for _ in self.elements), found.wide)

    def _check_count(self, drawn: int) -> None:
        """Raises `ShapeError` for numbers of vertices of which the device silently leaves out some or all."""
        topology, given = str(self.region.attrs["topology"]), "indices" if self._indexed else "vertices"
        each, least, shape = PRIMITIVES[topology]
        if drawn >= least and drawn % each == 0:
            return
        single = given[:-1].replace("ice", "ex") if drawn == 1 else given
        made = f"makes no {shape}" if drawn == 1 else f"make no whole {shape}s"
        other = f"{shape}_strip" if drawn >= least > 1 else "points"
        more = f"give {each} {given} for each {shape}" if each > 1 else f"give {least} {given} or more"
        raise ShapeError(
            f"{self.name}: {drawn} {single} {made}",
            saw=f"{drawn} {single}, topology={topology!r}",
            expected=f"a multiple of {each}" if each > 1 else f"at least {least}",
            hint=f"{more}, or write .options(topology={other!r})",
        )

    def _check(self, slots: Sequence[Layout]) -> None:
        for operand in self.operands:
            layout = slots[self.positions[operand.position]]
            components = (
                operand.want.shape[: operand.consumed] if operand.consumed and operand.want.kind is not Kind.NAMED else ()
            )
            if components and operand in self.memory and layout.shape[len(layout.shape) - len(components) :] != components:
                raise ShapeError(
                    f"{self.name}: the trailing axes of {operand.label!r} do not hold {operand.want}",
                    saw=f"shape {layout.shape}",
                    expected=f"trailing axes {components}",
                    hint="reshape the array so that its last axes are the components, or vcast to another type",
                )

    def launches(self, recipe: Recipe, slots: Sequence[Layout], results: Sequence[int], new: Callable[[], int]) -> list[Launch]:
        """Returns the draw. Its ``groups`` are the width and height of the image, and the numbers of elements and instances.

        Those of a mesh function are behind the width and height.
        """
        height, width = slots[self.positions[0]].shape
        if self._mesh:
            made = (width, height, *slots[self.positions[1]].shape)
            return [Launch(self, DRAWN, recipe, made, reads=self.positions, results=tuple(results), idle=not recipe.count)]
        count = math.prod(slots[self.positions[1]].shape) if self._indexed else recipe.grid[0]
        drawn = (width, height, count, recipe.grid[1])
        reads = self.positions
        return [Launch(self, DRAWN, recipe, drawn, reads=reads, results=tuple(results), idle=not recipe.count)]

    def elements_of(self, launch: Launch, kernel: Kernel) -> int:
        """Returns 1: the groups hold the numbers of elements and instances."""
        return 1


def drawn_by(launch: Launch) -> str:
    """Describes a draw."""
    width, height, *counts = launch.groups or (0, 0, 0, 0)
    if len(counts) == 3:
        return f"the rasteriser draws {' x '.join(f'{n:,}' for n in counts)} groups of meshlets into {width} x {height} pixels"
    count, instances = counts
    many = f" for each of {instances:,} instances" if instances > 1 else ""
    return f"the rasteriser draws {count:,} vertices{many} into {width} x {height} pixels"
