"""Copies of objects, with traced values for their arguments: what a fused method reads while it is traced."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from fusepy.arguments.objects import attributes_of, container_in, held_by, maker_of, parts_of, slots_of
from fusepy.errors import TraceError
from fusepy.symbolic import Symbolic


def filled(value: Any, path: str, traced: Mapping[str, Any], made: list[Copied]) -> Any:
    """Returns a value like this one with traced arguments; objects are copied, so that their methods work."""
    if path in traced:
        return traced[path]
    if path and not any(p.startswith(f"{path}.") for p in traced):
        return value
    held = parts_of(value)
    if held is None:
        made.append(Copied.of(value, _own(value)))
        return value
    parts = {k: filled(v, f"{path}.{k}", traced, made) for k, v in held.items()}
    container = container_in(value)
    if container is not None:
        return container.rebuild(value, parts)
    cls = cast("type[Any]", type(value))
    slots, new = slots_of(cls), maker_of(cls)
    assert new is not None, "an object with parts can be made"
    copied = new(cls)
    for name in slots.keys() & parts.keys():
        slots[name].__set__(copied, parts[name])
    if cls.__dictoffset__:
        object.__getattribute__(copied, "__dict__").update((n, part) for n, part in parts.items() if n not in slots)
    made.append(Copied.of(copied, parts))
    return copied


class Copied(NamedTuple):
    """The object that a method reads while it is traced: a copy, or itself if it cannot be copied, with its old contents."""

    value: Any
    cls: type
    parts: Mapping[str, Any]
    shared: Mapping[str, Any]

    @staticmethod
    def of(value: Any, parts: Mapping[str, Any]) -> Copied:
        cls = value if isinstance(value, type) else type(value)
        return Copied(value, cls, parts, held_by(cls))

    def check_unchanged(self, function: str) -> None:
        """Raises `TraceError` if a method has assigned an attribute: the object would not get it."""
        shared, name = held_by(self.cls), self.cls.__name__
        for attribute, now in shared.items():
            if isinstance(now, Symbolic) and now is not self.shared.get(attribute):
                self._take_back(attribute)
                raise _assigned(function, f"{name}.{attribute}", f"{name}.{attribute} = obj.{function}(x)")
        kept = functools.cached_property  # which keeps what it computes as an attribute
        for attribute, now in _own(self.value).items():
            if now is not self.parts.get(attribute, self) and not isinstance(shared.get(attribute), kept):
                raise _assigned(function, f"self.{attribute}", f"obj.{attribute} = obj.{function}(x)")

    def _take_back(self, name: str) -> None:
        """Gives the class what it held before: it is no copy."""
        owner = next(base for base in self.cls.__mro__ if name in vars(base))
        delattr(owner, name)
        if name in self.shared and held_by(self.cls).get(name) is not self.shared[name]:
            setattr(owner, name, self.shared[name])


def _own(value: Any) -> dict[str, Any]:
    return {} if isinstance(value, type) else attributes_of(value)


def _assigned(function: str, what: str, instead: str) -> TraceError:
    hint = f"return it, and assign what the call returns: {instead}"
    return TraceError(f"{function}() assigns {what}, which is a value of the trace", hint=hint)
