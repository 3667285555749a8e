"""`DrawKernel`: the compiled stages of a draw. Its launch is a pass of the device's rasteriser into images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import slangpy as spy

from fusepy.backend.device.bound import Bound
from fusepy.backend.device.device import Device
from fusepy.backend.device.sink import Sink
from fusepy.backend.kernels.globals import Bindings
from fusepy.backend.kernels.kernel import LONG, Kernel
from fusepy.backend.memory.contents import copy_elements
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.raster.images import Images
from fusepy.backend.raster.readers import copied, copy_of, store_image
from fusepy.backend.raster.state import RasterStage

Pass = Callable[[spy.CommandEncoder], None]
_FIRST = spy.SubresourceRange({"mip_count": 1, "layer_count": 1})


class DrawKernel(Kernel):
    """The pipeline of a draw with its parameter block. It keeps images of the last size."""

    __slots__ = ("_again", "_images", "_indexed", "_indices_in", "_objects", "_stage", "_textures")

    def __init__(self, device: Device, *given: Any):
        super().__init__(device, *given)
        stage = self._source.stage
        assert isinstance(stage, RasterStage)
        self._stage = stage
        self._images: Images | None = None
        self._again: tuple[object, Pass | None] = None, None  # the owner of the last `launch_again`, and its pass
        self._indexed = self.objects[-1].role == "indices"
        self._textures = False  # the last launch has filled a texture of the caller
        self._indices_in: object = None  # the last buffer that holds indices as the device takes them
        self._objects: Sequence[Any] = ()  # the results and the indices of the launch

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
        """Binds the resources of the functions and draws; the results and the indices follow them in `objects`."""
        if by_axis and self.binds_nothing(sink, bindings):
            self.fill(values)
            self._draw(sink, self.pipeline, self.root, by_axis, objects)
            if count >= LONG:
                sink.start()
        else:
            own = len(self.resources)
            self._objects = objects[own:]
            try:
                super().launch(self.staged(sink, self.draw), bindings, values, count, by_axis, beside, more, objects[:own])
            finally:
                self._objects = ()
        if self._textures:  # their owner may read them at any time
            sink.flush()

    def launch_again(
        self, owner: object, sink: Sink, bindings: Bindings | None, values: Sequence[float], count: int, drawn: Sequence[int],
        objects: Sequence[Any],
    ) -> None:  # fmt: skip
        """Launches for an owner whose launches all have the same `drawn` and `objects`: their pass is described once.

        It holds the buffers of the results, as the kernel holds its images, until a draw of another owner.
        """
        if not self.binds_nothing(sink, bindings):
            self.launch(sink, bindings, values, count, drawn, objects=objects)
            return
        self.fill(values)
        known, work = self._again
        if known is owner and work is not None:
            sink.record(work, self.pipeline, self.root, self._images, objects)
        else:
            self._draw(sink, self.pipeline, self.root, drawn, objects)
            if known is not owner:
                self._again = owner, self._repeated(drawn, objects)
            if self._textures:
                sink.flush()
        if count >= LONG:
            sink.start()

    def _renew(self, device: Device) -> None:
        super()._renew(device)
        self._again = None, None

    def images(self, width: int, height: int) -> Images:
        """Returns the images of this size."""
        found = self._images
        if found is None or found.width != width or found.height != height:
            self._again = None, None
            found = self._images = Images(self._device.raw, self._stage.formats, self._stage.state, width, height)
        return found

    def draw(self, sink: Sink, pipeline: Any, root: spy.ShaderObject, drawn: Sequence[int]) -> None:
        """Records the pass of the launch. The device's lock is held."""
        self._draw(sink, pipeline, root, drawn, self._objects)

    def _draw(self, sink: Sink, pipeline: Any, root: spy.ShaderObject, drawn: Sequence[int], objects: Sequence[Any]) -> None:
        """Records the pass, and the copies of its images into the tensors among the results.

        A result is None where nothing reads the image: it is not copied.
        """
        images, results, views = self._images, objects, None
        if images is None or images.width != drawn[0] or images.height != drawn[1]:
            images = self.images(drawn[0], drawn[1])
        indices = self._indices(sink, objects[-1]) if self._indexed else None
        if indices is not None:
            results = objects[:-1]
        state = images.state(indices)
        self._textures = False
        for one in results:
            if one.__class__ is Bound:
                self._textures = True
                views = [view_of(r.value) if isinstance(r, Bound) else None for r in results]
                break

        def work(encoder: spy.CommandEncoder) -> None:
            self._pass(images.begin(encoder, views), pipeline, root, state, drawn)
            for filled, result in zip(images.results, results):
                if result is None or result.__class__ is Bound or copied(encoder, filled, result):
                    continue
                store_image(self._device, encoder, filled.image, result, self._stage.state)

        sink.record(work, pipeline, root, images, indices, results, views)

    def _pass(
        self,
        rendering: spy.RenderPassEncoder,
        pipeline: Any,
        root: spy.ShaderObject,
        state: spy.RenderState,
        drawn: Sequence[int],
    ) -> None:
        rendering.bind_pipeline(pipeline, root)
        rendering.set_render_state(state)
        if self._indexed:
            rendering.draw_indexed(_arguments(drawn[2], drawn[3]))
        elif len(drawn) == 4:
            rendering.draw(_arguments(drawn[2], drawn[3]))
        else:
            rendering.draw_mesh_tasks(drawn[2:])
        rendering.end()

    def _repeated(self, drawn: Sequence[int], objects: Sequence[Any]) -> Pass | None:
        """Returns the pass of a launch that was recorded, for others with the same objects; None if it does more than copy."""
        images, results = self._images, objects[:-1] if self._indexed else objects
        indices: Tensor | None = objects[-1] if self._indexed else None
        if (
            images is None
            or self._textures
            or not (indices is None or (indices.linear and indices.block.buffer is self._indices_in))
        ):
            return None
        copies = [copy_of(filled, result) for filled, result in zip(images.results, results) if result is not None]
        state, pipeline, root = images.state(indices), self.pipeline, self.root
        made = [copy for copy in copies if copy is not None]

        def work(encoder: spy.CommandEncoder) -> None:
            self._pass(images.begin(encoder, None), pipeline, root, state, drawn)
            for copy in made:
                encoder.copy_texture_to_buffer(*copy)

        return work if len(made) == len(copies) else None

    def _indices(self, sink: Sink, given: Tensor) -> Tensor:
        """Returns the indices one after the other in a buffer of the device; others are copied, and so is foreign memory."""
        buffer = given.block.buffer
        if given.linear:
            if buffer is self._indices_in:
                return given
            if isinstance(buffer, spy.Buffer) and buffer.desc.usage & spy.BufferUsage.index_buffer:
                self._indices_in = buffer  # asking sgl for its flags takes 2 to 4 µs
                return given
        own = Tensor(self._device, given.element, given.shape)
        copy_elements(given, own, sink)
        return own


@lru_cache(maxsize=64)
def _arguments(count: int, instances: int) -> spy.DrawArguments:
    return spy.DrawArguments({"vertex_count": count, "instance_count": instances})


def view_of(texture: spy.Texture | spy.TextureView) -> spy.TextureView:
    """Returns a texture as a target: its first mip level, since a target has one."""
    return texture.create_view({"subresource_range": _FIRST}) if isinstance(texture, spy.Texture) else texture
