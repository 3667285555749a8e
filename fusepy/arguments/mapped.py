"""`Mapped`: a value with its mapping."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fusepy.errors import ArgumentError, UnknownNameError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.types import Kind, Type
from fusepy.symbolic import Numberless


class Mapped(Numberless):
    """A value with its mapping; made by `vmap` and `vcast`.

    Operators work element by element under these mappings, as fusepy's functions do: ``vmap(a, 0) == vmap(b, 1)`` compares each
    of `a` with each of `b` (`elementwise` adds them to the class). Operations that need a Python number raise `ArgumentError`.
    """

    __slots__ = ("map", "value")

    def __init__(self, value: Any, map: ArgMap):
        self.value = value
        self.map = map

    def __repr__(self) -> str:
        return f"{self.value!r} {self.map}"

    def _refuse(self, what: str, hint: str) -> ArgumentError:
        return ArgumentError(f"{what} of a mapped value", saw=repr(self)[:80], hint=hint)

    def __bool__(self) -> bool:
        raise self._refuse("the truth", "compare with operators and choose with fusepy.where(condition, a, b)")

    def __hash__(self) -> int:
        raise self._refuse("the hash", "use the value itself; a mapping is for the call that it is passed to")

    def __iter__(self) -> Iterator[Any]:
        raise self._refuse("iteration", "take its elements before vmap or vcast")

    def __len__(self) -> int:
        raise self._refuse("len()", "ask the value itself, before vmap or vcast")

    def __getitem__(self, index: Any) -> Any:
        raise self._refuse("an index", "index the value before vmap or vcast")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # protocols that look for special methods
            raise AttributeError(f"'Mapped' object has no attribute {name!r}")
        raise UnknownNameError(f"a mapped value has no {name!r}", saw=repr(self)[:80], hint=f"write vmap(value.{name}, …)")

    def __float__(self) -> float:
        raise self._refuse("float()", "use the value itself, before vmap or vcast")

    def __int__(self) -> int:
        raise self._refuse("int()", "use the value itself, before vmap or vcast")


class Taken(Mapped):
    """A traced value cast to its own type. A call takes it as exactly that type, and a Python number keeps it."""

    __slots__ = ()
    __hash__ = object.__hash__

    def _fusepy_cast(self, type: Type, spec: Any = None) -> Any:
        if type is self.value.type:
            return self
        number = self.value.is_weak and self.value.type.kind is Kind.SCALAR  # one of Python's, which the first cast makes typed
        value = self.value._fusepy_cast(self.value.type) if number else self.value
        return value._fusepy_cast(type, spec)

    def _fusepy_element(self) -> Any:
        return self

    def _said(self) -> Any:
        """The value, with the cast recorded if it is computed of Python's numbers: its components have the type for good."""
        return self.value._fusepy_cast(self.value.type) if self.value.is_weak else self.value

    def __getitem__(self, index: Any) -> Any:
        return self._said()._fusepy_element()[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._said()._fusepy_element())

    def __len__(self) -> int:
        return len(self.value._fusepy_element())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in ("check", "rank", "type"):
            return getattr(self.value, name)
        return self.value._fusepy_member(name, self)  # of a number under its cast


def _of_value(name: str) -> Callable[..., Any]:
    def ask(self: Taken, *args: Any) -> Any:
        return getattr(self.value, name)(*args)

    return ask


# operations that `Mapped` refuses go to the value; operators are those of mapped values, which keep the cast
for _name, _method in [*vars(Numberless).items(), *vars(Mapped).items()]:
    if (
        _name.startswith("__")
        and callable(_method)
        and _name not in ("__init__", "__getattr__", "__setattr__", "__repr__", "__hash__", "__getitem__", "__iter__", "__len__")
    ):
        setattr(Taken, _name, _of_value(_name))


def unmapped(value: Any) -> Any:
    """Returns a value without its `vmap` and `vcast`."""
    return value.value if isinstance(value, Mapped) else value
