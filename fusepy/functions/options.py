"""Parsers of the options of a function: thread groups, link-time constants, type conformances."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from fusepy.backend.device.open import as_device
from fusepy.backend.kernels.values import shown
from fusepy.backend.sources.closure import bare
from fusepy.backend.sources.reachable import texts_of
from fusepy.backend.sources.source import ModuleSource
from fusepy.errors import ArgumentError, InvalidNameError, UnknownNameError, UnsupportedArgumentError, did_you_mean
from fusepy.ir.names import check_identifier
from fusepy.ir.ranges import check_range
from fusepy.ir.types import BOOL, Type

_EXTERN = re.compile(r"\bextern\s+(?:static\s+)?const\s+([\w<>, ]+?)\s+(\w+)\s*[;=]")


def thread_group(group: Any, what: str, device: Any) -> tuple[int, ...]:
    """Returns ``numthreads`` as one to three numbers.

    Raises:
        ArgumentError: for anything else, or more threads than a group can have.
    """
    numbers = integers(group)
    whole = all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n > 0 for n in numbers)
    if not 1 <= len(numbers) <= 3 or not whole:
        raise ArgumentError(
            f"{what}: numthreads takes one to three positive integers", saw=shown(group), hint="write numthreads=[16, 16]"
        )
    found = tuple(int(n) for n in numbers)
    limits = as_device(device).raw.info.limits if device is not None else None
    most = limits.max_compute_threads_per_group if limits is not None else 1024
    axes = [*limits.max_compute_thread_group_size] if limits is not None else [1024, 1024, 64]
    if math.prod(found) > most or any(n > m for n, m in zip(found, axes)):
        raise ArgumentError(
            f"{what}: a group cannot have {'x'.join(map(str, found))} threads",
            saw=math.prod(found),
            expected=f"at most {most}, and {'x'.join(str(int(a)) for a in axes)} along the axes",
            hint="take a smaller numthreads",
        )
    return found


def truth(given: Any, what: str, name: str) -> bool:
    """Returns a bool.

    Raises:
        ArgumentError: for anything else.
    """
    if not isinstance(given, bool):
        raise ArgumentError(f"{what}: {name} is True or False", saw=shown(given), hint=f"write {name}=True")
    return given


def by_name(given: Any, named: Mapping[str, Any], what: str, example: str) -> dict[str, Any]:
    """Merges options from a dict and from keywords.

    Raises:
        ArgumentError: for anything but a dict of names, or a name that occurs twice.
    """
    table: Mapping[Any, Any] = {} if given is None else given
    if not isinstance(table, Mapping) or not all(isinstance(name, str) for name in table):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"{what} takes names with values", saw=shown(given), hint=f"write {example}, or keywords")
    doubled = [name for name in table if name in named]
    if doubled:
        raise ArgumentError(f"{what} got {doubled[0]!r} twice", hint="give it in the dict or by keyword")
    return {**table, **named}


def integers(given: Any) -> tuple[Any, ...]:
    """Returns a number, a sequence of them, or slangpy's ``uint3`` as a tuple; an empty tuple for anything else."""
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        return (int(cast("Any", given)),)
    if hasattr(given, "z"):
        vector = cast("Any", given)
        return (vector.x, vector.y, vector.z)
    return tuple(cast("Iterable[Any]", given)) if isinstance(given, Iterable) and not isinstance(given, (str, bytes)) else ()


def call_group(shape: Any, what: str) -> list[Any]:
    """Returns the extents of a call group, slowest dimension first.

    Raises:
        ArgumentError: for an extent below 1.
    """
    sizes = list(integers(shape.as_tuple() if hasattr(shape, "as_tuple") else shape))
    small = [f"[{i}] = {n}" for i, n in enumerate(sizes) if isinstance(n, int) and n < 1]
    if small or not (sizes or isinstance(shape, (tuple, list))):
        place = small[0] if small else f" = {shape!r}"[:60]
        raise ArgumentError(f"{what}: call_group_shape{place}", expected="extents must be >= 1", hint="write (16, 16)")
    return sizes


def constants_of(source: ModuleSource) -> dict[str, str]:
    """Returns the link-time constants that a module and its imports declare, with their types; without those of fusepy itself."""
    found = {name: type for text in texts_of([source]) for type, name in _EXTERN.findall(bare(text))}
    return {name: type for name, type in found.items() if not name.startswith("_fusepy")}


