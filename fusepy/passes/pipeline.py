"""The pipeline: passes from `Graph` to `Graph`, in order.

Mappings are resolved first, so that every later pass sees settled types (decision 001).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import Enum

from fusepy.ir.graph import Graph
from fusepy.ir.oracle import Oracle
from fusepy.ir.verify import verify
from fusepy.passes.base import Pass
from fusepy.passes.contractions import Contractions
from fusepy.passes.cse import Cse
from fusepy.passes.dce import Dce
from fusepy.passes.fold import FoldConstants
from fusepy.passes.fuse_chains import FuseChains
from fusepy.passes.resolve_maps import ResolveMaps
from fusepy.passes.rounded import RoundedSums
from fusepy.passes.rows.join import JoinRows
from fusepy.passes.uniforms import UniformArguments
from fusepy.passes.variances import Variances
from fusepy.passes.views import ReturnedNumbers, SinkViews

REWRITES: tuple[Pass, ...] = (
    ResolveMaps(),
    FoldConstants(),
    Cse(),
    Variances(),
    UniformArguments(),
    SinkViews(),
    Contractions(),
    RoundedSums(),
    Dce(),
    ReturnedNumbers(),
)
PIPELINE: tuple[Pass, ...] = (*REWRITES, FuseChains(), JoinRows())
SEPARATED: tuple[Pass, ...] = (*REWRITES, FuseChains(separate=True))


class Verify(Enum):
    """The graphs that are verified: the first and the last one, or the result of each pass as well."""

    ENDS = "ends"
    EACH = "each"


VERIFY = Verify(os.environ.get("FUSEPY_VERIFY", "ends"))


def until(name: str) -> tuple[Pass, ...]:
    """Returns the pipeline up to and including the pass of this name."""
    return PIPELINE[: [step.name for step in PIPELINE].index(name) + 1]


def run_pipeline(graph: Graph, oracle: Oracle, passes: Sequence[Pass] = PIPELINE, check: Verify | None = None) -> Graph:
    """Runs `passes` in order on a traced graph.

    Args:
        check: which graphs are verified; by default the environment's ``FUSEPY_VERIFY`` (``ends`` or ``each``), else the ends.

    Raises:
        VerifyError: if the graph, or the result of a pass, breaks a rule of its stage.
    """
    each = (check or VERIFY) is Verify.EACH
    stage = "traced"
    verify(graph, stage, oracle)
    for step in passes:
        assert step.requires == stage, f"{step.name} takes a {step.requires} graph, and gets a {stage} one"
        changed, stage = step(graph, oracle), step.ensures
        if each and changed is not graph:
            verify(changed, stage, oracle)
        graph = changed
    if passes and not each:
        verify(graph, stage, oracle)
    return graph
