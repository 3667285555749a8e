"""Quantiles along axes, of sorted rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fusepy.errors import ArgumentError, ShapeError
from fusepy.language import math as _math
from fusepy.language.axes import Axis
from fusepy.language.elementwise import composed
from fusepy.language.movement.extents import ndim, seen_as_array, shape
from fusepy.language.movement.joins import stack
from fusepy.language.movement.views import moveaxis, ravel, reshape
from fusepy.trace.moves.arguments import several_axes
from fusepy.vocabulary.compositions import between
from fusepy.vocabulary.names import isnan
from fusepy.vocabulary.sorting import sort

__all__ = ["median", "percentile", "quantile"]


def quantile(x: Any, q: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """Returns the quantiles of `x` along axes, by default of all elements; NaN if an element is. See `sort` for the limits.

    Args:
        q: a number from 0 to 1, or several, whose results are along a new first axis. Between two elements it is linear, beside
            an infinity that infinity.
        axis: one axis or several; ``None`` for all.
        keepdims: keep the axes, with extent 1.

    Raises:
        ArgumentError: for another `q`.
        ShapeError: of no elements, and for axes that the array does not have.

    Example:
        >>> import fusepy as fp
        >>> fp.quantile([4.0, 1.0, 3.0, 2.0], 0.5)
        2.5
    """
    return _quantiles("quantile", x, q, axis, keepdims)


def _quantiles(name: str, x: Any, q: Any, axis: Axis, keepdims: bool) -> Any:
    wanted = np.asarray(q, np.float64)
    if wanted.ndim > 1 or not np.all((wanted >= 0) & (wanted <= 1)):
        what = "quantile() takes numbers from 0 to 1, percentile() from 0 to 100"
        raise ArgumentError(what, saw=repr(q)[:60], hint="write fp.quantile(x, 0.25)")
    return _quantile(x, tuple(wanted.reshape(-1).tolist()), wanted.ndim > 0, axis, keepdims, name)


@composed("q", "several", "axis", "keepdims", "name")
def _quantile(x: Any, q: Sequence[float], several: bool, axis: Any, keepdims: bool, name: str) -> Any:
    x = seen_as_array(x)
    rank = ndim(x)
    axes = tuple(range(rank)) if axis is None else several_axes(axis, rank, name)
    rows, at = _rows(x, axes)
    rows = sort(rows * 1.0, axis=at)
    count, front = rows.shape[at], (slice(None),) * at
    if not count:
        raise ShapeError(f"{name}() of no elements", saw=shape(x), hint="check the size first")
    kept = tuple(None if i in axes else slice(None) for i in range(rank))
    made: list[Any] = []
    for part in q:
        low, beyond = math.floor(part * (count - 1)), part * (count - 1) % 1
        first, second, last = (rows[(*front, i, ...)] for i in (low, min(low + 1, count - 1), count - 1))
        found = _math.where(isnan(last), last, _between(first, second, beyond) if beyond else first)
        if keepdims:
            found = reshape(found, (1,) * rank) if len(axes) == rank else found[kept]
        made.append(found)
    return stack(made) if several else made[0]


def _between(first: Any, second: Any, share: float) -> Any:
    """Returns what `between` does; in the middle it is the mean of both."""
    return first * 0.5 + second * 0.5 if share == 0.5 else between(first, second, share)


def _rows(x: Any, axes: tuple[int, ...]) -> tuple[Any, int]:
    """Returns the array with several axes as one, and that one's place."""
    if len(axes) == 1:
        return x, axes[0]
    if len(axes) == ndim(x):
        return ravel(x), 0
    others = [n for i, n in enumerate(x.shape) if i not in axes]
    moved = moveaxis(x, axes, tuple(range(-len(axes), 0))) if axes else x
    return reshape(moved, (*others, math.prod(x.shape[i] for i in axes))), len(others)


def percentile(x: Any, q: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """Returns `quantile` for numbers from 0 to 100."""
    return _quantiles("percentile", x, np.asarray(q, np.float64) / 100, axis, keepdims)


def median(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """Returns the middle element along axes, or the mean of the two in the middle; see `quantile`."""
    return _quantiles("median", x, 0.5, axis, keepdims)
