"""`inspect_pixel`: every value on the way to one element of a call's results."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from operator import index
from typing import Any, cast

import numpy as np

from fusepy.errors import ShapeError, TraceError
from fusepy.functions.fused import fuse
from fusepy.inspect.pixel_report import PixelReport, PixelValue, mark_of
from fusepy.ir.graph import Node, Value
from fusepy.ir.printer import print_node
from fusepy.ir.types import AS_ONE
from fusepy.location import user_line
from fusepy.passes.dce import Dce
from fusepy.trace.arity import signature_of
from fusepy.trace.structure import flatten_values
from fusepy.trace.trace import current_trace
from fusepy.trace.traced import Traced

__all__ = ["inspect_pixel"]

Array = np.ndarray[Any, np.dtype[Any]]


def inspect_pixel(function: Callable[..., Any], args: Any, /, *, at: int | Sequence[int], **kwargs: Any) -> PixelReport:
    """Runs a call and returns every value on the way to one element of its results, to find where a NaN or a wrong number begins.

    Every value of the program is computed and kept over the whole grid, so this takes more memory and time than the call.
    Bodies of loops and branches count as one operation, and so does a Slang function. Nothing is written to arguments' gradients.

    Args:
        function: a Slang function, a fused function, a graph, or a Python function of such.
        args: the arguments by position, as a tuple; anything else is the only argument.
        at: the indices of the element, one for each axis of the result; negative ones count from the end.
        kwargs: arguments by name.

    Raises:
        ShapeError: if the results have no such element.
        TraceError: if `function` returns nothing that is computed, or if this is called while a fused function is traced.

    Example:
        >>> import fusepy as fp
        >>> print(fp.inspect_pixel(lambda x: fp.sqrt(x - 1), [4.0, 0.5], at=1).first_bad.text)
        sqrt(%1)
    """
    if current_trace() is not None:
        raise TraceError(
            "inspect_pixel() inside of a fused function", place=user_line(), hint="call it outside, on the fused function"
        )
    given = cast("tuple[Any, ...]", args) if isinstance(args, tuple) else (args,)
    probe = _Probe(function)
    arrays = [np.asarray(v) for v in fuse(probe)(*given, **kwargs, _result="numpy")]
    place = _indices(at, arrays[len(probe.values) :], [v.rank for v in probe.graph.outputs])
    return PixelReport(place[0], tuple(probe.describe(arrays, *place)))


class _Probe:
    """A function that returns all values that the results of another one depend on, and then these results."""

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.constants: dict[str, str] = {}
        self.__name__ = getattr(function, "__name__", "function")
        with suppress(TypeError):  # of a Slang function with overloads, whose arguments have numbers for names
            self.__signature__ = signature_of(function, self.__name__)

    def __call__(self, *args: Any, **kwargs: Any) -> list[Traced]:
        made = self.function(*args, **kwargs)
        trace = current_trace()
        assert trace is not None
        leaves, _ = flatten_values(made, self.__name__)
        ends = [trace.lift(leaf) for leaf in leaves]
        self.graph = trace.builder.finish(ends)
        nodes = [n for n in Dce()(self.graph, trace.oracle).nodes if n.op.name != "const"]
        used = {v for n in nodes for v in n.operands} | {*ends}
        computed = [v for n in nodes for v in n.results if v.type.kind not in AS_ONE]
        self.values = [*(v for v in self.graph.inputs if v in used and _has_numbers(v)), *computed]
        return [Traced(trace, v, None) for v in (*self.values, *ends)]

    def describe(self, arrays: Sequence[Array], at: tuple[int, ...], grid: tuple[int, ...]) -> list[PixelValue]:
        """Returns the values of one element of a grid."""
        found = {v: _element(array, at, grid) for v, array in zip(self.values, arrays)}
        inputs = [
            PixelValue(v.name or "?", "", v.type.name, "", found[v], bool(mark_of(found[v])))
            for v in self.graph.inputs
            if v in found
        ]
        return inputs + [made for node in self.graph.nodes for made in self._results(node, found)]

    def _results(self, node: Node, found: Mapping[Value, Any]) -> list[PixelValue]:
        """Returns the results of a node, with constants written where they are used."""
        names, _, rest = print_node(self.graph, node).strip().partition(" = ")
        if node.op.name == "const":
            self.constants[names] = f"{node.attrs['value']}"
        text = (rest.rpartition("  // ")[0] or rest).rpartition(" : ")[0]
        text = re.sub(r"%\d+\b", lambda name: self.constants.get(name[0], name[0]), text)
        whole = not any(mark_of(found[v]) for v in node.operands if v in found)
        return [
            PixelValue(name, text, v.type.name, node.loc or "", found[v], bool(mark_of(found[v])) and whole)
            for name, v in zip(names.split(", "), node.results)
            if v in found
        ]


def _has_numbers(value: Value) -> bool:
    """True for an input with numbers of its own; textures and buffers have none until a function reads them."""
    arrival = value.arrival
    return value.type.kind not in AS_ONE and (
        arrival.plain or arrival.array or arrival.computed or arrival.grid or arrival.uniform
    )


def _indices(at: int | Sequence[int], ends: Sequence[Array], ranks: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the indices of an element of the results, and the extents of their grid.

    Raises:
        ShapeError: if there is no such element.
    """
    grid = max((array.shape[:rank] for array, rank in zip(ends, ranks)), key=len)
    given = at if isinstance(at, Sequence) else (at,)
    place = tuple(index(i) for i in given)
    if len(place) != len(grid) or any(not -n <= i < n for i, n in zip(place, grid)):
        raise ShapeError(
            f"inspect_pixel(): the results have no element {place}",
            place=user_line(),
            expected=f"{len(grid)} indices into extents {grid}",
            hint="at= takes one index for each axis of the results, such as at=(y, x)",
        )
    return tuple(i % n for i, n in zip(place, grid)), grid


def _element(array: Array, at: tuple[int, ...], grid: tuple[int, ...]) -> Any:
    """Returns the part of a value that belongs to an element of the grid; all of it if none does."""
    if array.shape[: len(grid)] == grid:
        return array[at]
    last = at[len(at) - array.ndim :] if array.ndim <= len(at) else None
    if last is None or any(n not in (1, whole) for n, whole in zip(array.shape, grid[len(at) - array.ndim :])):
        return array[()]
    return array[tuple(i if n > 1 else 0 for i, n in zip(last, array.shape))]
