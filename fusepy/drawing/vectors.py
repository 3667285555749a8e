"""Parts that the primitives of rasterisation share: vectors of numbers, their modules by device, calls with values of graphs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from fusepy.arguments.mapping import vcast
from fusepy.backend.device.device import Device
from fusepy.backend.device.open import default_device
from fusepy.drawing.mapped import captured
from fusepy.errors import ShapeError, UnsupportedArgumentError
from fusepy.functions.nodes import Use, graph_values
from fusepy.ir.narrowing import is_default
from fusepy.ir.types import FLOAT, Kind, Type
from fusepy.location import user_line
from fusepy.modules.libraries import library
from fusepy.pytree import several
from fusepy.trace.trace import current_trace
from fusepy.trace.traced import Traced

_F = TypeVar("_F", bound=Callable[..., Any])


def grouped(value: Any, axes: int) -> Any:
    """Returns an array of vectors over so many axes where `value` is one of numbers."""
    if not isinstance(value, Traced) or value.type.kind is not Kind.SCALAR or value.rank != axes + 1:
        return value
    count = value.shape[-1]
    if count not in (2, 3, 4):
        return value
    trace, loc = current_trace(), user_line()
    assert trace is not None
    numbers = trace.lift(value)
    if numbers.type is not FLOAT or not trace.grouping.holds(numbers, (count,)):
        return vcast(value, f"float{count}")
    return Traced(trace, trace.grouping.of(numbers, Type.parse(f"float{count}"), loc), loc)  # its results are numbers, as eagerly


def checked_rows(given: Any, widths: Sequence[int], what: str, hint: str) -> Any:
    """Returns an argument with so many numbers for each vertex, as a value of the function that is traced; 1 is a plain number.

    Raises:
        ShapeError: for an array of another shape.
        UnsupportedArgumentError: for other numbers.
    """
    trace = current_trace()
    assert trace is not None
    given = captured(trace, given, "argument")
    if not isinstance(given, Traced):
        return given
    if not holds_floats(given):
        raise UnsupportedArgumentError(
            f"{what} hold no floats of 32 bits",
            place=user_line(),
            saw=given.type,
            expected="float",
            hint='convert them: fp.astype(x, "float"), which has a gradient',
        )
    shape = (*given.shape, *given.type.shape[len(given.shape) - given.rank :])  # that of numbers, as fused functions see it
    if len(shape) not in (1, 2) or (shape[1] if len(shape) == 2 else 1) not in widths or shape[1:] == (1,):
        raise ShapeError(
            f"{what} are of another shape",
            place=user_line(),
            saw=f"an array of {shape}",
            expected=" or ".join(f"(n, {n})" if n > 1 else "(n,)" for n in widths),
            hint=hint,
        )
    return given


def holds_floats(given: Traced) -> bool:
    """True for floats of 32 bits, numbers of Python, and arrays of NumPy's doubles, which are uploaded as floats."""
    trace = current_trace()
    assert trace is not None
    held = trace.lift(given)
    return held.weak or held.type.scalar is FLOAT or (held.type.is_float and is_default(held))


def whole(value: Any, axes: int) -> Any:
    """Returns what a function of Slang reads as a whole array of vectors: numbers in memory are such an array already."""
    trace = current_trace()
    held = isinstance(value, Traced) and trace is not None and trace.lift(value).arrival.memory
    return value if held else grouped(value, axes)


def like(given: Any, result: Any) -> Any:
    """Returns a result; its vectors are numbers where `given` is an array of numbers, although a grid is computed with."""
    trace = current_trace()
    assert trace is not None
    trace.plain.follow(trace.lift(result), trace.lift(given))
    return result


def on_device_of(first: Any, name: str, load: Callable[[Device], Any]) -> Any:
    """Returns the library `name` of the device of an argument, of the function that is traced, or of the default device."""
    trace = current_trace()
    own = getattr(first, "device", None)
    if not isinstance(own, Device):
        own = trace.device if trace is not None else default_device()
    return library(own, name, load)


def node_of_graphs(results: Callable[..., int] = lambda *_, **__: 1) -> Callable[[_F], _F]:
    """Makes a function a node where an argument is a value of a graph; `results` says how many results these arguments give."""

    def decorate(function: _F) -> _F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if graph_values([args, kwargs]):
                use = Use(function, function.__name__, args, kwargs, user_line())
                return use.returning(several(results(*args, **kwargs)))
            return function(*args, **kwargs)

        return cast("_F", call)

    return decorate
