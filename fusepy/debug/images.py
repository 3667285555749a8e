"""Values as arrays of NumPy that can be pictures: tensors, textures, torch's tensors, structs, lists of these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fusepy.arguments.fields import TYPE, fields_of
from fusepy.arguments.mapped import Mapped
from fusepy.backend.memory.host_arrays import as_array, contents_of
from fusepy.debug.pixels import check_picture
from fusepy.errors import TraceError, UnsupportedArgumentError
from fusepy.symbolic import Symbolic

Array = NDArray[Any]
_NUMBERS = (bool, int, float, np.generic)


def images_of(value: Any) -> list[tuple[str, Array]]:
    """Returns the pictures in a value, each with the path of its field.

    Raises:
        TraceError: for a traced value.
        UnsupportedArgumentError: for something without numbers.
        ShapeError: for an array that is no picture.
    """
    return list(_images(value, "image"))


def _images(value: Any, name: str) -> Iterator[tuple[str, Array]]:
    if isinstance(value, Mapped):
        value = value.value
    if isinstance(value, Symbolic):
        raise TraceError(
            f"show(): {name} is not computed yet",
            saw=f"a {type(value).__name__}",
            hint="return it from the function, and show what the call returns",
        )
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):  # pyright: ignore[reportUnknownArgumentType]
        items = cast("Sequence[Any]", value)
        if not _is_rows(items):
            for place, item in enumerate(items):
                yield from _images(item, f"{name}[{place}]")
            return
        array = as_array(items)
    elif (array := contents_of(value)) is None and (container := fields_of(value)) is not None:
        for field, inner in container.parts(value).items():
            if field != TYPE:
                yield from _images(inner, f"{name}.{field}")
        return
    if array is None:
        raise _refused(name, f"a {value.__class__.__name__}")
    yield from _of_array(array, name)


def _of_array(array: Array, name: str) -> Iterator[tuple[str, Array]]:
    """Returns an array, or each field of an array of structs."""
    if array.dtype.names is not None:
        for field in array.dtype.names:
            yield from _of_array(array[field], f"{name}.{field}")
        return
    if array.dtype.kind not in "biuf":
        raise _refused(name, f"an array of {array.dtype}")
    check_picture(array, name)
    yield name, array


def _is_rows(value: Sequence[Any]) -> bool:
    """True for a list of lists of numbers, which is one picture."""
    first: Any = value
    while isinstance(first, (list, tuple)) and first:
        first = cast("Sequence[Any]", first)[0]
    return isinstance(first, _NUMBERS) or not value


def _refused(name: str, saw: str) -> UnsupportedArgumentError:
    return UnsupportedArgumentError(
        f"show(): {name} has no numbers",
        saw=saw,
        expected="an array, a tensor, a texture, a struct of such, or a list of such",
        hint="show an array of numbers, such as np.asarray(image, np.float32)",
    )
