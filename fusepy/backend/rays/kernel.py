"""`RayKernel`: a compiled ray-tracing pipeline with its parameter block, globals and resources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import slangpy as spy

from fusepy.backend.device.device import Device
from fusepy.backend.device.sink import Sink
from fusepy.backend.kernels.globals import Bindings, reads_of_calls
from fusepy.backend.kernels.kernel import Kernel
from fusepy.backend.rays.stage import RayGeneration, TracedPipeline
from fusepy.backend.scenes.levels import TopLevel
from fusepy.errors import ArgumentError


class RayKernel(Kernel):
    """A ray-tracing pipeline; a launch dispatches one ray for each element."""

    __slots__ = ("_checked", "_linked", "_table")

    def __init__(self, device: Device, *given: Any):
        super().__init__(device, *given)
        stage = self._source.stage
        assert isinstance(stage, RayGeneration)
        self._table = tuple(row.removeprefix("fz_") for row in stage.table)  # as the user names the groups
        self._checked: Any = None  # the globals whose scenes were checked last
        self._linked: Sequence[TopLevel] = ()  # these scenes

    def _link(self, sink: Sink, scenes: Sequence[TopLevel]) -> None:
        """Links scenes to the table; a capture does so in each replay, since another pipeline may link them in between."""
        for scene in scenes:
            if sink.captures and scene.linked:
                sink.on_host(partial(scene.link, self._table))
            else:
                scene.link(self._table)

    def _check(self, values: Iterable[Any]) -> Sequence[TopLevel]:
        """Returns the scenes among the values.

        Raises:
            ArgumentError: for an instance past the shader table: the device would read memory behind the table.
        """
        scenes = [value for value in values if isinstance(value, TopLevel)]
        needed = max((scene.rows for scene in scenes), default=0)
        if needed > len(self._table):
            raise ArgumentError(
                f"{self._source.name}: an instance of the scene names a hit group that does not exist",
                saw=f"hit_group={needed - 1}",
                expected=f"less than the {len(self._table)} rows of the shader table",
                hint="give closesthit={name: function, …}, one for each, or options(hit_groups=[…]), which may repeat a group",
            )
        return scenes

    def _scenes(self, bindings: Bindings) -> list[Any]:
        """Returns the values of the globals that rays read."""
        if self._reads is None:
            self._reads = reads_of_calls(self.globals.names if self.globals else (), self._source.calls, self._sources)
        return [bindings.values.get(name) for name in self._reads]

    def launch(
        self,
        sink: Sink,
        bindings: Bindings | None,
        values: Sequence[float],
        count: int,
        by_axis: Sequence[int] | None = None,
        beside: bool = False,
        more: bool = False,
        objects: Sequence[Any] = (),
    ) -> None:
        """Binds `objects` and records the rays; see `Kernel.launch`."""
        self._link(sink, self._check(objects))
        if bindings is not None and bindings is not self._checked:
            self._linked = self._check(self._scenes(bindings))
            self._checked = bindings
        self._link(sink, self._linked)  # another pipeline may have linked them to its own table
        super().launch(self.staged(sink, _trace), bindings, values, count, by_axis, beside, more, objects)


def _trace(sink: Sink, pipeline: TracedPipeline, root: spy.ShaderObject, rays: Sequence[int]) -> None:
    """Records a pass of `rays` along x, y and z."""

    def work(encoder: spy.CommandEncoder) -> None:
        tracing = encoder.begin_ray_tracing_pass()
        tracing.bind_pipeline(pipeline.native, pipeline.table, root)
        tracing.dispatch_rays(0, rays)
        tracing.end()

    sink.record(work, *pipeline, root)
