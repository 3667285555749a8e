"""Reductions and scans under NumPy's names: traced inside fused functions, and by themselves on arrays and numbers.

What feeds a reduction, and what follows it on the smaller side, becomes part of its kernel.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast, overload

import numpy as np

from fusepy.arguments.mapping import Mapped
from fusepy.backend.memory.host_arrays import as_array
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import ArgumentError, ShapeError
from fusepy.functions.function import Function
from fusepy.functions.fused import FusedFunction
from fusepy.ir.argmap import ArgMap
from fusepy.ir.containers import is_spread
from fusepy.ir.graph import Attr, Value
from fusepy.ir.ops import OPS
from fusepy.ir.ops.folds import SCANS, Fold
from fusepy.ir.resolve.hints import python_name
from fusepy.ir.types import BOOL
from fusepy.language.axes import Axis, axes_from, integers
from fusepy.location import user_line
from fusepy.trace.buffers import check_elements
from fusepy.trace.trace import Trace, current_trace
from fusepy.trace.traced import Traced

__all__ = ["all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "reduce", "scan", "sum"]

_MISSING = object()
_F = TypeVar("_F", bound=Callable[..., Any])


def _identity_by_name(function: _F) -> _F:
    """Takes ``reduce(f, x, identity=0)`` too: where the identity has its name, `x` may follow the function."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if "identity" in kwargs and "x" not in kwargs and len(args) >= 2:
            args = (args[0], kwargs.pop("identity"), *args[1:])
        return function(*args, **kwargs)

    return cast("_F", call)


