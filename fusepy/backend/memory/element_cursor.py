"""`ElementCursor`: one element of a tensor, or one of its fields or components, as in SP#016."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from fusepy.backend.memory.host_arrays import as_array
from fusepy.errors import ShapeError, UnknownNameError, UnsupportedArgumentError, did_you_mean
from fusepy.ir.ranges import check_fits
from fusepy.ir.types import Type

Array = np.ndarray[Any, np.dtype[Any]]


class ElementCursor:
    """A value in the contents of a cursor: an element, a field of it, or a component.

    ``c.field`` and ``c["field"]`` select a member of a struct, ``c[0]`` a component of a vector or an item of an array. `read`
    and `write` use dicts, lists and numbers. Assignment writes: ``c.field = 3``.
    """

    __slots__ = ("_index", "_kept", "_name", "_value")

    _index: tuple[int, ...]
    _kept: Array
    _name: str
    _value: Any

    def __init__(self, value: Any, kept: Array, index: tuple[int, ...], name: str):
        for slot, given in zip(self.__slots__, (index, kept, name, value)):
            object.__setattr__(self, slot, given)

    def read(self) -> Any:
        """Returns the value: a number, a list of components, or a dict of fields."""
        return _plain(self._kept[self._index])

    def write(self, value: Any) -> None:
        """Overwrites the value. A struct takes a dict with all its fields.

        Raises:
            UnknownNameError, UnsupportedArgumentError: if a field is unknown or missing, or a value is not a number.
            RangeError, ShapeError: if a number does not fit, or the number of components differs.
        """
        write_numbers(self._kept, self._index, value, self._name)

    set_data = write

    def has_field(self, name: str) -> bool:
        """True if the value is a struct with a field of this name."""
        return name in (self._kept.dtype.names or ())

    def has_element(self, index: int) -> bool:
        """True if the value is a vector, matrix or array with a component at this index."""
        shape = np.shape(self._value)
        return bool(shape) and 0 <= index < shape[0]

    def find_field(self, name: str) -> ElementCursor:
        """Returns the field of this name.

        Raises:
            UnknownNameError: if there is none; the error suggests similar names.
        """
        names = self._kept.dtype.names or ()
        if name not in names:
            raise UnknownNameError(f"{self._name} has no field {name!r}", saw=name, hint=did_you_mean(name, names))
        below = self._kept[name]
        return ElementCursor(below[self._index], below, self._index, f"{self._name}.{name}")

    def find_element(self, index: int) -> ElementCursor:
        """Returns the component at `index`.

        Raises:
            ShapeError: if there is none.
        """
        if not self.has_element(index):
            raise ShapeError(
                f"{self._name}[{index}]", saw=index, expected=f"below {np.shape(self._value)[:1]}", hint="see .read()"
            )
        place = (*self._index, index)
        return ElementCursor(self._kept[place], self._kept, place, f"{self._name}[{index}]")

    def __getitem__(self, key: str | int) -> ElementCursor:
        return self.find_field(key) if isinstance(key, str) else self.find_element(key)

    def __setitem__(self, key: str | int, value: Any) -> None:
        self[key].write(value)

    def __getattr__(self, name: str) -> ElementCursor:
        return self.find_field(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self.find_field(name).write(value)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(self._kept.dtype.names or ())]

    def __repr__(self) -> str:
        return f"<{self._name}: {self.read()}>"


def _plain(value: Any) -> Any:
    if value.dtype.names is not None:
        if np.ndim(value):
            return [_plain(v) for v in value]
        return {name: _plain(value[name]) for name in value.dtype.names}
    return value.tolist()


def write_numbers(kept: Array, index: Any, value: Any, name: str) -> None:
    names = kept.dtype.names
    if names is None:
        kept[index] = _numbers(value, kept.dtype, np.shape(kept[index]), name)
    elif isinstance(value, Mapping):
        given = cast("Mapping[str, Any]", value)
        unknown, missing = [n for n in given if n not in names], [n for n in names if n not in given]
        if unknown:
            raise UnknownNameError(
                f"{name} has no field {unknown[0]!r}", saw=", ".join(given), hint=did_you_mean(unknown[0], names)
            )
        if missing:
            raise UnsupportedArgumentError(
                f"{name} misses {', '.join(missing)}", saw=", ".join(given), expected=", ".join(names), hint="write single fields"
            )
        for field in names:
            write_numbers(kept[field], index, given[field], f"{name}.{field}")
    elif getattr(getattr(value, "dtype", None), "names", None) == names:
        kept[index] = value
    else:
        raise UnsupportedArgumentError(
            f"{name} is a struct", saw=repr(value)[:60], expected=", ".join(names), hint="write a dict"
        )


def _numbers(value: Any, dtype: np.dtype[Any], shape: tuple[int, ...], name: str) -> Array:
    array = as_array(value)
    if array.shape != shape:
        raise ShapeError(f"{name} holds {shape or 'one number'}", saw=array.shape, expected=shape, hint="give every component")
    if array.dtype.kind not in "biuf" or (array.dtype.kind == "f" and dtype.kind in "biu"):
        raise UnsupportedArgumentError(f"{name} takes {dtype}", saw=repr(value)[:60], expected=dtype, hint="round floats first")
    type = Type.of_dtype(dtype)
    if type is not None:
        check_fits(array, type, name)
    return array.astype(dtype)
