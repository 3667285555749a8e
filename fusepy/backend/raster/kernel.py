"""`DrawKernel`: the compiled stages of a draw. Its launch is a pass of the device's rasteriser into images."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, cast

import slangpy as spy

from fusepy.backend.device.bound import Bound
from fusepy.backend.device.device import Device
from fusepy.backend.device.sink import Sink, StageSink
from fusepy.backend.emit.text import KernelSource
from fusepy.backend.kernels.globals import Bindings
from fusepy.backend.kernels.kernel import Kernel
from fusepy.backend.memory.contents import copy_elements
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.raster.images import Images
from fusepy.backend.raster.readers import copy_image, is_copied, store_image
from fusepy.backend.raster.state import RasterStage


class DrawKernel(Kernel):
    """The pipeline of a draw with its parameter block. It keeps images of the last size."""

    __slots__ = ("_images", "_indexed", "_indices_in", "_objects", "_sinks", "_stage", "_textures")

    def __init__(self, device: Device, *given: Any):
        super().__init__(device, *given)
        stage = self._source.stage
        assert isinstance(stage, RasterStage)
        self._stage = stage
        self._images: Images | None = None
        self._indexed = self.objects[-1].role == "indices"
        self._textures = False  # the last launch has filled a texture of the caller
        self._indices_in: object = None  # the last buffer that holds indices as the device takes them
        self._objects: Sequence[Any] = ()  # the results and the indices of the launch
        self._sinks: tuple[Sink, StageSink] | None = None  # the sink of the last launch, and the one that records its draw

    def twin(self, device: Device, source: KernelSource | None = None) -> DrawKernel:
        """Returns the same kernel with its own root, see `Kernel.twin`."""
        made = cast("DrawKernel", super().twin(device, source))
        made._sinks = None
        return made

    def launch_bound(
        self,
        sink: Sink,
        bindings: Bindings | None,
        values: Sequence[float],
        count: int,
        resources: Sequence[Any],
        by_axis: Sequence[int] | None = None,
        beside: bool = False,
        more: bool = False,
    ) -> None:
        """Binds the resources of the functions and draws; the results and the indices follow them in `resources`."""
        assert by_axis is not None
        own = len(self.resources)
        sinks = self._sinks
        if sinks is None or sinks[0] is not sink:
            sinks = sink, StageSink(sink, partial(self.draw, sink))
            self._sinks = sinks if not sink.keeps and not sink.captures else None  # the device's queue is used again
        self._objects = resources[own:]
        try:
            super().launch_bound(sinks[1], bindings, values, count, resources[:own], by_axis, beside, more)
        finally:
            self._objects = ()
        if self._textures:  # their owner may read them at any time
            sink.flush()

    def images(self, width: int, height: int) -> Images:
        """Returns the images of this size."""
        if self._images is None or self._images.size != (width, height):
            self._images = Images(self._device.raw, self._stage.formats, self._stage.state, width, height)
        return self._images

    def draw(self, sink: Sink, pipeline: Any, root: spy.ShaderObject, drawn: Sequence[int]) -> None:
        """Records the pass, and the copies of its images into the tensors among the results. The device's lock is held."""
        images = self.images(drawn[0], drawn[1])
        results = self._objects
        indices = None
        if self._indexed:
            indices, results = self._indices(sink, results[-1]), results[:-1]
        views = None
        self._textures = any([one.__class__ is Bound for one in results])
        if self._textures:
            views = [view_of(r.value) if isinstance(r, Bound) else None for r in results]
        work = DrawnPass(self._device, pipeline, root, images, drawn, indices, results, views)
        sink.record(work, pipeline, root, images, indices, results, views)

    def _indices(self, sink: Sink, given: Tensor) -> Tensor:
        """Returns the indices in a buffer of the device: memory of other frameworks is copied."""
        buffer = given.block.buffer
        if buffer is self._indices_in:
            return given
        if isinstance(buffer, spy.Buffer) and buffer.desc.usage & spy.BufferUsage.index_buffer:
            self._indices_in = buffer  # asking sgl for its flags takes 2 to 4 µs
            return given
        own = Tensor(self._device, given.element, given.shape)
        copy_elements(given, own, sink)
        return own


class DrawnPass:
    """The pass of one draw, then the copies of its images; a function of the encoder."""

    __slots__ = ("_device", "_drawn", "_images", "_indices", "_pipeline", "_results", "_root", "_state", "_views")

    def __init__(
        self,
        device: Device,
        pipeline: Any,
        root: spy.ShaderObject,
        images: Images,
        drawn: Sequence[int],
        indices: Tensor | None,
        results: Sequence[Any],
        views: Sequence[spy.TextureView | None] | None,
    ):
        self._device, self._pipeline, self._root, self._images = device, pipeline, root, images
        self._drawn, self._indices, self._results, self._views = drawn, indices, results, views
        self._state = images.state(indices)

    def __call__(self, encoder: spy.CommandEncoder) -> None:
        images, drawn = self._images, self._drawn
        rendering = images.begin(encoder, self._views)
        rendering.bind_pipeline(self._pipeline, self._root)
        rendering.set_render_state(self._state)
        if len(drawn) == 5:
            rendering.draw_mesh_tasks(drawn[2:])
        elif self._indices is None:
            rendering.draw(_arguments(drawn[2], drawn[3]))
        else:
            rendering.draw_indexed(_arguments(drawn[2], drawn[3]))
        rendering.end()
        for (image, nbytes), result in zip(images.results, self._results):
            if result.__class__ is Bound:
                continue
            if is_copied(nbytes, result):
                copy_image(encoder, image, result)
            else:
                store_image(self._device, encoder, image, result, images.drawn)


@lru_cache(maxsize=64)
def _arguments(count: int, instances: int) -> spy.DrawArguments:
    return spy.DrawArguments({"vertex_count": count, "instance_count": instances})


def view_of(texture: spy.Texture | spy.TextureView) -> spy.TextureView:
    """Returns a texture as a target."""
    return texture.create_view({}) if isinstance(texture, spy.Texture) else texture
