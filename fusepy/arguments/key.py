"""The key of one argument: all of it that decides about code, and nothing else. Read on every call.

A key holds types, ranks and containers, never the numbers themselves, and of sizes only trailing extents of 2 to 4, which a
vector or matrix could take in. Kernels know no sizes at all: programs that differ in such an extent alone share one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from fusepy.arguments.fields import FIELDS, TYPE, fields_of
from fusepy.arguments.mapping import Mapped
from fusepy.backend.marshals.registry import KINDS, Marshal, kind_of_value, register_kind
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import FusepyError
from fusepy.pytree import Container
from fusepy.symbolic import Symbolic, misplaced


def _of_tensor(value: Tensor) -> Hashable:
    return value.key


def _of_mapped(value: Mapped) -> Hashable:
    return ("mapped", value.map, signature(value.value))


def _of_list(value: Any) -> Hashable:
    container = fields_of(value)
    return KINDS[value.__class__].key(value) if container is None else _of_fields(container)(value)


_OWN: dict[type, Callable[[Any], Hashable]] = {Tensor: _of_tensor, Mapped: _of_mapped, list: _of_list, tuple: _of_list}
KEYS = dict(_OWN)  # of all other classes the key of their kind, or of their fields, once it was asked for


def signature(value: Any) -> Hashable:
    """The key of any argument.

    Raises:
        UnsupportedArgumentError: if no marshal takes it.
    """
    cls = value.__class__
    found = KEYS.get(cls)
    if found is None:
        if isinstance(value, Symbolic):
            raise misplaced(value)
        container = fields_of(value)
        found = KEYS[cls] = kind_of_value(value).key if container is None else _of_fields(container)
    return found(value)


def _of_fields(container: Container) -> Callable[[Any], Hashable]:
    """The key of a nested argument: its field names in order, with the keys of what they hold.

    Its class is part of it, since a fused function may call the methods of that class.
    """
    keys, fields = KEYS, container.parts

    def key(value: Any) -> Hashable:
        parts: list[object] = [value.__class__]
        for name, leaf in fields(value).items():
            parts.append(name)
            if name == TYPE:
                parts.append(getattr(leaf, "type", leaf))
                continue
            known = keys.get(leaf.__class__)
            try:
                parts.append(signature(leaf) if known is None else known(leaf))
            except FusepyError as error:
                error.below = f".{name}{error.below}"
                raise
        return tuple(parts)

    return key


def register(type: type, marshal: Marshal) -> None:
    """Makes values of the Python class `type` arguments and results of Slang functions; a class that had a marshal gets this one.

    Raises:
        ArgumentError: for what is no marshal.
    """
    register_kind(type, marshal)
    for table in (KEYS, FIELDS):  # until now its values, and those of derived classes, had other keys, or were nested
        for cls in [c for c in table if issubclass(c, type) and c not in _OWN]:
            del table[cls]
