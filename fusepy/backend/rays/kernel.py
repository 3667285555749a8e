"""`RayKernel`: a compiled ray-tracing pipeline with its parameter block, globals and resources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import slangpy as spy

from fusepy.backend.device.device import Device
from fusepy.backend.device.sink import Sink
from fusepy.backend.kernels.globals import Bindings, reads_of_calls
from fusepy.backend.kernels.kernel import LONG, Kernel
from fusepy.backend.rays.stage import RayGeneration
from fusepy.backend.scenes.levels import TopLevel
from fusepy.errors import ArgumentError


class LinkedGlobals(NamedTuple):
    """The values of globals, with scenes as the structures for one shader table."""

    values: Mapping[str, Any]
    names: tuple[str, ...]


class RayKernel(Kernel):
    """A ray-tracing pipeline; a launch dispatches one ray for each element."""

    __slots__ = ("_checked", "_linked", "_table")

    def __init__(self, device: Device, *given: Any):
        super().__init__(device, *given)
        stage = self._source.stage
        assert isinstance(stage, RayGeneration)
        self._table = tuple(row.removeprefix("fz_") for row in stage.table)  # as the user names the groups
        self._checked: Any = None  # the globals whose scenes were linked last
        self._linked: Any = None  # these globals, with the structures of their scenes for this table

    def _structure(self, value: Any) -> Any:
        """Returns the structure of a scene for this table; other values as they are."""
        return value.linked_to(self._table) if isinstance(value, TopLevel) else value

    def _check(self, values: Iterable[Any]) -> None:
        """Checks the scenes among the values.

        Raises:
            ArgumentError: for an instance past the shader table: the device would read memory behind the table.
        """
        needed = max((value.rows for value in values if isinstance(value, TopLevel)), default=0)
        if needed > len(self._table):
            raise ArgumentError(
                f"{self._source.name}: an instance of the scene names a hit group that does not exist",
                saw=f"hit_group={needed - 1}",
                expected=f"less than the {len(self._table)} rows of the shader table",
                hint="give closesthit={name: function, …}, one for each, or options(hit_groups=[…]), which may repeat a group",
            )

    def _of_table(self, bindings: Bindings) -> Bindings:
        """Returns globals with the structures of their scenes for this table."""
        if self._reads is None:
            self._reads = reads_of_calls(self.globals.names if self.globals else (), self._source.calls, self._sources)
        own = {name: bindings.values.get(name) for name in self._reads}
        self._check(own.values())
        linked = {name: self._structure(value) for name, value in own.items() if isinstance(value, TopLevel)}
        if all(linked[name] is own[name] for name in linked):
            return bindings
        return LinkedGlobals({**bindings.values, **linked}, bindings.names)

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
        if bindings is not None:
            if bindings is not self._checked:
                self._linked, self._checked = self._of_table(bindings), bindings
            bindings = self._linked
        if by_axis and self.binds_nothing(sink, bindings):
            self.fill(values)
            _trace(sink, self.pipeline, self.root, by_axis)
            if count >= LONG:
                sink.start()
            return
        self._check(objects)
        linked = [self._structure(value) for value in objects]
        super().launch(self.staged(sink, _trace), bindings, values, count, by_axis, beside, more, linked)


def _trace(sink: Sink, pipeline: Any, root: spy.ShaderObject, rays: Sequence[int]) -> None:
    """Records a pass of `rays` along x, y and z."""

    def work(encoder: spy.CommandEncoder) -> None:
        tracing = encoder.begin_ray_tracing_pass()
        tracing.bind_pipeline(pipeline.native, pipeline.table, root)
        tracing.dispatch_rays(0, rays)
        tracing.end()

    sink.record(work, *pipeline, root)
