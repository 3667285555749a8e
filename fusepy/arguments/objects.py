"""The state of objects: which attributes a fused method takes as arguments, and which are part of its program."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MemberDescriptorType, SimpleNamespace, WrapperDescriptorType
from typing import Any, cast

import numpy as np

from fusepy.arguments.key import KEYS
from fusepy.backend.marshals.registry import kind_of_class
from fusepy.pytree import Container, container_of

_VALUES = (str, bytes, bool, int, type(None), Enum)  # they may steer Python's control flow, so they are part of the program
_NUMBERS: tuple[type[Any], ...] = (float, complex, np.generic)
_CONTAINERS: tuple[type[Any], ...] = (list, tuple, dict)
_UNTOUCHED = ("fusepy", "slangpy", "numpy", "torch", "jax", "builtins")  # packages whose objects are kept as they are
_DEPTH = 16


def is_method_like(function: Callable[..., Any]) -> bool:
    """True for an object of a user's class with a method ``__call__`` in Python."""
    cls = type(function)
    return callable(function) and isinstance(cls.__call__, FunctionType) and not _untouched(cls)


def _untouched(cls: type) -> bool:
    return (cls.__module__ or "").split(".")[0] in _UNTOUCHED


def split(value: object, path: str, state: dict[str, Any], above: tuple[int, ...] = ()) -> Hashable:
    """Adds the arguments in a value to `state`, by path. Returns the key of the rest."""
    if isinstance(value, _VALUES):
        return (value.__class__, value)
    cls = type(value)
    parts = None if id(value) in above or len(above) > _DEPTH else parts_of(value)
    if parts is not None:
        inside = (*above, id(value))
        key = tuple([(k, split(v, f"{path}.{k}", state, inside)) for k, v in parts.items()])
        return (cls, key) if isinstance(value, _CONTAINERS) else (cls, key, _constants(held_by(cls)))
    if cls in KEYS or kind_of_class(cls) is not None:
        state[path] = value
        return ...
    if isinstance(value, type):
        return _Same(value) if path else (_Same(value), _constants(held_by(value)))
    if maker_of(cls) is not None or callable(value) or _untouched(cls):
        return _Same(value)
    return (_Same(value), _constants(attributes_of(value)), _constants(held_by(cls)))


def parts_of(value: object) -> Mapping[Any, Any] | None:
    """Returns the parts of a container or of an object of a user's class, with private attributes."""
    cls = type(value)
    if isinstance(value, _CONTAINERS) and (container := container_of(value)) is not None:
        return container.parts(value)
    if isinstance(value, type) or (callable(value) and not is_method_like(value)) or maker_of(cls) is None:
        return None
    return attributes_of(value)


def attributes_of(value: object) -> dict[str, Any]:
    """Returns the attributes of an object, in its slots too. Nothing of its class runs, as `__getattr__` would."""
    cls = type(value)
    found: dict[str, Any] = {}
    for name, slot in slots_of(cls).items():
        try:
            found[name] = slot.__get__(value, cls)
        except AttributeError:  # not set
            continue
    try:
        found.update(_reader(cls)(value, "__dict__"))
    except AttributeError:  # slots only
        return found
    return found


@functools.lru_cache(maxsize=256)
def _reader(cls: type) -> Callable[[object, str], Any]:
    """Returns what reads attributes below all methods in Python: that of `object`, or of a class in C, as `threading.local`."""
    known = (vars(base).get("__getattribute__") for base in cls.__mro__)
    return next(found for found in known if isinstance(found, WrapperDescriptorType))


@functools.lru_cache(maxsize=256)
def slots_of(cls: type) -> Mapping[str, MemberDescriptorType]:
    return {name: v for name, v in held_by(cls).items() if isinstance(v, MemberDescriptorType) and name != "__dict__"}


@functools.lru_cache(maxsize=256)
def maker_of(cls: type) -> Callable[[type], Any] | None:
    """Returns a function that makes an object without attributes; ``None`` for kept objects, and for classes written in C."""
    if _untouched(cls):
        return None
    base = cls
    while not isinstance(made := vars(base).get("__new__"), BuiltinFunctionType):
        base = cast("type", base.__base__)
    return made if base in (object, SimpleNamespace) else None


@functools.lru_cache(maxsize=256)
def _own_bases(mro: tuple[type, ...]) -> Sequence[type]:
    return [base for base in reversed(mro) if not _untouched(base)]


def held_by(cls: type) -> dict[str, Any]:
    """Returns all that a user's class and its bases hold, by name."""
    found: dict[str, Any] = {}
    for base in _own_bases(cls.__mro__):
        found.update(vars(base))
    return found


def _constants(held: Mapping[str, Any]) -> tuple[Hashable, ...]:
    """Returns the key of the values that a class holds: a method may read them through the class, so none are arguments."""
    key: list[Hashable] = []
    for name, value in held.items():
        cls = value.__class__
        if name[:2] == "__" or hasattr(cls, "__get__"):  # methods and properties
            continue
        if isinstance(value, _VALUES):
            key.append((name, cls, value))
        elif isinstance(value, _NUMBERS):
            key.append((name, cls, repr(value)))
        elif (found := _constant(value)) is not None:
            key.append((name, found))
    return tuple(key)


def _constant(value: Any, depth: int = 0) -> Hashable:
    """Returns the key of a number, a text, an array or a tensor, and of lists, tuples and dicts of these; else ``None``.

    Arrays are known by identity: a program reads what they hold now.
    """
    cls = value.__class__
    if isinstance(value, _VALUES):
        return (cls, value)
    if isinstance(value, _NUMBERS):
        return (cls, repr(value))  # -0.0 is not 0.0
    container = container_in(value)
    if container is not None:
        parts = container.parts(value)
        found = [_constant(part, depth + 1) for part in parts.values()] if depth < _DEPTH else [None]
        return None if any(part is None for part in found) else (cls, tuple(zip(parts, found)))
    return None if isinstance(value, type) or kind_of_class(cls) is None else _Same(value)


def container_in(value: Any) -> Container | None:
    return container_of(value) if isinstance(value, _CONTAINERS) else None


class _Same:
    """The identity of an object as a part of a key, which keeps the object."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value
