"""Lists of values with fields where a function takes one such value: the call runs for each, like over an array of structs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from fusepy.arguments.fields import fields_of
from fusepy.arguments.mapped import Mapped
from fusepy.arguments.nested import flat
from fusepy.backend.marshals.registry import kind_of_class
from fusepy.backend.memory.element import type_named
from fusepy.backend.memory.host_arrays import as_array
from fusepy.errors import FusepyError, NoMatchError
from fusepy.ir.types import Kind, Type
from fusepy.program.sized import SizedByResult
from fusepy.pytree import ITEMS, TYPE
from fusepy.trace.struct_choice import ListedStructs

Called = TypeVar("Called")
REFUSED = (ListedStructs, NoMatchError)  # the errors of calls that may run for each value of a list or component of a vector


class Stacked(SizedByResult):
    """Stands for a program under the key of such a call: it turns the lists into structures of arrays."""

    def __init__(self, program: Any, names: Sequence[str], error: FusepyError):
        super().__init__(program, names)
        self._along = _along(error)

    def sized(self, args: Sequence[Any], result: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Returns the arguments with stacked lists, by position and by name."""
        given = tuple(map(self._along, args))
        first = len(args) - len(self._names)
        return given[:first], dict(zip(self._names, given[first:]))


def for_each(
    error: FusepyError, args: Sequence[Any], kwargs: Mapping[str, Any], call: Callable[[tuple[Any, ...], dict[str, Any]], Called]
) -> Called:
    """Runs `call` with each list of dicts or objects as one dict of arrays; other arguments as they are.

    If an argument does not fit a number, vectors of slangpy become arrays: the function runs for each component.

    Args:
        error: one of `REFUSED`, raised if there is no such argument, or if the call with these is refused too.

    Example:
        >>> for_each(FusepyError("refused"), ([{"x": 1.0}, {"x": 2.5}], 3), {}, lambda args, kwargs: args)
        ({'x': array([1. , 2.5], dtype=float32)}, 3)
    """
    values = (*args, *kwargs.values())
    given = tuple(map(_along(error), values))
    if all(a is b for a, b in zip(given, values)):
        raise error from None
    try:
        return call(given[: len(args)], dict(zip(kwargs, given[len(args) :])))
    except FusepyError:  # the user has written the call as it was refused first
        raise error from None


def _along(error: FusepyError) -> Callable[[Any], Any]:
    if isinstance(error, NoMatchError):
        wanted = error.expected
        return _components if isinstance(wanted, Type) and wanted.kind is Kind.SCALAR else lambda value: value
    return _stacked


def _components(value: Any) -> Any:
    type = type_named(value.__class__)
    if type is None or type.kind is not Kind.VECTOR or type.scalar is None:
        return value
    return as_array(value).astype(cast("Any", type.scalar.dtype))


def _stacked(value: Any) -> Any:
    if isinstance(value, Mapped):
        inner = _stacked(value.value)
        return value if inner is value.value else Mapped(inner, value.map)
    if fields_of(value) is not ITEMS:
        return value
    items = list(cast("Sequence[Any]", value))
    if any(kind is not None and kind.device for v in flat(items) for kind in [kind_of_class(v.__class__)]):
        return value  # tensors and textures stay where they are
    return _together(items) if all(fields_of(v) not in (None, ITEMS) for v in items) else value


def _together(items: list[Any]) -> Any:
    """Returns values as one: dicts of arrays for values with fields, and an array for numbers and arrays of one shape."""
    container = fields_of(items[0])
    if container in (None, ITEMS):
        array = np.array([as_array(v) for v in items])
        plain = all(isinstance(v, (bool, int, float, list, tuple)) for v in items)  # as lists: floats and ints of 32 bits
        kinds = {"f": np.float32, "i": np.int32}
        return array.astype(kinds[array.dtype.kind]) if plain and array.dtype.kind in kinds else array
    parts = [fields_of(v).parts(v) for v in items]  # type: ignore[union-attr]  # checked by the trace
    return {k: v if k == TYPE else _together([p[k] for p in parts]) for k, v in parts[0].items()}
