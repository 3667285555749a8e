"""The resources of one kernel: textures, samplers, buffers and acceleration structures, bound by name.

They are bound by name, not by bindless handles in the parameter block. Then sgl knows the resources of a dispatch: it changes
the layouts of textures, puts barriers between writers and readers, and keeps resources alive until the device is done. A program
can have any number of them, and there are no stale handles. A binding costs 0.9 µs on the host, so that unchanged ones stay.
The cost: a kernel keeps the resources of its last call alive (decision 010).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import slangpy as spy

from fusepy.backend.device.device import Device
from fusepy.backend.device.sink import Sink
from fusepy.backend.emit.operand import OWN, Field
from fusepy.backend.marshals.texture_cuda import bound, check_written
from fusepy.backend.memory.sharing import memory_of
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.memory.texture import AnyTexture, kind_of, overlap, texture_of
from fusepy.backend.scenes.levels import TopLevel
from fusepy.errors import ShapeError, UnsupportedArgumentError

_Usage = spy.TextureUsage
_OWN = (spy.Sampler, TopLevel)  # nobody else writes to these


class Resources:
    """The named resources of a kernel's root object.

    Args:
        fields: one per resource; ``role`` is ``"resource"`` for an argument, ``"texels"`` for a result.
        kernel: the function's name, for messages.
        labels: the user's names of the operands, for messages.
    """

    def __init__(self, fields: Sequence[Field], kernel: str, labels: Sequence[str]):
        self._fields = tuple(fields)
        self._kernel = kernel
        self._labels = labels
        self._cursors: list[spy.ShaderCursor] = []
        self._last: list[Any] = []
        self._copies: dict[int, spy.Buffer] = {}
        self._tensors: set[int] = set()  # the fields that hold a tensor now
        self._owned = False  # true if a field holds a texture or buffer of the user's

    def attach(self, cursor: spy.ShaderCursor) -> None:
        """Attaches a new, empty root object at `cursor`."""
        self._cursors = [cursor[f.name] for f in self._fields]
        self._last = [None] * len(self._fields)
        self._copies = {}
        self._tensors = set()

    def bind(self, device: Device, sink: Sink, values: Sequence[Any]) -> None:
        """Binds these resources for the next dispatch.

        Raises:
            UnsupportedArgumentError: for a texture or buffer with an unsuitable usage or format.
            ShapeError: if a texture is written and read, or a tensor cannot be passed as a buffer.
        """
        last = self._last
        if not self._tensors:
            for a, b in zip(values, last):
                if a is not b:
                    break
            else:
                return
        for field, value in zip(self._fields, values):
            self._check(device, field, value)
        self._check_conflicts(values)
        copied, tensors = self._tensors, {i for i, v in enumerate(values) if isinstance(v, Tensor)}
        for i, value in enumerate(bound(device, self._fields, values, self._kernel, self._labels)):
            if i in tensors:
                self._bind_tensor(device, sink, i, value, i in copied)
            elif value is not last[i]:
                self._cursors[i].write(value.structure if isinstance(value, TopLevel) else value)
        self._last, self._tensors = list(values), tensors
        self._owned = any(i not in tensors and not isinstance(v, _OWN) for i, v in enumerate(values))

    def finish(self, sink: Sink) -> None:
        """Copies written tensors back after the dispatch, and submits all work to the device.

        The owner of a texture or buffer may read or overwrite it at any time, so that no work may be deferred.
        """
        submit = self._owned
        for i in self._tensors:
            value, copy = self._last[i], self._copies[i]
            if self._fields[i].type.startswith("RW"):
                sink.copy(memory_of(value), value.byte_offset, copy, 0, copy.size)
                submit = True  # only a dispatch tests for a shared device
        if submit:
            sink.flush()

    def _bind_tensor(self, device: Device, sink: Sink, i: int, tensor: Tensor, copied: bool) -> None:
        """Binds a copy of a tensor: a tensor is a part of a large buffer, and sgl binds only whole buffers.

        Args:
            copied: the copy is bound already.
        """
        size = tensor.size * tensor.element.nbytes
        if not tensor.linear:
            raise self._misfit(self._fields[i], f"strides {tensor.strides}", "a contiguous tensor", "copy the view first")
        if not size:
            raise self._misfit(
                self._fields[i], tensor.shape, "at least one element", "give an array with an element, which may be unused"
            )
        copy = self._copies.get(i)
        if copy is None or copy.size != size:
            usage = spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access
            usage |= spy.BufferUsage.copy_source | spy.BufferUsage.copy_destination
            copy = self._copies[i] = device.raw.create_buffer(size=size, usage=usage, struct_size=tensor.element.nbytes)
            self._cursors[i].write(copy)
        elif not copied:
            self._cursors[i].write(copy)
        sink.copy(copy, 0, memory_of(tensor), tensor.byte_offset, size)

    def _check(self, device: Device, field: Field, value: Any) -> None:
        writes = field.type.startswith("RW")
        if isinstance(value, spy.Buffer):
            self._check_buffer(field, value)
        if not isinstance(value, (spy.Texture, spy.TextureView)):
            return
        needed = _Usage.unordered_access if writes else _Usage.shader_resource
        usage = texture_of(value).desc.usage
        if not usage & needed:
            verb = "written to" if writes else "read"
            raise UnsupportedArgumentError(
                f"{self._kernel}: {self._what(field)}: a texture without the usage {needed.name} cannot be {verb}",
                saw=usage_names(usage),
                expected=needed.name,
                hint=f"create it with usage=TextureUsage.{needed.name} | …",
            )
        format = kind_of(value).format
        if field.role != "texels":
            check_written(format, field.type, device, f"{self._kernel}: {self._what(field)}")
        can = spy.FormatSupport.shader_uav_store if writes else spy.FormatSupport.shader_load
        if not device.raw.get_format_support(format) & can:
            raise UnsupportedArgumentError(
                f"{self._kernel}: {self._what(field)}: the device cannot {'write' if writes else 'read'} textures of this format",
                saw=format.name,
                expected=f"a format with {can.name}",
                hint="use a common one such as rgba8_unorm, rgba16_float or r32_float",
            )

    def _check_buffer(self, field: Field, value: spy.Buffer) -> None:
        needed = spy.BufferUsage.unordered_access if field.type.startswith("RW") else spy.BufferUsage.shader_resource
        if not value.desc.usage & needed:
            raise UnsupportedArgumentError(
                f"{self._kernel}: {self._what(field)}: a buffer without the usage {needed.name}",
                saw=f"{usage_names(value.desc.usage)}: Buffer[rw=False] does not match slang type {field.type}",
                expected=needed.name,
                hint=f"create it with usage=BufferUsage.{needed.name} | …",
            )

    def _check_conflicts(self, values: Sequence[Any]) -> None:
        """Raises if a texture is both read and written: it has one layout while a kernel runs."""
        textures: list[tuple[Field, AnyTexture]] = []
        for field, value in zip(self._fields, values):
            if isinstance(value, (spy.Texture, spy.TextureView)):
                textures.append((field, value))
        for i, (a, first) in enumerate(textures):
            for b, second in textures[i + 1 :]:
                writers = a.type.startswith("RW") + b.type.startswith("RW")
                fine = writers == 0 or (writers == 2 and "texels" not in (a.role, b.role)) or _own_texels(a, b)
                if not fine and overlap(first, second):
                    raise ShapeError(
                        f"{self._kernel}: {self._what(a)} and {self._what(b)} are one texture, which is written to",
                        saw="the same texture, or views that overlap",
                        hint="write into another texture; only a texel that its own thread reads can be overwritten",
                    )

    def _what(self, field: Field) -> str:
        """Returns the argument of a slot, for messages."""
        return "the result" if field.role == "texels" else f"argument {self._labels[field.source]!r}"

    def _misfit(self, field: Field, saw: Any, expected: str, hint: str) -> ShapeError:
        what = f"{self._kernel}: {self._what(field)}: a tensor cannot be passed as {field.type}"
        return ShapeError(what, saw=saw, expected=expected, hint=hint)


def _own_texels(a: Field, b: Field) -> bool:
    """True if `b` is a result, and `a` the second binding through which CUDA reads the same texels."""
    return b.role == "texels" and a.name.endswith(f"_{OWN}{b.source}")


def usage_names(usage: spy.TextureUsage | spy.BufferUsage) -> str:
    """Returns the names of the flags; ``str`` would give a number."""
    return " | ".join(name for name, flag in type(usage).__members__.items() if flag and flag & usage) or "no usage"
