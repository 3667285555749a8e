"""NumPy's functions made of comparisons, reductions and sorted rows: averages, quantiles, sums without NaN, tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fusepy.errors import ArgumentError
from fusepy.ir.types import BOOL
from fusepy.language import math as _math
from fusepy.language import reductions
from fusepy.language.elementwise import composed
from fusepy.language.movement.extents import seen_as_array
from fusepy.language.movement.indices import take
from fusepy.language.movement.views import ravel
from fusepy.trace.moves.arguments import one_axis
from fusepy.vocabulary.names import isfinite, isnan, log1p

__all__ = [
    "average", "diff", "digitize", "float_power", "interp", "logaddexp", "nanmax", "nanmean", "nanmin", "nanstd",
    "nansum", "nanvar", "ptp", "searchsorted", "select", "vdot",
]  # fmt: skip


@composed("n", "axis")
def diff(x: Any, n: int = 1, axis: int = -1) -> Any:
    """Returns the differences of neighbours along an axis, `n` times: ``x[1:] - x[:-1]``; for bools, True where neighbours
    differ."""
    x = seen_as_array(x)
    front = (slice(None),) * one_axis(axis, x.ndim, "diff")
    for _ in range(n):
        after, before = x[(*front, slice(1, None))], x[(*front, slice(None, -1))]
        x = after != before if x.type is BOOL else after - before
    return x


@composed("axis")
def average(x: Any, axis: int | None = None, weights: Any = None) -> Any:
    """Returns the mean along an axis, or the weighted one; `weights` are one for each element, or for each place."""
    if weights is None:
        return reductions.mean(x, axis)
    x, weights = seen_as_array(x), seen_as_array(weights) * 1.0  # products of integers wrap
    if axis is not None and weights.ndim == 1:
        weights = weights[(slice(None), *[None] * (x.ndim - 1 - one_axis(axis, x.ndim, "average")))]
    weights = weights + x * 0  # of the shape of `x`
    return reductions.sum(x * weights, axis) / reductions.sum(weights, axis)


@composed()
def vdot(a: Any, b: Any) -> Any:
    """Returns the sum of the products of all elements of two arrays."""
    return reductions.sum(ravel(seen_as_array(a)) * ravel(seen_as_array(b)))


@composed()
def float_power(x: Any, y: Any) -> Any:
    """Returns ``x ** y`` as floats, also of integers."""
    return _math.power(seen_as_array(x) * 1.0, y)


@composed()
def logaddexp(x: Any, y: Any) -> Any:
    """Returns ``log(exp(x) + exp(y))`` without overflow."""
    x, y = seen_as_array(x) * 1.0, seen_as_array(y) * 1.0
    apart = _math.where(x == y, 0.0, -_math.abs(x - y))  # infinities of one sign are 0 apart
    return _math.maximum(x, y) + log1p(_math.exp(apart))


@composed("axis", "keepdims")
def ptp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Returns the largest element less the smallest one, along axes."""
    return reductions.max(x, axis, keepdims) - reductions.min(x, axis, keepdims)


@composed("axis", "keepdims")
def nansum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Returns the sum along axes of the elements that are not NaN."""
    return reductions.sum(_math.where(isnan(seen_as_array(x)), 0, x), axis, keepdims)


@composed("axis", "keepdims")
def nanmean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Returns the mean along axes of the elements that are not NaN; NaN if all are."""
    there = ~isnan(seen_as_array(x))
    return reductions.sum(_math.where(there, x, 0), axis, keepdims) / reductions.sum(there, axis, keepdims)


