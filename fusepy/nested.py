"""Nested arguments: dicts and objects with fields, to any depth, as a tree of leaves.

A leaf is what a marshal takes (a number, an array, a tensor), or one under `vmap`/`vcast`. Slang says which struct a tree is to
become; below that its members are matched to the fields by name. An entry named ``_type`` names the struct.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np

from fusepy.backend.marshals import marshal_of
from fusepy.errors import AmbiguousCallError, ArgumentError, UnknownNameError, UnsupportedArgumentError, did_you_mean
from fusepy.ir.argmap import ArgMap
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import Type
from fusepy.mapping import Mapped

Fields = Mapping[str, Any]
TYPE = "_type"


def _of_dict(value: dict[Any, Any]) -> Fields:
    return value


def _of_attributes(value: Any) -> Fields:
    """What an object holds itself: no methods, nothing private, and the struct's name where it gives one."""
    held = cast("dict[str, Any]", vars(value))
    found = {k: v for k, v in held.items() if not k.startswith("_")}
    named = getattr(value, TYPE, None)
    return {TYPE: named, **found} if isinstance(named, str) else found


def _of_names(names: Sequence[str]) -> Callable[[Any], Fields]:
    return lambda value: {name: getattr(value, name) for name in names}


ACCESSORS: dict[type, Callable[[Any], Fields]] = {dict: _of_dict}
_OPAQUE = (str, bytes, type, np.ndarray, np.generic, BaseException)


def fields_of(value: Any) -> Callable[[Any], Fields] | None:
    """What reads the fields of a value's class; ``None`` if the class has none, and its values are leaves."""
    cls = value.__class__
    found = ACCESSORS.get(cls)
    if found is None:
        found = _accessor(value, cls)
        if found is not None:
            ACCESSORS[cls] = found
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
    if isinstance(value, _OPAQUE) or callable(value) or not hasattr(value, "__dict__"):
        return None
    if taken(value):
        return None
    return _of_attributes if _of_attributes(value) else None


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
    if map.dims is None or not getattr(leaf, "shape", ()):
        return leaf
    return Mapped(leaf, ArgMap(map.dims))


# ---- while recording -------------------------------------------------------------------------------------------------


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
        named = getattr(named, "type", named)
        if said is not None and said.type is not None:
            named = said.type
        wrong = [k for k in read if not (isinstance(cast("Any", k), str) and k.isidentifier())]
        if wrong or not read:
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
    tree = Tree.of(value, path)
    return iter([(path, value)]) if tree is None else tree.leaves(path)


def rebuilt(value: Any, leaves: Iterator[Any]) -> Any:
    """A tree like `value` with other leaves, taken in the order of `collect`; of the same class, so that its methods work."""
    if isinstance(value, Mapped) and is_nested(value.value):
        value = value.value
    accessor = fields_of(value)
    if accessor is None:
        return next(leaves)
    read = accessor(value)
    fresh = {k: v if k == TYPE else rebuilt(v, leaves) for k, v in read.items()}
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
    if tree.type is not None:
        type = Type.parse(tree.type)
        if oracle.fields(type) is None:
            known = [c.name for c in candidates if c is not None]
            raise UnknownNameError(f"{path}: there is no struct {tree.type!r}", place=place, hint=did_you_mean(tree.type, known))
        return type
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
    raise ArgumentError(
        f"{path} is given by fields" + (", and no overload has these" if open_ones else ", where Slang takes no struct"),
        place=place,
        saw=", ".join(tree.fields),
        expected=" or ".join(f"{c} {{ {', '.join(structs[c])} }}" for c in open_ones)
        or " or ".join(str(c) for c in structs)
        or "a generic parameter",
        hint="name the struct: {'_type': 'Ray', …}" if not structs else "check the names of the fields",
    )


class Batchable:
    """A list as a batch: its elements run along the grid, whatever the parameter could take whole.

    ``Batchable([1, 2, 3])`` is a batch of three numbers; of dicts or objects with equal fields it makes one nested argument
    with a batch in every field.

    Raises:
        ArgumentError: for elements whose fields differ, and for what is no list.

    Example:
        >>> Batchable([1.0, 2.0])
        [1.0, 2.0] vmap(d0)
        >>> Batchable([{"x": 1, "y": 2}, {"x": 3, "y": 4}])
        {'x': [1, 3] vmap(d0), 'y': [2, 4] vmap(d0)}
    """

    def __new__(cls, items: Sequence[Any]) -> Any:
        if not isinstance(cast("Any", items), (list, tuple)) or not items:
            if hasattr(items, "shape"):
                return items  # a tensor is batched by itself
            raise ArgumentError("Batchable takes a list", saw=repr(items)[:60], hint="wrap the list of values: Batchable([a, b])")
        return _transposed(list(items), "Batchable")


def _transposed(items: list[Any], path: str) -> Any:
    trees = [Tree.of(item, path) for item in items]
    first = trees[0]
    if first is None:
        if any(t is not None for t in trees):
            raise ArgumentError(f"{path}: some elements have fields and others have none", hint="give every element one shape")
        return Mapped([i.tolist() if isinstance(i, np.ndarray) else i for i in items], ArgMap((0,)))
    for i, tree in enumerate(trees):
        if tree is None or tree.fields.keys() != first.fields.keys() or tree.type != first.type:
            raise ArgumentError(
                f"{path}: element {i} has other fields than element 0",
                saw=", ".join(tree.fields) if tree else repr(items[i])[:40],
                expected=", ".join(first.fields),
                hint="a batch holds structs of one kind",
            )
    named = {} if first.type is None else {TYPE: first.type}
    return named | {
        name: _transposed([t.fields[name] for t in trees if t is not None], f"{path}.{name}") for name in first.fields
    }


def is_batchable_like(value: Any) -> bool:
    """Whether a value is batched by itself: any array or tensor, and what `Batchable` made, but no bare list.

    Example:
        >>> is_batchable_like(np.zeros(3)), is_batchable_like([1, 2, 3])
        (True, False)
    """
    if isinstance(value, Mapped):
        return value.map.dims is not None
    return bool(getattr(value, "shape", ()))