def constant_list(given: Mapping[str, Any], types: Mapping[str, str] | None, what: str) -> list[tuple[str, str, Any]]:
    """Returns constants as type, name and value, sorted by name.

    Raises:
        UnknownNameError: for a name that no module declares.
        UnsupportedArgumentError, RangeError: for a value that does not fit its type.
    """
    listed: list[tuple[str, str, Any]] = []
    for name in sorted(given):
        check_identifier(name, "constant")
        if types is not None and name not in types:
            raise UnknownNameError(
                f"{what}: there is no link-time constant {name!r}",
                hint=did_you_mean(name, types) if types else f"declare it: extern static const int {name};",
            )
        listed.append(_constant(name, given[name], types[name] if types is not None else None, what))
    return listed


def _constant(name: str, value: Any, declared: str | None, what: str) -> tuple[str, str, Any]:
    several = hasattr(value, "__len__") and not isinstance(value, (str, bytes, Mapping)) and np.ndim(value) == 1
    parts: list[Any] = [_item(n) for n in (cast("Sequence[Any]", value) if several else [cast("Any", value)])]
    if not parts or not all(isinstance(n, (bool, int, float)) for n in parts):
        raise UnsupportedArgumentError(
            f"{what}: constant {name!r} cannot be this",
            saw=shown(cast("Any", value)),
            expected="a bool, int, float, or a sequence of them",
            hint="set other values as globals, with set()",
        )
    try:
        type = Type.parse(declared or _guess(parts, several))
    except InvalidNameError:
        type = None
    if type is None or type.dtype is None or type.shape != ((len(parts),) if several else ()):
        raise UnsupportedArgumentError(
            f"{what}: constant {name!r} is a {declared}",
            saw=shown(cast("Any", value)),
            expected=declared,
            hint="give a value of that type",
        )
    for number in parts:
        if isinstance(number, float) and (not type.is_float or not math.isfinite(number)):
            raise UnsupportedArgumentError(
                f"{what}: constant {name!r} is a {type}", saw=number, hint="give a finite number of that type"
            )
        check_range(number, type, f"{what}: constant {name!r}")
    typed = tuple(bool(n) if type.scalar is BOOL else float(n) if type.is_float else int(n) for n in parts)
    return type.name, name, typed if several else typed[0]


def _item(number: Any) -> Any:
    return cast("Any", number.item() if isinstance(number, np.generic) else number)


def _guess(parts: Sequence[Any], several: bool) -> str:
    """Returns the type of a constant whose declaration is not known yet."""
    first = parts[0]
    scalar = "bool" if isinstance(first, bool) else "int" if isinstance(first, int) else "float"
    return f"{scalar}{len(parts)}" if several else scalar


def conformance_list(given: Any, what: str) -> list[tuple[str, str, int]]:
    """Returns conformances as interface, type and id (-1 lets Slang choose).

    Raises:
        ArgumentError: for anything but a dict or a sequence of pairs.
    """
    if isinstance(given, Mapping):
        table = cast("Mapping[Any, Any]", given)
        return [
            _conformance((interface, type, i), what)
            for interface, types in table.items()
            for i, type in enumerate([types] if isinstance(types, str) or hasattr(types, "type") else types)
        ]
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise _bad_conformance(given, what)
    listed = list(cast("Iterable[Any]", given))
    if len(listed) in (2, 3) and all(isinstance(n, (str, int)) for n in listed):
        listed = [tuple(listed)]
    return [_conformance(item, what) for item in listed]


def _conformance(item: Any, what: str) -> tuple[str, str, int]:
    if hasattr(item, "interface_name"):
        item = (item.interface_name, item.type_name, item.id)
    if not isinstance(item, (tuple, list)) or len(cast("Sequence[Any]", item)) not in (2, 3):
        raise _bad_conformance(item, what)
    interface, type, *rest = cast("Sequence[Any]", item)
    number = rest[0] if rest else -1
    if not isinstance(number, int):
        raise _bad_conformance(item, what)
    return _type_name(interface, what), _type_name(type, what), number


def _type_name(type: Any, what: str) -> str:
    found = getattr(type, "type", None)
    name = found.name if isinstance(found, Type) else type
    if not isinstance(name, str):
        raise _bad_conformance(type, what)
    return Type.parse(name).name


def _bad_conformance(given: Any, what: str) -> ArgumentError:
    return ArgumentError(
        f"{what}: type_conformances takes interfaces and their types",
        saw=repr(given)[:60],
        hint='write type_conformances({"IShape": ["Circle", "Box"]})',
    )
