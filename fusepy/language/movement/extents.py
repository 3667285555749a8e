"""Extents of arrays under NumPy's names, and the helpers of all views."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from fusepy.arguments.mapped import Mapped, unmapped
from fusepy.backend.marshals.registry import batch_extents, extents_of
from fusepy.functions.fused import FusedFunction
from fusepy.ir.graph import Value
from fusepy.language.movement.graph_calls import called
from fusepy.location import user_line
from fusepy.symbolic import Symbolic, holds
from fusepy.trace.moves.shapes import shape_of
from fusepy.trace.moves.steps import Shape
from fusepy.trace.trace import Trace, current_trace
from fusepy.trace.traced import Traced, leaked

__all__ = ["ndim", "shape", "size"]


def fused(name: str, function: Callable[..., Any]) -> FusedFunction:
    """Returns a fused function of this name, for values of other frameworks and of graphs."""
    function.__name__ = function.__qualname__ = name
    return FusedFunction(function)


def trace_of(x: Traced) -> Trace:
    trace = current_trace()
    if trace is None:
        raise leaked(x)
    x.check(trace)
    return trace


def is_traced(x: Any) -> bool:
    """True for a traced value, also under a vcast."""
    return isinstance(unmapped(x), Traced)


def seen(trace: Trace, x: Any) -> Value:
    """Returns the value of an array as an eager call sees it: components of vectors that are returned as numbers are axes."""
    return trace.plain.array(trace.lift(x), user_line())


def gathered(x: Any) -> Any:
    """Returns a list with traced values in it, or in lists of it, as one traced array; anything else as it is."""
    trace = current_trace()
    return x if trace is None or not holds(x) else trace.captured(x, "x")


def seen_as_array(x: Any) -> Any:
    """Returns a traced value as an eager call sees it; see `seen`. Values from outside of the trace are lifted into it."""
    trace = current_trace()
    assert trace is not None, "a composed function runs in a trace"
    return Traced(trace, seen(trace, x), user_line())


def made(name: str, record: Callable[..., Any], arrays: Sequence[Any], *settings: Any) -> Any:
    """Returns what ``record(trace, values, *settings)`` makes of arrays: recorded in a trace, else computed at once."""
    trace = current_trace()
    if trace is None or any(isinstance(x, Symbolic) and not isinstance(x, Traced) for x in arrays):
        return called(_eager(name, record, settings), name, *arrays)
    return Traced(trace, record(trace, [seen(trace, x) for x in arrays], *settings), user_line())


@functools.lru_cache(maxsize=512)
def _eager(name: str, record: Callable[..., Any], settings: tuple[Any, ...]) -> FusedFunction:
    """Returns the fused function that computes at once."""
    return fused(name, lambda *arrays: made(name, record, arrays, *settings))


def shape(x: Any) -> Shape:
    """Returns the extents of `x`, slowest first, without the components of an element.

    Inside a fused function they are integers, and the program is for arrays of these extents: other extents trace it again, and
    reuse the kernels that do not contain the numbers.

    Example:
        >>> import fusepy as fp
        >>> fp.shape([[1.0, 2.0, 3.0]])
        (1, 3)
    """
    if is_traced(x := gathered(x)):
        trace = trace_of(unmapped(x))
        return shape_of(trace, seen(trace, x))
    if isinstance(x, Mapped) and x.map.type is not None:  # which takes the last axes of numbers as components
        return tuple(batch_extents(x.value, len(x.map.type.shape)))
    return tuple(extents_of(x.value if isinstance(x, Mapped) else x))


def ndim(x: Any) -> int:
    """Returns the number of axes of `x`; see `shape`."""
    return seen(trace_of(unmapped(x)), x).rank if is_traced(x := gathered(x)) else len(shape(x))


def size(x: Any) -> int:
    """Returns the number of elements of `x`; see `shape`."""
    count = 1
    for extent in shape(x):
        count *= extent
    return count
