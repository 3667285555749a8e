"""`MeshKernel`: the entry points of a draw whose triangles a mesh shader makes: the user's own, which read globals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import slangpy as spy

from fusepy.backend.device.device import Device
from fusepy.backend.device.sink import Sink
from fusepy.backend.kernels.globals import Bindings, bound_globals, check_set, reads
from fusepy.backend.kernels.slots import Staged
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.raster.images import Images
from fusepy.backend.raster.readers import store_image
from fusepy.backend.raster.state import RasterStage
from fusepy.backend.sources.closure import keeping_stages
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import ArgumentError, CompileError

_STAGES = {"task": spy.ShaderStage.amplification, "mesh": spy.ShaderStage.mesh, "fragment": spy.ShaderStage.fragment}
_EXPECTED = {
    "task": '[shader("amplification")] [numthreads(…)]',
    "mesh": '[shader("mesh")] [numthreads(…)] [outputtopology("triangle")]',
    "fragment": '[shader("fragment")]',
}


class MeshKernel:
    """The pipeline of a task, a mesh and a fragment shader, with the globals of their module and images of the last size.

    Args:
        names: the entry points by ``"task"``, ``"mesh"`` and ``"fragment"``; only the second one must be there.
    """

    def __init__(self, device: Device, source: ModuleSource, names: Mapping[str, str], stage: RasterStage):
        self.device, self.name, self._stage = device, "/".join(names.values()), stage
        self._source = source = source.with_text(keeping_stages(source.text))
        entries = {entry.name: entry.stage for entry in device.compiler.module(source).entry_points}
        for kind, name in names.items():
            if entries.get(name) is not _STAGES[kind]:
                raise ArgumentError(
                    f"{name} is no entry point of the stage {kind}",
                    saw=", ".join(f"{n} ({s.name})" for n, s in entries.items()) or "no entry points",
                    expected=_EXPECTED[kind],
                    hint=f"write {_EXPECTED[kind]} before it, in the file of the module",
                )
        program = device.compiler.link_existing(source, tuple(names.values()))
        try:
            self._pipeline, program = device.compiler.pipeline(self.name, program, [source], self.name, stage)
        except CompileError:
            raise
        except RuntimeError as error:
            raise CompileError(
                f"the driver cannot build {self.name}", saw=error, hint="see the driver's message above"
            ) from error
        self._program = program.program
        self._check_parameters()
        self._globals = bound_globals(self._program)
        self._reads = reads(self._globals.names, self.name, [source]) if self._globals else []
        self._images: Images | None = None
        self._attach()

    def _check_parameters(self) -> None:
        """Raises `ArgumentError` for a parameter that a call would have to pass."""
        for entry in self._program.layout.entry_points:
            for i in range(len(entry.parameters)):
                param = entry.parameters[i]
                if param.type_layout.size:
                    raise ArgumentError(
                        f"{entry.name}: parameter {param.name!r} is uniform, and mesh shaders take values as globals",
                        hint=f"declare it outside of the function, and pass {param.name}=… or call .set({param.name}=…)",
                    )

    def _attach(self) -> None:
        self._root = self.device.raw.create_root_shader_object(self._program)
        if self._globals is not None:
            self._globals.attach(spy.ShaderCursor(self._root))

    def draw(
        self,
        sink: Sink,
        bindings: Bindings,
        groups: Sequence[int],
        size: tuple[int, int],
        views: Sequence[spy.TextureView],
        tensors: Sequence[Tensor],
    ) -> None:
        """Records the draw into `views`, or into images of its own and copies of these into `tensors`.

        Raises:
            ArgumentError, UnsupportedArgumentError, ShapeError: for globals that are missing, or do not fit.
        """
        height, width = size
        if self._images is None or self._images.size != (width, height):
            self._images = Images(self.device.raw, self._stage.formats, self._stage.state, width, height)
        images, pipeline = self._images, self._pipeline
        staged, root = self._write(bindings.values), self._root
        given = [*views] or [None] * len(tensors)

        def work(encoder: spy.CommandEncoder) -> None:
            rendering = images.begin(encoder, given)
            rendering.bind_pipeline(pipeline, root)
            rendering.set_render_state(images.state(None))
            rendering.draw_mesh_tasks(spy.uint3(*groups))
            rendering.end()
            for j, tensor in enumerate(tensors):
                store_image(self.device, encoder, images.image(j), tensor, self._stage.state)

        for copy in staged:
            copy.copy_in(sink)
        sink.record(work, pipeline, root, images, tensors, views, bindings)
        for copy in staged:
            copy.copy_out(sink)
        if views or (self._globals is not None and self._globals.foreign):
            sink.flush()
        self.device.counters.dispatches += 1
        if sink.captures:  # the root that it has taken stays as it is
            self._attach()

    def _write(self, values: Mapping[str, Any]) -> list[Staged]:
        if self._globals is None:
            return []
        if self._globals.stale(values):
            self._attach()
        check_set(self.name, self._reads, values, "pass {0}=…, or call .set({0}=…) on it")
        self._globals.write(values, self.device, self.name)
        return [*self._globals.staged]
