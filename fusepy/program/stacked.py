"""Lists of values with fields where a function takes one such value: the call runs for each, like over an array of structs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from fusepy.arguments.fields import fields_of
from fusepy.arguments.mapped import Mapped
from fusepy.arguments.nested import flat
from fusepy.backend.marshals.registry import kind_of_class
from fusepy.backend.memory.element import type_named
from fusepy.backend.memory.host_arrays import as_array
from fusepy.errors import FusepyError, NoMatchError
from fusepy.ir.types import Kind, Type
from fusepy.program.program import ProgramState
from fusepy.program.sized import SizedByResult
from fusepy.pytree import ITEMS, TYPE


class Stacked(SizedByResult):
    """Stands for a program under the key of such a call: it turns the lists into structures of arrays."""

    def __init__(self, program: Any, names: Sequence[str], error: FusepyError):
        self.device = program.device
        self.sources = program.sources
        self._names = names
        self.state = ProgramState()
        self._along = _along(error)

    def sized(self, args: Sequence[Any], result: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Returns the arguments with stacked lists, by position and by name."""
        given = tuple(map(self._along, args))
        first = len(args) - len(self._names)
        return given[:first], dict(zip(self._names, given[first:]))


def stacked(args: Sequence[Any], error: FusepyError | None = None) -> tuple[Any, ...]:
    """Returns the arguments with each list of dicts or objects as one dict of arrays; others as they are.

    Args:
        error: the error of the call without it, raised if there is no such list. If it is that an argument does not fit a
            number, vectors of slangpy become arrays: the function runs for each component.

    Example:
        >>> stacked([[{"x": 1.0}, {"x": 2.5}], 3])
        ({'x': array([1. , 2.5], dtype=float32)}, 3)
    """
    found = tuple(map(_along(error), args))
    if error is not None and all(a is b for a, b in zip(found, args)):
        raise error from None
    return found


def _along(error: FusepyError | None) -> Callable[[Any], Any]:
    if isinstance(error, NoMatchError):
        wanted = error.expected
        return _components if isinstance(wanted, Type) and wanted.kind is Kind.SCALAR else _as_it_is
    return _stacked


def _as_it_is(value: Any) -> Any:
    return value


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
