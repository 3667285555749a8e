"""`Value`: one value of the graph IR."""

from __future__ import annotations

from typing import Any

import numpy as np

from fusepy.ir.types import Type


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
        container: how an input arrives: ``"Tensor"`` (device memory), ``"List"`` (Python numbers that follow Slang's
            answer), ``"Grid"`` (coordinates, no memory), ``"Texture2D"`` and the like (texels), ``"Buffer"`` and ``"Resource"``
            (see `ir.resources`), or ``""`` for a single Python number and for every computed value.
        weak: a Python number, or computed from such alone; it takes the type that its context wants.
        name: the user's name of an input; ``None`` for computed values.
        copied: whether an input is copied to the device for the call, so that it shares memory with no other; no part of what
            the graph means, and not printed.
    """

    __slots__ = ("container", "copied", "dims", "name", "rank", "type", "weak")

    def __init__(
        self,
        type: Type,
        dims: Dims = (),
        *,
        container: str = "",
        weak: bool = False,
        name: str | None = None,
        copied: bool = False,
    ):
        self.type = type
        self.dims = dims
        self.rank = len(dims)
        self.container = container
        self.weak = weak
        self.name = name
        self.copied = copied or container == "List"

    def signature(self) -> tuple[object, ...]:
        """What must agree for two values to be interchangeable in `Graph.__eq__`."""
        return (self.type, self.dims, self.container, self.weak, self.name)

    def __repr__(self) -> str:
        return f"<Value {self.name or 'computed'}: {self.type} rank {self.rank}>"
