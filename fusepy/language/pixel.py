"""`inspect_pixel`: every value on the way to one element of a call's results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from fusepy.backend.memory.views import integers
from fusepy.errors import ArgumentError, ShapeError, TraceError
from fusepy.functions.fused import fuse
from fusepy.inspect.pixel_report import PixelReport, PixelValue, mark_of
from fusepy.inspect.probe import ValueProbe
from fusepy.ir.graph import Node, Value
from fusepy.trace.trace import current_trace

__all__ = ["inspect_pixel"]

Array = np.ndarray[Any, np.dtype[Any]]


def inspect_pixel(function: Callable[..., Any], args: Any, /, *, at: int | Sequence[int], **kwargs: Any) -> PixelReport:
    """Runs a call and returns every value on the way to one element of its results, to find where a NaN or a wrong number begins.

    Every value of the program is computed and kept over the whole grid, so this takes more memory and time than the call.
    Bodies of loops and branches count as one operation, and so does a Slang function. Nothing is written to arguments' gradients.

    Args:
        function: a Slang function, a fused function, a graph, or a Python function that calls them.
        args: the arguments by position, as a tuple; anything else is the only argument.
        at: the indices of the element, one for each axis of the result; negative ones count from the end.
        kwargs: arguments by name.

    Raises:
        ShapeError: if the results have no such element, or `at` is no integers.
        ArgumentError: for anything but a function.
        TraceError: if `function` returns nothing that is computed, or if this is called while a fused function is traced.

    Example:
        >>> import fusepy as fp
        >>> print(fp.inspect_pixel(lambda x: fp.sqrt(x - 1), [4.0, 0.5], at=1).first_bad.text)
        sqrt(%1)
    """
    if current_trace() is not None:
        raise TraceError("inspect_pixel() inside of a fused function", hint="call it outside, on the fused function")
    if not callable(function):
        hint = "write fp.inspect_pixel(f, (x, y), at=(0, 0))"
        raise ArgumentError("inspect_pixel() takes a function", saw=repr(function)[:60], hint=hint)
    given = cast("tuple[Any, ...]", args) if isinstance(args, tuple) else (args,)
    probe = ValueProbe(function)
    arrays = [np.asarray(v) for v in fuse(probe)(*given, **kwargs, _result="numpy")]
    if len(arrays) == len(probe.values):
        name = getattr(function, "__name__", "the function")
        raise TraceError(f"inspect_pixel(): {name} returns nothing that is computed", hint="return the value to look at")
    place = _indices(at, arrays[len(probe.values) :], [v.rank for v in probe.graph.outputs])
    return PixelReport(place[0], tuple(_described(probe, arrays, *place)))


def _described(probe: ValueProbe, arrays: Sequence[Array], at: tuple[int, ...], grid: tuple[int, ...]) -> list[PixelValue]:
    """Returns the values of one element of a grid."""
    found = {v: element_at(array, at, grid) for v, array in zip(probe.values, arrays)}
    inputs = [
        PixelValue(v.name or "?", "", v.type.name, "", found[v], bool(mark_of(found[v])))
        for v in probe.graph.inputs
        if v in found
    ]
    return inputs + [made for node in probe.graph.nodes for made in _results(probe, node, found)]


def _results(probe: ValueProbe, node: Node, found: Mapping[Value, Any]) -> list[PixelValue]:
    """Returns the results of a node."""
    names, text = probe.named(node)
    whole = not any(mark_of(found[v]) for v in node.operands if v in found)
    return [
        PixelValue(name, text, v.type.name, node.loc or "", found[v], bool(mark_of(found[v])) and whole)
        for name, v in zip(names, node.results)
        if v in found
    ]


def _indices(at: int | Sequence[int], ends: Sequence[Array], ranks: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the indices of an element of the results, and the extents of their grid.

    Raises:
        ShapeError: if there is no such element, and for anything but integers.
    """
    grid = max((array.shape[:rank] for array, rank in zip(ends, ranks)), key=len)
    place = integers(at, "inspect_pixel(): at=")
    if len(place) != len(grid) or any(not -n <= i < n for i, n in zip(place, grid)):
        raise ShapeError(
            f"inspect_pixel(): the results have no element {place}",
            expected=f"{len(grid)} indices into extents {grid}",
            hint="at= takes one index for each axis of the results, such as at=(y, x)",
        )
    return tuple(i % n for i, n in zip(place, grid)), grid


def element_at(array: Array, at: tuple[int, ...], grid: tuple[int, ...]) -> Any:
    """Returns the part of a value that belongs to an element of the grid; all of it if none does."""
    if array.shape[: len(grid)] == grid:
        return array[at]
    last = at[len(at) - array.ndim :] if array.ndim <= len(at) else None
    if last is None or any(n not in (1, whole) for n, whole in zip(array.shape, grid[len(at) - array.ndim :])):
        return array[()]
    return array[tuple(i if n > 1 else 0 for i, n in zip(last, array.shape))]
