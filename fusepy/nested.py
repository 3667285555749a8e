"""Nested arguments: dicts and objects with fields, to any depth, as a tree of leaves.

A leaf is what a marshal takes (a number, an array, a tensor), or one under `vmap`/`vcast`. Slang says which struct a tree is to
become; below that its members are matched to the fields by name. An entry named ``_type`` names the struct.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType, NoneType
from typing import Any, cast

import numpy as np

from fusepy.backend.marshals import marshal_of
from fusepy.errors import (
    AmbiguousCallError,
    ArgumentError,
    FusepyError,
    UnknownNameError,
    UnsupportedArgumentError,
    did_you_mean,
)
from fusepy.ir.argmap import ArgMap
from fusepy.ir.oracle import Oracle
from fusepy.ir.refusals import implementing, say_struct
from fusepy.ir.types import Type
from fusepy.mapping import Mapped
from fusepy.nodes import GraphValue
from fusepy.traced import Traced

Fields = Mapping[str, Any]
TYPE = "_type"


def _of_dict(value: dict[Any, Any]) -> Fields:
    return value


def _of_attributes(value: Any) -> Fields:
    """What an object holds itself: no methods, nothing private, and the struct's name where it gives one."""
    return {name: held for name, held in value.__dict__.items() if name[0] != "_" or name == TYPE}


def _of_names(names: Sequence[str]) -> Callable[[Any], Fields]:
    return lambda value: {name: getattr(value, name) for name in names}


def _of_slots(names: Sequence[str]) -> Callable[[Any], Fields]:
    return lambda value: {name: getattr(value, name) for name in names if hasattr(value, name)}


def _under_name(accessor: Callable[[Any], Fields], name: str) -> Callable[[Any], Fields]:
    """The fields of objects whose class says which struct they are: ``_type = "Ray"``."""
    return lambda value: {TYPE: name, **accessor(value)}


ACCESSORS: dict[type, Callable[[Any], Fields]] = {dict: _of_dict}
DEPTH = 64  # levels of a nested argument; what is deeper contains itself, or makes new objects as it is read
_OPAQUE = (str, bytes, type, ModuleType, np.ndarray, np.generic, BaseException, Mapped, Traced, GraphValue)


def fields_of(value: Any) -> Callable[[Any], Fields] | None:
    """What reads the fields of a value's class; ``None`` if the class has none, and its values are leaves."""
    cls = value.__class__
    found = ACCESSORS.get(cls)
    if found is None:
        found = _accessor(value, cls)
        if found is not None:
            named = getattr(cls, TYPE, None)
            ACCESSORS[cls] = found = found if named is None else _under_name(found, named)
    return found


def taken(value: Any) -> bool:
    """Whether a marshal takes values of this class, which are leaves then."""
    try:
        marshal_of(value)
    except UnsupportedArgumentError:
        return False
    return True


def _accessor(value: Any, cls: type) -> Callable[[Any], Fields] | None:
    if isinstance(value, Mapping):
        return _of_dict
    if isinstance(value, tuple):
        names = getattr(cls, "_fields", None)
        return _of_names(names) if names else None
    if dataclasses.is_dataclass(value) and not taken(value):
        return _of_names([f.name for f in dataclasses.fields(value) if not f.name.startswith("_")])
    if isinstance(value, _OPAQUE) or callable(value) or taken(value):
        return None
    if not hasattr(value, "__dict__"):
        slots = _slots(cls)
        return _of_slots(slots) if slots else None
    return _of_attributes if _of_attributes(value) else None


