"""Kernels that generate rays: the index space of their threads, and the entry points of the functions that the rays run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fusepy.backend.emit.operand import Field
from fusepy.backend.emit.operands import region_operands
from fusepy.backend.emit.options import Emission
from fusepy.backend.emit.region import fields_of
from fusepy.backend.emit.spaces.space import ElementWork, decoded, extents
from fusepy.backend.emit.text import KernelSource, KernelText
from fusepy.backend.emit.tuning import Shape
from fusepy.backend.emit.variant import Variant
from fusepy.backend.rays.stage import MAX_RAYS, TOO_DEEP, RayGeneration, attribute
from fusepy.backend.slang.stage import COMPUTE
from fusepy.backend.sources.copies.counted import COUNTING, DEPTH
from fusepy.errors import ArgumentError, ShapeError
from fusepy.ir.graph import Graph, Node
from fusepy.ir.names import spell_function_call
from fusepy.ir.ops.control import block
from fusepy.ir.pipelines.queries import differentiates_rays
from fusepy.ir.pipelines.rays import KEPT, WHOLE, RayPipeline, RayStage, pipelines_in, with_stages
from fusepy.ir.value import declare

INPUTS = {"barycentrics": "a1.barycentrics"}  # of the body of a fused stage, beside its parameters
_COUNTED = ("miss", "closesthit", "anyhit")  # stages with the payload of a ray
_REPORT = f"if (fz_is_too_deep) {TOO_DEEP}[0] = 1;"
_NOTHING = "fz_nothing"  # the entry point of rays that meet nothing, if there is no miss function


def rays_of(grid: Sequence[int], name: str) -> list[int]:
    """Returns the rays along x, y and z that cover a grid: its last two dimensions, and all others together.

    Raises:
        ShapeError: for more than a device can dispatch.

    Example:
        >>> rays_of((6, 64, 100), "f"), rays_of((5,), "f"), rays_of((), "f")
        ([100, 64, 6], [5, 1, 1], [1, 1, 1])
    """
    count = 1
    for extent in grid:
        count *= extent
    if count > MAX_RAYS:
        raise ShapeError(
            f"{name}: too many rays for one call", saw=count, expected=f"at most {MAX_RAYS}", hint="call it for parts of the grid"
        )
    x, y = (*reversed(grid[-2:]), 1, 1)[:2]
    return [x, y, count // max(x * y, 1)]


@dataclass(frozen=True)
class Rays:
    """One element for each thread of a dispatch of rays."""

    variant: Variant
    threads: tuple[int, ...] = (1, 1, 1)
    lane: str = ""

    def fields(self, work: ElementWork) -> list[Field]:
        return extents(self.variant)

    def lines(self, work: ElementWork) -> list[str]:
        index, rank = self.variant.index, self.variant.rank
        near = [f"{index} d{rank - 1 - k} = {index}(DispatchRaysIndex().{axis});" for k, axis in enumerate("xy"[:rank])]
        far = decoded(self.variant, f"{index}(DispatchRaysIndex().z)", range(rank - 2))
        return [*near, *far, *work.before(), *work.element(numbered=True)]


def emit_rays(region: Node, variant: Variant, given: Emission) -> KernelSource:
    """Returns the kernel of a region with calls of a ray-tracing pipeline.

    Raises:
        ArgumentError: for calls of several pipelines, which a loop or branch may have.
    """
    pipelines = pipelines_in(region.bodies)
    if len(pipelines) > 1:
        raise ArgumentError(
            f"{region.bodies[0].name}: one loop or branch traces rays through {len(pipelines)} pipelines",
            hint="give one pipeline several hit groups and miss functions",
        )
    (pipeline,) = pipelines
    calls = Graph("rays", [], [n for body in with_stages(region.bodies) for n in body.nodes], [])
    text = KernelText(region, variant, given, region_operands(region, given.cuda, given.plain), [], calls)
    space, work = Rays(variant), ElementWork(text)
    entry, functions, lines = f"{text.name}_rays", text.trampoline(), space.lines(work)
    counts = pipeline.recursion > 1
    if counts:
        functions = [f"import {COUNTING};", f"import {DEPTH};", f"RWStructuredBuffer<uint> {TOO_DEEP};", *functions]
        queries = any(map(differentiates_rays, region.body.nodes)) if region.body is not None else False
        lines = [f"fz_left = {pipeline.recursion};", *lines, *[_REPORT] * queries]  # then rays are queries, see `copies.queries`
    exact = COMPUTE.exact("\n".join([*functions, *lines])) if text.given.target.spirv else []
    program = [*functions, "", f'#line 1 "{entry}"', attribute("raygeneration"), f"void {entry}()", *block([*exact, *lines])]
    names: dict[RayStage, str] = {}
    for stage in pipeline.stages:
        key = _shared(pipeline, stage)
        if key not in names:
            names[key] = f"fz_{stage.kind}_{len(names)}"
            program += _entry_point(text, names[key], stage, exact, counts and stage.kind in _COUNTED)
    if not pipeline.of_kind("miss"):  # a ray that meets nothing runs a row in any case
        hits = (s for s in pipeline.stages if s.kind in ("closesthit", "anyhit"))
        payload = next((text.shims.stages.get((s.module, s.types[0]), s.types[0]) for s in hits), "uint")
        passed = f"FzCounted<{payload}>" if counts else payload
        program += ["", attribute("miss"), f"void {_NOTHING}(inout {passed} a0)", *block([])]
        names[RayStage("miss", "", "", ())] = _NOTHING
    made = _stage(entry, pipeline, names)
    program.append(f"// {made}")  # equal texts share a kernel
    entries = (entry, *dict.fromkeys(names.values()))
    return text.assembled(program, entries, fields_of(text, space, work), Shape(1, 1, False), stage=made)


def _stage(entry: str, pipeline: RayPipeline, names: Mapping[RayStage, str]) -> RayGeneration:
    """Returns the stage of a pipeline; `names` are its entry points."""

    def named(stage: RayStage | None) -> str:
        return "" if stage is None else names[_shared(pipeline, stage)]

    table = pipeline.table or ("nothing",)
    return RayGeneration(
        entry,
        tuple(map(named, pipeline.of_kind("miss"))) or (_NOTHING,),
        tuple((f"fz_{group}", *map(named, pipeline.group(group))) for group in dict.fromkeys(table)),
        tuple(f"fz_{group}" for group in table),
        tuple(map(named, pipeline.of_kind("callable"))),
        (pipeline.recursion, pipeline.payload, pipeline.attributes),
    )


def _shared(pipeline: RayPipeline, stage: RayStage) -> RayStage:
    """Returns the key of the entry point of a stage: groups with one function share it.

    An intersection function has one for each any-hit function that decides about its hits: lavapipe (Mesa 25.0.7) runs that of
    the first group for all groups with the same entry point.
    """
    decides = pipeline.group(stage.group)[1] if stage.kind == "intersection" else None
    return replace(stage, group="" if decides is None else decides.function)


def _entry_point(text: KernelText, name: str, stage: RayStage, exact: Sequence[str], counts: bool) -> list[str]:
    """Returns the entry point that calls a function of the user; a fused function is written before it.

    Args:
        counts: the payload counts how deep the ray is.
    """
    inout, named = stage.kind != "intersection", text.shims.stages
    types = [named.get((stage.module, type), type) for type in stage.types]
    params = [f"{'inout ' if inout and i == 0 else ''}{type} a{i}" for i, type in enumerate(types)]
    args = [f"a{i}" for i in range(len(params))]
    if counts:
        params[0], args[0] = f"inout FzCounted<{types[0]}> a0", "a0.payload"
    before: list[str] = []
    function = named.get((stage.module, stage.function), stage.function)
    lines = [f"{spell_function_call(function, args)};"]
    if stage.graph is not None:
        before = ["", *text.program(f"{name}_body", stage.graph, [f"a_{i}" for i in range(len(stage.graph.inputs))])]
        lines = _fused(name, stage, stage.graph, args)
    if counts and stage.kind != "anyhit":  # which traces no rays
        lines = ["fz_left = a0.left;", *lines, _REPORT]
    return [*before, "", attribute(stage.kind), f"void {name}({', '.join(params)})", *block([*exact, *lines])]


def _fused(name: str, stage: RayStage, body: Graph, args: Sequence[str]) -> list[str]:
    """Returns the lines that call the body of a fused stage: its inputs are read here, its outputs are written to the payload."""
    names: dict[str, str] = {**INPUTS, **dict(zip(("payload", "attributes"), args))}
    passed = [names.get(v.name or "", f"{v.name}()") for v in body.inputs]
    passed += [f"r_{j}" for j in range(len(body.outputs))]
    lines = [f"{declare(v.type, f'r_{j}')};" for j, v in enumerate(body.outputs)]
    lines.append(f"{name}_body({', '.join(passed)});")
    for j, output in enumerate(stage.outputs):
        place = args[0] if output == WHOLE else f"{args[0]}.{output}"
        lines.append(f"if (!r_{j}) IgnoreHit();" if output == KEPT else f"{place} = r_{j};")
    return lines
