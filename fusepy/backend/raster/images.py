"""The images that a draw fills, its own or textures of the caller; copies of them into tensors."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import slangpy as spy

from fusepy.backend.device.device import Device
from fusepy.backend.memory.sharing import memory_of
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.memory.texture import texel_type
from fusepy.backend.raster.multisampling import check_samples
from fusepy.backend.raster.state import RasterState
from fusepy.backend.slang.session import digest_name
from fusepy.backend.slang.stage import COMPUTE

_U, _T, _F = spy.TextureUsage, spy.TextureType, spy.FormatType
_GROUP = 16  # threads of a group along x and y, where texels are read


class Images:
    """The images of one size that a draw fills.

    Raises:
        DeviceError: if the device has not so many samples for each pixel.
    """

    def __init__(self, device: spy.Device, formats: Sequence[str], state: RasterState, width: int, height: int):
        check_samples(device, state.samples)
        self._state = state
        self.size = width, height
        usage, several = _U.shader_resource | _U.copy_source, state.samples > 1
        self.colors = [_image(device, format, width, height, usage | _U.render_target) for format in formats]
        sampled = [_image(device, f, width, height, _U.render_target, state.samples) for f in formats] if several else []
        own = _U.depth_stencil if several else usage | _U.depth_stencil
        self.depth = _image(device, state.depth_format, width, height, own, state.samples) if state.depth else None
        self._views, self._sampled = ([image.create_view({}) for image in images] for images in (self.colors, sampled))
        self._depth_view = None if self.depth is None else self.depth.create_view({})
        self._own = self._described([None] * (len(formats) + (self.depth is not None)))
        self._unindexed = self._render_state({})
        self._indexed: tuple[spy.Buffer, int, spy.RenderState] | None = None  # the buffer and offset of the last indices

    def state(self, indices: Tensor | None) -> spy.RenderState:
        """Returns the viewport of these images, with these indices."""
        if indices is None:
            return self._unindexed
        memory, offset, last = memory_of(indices), indices.byte_offset, self._indexed
        if last is None or last[0] is not memory or last[1] != offset:
            pair = spy.BufferOffsetPair(memory, offset)
            made = self._render_state({"index_buffer": pair, "index_format": spy.IndexFormat.uint32})
            last = self._indexed = memory, offset, made
        return last[2]

    def _render_state(self, given: dict[str, Any]) -> spy.RenderState:
        width, height = self.size
        viewport = spy.Viewport.from_size(width, height)
        if self._state.viewport:
            x, y, w, h = self._state.viewport
            viewport = spy.Viewport({"x": x, "y": y, "width": w, "height": h, "min_depth": 0.0, "max_depth": 1.0})
        scissors = [spy.ScissorRect.from_size(width, height)]
        return spy.RenderState({"viewports": [viewport], "scissor_rects": scissors, **given})

    def begin(self, encoder: spy.CommandEncoder, given: Sequence[spy.TextureView | None]) -> spy.RenderPassEncoder:
        """Begins the pass of a draw into these images; `given` are the views of textures of the caller in place of some."""
        return encoder.begin_render_pass(self._described(given) if any(given) else self._own)

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
            kept, depth = self._state.clear_depth < 0, max(self._state.clear_depth, 0.0)
            clear = {"depth_load_op": spy.LoadOp.load if kept else spy.LoadOp.clear, "depth_clear_value": depth}
            attached["depth_stencil_attachment"] = {"view": view, **clear}
        return spy.RenderPassDesc(attached)

    def image(self, j: int) -> spy.Texture:
        """Returns the image of result `j`: a colour, or depth behind all colours."""
        found = self.colors[j] if j < len(self.colors) else self.depth
        assert found is not None
        return found


def _image(device: spy.Device, format: str, width: int, height: int, usage: spy.TextureUsage, samples: int = 1) -> spy.Texture:
    type = _T.texture_2d if samples == 1 else _T.texture_2d_ms
    return device.create_texture(
        type=type, format=spy.Format[format], width=width, height=height, usage=usage, sample_count=samples
    )


def is_copied(format: spy.Format, tensor: Tensor) -> bool:
    """True if texels of a format lie in memory as the elements of a tensor do."""
    return tensor.linear and _plain_bytes(format) == tensor.element.nbytes and isinstance(tensor.block.buffer, spy.Buffer)


@lru_cache(maxsize=64)
def _plain_bytes(format: spy.Format) -> int:
    """Returns the bytes of a texel that is kept as its numbers; 0 for other formats."""
    info = spy.get_format_info(format)
    return info.bytes_per_block if info.type in (_F.float, _F.uint, _F.sint) or format == spy.Format.d32_float else 0


def copy_image(encoder: spy.CommandEncoder, image: spy.Texture, tensor: Tensor) -> None:
    """Records a copy of an image into a tensor for which `is_copied` holds."""
    height, width = tensor.shape
    row = width * tensor.element.nbytes
    encoder.copy_texture_to_buffer(memory_of(tensor), tensor.byte_offset, row * height, row, image, 0, 0)


def read_image(device: Device, encoder: spy.CommandEncoder, image: spy.Texture, tensor: Tensor) -> None:
    """Records a kernel that converts the texels of an image to the elements of a tensor. The device's lock is held."""
    kernels = _readers.setdefault(device, {})
    reader = kernels.get(image.format)
    if reader is None:
        reader = kernels[image.format] = _TexelReader(device, image.format)
    reader.record(encoder, image, tensor)


class _TexelReader:
    """The compiled kernel that reads images of one format, into tensors of any strides."""

    def __init__(self, device: Device, format: spy.Format):
        texel = texel_type(format)
        count = math.prod(texel.shape)
        stores = [f"block.to[at + {c}] = image[pixel.xy]{f'[{c}]' if texel.shape else ''};" for c in range(count)]
        lines = [
            f"struct Block {{ {texel.scalar}* to; int row; int column; uint width; uint height; }};",
            "uniform Block block;",
            f"Texture2D<{texel}> image;",
            *COMPUTE.attributes((_GROUP, _GROUP, 1)),
            "void read_image(uint3 pixel : SV_DispatchThreadID)",
            "{",
            "    if (pixel.x >= block.width || pixel.y >= block.height)",
            "        return;",
            f"    int64_t at = (int64_t(pixel.y) * block.row + int64_t(pixel.x) * block.column) * {count};",
            *(f"    {line}" for line in stores),
            "}",
        ]
        text = "\n".join(lines) + "\n"
        program = device.compiler.compile(digest_name("image", text), text, (), (), "read_image").program
        self._pipeline, self._raw, self._program = COMPUTE.pipeline(device.raw, program), device.raw, program
        self._size: int = program.reflection["block"].type_layout.size

    def record(self, encoder: spy.CommandEncoder, image: spy.Texture, tensor: Tensor) -> None:
        """Records the kernel with an object of its own: several may be recorded before the first one runs."""
        height, width = tensor.shape
        root = self._raw.create_root_shader_object(self._program)
        cursor = spy.ShaderCursor(root)
        packed = struct.pack("<QiiII", tensor.address, *tensor.strides, width, height)
        cursor["block"].set_data(np.frombuffer(bytearray(packed.ljust(self._size, b"\0")), np.uint8))
        cursor["image"].write(image)
        compute = COMPUTE.begin(encoder)
        compute.bind_pipeline(self._pipeline, root)
        compute.dispatch_compute([-(-width // _GROUP), -(-height // _GROUP), 1])
        compute.end()


_readers: WeakKeyDictionary[Any, dict[spy.Format, _TexelReader]] = WeakKeyDictionary()
