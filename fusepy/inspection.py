"""Looking at a call without running it: textual IR, Slang source, and the reasons behind its kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fusepy.argument_tree import argument_lines
from fusepy.backend.marshals.base import Variant
from fusepy.backend.plan import Plan
from fusepy.backend.reduce_plan import ReducePlan
from fusepy.compile import Program, Recording
from fusepy.errors import ArgumentError, did_you_mean
from fusepy.ir.graph import Graph, Node
from fusepy.ir.strides import contiguous_strides
from fusepy.passes import PIPELINE, run_pipeline
from fusepy.tensor import Tensor


def graph_after(recording: Recording, after: str | None) -> Graph:
    """The graph as traced, or after one pass.

    Raises:
        ArgumentError: if no pass has that name.
    """
    if after is None:
        return recording.graph
    names = [p.name for p in PIPELINE]
    if after not in names:
        raise ArgumentError(f"there is no pass {after!r}", expected=", ".join(names), hint=did_you_mean(after, names))
    return run_pipeline(recording.graph, recording.trace.oracle, after=after)


@dataclass(frozen=True)
class Explanation:
    """How a call runs.

    Attributes:
        kernels: how many kernels it dispatches.
        variants: for each kernel how it indexes (``linear`` or ``strided``), and why.
        reasons: for each node of the program why it is where it is.
        inputs: for each argument what it arrives as; nested ones as a tree of several lines.
    """

    name: str
    kernels: int
    variants: tuple[str, ...]
    reasons: tuple[str, ...]
    inputs: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.kernels} kernel{'s' * (self.kernels != 1)}"]
        lines += [f"  argument {text}" for text in self.inputs]
        lines += [f"  kernel {i}: {text}" for i, text in enumerate(self.variants)]
        lines += [f"  {text}" for text in self.reasons]
        return "\n".join(lines)


def kernel_source(program: Program, args: Sequence[Any]) -> str:
    """The Slang of every kernel of a call."""
    return "\n".join(plan_source(plan, program, args) for plan in program.plans_for(program.shapes(args)))


def plan_source(plan: Plan, program: Program, args: Sequence[Any]) -> str:
    """The Slang of the kernel of a plan; of a reduction that of each stage."""
    return "\n".join(program.source(plan.region, variant).text for variant in _variants(plan, program, args)[0])


def explain(program: Program, args: Sequence[Any]) -> Explanation:
    """The kernels of a call and the reasons for them."""
    before = program.resolved()
    plans = program.plans_for(program.shapes(args))
    variants = [_indexing(p, program, args) for p in plans]
    reasons = list(_dropped(program.recording.graph, before))
    if len(plans) > 1:
        reasons.append("split: the results have extents that share no grid, so each gets a kernel of its own")
    for plan in plans:
        reasons += _region_reasons(plan.region, before)
    recording = program.recording
    written = [recording.names[position] for position in recording.outs if position is not None]
    if written:
        reasons.append(f"written back: {', '.join(written)}")
    inputs = argument_lines(before, [p.region for p in plans])
    return Explanation(program.graph.name, len(plans), tuple(variants), tuple(reasons), tuple(inputs))


def _indexing(plan: Plan, program: Program, args: Sequence[Any]) -> str:
    variants, why = _variants(plan, program, args)
    return f"{'; then '.join(map(str, variants))}, {why}"


def _variants(plan: Plan, program: Program, args: Sequence[Any]) -> tuple[list[Variant], str]:
    """How these arguments will be indexed, dispatch by dispatch. Everything that is no tensor yet becomes a contiguous one."""
    shapes = program.slot_shapes(program.shapes(args))
    given = [*args, *program.captures, *[None] * len(shapes)]
    strides = [a.strides if isinstance(a, Tensor) else contiguous_strides(s) for a, s in zip(given, shapes)]
    strided = [a for a in given if isinstance(a, Tensor) and not a.linear]
    if isinstance(plan, ReducePlan):
        stages = plan.stages(plan.check(shapes, strides))
        return list(stages), "since the sizes ask for as many stages" if len(stages) > 1 else "since its results fill the device"
    if plan.tile:
        why = "since options(numthreads=…) asks for groups that are tiles of the grid"
    elif not plan.linear:
        why = "since an argument is mapped to some of the grid's dimensions only, or is a grid() or texture"
    elif strided:
        why = f"since an argument has strides {strided[0].strides}"
    elif not plan.one_shape(shapes):
        why = "since the arguments broadcast"
    else:
        return [Variant(True, plan.rank)], "since all arguments are contiguous and of one shape"
    return [plan.strided(plan.check(shapes, strides))[0]], why


def _dropped(before: Graph, after: Graph) -> list[str]:
    """Nodes that folding, merging or dead code elimination have removed."""
    left = set(map(_identity, after.nodes))
    return [
        f"{_label(n)}: not needed (folded, merged with an equal node, or its result is unused)"
        for n in before.nodes
        if n.op.name != "const" and _identity(n) not in left
    ]


def _region_reasons(region: Node, before: Graph) -> list[str]:
    """Why each node of a region is in it."""
    assert region.body is not None
    written = Counter(map(_identity, before.nodes))
    instances = Counter(map(_identity, region.body.nodes))
    reasons: list[str] = []
    for node in region.body.nodes:
        if node.op.name == "const":
            continue
        reason = "fused: elementwise on the grid of the results"
        if instances[_identity(node)] > written[_identity(node)] > 0:
            reason += "; computed once for each of the mappings through which its result is read"
        reasons.append(f"{_label(node)}: {reason}")
    return reasons


def _identity(node: Node) -> tuple[str, object, object]:
    """What tells nodes apart in reasons."""
    return (node.op.name, node.loc, node.attrs.get("function", node.attrs.get("path")))


def _label(node: Node) -> str:
    what = node.text("function") if node.op.name == "slang.call" else node.op.name
    if node.op.name == "struct":
        what = f"struct {node.text('path')}"
    return f"{what} ({node.loc})" if node.loc else what
