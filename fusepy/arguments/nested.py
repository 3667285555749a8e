"""Nested arguments: dicts and objects with fields, to any depth, as a tree of leaves.

A leaf is what a marshal takes (a number, an array, a tensor), or one under `vmap`/`vcast`. Slang says which struct a tree is to
become; below that its members are matched to the fields by name. An entry named ``_type`` names the struct.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import NoneType
from typing import Any, cast

from fusepy.arguments.fields import ACCESSORS, TYPE, fields_of, of_dict, of_items
from fusepy.arguments.mapping import Mapped
from fusepy.errors import ArgumentError, FusepyError
from fusepy.ir.argmap import ArgMap
from fusepy.ir.types import Type
from fusepy.symbolic import Symbolic, axes_of

DEPTH = 64  # levels of a nested argument; what is deeper contains itself, or makes new objects as it is read


def check_finite(value: Any, path: str, above: tuple[int, ...] = ()) -> None:
    """Raises `ArgumentError` for a nested argument that contains itself."""
    if isinstance(value, Mapped):
        value = value.value
    accessor = fields_of(value)
    if accessor is None:
        return
    if id(value) in above or len(above) > DEPTH:
        raise ArgumentError(
            f"{path} contains itself" if id(value) in above else f"{path} has more than {DEPTH} levels of fields",
            saw=f"a {type(value).__name__}",
            expected="fields that end in numbers, arrays or tensors",
            hint="leave the reference away, or give it a name that starts with '_', which is not read",
        )
    for name, inner in accessor(value).items():
        if name != TYPE:
            check_finite(inner, f"{path}.{name}", (*above, id(value)))


# ---- the leaves: on every call ---------------------------------------------------------------------------


def collect(value: Any, leaves: list[Any]) -> None:
    """Appends the leaves of a tree, in order; a leaf is its own tree."""
    cls = value.__class__
    accessor = ACCESSORS.get(cls)
    if accessor is None and (cls is list or cls is tuple):
        accessor = fields_of(value)
    if accessor is None:
        if cls is Mapped and is_nested(value):
            below: list[Any] = []
            collect(value.value, below)
            leaves.extend([spread(leaf, value.map) for leaf in below])
        else:
            leaves.append(value)
        return
    for name, inner in accessor(value).items():
        if name != TYPE:
            collect(inner, leaves)


def flat(values: Sequence[Any]) -> list[Any]:
    """The leaves of several arguments, one after the other."""
    leaves: list[Any] = []
    for value in values:
        collect(value, leaves)
    return leaves


def is_nested(value: Any) -> bool:
    """Whether a value is a tree of leaves rather than a leaf."""
    if value.__class__ is Mapped:
        value = value.value
    return fields_of(value) is not None


def spread(leaf: Any, map: ArgMap) -> Any:
    """A leaf under what was said about the whole tree: its axes run along these dimensions.

    A leaf's own words come first, and a list is left alone, since it may well be a vector: say `vmap` for that leaf.
    """
    axes = axes_of(leaf) if isinstance(leaf, Symbolic) else len(getattr(leaf, "shape", ()))
    return leaf if map.dims is None or not axes else Mapped(leaf, ArgMap(map.dims))


# ---- while recording -------------------------------------------------------------------------------------------------


def too_deep(function: str, value: Any, name: str) -> FusepyError:
    """Why reading the fields of an argument did not end."""
    try:
        check_finite(value, name)
    except ArgumentError as error:
        error.what = f"{function}: {error.what}"
        return error
    return ArgumentError(f"{function}: {name} cannot be read: its fields recur", hint="pass fields of numbers, arrays or tensors")


@contextmanager
def naming(function: str) -> Generator[None, None, None]:
    """Errors from inside name the function."""
    try:
        yield
    except FusepyError as error:
        if not error.what.startswith(f"{function}: "):
            error.what = f"{function}: {error.what}"
        raise


@dataclasses.dataclass(frozen=True)
class Tree:
    """A nested argument taken apart once: the name of its struct, if it gives one, and its fields, leaves or trees again."""

    type: str | None
    fields: dict[str, Any]
    listed: bool = False  # a list, whose fields are numbered: an array of fixed size, or a vector

    @staticmethod
    def of(value: Any, path: str) -> Tree | None:
        """The tree of a nested value; ``None`` for a leaf.

        Raises:
            ArgumentError: for field names that are no identifiers, or an empty struct.
        """
        said: ArgMap | None = None
        if isinstance(value, Mapped):
            value, said = value.value, value.map
        accessor = fields_of(value)
        if accessor is None:
            return None
        read = dict(accessor(value))
        named = read.pop(TYPE, None)
        named = getattr(named, "type", named)  # the type of a module, or its name
        if said is not None and said.type is not None:
            named = said.type
        if not isinstance(named, (str, Type, NoneType)):
            raise ArgumentError(
                f"{path}: '{TYPE}' names no struct",
                saw=repr(named)[:60],
                expected="the name of a struct, or a type of a module",
                hint=f"'{TYPE}' is no field; write '{TYPE}': 'Name'",
            )
        wrong = [k for k in read if accessor is not of_items and not (isinstance(cast("Any", k), str) and k.isidentifier())]
        if wrong or not (read or (named and accessor is not of_dict)):  # an object is told which fields it misses
            raise ArgumentError(
                f"{path} is a {type(value).__name__} that names no field" if not read else f"{path} has a field {wrong[0]!r}",
                saw=repr(value)[:60],
                expected="identifiers as keys",
                hint="a dict or object stands for a Slang struct: give its fields by name",
            )
        fields = {k: v if said is None or is_nested(v) else spread(v, said) for k, v in read.items()}
        if said is not None and said.dims is not None:
            fields = {k: Mapped(v, ArgMap(said.dims)) if is_nested(v) else v for k, v in fields.items()}
        return Tree(None if named is None else str(named), fields, accessor is of_items)

    def leaves(self, path: str) -> Iterator[tuple[str, Any]]:
        """Paths and leaves, in the order of `collect`."""
        for name, value in self.fields.items():
            inner = Tree.of(value, f"{path}.{name}")
            if inner is None:
                yield f"{path}.{name}", value
            else:
                yield from inner.leaves(f"{path}.{name}")


def leaves_of(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Paths and leaves of an argument; a leaf is its own."""
    check_finite(value, path)
    tree = Tree.of(value, path)
    return iter([(path, value)]) if tree is None else tree.leaves(path)


def rebuilt(value: Any, leaves: Iterator[Any], said: Callable[[Any, Type], None]) -> Any:
    """A tree like `value` with other leaves, taken in the order of `collect`; of the same class, so that its methods work.

    It is not wrapped: `said` is told of each level that stood under `vcast`, and its type.
    """
    if isinstance(value, Mapped) and is_nested(value.value):
        made = rebuilt(value.value, leaves, said)
        if value.map.type is not None:
            said(made, value.map.type)
        return made
    accessor = fields_of(value)
    if accessor is None:
        return next(leaves)
    read = accessor(value)
    fresh = {k: v if k == TYPE else rebuilt(v, leaves, said) for k, v in read.items()}
    if isinstance(value, Mapping):
        return fresh
    if accessor is of_items:
        return cast("Any", list if isinstance(value, list) else tuple)(fresh.values())
    if isinstance(value, tuple):
        return cast("Any", type(cast("Any", value)))(*fresh.values())
    made = copy.copy(value)
    for name, inner in fresh.items():
        if name != TYPE:
            object.__setattr__(made, name, inner)
    return made
