"""`DrawKernel`: the compiled stages of a draw. Its launch is a pass of the device's rasteriser into images."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import slangpy as spy

from fusepy.backend.device.bound import Bound
from fusepy.backend.device.device import Device
from fusepy.backend.device.sink import Sink
from fusepy.backend.kernels.globals import Bindings
from fusepy.backend.kernels.kernel import Kernel
from fusepy.backend.memory.contents import copy_elements
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.raster.images import Images
from fusepy.backend.raster.readers import copy_image, is_copied, store_image
from fusepy.backend.raster.state import RasterStage


class DrawKernel(Kernel):
    """The pipeline of a draw with its parameter block. It keeps images of the last size."""

    __slots__ = ("_images", "_indices_in", "_objects", "_stage")

    def __init__(self, device: Device, *given: Any):
        super().__init__(device, *given)
        stage = self._source.stage
        assert isinstance(stage, RasterStage)
        self._stage = stage
        self._images: Images | None = None
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
        own = len(self.resources)
        self._objects = objects[own:]
        try:
            super().launch(self.staged(sink, self.draw), bindings, values, count, by_axis, beside, more, objects[:own])
        finally:
            self._objects = ()
        if any(isinstance(one, Bound) for one in objects[own:]):  # the owner of a texture may read it at any time
            sink.flush()

    def images(self, width: int, height: int) -> Images:
        """Returns the images of this size."""
        if self._images is None or self._images.size != (width, height):
            self._images = Images(self._device.raw, self._stage.formats, self._stage.state, width, height)
        return self._images

    def draw(self, sink: Sink, pipeline: Any, root: spy.ShaderObject, drawn: Sequence[int]) -> None:
        """Records the pass, and the copies of its images into the tensors among the results. The device's lock is held."""
        width, height, *counts = drawn
        objects = self._objects
        images = self.images(width, height)
        results = objects[: len(self.objects) - (self.objects[-1].role == "indices")]
        views = [view_of(r.value) if isinstance(r, Bound) else None for r in results]
        indices = self._indices(sink, objects[-1]) if len(results) < len(objects) else None
        state = images.state(indices)
        made = zip(images.results, results, views)
        stored = [(image, r, is_copied(nbytes, r)) for (image, nbytes), r, view in made if view is None]

        def work(encoder: spy.CommandEncoder) -> None:
            rendering = images.begin(encoder, views)
            rendering.bind_pipeline(pipeline, root)
            rendering.set_render_state(state)
            if len(counts) == 3:
                rendering.draw_mesh_tasks(counts)
            else:
                (rendering.draw if indices is None else rendering.draw_indexed)(_arguments(*counts))
            rendering.end()
            for image, tensor, plain in stored:
                if plain:
                    copy_image(encoder, image, tensor)
                else:
                    store_image(self._device, encoder, image, tensor, self._stage.state)

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


@lru_cache(maxsize=64)
def _arguments(count: int, instances: int) -> spy.DrawArguments:
    return spy.DrawArguments({"vertex_count": count, "instance_count": instances})


def view_of(texture: spy.Texture | spy.TextureView) -> spy.TextureView:
    """Returns a texture as a target."""
    return texture.create_view({}) if isinstance(texture, spy.Texture) else texture
