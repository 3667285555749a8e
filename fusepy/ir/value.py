"""`Value`: one value of the graph IR."""

from __future__ import annotations

from typing import Any

import numpy as np

from fusepy.ir.arrivals import PLAIN, Arrival
from fusepy.ir.types import Kind, Type


class TypedAttr:
    """An attribute that is an object: frozen, equal by value; `ir.printer` and `ir.parse` know its text."""


Attr = str | int | float | bool | tuple[str, ...] | TypedAttr
_INTEGERS = ("ii", "iu", "ui", "uu")
Dims = tuple["int | None", ...]
Array = np.ndarray[Any, np.dtype[Any]]


class Value:
    """One SSA value.

    Attributes:
        type: the type of one element.
        rank: the number of batch axes.
        dims: the extents of the batch axes; ``None`` (printed ``?``) if the size is not part of the program. Only trailing axes
            of an input that a vector could consume have a number, and only until `resolve_maps`.
        arrival: the way an input reaches a kernel; `PLAIN` for a single Python number and for every computed value,
            `LITERAL` for a constant.
        weak: True for a Python number, or a value computed only from such; it takes the type that its context wants.
        name: the user's name of an input; ``None`` for computed values.
        copied: True if an input is copied to the device for the call, so that it shares memory with no other. Not part of the
            meaning of the graph, and not printed.
        viewed: the name of the input of whose memory this input is a view; ``None`` for others. As `copied`.
    """

    __slots__ = ("arrival", "copied", "dims", "name", "rank", "type", "viewed", "weak")

    def __init__(
        self,
        type: Type,
        dims: Dims = (),
        *,
        arrival: Arrival = PLAIN,
        weak: bool = False,
        name: str | None = None,
        copied: bool = False,
        viewed: str | None = None,
    ):
        self.type = type
        self.dims = dims
        self.rank = len(dims)
        self.arrival = arrival
        self.weak = weak
        self.name = name
        self.copied = copied or arrival.listed
        self.viewed = viewed

    def again(self, type: Type, dims: Dims) -> Value:
        """Returns an input like this one, of another type or with other extents."""
        named = Value(type, dims, arrival=self.arrival, weak=self.weak, name=self.name, copied=self.copied)
        named.viewed = self.viewed
        return named

    @property
    def memory(self) -> object:
        """A key that is equal for inputs over the same memory of an argument; the value itself if it is computed."""
        return self.viewed or self.name or self

    def signature(self) -> tuple[object, ...]:
        """Returns the properties that are equal for values that `Graph.__eq__` treats as equal."""
        return (self.type, self.dims, self.arrival.name, self.weak, self.name)

    def __repr__(self) -> str:
        return f"<Value {self.name or 'computed'}: {self.type} rank {self.rank}>"


def is_spread(value: Value) -> bool:
    """True if `value` is an input that differs from thread to thread without having axes."""
    return not value.rank and value.arrival.generated


def is_stored(value: Value) -> bool:
    """True if `value` is computed over a grid, and so is in memory where user code reads it whole."""
    return value.name is None and value.rank > 0


def is_open(value: Value) -> bool:
    """True if Slang may take `value` as a scalar or as a vector of any length."""
    return value.arrival.open and value.type.kind is Kind.SCALAR


def may_wrap(value: Value, want: Type) -> bool:
    """True for a Python number, and integers that do not hold all of its type."""
    had, wanted = value.type.dtype, want.dtype
    return (
        value.weak
        and had is not None
        and wanted is not None
        and had.kind + wanted.kind in _INTEGERS
        and not np.can_cast(had, wanted)
    )


def declare(type: Type, name: str) -> str:
    """Returns a Slang declaration, C style: ``float3 v0``, ``float v1[4]``."""
    if type.kind is Kind.ARRAY and type.element is not None:
        return f"{type.element} {name}[{type.shape[0]}]" if type.element.kind is not Kind.ARRAY else f"{type} {name}"
    return f"{type} {name}"
