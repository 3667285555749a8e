"""Stages of the device's pipelines that run regions: compute, rays, draws. Other code asks `stage_of` and names none of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from fusepy.backend.emit.fold.kernel import emit_fold
from fusepy.backend.emit.fold.variant import FoldVariant
from fusepy.backend.emit.operand import Operand
from fusepy.backend.emit.operands import region_operands
from fusepy.backend.emit.region import emit
from fusepy.backend.emit.row.kernel import emit_rows
from fusepy.backend.emit.row.variant import RowVariant
from fusepy.backend.emit.text import Emission, KernelSource
from fusepy.backend.emit.variant import Variant
from fusepy.backend.execute.launch import Launch
from fusepy.backend.execute.plan import Costs, Plan, PlanContext
from fusepy.backend.execute.rows.choice import make_plan
from fusepy.backend.execute.texture_results import TextureTarget
from fusepy.backend.kernels.kernel import Kernel
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.texture import TextureKind
from fusepy.backend.raster.kernel import DrawKernel
from fusepy.backend.raster.plan import DrawPlan, drawn_by
from fusepy.backend.raster.targets import drawn_targets
from fusepy.backend.raster.text import draw_operands, emit_draw
from fusepy.backend.rays.kernel import RayKernel
from fusepy.backend.rays.plan import RayPlan
from fusepy.backend.rays.text import emit_rays
from fusepy.ir.graph import Graph, Node, Value
from fusepy.ir.ops.region import StoredInto, spec_of, with_spec
from fusepy.ir.pipelines.rays import pipelines_in

Stores = dict[int, StoredInto]
MakePlan = Callable[[PlanContext, Node, Sequence[int], Sequence[Element], Sequence[str], Stores, str], Plan]
MakeTarget = Callable[["TextureKind | None", str], TextureTarget]


@dataclass(frozen=True)
class RegionStage:
    """The code of one stage.

    Attributes:
        plan: makes the plan of a region; gets the names of its results for messages, the results that are stored into textures,
            and the name of the program.
        emit: writes the kernel of a region in one variant.
        kernel: the class of its kernels.
        operands: returns the operands of a region.
        targets: returns the results that need textures of their own, each with a function that makes its target from the kind of
            the caller's texture, if there is one, and a name for messages.
        described: describes a launch, where kernels have no indexing.
        why: the reason for the indexing, where the stage decides it.
    """

    plan: MakePlan
    emit: Callable[[Node, Variant, Emission, Costs], KernelSource]
    kernel: type[Kernel]
    operands: Callable[[Node], Sequence[Operand]] = region_operands
    targets: Callable[[Node], Mapping[Value, MakeTarget]] | None = None
    described: Callable[[Launch], str] | None = None
    why: str = ""


@lru_cache(16)  # asked several times while a region is lowered
def stage_of(region: Node) -> RegionStage:
    """Returns the stage that runs a region."""
    return DRAWS if region.op.standalone else RAYS if pipelines_in(region.bodies) else COMPUTE


def targets_in(graph: Graph) -> dict[Value, MakeTarget]:
    """Returns the results of a program that need textures of their own; see `RegionStage.targets`."""
    found: dict[Value, MakeTarget] = {}
    for region in graph.nodes:
        if (own := stage_of(region).targets) is not None:
            found.update(own(region))
    return found


def _with_stores(make: Callable[[PlanContext, Node, Sequence[int], Sequence[Element], Sequence[str]], Plan]) -> MakePlan:
    """Returns the maker of plans for regions, whose spec has the stores of results."""

    def plan(
        context: PlanContext,
        region: Node,
        positions: Sequence[int],
        elements: Sequence[Element],
        names: Sequence[str],
        stores: Stores,
        name: str,
    ) -> Plan:
        region = with_spec(region, spec_of(region).storing(stores)) if stores else region
        return make(context, region, positions, elements, names)

    return plan


def _emit(region: Node, variant: Variant, given: Emission, costs: Costs) -> KernelSource:
    if isinstance(variant, FoldVariant):
        return emit_fold(region, variant, given)
    if isinstance(variant, RowVariant):
        return emit_rows(region, variant, given)
    return emit(region, variant, given, *costs(region))


COMPUTE = RegionStage(_with_stores(make_plan), _emit, Kernel)
RAYS = RegionStage(
    _with_stores(RayPlan),
    lambda region, variant, given, costs: emit_rays(region, variant, given),
    RayKernel,
    why="since it traces rays, one for each element",
)
DRAWS = RegionStage(
    DrawPlan,
    lambda region, variant, given, costs: emit_draw(region, variant, given),
    DrawKernel,
    draw_operands,
    drawn_targets,
    drawn_by,
)
