"""Vectors and matrices as uniforms: the numbers of one value, in the parameter block."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fusepy.backend.device.device import Device
from fusepy.errors import ShapeError, UnsupportedArgumentError
from fusepy.ir.types import BOOL, Type

# Slang scalars that a device may lack, with the sgl feature that they need
_FEATURES = {"half": "half", "double": "double", "int64_t": "int64", "uint64_t": "int64", "int16_t": "int16", "uint16_t": "int16"}


def check_features(type: Type, device: Device) -> None:
    """Raises `UnsupportedArgumentError` if the device has no arithmetic for `type`."""
    scalar = type.scalar
    feature = _FEATURES.get(scalar.name) if scalar is not None else None
    if feature is not None and feature not in device.features:
        raise UnsupportedArgumentError(
            f"the device {device.name} has no {scalar}",
            saw=type,
            expected=f"the feature {feature!r}",
            hint="convert to float or int, or choose another device",
        )


class Components(tuple[Any, ...]):
    """The numbers of a vector or matrix in C order, for the parameter block. For the grid they are one value."""

    __slots__ = ()
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()


def components(value: Sequence[Any], type: Type, device: Device) -> Components:
    """Returns a list, of rows for a matrix, as the numbers of `type`. Packing them checks the range.

    Raises:
        ShapeError: if their count is wrong, as in a captured list that has changed.
        UnsupportedArgumentError: if the device does not support the type.
    """
    check_features(type, device)
    numbers: list[Any] = list(value)
    for _ in type.shape[1:]:
        numbers = [number for row in numbers for number in row]
    if len(numbers) != math.prod(type.shape):
        raise ShapeError(
            f"{len(numbers)} numbers for a {type}",
            saw=repr(value)[:60],
            expected=f"{math.prod(type.shape)} numbers",
            hint=f"give {math.prod(type.shape)} numbers; a list of the enclosing scope keeps its length",
        )
    return Components(map(bool, numbers) if type.scalar is BOOL else numbers)


def array_components(array: np.ndarray[Any, Any], type: Type, device: Device) -> Components:
    """Returns a NumPy array as the numbers of `type`, or of its scalar if it has no axes.

    Raises:
        ShapeError: if its extents are wrong; the key of a call does not contain those above 4.
        UnsupportedArgumentError: if the device does not support the type.
    """
    check_features(type, device)
    if array.shape != type.shape:
        raise ShapeError(
            f"an array of shape {array.shape} for a {type}",
            saw=f"shape {array.shape}",
            expected=f"shape {type.shape}",
            hint="give the array the extents of its parameter",
        )
    return Components(array.ravel().tolist())
