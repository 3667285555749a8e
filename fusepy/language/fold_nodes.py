"""Reductions and scans as nodes: `Reduction` is the data, `reduced` runs or records it."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from fusepy.errors import ArgumentError, GraphError, ShapeError
from fusepy.functions.function import Function
from fusepy.functions.fused import FusedFunction
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.graph import Attr, Value
from fusepy.ir.ops import OPS
from fusepy.ir.ops.folds import Fold
from fusepy.ir.types import BOOL
from fusepy.ir.value import is_spread
from fusepy.language.axes import Axis, axes_from, integers
from fusepy.language.movement.graph_calls import or_node
from fusepy.location import user_line
from fusepy.trace.buffers import check_elements
from fusepy.trace.components.numbers import folded, wide, word
from fusepy.trace.maps import inherit
from fusepy.trace.trace import Trace, current_trace
from fusepy.trace.traced import Traced

_OF_NUMBERS = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum"}


@dataclass(frozen=True)
class Reduction:
    """A kind of reduction or scan, and the axes that it runs along."""

    kind: str
    axis: tuple[int, ...] | None
    keepdims: bool = False
    function: Function | None = None
    identity: tuple[str, ...] = ()
    scans: bool = False
    exclusive: bool = False

    @property
    def name(self) -> str:
        """The name of the function that the user has called."""
        return "scan" if self.scans else "reduce" if self.kind == "call" else self.kind

    @functools.cached_property
    def eager(self) -> FusedFunction:
        """The fused function that runs an untraced call."""

        def of(x: Any) -> Any:
            return reduced(x, self)

        of.__name__ = self.name
        return FusedFunction(of)


def reduction(
    kind: str,
    axis: Axis,
    keepdims: bool = False,
    function: Function | None = None,
    identity: tuple[str, ...] = (),
    *,
    scans: bool = False,
    exclusive: bool = False,
) -> Reduction:
    """Makes a `Reduction` from the arguments of a user's call.

    Raises:
        ArgumentError: for axes that are no integers, or a scan along none or several.
    """
    if function is None and not scans and (axis is None or axis.__class__ is int) and keepdims.__class__ is bool:
        return _of_one_axis(kind, axis, keepdims)
    name = Reduction(kind, None, function=function, scans=scans).name
    if scans and (axis is None or isinstance(axis, Sequence)):
        raise ArgumentError(f"{name}() runs along one axis", saw=f"axis={axis!r}", hint="write axis=0")
    return _same(Reduction(kind, integers(axis, name), bool(keepdims), function, identity, scans, bool(exclusive)))


@functools.lru_cache(maxsize=256)
def _same(way: Reduction) -> Reduction:
    """Returns the one object for equal reductions, which has the function that runs them."""
    return way


@functools.lru_cache(maxsize=256)
def _of_one_axis(kind: str, axis: int | None, keepdims: bool) -> Reduction:
    """Returns what `reduction` does, at once for a call that comes again."""
    return _same(Reduction(kind, None if axis is None else (axis,), keepdims))


def reduced(x: Any, way: Reduction) -> Any:
    """Reduces `x`: in a trace as a node, else as a call."""
    trace = current_trace()
    if trace is not None:
        return _record(trace, x, way)
    try:
        return way.eager(x)
    except GraphError as error:
        return or_node(error, functools.partial(reduced, way=way), way.name, x)


def _record(trace: Trace, x: Any, way: Reduction) -> Traced:
    """Records the node; kept axes have extent 1."""
    loc = user_line()
    if (number := _of_list(trace, x, way)) is not None:
        return Traced(trace, number, loc)
    value, said = trace.operand(x, "x", loc)
    if way.function is None and (seen := trace.plain.seen(value, loc)) is not value:
        value, said = seen, trace.maps.get(seen, UNSAID)
    check_elements(way.name, value, loc)
    attrs: dict[str, Attr] = {"kind": way.kind}
    if way.function is not None:
        module, function = way.function.named_in(trace)
        attrs.update(module=module, function=function, identity=way.identity)
    if is_spread(value):
        raise ShapeError(
            f"{way.name}() of a value without extents of its own", place=loc, hint="add it to an array first, or use fp.grid"
        )
    if not value.rank:
        trace.refuse_part(value, f"{way.name}()")
    axes = axes_from(way.axis, value.rank, way.name)
    if not axes:
        return _of_one(trace, value, way, loc)
    source = value, said
    value = wide(trace, value, said, loc) if way.kind in ("sum", "prod") else value
    names = tuple(f"d{a}" for a in axes)
    dims = said.dims  # the dimensions of the leading axes, or of all
    own = [ArgMap(tuple(range(value.rank)))]
    if way.scans:
        attrs.update(axis=names[0], exclusive=way.exclusive)
        return _made(trace, "scan", value, own, attrs, dims, source, loc)
    left = None if dims is None else tuple(d for i, d in enumerate(dims) if i not in axes)
    result = _made(trace, "reduce", value, own, {**attrs, "axes": names}, left, source, loc)
    if not way.keepdims:
        return result
    small = ArgMap(tuple(d for d in range(value.rank) if d not in axes))
    return _made(trace, "expand", result._value, [small], {"axes": names}, dims, source, loc)  # pyright: ignore[reportPrivateUsage]


def _of_list(trace: Trace, x: Any, way: Reduction) -> Value | None:
    """Returns the reduction of a list of integers that each call computes; ``None`` for anything else."""
    flat = way.axis is None or way.axis in ((0,), (-1,))
    if way.kind not in _OF_NUMBERS or way.keepdims or way.scans or not flat or not isinstance(x, (list, tuple)):
        return None
    items = cast("Sequence[Any]", x)
    if not all(isinstance(item, (bool, int, Traced)) for item in items) or not any(isinstance(item, Traced) for item in items):
        return None
    return folded(trace, _OF_NUMBERS[way.kind], [trace.lift(item) for item in items])


def _made(
    trace: Trace,
    op: str,
    value: Value,
    maps: list[ArgMap],
    attrs: dict[str, Attr],
    dims: tuple[int, ...] | None,
    source: tuple[Value, ArgMap],
    loc: str | None,
) -> Traced:
    """Records one node over the operand's own axes. If these are mapped to `dims`, as those of the `source`, the axes of the
    result are too.
    """
    (result,) = trace.builder.add(OPS[op], [value], maps, attrs, loc)
    word(result, [value])
    if dims:
        inherit(trace, [result], ArgMap(dims), [source[0]], [source[1]])
    return Traced(trace, result, loc)


def _of_one(trace: Trace, value: Value, way: Reduction, loc: str | None) -> Traced:
    """Reduces along no axis: the value itself, in the type of the result."""
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
    if value.weak:  # Python's number stays one, as it does in an eager call
        return trace.record("mul", [Traced(trace, value, loc), 1.0 if want.is_float else 1])
    return Traced(trace, trace.builder.add(OPS["cast"], [value], None, {"type": want.name}, loc)[0], loc)
