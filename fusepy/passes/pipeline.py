"""The pipeline: named, pure passes from `Graph` to `Graph`, verified between each other.

Mappings are resolved first, so that every later pass sees settled types (decision 001). A pass returns the same object
where it changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fusepy.ir.graph import Graph
from fusepy.ir.oracle import Oracle
from fusepy.ir.verify import verify
from fusepy.passes.cse import cse
from fusepy.passes.dce import dce
from fusepy.passes.fold import fold
from fusepy.passes.fuse_chains import fuse_apart, fuse_chains
from fusepy.passes.resolve_maps import resolve_maps
from fusepy.passes.uniforms import uniforms
from fusepy.passes.views import views


@dataclass(frozen=True)
class Pass:
    """A named graph rewrite with the stage that it requires and the one that it ensures (see `ir.rules`)."""

    name: str
    run: Callable[[Graph, Oracle], Graph]
    requires: str
    ensures: str


PIPELINE: tuple[Pass, ...] = (
    Pass("resolve_maps", resolve_maps, "traced", "resolved"),
    Pass("fold", fold, "resolved", "resolved"),
    Pass("cse", cse, "resolved", "resolved"),
    Pass("uniforms", uniforms, "resolved", "resolved"),
    Pass("views", views, "resolved", "resolved"),
    Pass("dce", dce, "resolved", "resolved"),
    Pass("fuse_chains", fuse_chains, "resolved", "fused"),
)


def run_pipeline(graph: Graph, oracle: Oracle, *, after: str | None = None, apart: bool = False) -> Graph:
    """Runs the passes in order, up to and including the one named `after`, verifying each result.

    Args:
        apart: whether reductions go into one kernel only where their grids are one whatever the shapes; see `Levels.share_grid`.

    Raises:
        VerifyError: if the graph, or what a pass made of it, breaks a rule of its stage.
    """
    verify(graph, "traced", oracle)
    for step in PIPELINE:
        changed = fuse_apart(graph, oracle) if apart and step.run is fuse_chains else step.run(graph, oracle)
        if changed is not graph:
            verify(changed, step.ensures, oracle)
            graph = changed
        if step.name == after:
            break
    return graph
