"""The key of one argument: all of it that decides about code, and nothing else. Read on every call.

A key holds types, ranks and containers, never the numbers themselves, and of sizes only trailing extents of 2 to 4, which a
vector or matrix could take in. Kernels know no sizes at all: programs that differ in such an extent alone share one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from fusepy.arguments.fields import ACCESSORS, TYPE, fields_of
from fusepy.arguments.mapping import Mapped
from fusepy.backend.marshals.registry import MARSHALS, Marshal, marshal_of
from fusepy.backend.marshals.result_kinds import LEADS
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import ArgumentError, FusepyError
from fusepy.symbolic import Symbolic, misplaced


def _of_tensor(value: Tensor) -> Hashable:
    return value.key


def _of_mapped(value: Mapped) -> Hashable:
    return ("mapped", value.map, signature(value.value))


def _of_list(value: Any) -> Hashable:
    accessor = fields_of(value)
    return MARSHALS[value.__class__].key(value) if accessor is None else _of_fields(accessor)(value)


KEYS: dict[type, Callable[[Any], Hashable]] = {
    Tensor: _of_tensor,
    Mapped: _of_mapped,
    list: _of_list,
    tuple: _of_list,
}


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
        accessor = fields_of(value)
        found = KEYS[cls] = marshal_of(value).key if accessor is None else _of_fields(accessor)
    return found(value)


def _of_fields(accessor: Callable[[Any], Mapping[str, Any]]) -> Callable[[Any], Hashable]:
    """The key of a nested argument: its field names in order, with the keys of what they hold.

    Its class is part of it, since a fused function may call the methods of that class.
    """
    keys = KEYS

    def key(value: Any) -> Hashable:
        parts: list[object] = [value.__class__]
        for name, leaf in accessor(value).items():
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
    """Makes values of the Python class `type` arguments of Slang functions; a class that had a marshal gets this one.

    Raises:
        ArgumentError: for what is no marshal.
    """
    missing = [m for m in ("key", "describe", "place") if not callable(getattr(marshal, m, None))]
    returns = getattr(marshal, "returns", None)
    if missing or returns not in LEADS:
        raise ArgumentError(
            f"a {marshal.__class__.__name__} is no marshal: "
            + (f"it has no {missing[0]}()" if missing else f"returns is {returns!r}"),
            expected=f"the methods of fusepy.Marshal, and returns as one of {', '.join(LEADS)}",
            hint="see docs/marshals.md, and test it with fusepy.testing.check_marshal",
        )
    MARSHALS[type] = marshal
    KEYS.pop(type, None)
    ACCESSORS.pop(type, None)  # until now its values were nested arguments
