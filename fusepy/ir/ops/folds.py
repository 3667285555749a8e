"""`Fold`: the ways to combine elements into one, with types and NumPy meanings, for ``reduce``, ``scan`` and regions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from fusepy.errors import ShapeError, TraceError, VerifyError
from fusepy.ir.graph import Attr, Node
from fusepy.ir.ranges import check_range
from fusepy.ir.types import BOOL, FLOAT, INT, UINT, Kind, Type
from fusepy.ir.value import Array

FOLDS = ("sum", "dot", "mean", "var", "spread", "prod", "max", "min", "any", "all", "argmax", "argmin", "call")
DESCENDING = "argsort_descending"
SORTS = ("argsort", DESCENDING)  # scans whose results are the indices of elements in order
SCANS = ("sum", "prod", "max", "min", "call")

Functions = Mapping[str, Callable[..., Any]]
PLACES = ("argmax", "argmin", *SORTS)  # kinds whose results are indices of elements


@dataclass(frozen=True)
class Fold:
    """One way to combine elements: a kind, or ``"call"`` for a Slang function of two elements, with its identity.

    ``"dot"`` is the sum of products in their own type, from ``contract``; ``"spread"`` that of squared distances from the mean.

    With `scans` the result has one value per element: all elements up to it, without itself if `exclusive`; or it sorts.
    """

    kind: str
    module: str = ""
    function: str = ""
    identity: Attr | None = None
    scans: bool = False
    exclusive: bool = False

    @staticmethod
    def of_node(node: Node, scans: bool = False) -> Fold:
        """Returns the fold of a ``reduce`` or ``scan``."""
        attrs = node.attrs
        module, function = str(attrs.get("module", "")), str(attrs.get("function", ""))
        exclusive = scans and attrs.get("exclusive") is True
        return Fold(node.text("kind"), module, function, attrs.get("identity"), scans, exclusive)

    @property
    def sorts(self) -> bool:
        """True if it gives the indices of elements in order."""
        return self.kind in SORTS

    def wrong(self) -> str | None:
        """Returns an error in the fold itself, or ``None``."""
        known = (*SCANS, *SORTS) if self.scans else FOLDS
        if self.kind not in known:
            return f"there is no {'scan' if self.scans else 'fold'} {self.kind!r}, but {', '.join(known)}"
        if self.kind == "call" and not (self.module and self.function and self.identity is not None):
            return "a fold by a call needs a module, a function and an identity"
        if self.kind != "call" and (self.module or self.function or self.identity is not None):
            return "only a fold by a call has a function and an identity"
        if self.exclusive and (not self.scans or self.sorts):
            return "only a scan is exclusive, and no sort"
        return None

    def type(self, type: Type, place: str | None = None) -> Type:
        """Returns the type of the result for elements of `type`.

        Raises:
            TraceError: for elements that cannot be combined.
        """
        scalar = type.scalar
        if scalar is None or scalar.dtype is None or not type.is_numeric:
            raise TraceError(
                f"{self.kind}() of {type} values",
                place=place,
                saw=type,
                expected="scalars, vectors or matrices",
                hint="reduce a member of it, such as ray.tmax",
            )
        if self.kind in PLACES:
            if type.kind is not Kind.SCALAR:
                raise TraceError(
                    f"{self.kind}() of {type} values, which have no order",
                    place=place,
                    saw=type,
                    expected="scalars",
                    hint="take a component such as .x, or compute a number to compare by",
                )
            return INT
        if self.kind in ("any", "all"):
            return type.with_scalar(BOOL)
        if self.kind in ("mean", "var", "spread") and not scalar.is_float:
            return type.with_scalar(FLOAT)
        if self.kind in ("sum", "prod") and scalar.dtype.kind in "biu" and scalar.dtype.itemsize < 4:
            return type.with_scalar(UINT if scalar.dtype.kind == "u" else INT)
        return type

    def start(self, type: Type) -> Array:
        """Returns the identity of a call as an element of `type`."""
        identity = self.identity
        values = [_number(v) for v in identity] if isinstance(identity, tuple) else [cast("float", identity)]
        if len(values) not in (1, math.prod(type.shape)):
            raise ShapeError(
                f"the identity of {self.function} has {len(values)} components",
                expected=f"{math.prod(type.shape)} for a {type}, or one for all",
                hint="give one number per component",
            )
        for value in values:
            check_range(value, type.scalar or type, f"the identity of {self.function}")
        array = np.asarray([np.asarray(v).astype(type.dtype) for v in values])
        return np.broadcast_to(array.reshape(type.shape if len(values) > 1 else ()), type.shape)


def _number(text: str) -> float:
    """Returns a component of an identity as a number."""
    return int(text) if text.removeprefix("-").isdecimal() else float(text)


def axes_of(node: Node, key: str) -> tuple[int, ...]:
    """Returns the dimensions that an attribute names: a tuple of names such as ``"d0"``, or one of these.

    Raises:
        VerifyError: for anything else.
    """
    value = node.attrs.get(key)
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, tuple) or not all(n[:1] == "d" and n[1:].isdecimal() for n in names):
        raise VerifyError(f"{node.op.name} needs the attribute {key!r}, dimensions such as d0", place=node.loc, saw=value)
    return tuple(int(n[1:]) for n in names)
