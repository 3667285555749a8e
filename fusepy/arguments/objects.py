"""The state of objects: which attributes a fused method takes as arguments, and which are part of its program."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from enum import Enum
from types import FunctionType, MemberDescriptorType
from typing import Any, cast

from fusepy.arguments.key import KEYS
from fusepy.backend.marshals.registry import kind_of_class
from fusepy.errors import TraceError
from fusepy.pytree import Container, container_of

_VALUES = (str, bytes, bool, int, type(None), Enum)  # they may steer Python's control flow, so they are part of the program
_UNTOUCHED = ("fusepy", "slangpy", "numpy", "torch", "jax", "builtins")  # packages whose objects are kept as they are
_DEPTH = 16


def is_method_like(function: Callable[..., Any]) -> bool:
    """True for an object of a user's class with a method ``__call__`` in Python."""
    cls = type(function)
    return callable(function) and isinstance(cls.__call__, FunctionType) and not _untouched(cls)


def _untouched(cls: type) -> bool:
    return (cls.__module__ or "").split(".")[0] in _UNTOUCHED


def split(value: Any, path: str, state: dict[str, Any], above: tuple[int, ...] = ()) -> Hashable:
    """Adds the arguments in a value to `state`, by path. Returns the key of the rest."""
    if isinstance(value, _VALUES):
        return (value.__class__, value)
    parts = None if id(value) in above or len(above) > _DEPTH else _parts(value)
    if parts is not None:
        inside = (*above, id(value))
        return (value.__class__, tuple([(k, split(v, f"{path}.{k}", state, inside)) for k, v in parts.items()]))
    if value.__class__ in KEYS or kind_of_class(value.__class__) is not None:
        state[path] = value
        return ...
    return _Same(value)


def _parts(value: Any) -> Mapping[Any, Any] | None:
    """Returns the parts of a container or of an object of a user's class, with private attributes."""
    cls = cast("type[Any]", type(value))
    container = _container(value)
    if container is not None:
        return container.parts(value)
    if isinstance(value, type) or (callable(value) and not is_method_like(value)) or _untouched(cls):
        return None
    return _attributes(value) if hasattr(value, "__dict__") or _declared(cls)[1] else None


def _attributes(value: Any) -> dict[str, Any]:
    """Returns the attributes that hold values: those of the object, in its slots too, before those of its classes."""
    cls = cast("type[Any]", type(value))
    shared, slots = _declared(cls)
    found = {name: getattr(cls, name) for name in shared if hasattr(cls, name)}
    found.update((name, getattr(value, name)) for name in slots if hasattr(value, name))
    found.update(getattr(value, "__dict__", {}))
    return found


@functools.lru_cache(maxsize=256)
def _declared(cls: type) -> tuple[Sequence[str], Sequence[str]]:
    """Returns the names of a class's own values, without methods and properties, and those of its slots."""
    named = {n: v for base in reversed(cls.__mro__) if not _untouched(base) for n, v in vars(base).items() if n[:2] != "__"}
    slots = [n for n, v in named.items() if isinstance(v, MemberDescriptorType)]
    return [n for n, v in named.items() if not hasattr(v, "__get__")], slots


def _container(value: Any) -> Container | None:
    return container_of(value) if isinstance(value, (list, tuple, dict)) else None


def filled(value: Any, path: str, traced: Mapping[str, Any], made: list[tuple[Any, dict[str, Any]]]) -> Any:
    """Returns a value like this one with traced arguments; objects are copied, so that their methods work."""
    if path in traced:
        return traced[path]
    if path and not any(p.startswith(f"{path}.") for p in traced):
        return value
    held = _parts(value)
    if held is None:
        return value
    parts = {k: filled(v, f"{path}.{k}", traced, made) for k, v in held.items()}
    container = _container(value)
    if container is not None:
        return container.rebuild(value, parts)
    cls, slots = value.__class__, _declared(value.__class__)[1]
    copied = object.__new__(
        cls if hasattr(value, "__dict__") else type(cls.__name__, (cls,), {})
    )  # values of a class need a `__dict__`
    for name in slots:
        if name in parts:
            object.__setattr__(copied, name, parts[name])
    copied.__dict__.update((name, part) for name, part in parts.items() if name not in slots)
    made.append((copied, parts))
    return copied


def check_unchanged(copied: Any, before: Mapping[str, Any], function: str) -> None:
    """Raises `TraceError` if a method has assigned an attribute: the object would not get it."""
    now = _attributes(copied)
    kept = functools.cached_property  # which keeps what it computes as an attribute
    changed = [
        n for n, v in now.items() if v is not before.get(n, now) and not isinstance(getattr(copied.__class__, n, None), kept)
    ]
    if changed:
        raise TraceError(
            f"{function}() assigns self.{changed[0]}, which is a value of the trace",
            hint=f"return it, and assign what the call returns: obj.{changed[0]} = obj.{function}(x)",
        )


class _Same:
    """The identity of an object as a part of a key, which keeps the object."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value