def sum(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The sum of `x` along axes; of bools and small integers an int. Floats are summed as accurately as pairwise, or better.

    Args:
        axis: one axis or several, counted from the end where negative; ``None`` for all.
        keepdims: leave the axes in place, with extent 1.

    Raises:
        ShapeError: for an axis that `x` does not have.

    Example:
        >>> import fusepy as fp
        >>> fp.sum([[1.0, 2.0], [3.0, 4.0]], axis=0)
        [4.0, 6.0]
    """
    return _reduced(x, _way("sum", axis, keepdims))


def mean(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The arithmetic mean of `x` along axes, a float; NaN of nothing. See `sum` for the arguments."""
    return _reduced(x, _way("mean", axis, keepdims))


def prod(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The product of `x` along axes. See `sum` for the arguments."""
    return _reduced(x, _way("prod", axis, keepdims))


def max(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The largest of `x` along axes, NaN if there is one; of nothing it raises `ShapeError`. See `sum` for the arguments."""
    return _reduced(x, _way("max", axis, keepdims))


def min(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The smallest of `x` along axes, NaN if there is one; of nothing it raises `ShapeError`. See `sum` for the arguments."""
    return _reduced(x, _way("min", axis, keepdims))


def any(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """Whether some of `x` along axes is not zero. See `sum` for the arguments."""
    return _reduced(x, _way("any", axis, keepdims))


def all(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """Whether none of `x` along axes is zero. See `sum` for the arguments."""
    return _reduced(x, _way("all", axis, keepdims))


def argmax(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The place of the largest scalar, the first of several, counted in C order over the axes; a NaN is the largest."""
    return _reduced(x, _way("argmax", axis, keepdims))


def argmin(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The place of the smallest scalar, the first of several, counted in C order over the axes; a NaN is the smallest."""
    return _reduced(x, _way("argmin", axis, keepdims))


@_identity_by_name
def reduce(function: Function, identity: Any, x: Any = _MISSING, axis: Axis = None, keepdims: bool = False) -> Any:
    """Combines the elements of `x` along axes with a Slang function ``T f(T a, T b)``.

    Args:
        function: associative and commutative: elements are combined in an order that suits the device, the same in every call.
        identity: what the function leaves any element as it is with: a number, or one per component.
        x: without it, the reduction itself is returned, to be called with ``(x, axis, keepdims)``.

    Raises:
        ArgumentError: for anything but a Slang function, and an identity that is no number.
        ResolveError: if the function does not combine two elements into one of their type.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "far", "float far(float a, float b) { return sqrt(a*a+b*b); }")
        >>> fp.reduce(m.far, 0.0)([2.0, 3.0, 6.0])
        7.0
    """
    combining = _combining("reduce", function, identity, x)
    if x is not _MISSING:
        return _reduced(x, _way("call", axis, keepdims, *combining))

    def reducer(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
        return _reduced(x, _way("call", axis, keepdims, *combining))

    return reducer


@overload
def scan(function: str, identity: Any, *, axis: int = ..., exclusive: bool = ...) -> Any: ...
@overload
def scan(function: Function, identity: Any, x: Any = ..., axis: int = ..., exclusive: bool = ...) -> Any: ...
@_identity_by_name
def scan(function: Any, identity: Any, x: Any = _MISSING, axis: int = 0, exclusive: bool = False) -> Any:
    """What there is up to each element along an axis: ``scan("sum", x)``, or with a Slang function as in `reduce`.

    Args:
        function: ``"sum"``, ``"prod"``, ``"max"`` or ``"min"``, with `x` behind it; or a Slang function, which need only be
            associative here.
        identity: see `reduce`.
        x: without it, the scan itself is returned, to be called with ``(x, axis, exclusive)``.
        exclusive: leave the element itself out, so that the first is the identity.

    Raises:
        ArgumentError: for an unknown word.
        ShapeError: for an axis that `x` does not have.

    Example:
        >>> import fusepy as fp
        >>> fp.scan("sum", [1.0, 2.0, 3.0])
        [1.0, 3.0, 6.0]
    """
    if isinstance(function, str):
        if function not in SCANS or function == "call" or x is not _MISSING:
            raise ArgumentError(
                f"scan() takes a word and an array, or a Slang function and its identity, not {function!r}",
                place=user_line(),
                hint="write scan('sum', x), with sum, prod, max or min; or scan(m.combine, 0.0)(x)",
            )
        return _reduced(identity, _way(function, axis, scans=True, exclusive=exclusive))
    combining = _combining("scan", function, identity, x)
    if x is not _MISSING:
        return _reduced(x, _way("call", axis, False, *combining, scans=True, exclusive=exclusive))

    def scanner(x: Any, axis: int = axis, exclusive: bool = exclusive) -> Any:
        return _reduced(x, _way("call", axis, False, *combining, scans=True, exclusive=exclusive))

    return scanner


@dataclass(frozen=True)
class _Way:
    """What is done to an array: a kind of fold or scan, and along which axes."""

    kind: str
    axis: tuple[int, ...] | None
    keepdims: bool = False
    function: Function | None = None
    identity: tuple[str, ...] = ()
    scans: bool = False
    exclusive: bool = False

    @property
    def name(self) -> str:
        """What the user has called."""
        return "scan" if self.scans else "reduce" if self.kind == "call" else self.kind


def _way(
    kind: str,
    axis: Axis,
    keepdims: bool = False,
    function: Function | None = None,
    identity: tuple[str, ...] = (),
    *,
    scans: bool = False,
    exclusive: bool = False,
) -> _Way:
    name = _Way(kind, None, function=function, scans=scans).name
    if scans and (axis is None or isinstance(axis, Sequence)):
        raise ArgumentError(f"{name}() runs along one axis", place=user_line(), saw=f"axis={axis!r}", hint="write axis=0")
    return _Way(kind, integers(axis, name), bool(keepdims), function, identity, scans, bool(exclusive))


@functools.lru_cache(maxsize=256)
def _eager(way: _Way) -> FusedFunction:
    """The fused function behind a call that is not traced."""

    def of(x: Any) -> Any:
        return _reduced(x, way)

    of.__name__ = way.name
    return FusedFunction(of)


def _reduced(x: Any, way: _Way) -> Any:
    trace = current_trace()
    return _eager(way)(x) if trace is None else _record(trace, x, way)


def _record(trace: Trace, x: Any, way: _Way) -> Traced:
    """Records the node, and the axes of extent 1 that are kept."""
    loc = user_line()
    value, said = trace.operand(x, "x", loc)
    check_elements(way.name, value, loc)
    attrs: dict[str, Attr] = {"kind": way.kind}
    if way.function is not None:
        module, function = way.function.named_in(trace)
        attrs.update(module=module, function=function, identity=way.identity)
    if is_spread(value):
        raise ShapeError(
            f"{way.name}() of a value without extents of its own", place=loc, hint="add it to an array first, or use fp.grid"
        )
    axes = axes_from(way.axis, value.rank, way.name)
    if not axes:
        return _of_one(trace, value, way, loc)
    names = tuple(f"d{a}" for a in axes)
    dims = said.dims  # of the leading axes, or all
    own = [ArgMap(tuple(range(value.rank)))]
    if way.scans:
        attrs.update(axis=names[0], exclusive=way.exclusive)
        return _made(trace, "scan", value, own, attrs, dims, loc)
    left = None if dims is None else tuple(d for i, d in enumerate(dims) if i not in axes)
    result = _made(trace, "reduce", value, own, {**attrs, "axes": names}, left, loc)
    if not way.keepdims:
        return result
    small = ArgMap(tuple(d for d in range(value.rank) if d not in axes))
    return _made(trace, "expand", result._value, [small], {"axes": names}, dims, loc)  # pyright: ignore[reportPrivateUsage]


def _made(
    trace: Trace, op: str, value: Value, maps: list[ArgMap], attrs: dict[str, Attr], dims: tuple[int, ...] | None, loc: str | None
) -> Traced:
    """One node over the operand's own axes; where these were declared to run along `dims`, so do those of its result."""
    (result,) = trace.builder.add(OPS[op], [value], maps, attrs, loc)
    if dims:
        trace.maps[result] = ArgMap(dims)
    return Traced(trace, result, loc)


def _of_one(trace: Trace, value: Value, way: _Way, loc: str | None) -> Traced:
    """A reduction along no axis: the value itself, in the type of the result."""
    if way.kind in ("argmax", "argmin"):
        Fold(way.kind).type(value.type, loc)
        return Traced(trace, trace.constant(0), loc)
    if way.kind in ("any", "all") and value.type.scalar is not BOOL:
        return trace.record("ne", [Traced(trace, value, loc), 0])
    want = value.type if way.kind == "call" else Fold(way.kind).type(value.type, loc)
    if way.function is not None:
        Fold("call", function=way.function.__name__, identity=way.identity).start(want)  # raises unless the identity fits
    if want is value.type:
        return Traced(trace, value, loc)
    return Traced(trace, trace.builder.add(OPS["cast"], [value], None, {"type": want.name}, loc)[0], loc)


def _combining(name: str, function: Any, identity: Any, x: Any) -> tuple[Function, tuple[str, ...]]:
    """A Slang function and its identity, as a node has it.

    Raises:
        ArgumentError: for anything else.
    """
    if not isinstance(function, Function):
        raise ArgumentError(
            "only a Slang function combines elements",
            place=user_line(),
            saw=repr(cast("object", function))[:60],
            hint="pass a function of a module, m.combine; there are fp.sum, fp.max and the like for common cases",
        )
    swapped = x is not _MISSING and np.isscalar(x) and not np.isscalar(identity)
    if swapped or isinstance(identity, (Tensor, Traced, Mapped)):  # as functools.reduce and jax.lax.reduce have it
        raise ArgumentError(
            f"{name}(): the identity comes before the array",
            place=user_line(),
            saw=f"identity={identity!r:.60}",
            expected=f"{name}(function, identity, x)",
            hint=f"write fp.{name}({python_name(function.__name__)}, {repr(x) if swapped else '0.0'}, x), or identity=… and x=…",
        )
    try:
        numbers = as_array(identity).ravel()
    except ShapeError:  # ragged
        numbers = np.empty(0)
    if not numbers.size or numbers.dtype.kind not in "biuf":
        raise ArgumentError(
            f"the identity of {function.__name__} is no number",
            place=user_line(),
            saw=repr(identity)[:60],
            hint="give a number, or a list with one per component",
        )
    return function, tuple(repr(int(n) if n.dtype.kind == "b" else n.item()) for n in numbers)