def _slots(cls: type) -> list[str]:
    """The public names that a class and its bases keep in ``__slots__``."""
    kept: list[str | Sequence[str]] = [vars(base).get("__slots__", ()) for base in reversed(cls.__mro__)]
    names = [name for slots in kept for name in ([slots] if isinstance(slots, str) else slots)]
    return [name for name in names if not name.startswith("_")]


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
    accessor = ACCESSORS.get(value.__class__)
    if accessor is None:
        if value.__class__ is Mapped and value.value.__class__ in ACCESSORS:
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
    axes = leaf._value.rank if isinstance(leaf, Traced) else len(getattr(leaf, "shape", ()))  # pyright: ignore[reportPrivateUsage]
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
        wrong = [k for k in read if not (isinstance(cast("Any", k), str) and k.isidentifier())]
        if wrong or not (read or (named and accessor is not _of_dict)):  # an object is told which fields it misses
            raise ArgumentError(
                f"{path} is a {type(value).__name__} that names no field" if not read else f"{path} has a field {wrong[0]!r}",
                saw=repr(value)[:60],
                expected="identifiers as keys",
                hint="a dict or object stands for a Slang struct: give its fields by name",
            )
        fields = {k: v if said is None or is_nested(v) else spread(v, said) for k, v in read.items()}
        if said is not None and said.dims is not None:
            fields = {k: Mapped(v, ArgMap(said.dims)) if is_nested(v) else v for k, v in fields.items()}
        return Tree(None if named is None else str(named), fields)

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
    if isinstance(value, tuple):
        return cast("Any", type(cast("Any", value)))(*fresh.values())
    made = copy.copy(value)
    for name, inner in fresh.items():
        if name != TYPE:
            object.__setattr__(made, name, inner)
    return made


def struct_type(oracle: Oracle, tree: Tree, path: str, candidates: Sequence[Type | None], place: str | None) -> Type:
    """The struct that a nested argument is to become: the one it names, or the candidate that has its fields.

    Raises:
        UnknownNameError: if it names a struct that Slang does not know.
        ArgumentError: if no candidate has these fields.
        AmbiguousCallError: if several have.
    """
    names = set(tree.fields)
    interface = next(((c, t) for c in candidates if c is not None and (t := oracle.conforming(c)) is not None), None)
    if tree.type is not None:
        try:
            type = Type.parse(tree.type)
        except FusepyError as error:
            error.what = f"{path}: {error.what}"
            raise error.at(place) from None
        if oracle.fields(type) is None:
            known = [c.name for c in (candidates if interface is None else interface[1]) if c is not None]
            raise UnknownNameError(f"{path}: there is no struct {tree.type!r}", place=place, hint=did_you_mean(tree.type, known))
        return type
    if interface is not None:
        raise ArgumentError(
            f"{path} is given by fields, and {interface[0]} is an interface",
            place=place,
            saw=", ".join(tree.fields),
            expected=implementing(*interface),
            hint=say_struct(interface[1]),
        )
    structs = {c: [p.name for p in oracle.fields(c) or ()] for c in candidates if c is not None}
    fits = [c for c, fields in structs.items() if set(fields) == names]
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise AmbiguousCallError(
            f"{path}: several structs have these fields",
            place=place,
            saw=", ".join(tree.fields),
            expected=" or ".join(map(str, fits)),
            hint=" or ".join(f"add '_type': '{c}'" for c in fits),
        )
    open_ones = [c for c, fields in structs.items() if fields]
    if len(open_ones) == 1:
        return open_ones[0]  # the struct itself says what is missing
    if not structs:
        raise ArgumentError(
            f"{path} is given by fields, and its parameter is generic or an interface",
            place=place,
            saw=", ".join(tree.fields),
            expected="the name of a struct",
            hint=say_struct(()),
        )
    raise ArgumentError(
        f"{path} is given by fields" + (", and no overload has these" if open_ones else ", where Slang takes no struct"),
        place=place,
        saw=", ".join(tree.fields),
        expected=" or ".join(f"{c} {{ {', '.join(structs[c])} }}" for c in open_ones) or " or ".join(str(c) for c in structs),
        hint=_nearest_field(names, structs) if open_ones else "pass a value instead of fields",
    )


def _nearest_field(names: Iterable[str], structs: Mapping[Type, Sequence[str]]) -> str:
    """What to do about fields that no overload has."""
    known = {field for fields in structs.values() for field in fields}
    unknown = sorted(set(names) - known)
    return did_you_mean(unknown[0], known) if unknown else "give every field of one of them"
