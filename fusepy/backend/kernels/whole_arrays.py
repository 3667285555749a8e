"""Whole arrays inside plain data: a Slang `Tensor<T, D>` as a global, in a struct or parameter block, or of an entry point.

Whole arrays as arguments of calls are in `marshals.whole`. Here the layout has the members, and a Python value fills them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import slangpy as spy

from fusepy.backend.memory.element import Element
from fusepy.backend.memory.recast import reinterpret
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import InvalidNameError, ShapeError, UnsupportedArgumentError
from fusepy.ir.types import Type
from fusepy.ir.whole import FAMILIES, writes

LIMIT = 1 << 31  # elements that 32-bit indices reach
MEMBERS = ["_data", "_shape", "_strides", "_offset"]
SCATTER = "_scatter"  # the gradients of an array that is read, which only kernels of gradients have
PARTS = {"_primal": "", "_grad_in": "grad_in", "_grad_out": "grad_out"}  # by members of an array with gradients


class Places(Protocol):
    """An uploader of values for plain data."""

    def address(self, value: Any, path: str) -> int:
        """Returns the device address for a pointer, or the descriptor handle of a resource."""
        ...

    def array(self, value: Any, element: Type, written: bool, path: str) -> Tensor:
        """Returns a tensor on the device, of any strides."""
        ...


class WholeData:
    """The layout of one array of fusepy's Slang module, with or without gradients.

    Attributes:
        name: Slang's name of its type.
    """

    def __init__(self, name: str, family: str, element: Type, stride: int, rank: int, parts: Sequence[str]):
        self.name = name
        self.element = element
        self._stride = stride  # bytes from one element to the next
        self._rank = rank
        self._written = writes(Type.whole(f"fusepy::{family}", element, rank))
        self._parts = parts  # members that are arrays, if it has gradients

    @staticmethod
    def of(layout: spy.TypeLayoutReflection) -> WholeData | None:
        """Returns the array for a struct layout; ``None`` if the struct is no such array."""
        family = layout.type.name
        if family not in FAMILIES["fusepy"]:
            return None
        fields = {layout.fields[i].name: layout.fields[i].type_layout for i in range(len(layout.fields))}
        parts = [name for name in fields if name in PARTS]
        inner = fields["_primal"] if "_primal" in parts else layout
        members = {inner.fields[i].name: inner.fields[i].type_layout for i in range(len(inner.fields))}
        if [name for name in members if name != SCATTER] != MEMBERS or (parts and len(parts) != len(fields)):
            return None
        pointee = members["_data"].element_type_layout
        try:
            element = Type.parse(pointee.type.full_name)
        except InvalidNameError:
            return None
        rank = members["_shape"].type.element_count
        return WholeData(layout.type.full_name, family, element, pointee.stride, rank, parts)

    def fill(self, view: Any, value: Any, path: str, places: Places) -> None:
        """Writes the members for `value`.

        Raises:
            UnsupportedArgumentError, ShapeError: if it does not fit the array.
        """
        tensor = self._checked(places.array(value, self.element, self._written, path), path)
        if not self._parts:
            _write(view, tensor)
        for name in self._parts:
            part = getattr(tensor, PARTS[name]) if PARTS[name] else tensor
            if part is None:  # Slang reads zeros as no gradient
                view[name] = np.zeros((), view.dtype[name])
            else:
                _write(view[name], part)

    def _checked(self, tensor: Tensor, path: str) -> Tensor:
        """Returns `tensor` with the element type of the array."""
        array: Tensor | None = tensor
        if tensor.dtype is not self.element:
            array = reinterpret(tensor, Element.of(self.element)) if self.element.dtype is not None else None
        if array is None or len(array.shape) != self._rank:
            raise UnsupportedArgumentError(
                f"{path} cannot be set to this",
                saw=f"Tensor<{tensor.dtype}>{list(tensor.shape)}",
                expected=f"{self.name}, a tensor of {self.element} with {self._rank} axes",
                hint=_made(self.element),
            )
        if array.element.nbytes != self._stride:
            raise UnsupportedArgumentError(
                f"{path}: this device packs {self.element} unlike tensors",
                saw=f"{array.element.nbytes} bytes",
                expected=f"{self._stride} bytes",
                hint="use uint for bool, and half or half4 for half3; of a struct, the one of this module",
            )
        if (array.high - array.low) // array.element.nbytes >= LIMIT:
            raise ShapeError(f"{path}: too many elements", saw=array.shape, expected=f"below {LIMIT}", hint="set a part of it")
        if self._written and any(s == 0 and n > 1 for n, s in zip(array.shape, array.strides)):
            raise ShapeError(
                f"{path} may be written, but the array repeats elements",
                saw=f"strides {array.strides}",
                hint="set a real tensor, not a broadcast view",
            )
        return array


def _made(element: Type) -> str:
    """Returns the hint that makes a tensor of this element type of any numbers."""
    if element.scalar is None or element.scalar.dtype is None:
        return f"make one with Tensor.from_numpy(device, array, m.{element})"
    return f"make one with Tensor.from_numpy(device, array.astype(np.{element.scalar.dtype.name}), {element.name!r})"


def _write(view: Any, tensor: Tensor) -> None:
    """Writes the pointer to the lowest element, extents, strides in elements, and the offset of the first element."""
    view["_data"] = tensor.low
    for name, numbers in (("_shape", tensor.shape), ("_strides", tensor.strides)):
        listed = view[name]["e"]
        into = listed if listed.dtype.names != ("v",) else listed["v"]  # elements of an array may be padded
        into[...] = numbers
    view["_offset"] = tensor.base
    if SCATTER in view.dtype.names:
        view[SCATTER] = np.zeros((), view.dtype[SCATTER])
