"""`RayKernel`: a compiled ray-tracing pipeline with its parameter block, globals and resources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import slangpy as spy

from fusepy.backend.device.device import Device
from fusepy.backend.device.sink import Sink
from fusepy.backend.kernels.globals import Bindings, reads_of_calls
from fusepy.backend.kernels.kernel import LONG, Kernel
from fusepy.backend.rays.stage import MAX_RECURSION, TOO_DEEP, RayGeneration
from fusepy.backend.scenes.levels import TopLevel
from fusepy.errors import ArgumentError


class LinkedGlobals(NamedTuple):
    """The values of globals, with scenes as the structures for one shader table."""

    values: Mapping[str, Any]
    names: tuple[str, ...]


class RayKernel(Kernel):
    """A ray-tracing pipeline; a launch dispatches one ray for each element."""

    __slots__ = ("_checked", "_linked", "_table", "_too_deep")

    def __init__(self, device: Device, *given: Any):
        self._too_deep: spy.Buffer | None = None  # not 0 if a ray was too deep; None if rays do not count
        super().__init__(device, *given)
        stage = self._source.stage
        assert isinstance(stage, RayGeneration)
        self._table = tuple(row.removeprefix("fz_") for row in stage.table)  # as the user names the groups
        self._checked: Any = None  # the globals whose scenes were linked last
        self._linked: Any = None  # these globals, with the structures of their scenes for this table

    def _renew(self, device: Device) -> None:
        super()._renew(device)
        stage = self._source.stage
        if isinstance(stage, RayGeneration) and stage.counts:
            if self._too_deep is None:
                usage = spy.BufferUsage.unordered_access
                self._too_deep = device.raw.create_buffer(size=4, usage=usage, data=np.zeros(1, np.uint32))
            spy.ShaderCursor(self.root)[TOO_DEEP] = self._too_deep

    def _check_depth(self) -> None:
        """Raises `ArgumentError` if a ray of the last launch would have been too deep. It waits for the launch."""
        device, buffer = self._device, self._too_deep
        if buffer is None or device.transfer.read(buffer, 0, 4) == bytes(4):
            return
        device.transfer.zero(buffer, 0, 4)
        stage = self._source.stage
        assert isinstance(stage, RayGeneration)
        (recursion, *_), deeper = stage.sizes, min(2 * stage.sizes[0], MAX_RECURSION)
        raise ArgumentError(
            f"{self._source.name}: hit or miss functions trace rays, past the recursion of this pipeline",
            saw=f"max_recursion={recursion}",
            expected=f"functions that stop there, or a greater one, up to {MAX_RECURSION}",
            hint=f"write options(max_recursion={deeper}); or let the payload count how deep a ray is, and stop"
            if deeper > recursion
            else "trace the path in a loop of the ray generation, which needs a recursion of 1",
        )

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
        else:
            self._check(objects)
            linked = [self._structure(value) for value in objects]
            super().launch(self.staged(sink, _trace), bindings, values, count, by_axis, beside, more, linked)
        if self._too_deep is not None and not sink.keeps:  # the user's encoder runs when the user submits it
            sink.after(self._check_depth)


def _trace(sink: Sink, pipeline: Any, root: spy.ShaderObject, rays: Sequence[int]) -> None:
    """Records a pass of `rays` along x, y and z."""

    def work(encoder: spy.CommandEncoder) -> None:
        tracing = encoder.begin_ray_tracing_pass()
        tracing.bind_pipeline(pipeline.native, pipeline.table, root)
        tracing.dispatch_rays(0, rays)
        tracing.end()

    sink.record(work, *pipeline, root)
