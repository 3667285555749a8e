"""Nested arguments: values with fields, to any depth, as a tree of leaves.

A leaf is a value that a marshal takes (a number, an array, a tensor), or one under `vmap`/`vcast`. Slang decides which struct a
tree becomes; the struct's members are matched to the fields by name. The entry ``_type`` names the struct.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import NoneType
from typing import Any

from fusepy.arguments.fields import FIELDS, TYPE, fields_of
from fusepy.arguments.mapped import Mapped
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import ArgumentError, FusepyError
from fusepy.ir.types import Type
from fusepy.pytree import ITEMS, Container

DEPTH = 64  # levels of a nested argument; a deeper one contains itself, or makes new objects on every read


def check_finite(value: Any, path: str, above: tuple[int, ...] = ()) -> None:
    """Raises `ArgumentError` for a nested argument that contains itself."""
    value, _ = bare(value)
    container = fields_of(value)
    if container is None:
        return
    if id(value) in above or len(above) > DEPTH:
        raise ArgumentError(
            f"{path} contains itself" if id(value) in above else f"{path} has more than {DEPTH} levels of fields",
            saw=f"a {type(value).__name__}",
            expected="fields that end in numbers, arrays or tensors",
            hint="remove the reference, or give it a name that starts with '_', which is not read",
        )
    for name, inner in container.parts(value).items():
        if name != TYPE:
            check_finite(inner, f"{path}.{name}", (*above, id(value)))


# ---- the leaves: on every call ---------------------------------------------------------------------------


def collect(value: Any, leaves: list[Any]) -> None:
    """Appends the leaves of a tree, in order; a leaf is its own tree."""
    cls = value.__class__
    container = FIELDS.get(cls)
    if container is None and (cls is list or cls is tuple or cls is Mapped):
        container = fields_of(value)
    if container is None:
        leaves.append(value)
        return
    for name, inner in container.parts(value).items():
        if inner.__class__ is Tensor:
            leaves.append(inner)
        elif name != TYPE:
            collect(inner, leaves)


def flat(values: Sequence[Any]) -> list[Any]:
    """Returns the leaves of several arguments, one after the other."""
    leaves: list[Any] = []
    for value in values:
        if value.__class__ is Tensor:
            leaves.append(value)
        else:
            collect(value, leaves)
    return leaves


def refilled(value: Any, leaves: Iterator[Any]) -> Any:
    """Returns a value like this one with other leaves, in the order of `collect`. Mappings stay."""
    if value.__class__ is Mapped:
        return Mapped(refilled(value.value, leaves), value.map)
    container = fields_of(value)
    if container is None:
        return next(leaves)
    return container.rebuild(value, {k: refilled(inner, leaves) for k, inner in container.parts(value).items() if k != TYPE})


def opened(value: Any) -> Any:
    """Returns a nested value under a `vmap` as the value with each leaf under it; other values, and structs, as they are."""
    container = fields_of(value) if isinstance(value, Mapped) and value.map.type is None else None
    if container is not None:
        check_finite(value, "a value under vmap")
    return value if container is None else container.rebuild(value, {k: opened(v) for k, v in container.parts(value).items()})


def is_nested(value: Any) -> bool:
    """True if a value has fields; False for a leaf."""
    return fields_of(value) is not None


# ---- while recording -------------------------------------------------------------------------------------------------


def too_deep(function: str, value: Any, name: str) -> FusepyError:
    """Returns the error for an argument whose fields do not end."""
    try:
        check_finite(value, name)
    except ArgumentError as error:
        error.what = f"{function}: {error.what}"
        return error
    return ArgumentError(f"{function}: {name} cannot be read: its fields recur", hint="pass fields of numbers, arrays or tensors")


@contextmanager
def naming(function: str) -> Generator[None, None, None]:
    """Adds the name of the function to errors from inside."""
    try:
        yield
    except FusepyError as error:
        if not error.what.startswith(f"{function}: "):
            error.what = f"{function}: {error.what}"
        raise


@dataclass(frozen=True)
class Tree:
    """One level of a nested argument.

    Attributes:
        type: the name of its struct, if it gives one.
        fields: by name: leaves, or values with fields of their own.
        container: rebuilds a value of the same class from other fields, so that its methods work.
        listed: True for a list, whose fields are numbered: an array of fixed size, or a vector.
    """

    type: str | None
    fields: Mapping[str, Any]
    container: Container
    listed: bool

    @staticmethod
    def of(value: Any, path: str) -> Tree | None:
        """Returns the tree of a nested value; ``None`` for a leaf.

        Raises:
            ArgumentError: for field names that are not identifiers, or an empty struct.
        """
        container = fields_of(value)
        if container is None:
            return None
        read = dict(container.parts(value))
        named = read.pop(TYPE, None)
        named = getattr(named, "type", named)  # the type of a module, or its name
        if not isinstance(named, (str, Type, NoneType)):
            raise ArgumentError(
                f"{path}: '{TYPE}' names no struct",
                saw=repr(named)[:60],
                expected="the name of a struct, or a type of a module",
                hint=f"'{TYPE}' is no field; write '{TYPE}': 'Name'",
            )
        inner, _ = bare(value)
        kind = fields_of(inner)
        wrong = [k for k in read if kind is not ITEMS and not (isinstance(k, str) and k.isidentifier())]
        if wrong or not (read or named):
            raise ArgumentError(
                f"{path} is a {type(inner).__name__} that names no field" if not read else f"{path} has a field {wrong[0]!r}",
                saw=repr(inner)[:60],
                expected="identifiers as keys",
                hint="a dict or object stands for a Slang struct: give its fields by name",
            )
        return Tree(None if named is None else str(named), {str(k): v for k, v in read.items()}, container, kind is ITEMS)

    def leaves(self, path: str) -> Iterator[tuple[str, Any]]:
        """Yields paths and leaves, in the order of `collect`."""
        for name, value in self.fields.items():
            inner = Tree.of(value, f"{path}.{name}")
            if inner is None:
                yield f"{path}.{name}", value
            else:
                yield from inner.leaves(f"{path}.{name}")


def bare(value: Any) -> tuple[Any, Type | None]:
    """Returns a value without its mapping, and the type of its `vcast`."""
    type = None
    while isinstance(value, Mapped):
        value, type = value.value, type or value.map.type
    return value, type


def leaves_of(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Returns the paths and leaves of an argument, which may be a leaf itself."""
    check_finite(value, path)
    tree = Tree.of(value, path)
    return iter([(path, value)]) if tree is None else tree.leaves(path)
