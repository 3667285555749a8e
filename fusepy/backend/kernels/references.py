"""Objects of slangpy that stand for an argument: `ValueRef`, which receives a result, and objects with ``get_this()``.

A call opens them: it passes what they hold. Afterwards, references get what the call has written, and objects with
``update_this()`` are told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, cast

import numpy as np
from slangpy import ValueRef

from fusepy.backend.marshals.registry import kind_of_class
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.host_arrays import as_array, lists_arrays, stacked_arrays
from fusepy.backend.memory.tensor import Tensor
from fusepy.pytree import ITEMS, TYPE, Container

Array = np.ndarray[Any, np.dtype[Any]]
After = list[Callable[[], None]]
Fields = Callable[[Any], "Container | None"]


class ClosedArgumentError(KeyError):
    """Raised by the key of an argument that must be opened first."""


def closed(value: Any) -> NoReturn:
    """Raises `ClosedArgumentError`; it is the key function of classes that must be opened."""
    raise ClosedArgumentError


def must_open(cls: type[Any]) -> bool:
    """True if values of a class stand for arguments."""
    opens = callable(getattr(cls, "get_this", None)) and (kind_of_class(cls) is None or cls is Tensor.of_field)
    return cls is ValueRef or opens


def opened(value: Any, element: Element | None, after: After, fields: Fields, written: bool = True, level: int = 0) -> Any:
    """Returns what an argument holds, also inside of dicts, objects and lists.

    Args:
        element: the parameter's type, if it is known.
        written: true if the call may write to the parameter.
        after: gets what is to be done after the call.
        fields: returns the container of a value with fields.
    """
    cls = value.__class__
    if cls is ValueRef:
        return _array_of(value, element, after) if written else value.value
    if must_open(cls):
        inner = opened(value.get_this(), element, after, fields, written, level)
        update = getattr(value, "update_this", None)
        if update is not None:
            after.append(lambda: update(inner))
        return inner
    container = fields(value) if level <= 8 else None
    if container is None and (cls is list or cls is tuple) and lists_arrays(value):
        return stacked_arrays(value)
    if container is None and cls is list and len(value) <= 64:  # longer lists hold numbers
        container = ITEMS
    if container is None:
        return value
    parts = container.parts(value)
    inside = {k: v if k == TYPE else opened(v, None, after, fields, written, level + 1) for k, v in parts.items()}
    return value if all(inside[k] is v for k, v in parts.items()) else container.rebuild(value, inside)


def _array_of(reference: Any, element: Element | None, after: After) -> Array:
    """Returns the value of a reference as an array that a call can write to."""
    held = reference.value
    if element is None:
        made = np.array(as_array(held))
        made = made.astype(np.float32) if made.dtype == np.float64 else made.astype(np.int32) if made.dtype == np.int64 else made
    else:
        made = np.zeros(element.shape, element.dtype)
        if element.dtype.names is None:
            made[...] = as_array(held)
        elif held is not None:
            _fill(made, held)

    def read() -> None:
        reference.value = _as_like(made, held)

    after.append(read)
    return made


def _fill(array: Array, held: Mapping[str, Any]) -> None:
    """Writes a dict into a struct."""
    for name, value in held.items():
        if isinstance(value, Mapping):
            _fill(array[name], cast("Mapping[str, Any]", value))
        else:
            array[name] = as_array(value)


def _as_like(array: Array, held: Any) -> Any:
    """Returns an array as a value of the class that the reference held: a number, a dict, a vector of slangpy, or an array."""
    if array.dtype.names is not None:
        return {name: _as_like(array[name], held.get(name) if isinstance(held, Mapping) else None) for name in array.dtype.names}
    if not array.shape:
        return array.item()
    cls = cast("type[Any]", held.__class__)
    return cls(array if len(array.shape) > 1 else array.tolist()) if cls.__module__.startswith("slangpy") else array
