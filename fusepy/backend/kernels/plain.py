"""Plain data in the memory layout of a device: the bytes of users' values, with a range check for each number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import slangpy as spy

from fusepy.backend.kernels.values import KEPT, RESOURCES, HostArray, as_tensor, check_fields, freeze, shown
from fusepy.backend.kernels.whole_arrays import Places, WholeData
from fusepy.errors import InvalidNameError, RangeError, ShapeError, UnsupportedArgumentError
from fusepy.ir.ranges import FITS, check_fits, check_range
from fusepy.ir.types import BOOL, Type

Array = np.ndarray[Any, np.dtype[Any]]
_K = spy.TypeReflection.Kind


@dataclass(frozen=True)
class Plain:
    """Plain data in the memory layout of a device.

    Attributes:
        name: Slang's name of the type.
        dtype: its bytes. If the device pads the elements of an array or the rows of a matrix, they are structs.
        shape: shape of a vector or matrix.
        fields: fields of a struct, in order; `element` and `count` are those of an array.
    """

    name: str
    dtype: np.dtype[Any]
    kind: str  # "number", "pointer", "handle", "array" or "struct"
    shape: tuple[int, ...] = ()
    fields: tuple[tuple[str, Plain], ...] = ()
    element: Plain | None = None
    count: int = 0
    pointee: Type | None = None  # of a pointer to numbers
    whole: WholeData | None = None  # if the struct is an array of fusepy's Slang module

    def fill(self, view: Any, value: Any, path: str, places: Places) -> None:
        """Writes `value` into `view`, an array with only the dimensions of `dtype`.

        Raises:
            FusepyError: if it does not fit; `path` names the wrong part.
        """
        if self.kind == "number":
            self._fill_number(view, value, path, places)
        elif self.kind == "pointer":
            self._check_pointed(value, path)
            view[...] = places.address(value, path)
        elif self.whole is not None and not isinstance(value, dict):
            self.whole.fill(view, value, path, places)
        elif self.kind == "struct":
            if not isinstance(value, dict):
                raise _wrong(path, value, self.name, f"give a dict with {', '.join(n for n, _ in self.fields)}")
            given = cast("dict[str, Any]", value)
            check_fields(given, [n for n, _ in self.fields], path)
            for name, field in self.fields:
                field.fill(view[name], given[name], f"{path}.{name}", places)
        else:
            assert self.element is not None
            given_items = cast("Any", value.array if isinstance(value, HostArray) else value)
            items = cast("Sequence[Any]", given_items if isinstance(value, (tuple, HostArray)) else ())
            if len(items) != self.count:
                raise _wrong(path, cast("Any", value), self.name, f"give {self.count} elements")
            elements = _elements(view)
            for i, item in enumerate(items):
                self.element.fill(elements[i, ...], freeze(item, path), f"{path}[{i}]", places)

    def _check_pointed(self, value: Any, path: str) -> None:
        """Raises if Slang would read the numbers of a tensor or array as another type."""
        want = None if self.pointee is None else self.pointee.scalar
        tensor = as_tensor(value)
        have = None if tensor is None else tensor.dtype.scalar
        held = value.array.dtype if isinstance(value, HostArray) else have and have.dtype
        if want is not None and want.dtype is not None and held is not None and held != want.dtype:
            saw = repr(value) if tensor is None else f"Tensor<{tensor.dtype}>{list(tensor.shape)}"
            raise UnsupportedArgumentError(
                f"{path} cannot be set to this",
                saw=saw,
                expected=f"{self.pointee}*",
                hint=f"make it of numbers of that type, as Tensor.from_numpy(device, array.astype(np.{want.dtype}))",
            )

    def _fill_number(self, view: Any, value: Any, path: str, places: Places) -> None:
        if self.name in ("vector<uint,2>", "uint2") and isinstance(value, RESOURCES):
            view[...] = np.array([places.address(value, path)], np.uint64).view(np.uint32)  # a descriptor handle
            return
        if isinstance(value, (dict, *KEPT)):
            raise _wrong(path, cast("Any", value), self.name, "give a number" if not self.shape else "give its components")
        if value.__class__ is float and not self.shape and self.dtype.kind == "f" and abs(value) < FITS:  # a tenth of the time
            view[...] = value
            return
        given = value.array if isinstance(value, HostArray) else _numbers(value)
        if given is None:
            raise _wrong(path, value, self.name, "give numbers")
        if given.shape not in ((), self.shape):
            raise ShapeError(
                f"{path} does not fit {self.name}",
                saw=f"shape {given.shape}",
                expected=f"shape {self.shape}" if self.shape else "one number",
                hint="give as many components as the type has",
            )
        target = np.dtype(np.bool_) if Type.parse(self.name).scalar is BOOL else self.dtype.base
        _check_numbers(given, target, path, self.name)
        into = view if self.dtype.fields is None else _elements(view)  # a matrix with padded rows
        into[...] = given.astype(target)


def _numbers(value: Any) -> Array | None:
    """Returns a number or nested sequence as an array; integers beyond 64 bits become objects."""
    try:
        array = np.array(value)
    except ValueError:  # ragged
        return None
    huge = array.dtype.kind == "O" and all(isinstance(n, int) for n in array.ravel().tolist())
    return array if array.dtype.kind in "biuf" or huge else None


def _check_numbers(given: Array, target: np.dtype[Any], path: str, name: str) -> None:
    """Raises if a number would be truncated or wrap around."""
    if target.kind == "f":
        if given.dtype.kind == "O":
            raise RangeError(f"{path} does not fit {name}", saw=given.item(), hint="give a smaller number")
        check_fits(given, Type.parse(name), path)
        return
    if given.dtype.kind == "f":
        raise UnsupportedArgumentError(f"{path}: a float would be cut to {name}", saw=given.tolist(), hint="round it first")
    if target.kind != "b":
        check_range(given, Type.parse(name), path)


def _wrong(path: str, value: object, name: str, hint: str) -> UnsupportedArgumentError:
    saw = shown(cast("Any", value)) if isinstance(value, (tuple, int, float, str, HostArray, dict)) else type(value).__name__
    return UnsupportedArgumentError(f"{path} cannot be set to this", saw=saw, expected=name, hint=hint)


def plain_of(layout: spy.TypeLayoutReflection) -> Plain | None:
    """Returns the plain data of a type layout; ``None`` for a type with resources or interfaces."""
    type, kind = layout.type, layout.kind
    if kind == _K.pointer:
        return Plain(type.full_name, np.dtype(np.uint64), "pointer", pointee=_pointee(layout))
    if kind in (_K.scalar, _K.vector, _K.matrix):
        return _number(layout)
    if kind == _K.array:
        element = plain_of(layout.element_type_layout)
        if element is None or not 0 < type.element_count < 1 << 24:
            return None
        stride = _stride(layout.size, layout.element_type_layout.size, type.element_count)
        padded = _padded(element.dtype, stride, type.element_count)
        return Plain(type.full_name, padded, "array", element=element, count=type.element_count)
    if kind == _K.struct and layout.size:
        listed = [layout.fields[i] for i in range(len(layout.fields))]
        members = [(f.name, f.offset, plain_of(f.type_layout)) for f in listed]
        fields = [(n, o, p) for n, o, p in members if p is not None]
        if len(fields) == len(members):
            dtype = np.dtype(
                {
                    "names": [n for n, _, _ in fields],
                    "formats": [p.dtype for _, _, p in fields],
                    "offsets": [o for _, o, _ in fields],
                    "itemsize": layout.size,
                }
            )
            listed = tuple((n, p) for n, _, p in fields)
            return Plain(type.full_name, dtype, "struct", fields=listed, whole=WholeData.of(layout))
    return None


def _pointee(layout: spy.TypeLayoutReflection) -> Type | None:
    try:
        return Type.parse(layout.element_type_layout.type.full_name)
    except InvalidNameError:
        return None


def _number(layout: spy.TypeLayoutReflection) -> Plain | None:
    """Returns a scalar, vector or matrix. The layout has the size of a bool, one or four bytes, and the padding of rows."""
    try:
        type = Type.parse(layout.type.full_name)
    except InvalidNameError:
        return None
    if type.dtype is None or not layout.size:
        return None
    rows = type.shape[0] if len(type.shape) == 2 else 1
    count = type.shape[-1] if type.shape else 1
    row = layout.element_type_layout.size if rows > 1 else layout.size
    scalar = np.dtype(f"u{row // count}") if type.scalar is BOOL else type.dtype
    if len(type.shape) == 2:
        stride = _stride(layout.size, row, rows)
        dtype = _padded(np.dtype((scalar, (count,))), stride, rows) if stride != count * scalar.itemsize else None
        return Plain(type.name, dtype or np.dtype((scalar, type.shape)), "number", type.shape)
    return Plain(type.name, np.dtype((scalar, type.shape)) if type.shape else scalar, "number", type.shape)


def _stride(size: int, element: int, count: int) -> int:
    return (size - element) // (count - 1) if count > 1 else element


def _elements(view: Any) -> Any:
    """Returns the elements of a `_padded` array, without the padding."""
    inner = view["e"]
    return inner if inner.dtype.names != ("v",) else inner["v"]


def _padded(element: np.dtype[Any], stride: int, count: int) -> np.dtype[Any]:
    """Returns a dtype of `count` elements with a stride of `stride` bytes, in one field ``e``."""
    if stride != element.itemsize:
        element = np.dtype({"names": ["v"], "formats": [element], "offsets": [0], "itemsize": stride})
    return np.dtype([("e", element, (count,))])
