"""The images of a draw as tensors: copies, and kernels that read texels, parts of them, or one of several samples."""

from __future__ import annotations

import math
import struct
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import slangpy as spy

from fusepy.backend.device.device import Device
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.memory.texture import texel_type
from fusepy.backend.raster.state import STENCIL_FORMAT, RasterState
from fusepy.backend.slang.session import digest_name
from fusepy.backend.slang.stage import COMPUTE
from fusepy.ir.types import UINT, Type

_F, _A = spy.FormatType, spy.TextureAspect
_GROUP = 16  # threads of a group along x and y


class Reading(NamedTuple):
    """A way to read an image: its format, its part, and how several samples become one texel."""

    format: spy.Format
    aspect: spy.TextureAspect = _A.all
    samples: int = 1
    resolve: str = ""

    @staticmethod
    def of(image: spy.Texture, state: RasterState) -> Reading:
        """Returns what is read of an image that a draw of this state has filled."""
        depth = spy.get_format_info(image.format).is_depth
        part = _A.all
        if image.format == spy.Format[STENCIL_FORMAT]:  # a view of both parts cannot be read
            part = _A.depth_only if state.depth else _A.stencil_only
        return Reading(image.format, part, state.samples if depth else 1, state.depth_resolve if depth else "")

    @property
    def texel(self) -> Type:
        """The type of the texel that is read."""
        return UINT if self.aspect is _A.stencil_only else texel_type(self.format)

    def lines(self) -> list[str]:
        """Returns the statements that compute ``texel`` at ``pixel``."""
        if self.samples == 1:
            return [f"{self.texel} texel = image[pixel.xy];"]
        lines = [f"{self.texel} texel = image.Load(int2(pixel.xy), 0);"]
        if self.resolve == "first":
            return lines
        return [
            *lines,
            f"for (int i = 1; i < {self.samples}; ++i)",
            f"    texel = {self.resolve}(texel, image.Load(int2(pixel.xy), i));",
        ]


def store_image(device: Device, encoder: spy.CommandEncoder, image: spy.Texture, tensor: Tensor, state: RasterState) -> None:
    """Records a kernel that makes a tensor of an image which a draw of this state has filled. The device's lock is held."""
    reading, kernels = Reading.of(image, state), _readers.setdefault(device, {})
    reader = kernels.get(reading)
    if reader is None:
        reader = kernels[reading] = _TexelReader(device, reading)
    reader.record(encoder, image, tensor)


def plain_bytes(image: spy.Texture) -> int:
    """Returns the bytes of a texel that is kept as its numbers; 0 for other formats, and for several samples."""
    format = image.format
    info = spy.get_format_info(format)
    plain = info.type in (_F.float, _F.uint, _F.sint) or format == spy.Format.d32_float
    return info.bytes_per_block if plain and image.type is spy.TextureType.texture_2d else 0


class Filled(NamedTuple):
    """An image that a draw fills: the bytes of a texel from `plain_bytes`, of a row, and of all."""

    image: spy.Texture
    texel: int
    row: int
    nbytes: int

    @staticmethod
    def of(image: spy.Texture) -> Filled:
        texel = plain_bytes(image)
        return Filled(image, texel, texel * image.width, texel * image.width * image.height)


def copy_of(filled: Filled, tensor: Tensor) -> tuple[Any, ...] | None:
    """Returns the arguments of a copy of an image into a tensor; None if texels do not lie in memory as its elements do."""
    image, texel, row, nbytes = filled
    block = tensor.block
    buffer = block.buffer
    if texel != tensor.element.nbytes or not tensor.linear or buffer.__class__ is not spy.Buffer:
        return None
    return buffer, block.offset + tensor.origin, nbytes, row, image, 0, 0


def copied(encoder: spy.CommandEncoder, filled: Filled, tensor: Tensor) -> bool:
    """Records a copy of an image into a tensor, if there is one."""
    copy = copy_of(filled, tensor)
    if copy is not None:
        encoder.copy_texture_to_buffer(*copy)
    return copy is not None


class _TexelReader:
    """The compiled kernel that reads images in one way, into tensors of any strides."""

    def __init__(self, device: Device, reading: Reading):
        texel, self._aspect = reading.texel, reading.aspect
        count = math.prod(texel.shape)
        stores = [f"block.to[at + {c}] = texel{f'[{c}]' if texel.shape else ''};" for c in range(count)]
        lines = [
            f"struct Block {{ {texel.scalar}* to; int row; int column; uint width; uint height; }};",
            "uniform Block block;",
            f"Texture2D<{texel}> image;" if reading.samples == 1 else f"Texture2DMS<{texel}> image;",
            *COMPUTE.attributes((_GROUP, _GROUP, 1)),
            "void read_image(uint3 pixel : SV_DispatchThreadID)",
            "{",
            "    if (pixel.x >= block.width || pixel.y >= block.height)",
            "        return;",
            f"    int64_t at = (int64_t(pixel.y) * block.row + int64_t(pixel.x) * block.column) * {count};",
            *(f"    {line}" for line in (*reading.lines(), *stores)),
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
        cursor["image"].write(image if self._aspect is _A.all else image.create_view({"aspect": self._aspect}))
        compute = COMPUTE.begin(encoder)
        compute.bind_pipeline(self._pipeline, root)
        compute.dispatch_compute([-(-width // _GROUP), -(-height // _GROUP), 1])
        compute.end()


_readers: WeakKeyDictionary[Any, dict[Reading, _TexelReader]] = WeakKeyDictionary()
