"""Structures of arguments and results of nodes: tuples, lists, dicts and dataclasses, to any depth, and what is under `vmap`."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, cast

from fusepy.arguments.mapping import Mapped, vcast
from fusepy.errors import GraphError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.types import Kind


def _parts(value: Any) -> dict[Any, Any] | None:
    """What a structure holds, by key; ``None`` for a leaf."""
    if isinstance(value, (tuple, list)):
        return dict(enumerate(cast("Sequence[Any]", value)))
    if type(value) is dict:
        return cast("dict[Any, Any]", value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, Mapped):
        return {"value": value.value}
    return None


def spots(value: Any) -> Iterator[Any]:
    """The leaves of a structure, in order; ``None`` has none."""
    parts = _parts(value)
    if parts is not None:
        for part in parts.values():
            yield from spots(part)
    elif value is not None:
        yield value


def fill(value: Any, leaves: Iterator[Any]) -> Any:
    """A structure like `value` with other leaves."""
    parts = _parts(value)
    if parts is None:
        return None if value is None else next(leaves)
    if isinstance(value, Mapped):
        inner = fill(value.value, leaves)
        if value.map.type is not None and value.map.type.kind is Kind.NAMED:  # the call knows the struct
            return Mapped(inner, value.map)
        inner = inner if value.map.type is None else vcast(inner, value.map.type)  # a traced value records it
        return inner if value.map.dims is None else _mapped(inner, value.map.dims)
    made = {key: fill(part, leaves) for key, part in parts.items()}
    if isinstance(value, dict):
        return made
    if isinstance(value, (tuple, list)):
        kind = cast("Any", type(cast("Any", value)))
        return kind(*made.values()) if hasattr(kind, "_fields") else kind(made.values())
    copied = copy.copy(value)
    for name, part in made.items():
        object.__setattr__(copied, name, part)
    return copied


def _mapped(inner: Any, dims: tuple[int, ...]) -> Mapped:
    if isinstance(inner, Mapped):
        return Mapped(inner.value, ArgMap(dims, inner.map.type))
    return Mapped(inner, ArgMap(dims))


def leaves_like(skeleton: Any, value: Any, name: str) -> Iterator[Any]:
    """What of `value` is where `skeleton` has leaves.

    Raises:
        GraphError: if `value` has another structure.
    """
    parts = _parts(skeleton)
    if parts is None:
        if skeleton is not None:
            yield value
        return
    found = _parts(value)
    if found is None or list(found) != list(parts):
        has = "one" if found is None else len(found)
        raise GraphError(
            f"{name} was said to have {len(parts)} results, and has {has}",
            saw=f"a {type(value).__name__}",
            hint=f"write {name}.node(outputs={1 if found is None else len(found)})",
        )
    for key, part in parts.items():
        yield from leaves_like(part, found[key], name)