@composed("axis", "ddof", "keepdims")
def nanvar(x: Any, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Any:
    """Returns the variance along axes of the elements that are not NaN, a float; NaN if no more than `ddof` are left."""
    x = seen_as_array(x)
    there = ~isnan(x)
    apart = _math.where(there, x - nanmean(x, axis, True), 0)
    count = reductions.sum(there, axis, keepdims) - ddof
    return reductions.sum(apart * apart, axis, keepdims) / _math.where(count > 0, count, math.nan)


@composed("axis", "ddof", "keepdims")
def nanstd(x: Any, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Any:
    """Returns the root of `nanvar`, the standard deviation of the elements that are not NaN. Where it is 0, its gradient is 0."""
    found = nanvar(x, axis, ddof, keepdims)
    return _math.where(found == 0, 0.0, _math.sqrt(_math.where(found == 0, 1.0, found)))


@composed("axis", "keepdims")
def nanmax(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Returns the largest element along axes that is not NaN; NaN if all are."""
    return _extreme(seen_as_array(x), reductions.max, -math.inf, axis, keepdims)


@composed("axis", "keepdims")
def nanmin(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Returns the smallest element along axes that is not NaN; NaN if all are."""
    return _extreme(seen_as_array(x), reductions.min, math.inf, axis, keepdims)


def _extreme(x: Any, of: Any, least: float, axis: Any, keepdims: bool) -> Any:
    if not x.type.is_float:
        return of(x, axis, keepdims=keepdims)
    none = reductions.all(isnan(x), axis, keepdims)
    return _math.where(none, math.nan, of(_math.where(isnan(x), least, x), axis, keepdims=keepdims))


def select(conditions: Sequence[Any], choices: Sequence[Any], default: Any = 0) -> Any:
    """Returns for each element the choice of the first condition that is true there; `default` where none is."""
    if len(conditions) != len(choices) or not conditions:
        saw = f"{len(conditions)} and {len(choices)}"
        raise ArgumentError("select() of other numbers of conditions and choices", saw=saw, hint="pair them")
    return _select(default, *conditions, *choices)


@composed()
def _select(default: Any, *arrays: Any) -> Any:
    found, count = default, len(arrays) // 2
    for condition, choice in reversed([*zip(arrays[:count], arrays[count:])]):
        found = _math.where(condition, choice, found)
    return found


@composed("side")
def searchsorted(a: Any, v: Any, side: str = "left") -> Any:
    """Returns the place of each element of `v` in the ascending array `a`: the number of elements before it.

    Each is compared with all elements of `a`, so `a` should be short. With ``side="right"``, elements that are equal stand before
    it.
    """
    a, v = seen_as_array(a), _beside(seen_as_array(v))
    return reductions.sum(a <= v if side == "right" else a < v, -1)


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """Returns the number of the bin of each element: how many of the ascending `bins` are not above it, with `right` below it."""
    return searchsorted(bins, x, "left" if right else "right")


def _beside(x: Any) -> Any:
    """Returns an array with a new last axis, along which it is compared with other elements."""
    return x[..., None] if x.ndim else x


@composed()
def interp(x: Any, xp: Any, fp: Any) -> Any:
    """Interpolates linearly between the points ``(xp, fp)`` at `x`; `xp` is ascending. Outside of them, the ends' values hold."""
    x, xp, fp = seen_as_array(x), seen_as_array(xp) * 1.0, seen_as_array(fp) * 1.0
    count = xp.shape[0]
    after = _math.clip(reductions.sum(xp <= _beside(x), -1), 1, max(count - 1, 1))
    low, high = take(xp, after - 1, 0), take(xp, after, 0)
    share = _share(x, low, high)
    first, second = take(fp, after - 1, 0), take(fp, after, 0)
    found = _math.where(share == 0.0, first, _math.where(share == 1.0, second, between(first, second, share)))
    return _math.where(isnan(share) & (first == second), first + x * 0, found)  # between infinities; for NaN it is NaN


def _share(x: Any, low: Any, high: Any) -> Any:
    """Returns how far `x` is from `low` to `high`, from 0 to 1: beside an infinity all is at the finite one, as in NumPy."""
    gap = _math.where(high == low, 1.0, high - low)
    share = _math.where(low == -math.inf, 1.0 - (high - x) / gap, (x - low) / gap)
    return _math.where(x >= high, 1.0, _math.where(x <= low, 0.0, share))


def between(first: Any, second: Any, share: Any) -> Any:
    """Returns the number at `share` of the way from `first` to `second`; beside an infinity that is the infinity."""
    apart = second - first
    return _math.where(isfinite(apart), first + apart * share, first * (1.0 - share) + second * share)
