"""The choice of the plan of a region."""

from __future__ import annotations

from collections.abc import Sequence

from fusepy.backend.emit.matrices import check_matrices
from fusepy.backend.execute.folds.plan import ReducePlan
from fusepy.backend.execute.plan import Plan, PlanContext
from fusepy.backend.execute.rows.plan import RowPlan
from fusepy.backend.memory.element import Element
from fusepy.ir.graph import Node
from fusepy.ir.ops.region import spec_of


def make_plan(
    context: PlanContext, region: Node, positions: Sequence[int], elements: Sequence[Element], targets: Sequence[str]
) -> Plan:
    """Returns the plan of a region: a `ReducePlan` if it folds or scans, a `RowPlan` if it goes along rows.

    These two choose their thread groups themselves; the user's group extents hold for a plain `Plan` only.
    """
    if context.device.target.kind == "software":
        check_matrices(region)
    spec = spec_of(region)
    made = RowPlan if spec.rows else ReducePlan if spec.folds else Plan
    return made(context, region, positions, elements, targets)
