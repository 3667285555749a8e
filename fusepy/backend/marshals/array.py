"""Kinds that become device memory: tensors without a copy, NumPy arrays and nested lists by upload."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from operator import attrgetter
from typing import Any, cast

import numpy as np

from fusepy.backend.device.device import Device
from fusepy.backend.marshals.base import Array, Description
from fusepy.backend.marshals.constant import Components, check_features, components
from fusepy.backend.memory.contents import from_scalars
from fusepy.backend.memory.element import Element, scalar_type
from fusepy.backend.memory.host_arrays import list_array, mask_error
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import ShapeError, UnsupportedArgumentError
from fusepy.ir.ranges import as_narrower, check_fits
from fusepy.ir.strides import telling
from fusepy.ir.types import BOOL, FLOAT, INT, INT64, UINT64, Kind, Type


class TensorMarshal:
    """`Tensor`: passed without a copy."""

    returns, precedence, put_off = "tensor", 10, True
    extents, device, gradients = attrgetter("shape"), attrgetter("device"), attrgetter("grads")

    def key(self, value: Tensor) -> Hashable:
        return value.key

    def describe(self, value: Tensor) -> Description:
        scalar = value.dtype.kind is Kind.SCALAR
        container = "Pair" if value.paired else "Tensor"
        return Description(
            value.dtype, telling(value.shape) if scalar else (None,) * value.ndim, container, origin=value.element.origin
        )

    def place(self, value: Tensor, type: Type, device: Device) -> Tensor:
        if value.device is not device:
            raise ShapeError(
                "a tensor lies on another device",
                saw=value.device.opened,
                expected=device.opened,
                hint="copy it over with Tensor.from_numpy(device, t.to_numpy())",
            )
        return value

    def direct(self, value: Tensor, type: Type) -> bool:
        return True  # `place` checks only the device, which is in the key

    def memory(self, value: Tensor, device: Device, element: Element) -> Tensor:
        return value

    def hand_out(self, tensor: Tensor) -> Tensor:
        return tensor


class NumPyMarshal:
    """NumPy arrays of any strides: uploaded on every call."""

    returns, precedence, put_off = "numpy", 40, True
    extents = attrgetter("shape")

    def key(self, value: np.ndarray[Any, Any]) -> Hashable:
        if value.dtype.names is not None:  # equal dtypes may stand for several structs
            return (value.dtype, cast("Hashable", (value.dtype.metadata or {}).get("slang")), value.ndim)
        return (value.dtype, telling(value.shape))

    def describe(self, value: np.ndarray[Any, Any]) -> Description:
        if value.dtype.names is not None:
            element = struct_of(value.dtype)
            # equal structs of several modules may have this layout; then the call selects one
            origin = element.origin if value.dtype.metadata or len(Element.structs[value.dtype]) == 1 else None
            return Description(element.type, (None,) * value.ndim, "Tensor", origin=origin, copied=True)
        return Description(scalar_type(value.dtype), telling(value.shape), "Tensor", copied=True)

    def place(self, value: np.ndarray[Any, Any], type: Type, device: Device) -> Tensor:
        if value.dtype.names is not None:
            return Tensor.from_numpy(device, value, struct_of(value.dtype))
        check_features(type, device)
        element = Element.of(type)
        if value.dtype != element.dtype:  # Slang has no such dtype, and the call allows the conversion
            value = as_narrower(value, element.dtype, type)
        if not element.shape and value.__class__ is np.ndarray:
            return from_scalars(Tensor, device, value, element)
        return Tensor.from_numpy(device, value, element)

    def array(self, value: Array) -> Array:
        return value

    def memory(self, value: Array, device: Device, element: Element) -> Array:
        return value

    def hand_out(self, tensor: Tensor) -> Array:
        return tensor.to_numpy()


class MaskedMarshal:
    """NumPy's masked arrays. They are rejected, although they derive from arrays."""

    returns = "numpy"

    def refuse(self, value: Any, *rest: Any, **named: Any) -> Any:
        raise mask_error(value)

    key = describe = place = array = memory = refuse


def check_narrower(array: Array, type: Type) -> None:
    """Raises `RangeError` if a number of an array is out of range for `type`, to which kernels convert it."""
    if type.dtype is not None:
        as_narrower(array, type.dtype, type)


def struct_of(dtype: np.dtype[Any]) -> Element:
    """Returns the Slang struct of a structured array.

    Raises:
        UnsupportedArgumentError: unless exactly one known struct has its layout, or ``vcast`` names it.
    """
    if dtype.metadata is not None and "slang" in dtype.metadata:  # set by vcast
        return dtype.metadata["slang"]
    elements = Element.structs.get(dtype, [])
    if len({e.type for e in elements}) != 1:
        known = " or ".join(sorted({e.type.name for e in elements})) or "no struct of a loaded module"
        raise UnsupportedArgumentError(
            "a structured array does not say which Slang struct it holds",
            saw=dtype,
            expected=f"a dtype from reflection, e.g. m.Ray.dtype; this one fits {known}",
            hint="make the array with dtype=m.Name.dtype, or wrap it: Tensor.from_numpy(device, array, dtype=m.Name)",
        )
    return elements[0]


# keys of lists of two to four floats, by the types of their items: most are vectors. Keys of integers depend on their size.
SHORT: dict[tuple[type, ...], Hashable] = {(float,) * n: ("list", FLOAT, (n,)) for n in range(2, 5)}


def _type(array: Array) -> Type:
    """Returns the type of a list of numbers: integers are an ``int``, or a wider type if one of them needs more bits."""
    kind = array.dtype.kind
    if kind not in "iu":
        return BOOL if kind == "b" else FLOAT
    if not array.size:
        return INT
    low, high = int(array.min()), int(array.max())
    return INT if low >= -0x80000000 and high < 0x80000000 else INT64 if high < 1 << 63 else UINT64


class TupleMarshal:
    """Nested tuples of Python numbers. Overload resolution decides their element type. Results become lists."""

    returns = "list"

    def key(self, value: Sequence[Any]) -> Hashable:
        key = SHORT.get(tuple(map(type, value)))  # without NumPy: a third of the time
        if key is not None:
            return key
        array = list_array(value)
        return ("list", _type(array), telling(array.shape))

    def describe(self, value: Sequence[Any]) -> Description:
        array = list_array(value)
        return Description(_type(array), telling(array.shape), "List", weak=True)

    def place(self, value: Sequence[Any], type: Type, device: Device) -> Tensor | Components:
        if type.shape:
            return components(value, type, device)
        array = list_array(value)
        element = Element.of(type)
        check_fits(array, type, "a number in a list")
        return Tensor.from_numpy(device, array.astype(element.dtype), element)


class ListMarshal(TupleMarshal):
    """Nested lists of Python numbers."""

    precedence, number = 50, True

    def hand_out(self, tensor: Tensor) -> Any:
        return as_list(tensor)


def as_list(tensor: Tensor) -> Any:
    """Returns a result as nested lists, as one number, or one struct as a dict. Many structs are an array."""
    array = tensor.to_numpy()
    if array.dtype.names is not None:
        return array if array.ndim else {**_as_dict(array), "_type": tensor.dtype.name}
    return array.item() if array.ndim == 0 else array.tolist()


def _as_dict(struct: Any) -> dict[str, Any]:
    """Returns one struct by its members: numbers, lists and dicts."""
    parts = {name: struct[name] for name in struct.dtype.names}
    return {name: part.tolist() if part.dtype.names is None or part.ndim else _as_dict(part) for name, part in parts.items()}
