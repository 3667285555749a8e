"""The cache key of one argument: everything that the generated code depends on, and nothing else. Read on every call.

A key holds types, ranks and containers, but no numbers. Of the extents it holds trailing ones from 2 to 4, which a vector or
matrix could take in. Kernels contain no extents: programs that differ only in these share their kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from fusepy.arguments.field_tensor import OfField
from fusepy.arguments.fields import FIELDS, TYPE, fields_of
from fusepy.arguments.mapped import Mapped
from fusepy.backend.kernels.references import closed, must_open
from fusepy.backend.marshals.registry import KINDS, Marshal, kind_of_value, register_kind
from fusepy.backend.memory.host_arrays import lists_arrays
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import FusepyError
from fusepy.pytree import ITEMS, Container
from fusepy.symbolic import Symbolic, misplaced


def _of_tensor(value: Tensor) -> Hashable:
    return value.key


def _of_mapped(value: Mapped) -> Hashable:
    return ("mapped", value.map, signature(value.value))


def _of_field(value: OfField) -> Hashable:
    return ("field", value.map.type, value.value.key)


def _of_list(value: Any) -> Hashable:
    container = fields_of(value)
    if container is not None:
        return _of_items(value)
    if lists_arrays(value):
        closed(value)
    return KINDS[value.__class__].key(value)


_OWN: dict[type, Callable[[Any], Hashable]] = {
    Tensor: _of_tensor, Mapped: _of_mapped, OfField: _of_field, list: _of_list, tuple: _of_list
}  # fmt: skip
KEYS = dict(_OWN)  # a cache: on first use, other classes get the key function of their kind or of their fields


def signature(value: Any) -> Hashable:
    """Returns the cache key of an argument.

    Raises:
        UnsupportedArgumentError: if no marshal takes it.
    """
    cls = value.__class__
    key = KEYS.get(cls)
    if key is None:
        if isinstance(value, Symbolic):
            raise misplaced(value)
        if must_open(cls):
            KEYS[cls] = closed
            closed(value)
        container = fields_of(value)
        key = KEYS[cls] = kind_of_value(value).key if container is None else _of_fields(container)
    return key(value)


def _of_fields(container: Container) -> Callable[[Any], Hashable]:
    """Returns the key function of a nested argument: field names in order, with the keys of the fields.

    The class is part of the key, since a fused function may call its methods.
    """
    keys, fields = KEYS, container.parts

    def key(value: Any) -> Hashable:
        parts: list[object] = [value.__class__]
        for name, leaf in fields(value).items():
            parts.append(name)
            if name == TYPE:
                parts.append(getattr(leaf, "type", leaf))
                continue
            if leaf.__class__ is Tensor:
                parts.append(leaf.key)
                continue
            known = keys.get(leaf.__class__)
            try:
                parts.append(signature(leaf) if known is None else known(leaf))
            except FusepyError as error:
                error.below = f".{name}{error.below}"
                raise
        return tuple(parts)

    return key


_of_items = _of_fields(ITEMS)


def register(type: type, marshal: Marshal) -> None:
    """Makes values of the Python class `type` arguments and results of Slang functions; replaces an earlier marshal of the class.

    Raises:
        ArgumentError: if `marshal` is not a marshal.
    """
    register_kind(type, marshal)
    for table in (KEYS, FIELDS):  # values of the class and of derived classes had other keys, or were nested
        for cls in [c for c in table if issubclass(c, type) and c not in _OWN]:
            del table[cls]
