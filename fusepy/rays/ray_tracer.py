"""Tracers of ray generations: a Slang function that traces rays, and a fused function that calls such functions."""

from __future__ import annotations

import copy
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from fusepy.backend.sources.derivatives import is_marked
from fusepy.backend.sources.reachable import reaches, texts_of
from fusepy.errors import ArgumentError
from fusepy.functions.parts import Config
from fusepy.functions.python_tracer import PythonTracer
from fusepy.functions.slang_tracer import Loaded, SlangTracer
from fusepy.ir.oracle import Param
from fusepy.ir.pipelines.rays import with_rays
from fusepy.modules.module import Module
from fusepy.rays.ray_stages import RayStages
from fusepy.trace.trace import Trace
from fusepy.trace.traced import Traced


class RayTracer(SlangTracer):
    """A tracer of a function that traces rays; its calls name the functions that the rays run."""

    def __init__(self, loaded: Loaded, name: str, module: Module, given: Mapping[str, Any]):
        super().__init__(module.device, loaded, name)
        self.rays = RayStages(name, module, loaded, [name], given)

    def having(self, options: Mapping[str, Any]) -> RayTracer:
        """Returns a tracer of the same function with other options."""
        made = copy.copy(self)
        made.rays = self.rays.having(options)
        return made

    def call(self, trace: Trace, args: Sequence[Any], kwargs: Mapping[str, Any], config: Config) -> Any:
        """Records a call inside a fused function."""
        with with_rays([self.__name__], self.rays.pipeline(trace)):
            return super().call(trace, args, kwargs, config)

    def results(
        self, trace: Trace, params: Sequence[Param], passed: Mapping[int, Any], positional: int, config: Config
    ) -> list[tuple[Traced, int | None]]:
        """Records a call with traced arguments, and returns its results."""
        with with_rays([self.__name__], self.rays.pipeline(trace)):
            return super().results(trace, params, passed, positional, config)

    def differentiable(self) -> bool:
        return is_marked(self.__name__, texts_of([self.loaded.source]))

    def global_names(self) -> list[str]:
        """Returns the globals of all modules that rays reach."""
        return list(dict.fromkeys([*super().global_names(), *self.rays.global_names()]))


class FusedRayTracer(PythonTracer):
    """A tracer of a fused function as a ray generation: the functions of the module that it calls trace rays of one pipeline."""

    rays: RayStages

    @staticmethod
    def of(tracer: PythonTracer, module: Module, given: Mapping[str, Any]) -> FusedRayTracer:
        """Returns the tracer of a ray generation from that of the fused function.

        Raises:
            ArgumentError: if no function of the module traces rays.
        """
        made = object.__new__(FusedRayTracer)
        vars(made).update(vars(tracer))
        source = module._source  # pyright: ignore[reportPrivateUsage]
        names = module.device.oracle({"module": source}).symbols("module")["functions"]
        starts = [name for name in names if reaches([name], texts_of([source]), "TraceRay", "CallShader")]
        if not starts:
            raise ArgumentError(
                f"{tracer.__name__} traces no rays: no function of {source.alias} calls TraceRay",
                hint="give ray_gen the module whose function calls TraceRay, and call that function in the fused one",
            )
        made.device = made.device or module.device
        made.rays = RayStages(tracer.__name__, module, module.find_function(starts[0]).tracer.loaded, starts, given)
        return made

    def having(self, options: Mapping[str, Any]) -> FusedRayTracer:
        """Returns a tracer of the same function with other options."""
        made = copy.copy(self)
        made.rays = self.rays.having(options)
        return made

    def call(self, trace: Trace, args: Sequence[Any], kwargs: Mapping[str, Any], config: Config) -> Any:
        """Records a call inside another fused function."""
        with self._tracing(trace):
            return super().call(trace, args, kwargs, config)

    def _called(self, passed: Mapping[str, Any], trace: Trace) -> Any:
        with self._tracing(trace):
            return super()._called(passed, trace)

    @contextmanager
    def _tracing(self, trace: Trace) -> Generator[None, None, None]:
        """Records calls of functions that trace rays, and checks the payloads of those that were called."""
        before = len(trace.builder.nodes)
        with with_rays(self.rays.starts, self.rays.pipeline(trace)):
            yield
        called = [n for node in trace.builder.nodes[before:] for n in (node, *(i for b in node.bodies for i in b.walk()))]
        self.rays.check(list(dict.fromkeys(n.text("function") for n in called if "rays" in n.attrs)))
