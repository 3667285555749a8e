"""`RayStages`: the functions and options of a pipeline as the user gave them, and the pipeline that they are in a trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from fusepy.backend.sources.handed import handed_over
from fusepy.backend.sources.reachable import reaches, texts_of
from fusepy.errors import ArgumentError
from fusepy.functions.slang_tracer import Loaded
from fusepy.ir.graph import Graph
from fusepy.ir.pipelines.rays import TRIANGLE, RayPipeline, RayStage
from fusepy.modules.module import Module
from fusepy.rays.fused_stage import recorded_stage
from fusepy.rays.payloads import bytes_of, check_layouts, check_payloads, payload_of, recursion_of
from fusepy.rays.stages import HitGroup, StageFunction, hit_groups, stage_function, table_of
from fusepy.trace.trace import Trace


class RayStages:
    """The functions that rays run, checked.

    Args:
        name: the name of the ray generation.
        starts: the functions of `loaded` that may trace the first rays.
        given: the stages and options as the user gave them.

    Attributes:
        recursion, payload, attributes: the limits of the pipeline, see `RayPipeline`.
    """

    def __init__(self, name: str, module: Module, loaded: Loaded, starts: Sequence[str], given: Mapping[str, Any]):
        self.name, self.module, self.loaded, self.starts, self.given = name, module, loaded, starts, given
        groups = hit_groups(given["closesthit"], given["anyhit"], given["intersection"])
        groups, self._table = table_of(groups, given["hit_groups"], name)
        found = [("", stage_function(module, loaded, g, kind)) for kind in ("miss", "callable") for g in _several(given[kind])]
        found += [(group, stage) for group, own in groups.items() for stage in self._functions(own)]
        self._stages = _typed(name, found, self._handed(starts))
        stages = [stage for _, stage in self._stages]
        self.check(starts if len(starts) == 1 else [])
        self.recursion = recursion_of(name, [s.name for s in stages if s.fused is None and s.recurses], given["max_recursion"])
        device = module.device
        self.payload = payload_of(name, bytes_of(device, stages, ("miss", "closesthit", "anyhit"), 0), given["max_payload_size"])
        self.attributes = max(8, bytes_of(device, stages, ("closesthit", "anyhit"), 1))

    def check(self, called: Sequence[str]) -> None:
        """Raises `ArgumentError` if payloads do not match, also those of rays that the functions `called` trace."""
        groups = dict.fromkeys(group for group, _ in self._stages if group)
        by_group = {group: [s for g, s in self._stages if g == group] for group in groups}
        stages, handed = [stage for _, stage in self._stages], self._handed(called)
        check_payloads(self.name, handed, stages, by_group)
        passed = [(type, s.loaded.source) for s in stages for type in s.types]
        check_layouts(self.name, self.module.device, [*((type, self.loaded.source) for type in handed), *passed])

    def _handed(self, called: Sequence[str]) -> list[str]:
        return sorted({type for name in called for type in handed_over(name, self.loaded.source, "TraceRay")})

    def having(self, options: Mapping[str, Any]) -> RayStages:
        """Returns the same functions with other options."""
        return RayStages(self.name, self.module, self.loaded, self.starts, {**self.given, **options})

    def pipeline(self, trace: Trace) -> RayPipeline:
        """Returns the pipeline, with the names that modules have in a trace."""
        stages: list[RayStage] = []
        deeper: list[str] = []
        for group, s in self._stages:
            module = trace.module(s.loaded.source, self.module.device)
            body, outputs = "", ()
            if s.fused is not None:
                graph, body, outputs = recorded_stage(trace, s.kind, s.fused, s.types)
                deeper += [s.name] * (s.kind in ("closesthit", "miss") and _traces(trace, graph))
            stages.append(RayStage(s.kind, module, s.name, s.types, group, body, outputs))
        recursion = max(self.recursion, recursion_of(self.name, deeper, self.given["max_recursion"]))
        return RayPipeline(tuple(stages), self._table, recursion, self.payload, self.attributes)

    def global_names(self) -> list[str]:
        """Returns the globals of the modules of the functions that rays run."""
        found: list[str] = []
        for source in {s.loaded.source.closure: s.loaded.source for _, s in self._stages}.values():
            found += self.module.device.oracle({"module": source}).globals("module")
        return found

    def _functions(self, group: HitGroup) -> list[StageFunction]:
        given = {"closesthit": group.closesthit, "anyhit": group.anyhit, "intersection": group.intersection}
        return [stage_function(self.module, self.loaded, f, kind) for kind, f in given.items() if f is not None]


def _typed(name: str, stages: Sequence[tuple[str, StageFunction]], handed: Sequence[str]) -> list[tuple[str, StageFunction]]:
    """Returns the stages with the types of those fused functions whose annotations do not say them.

    Payloads are those of the Slang functions of the same hit group, or the only type that rays of this pipeline have.

    Raises:
        ArgumentError: if several are possible.
    """

    def of(kinds: Sequence[str], place: int, group: str = "") -> list[str]:
        own = [s.types[place] for g, s in stages if s.kind in kinds and (not group or g == group)]
        return list(dict.fromkeys(filter(None, own)))

    made: list[tuple[str, StageFunction]] = []
    for group, stage in stages:
        if stage.fused is None:
            made.append((group, stage))
            continue
        hits = ("closesthit", "anyhit")
        payload, *attributes = stage.types
        if not payload:
            everywhere = ["callable"] if stage.kind == "callable" else [*hits, "miss"]
            around = of(hits, 0, group) if group else []
            known = around if len(around) == 1 else of(everywhere, 0) or list(handed) * (stage.kind != "callable")
            payload = _only(name, stage, known, "payload")
        if attributes and not attributes[0]:
            known = of(hits, 1, group) or [TRIANGLE] * all(s.kind != "intersection" for g, s in stages if g == group)
            attributes = [_only(name, stage, known, "attributes")]
        made.append((group, replace(stage, types=(payload, *attributes))))
    return made


def _only(name: str, stage: StageFunction, known: Sequence[str], what: str) -> str:
    if len(known) == 1:
        return known[0]
    first = "payload, " if what == "attributes" else ""
    raise ArgumentError(
        f"{name}: nothing says which {what} the fused function {stage.name} takes",
        saw=" or ".join(known) or "no Slang function with one",
        expected="a struct of the module",
        hint=f'annotate its parameter with the name of the struct: def {stage.name}({first}{what}: "{(*known, "Name")[0]}", …)',
    )


def _traces(trace: Trace, graph: Graph) -> bool:
    """True if a fused function calls a Slang function that traces rays."""
    calls = [n for n in graph.walk() if n.op.name == "slang.call"]
    return any(reaches([c.text("function")], texts_of([trace.sources[c.text("module")]]), "TraceRay") for c in calls)


def _several(given: Any) -> Sequence[Any]:
    """Returns no, one or several functions as a list."""
    if isinstance(given, (list, tuple)):
        return cast("Sequence[Any]", given)
    return [] if given is None else [given]
