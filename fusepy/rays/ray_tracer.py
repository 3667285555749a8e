"""`RayTracer`: makes a graph of a call of a ray generation."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, cast

from fusepy.backend.device.device import Device
from fusepy.functions.parts import Config
from fusepy.functions.slang_tracer import Loaded, SlangTracer
from fusepy.ir.oracle import Param
from fusepy.ir.pipelines.rays import RayPipeline, RayStage, with_rays
from fusepy.modules.module import Module
from fusepy.rays.payloads import bytes_of, check_payloads, payload_of, recursion_of
from fusepy.rays.stages import HitGroup, StageFunction, hit_groups, stage_function, table_of
from fusepy.trace.trace import Trace
from fusepy.trace.traced import Traced


class RayTracer(SlangTracer):
    """A tracer of a function that traces rays; its calls name the functions that the rays run.

    Attributes:
        given: the stages and options as the user gave them.
        recursion, payload, attributes: the limits of the pipeline, see `RayPipeline`.
    """

    def __init__(self, device: Device, loaded: Loaded, name: str, module: Module, given: Mapping[str, Any]):
        super().__init__(device, loaded, name)
        self._module = module
        self._take(given)

    def having(self, options: Mapping[str, Any]) -> RayTracer:
        """Returns a tracer of the same function with other options."""
        made = copy.copy(self)
        made._take({**self.given, **options})
        return made

    def _take(self, given: Mapping[str, Any]) -> None:
        self.given = given
        name, module = self.__name__, self._module
        groups = hit_groups(given["closesthit"], given["anyhit"], given["intersection"])
        groups, self._table = table_of(groups, given["hit_groups"], name)
        by_group = {group: _functions(module, found) for group, found in groups.items()}
        self._stages = [("", stage_function(module, g, kind)) for kind in ("miss", "callable") for g in _several(given[kind])]
        self._stages += [(group, stage) for group, found in by_group.items() for stage in found]
        stages = [stage for _, stage in self._stages]
        check_payloads(name, self.loaded.source, stages, by_group)
        self.recursion = recursion_of(name, stages, given["max_recursion"])
        payload = bytes_of(self.device, stages, ("miss", "closesthit", "anyhit"), 0)
        self.payload = payload_of(name, payload, given["max_payload_size"])
        self.attributes = max(8, bytes_of(self.device, stages, ("closesthit", "anyhit"), 1))

    def _pipeline(self, trace: Trace) -> RayPipeline:
        """Returns the pipeline, with the names that modules have in a trace."""
        stages = [
            RayStage(s.kind, trace.module(s.loaded.source, self.device), s.name, s.types, group) for group, s in self._stages
        ]
        return RayPipeline(tuple(stages), self._table, self.recursion, self.payload, self.attributes)

    def call(self, trace: Trace, args: Sequence[Any], kwargs: Mapping[str, Any], config: Config) -> Any:
        """Records a call inside a fused function."""
        with with_rays(self.__name__, self._pipeline(trace)):
            return super().call(trace, args, kwargs, config)

    def results(
        self, trace: Trace, params: Sequence[Param], passed: Mapping[int, Any], positional: int, config: Config
    ) -> list[tuple[Traced, int | None]]:
        """Records a call with traced arguments, and returns its results."""
        with with_rays(self.__name__, self._pipeline(trace)):
            return super().results(trace, params, passed, positional, config)

    def differentiable(self) -> bool:
        return False

    def global_names(self) -> list[str]:
        """Returns the globals of all modules that rays reach."""
        names = list(super().global_names())
        for source in {s.loaded.source.closure: s.loaded.source for _, s in self._stages}.values():
            names += self.device.oracle({"module": source}).globals("module")
        return list(dict.fromkeys(names))


def _functions(module: Module, group: HitGroup) -> list[StageFunction]:
    given = {"closesthit": group.closesthit, "anyhit": group.anyhit, "intersection": group.intersection}
    return [stage_function(module, function, kind) for kind, function in given.items() if function is not None]


def _several(given: Any) -> Sequence[Any]:
    """Returns no, one or several functions as a list."""
    if isinstance(given, (list, tuple)):
        return cast("Sequence[Any]", given)
    return [] if given is None else [given]
