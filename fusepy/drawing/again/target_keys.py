"""The targets of draws that come again: the part of them that a program depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fusepy.backend.memory.texture import TEXTURE_CLASSES, image_key, overlap

_LISTS = (list, tuple)
Groups = tuple[Any, Any, Any]  # vertices, indices, instances


class Textures(tuple[Any, ...]):
    """The kinds and sizes of textures that are targets."""

    __slots__ = ()


def key_of_targets(targets: Any) -> Any:
    """Returns the part of the targets that a program depends on; an empty tuple if calls with such targets are not kept."""
    cls = targets.__class__
    if targets is None:
        return None
    if cls is tuple and len(targets) == 2:
        first, second = targets
        if first.__class__ is int and second.__class__ is int:
            return targets
        if first.__class__ is tuple and second.__class__ is str and len(first) == 2:
            return targets if first[0].__class__ is int and first[1].__class__ is int else ()
    listed: Sequence[Any] = targets if cls in _LISTS else (targets,)
    keys = [image_key(one) for one in listed]
    if None in keys or len(set(map(id, listed))) != len(listed):
        return ()
    return Textures(keys)


def filled(targets: Any) -> Any:
    """Returns textures as the destinations of a call."""
    if targets.__class__ not in _LISTS:
        return targets
    return tuple(targets) if len(targets) > 1 else targets[0]


def is_read(targets: Any, groups: Groups, shared: Mapping[str, Any]) -> bool:
    """True if a call reads one of the textures that it draws into, or a view of one."""
    seen = [value for value in (*shared.values(), *groups) if value.__class__ in TEXTURE_CLASSES]
    if not seen:
        return False
    listed: Sequence[Any] = targets if targets.__class__ in _LISTS else (targets,)
    return any(overlap(one, value) for one in listed for value in seen)
