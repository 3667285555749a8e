"""Arrays of geometry: checked, and as tensors of plain numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from fusepy.backend.device.device import Device
from fusepy.backend.marshals.registry import host_array, kind_of_value
from fusepy.backend.memory.host_arrays import as_array
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import ShapeError, TraceError, UnsupportedArgumentError
from fusepy.ir.types import FLOAT, INT, UINT, Type
from fusepy.ir.value import Array
from fusepy.trace.traced import Traced


def rows_of(value: Any, columns: int, type: Type, what: str, device: Device, checked: bool) -> tuple[Tensor, Array | None]:
    """Returns an array as a contiguous tensor ``(n, columns)`` of floats or unsigned integers, and its numbers if `checked`.

    The numbers are as they were given: what 32 bits cannot hold is not cut yet.

    Args:
        value: an array of shape ``(n, columns)``, or a tensor of vectors of shape ``(n,)``; integers also one after the other.
            A tensor whose numbers have not 32 bits is read back and converted.

    Raises:
        ShapeError: for another shape.
        UnsupportedArgumentError: for other types of numbers.
        TraceError: for a value of a fused function.
    """
    if isinstance(value, Traced):
        raise TraceError(
            f"{what} of a value that a fused function computes",
            hint="make the mesh before the call, and pass its scene as an argument; mesh.refit(x) takes the result of a call",
        )
    host = host_array(value)
    if host is None and isinstance(value, Sequence):
        host = as_array(cast("Any", value))
    if host is None:
        if not hasattr(cast("object", value), "shape"):
            raise UnsupportedArgumentError(
                f"{what} are an array", saw=repr(cast("object", value))[:60], hint=f"pass an array of shape (n, {columns})"
            )
        tensor = _on(device, kind_of_value(value).place(value, type, device), what)
        if tensor.dtype.scalar is type or (type is UINT and tensor.dtype.scalar is INT):
            flat = _in_rows(tensor.flatten_dtype().contiguous(), columns, type)
            _check_shape(flat.shape, columns, what)
            return flat, flat.to_numpy() if checked else None
        if tensor.dtype.scalar is None:
            raise _wrong_type(what, tensor.dtype, type)
        host = tensor.to_numpy()
    if host.dtype.kind not in ("fiu" if type is FLOAT else "iu"):
        raise _wrong_type(what, host.dtype, type)
    host = _in_rows(host, columns, type)
    _check_shape(host.shape, columns, what)
    with np.errstate(over="ignore"):  # the caller checks the numbers, and names the row
        return Tensor.from_numpy(device, np.ascontiguousarray(host, type.dtype)), host if checked else None


def check_finite_rows(array: Array, what: str) -> None:
    """Raises `ShapeError` for NaN, infinities and numbers that become infinite as a float, naming the first row that has one."""
    most = np.finfo(np.float32).max
    # NaN is in no range; this takes a tenth of the time of the test for each row
    if not array.size or -most <= array.min() <= array.max() <= most:
        return
    fine = (np.abs(array) <= most).all(axis=-1)
    if not fine.all():
        row = int(np.flatnonzero(~fine)[0])
        raise ShapeError(
            f"{what}[{row}] is not finite" + " as a float" * bool(np.isfinite(array[row]).all()),
            saw=array[row].tolist(),
            expected="finite numbers",
            hint="remove such rows; checked=False omits this check, and rays then miss what they belong to",
        )


def check_count(what: str, saw: int, expected: int, hint: str = "make a new one for another number") -> None:
    """Raises `ShapeError` for another number of rows."""
    if saw != expected:
        raise ShapeError(f"{what} has another number of rows", saw=saw, expected=expected, hint=hint)


def _on(device: Device, tensor: Tensor, what: str) -> Tensor:
    if tensor.device is not device:
        hint = "copy it over with Tensor.from_numpy(device, t.to_numpy())"
        raise ShapeError(f"{what} lies on another device", saw=tensor.device.opened, expected=device.opened, hint=hint)
    return tensor


def _in_rows(given: Any, columns: int, type: Type) -> Any:
    """Returns integers that lie one after the other, as in index buffers, in rows; anything else as it is."""
    flat = type is UINT and len(given.shape) == 1 and given.shape[0] % columns == 0
    return given.reshape(-1, columns) if flat else given


def _check_shape(shape: Sequence[int], columns: int, what: str) -> None:
    if len(shape) != 2 or shape[1] != columns:
        raise ShapeError(
            f"{what} has another shape",
            saw=tuple(shape),
            expected=f"(n, {columns})",
            hint=f"reshape it to rows of {columns}; a tensor of vectors has shape (n,)",
        )


def _wrong_type(what: str, saw: object, type: Type) -> UnsupportedArgumentError:
    numbers = f"{'floats' if type is FLOAT else 'integers'} of 32 bits"
    cast = "np.float32" if type is FLOAT else "np.uint32"
    hint = f"convert the array: array.astype({cast})"
    if getattr(saw, "kind", "") in ("U", "S"):
        hint = "give numbers; fp.Mesh.load(path) reads the file of a mesh"
    return UnsupportedArgumentError(f"{what} holds no {numbers}", saw=saw, expected=numbers, hint=hint)
