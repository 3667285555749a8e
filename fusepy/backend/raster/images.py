"""The images that a draw fills, its own or textures of the caller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import slangpy as spy

from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.raster.multisampling import check_samples
from fusepy.backend.raster.readers import Filled
from fusepy.backend.raster.state import STENCIL_FORMAT, RasterState

OFFSETS = 256  # of indices that are kept; indices of the host lie elsewhere in each call
_U, _T = spy.TextureUsage, spy.TextureType


class Images:
    """The images of one `width` and `height` that a draw fills.

    Attributes:
        results: the colours, and depth behind them.

    Raises:
        DeviceError: if the device has not so many samples for each pixel.
    """

    def __init__(self, device: spy.Device, formats: Sequence[str], state: RasterState, width: int, height: int):
        check_samples(device, state.samples)
        self._state = state
        self.width, self.height = width, height
        usage, several = _U.shader_resource | _U.copy_source, state.samples > 1
        self.colors = [_image(device, format, width, height, usage | _U.render_target) for format in formats]
        sampled = [_image(device, f, width, height, _U.render_target, state.samples) for f in formats] if several else []
        own = usage | _U.depth_stencil if state.keeps_depth else _U.depth_stencil
        self.depth = _image(device, state.depth_format, width, height, own, state.samples) if state.has_depth else None
        results = [*self.colors, *([] if self.depth is None else [self.depth])]
        self.results = [Filled.of(image) for image in results]
        self._views, self._sampled = ([image.create_view({}) for image in images] for images in (self.colors, sampled))
        self._depth_view = None if self.depth is None else self.depth.create_view({})
        self._own = self._described([None] * (len(formats) + (self.depth is not None)))
        self._unindexed = self._render_state({})
        self._indices_in: spy.Buffer | None = None  # the buffer of the last indices
        self._indexed: dict[int, spy.RenderState] = {}  # by the offset of indices in it

    def state(self, indices: Tensor | None) -> spy.RenderState:
        """Returns the viewport of these images, with these indices, which lie in a buffer of the device."""
        if indices is None:
            return self._unindexed
        block = indices.block
        memory, offset = block.buffer, block.offset + indices.origin
        if memory is not self._indices_in or len(self._indexed) > OFFSETS:
            self._indices_in, self._indexed = memory, {}
        found = self._indexed.get(offset)
        if found is None:
            given = {"index_buffer": spy.BufferOffsetPair(memory, offset), "index_format": spy.IndexFormat.uint32}
            found = self._indexed[offset] = self._render_state(given)
        return found

    def _render_state(self, given: dict[str, Any]) -> spy.RenderState:
        viewport = spy.Viewport.from_size(self.width, self.height)
        if self._state.viewport:
            x, y, w, h = self._state.viewport
            viewport = spy.Viewport({"x": x, "y": y, "width": w, "height": h, "min_depth": 0.0, "max_depth": 1.0})
        scissors, reference = [spy.ScissorRect.from_size(self.width, self.height)], self._state.stencil_reference
        return spy.RenderState({"viewports": [viewport], "scissor_rects": scissors, "stencil_ref": reference, **given})

    def begin(self, encoder: spy.CommandEncoder, given: Sequence[spy.TextureView | None] | None) -> spy.RenderPassEncoder:
        """Begins the pass of a draw into these images; `given` are the views of textures of the caller in place of some."""
        return encoder.begin_render_pass(self._own if given is None else self._described(given))

    def _described(self, given: Sequence[spy.TextureView | None]) -> spy.RenderPassDesc:
        views = [own if view is None else view for own, view in zip(self._views, given)]
        clear: dict[str, Any] = {"load_op": spy.LoadOp.load}
        if self._state.clear:
            clear = {"load_op": spy.LoadOp.clear, "clear_value": self._state.clear}
        targets: list[Any] = [{"view": view, **clear} for view in views]
        if self._sampled:
            targets = [{"view": own, "resolve_target": view, **clear} for own, view in zip(self._sampled, views)]
        attached: dict[str, Any] = {"color_attachments": targets}
        if self._depth_view is not None:
            view = given[-1] if len(given) > len(self.colors) and given[-1] is not None else self._depth_view
            attached["depth_stencil_attachment"] = {"view": view, **self._depth_clear()}
        return spy.RenderPassDesc(attached)

    def _depth_clear(self) -> dict[str, Any]:
        """Returns what becomes of depth and stencil before the draw. What it does not use stays as it is."""
        state = self._state
        depth = spy.LoadOp.clear if state.depth and state.clear_depth >= 0 else spy.LoadOp.load
        made: dict[str, Any] = {"depth_load_op": depth, "depth_clear_value": max(state.clear_depth, 0.0)}
        if state.depth_format == STENCIL_FORMAT:
            stencil = spy.LoadOp.clear if state.stencil and state.clear_stencil >= 0 else spy.LoadOp.load
            made |= {"stencil_load_op": stencil, "stencil_clear_value": max(state.clear_stencil, 0)}
            made["stencil_store_op"] = spy.StoreOp.store
        return made


def _image(device: spy.Device, format: str, width: int, height: int, usage: spy.TextureUsage, samples: int = 1) -> spy.Texture:
    type = _T.texture_2d if samples == 1 else _T.texture_2d_ms
    return device.create_texture(
        type=type, format=spy.Format[format], width=width, height=height, usage=usage, sample_count=samples
    )
