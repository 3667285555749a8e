"""Sorting along an axis: sorted elements, their indices, the largest elements, histograms.

Nothing is added by atomics: the results are the same on every device. Sorts are scans, see `fusepy.ir.ops.folds`.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from fusepy.errors import ArgumentError, ShapeError, TraceError
from fusepy.ir.types import Kind
from fusepy.language import math as _math
from fusepy.language import reductions
from fusepy.language.axes import numpys_words
from fusepy.language.elementwise import composed
from fusepy.language.fold_nodes import reduced, reduction
from fusepy.language.movement.extents import seen_as_array
from fusepy.language.movement.graph_calls import of_parts
from fusepy.language.movement.indices import take, take_along_axis
from fusepy.language.movement.views import moveaxis, ravel
from fusepy.symbolic import static_hint
from fusepy.trace.moves.arguments import one_axis
from fusepy.trace.moves.inputs import owner_of
from fusepy.trace.trace import current_trace
from fusepy.vocabulary.arithmetic import typed
from fusepy.vocabulary.ramps import arange

__all__ = ["argsort", "histogram", "sort", "topk"]


@numpys_words
def sort(x: Any, axis: int | None = -1, kind: str | None = None) -> Any:
    """Returns the elements of `x` in ascending order along an axis; NaN comes last. Equal elements keep their order.

    Args:
        axis: the axis to sort along, the last one by default; ``None`` for the flat array.
        kind: NumPy's names of ways to sort; all of them keep the order of equal elements here.

    Example:
        >>> import fusepy as fp
        >>> fp.sort([[3.0, 1.0, 2.0], [5.0, 4.0, 6.0]])
        [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    """
    return _sort(x, axis)


@numpys_words
def argsort(x: Any, axis: int | None = -1, kind: str | None = None) -> Any:
    """Returns the indices that sort `x` along an axis; see `sort`.

    Example:
        >>> import fusepy as fp
        >>> fp.argsort([3.0, 1.0, 2.0])
        [1, 2, 0]
    """
    return _argsort(x, axis)


@of_parts(lambda *args, **named: 2)
@numpys_words
@composed("k", "axis", "largest")
def topk(x: Any, k: int, axis: int = -1, largest: bool = True) -> tuple[Any, Any]:
    """Returns the `k` largest elements of each row in descending order, and their indices; NaN counts as largest. See `sort`.

    Args:
        largest: false for the smallest ones, in ascending order.

    Raises:
        ShapeError: if a row has fewer elements.

    Example:
        >>> import fusepy as fp
        >>> fp.topk([3.0, 1.0, 2.0], 2)
        ([3.0, 2.0], [0, 2])
    """
    (x, axis), count = _rows(x, axis, "topk"), cast("object", k)
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 0 <= k <= x.shape[axis]:
        raise ShapeError(
            "topk() of more elements than a row has",
            saw=repr(k),
            expected=f"0 to {x.shape[axis]}",
            hint=static_hint([k], "lower k"),
        )
    order = _order(x, axis, "topk", int(k), largest)
    return take_along_axis(x, order, axis), order


@composed("axis")
def _sort(x: Any, axis: int | None) -> Any:
    x, axis = _rows(x, axis, "sort")
    return take_along_axis(x, _order(x, axis, "sort"), axis)


@composed("axis")
def _argsort(x: Any, axis: int | None) -> Any:
    return _order(*_rows(x, axis, "argsort"), "argsort")


def _rows(x: Any, axis: int | None, name: str) -> tuple[Any, int]:
    x = ravel(seen_as_array(x)) if axis is None else seen_as_array(x)
    if x.type.kind is not Kind.SCALAR:
        hint = "sort an array of numbers, such as one member of the elements"
        raise TraceError(f"{name}() of {x.type}, which has no order", saw=x.type, hint=hint)
    trace = current_trace()
    if not x.ndim and trace is not None:
        trace.refuse_part(trace.lift(x), f"{name}()")  # an element of a value that a loop carries
    return x, one_axis(-1 if axis is None else axis, x.ndim, name)


def _order(x: Any, axis: int, name: str, count: int | None = None, descending: bool = False) -> Any:
    """Returns the indices of the first `count` elements along an axis, in order."""
    length = x.shape[axis]
    found = reduced(x, reduction("argsort_descending" if descending else "argsort", axis, scans=True))
    if count is None or count == length:
        return found
    return moveaxis(moveaxis(found, axis, -1)[..., :count], -1, axis)


@of_parts(lambda *args, **named: 2)
def histogram(x: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False) -> tuple[Any, Any]:
    """Returns how many elements of `x` lie in each bin, and the edges of the bins.

    A bin contains its lower edge, and the last bin both edges. Every bin reads every element: use it for at most a few hundred
    bins.

    Args:
        x: numbers of any shape.
        bins: the number of bins of equal width; or all edges in ascending order, one more than bins.
        range: the lowest and the highest edge; by default the smallest and the largest element. They may be traced values.
        weights: the weight of each element, in the shape of `x`; the result has their type, and a gradient by them.
        density: true for the density, whose integral is 1.

    Raises:
        ArgumentError: for less than one bin.

    Example:
        >>> import fusepy as fp
        >>> fp.histogram([0.0, 0.1, 0.5, 1.0], 2)
        ([2, 2], [0.0, 0.5, 1.0])
    """
    one = isinstance(bins, (int, np.integer)) and not isinstance(bins, bool)
    if (one and bins < 1) or isinstance(bins, (bool, float, str)):
        raise ArgumentError(f"histogram() with bins={bins!r}", expected="1 or more", hint="write bins=10")
    weighed = weights is not None
    arrays: list[Any] = [x, *([weights] if weighed else []), *(range or () if one else [bins])]
    return _histogram(int(cast("Any", bins)) if one else None, bool(density), weighed, *arrays)


@composed("bins", "density", "weighed")
def _histogram(bins: int | None, density: bool, weighed: bool, *arrays: Any) -> Any:
    x, *others = arrays
    weights = ravel(seen_as_array(others.pop(0))) if weighed else None
    x = ravel(seen_as_array(x))
    edges = seen_as_array(others[0]) if bins is None else _edges(x, bins, others)
    count = edges.shape[0] - 1
    trace = current_trace()
    assert trace is not None, "a composed function runs in a trace"
    if owner_of(trace, trace.lift(x)) is None:  # elements that are not in memory would be computed again for every bin
        x = take(x, arange(x.shape[0]), -1)
    low, high, last = edges[:-1, None], edges[1:, None], arange(count)[:, None] == count - 1
    inside = (x >= low) & ((x < high) | (last & (x == high)))
    if weights is None:
        found = reductions.sum(typed(inside, "int"), axis=1)
    else:
        found = reductions.sum(_math.where(inside, weights, typed(0, weights.type)), axis=1)
    return (found / (edges[1:] - edges[:-1]) / reductions.sum(found) if density else found), edges


def _edges(x: Any, bins: int, ends: list[Any]) -> Any:
    """Returns the edges of bins of equal width, between two ends or the extremes of `x`."""
    low, high = [seen_as_array(end) * 1.0 for end in ends or (reductions.min(x), reductions.max(x))]
    low, high = _math.where(low == high, low - 0.5, low), _math.where(low == high, high + 0.5, high)
    at = arange(bins + 1)
    return _math.where(at == bins, high, low + at * ((high - low) / bins))
