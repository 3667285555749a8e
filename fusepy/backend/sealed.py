"""`Sealed`: a base of objects whose public attributes are not assigned, since what was made of them would not follow."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from fusepy.errors import AssignmentError


class Sealed:
    """A base that refuses assignments from outside: an attribute that nothing reads again would be ignored without a word.

    Names that begin with an underscore are free. Methods of the class set public attributes with `settle`.

    Example:
        >>> class Lens(Sealed):
        ...     assigning = {"": "make another Lens"}
        ...     def __init__(self, focus):
        ...         settle(self, focus=focus)
        >>> Lens(0.5).focus = 2
        Traceback (most recent call last):
        ...
        fusepy.errors.AssignmentError: the attribute 'focus' of a Lens is not assigned
          hint:     make another Lens
    """

    __slots__ = ()
    assigning: ClassVar[Mapping[str, str]] = MappingProxyType({})  # hints by name; "" has that of all other names

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            raise not_assigned(self, name, self.assigning)
        object.__setattr__(self, name, value)


def settle(made: object, **values: Any) -> None:
    """Sets attributes of a sealed object, as its own methods do."""
    for name, value in values.items():
        object.__setattr__(made, name, value)


def not_assigned(made: object, name: str, hints: Mapping[str, str]) -> AssignmentError:
    """Returns the error for an assignment to an attribute of an object.

    Args:
        hints: what to write instead, by the name of the attribute; ``""`` is for others.
    """
    kind = type(made).__name__
    article = "an" if kind[0] in "AEIO" else "a"
    known = hasattr(type(made), name) or name in getattr(made, "__dict__", ())
    what = f"the attribute {name!r} of {article} {kind} is not assigned"
    what = what if known or name in hints else f"{article} {kind} has no attribute {name!r} to assign"
    return AssignmentError(what, hint=hints.get(name, hints.get("", "make another one")))
