"""`Value`: one value of the graph IR."""

from __future__ import annotations

from typing import Any

import numpy as np

from fusepy.ir.arrivals import PLAIN, Arrival
from fusepy.ir.types import Kind, Type


class TypedAttr:
    """An attribute that is an object: frozen, equal by value, with a text of its own in `ir.printer` and `ir.parse`."""


Attr = str | int | float | bool | tuple[str, ...] | TypedAttr
Dims = tuple["int | None", ...]
Array = np.ndarray[Any, np.dtype[Any]]


class Value:
    """One SSA value.

    Attributes:
        type: what one element is.
        rank: how many batch axes it has.
        dims: the extents of its batch axes; ``None`` (printed ``?``) where the size is no part of the program. Only an
            input's trailing axes that a vector could consume carry a number, and only until `resolve_maps`.
        arrival: how an input comes to a kernel; `PLAIN` for a single Python number and for every computed value.
        weak: a Python number, or computed from such alone; it takes the type that its context wants.
        name: the user's name of an input; ``None`` for computed values.
        copied: whether an input is copied to the device for the call, so that it shares memory with no other; no part of what
            the graph means, and not printed.
    """

    __slots__ = ("arrival", "copied", "dims", "name", "rank", "type", "weak")

    def __init__(
        self,
        type: Type,
        dims: Dims = (),
        *,
        arrival: Arrival = PLAIN,
        weak: bool = False,
        name: str | None = None,
        copied: bool = False,
    ):
        self.type = type
        self.dims = dims
        self.rank = len(dims)
        self.arrival = arrival
        self.weak = weak
        self.name = name
        self.copied = copied or arrival.listed

    def signature(self) -> tuple[object, ...]:
        """What must agree for two values to be interchangeable in `Graph.__eq__`."""
        return (self.type, self.dims, self.arrival, self.weak, self.name)

    def __repr__(self) -> str:
        return f"<Value {self.name or 'computed'}: {self.type} rank {self.rank}>"


def is_spread(value: Value) -> bool:
    """Whether `value` is an input that differs from thread to thread without having axes."""
    return not value.rank and value.arrival.generated


def is_stored(value: Value) -> bool:
    """Whether `value` is computed over a grid, and so lies in memory where user code wants it whole, to be read."""
    return value.name is None and value.rank > 0


def is_open(value: Value) -> bool:
    """Whether Slang may take `value` as a scalar or as a vector of any length."""
    return value.arrival.open and value.type.kind is Kind.SCALAR
