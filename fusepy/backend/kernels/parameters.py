"""The slots of a parameter by its layout: one slot for plain data, otherwise one for each field, element and resource."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import slangpy as spy

from fusepy.backend.kernels.plain import plain_of
from fusepy.backend.kernels.resource_slot import ResourceSlot
from fusepy.backend.kernels.slots import PlainSlot, Slot, WriteContext
from fusepy.backend.kernels.values import check_fields, in_memory
from fusepy.errors import UnsupportedArgumentError
from fusepy.ir.strides import contiguous_strides
from fusepy.ir.whole import FAMILIES

_K = spy.TypeReflection.Kind


_ARRAY = ["_data", "_shape", "_strides", "_offset"]  # the members of an array of slangpy without gradients


def _array_of_slangpy(value: Any, path: str, name: str, binding: WriteContext) -> dict[str, Any]:
    """Returns the members of slangpy's ``RWTensor<T, D>`` for a tensor, which is copied into a buffer of its own, and back.

    Raises:
        UnsupportedArgumentError: for anything but a tensor or an array with as many axes.
    """
    tensor = in_memory(value, binding.device)
    rank = int(name.rpartition(",")[2].strip("> "))
    if tensor is None or len(tensor.shape) != rank:
        raise UnsupportedArgumentError(
            f"{path} cannot be set to this",
            saw=type(value).__name__ if tensor is None else f"Tensor<{tensor.dtype}>{list(tensor.shape)}",
            expected=name,
            hint=f"give a Tensor with {rank} {'axis' if rank == 1 else 'axes'}",
        )
    return {"_data": tensor, "_shape": tensor.shape, "_strides": contiguous_strides(tensor.shape), "_offset": 0}


class _StructSlot(Slot):
    """A struct with resources, a constant buffer or a parameter block, with a slot for each field."""

    def __init__(self, name: str, fields: Mapping[str, Slot]):
        self.name = name
        self.fields = fields

    def write(self, value: Any, path: str, binding: WriteContext) -> None:
        array = self.name.partition("<")[0] in FAMILIES["slangpy"] and list(self.fields) == _ARRAY
        if array and not isinstance(value, dict):
            value = _array_of_slangpy(value, path, self.name, binding)
        if not isinstance(value, dict):
            hint = "give a dict or an object"
            raise UnsupportedArgumentError(
                f"{path} cannot be set to this", saw=type(value).__name__, expected=self.name, hint=hint
            )
        given = cast("dict[str, Any]", value)
        check_fields(given, list(self.fields), path)
        for name, slot in self.fields.items():
            slot.write(given[name], f"{path}.{name}", binding)


class _ArraySlot(Slot):
    """An array of resources."""

    def __init__(self, name: str, items: Sequence[Slot]):
        self.name = name
        self.items = items

    def write(self, value: Any, path: str, binding: WriteContext) -> None:
        items = cast("tuple[Any, ...]", value if isinstance(value, tuple) else ())
        if len(items) != len(self.items):
            raise UnsupportedArgumentError(
                f"{path} cannot be set to this",
                saw=type(cast("Any", value)).__name__,
                expected=self.name,
                hint=f"give {len(self.items)} of them",
            )
        for i, (slot, item) in enumerate(zip(self.items, items)):
            slot.write(item, f"{path}[{i}]", binding)


class _Unsupported(Slot):
    def __init__(self, name: str):
        self.name = name

    def write(self, value: Any, path: str, binding: WriteContext) -> None:
        raise UnsupportedArgumentError(f"{path} is a {self.name}, which cannot be set", hint="set plain data or resources")


def slot_of(cursor: spy.ShaderCursor, layout: spy.TypeLayoutReflection) -> Slot:
    """Returns the slot for the parameter at `cursor`."""
    plain = plain_of(layout)
    if plain is not None:
        return PlainSlot(cursor, plain)
    kind = layout.kind
    if kind in (_K.resource, _K.sampler_state):
        return ResourceSlot(cursor, layout)
    if kind in (_K.parameter_block, _K.constant_buffer):
        inner = layout.element_type_layout
        block = cursor.dereference()
        if inner.kind != _K.struct:
            return slot_of(block, inner)
        return _StructSlot(inner.type.full_name, _fields(block, inner))
    if kind == _K.struct:
        return _StructSlot(layout.type.full_name, _fields(cursor, layout))
    if kind == _K.array and 0 < layout.type.element_count < 1 << 16:
        items = [slot_of(cursor[i], layout.element_type_layout) for i in range(layout.type.element_count)]
        return _ArraySlot(layout.type.full_name, items)
    return _Unsupported(layout.type.full_name)


def _fields(cursor: spy.ShaderCursor, layout: spy.TypeLayoutReflection) -> dict[str, Slot]:
    listed = [layout.fields[i] for i in range(len(layout.fields))]
    return {f.name: slot_of(cursor[f.name], f.type_layout) for f in listed}
