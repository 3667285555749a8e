"""`DictFields`: a dict of traced values whose entries are attributes too, as the fields of a traced struct are."""

from __future__ import annotations

from typing import Any

from fusepy.arguments.fields import fields_of
from fusepy.arguments.mapped import Mapped
from fusepy.errors import UnknownNameError, did_you_mean
from fusepy.pytree import ENTRIES, Container, Parts, register
from fusepy.symbolic import Symbolic


class DictFields(dict[Any, Any]):
    """A dict argument inside a trace. ``r.position`` and ``r["position"]`` are the same entry.

    A name that dicts have, such as ``items``, stays the dict's own. A result is a plain dict again.
    """

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        if name.startswith("__"):  # Python looks up special methods: these are no fields
            raise AttributeError(f"'dict' object has no attribute {name!r}")
        known = [key for key in self if isinstance(key, str)]
        raise UnknownNameError(f"this dict has no field {name!r}", saw=name, hint=did_you_mean(name, known))

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def copy(self) -> DictFields:
        return DictFields(self)


def with_attributes(value: Any) -> Any:
    """Returns a dict as `DictFields`, also one under `vmap`; other values unchanged. Subclasses of dict stay as they are."""
    if isinstance(value, Mapped):
        return Mapped(with_attributes(value.value), value.map)
    return DictFields(value) if value.__class__ is dict else value


def _rebuilt(like: Any, parts: Parts) -> Any:
    """Returns a dict with these entries; as `DictFields` only where it holds traced values."""
    made = {**like, **parts}
    for part in parts.values():
        if isinstance(part, (Symbolic, Mapped, DictFields)):
            return DictFields(made)
    return made


register(DictFields, Container(lambda value: value, _rebuilt, entry=ENTRIES.entry, cls=dict))
fields_of(DictFields())  # so that `flat` knows the class, which no argument has
