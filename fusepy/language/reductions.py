"""Reductions and scans under NumPy's names: recorded in fused functions, else run on arrays and numbers.

A kernel that reduces also computes the operations before it, and those after it on the smaller grid.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast, overload

from fusepy.errors import ArgumentError
from fusepy.functions.function import Function
from fusepy.ir.ops.folds import SCANS
from fusepy.language.axes import MISSING, Axis, combining, in_type, numpys_words
from fusepy.language.fold_nodes import reduced, reduction

__all__ = ["all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "reduce", "scan", "sum"]

_F = TypeVar("_F", bound=Callable[..., Any])


def _identity_by_name(function: _F) -> _F:
    """Makes ``reduce(f, x, identity=0)`` work too: if the identity is a keyword, `x` may follow the function."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if "identity" in kwargs and "x" not in kwargs and len(args) >= 2:
            args = (args[0], kwargs.pop("identity"), *args[1:])
        return function(*args, **kwargs)

    return cast("_F", call)


def _typed(kind: str, x: Any, axis: Axis, keepdims: bool, dtype: Any) -> Any:
    """Reduces `x`, in a type if `dtype` says one."""
    way = reduction(kind, axis, keepdims)
    return reduced(x, way) if dtype is None else in_type(lambda x: reduced(x, way), x, dtype)


@numpys_words
def sum(x: Any, axis: Axis = None, keepdims: bool = False, *, dtype: Any = None) -> Any:
    """Returns the sum of `x` along axes; an int for bools and small integers. Floats are at least as accurate as pairwise sums.

    Integers of an array add up in their own type, or in 32 bits if that is smaller, and wrap as in Slang; ``dtype=np.int64``
    adds them in 64 bits.

    Args:
        axis: one axis or several; negative ones count from the end; ``None`` for all.
        keepdims: keep the axes, with extent 1.
        dtype: the type to compute in, and of the result; see `astype`.

    Raises:
        ShapeError: for an axis out of range.

    Example:
        >>> import fusepy as fp
        >>> fp.sum([[1.0, 2.0], [3.0, 4.0]], axis=0)
        [4.0, 6.0]
    """
    return _typed("sum", x, axis, keepdims, dtype)


@numpys_words
def mean(x: Any, axis: Axis = None, keepdims: bool = False, *, dtype: Any = None) -> Any:
    """Returns the arithmetic mean of `x` along axes, a float; NaN if there are no elements. See `sum` for the arguments."""
    return _typed("mean", x, axis, keepdims, dtype)


@numpys_words
def prod(x: Any, axis: Axis = None, keepdims: bool = False, *, dtype: Any = None) -> Any:
    """Returns the product of `x` along axes; integers wrap as in `sum`, which has the arguments."""
    return _typed("prod", x, axis, keepdims, dtype)


@numpys_words
def max(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """Returns the maximum of `x` along axes; NaN if an element is. No elements: `ShapeError`. See `sum` for the arguments."""
    return reduced(x, reduction("max", axis, keepdims))


@numpys_words
def min(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """Returns the minimum of `x` along axes; NaN if an element is. No elements: `ShapeError`. See `sum` for the arguments."""
    return reduced(x, reduction("min", axis, keepdims))


@numpys_words
def any(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """True if any element of `x` along axes is not zero. See `sum` for the arguments."""
    return reduced(x, reduction("any", axis, keepdims))


@numpys_words
def all(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """True if no element of `x` along axes is zero. See `sum` for the arguments."""
    return reduced(x, reduction("all", axis, keepdims))


@numpys_words
def argmax(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """Returns the index of the first maximum, in C order over the axes; NaN is the largest.

    Example:
        >>> import fusepy as fp
        >>> fp.argmax([[1.0, 5.0], [7.0, 2.0]], axis=1)
        [1, 0]
    """
    return reduced(x, reduction("argmax", axis, keepdims))


@numpys_words
def argmin(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """Returns the index of the first minimum, in C order over the axes; NaN is the smallest."""
    return reduced(x, reduction("argmin", axis, keepdims))


@numpys_words
@_identity_by_name
def reduce(function: Function, identity: Any, x: Any = MISSING, axis: Axis = None, keepdims: bool = False) -> Any:
    """Combines the elements of `x` along axes with a Slang function ``T f(T a, T b)``.

    Args:
        function: associative and commutative. The order of combination suits the device, and is the same in every call.
        identity: the value that changes no element: a number, or one per component.
        x: without it, the call returns the reduction as a function of ``(x, axis, keepdims)``.

    Raises:
        ArgumentError: for anything but a Slang function, or an identity that is no number.
        ResolveError: if the function does not combine two elements into one of the same type.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "far", "float far(float a, float b) { return sqrt(a*a+b*b); }")
        >>> fp.reduce(m.far, 0.0)([2.0, 3.0, 6.0])
        7.0
    """
    folded = combining("reduce", function, identity, x)
    if x is not MISSING:
        return reduced(x, reduction("call", axis, keepdims, *folded))

    def reducer(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
        return reduced(x, reduction("call", axis, keepdims, *folded))

    return reducer


@overload
def scan(function: str, identity: Any, *, axis: int = ..., exclusive: bool = ...) -> Any: ...
@overload
def scan(function: Function, identity: Any, x: Any = ..., axis: int = ..., exclusive: bool = ...) -> Any: ...
@numpys_words
@_identity_by_name
def scan(function: Any, identity: Any, x: Any = MISSING, axis: int = 0, exclusive: bool = False) -> Any:
    """Returns the running result up to each element along an axis: ``scan("sum", x)``, or with a Slang function as in `reduce`.

    Args:
        function: ``"sum"``, ``"prod"``, ``"max"`` or ``"min"``, followed by `x`; or an associative Slang function, which
            need not be commutative here.
        identity: see `reduce`.
        x: without it, the call returns the scan as a function of ``(x, axis, exclusive)``.
        exclusive: leave out the element itself, so that the first result is the identity.

    Raises:
        ArgumentError: for an unknown word.
        ShapeError: for an axis that `x` does not have.

    Example:
        >>> import fusepy as fp
        >>> fp.scan("sum", [1.0, 2.0, 3.0])
        [1.0, 3.0, 6.0]
    """
    if isinstance(function, str):
        if function not in SCANS or function == "call" or x is not MISSING:
            raise ArgumentError(
                f"scan() takes a word and an array, or a Slang function and its identity, not {function!r}",
                hint="write scan('sum', x), with sum, prod, max or min; or scan(m.combine, 0.0)(x)",
            )
        return reduced(identity, reduction(function, axis, scans=True, exclusive=exclusive))
    folded = combining("scan", function, identity, x)
    if x is not MISSING:
        return reduced(x, reduction("call", axis, False, *folded, scans=True, exclusive=exclusive))

    def scanner(x: Any, axis: int = axis, exclusive: bool = exclusive) -> Any:
        return reduced(x, reduction("call", axis, False, *folded, scans=True, exclusive=exclusive))

    return scanner
