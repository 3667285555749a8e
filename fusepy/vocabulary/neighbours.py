"""NumPy's functions of neighbours along an axis: slopes, convolutions and correlations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fusepy.errors import ArgumentError
from fusepy.language import math as _math
from fusepy.language import reductions
from fusepy.language.axes import Axis
from fusepy.language.elementwise import composed
from fusepy.language.movement.extents import ndim, seen_as_array
from fusepy.language.movement.graph_calls import node_of_values
from fusepy.language.movement.indices import take
from fusepy.language.movement.joins import concatenate
from fusepy.trace.moves.arguments import one_axis, several_axes
from fusepy.vocabulary.names import isinf
from fusepy.vocabulary.ramps import arange

__all__ = ["convolve", "correlate", "gradient"]


@node_of_values
def gradient(f: Any, *spacing: Any, axis: Axis = None) -> Any:
    """Returns the slopes along axes, from both neighbours, at the ends from one; several axes give a list.

    Args:
        spacing: the distance of neighbours, 1 by default, or the places as an array of one axis; one for all axes or for each.
        axis: one axis or several; ``None`` for all.

    Raises:
        ArgumentError: for another number of spacings.

    Example:
        >>> import fusepy as fp
        >>> fp.gradient([1.0, 2.0, 4.0, 7.0])
        [1.0, 1.5, 2.5, 3.0]
    """
    rank = ndim(f)
    axes = tuple(range(rank)) if axis is None else several_axes(axis, rank, "gradient")
    apart = spacing * len(axes) if len(spacing) == 1 else spacing or (1.0,) * len(axes)
    if len(apart) != len(axes):
        hint = "write one spacing for each axis, or one for all"
        raise ArgumentError("gradient() with other spacings", saw=f"{len(spacing)} for {len(axes)} axes", hint=hint)
    found = [_slope(f, step, at) for step, at in zip(apart, axes)]
    return found if len(found) != 1 else found[0]


@composed("at")
def _slope(f: Any, step: Any, at: int) -> Any:
    f, step = seen_as_array(f) * 1.0, seen_as_array(step) * 1.0
    front = (slice(None),) * at
    before, here, after = (f[(*front, part)] for part in (slice(None, -2), slice(1, -1), slice(2, None)))
    rises = f[(*front, slice(1, None))] - f[(*front, slice(None, -1))]
    if step.ndim:
        widths = (step[1:] - step[:-1])[(slice(None), *[None] * (f.ndim - 1 - at))]
        left, right = widths[:-1], widths[1:]
        share, slopes = left / (left + right), rises / widths
        slopes = slopes[(*front, slice(None, -1))] * (1.0 - share) + slopes[(*front, slice(1, None))] * share
        bent = _math.where(left == right, (after - before) / (left + right), (right - left) * here + (after - before))
        slopes = _math.where(isinf(here), bent, slopes)  # in the middle of equal widths it does not count, as in NumPy
    else:
        widths, slopes = step, (after - before) / (2.0 * step)
    steep = rises / widths
    return concatenate([steep[(*front, slice(None, 1))], slopes, steep[(*front, slice(-1, None))]], at)


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """Returns the sums of products of `a` and the reversed `v`, shifted against each other; both have one axis.

    Each result reads all elements of the shorter array, so that should be short.

    Args:
        mode: ``full`` for all overlaps, ``same`` for as many in the middle as the longer array has, ``valid`` where both overlap
            fully.

    Raises:
        ArgumentError: for another mode.
        ShapeError: for arrays of another number of axes.

    Example:
        >>> import fusepy as fp
        >>> fp.convolve([1.0, 2.0, 3.0], [1.0, 10.0])
        [1.0, 12.0, 23.0, 30.0]
    """
    return _convolve(a, v, _mode("convolve", mode), False)


def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """Returns the sums of products of `a` and `v`, shifted against each other: `convolve` with `v` reversed."""
    return _convolve(a, v, _mode("correlate", mode), True)


def _mode(name: str, mode: str) -> str:
    if mode not in ("full", "same", "valid"):
        expected = "'full', 'same' or 'valid'"
        raise ArgumentError(f"{name}() with another mode", saw=repr(mode), expected=expected, hint="leave out mode")
    return mode


@composed("mode", "turned")
def _convolve(a: Any, v: Any, mode: str, turned: bool) -> Any:
    a, v = (seen_as_array(x) for x in (a, v))
    sizes: Sequence[int] = [x.shape[one_axis(0, x.ndim, "convolve")] for x in (a, v)]
    most, least = max(sizes), min(sizes)
    skipped, count = {
        "full": (0, most + least - 1),
        "same": ((least - 1) // 2, most),
        "valid": (least - 1, most - least + 1),
    }[mode]
    if turned and sizes[0] < sizes[1] and mode == "same":
        skipped = least // 2  # NumPy exchanges the arrays and turns the result
    long, short = (a, v) if sizes[0] >= sizes[1] else (v, a)
    at = (arange(count) + skipped)[:, None] - arange(least)[None]
    there = (at >= 0) & (at < most)
    place = _math.clip(at, 0, most - 1)
    turned_long = turned and long is v
    read = take(long, most - 1 - place if turned_long else place, 0)
    factor = short[::-1] if turned and not turned_long else short
    return reductions.sum(_math.where(there, read, 0) * factor[None], -1)
