"""Resources that are passed unchanged: samplers, acceleration structures and raw buffers."""

from __future__ import annotations

from collections.abc import Hashable
from operator import attrgetter
from typing import Any

import slangpy as spy

from fusepy.backend.device.bound import Bound
from fusepy.backend.device.device import Device
from fusepy.backend.device.open import owner_of
from fusepy.backend.emit.operand import BLOCK, Field, Operand
from fusepy.backend.emit.variant import Variant
from fusepy.backend.marshals.base import Description
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.foreign_memory import Foreign
from fusepy.backend.memory.slangpy_names import TensorStorage
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.memory.texture import check_device
from fusepy.backend.scenes.levels import TopLevel, check_home
from fusepy.errors import ShapeError, UnsupportedArgumentError
from fusepy.ir.arrivals import BUFFER, HANDLE, OPAQUE
from fusepy.ir.resources import BYTES
from fusepy.ir.types import Kind, Type

_SAMPLER, _COMPARISON = Type.parse("SamplerState"), Type.parse("SamplerComparisonState")
_value = attrgetter("value")
_ACCELERATION = Type.parse("RaytracingAccelerationStructure")


class _Resource:
    """One object for all threads, passed unchanged; `what` is its name in messages."""

    returns = "scalar"
    what = ""

    def extents(self, value: Any) -> tuple[int, ...]:
        return ()

    def place(self, value: Any, type: Type, device: Device) -> Bound:
        check_device(value, self.what, device)
        return Bound(value, ())


class _Owned(_Resource):
    """A resource that knows its device, which is a part of its key."""

    def device(self, value: Any) -> Device | None:
        return owner_of(value.device)


class SamplerMarshal(_Owned):
    """slangpy's ``Sampler``: a ``SamplerState``, or a ``SamplerComparisonState`` for a comparison sampler."""

    what = "sampler"

    def key(self, value: spy.Sampler) -> Hashable:
        return (OPAQUE, self._type(value), id(value.device))

    def describe(self, value: spy.Sampler) -> Description:
        return Description(self._type(value), (), OPAQUE)

    def _type(self, value: spy.Sampler) -> Type:
        compares = value.desc.reduction_op == spy.TextureReductionOp.comparison
        return _COMPARISON if compares else _SAMPLER


class AccelerationStructureMarshal(_Owned):
    """slangpy's ``AccelerationStructure``."""

    what = "acceleration structure"

    def key(self, value: spy.AccelerationStructure) -> Hashable:
        return (OPAQUE, _ACCELERATION, id(value.device))

    def describe(self, value: spy.AccelerationStructure) -> Description:
        return Description(_ACCELERATION, (), OPAQUE)


class SceneMarshal(AccelerationStructureMarshal):
    """fusepy's ``Scene``: it is bound itself, so that what its structure refers to lives as long as the binding."""

    def place(self, value: TopLevel, type: Type, device: Device) -> Bound:
        check_home(value, device, "a scene")
        return Bound(value, ())

    def device(self, value: TopLevel) -> Device:
        return value.device


class BufferMarshal(_Owned):
    """slangpy's ``Buffer``: raw bytes, which the parameter interprets; or elements, see `fusepy.trace.buffers`."""

    returns = "tensor"
    what = "buffer"

    def key(self, value: spy.Buffer) -> Hashable:
        return (BUFFER, value.struct_size, id(value.device))

    def describe(self, value: spy.Buffer) -> Description:
        return Description(BYTES, (), BUFFER)

    def memory(self, value: spy.Buffer, device: Device, element: Element) -> Tensor:
        return adopt_buffer(value, element, device, writes=True)


class StorageMarshal(BufferMarshal):
    """`TensorStorage`: the memory of a tensor, passed like a buffer with elements of that size."""

    def place(self, value: TensorStorage, type: Type, device: Device) -> Bound:
        check_device(value, self.what, device)
        return Bound(value.tensor, ())


