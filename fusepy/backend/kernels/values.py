"""Snapshots of users' values for globals and entry-point parameters.

`freeze` copies everything that could change later (lists, dicts, arrays, slangpy's vectors), so that a configured function stays
the same. Resources are kept by reference: their *contents* are read when a kernel runs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import slangpy as spy

from fusepy.backend.marshals.base import INSTEAD
from fusepy.backend.marshals.registry import kind_of_class
from fusepy.backend.memory.slangpy_names import TensorStorage
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.scenes.levels import TopLevel
from fusepy.errors import ArgumentError, FusepyError, UnknownNameError, UnsupportedArgumentError, did_you_mean
from fusepy.ir.ranges import check_fits
from fusepy.ir.types import Type
from fusepy.symbolic import TRACING, Symbolic, misplaced

Array = np.ndarray[Any, np.dtype[Any]]
RESOURCES = (spy.Texture, spy.TextureView, spy.Buffer, spy.Sampler, spy.AccelerationStructure)
KEPT = (Tensor, TopLevel, *RESOURCES)  # by reference: their contents are read when a kernel runs


class Members(dict[str, Any]):
    """The attributes of an object for a struct. Unlike the keys of a dict, they may include more than the struct's fields."""


class HostArray:
    """A private copy of a NumPy array; equal to another with the same contents."""

    __slots__ = ("_tensor", "array")

    def __init__(self, array: Array):
        self.array = np.array(array, order="C")
        self.array.flags.writeable = False
        self._tensor: Tensor | None = None

    def tensor(self, device: Any, dtype: Any) -> Tensor:
        """Returns the array in device memory. It is uploaded once, and again if the device changes."""
        tensor = self._tensor
        if tensor is None or tensor.device is not device:
            tensor = self._tensor = Tensor.from_numpy(device, self.array, dtype)
        return tensor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HostArray) and self.array.dtype == other.array.dtype and np.array_equal(self.array, other.array)

    __hash__ = None  # type: ignore[assignment]  # compared by contents

    def __repr__(self) -> str:
        return f"{self.array.dtype}{list(self.array.shape)}"


_PLAIN = (float, int, bool, HostArray, *KEPT)


def in_memory(value: Any, device: Any) -> Tensor | None:
    """Returns a tensor, or a host array in device memory; ``None`` for any other value."""
    return value.tensor(device, None) if isinstance(value, HostArray) else as_tensor(value)


def as_tensor(value: Any) -> Tensor | None:
    """Returns a value that is a tensor; ``None`` for any other value."""
    return value if isinstance(value, Tensor) else None


class Listed(tuple[Any, ...]):
    """A list; it keeps its copy in device memory, like `HostArray`."""

    _host: HostArray | None = None

    def host(self, element: Type, path: str) -> HostArray:
        """Returns its numbers as an array of the scalar type of `element`.

        Raises:
            UnsupportedArgumentError, RangeError: if they are no numbers, or do not fit the type.
        """
        if self._host is None or self._host.array.dtype != element.dtype:
            try:
                array = np.array(self)
            except ValueError:
                array = np.array(None)
            scalar = element.scalar
            if scalar is None or array.dtype.kind not in "biuf" or (array.dtype.kind == "f" and not scalar.is_float):
                raise UnsupportedArgumentError(
                    f"{path} cannot be set to this", saw=shown(self), expected=element, hint="give numbers"
                )
            check_fits(array, scalar, path)
            self._host = HostArray(array.astype(element.dtype))
        return self._host


def freeze(value: Any, path: str) -> Any:
    """Returns `value` as plain immutable data, with resources by reference.

    Raises:
        UnsupportedArgumentError: for a value that no global can hold; `path` names it.
    """
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, TensorStorage):
        return value.tensor
    if value is None or isinstance(value, (str, bytes)):
        raise UnsupportedArgumentError(
            f"{path} cannot be set to {value!r}",
            expected="numbers, sequences, arrays, dicts, Tensors, textures, buffers, samplers",
            hint="omit it to keep the previous value",
        )
    if isinstance(value, Symbolic):
        if TRACING.get() is None:
            raise misplaced(value)
        raise UnsupportedArgumentError(f"{path} cannot be set to a traced value", hint="pass it as an argument of the function")
    if isinstance(value, np.generic):
        return cast("Any", value.item())
    kind = kind_of_class(value.__class__)
    if kind is not None and kind.array is not None:
        try:
            given = kind.array(value)
        except FusepyError as error:
            error.what = f"{path}: {error.what}"
            raise
        if given is None or given.dtype.kind not in "biuf":
            structs = given is not None and given.dtype.names is not None
            raise UnsupportedArgumentError(
                f"{path} cannot be set to an array of {value.dtype}",
                hint="copy structs to the device: Tensor.from_numpy(device, array, m.Name)"
                if structs
                else "give numbers on the host",
            )
        return HostArray(given)
    if isinstance(value, Mapping):
        return {str(k): freeze(v, f"{path}.{k}") for k, v in cast("Mapping[Any, Any]", value).items()}
    instead = getattr(cast("type[Any]", type(value)), INSTEAD, None)
    if instead is not None:  # a mesh: it becomes a resource by a scene
        raise UnsupportedArgumentError(f"{path} cannot be set to a {type(value).__name__}", saw=shown(value), hint=instead)
    unpack = getattr(value, "get_this", None)  # slangpy's protocol for wrapped objects
    if unpack is not None:
        return freeze(unpack(), path)
    if hasattr(value, "_fields"):  # a named tuple
        return _members({k: getattr(value, k) for k in value._fields}, path)
    if hasattr(value, "to_numpy") and type(value).__module__.startswith("slangpy"):  # a matrix
        return HostArray(value.to_numpy())
    if isinstance(value, (Sequence, range)) or hasattr(value, "__len__"):
        return Listed(freeze(v, f"{path}[{i}]") for i, v in enumerate(cast("Sequence[Any]", value)))
    if dataclasses.is_dataclass(value) or hasattr(value, "__dict__"):
        return _members({k: v for k, v in vars(value).items() if not k.startswith("_")}, path)
    raise UnsupportedArgumentError(
        f"{path} cannot be set to a {type(value).__name__}",
        saw=repr(value)[:60],
        hint="give numbers, sequences, dicts or resources",
    )


def _members(given: Mapping[str, Any], path: str) -> Members:
    """Returns the attributes of an object. Unsupported values stay as they are: the struct may not have such a field."""
    members = Members()
    for name, value in given.items():
        try:
            members[name] = freeze(value, f"{path}.{name}")
        except UnsupportedArgumentError:
            members[name] = value
    return members


def check_fields(given: Mapping[str, Any], fields: Sequence[str], path: str) -> None:
    """Raises unless a dict has exactly the fields of its struct (an object may have more).

    Raises:
        UnknownNameError, ArgumentError: naming the wrong field, and the fields of the struct.
    """
    unknown = [] if isinstance(given, Members) else [k for k in given if k not in fields]
    if unknown:
        raise UnknownNameError(f"{path} has no field {unknown[0]!r}", hint=did_you_mean(unknown[0], fields))
    missing = [k for k in fields if k not in given]
    if missing:
        raise ArgumentError(
            f"{path} misses the field {missing[0]!r}",
            saw=", ".join(given) or "no fields",
            expected=", ".join(fields),
            hint="set it as well; set() merges dicts, so it may be set by another call of set() or by a hook",
        )


def shown(value: object) -> str:
    """Returns the text of a value in messages."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
