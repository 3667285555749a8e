"""`Live`: a set of what is alive, for threads that add to it while others go through it."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Live(Generic[T]):
    """Weak references to things, in the order in which they were added.

    `weakref.WeakSet` raises where a thread adds to it while another one goes through it. Here going through starts with a copy,
    which CPython makes in one step, and no lock is taken: things also end inside a collection, on any thread.

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
        """Adds a thing that can be hashed, unless it is there."""
        references = self._references
        references[weakref.ref(thing, lambda gone: references.pop(gone, None))] = None

    def __iter__(self) -> Iterator[T]:
        return iter([thing for reference in list(self._references) if (thing := reference()) is not None])

    def clear(self) -> None:
        self._references.clear()
