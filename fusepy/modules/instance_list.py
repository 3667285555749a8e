"""`InstanceList`: many objects of a Slang struct, with a tensor for each field."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fusepy.arguments.fields import FIELDS, TYPE, fields_of
from fusepy.arguments.nested import leaves_of
from fusepy.backend.kernels.references import opened
from fusepy.backend.marshals.registry import batch_extents, extents_of
from fusepy.backend.marshals.result_kinds import is_writable
from fusepy.backend.memory.storage import Storage
from fusepy.errors import ArgumentError, did_you_mean
from fusepy.functions.fused import fuse
from fusepy.ir.types import Type
from fusepy.modules.instance_tensor import InstanceTensor, constructed
from fusepy.modules.slang_type import SlangType
from fusepy.modules.struct import bound
from fusepy.pytree import attributes


class InstanceList:
    """A structure of arrays of a Slang struct. It has the methods of the struct; each call runs for all objects.

    Attributes named like fields of the struct are its data: tensors, arrays, single values, or dicts of these. All others
    are plain Python attributes. ``[mutating]`` methods write back to tensors and arrays. Functions take it like any
    nested argument.

    Args:
        struct: the type, e.g. ``m.Particle``.
        data: the values of the fields; they can also be set one by one. A tensor of such structs makes an `InstanceTensor`.

    Raises:
        ArgumentError: for a field that is not in the struct.

    Example:
        >>> import fusepy as fp
        >>> source = "struct Particle { float x, v; [mutating] void step(float dt) { x += v * dt; } };"
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_instances", source)
        >>> particles = InstanceList(m.Particle, {"x": np.zeros(3, np.float32), "v": 2.0})
        >>> particles.step(0.5)
        >>> particles.x
        array([1., 1., 1.], dtype=float32)
    """

    def __new__(cls, struct: SlangType | None = None, data: Any = None) -> Any:
        """A tensor of structs gives an `InstanceTensor`, which has the same methods."""
        return InstanceTensor(struct, data=data) if struct is not None and isinstance(data, Storage) else object.__new__(cls)

    def __init__(self, struct: SlangType, data: Mapping[str, Any] | None = None):  # pyright: ignore[reportInconsistentConstructor]
        self._struct = struct
        self._names = tuple(_fields_of(struct, struct.type))
        for name, value in (data or {}).items():
            if name not in (*self._names, TYPE):
                raise ArgumentError(f"{struct.type} has no field {name!r}", hint=did_you_mean(name, self._names))
            if name != TYPE:
                setattr(self, name, value)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        FIELDS[cls] = attributes(_fields)

    def construct(self, *args: Any, **kwargs: Any) -> InstanceList:
        """Constructs every object with these arguments, and returns the list.

        Raises:
            ArgumentError: if no field is a tensor or an array that can be written to.
        """
        after: list[Callable[[], None]] = []
        given = opened(self, None, after, fields_of)
        paths: dict[str, Any] = {p: v for p, v in leaves_of(given, "this") if is_writable(v)}
        if not paths:
            raise ArgumentError(
                f"construct() of a list of {self._struct.type} without arrays", hint="set its fields to tensors first"
            )
        members = [path.split(".")[1:] for path in paths]

        def parts(whole: Any) -> tuple[Any, ...]:
            return tuple(_member(whole, names) for names in members)

        targets = list(paths.values())
        shape = np.broadcast_shapes(*(self._extents(names, v) for names, v in zip(members, targets)))
        fuse(parts)(constructed(self._struct, shape, args, kwargs), _result=tuple(targets))
        for update in after:
            update()
        return self

    @property
    def _data(self) -> Mapping[str, Any]:
        """The values of the fields by name; slangpy's name of them."""
        return _fields(self)

    def _extents(self, names: list[str], value: Any) -> tuple[int, ...]:
        """Returns the batch extents of a field, without the components of one element."""
        type: Type | None = self._struct.type
        for name in names:
            type = None if type is None else _fields_of(self._struct, type).get(name)
        return extents_of(value) if type is None else batch_extents(value, len(type.shape))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._names:
            raise AttributeError(f"the field {name!r} of this list of {self._struct.type} is not set")
        return bound(self._struct.module, self._struct.type.name, name, self)

    def __repr__(self) -> str:
        return f"InstanceList({self._struct.type}, {_fields(self)!r})"


def _fields_of(struct: SlangType, type: Type) -> dict[str, Type | None]:
    """Returns the fields of a type, as the struct's module sees them."""
    return {p.name: p.type for p in struct.module._oracle.fields(type) or ()}  # pyright: ignore[reportPrivateUsage]


def _member(value: Any, names: Sequence[str]) -> Any:
    for name in names:
        value = getattr(value, name)
    return value


def _fields(value: InstanceList) -> Mapping[str, Any]:
    held = value.__dict__
    return {TYPE: held["_struct"].type.name, **{name: held[name] for name in held["_names"] if name in held}}


FIELDS[InstanceList] = attributes(_fields)
