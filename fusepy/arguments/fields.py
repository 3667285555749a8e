"""Fields of arguments: of mappings, dataclasses, named tuples, objects with attributes or slots, and lists of these.

A value without fields is a leaf. The entry ``_type`` is not a field: it names the Slang struct.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, cast

import numpy as np

from fusepy.arguments.mapped import Mapped
from fusepy.backend.marshals.base import INSTEAD
from fusepy.backend.marshals.registry import kind_of_class
from fusepy.backend.memory.tensor import Tensor
from fusepy.ir.argmap import ArgMap
from fusepy.pytree import ENTRIES, ITEMS, TYPE, Container, Parts, attributes, container_of, reader
from fusepy.symbolic import Symbolic, axes_of

FIELDS: dict[type, Container | None] = {dict: ENTRIES}  # a cache by class; ``None`` for leaves
ITEMS_AT_MOST = 64  # a longer list is taken as numbers
LEVELS = 8  # of nested lists; a list that contains itself has more
_OPAQUE = (str, bytes, type, ModuleType, np.ndarray, np.generic, BaseException, Mapped, Symbolic)


def fields_of(value: Any) -> Container | None:
    """Returns the fields of a value, under its `vmap`; ``None`` for a leaf."""
    cls = value.__class__
    if cls is list or cls is tuple:
        return ITEMS if has_leaves(value) else None
    if cls is Mapped:
        return None if fields_of(value.value) is None else MAPPED
    if cls in FIELDS:
        return FIELDS[cls]
    if isinstance(value, _OPAQUE) or hasattr(cls, INSTEAD):
        return None
    container = _of_class(value, cls)
    if container is not None or kind_of_class(cls) is not None:  # an object may get its first attribute later
        FIELDS[cls] = container
    return container


def has_leaves(value: Sequence[Any], level: int = 0) -> bool:
    """True if a list is nested: an item has fields, is a `Tensor` or traced, or arrays stand beside numbers or other shapes,
    lists of numbers included.

    Other lists are values: numbers, and arrays of one shape, which are stacked.
    """
    if len(value) > ITEMS_AT_MOST or level > LEVELS:
        return False
    arrays = numbers = lists = False
    shape: Any = None
    for item in value:
        cls = item.__class__
        if cls is Tensor:
            return True
        if cls is float or cls is int or cls is bool:
            numbers = True
            continue
        if cls is list or cls is tuple:
            if has_leaves(item, level + 1):
                return True
            lists = True
            continue
        kind = kind_of_class(cls)
        if kind is not None and kind.array is not None:
            extents = kind.extents(item)
            if extents and shape not in (None, extents):
                return True
            shape = extents or shape
            arrays, numbers = arrays or bool(extents), numbers or not extents
        elif (
            isinstance(item, (Mapped, Symbolic))
            or (kind is not None and kind.device)
            or fields_of(item) is not None
            or hasattr(cls, INSTEAD)
        ):
            return True
    return arrays and (numbers or (lists and any(_extents(v) != tuple(shape) for v in value if v.__class__ in (list, tuple))))


def _extents(value: Any) -> tuple[int, ...]:
    """Returns the shape of a list of numbers, by its first rows."""
    return (len(value), *(_extents(value[0]) if value else ())) if value.__class__ in (list, tuple) else ()


# ---- fields under `vmap` ---------------------------------------------------------------------------------------------


def _mapped_fields(value: Mapped) -> Parts:
    """Returns the fields of a nested value, each under its `vmap`, and the struct that its `vcast` names."""
    inner, map = value.value, value.map
    container = cast("Container", fields_of(inner))
    fields = {k: v if k == TYPE else _spread(v, map) for k, v in container.parts(inner).items()}
    return fields if map.type is None else {**fields, TYPE: map.type}


def _spread(field: Any, map: ArgMap) -> Any:
    """Returns a field under the `vmap` of the whole argument.

    The `vmap` of a leaf itself comes first. A list may be a vector, so it is mapped only by a `vmap` of its own.
    """
    if map.dims is None:
        return field
    if fields_of(field) is None and not (axes_of(field) if isinstance(field, Symbolic) else len(getattr(field, "shape", ()))):
        return field
    return Mapped(field, ArgMap(map.dims))


MAPPED = Container(_mapped_fields, lambda like, parts: cast("Container", fields_of(like.value)).rebuild(like.value, parts))


# ---- classes ---------------------------------------------------------------------------------------------------------


def _of_class(value: Any, cls: type[Any]) -> Container | None:
    """Returns the fields of the values of a class; if it names its struct, ``_type = "Ray"``, with that name."""
    container = container_of(value)
    if container is ITEMS or (container is None and callable(value)):
        return None
    if container is not ENTRIES and not hasattr(cls, "_fields") and kind_of_class(cls) is not None:
        return None
    if dataclasses.is_dataclass(cls):
        container = attributes(reader([f.name for f in dataclasses.fields(cls) if not f.name.startswith("_")]))
    elif container is None:
        container = attributes(_of_attributes if hasattr(value, "__dict__") else _of_slots(cls))
        if not container.parts(value):
            return None
    named = getattr(cls, TYPE, None)
    return container if named is None else dataclasses.replace(container, parts=_under_name(container.parts, named))


def _under_name(read: Callable[[Any], Parts], name: str) -> Callable[[Any], Parts]:
    return lambda value: {TYPE: name, **read(value)}


def _of_attributes(value: Any) -> Parts:
    """Returns the public attributes of an object, without methods, and its ``_type``."""
    return {name: held for name, held in value.__dict__.items() if name[0] != "_" or name == TYPE}


def _of_slots(cls: type) -> Callable[[Any], Parts]:
    """Returns a reader of the public attributes in ``__slots__`` of a class and its bases, as far as they are set."""
    kept: list[str | Sequence[str]] = [vars(base).get("__slots__", ()) for base in reversed(cls.__mro__)]
    names = [n for slots in kept for n in ([slots] if isinstance(slots, str) else slots) if not n.startswith("_")]
    return lambda value: {name: getattr(value, name) for name in names if hasattr(value, name)}
