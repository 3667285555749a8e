"""`Sealed`: a base of objects whose public attributes users do not assign, since what was made of them would not follow."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

from fusepy.errors import AssignmentError
from fusepy.location import is_users

_T = TypeVar("_T")


class Sealed:
    """A base that refuses assignments to public attributes by code of the user, which nothing would read again.

    Properties with a setter are assigned, and so are names that begin with an underscore. A class of the user's that derives from
    one of fusepy's has attributes of its own.

    Example:
        >>> import fusepy as fp
        >>> fp.Camera((0, 0, 2), (0, 0, 0)).fov = 60
        Traceback (most recent call last):
        ...
        fusepy.errors.AssignmentError: <doctest fusepy.backend.sealed.Sealed[1]>:1: a Camera has no attribute 'fov' to assign
          hint:     make another one: fp.Camera(position, target, fov=45)
    """

    __slots__ = ()
    _free: ClassVar[Collection[str]] = ()  # attributes that are assigned, since every use reads them
    _assigning: ClassVar[Mapping[str, str]] = MappingProxyType({})  # hints by the name that is assigned; "" has that of others

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and is_users(sys._getframe(1)):  # pyright: ignore[reportPrivateUsage]
            free = name in self._free or getattr(getattr(type(self), name, None), "fset", None) is not None
            if not free and is_fusepys(type(self)):
                raise not_assigned(self, name, self._assigning)
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        if not name.startswith("_") and is_users(sys._getframe(1)) and _is_own(self, name):  # pyright: ignore[reportPrivateUsage]
            raise not_deleted(self, name)
        object.__delattr__(self, name)

    def __setstate__(self, state: Any) -> None:
        """Fills a copy. `pickle` would assign to the slots from the frame of its caller, as the user does."""
        attributes: dict[str, Any] | None = state[0] if state.__class__ is tuple else state
        slots: dict[str, Any] = state[1] if state.__class__ is tuple else {}
        if attributes:
            vars(self).update(attributes)
        for name, value in slots.items():
            object.__setattr__(self, name, value)


def sealed(cls: type[_T]) -> type[_T]:
    """Decorates a frozen dataclass: its errors for an assignment and a deletion by code of the user have a hint."""
    frozen, kept = cls.__setattr__, cls.__delattr__

    def assign(self: Any, name: str, value: Any) -> None:
        if not name.startswith("_") and is_users(sys._getframe(1)) and is_fusepys(self.__class__):  # pyright: ignore[reportPrivateUsage]
            raise not_assigned(self, name, getattr(cls, "_assigning", {}))
        frozen(self, name, value)

    def delete(self: Any, name: str) -> None:
        if not name.startswith("_") and is_users(sys._getframe(1)) and _is_own(self, name):  # pyright: ignore[reportPrivateUsage]
            raise not_deleted(self, name)
        kept(self, name)

    setattr(cls, "__setattr__", assign)  # noqa: B010  # dataclasses refuse one in the class
    setattr(cls, "__delattr__", delete)  # noqa: B010
    return cls


def is_fusepys(cls: type) -> bool:
    """True for a class of fusepy's; a user's class that derives from one has attributes of its own."""
    return cls.__module__.partition(".")[0] == "fusepy"


def _is_own(made: object, name: str) -> bool:
    """True for an attribute that fusepy has given an object; classes of the user's have others."""
    own = [cls for cls in type(made).__mro__ if is_fusepys(cls)]
    if type(made) in own and name in getattr(made, "__dict__", ()):
        return True
    return any(name in vars(cls) or name in getattr(cls, "_free", ()) for cls in own)


def not_assigned(made: object, name: str, hints: Mapping[str, str]) -> AssignmentError:
    """Returns the error for an assignment to an attribute of an object.

    Args:
        hints: what to write instead, by the name of the attribute; ``""`` is for others.
    """
    kind = _kind(made)
    known = hasattr(type(made), name) or name in getattr(made, "__dict__", ())
    what = f"the attribute {name!r} of {kind} is not assigned"
    return AssignmentError(
        what if known else f"{kind} has no attribute {name!r} to assign",
        hint=hints.get(name) or hints.get("") or "make another one with its constructor",
    )


def not_deleted(made: object, name: str) -> AssignmentError:
    """Returns the error for the deletion of an attribute of an object."""
    hint = "leave out the del: what uses the object reads this attribute"
    return AssignmentError(f"the attribute {name!r} of {_kind(made)} is not deleted", hint=hint)


def _kind(made: object) -> str:
    kind = type(made).__name__
    return f"{'an' if kind[0] in 'AEIO' else 'a'} {kind}"