def adopt_buffer(value: spy.Buffer | TensorStorage, element: Element, device: Device, writes: bool = False) -> Tensor:
    """Returns the memory of a buffer as a tensor of its elements. One that does not say their size has as many as it holds.

    Raises:
        ShapeError: if it is on another device.
        UnsupportedArgumentError: if its elements have another size, or it cannot be read or written.
    """
    check_device(value, "buffer", device)
    if value.struct_size not in (0, element.nbytes):
        raise wrong_size(value.struct_size, element.type, element.nbytes, writes)
    if not value.struct_size and value.size % element.nbytes:
        raise UnsupportedArgumentError(
            f"a buffer of {value.size} bytes holds no whole number of {element.type}, which takes {element.nbytes}",
            saw=f"size={value.size}",
            expected=f"a multiple of {element.nbytes} bytes",
            hint=f"create it with {element.nbytes} bytes per element, or pass it to a parameter that takes a whole buffer",
        )
    flags = spy.BufferUsage
    needed = flags.unordered_access if writes else flags.unordered_access | flags.shader_resource
    if not value.desc.usage & needed:
        raise UnsupportedArgumentError(
            f"a buffer that kernels cannot {'write to' if writes else 'read'}",
            saw=" | ".join(name for name, flag in flags.__members__.items() if flag and flag & value.desc.usage) or "no usage",
            expected="unordered_access" if writes else "shader_resource or unordered_access",
            hint="create it with usage=BufferUsage.unordered_access | …",
        )
    if isinstance(value, TensorStorage):
        return Tensor(device, element, (value.tensor.size,), block=value.tensor.block)
    device.queue.share()  # the owner submits to the same queue, after fusepy's earlier calls
    device.release_retired()
    block = Foreign(device, value.device_address, value, value)
    return Tensor(device, element, (value.size // element.nbytes,), block=block)


def wrong_size(size: int, type: Type, stride: int, writes: bool = False) -> UnsupportedArgumentError:
    """Returns the error for a buffer with elements of another size than `type`."""
    return UnsupportedArgumentError(
        f"a buffer with elements of {size} bytes holds no {type}, which takes {stride}",
        saw=f"struct_size={size}",
        expected=f"struct_size={stride}",
        hint=f"create it with struct_size={stride}" + ("" if writes else ", or pass it to a parameter that takes a whole buffer"),
    )


class HandleMarshal(_Resource):
    """slangpy's ``DescriptorHandle``: a bindless handle, for a ``DescriptorHandle<…>`` parameter."""

    returns = "tensor"

    def key(self, value: spy.DescriptorHandle) -> Hashable:
        return (HANDLE, self._type(value))

    def describe(self, value: spy.DescriptorHandle) -> Description:
        return Description(self._type(value), (), HANDLE)

    def place(self, value: spy.DescriptorHandle, type: Type, device: Device) -> Bound:
        return Bound(value, ())

    def _type(self, value: spy.DescriptorHandle) -> Type:
        if not value:  # it would read the first entry of the table
            raise ShapeError(
                "a null bindless handle",
                saw=repr(value),
                expected="a handle of a texture, buffer or sampler that is alive",
                hint="the device's table of handles is full: pass the object itself, which takes no place in it",
            )
        return _HANDLES[value.type]


_KINDS = spy.DescriptorHandleType
_HANDLES = {
    _KINDS.texture: Type.parse("TextureHandle"),
    _KINDS.rw_texture: Type.parse("RWTextureHandle"),
    _KINDS.buffer: Type.parse("BufferHandle"),
    _KINDS.rw_buffer: Type.parse("RWBufferHandle"),
    _KINDS.sampler: Type.parse("SamplerHandle"),
    _KINDS.combined_texture_sampler: Type.parse("CombinedHandle"),
    _KINDS.acceleration_structure: Type.parse("RaytracingAccelerationStructureHandle"),
}


def _address(bound: Bound) -> int:
    return bound.value.address if isinstance(bound.value, Tensor) else bound.value.device_address


class ResourceAccess:
    """Access to one object for all threads, bound by name; a buffer for a pointer is passed by its address."""

    addressing = "uniform"
    prelude = ""

    def fields(self, operand: Operand, variant: Variant) -> list[Field]:
        if operand.want.kind is Kind.POINTER:
            return [Field(f"{operand.want.element}*", f"a_{operand.name}", "address", operand.position, read=_address)]
        return [Field(str(operand.want), operand.resource, "resource", operand.position, read=_value)]

    def load(self, operand: Operand, variant: Variant) -> str:
        return f"{BLOCK}.a_{operand.name}"
