"""Which Python values have fields, and what reads them: dicts, dataclasses, named tuples, and objects with attributes or slots.

A value without fields is a leaf. A field named ``_type`` is none: it names the struct that the value is to become.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from fusepy.arguments.mapping import Mapped
from fusepy.backend.marshals.registry import kind_of_class
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.torch import is_torch
from fusepy.symbolic import Symbolic

Fields = Mapping[str, Any]
TYPE = "_type"


def of_dict(value: dict[Any, Any]) -> Fields:
    """Every entry of a dict is a field."""
    return value


def _of_attributes(value: Any) -> Fields:
    """What an object holds itself: no methods, nothing private, and the struct's name where it gives one."""
    return {name: held for name, held in value.__dict__.items() if name[0] != "_" or name == TYPE}


def _of_names(names: Sequence[str]) -> Callable[[Any], Fields]:
    return lambda value: {name: getattr(value, name) for name in names}


def _of_slots(names: Sequence[str]) -> Callable[[Any], Fields]:
    return lambda value: {name: getattr(value, name) for name in names if hasattr(value, name)}


def _under_name(accessor: Callable[[Any], Fields], name: str) -> Callable[[Any], Fields]:
    """The fields of objects whose class says which struct they are: ``_type = "Ray"``."""
    return lambda value: {TYPE: name, **accessor(value)}


def of_items(value: Sequence[Any]) -> Fields:
    """The items of a list that stands for an array of fixed size, or for a vector, under their numbers."""
    return {str(i): item for i, item in enumerate(value)}


ITEMS = 64  # a list of more is numbers


LEVELS = 8  # of lists in lists; one that contains itself has more


def has_leaves(value: Sequence[Any], level: int = 0) -> bool:
    """Whether a list is a tree of its items: where one has fields, is a `Tensor` or traced, or is an array beside a number.

    Other lists are values: numbers, and arrays of one shape, which are stacked.
    """
    if len(value) > ITEMS or level > LEVELS:
        return False
    arrays = numbers = False
    for item in value:
        cls = item.__class__
        if cls is float or cls is int or cls is bool:
            numbers = True
        elif cls is list or cls is tuple:
            if has_leaves(item, level + 1):
                return True
        elif isinstance(item, (np.ndarray, np.generic)) or is_torch(cls):
            arrays, numbers = arrays or bool(item.ndim), numbers or not item.ndim
        elif isinstance(item, (Mapped, Symbolic, Tensor)) or fields_of(item) is not None:
            return True
    return arrays and numbers


ACCESSORS: dict[type, Callable[[Any], Fields]] = {dict: of_dict}
_OPAQUE = (str, bytes, type, ModuleType, np.ndarray, np.generic, BaseException, Mapped, Symbolic)


def fields_of(value: Any) -> Callable[[Any], Fields] | None:
    """What reads the fields of a value's class; ``None`` if the class has none, and its values are leaves."""
    cls = value.__class__
    if cls is list or cls is tuple:
        return of_items if has_leaves(value) else None
    found = ACCESSORS.get(cls)
    if found is None:
        found = _accessor(value, cls)
        if found is not None:
            named = getattr(cls, TYPE, None)
            ACCESSORS[cls] = found = found if named is None else _under_name(found, named)
    return found


def _taken(value: Any) -> bool:
    """Whether values of this class are arguments of a kind, and so leaves."""
    return kind_of_class(value.__class__) is not None


def _accessor(value: Any, cls: type) -> Callable[[Any], Fields] | None:
    if isinstance(value, Mapping):
        return of_dict
    if isinstance(value, tuple):
        names = getattr(cls, "_fields", None)
        return _of_names(names) if names else None
    if dataclasses.is_dataclass(value) and not _taken(value):
        return _of_names([f.name for f in dataclasses.fields(value) if not f.name.startswith("_")])
    if isinstance(value, _OPAQUE) or callable(value) or _taken(value):
        return None
    if not hasattr(value, "__dict__"):
        slots = _slots(cls)
        return _of_slots(slots) if slots else None
    return _of_attributes if _of_attributes(value) else None


def _slots(cls: type) -> list[str]:
    """The public names that a class and its bases keep in ``__slots__``."""
    kept: list[str | Sequence[str]] = [vars(base).get("__slots__", ()) for base in reversed(cls.__mro__)]
    names = [name for slots in kept for name in ([slots] if isinstance(slots, str) else slots)]
    return [name for name in names if not name.startswith("_")]
