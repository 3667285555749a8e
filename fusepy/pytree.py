"""Pytrees: a value as leaves, and the structure around them.

Lists, tuples, named tuples, mappings and dataclasses are containers, to any depth, and so are the classes that are registered.
Everything else is a leaf; ``None`` is a structure without leaves. Parts keep their order: the entries of a dict as they were
inserted, the fields of a dataclass as they are declared. A value that is filled again has the class of the original.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, cast

Parts = Mapping[Any, Any]


@dataclasses.dataclass(frozen=True)
class Container:
    """The access to the parts of a value, one for each class.

    Attributes:
        parts: reads the parts of a value, by key.
        rebuild: makes a value like another one, with other parts under the same keys.
        step: the format of a part in a path, e.g. ``[0]`` or ``.x``.
        entry: the format of a part in the text of a structure.
        cls: the class of the value in structures; by default its own. Structures of a class and its stand-in are equal.
    """

    parts: Callable[[Any], Parts]
    rebuild: Callable[[Any, Parts], Any]
    step: str = "[{0!r}]"
    entry: str = "{1}"
    cls: type | None = None


def _updated(like: Parts, parts: Parts) -> Parts:
    """Returns a copy of a mapping with these entries. A mapping that is not a dict becomes one."""
    copied = copy.copy(like) if isinstance(like, dict) else dict(like)
    copied.update(parts)
    return copied


def _items(value: Sequence[Any]) -> Parts:
    return dict(enumerate(value))


def _replaced(like: Any, parts: Parts) -> Any:
    """Returns a copy with these attributes. ``__init__`` does not run, since it may compute with the values."""
    copied = copy.copy(like)
    for name, part in parts.items():
        object.__setattr__(copied, name, part)
    return copied


def _refreshed(like: Any, parts: Parts) -> Any:
    """Does the same for an object whose state is all in ``__dict__``, in a quarter of the time."""
    copied: Any = object.__new__(like.__class__)
    copied.__dict__.update(like.__dict__, **parts)
    return copied


def attributes(read: Callable[[Any], Parts], rebuild: Callable[[Any, Parts], Any] = _replaced) -> Container:
    """Returns a container of attributes, which `read` takes from a value."""
    return Container(read, rebuild, ".{0}", "{0}={1}")


def reader(names: Sequence[str]) -> Callable[[Any], Parts]:
    """Returns a function that reads these attributes."""
    return lambda value: {name: getattr(value, name) for name in names}


TYPE = "_type"  # the entry of a mapping that names its Slang struct: a part of the structure, and no leaf
ENTRIES = Container(lambda value: value, _updated, entry="{0!r}: {1}")
ITEMS = Container(_items, lambda like, parts: type(like)(parts.values()))
_REGISTERED: dict[type, Container] = {}


def register(cls: type, container: Container) -> None:
    """Registers a class and its subclasses as containers."""
    _REGISTERED[cls] = container


def container_of(value: Any) -> Container | None:
    """Returns the container of a value; ``None`` for a leaf."""
    cls = cast("type[Any]", type(value))
    for base in cls.__mro__:
        if base in _REGISTERED:
            return _REGISTERED[base]
    if isinstance(value, (list, tuple)):
        names = getattr(cls, "_fields", None)
        return ITEMS if names is None else attributes(reader(names), lambda like, parts: like._replace(**parts))
    if isinstance(value, Mapping):
        return ENTRIES
    if not dataclasses.is_dataclass(cls):
        return None
    plain = cls.__new__ is object.__new__ and not any("__slots__" in vars(base) for base in cls.__mro__)
    return attributes(reader([f.name for f in dataclasses.fields(cls)]), _refreshed if plain else _replaced)


@dataclasses.dataclass(frozen=True)
class Structure:
    """A value without its leaves. Two structures are equal if they have the same classes and keys, in the same order.

    Attributes:
        cls: the class of the value.
        keys, parts: the keys of the parts, and their structures.
        leaves: the number of leaves.
        like: the value with ``None`` for each part.
        flat: True if all parts are leaves.
    """

    cls: type
    keys: tuple[Any, ...] = ()
    parts: tuple[Structure, ...] = ()
    leaves: int = 0
    container: Container | None = dataclasses.field(default=None, compare=False)
    like: Any = dataclasses.field(default=None, compare=False)
    flat: bool = dataclasses.field(default=False, compare=False)

    def fill(self, leaves: Iterable[Any]) -> Any:
        """Returns the value that has these leaves."""
        return self._filled(iter(leaves))

    def _filled(self, leaves: Iterator[Any]) -> Any:
        if self.container is None:
            return next(leaves) if self is LEAF else self.like
        parts = islice(leaves, self.leaves) if self.flat else [part._filled(leaves) for part in self.parts]
        if self.container is ITEMS:
            return self.cls(parts)
        return self.container.rebuild(self.like, dict(zip(self.keys, parts)))

    def paths(self, path: str = "") -> list[str]:
        """Returns the paths of the leaves of a value that is named `path`.

        Example:
            >>> flatten((1.0, {"a": 2.0}))[1].paths("c")
            ['c[0]', "c[1]['a']"]
        """
        if self.container is None:
            return [path] * self.leaves
        step = self.container.step
        return [inner for key, part in zip(self.keys, self.parts) for inner in part.paths(path + step.format(key))]

    def __str__(self) -> str:
        if self.container is None:
            return "*" if self is LEAF else repr(self.like)
        first, last = _BRACKETS.get(self.cls, (f"{self.cls.__name__}(", ")"))
        return first + ", ".join(self.container.entry.format(key, part) for key, part in zip(self.keys, self.parts)) + last


_BRACKETS: dict[type, tuple[str, str]] = {list: ("[", "]"), tuple: ("(", ")"), dict: ("{", "}")}
LEAF = Structure(object, leaves=1)
NOTHING = Structure(type(None))


def flatten(value: Any, is_leaf: Callable[[Any], bool] = lambda value: False) -> tuple[list[Any], Structure]:
    """Returns the leaves of a value, and its structure, which can be filled with other leaves.

    Args:
        is_leaf: returns True for a container that counts as a leaf.

    Example:
        >>> leaves, structure = flatten((1.0, [2.0, 3.0], {"a": None}))
        >>> leaves, str(structure), structure.fill("xyz")
        ([1.0, 2.0, 3.0], "(*, [*, *], {'a': None})", ('x', ['y', 'z'], {'a': None}))
    """
    leaves: list[Any] = []
    return leaves, _structure(value, leaves, is_leaf)


def _structure(value: Any, leaves: list[Any], is_leaf: Callable[[Any], bool]) -> Structure:
    if value is None:
        return NOTHING
    container = None if is_leaf(value) else container_of(value)
    if container is None:
        leaves.append(value)
        return LEAF
    first = len(leaves)
    held = container.parts(value)
    named = held.get(TYPE) if is_mapping(value) else None
    parts = tuple([_constant(part) if part is named else _structure(part, leaves, is_leaf) for part in held.values()])
    like = container.rebuild(value, dict.fromkeys(held))
    flat = all(part is LEAF for part in parts)
    cls = container.cls or cast("type[Any]", type(value))
    return Structure(cls, tuple(held), parts, len(leaves) - first, container, like, flat)


def is_mapping(value: Any) -> bool:
    return issubclass(cast("type[Any]", type(value)), Mapping)


def _constant(value: Any) -> Structure:
    """Returns the structure of a part that is always the same."""
    return NOTHING if value is None else Structure(cast("type[Any]", type(value)), (str(value),), like=value)


def several(count: int) -> Structure:
    """Returns the structure of `count` results of a Python function: ``None``, one value, or a tuple."""
    return NOTHING if count == 0 else LEAF if count == 1 else flatten((0,) * count)[1]
