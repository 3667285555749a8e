"""Host arrays of users, as NumPy arrays. Masked arrays and torch tensors with gradients are refused: both would be lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from fusepy.backend.memory.element import Element
from fusepy.backend.memory.storage import Storage
from fusepy.backend.torch import check_gradient, is_torch, need_torch
from fusepy.errors import ArgumentError, FusepyError, RangeError, ShapeError, UnsupportedArgumentError
from fusepy.ir.ranges import check_fits
from fusepy.symbolic import Symbolic, holds

Array = np.ndarray[Any, np.dtype[Any]]
_WHOLE = {bool, int, float, np.ndarray, *np.sctypeDict.values()}  # classes without mask and gradient


def mask_error(array: Any) -> FusepyError:
    """Returns the error for a masked array: Slang has no masks."""
    return UnsupportedArgumentError(
        "a masked array, whose mask would be lost",
        saw=f"{type(array).__name__} of {array.dtype}{list(array.shape)}",
        expected="a plain array",
        hint="fill masked elements with a.filled(value), or pass a.data and the mask as two arrays",
    )


LISTED = "pass torch.stack(tensors): a list of tensors of one shape is one array; or a dict, with a name for each of them"


def refuse_loss(value: Any, listed: bool = False) -> None:
    """Raises for a masked array and for a torch tensor that requires gradients, also inside nested lists.

    Args:
        listed: the value is an item of a list.

    Raises:
        UnsupportedArgumentError: for a masked array.
        GradientError: for a torch tensor that requires gradients.
    """
    cls = cast("type[Any]", type(value))
    if cls in _WHOLE:
        return
    if issubclass(cls, np.ma.MaskedArray):
        raise mask_error(value)
    if is_torch(cls):
        check_gradient(value, LISTED if listed else None)
    if issubclass(cls, (list, tuple)):
        items = cast("Sequence[Any]", value)
        if not _WHOLE.issuperset(map(type, items)):
            for item in items:
                refuse_loss(item, listed=True)


def as_array(value: Any, dtype: Any = None) -> Array:
    """Returns a user's value as an array, without a copy if it is one.

    Raises:
        UnsupportedArgumentError: for a masked array, and for memory that the host cannot read.
        GradientError: for a torch tensor that requires gradients.
        ShapeError: for ragged lists.
        TraceError: for a value of a trace.
    """
    if type(value) is np.ndarray and dtype is None:
        return value
    refuse_loss(value)
    given: Any = value
    if is_torch(cast("type[Any]", type(given))):
        given = given.detach()  # the gradients are off: torch.no_grad()
    try:
        return np.asarray(given, dtype)
    except FusepyError:  # of a traced value
        raise
    except (RuntimeError, TypeError, ValueError) as error:  # torch raises these for device memory and for conjugated tensors
        if isinstance(error, ValueError) and isinstance(value, (list, tuple)):
            raise ShapeError("values that do not form an array", saw=error, hint="give every row the same length") from None
        if hasattr(given, "to_numpy"):  # a tensor of slangpy
            raise UnsupportedArgumentError(
                f"a {type(given).__name__} of another library is no array of the host",
                saw=cast("type[Any]", type(given)),
                hint="write x.to_numpy()",
            ) from None
        raise UnsupportedArgumentError(
            f"a {type(given).__name__} cannot be read as an array", saw=error, hint="convert it with numpy.asarray"
        ) from None


def full(shape: tuple[int, ...], value: Any, element: Element) -> Array:
    """Returns an array with `value` in every element.

    Raises:
        ArgumentError: for a value that is no element.
        RangeError: for an array with a number that the elements cannot hold.
    """
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and element.type.scalar is not None:
        check_fits(cast("Array", value), element.type.scalar, "a number", hint="widen dtype")
    try:
        if value is None:  # NumPy makes NaN of it
            raise TypeError("None is no number")
        return np.full(shape + element.shape, value, element.dtype)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"this does not fill elements of {element.type}", saw=error, hint="give one number, or one number per component"
        ) from None


def contents_of(value: Any) -> Array | None:
    """Returns the numbers of an array, a tensor, a texture, or an array of another framework on any device, to look at them.

    ``None`` for anything else. Numbers of 16 bits that NumPy lacks become ``float32``.
    """
    if isinstance(value, np.ndarray):
        return cast("Array", value)
    if is_torch(cast("type[Any]", type(value))):
        held = value.detach().cpu().resolve_conj().resolve_neg()
        return held.float().numpy() if held.is_floating_point() and held.element_size() == 2 else held.numpy()
    if hasattr(value, "to_numpy"):
        return value.to_numpy()
    if hasattr(value, "__array__") and not isinstance(value, np.generic):
        return np.asarray(value)
    given: Any = value  # pyright: ignore[reportUnknownVariableType]
    return np.from_dlpack(given) if hasattr(given, "__dlpack__") else None


class ListView(list[Any]):
    """A view of a nested list. It keeps its array, since a list says nothing of axes behind one without elements."""

    def __init__(self, array: np.ndarray[Any, Any]):
        super().__init__(array.tolist())
        self.array, self.shape = array, array.shape


def lists_arrays(value: Sequence[Any]) -> bool:
    """True for a list of arrays of NumPy or torch, or of lists of them: it is the array of its items, not a list of numbers.

    Arrays without axes are numbers where Python's numbers stand beside them.
    """
    for cls in set(map(type, value)):
        if cls is np.ndarray or is_torch(cls):
            return any(item.ndim for item in value if type(item) is cls) or all(type(item) is cls for item in value)
        if cls in (list, tuple) and any(lists_arrays(cast("Any", item)) for item in value if type(item) is cls):
            return True
    return False


def lists_values(value: Any) -> bool:
    """True for a list with arrays, tensors or traced values in it, or in lists of it."""
    return holds(value, (Symbolic, Storage)) or (isinstance(value, (list, tuple)) and lists_arrays(cast("Any", value)))


def stacked_arrays(value: Sequence[Any]) -> Any:
    """Returns the array of a list of arrays, and torch's tensor of a list with its tensors.

    Raises:
        ShapeError: for ragged lists.
    """
    items = [stacked_arrays(item) if type(item) in (list, tuple) else item for item in value]
    if not any(map(is_torch, map(type, items))):
        return as_array(value)
    try:
        return need_torch().stack([need_torch().as_tensor(item) for item in items])
    except (RuntimeError, TypeError) as error:
        raise ShapeError("tensors in a list differ", saw=str(error).splitlines()[0], hint=LISTED) from None


def list_array(value: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Returns a nested list as an array of bool, int64 or float64.

    Raises:
        ShapeError: for ragged lists.
        UnsupportedArgumentError: for anything but numbers.
    """
    if isinstance(value, ListView):
        return value.array
    refuse_loss(value)
    try:
        array = np.array(value)
    except ValueError:
        raise ShapeError("a nested list is ragged", saw=repr(value)[:60], hint="give every row the same length") from None
    if array.size == 0:
        return array.astype(np.float64)
    if array.dtype.kind == "f" and array.max() >= 1 << 63:  # NumPy mixes such integers with negative ones as floats
        exact = np.array(value, object)
        if all(isinstance(n, int) for n in exact.ravel().tolist()):
            array = exact.astype(np.uint64) if exact.min() >= 0 and exact.max() < 1 << 64 else exact
    if array.dtype.kind == "O" and all(isinstance(n, int) for n in array.ravel().tolist()):
        raise RangeError("a list holds a number beyond 64 bits", saw=repr(value)[:60], hint="no Slang integer is that wide")
    if array.dtype.kind not in "biuf":
        raise UnsupportedArgumentError(
            f"a list of {array.dtype} values", saw=repr(value)[:60], expected="numbers", hint="lists hold bool, int or float"
        )
    return array


def list_as(value: Sequence[Any], element: Element, what: str) -> Array:
    """Returns a nested list of numbers as an array of the elements of a tensor.

    Raises:
        ArgumentError: for fractions where elements are integers.
        ShapeError, UnsupportedArgumentError, RangeError: unless they are numbers that the elements can hold, in equal rows.
    """
    array, scalar = list_array(value), element.type.scalar
    assert scalar is not None, "elements are numbers"
    if array.dtype.kind == "f" and not scalar.is_float and array.size:
        raise ArgumentError(f"{what} of {element.type} truncates floats", saw=repr(value)[:60], hint="round them first")
    check_fits(array, scalar, "a number in a list")
    return array.astype(element.dtype)


def share_elements(a: Array, b: Array) -> bool:
    """True if two arrays have an element in common, or if this is too hard to tell."""
    try:
        return np.shares_memory(a, b, max_work=1000)  # pyright: ignore[reportArgumentType]
    except np.exceptions.TooHardError:
        return True
