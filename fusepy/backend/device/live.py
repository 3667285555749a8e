"""`Live`: a set of weak references that threads can extend while others iterate. The devices are one."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Live(Generic[T]):
    """Weak references to objects, in insertion order.

    `weakref.WeakSet` raises if a thread adds an object while another one iterates. Here iteration starts with a copy, which
    CPython makes in one step. No lock is taken, because objects also end inside a garbage collection, on any thread.

    Example:
        >>> class Thing:
        ...     pass
        >>> live, thing = Live(), Thing()
        >>> live.add(thing)
        >>> [found is thing for found in live]
        [True]
        >>> del thing
        >>> list(live)
        []
    """

    def __init__(self) -> None:
        self._references: dict[weakref.ref[T], None] = {}

    def add(self, thing: T) -> None:
        """Adds a hashable object, once."""
        references = self._references
        references[weakref.ref(thing, lambda gone: references.pop(gone, None))] = None

    def __iter__(self) -> Iterator[T]:
        return iter([thing for reference in list(self._references) if (thing := reference()) is not None])

    def clear(self) -> None:
        self._references.clear()


OPEN: Live[Any] = Live()  # devices, also closed ones


def open_devices() -> list[Any]:
    """Returns the open devices of this process."""
    return [device for device in OPEN if device.is_open]
